/* Copies: of any strides into any others, and from one float type to another. */
#include <string.h>

#include "cafe.h"
#include "dispatch.h"
#include "ids.h"
#include "strided.h"
#include "threads.h"

struct copy {
    struct cafe_strided s;
    char *y;
    const char *x;
    int64_t size;
    int turned;                                        /* the axis that lies side by side in x, when the last one does not */
    int64_t y_stride;                                  /* from one of its elements to the next in y, in elements */
    int64_t outer, outer_shape[CAFE_MAX_DIMS], outer_x[CAFE_MAX_DIMS], outer_y[CAFE_MAX_DIMS]; /* the other axes */
    int outer_ndim;
    int64_t stream; /* whether y goes past the caches */
};

static void move_task(void *context, int64_t begin, int64_t end) {
    struct copy *c = context;
    cafe_strided_move(c->y, c->x, &c->s, begin, end - begin, c->size, c->stream);
}

enum { TURNED_ROWS = 64 }; /* rows of x turned at a time: a tile */

/* An item is TURNED_ROWS of the last axis at one index of the outer axes. */
static void turn_task(void *context, int64_t begin, int64_t end) {
    struct copy *c = context;
    int last = c->s.ndim - 1;
    int64_t rows = c->s.shape[last], pieces = cafe_ceil_div(rows, TURNED_ROWS), ldx = c->s.stride[0][last] / c->size;
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i % pieces * TURNED_ROWS, at = i / pieces, n = cafe_min(TURNED_ROWS, rows - from);
        char *y = c->y + from * c->size;
        const char *x = c->x + from * c->s.stride[0][last];
        for (int k = c->outer_ndim - 1; k >= 0; k--, at /= c->outer_shape[k + 1]) {
            y += at % c->outer_shape[k] * c->outer_y[k];
            x += at % c->outer_shape[k] * c->outer_x[k];
        }
        int64_t columns = c->s.shape[c->turned];
        if (c->size < 4) cafe_any->transpose_small(y, c->y_stride * c->size, x, c->s.stride[0][last], n, columns, c->size);
        else if (c->size == 4) cafe_f32->transpose((float *)y, c->y_stride, (const float *)x, ldx, n, columns, c->stream);
        else cafe_f64->transpose((double *)y, c->y_stride, (const double *)x, ldx, n, columns, c->stream);
    }
}

/* Finds the axis to turn against the last, and the axes outside of the two. Small ones are not worth it, and an element repeated along
 * the last is written as a run. */
static int can_turn(struct copy *c) {
    int last = c->s.ndim - 1;
    const int64_t *shape = c->s.shape, *sx = c->s.stride[0], *sy = c->s.stride[1];
    c->turned = -1;
    if (sx[last] == 0 || sx[last] == c->size || sy[last] != c->size || shape[last] < 8 || sx[last] % c->size) return 0;
    for (int k = last - 1; k >= 0; k--)
        if (sx[k] == c->size && sy[k] % c->size == 0 && shape[k] >= 8) c->turned = k;
    if (c->turned < 0) return 0;
    c->y_stride = sy[c->turned] / c->size;
    c->outer = 1;
    for (int k = 0; k < last; k++) {
        if (k == c->turned) continue;
        c->outer_shape[c->outer_ndim] = shape[k];
        c->outer_x[c->outer_ndim] = sx[k];
        c->outer_y[c->outer_ndim++] = sy[k];
        c->outer *= shape[k];
    }
    return 1;
}

void cafe_copy_between(void *y, const void *x, int ndim, const int64_t *shape, const int64_t *y_strides, const int64_t *x_strides, int64_t size) {
    struct copy c = {.s = cafe_strided_join(ndim, shape, x_strides, y_strides, size), .y = y, .x = x, .size = size};
    if (c.s.total == 0) return;
    const int turned = can_turn(&c); /* goes past the caches sooner: it writes short pieces of many rows, each of which would be fetched first */
    c.stream = cafe_streams((turned ? 3 : 2) * c.s.total * size);
    if (turned) cafe_for(c.outer * cafe_ceil_div(c.s.shape[c.s.ndim - 1], TURNED_ROWS), 1, c.s.total, CAFE_SERIAL_CHEAP, turn_task, &c);
    else cafe_for(c.s.total, CAFE_GRAIN, c.s.total, CAFE_SERIAL_CHEAP, move_task, &c);
}

void cafe_copy_strided(void *y, const void *x, int ndim, const int64_t *shape, const int64_t *strides, int64_t size) {
    int64_t y_strides[CAFE_MAX_DIMS], step = size;
    for (int i = ndim - 1; i >= 0; step *= shape[i--]) y_strides[i] = step;
    cafe_copy_between(y, x, ndim, shape, y_strides, strides, size);
}

