/* A walk over ids in row-major order, beside an array with strides: for who picks and places by them. */
#ifndef CAFE_ID_WALK_H
#define CAFE_ID_WALK_H

#include <stdint.h>

#include "cafe.h"

/* The array's place is base + id * along + column * step. */
struct id_walk {
    int ndim, dim;
    const int64_t *shape;
    int64_t stride[CAFE_MAX_DIMS], place[CAFE_MAX_DIMS];
    int64_t length, step, along; /* of the last axis; step is 0 where the ids stand along it */
    int64_t base, column;
};

static inline struct id_walk walk_from(int ndim, const int64_t *shape, const int64_t *strides, int dim, int64_t at) {
    struct id_walk w = {.ndim = ndim, .dim = dim, .shape = shape, .length = shape[ndim - 1], .along = strides[dim]};
    for (int d = 0; d < ndim; d++) w.stride[d] = d == dim ? 0 : strides[d];
    w.step = w.stride[ndim - 1];
    w.column = at % w.length;
    at /= w.length;
    for (int d = ndim - 2; d >= 0; at /= shape[d], d--) {
        w.place[d] = at % shape[d];
        w.base += w.place[d] * w.stride[d];
    }
    return w;
}

static inline void next_row(struct id_walk *w) {
    w->column = 0;
    for (int d = w->ndim - 2; d >= 0; d--) {
        w->base += w->stride[d];
        if (++w->place[d] < w->shape[d]) return;
        w->base -= w->place[d] * w->stride[d];
        w->place[d] = 0;
    }
}

#endif
