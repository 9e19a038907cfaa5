/* Picking and placing by ids. What only moves goes by the size of an element; what adds is written once for both types: the file
 * includes itself once for each. Ids are read a block at a time; a task that meets a bad one says so and leaves its block alone. */
#ifndef REAL
#include <stdatomic.h>
#include <string.h>

#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "ids.h"
#include "strided.h"
#include "threads.h"

struct index_call {
    void *y;
    const void *x, *ids;
    int kind;
    int64_t outer, n, m, inner, size;
    atomic_int status;
};

/* y = n elements of `size` bytes, the i-th from x + at[i] * along + i * step; zeros for skips. Four are loaded before they are stored, since
 * a compiler must take a store for one that the next load may see: 0.75 of the time. By memcpy, as a run of four halves is eight bytes at
 * any even address; it becomes the one load and store. */
static void pick(char *y, const char *x, const int64_t *at, int64_t n, int64_t along, int64_t step, int64_t size, int found) {
#define PICK(type)                                                                  \
    type four[4];                                                                   \
    int64_t i = 0;                                                                  \
    for (; found == CAFE_IDS_INSIDE && i + 4 <= n; i += 4) {                        \
        for (int k = 0; k < 4; k++)                                                 \
            memcpy(&four[k], x + at[i + k] * along + (i + k) * step, sizeof(type)); \
        memcpy(y + i * (int64_t)sizeof(type), four, sizeof four);                   \
    }                                                                               \
    for (; i < n; i++) {                                                            \
        four[0] = 0;                                                                \
        if (at[i] >= 0) memcpy(four, x + at[i] * along + i * step, sizeof(type));   \
        memcpy(y + i * (int64_t)sizeof(type), four, sizeof(type));                  \
    }                                                                               \
    return
    switch (size) {
    case 1: { PICK(uint8_t); }
    case 2: { PICK(uint16_t); }
    case 4: { PICK(uint32_t); }
    default: { PICK(uint64_t); }
    }
#undef PICK
}

/* `n` runs of `bytes`, from x + at[i] * bytes. */
static void select_block(char *y, const char *x, const int64_t *at, int64_t n, int64_t bytes, int found) {
    if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) {
        pick(y, x, at, n, bytes, 0, bytes, found);
        return;
    }
    for (int64_t i = 0; i < n; i++, y += bytes) {
        if (at[i] < 0) memset(y, 0, (size_t)bytes);
        else memcpy(y, x + at[i] * bytes, (size_t)bytes);
    }
}

/* Of one outer index, or the same ids for several: then they are read once a block. */
static void index_select_task(void *context, int64_t begin, int64_t end) {
    struct index_call *c = context;
    int64_t ids[CAFE_IDS_BLOCK], bytes = c->inner * c->size;
    for (int64_t i = begin, some, outer; i < end; i += outer * some) {
        int64_t o = i / c->m, from = i % c->m;
        some = cafe_min(cafe_min(CAFE_IDS_BLOCK, c->m - from), end - i);
        outer = some == c->m ? (end - i) / c->m : 1;
        int found;
        const int64_t *at = cafe_ids_at(ids, c->ids, c->kind, from, some, c->n, &found);
        if (!found) {
            atomic_store(&c->status, CAFE_BAD_ID);
            return;
        }
        for (int64_t k = 0; k < outer; k++)
            select_block((char *)c->y + (i + k * c->m) * bytes, (const char *)c->x + (o + k) * c->n * bytes, at, some, bytes, found);
    }
}

int cafe_index_select(void *y, const void *x, const void *ids, int kind, int64_t outer, int64_t n, int64_t m, int64_t inner, int64_t size) {
    struct index_call c = {y, x, ids, kind, outer, n, m, inner, size, CAFE_OK};
    cafe_for(outer * m, cafe_ceil_div(CAFE_GRAIN, inner > 0 ? inner : 1), outer * m * inner, CAFE_SERIAL_CHEAP, index_select_task, &c);
    return atomic_load(&c.status);
}

/* A walk over ids in row-major order, beside an array with strides. The array's place is base + id * along + column * step. */
struct id_walk {
    int ndim, dim;
    const int64_t *shape;
    int64_t stride[CAFE_MAX_DIMS], place[CAFE_MAX_DIMS];
    int64_t length, step, along; /* of the last axis; step is 0 where the ids stand along it */
    int64_t base, column;
};