struct unslice {
    struct cafe_strided s;
    char *y;
    const char *x;
    int64_t offset, size;
};

/* A grain is zeroed and then gets what of x belongs there, while it is in the nearest cache. */
static void unslice_task(void *context, int64_t begin, int64_t end) {
    struct unslice *c = context;
    int64_t from = cafe_strided_before(&c->s, 1, begin * c->size - c->offset), to;
    for (int64_t i = begin, n; i < end; i += n, from = to) {
        n = cafe_min(CAFE_GRAIN, end - i);
        memset(c->y + i * c->size, 0, (size_t)(n * c->size));
        to = cafe_strided_before(&c->s, 1, (i + n) * c->size - c->offset);
        cafe_strided_move(c->y + c->offset, c->x, &c->s, from, to - from, c->size, 0);
    }
}

void cafe_unslice(void *y, int64_t n, int64_t offset, const void *x, int ndim, const int64_t *shape, const int64_t *y_strides, const int64_t *x_strides,
                  int64_t size) {
    struct unslice c = {.s = cafe_strided_join(ndim, shape, x_strides, y_strides, size), .y = y, .x = x, .offset = offset, .size = size};
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_CHEAP, unslice_task, &c);
}

struct cast {
    void (*kernel)(void *y, const void *x, int64_t n);
    char *y;
    const char *x;
    int64_t y_size, x_size;
};

static void cast_task(void *context, int64_t begin, int64_t end) {
    struct cast *c = context;
    c->kernel(c->y + begin * c->y_size, c->x + begin * c->x_size, end - begin);
}

void cafe_cast(int conversion, void *y, const void *x, int64_t n) {
    struct cast c = {0, y, x, 4, 4};
    switch (conversion) {
        case CAFE_F16_F32: c.kernel = cafe_any->cast_f16_f32, c.x_size = 2; break;
        case CAFE_BF16_F32: c.kernel = cafe_any->cast_bf16_f32, c.x_size = 2; break;
        case CAFE_F32_F16: c.kernel = cafe_any->cast_f32_f16, c.y_size = 2; break;
        case CAFE_F32_BF16: c.kernel = cafe_any->cast_f32_bf16, c.y_size = 2; break;
        case CAFE_F32_F64: c.kernel = cafe_any->cast_f32_f64, c.y_size = 8; break;
        case CAFE_F64_F32: c.kernel = cafe_any->cast_f64_f32, c.x_size = 8; break;
        default: return;
    }
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_CHEAP, cast_task, &c);
}

struct cast_kinds {
    int from, to;
    char *y;
    const char *x;
};

static int64_t kind_size(int kind) {
    return kind == CAFE_KIND_F64 ? 8 : kind == CAFE_KIND_F16 || kind == CAFE_KIND_BF16 ? 2 : cafe_id_size(kind);
}

static void cast_by_f32_task(void *context, int64_t begin, int64_t end) {
    struct cast_kinds *c = context;
    float block[CAFE_STRIDED_BLOCK];
    for (int64_t i = begin, n; i < end; i += n) {
        n = cafe_min(CAFE_STRIDED_BLOCK, end - i);
        const void *x = c->x + i * kind_size(c->from);
        void *y = c->y + i * kind_size(c->to);
        if (c->from == CAFE_KIND_F16) cafe_any->cast_f16_f32(block, x, n);
        else if (c->from == CAFE_KIND_BF16) cafe_any->cast_bf16_f32(block, x, n);
        else if (c->from == CAFE_KIND_F64) cafe_any->odd_of_f64(block, x, n);
        else cafe_any->odd_of_whole(c->from, block, x, n);
        if (c->to == CAFE_KIND_F16) cafe_any->cast_f32_f16(y, block, n);
        else if (c->to == CAFE_KIND_BF16) cafe_any->cast_f32_bf16(y, block, n);
        else if (c->to == CAFE_KIND_F64) cafe_any->cast_f32_f64(y, block, n);
        else cafe_f32->to_whole(c->to, y, block, n);
    }
}

void cafe_cast_by_f32(int from, int to, void *y, const void *x, int64_t n) {
    struct cast_kinds c = {from, to, y, x};
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_CHEAP, cast_by_f32_task, &c);
}

static void cast_whole_task(void *context, int64_t begin, int64_t end) {
    struct cast_kinds *c = context;
    cafe_any->cast_whole(c->from, c->to, c->y + begin * cafe_id_size(c->to), c->x + begin * cafe_id_size(c->from), end - begin);
}

void cafe_cast_whole(int from, int to, void *y, const void *x, int64_t n) {
    struct cast_kinds c = {from, to, y, x};
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_CHEAP, cast_whole_task, &c);
}