static struct id_walk walk_from(int ndim, const int64_t *shape, const int64_t *strides, int dim, int64_t at) {
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

static void next_row(struct id_walk *w) {
    w->column = 0;
    for (int d = w->ndim - 2; d >= 0; d--) {
        w->base += w->stride[d];
        if (++w->place[d] < w->shape[d]) return;
        w->base -= w->place[d] * w->stride[d];
        w->place[d] = 0;
    }
}

struct gather_call {
    void *y;
    const void *x, *ids;
    int kind, ndim, dim;
    const int64_t *shape, *strides;
    int64_t n, size;
    atomic_int status;
};

static void gather_task(void *context, int64_t begin, int64_t end) {
    struct gather_call *c = context;
    int64_t ids[CAFE_IDS_BLOCK];
    struct id_walk w = walk_from(c->ndim, c->shape, c->strides, c->dim, begin);
    for (int64_t i = begin; i < end; i += CAFE_IDS_BLOCK) {
        int64_t some = cafe_min(CAFE_IDS_BLOCK, end - i), run;
        int found;
        const int64_t *at = cafe_ids_at(ids, c->ids, c->kind, i, some, c->n, &found);
        if (!found) {
            atomic_store(&c->status, CAFE_BAD_ID);
            return;
        }
        for (int64_t k = 0; k < some; k += run) {
            run = cafe_min(some - k, w.length - w.column);
            pick((char *)c->y + (i + k) * c->size, (const char *)c->x + w.base + w.column * w.step, at + k, run, w.along, w.step, c->size, found);
            w.column += run;
            if (w.column == w.length) next_row(&w);
        }
    }
}

int cafe_gather(void *y, const void *x, const void *ids, int kind, int ndim, const int64_t *shape, const int64_t *strides, int dim, int64_t n,
                int64_t size) {
    struct gather_call c = {y, x, ids, kind, ndim, dim, shape, strides, n, size, CAFE_OK};
    int64_t total = 1;
    for (int d = 0; d < ndim; d++) total *= shape[d];
    cafe_for(total, CAFE_GRAIN, total, CAFE_SERIAL_CHEAP, gather_task, &c);
    return atomic_load(&c.status);
}

enum { STRIP = 16 }; /* columns of one thread's own: a cache line of f32 */

#define REAL f32
#include "indexing.c"
#undef REAL
#define REAL f64
#include "indexing.c"
#undef REAL
#else

/* An item is STRIP columns of one outer index, so that one thread meets all that is added to a place, in the order of the ids. */
static void ENTRY(index_add_task)(void *context, int64_t begin, int64_t end) {
    struct index_call *c = context;
    int64_t ids[CAFE_IDS_BLOCK], strips = cafe_ceil_div(c->inner, STRIP), some;
    for (int64_t item = begin, wide; item < end; item += wide) {
        int64_t o = item / strips, column = item % strips * STRIP;
        wide = cafe_min(end - item, strips - item % strips);
        T *y = (T *)c->y + o * c->n * c->inner + column;
        const T *x = (const T *)c->x + o * c->m * c->inner + column;
        for (int64_t i = 0; i < c->m; i += some) {
            some = cafe_min(CAFE_IDS_BLOCK, c->m - i);
            int found;
            const int64_t *at = cafe_ids_at(ids, c->ids, c->kind, i, some, c->n, &found);
            if (!found) {
                atomic_store(&c->status, CAFE_BAD_ID);
                return;
            }
            TABLE->index_add_rows(y, at, x + i * c->inner, some, c->inner, cafe_min(wide * STRIP, c->inner - column));
        }
    }
}

int ENTRY(index_add)(T *y, const T *source, const void *ids, int kind, int64_t outer, int64_t n, int64_t m, int64_t inner) {
    struct index_call c = {y, source, ids, kind, outer, n, m, inner, sizeof(T), CAFE_OK};
    cafe_for(outer * cafe_ceil_div(inner, STRIP), 1, outer * m * inner, CAFE_SERIAL_CHEAP, ENTRY(index_add_task), &c);
    return atomic_load(&c.status);
}

/* A run within one row, in order. */
static void ENTRY(scatter_run)(T *y, const T *source, const int64_t *at, int64_t n, const struct id_walk *w, int found) {
    T *to = y + w->base + w->column * w->step;
    int64_t along = w->along, step = w->step;
    if (found == CAFE_IDS_INSIDE && step == 0)
        for (int64_t i = 0; i < n; i++) to[at[i] * along] += source[i];
    else if (found == CAFE_IDS_INSIDE)
        for (int64_t i = 0; i < n; i++) to[at[i] * along + i * step] += source[i];
    else
        for (int64_t i = 0; i < n; i++)
            if (at[i] >= 0) to[at[i] * along + i * step] += source[i];
}

/* An item is one index of all axes before the ids': places of unlike ones are never the same. */
static void ENTRY(scatter_add_task)(void *context, int64_t begin, int64_t end) {
    struct gather_call *c = context;
    int64_t ids[CAFE_IDS_BLOCK], each = 1;
    for (int d = c->dim; d < c->ndim; d++) each *= c->shape[d];
    struct id_walk w = walk_from(c->ndim, c->shape, c->strides, c->dim, begin * each);
    for (int64_t i = begin * each; i < end * each; i += CAFE_IDS_BLOCK) {
        int64_t some = cafe_min(CAFE_IDS_BLOCK, end * each - i);
        int found;
        const int64_t *at = cafe_ids_at(ids, c->ids, c->kind, i, some, c->n, &found);
        if (!found) {
            atomic_store(&c->status, CAFE_BAD_ID);
            return;
        }
        for (int64_t k = 0, run; k < some; k += run) {
            run = cafe_min(some - k, w.length - w.column);
            ENTRY(scatter_run)(c->y, (const T *)c->x + i + k, at + k, run, &w, found);
            w.column += run;
            if (w.column == w.length) next_row(&w);
        }
    }
}

int ENTRY(scatter_add)(T *y, const T *source, const void *ids, int kind, int ndim, const int64_t *shape, const int64_t *strides, int dim, int64_t n) {
    struct gather_call c = {y, source, ids, kind, ndim, dim, shape, strides, n, sizeof(T), CAFE_OK};
    int64_t outer = 1, total = 1;
    for (int d = 0; d < ndim; d++) total *= shape[d], outer *= d < dim ? shape[d] : 1;
    if (total == 0) return CAFE_OK;
    cafe_for(outer, cafe_ceil_div(CAFE_GRAIN * outer, total), total, CAFE_SERIAL_CHEAP, ENTRY(scatter_add_task), &c);
    return atomic_load(&c.status);
}

#endif
