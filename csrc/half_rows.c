/* Softmax and the norms of rows of F16 and BF16, softmax of columns too: some rows are widened into the nearest cache, computed by
 * f32's kernel and rounded once. */
#include <stdatomic.h>
#include <stdlib.h>

#include "cafe.h"
#include "dispatch.h"
#include "parts.h"
#include "threads.h"

enum { TOGETHER = 2048, STRIP = 64 }; /* elements: 8 KiB of f32 in, as many out; columns */

struct half_rows {
    void (*widen)(void *y, const void *x, int64_t n), (*narrow)(void *y, const void *x, int64_t n);
    void (*rows)(float *y, const float *x, int64_t rows, int64_t n); /* softmax's kernels; NULL for a norm */
    void (*columns)(float *y, const float *x, int64_t n, int64_t stride, int64_t columns);
    uint16_t *y;
    const uint16_t *x, *r;
    float *mean, *rest, *rstd;
    const float *w, *b;
    int64_t n, inner;
    struct cafe_parts parts; /* whole strips of columns */
    double eps;
    atomic_int failed;
};

static void compute_rows(const struct half_rows *c, float *y, const float *x, int64_t row, int64_t rows) {
    if (c->rows) c->rows(y, x, rows, c->n);
    else if (c->mean) cafe_f32->layer_norm_rows(y, c->mean + row, c->rest + row, c->rstd + row, x, c->w, c->b, rows, c->n, c->eps);
    else cafe_f32->rms_norm_rows(y, c->rstd + row, x, c->w, c->b, rows, c->n, c->eps);
}

static void half_rows_task(void *context, int64_t begin, int64_t end) {
    struct half_rows *c = context;
    int64_t most = cafe_ceil_div(TOGETHER, c->n);
    float *x = cafe_scratch((size_t)(2 * most * c->n) * sizeof(float)), *y = x + most * c->n;
    if (!x) {
        atomic_store(&c->failed, 1);
        return;
    }
    for (int64_t row = begin, rows; row < end; row += rows) {
        rows = cafe_min(most, end - row);
        int64_t at = row * c->n, size = rows * c->n;
        c->widen(x, c->x + at, size);
        if (c->r) {
            c->widen(y, c->r + at, size);
            cafe_f32->binary(CAFE_ADD, x, x, y, size, CAFE_NEITHER, 0, 0, 0);
        }
        compute_rows(c, y, x, row, rows);
        c->narrow(c->y + at, y, size);
    }
}

static void half_strips_task(void *context, int64_t begin, int64_t end) {
    struct half_rows *c = context;
    float *x = cafe_scratch((size_t)(c->n * STRIP) * sizeof(float));
    if (!x) {
        atomic_store(&c->failed, 1);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part part = cafe_part_of(&c->parts, i);
        for (int64_t r = 0; r < c->n; r++) c->widen(x + r * STRIP, c->x + part.at + r * c->inner, part.columns);
        c->columns(x, x, c->n, STRIP, part.columns);
        for (int64_t r = 0; r < c->n; r++) c->narrow(c->y + part.at + r * c->inner, x + r * STRIP, part.columns);
    }
}

static int half_softmax(struct half_rows c, int64_t outer) {
    int64_t work = outer * c.n * c.inner;
    if (work == 0) return CAFE_OK;
    c.parts = cafe_parts_of(outer, c.n, c.inner, c.n, STRIP);
    if (c.inner == 1) cafe_for(outer, cafe_ceil_div(CAFE_GRAIN, c.n), work, CAFE_SERIAL_EXP, half_rows_task, &c);
    else cafe_for(outer * c.parts.strips, 1, work, CAFE_SERIAL_EXP, half_strips_task, &c);
    return atomic_load(&c.failed) ? CAFE_NO_MEMORY : CAFE_OK;
}

static int half_norm(struct half_rows c, const uint16_t *w, const uint16_t *b, int64_t rows) {
    if (rows * c.n == 0) return CAFE_OK;
    float *both = malloc((size_t)(2 * c.n) * sizeof(float));
    if (!both) return CAFE_NO_MEMORY;
    if (w) c.widen(both, w, c.n), c.w = both;
    if (b) c.widen(both + c.n, b, c.n), c.b = both + c.n;
    cafe_for(rows, cafe_ceil_div(CAFE_GRAIN, c.n), rows * c.n, CAFE_SERIAL_EXP, half_rows_task, &c);
    free(both);
    return atomic_load(&c.failed) ? CAFE_NO_MEMORY : CAFE_OK;
}

#define KIND(kind)                                                                                                                        \
    int cafe_softmax_##kind(uint16_t *y, const uint16_t *x, int64_t outer, int64_t n, int64_t inner) {                                    \
        return half_softmax((struct half_rows){.widen = cafe_any->cast_##kind##_f32, .narrow = cafe_any->cast_f32_##kind,                 \
            .rows = cafe_f32->softmax_rows, .columns = cafe_f32->softmax_columns, .y = y, .x = x, .n = n, .inner = inner}, outer);        \
    }                                                                                                                                     \
    int cafe_log_softmax_##kind(uint16_t *y, const uint16_t *x, int64_t outer, int64_t n, int64_t inner) {                                \
        return half_softmax((struct half_rows){.widen = cafe_any->cast_##kind##_f32, .narrow = cafe_any->cast_f32_##kind,                 \
            .rows = cafe_f32->log_softmax_rows, .columns = cafe_f32->log_softmax_columns, .y = y, .x = x, .n = n, .inner = inner}, outer); \
    }                                                                                                                                     \
    int cafe_layer_norm_##kind(uint16_t *y, float *mean, float *rest, float *rstd, const uint16_t *x, const uint16_t *r,                  \
                               const uint16_t *w, const uint16_t *b, int64_t rows, int64_t n, double eps) {                               \
        return half_norm((struct half_rows){.widen = cafe_any->cast_##kind##_f32, .narrow = cafe_any->cast_f32_##kind, .y = y, .x = x,    \
            .r = r, .mean = mean, .rest = rest, .rstd = rstd, .n = n, .eps = eps}, w, b, rows);                                           \
    }                                                                                                                                     \
    int cafe_rms_norm_##kind(uint16_t *y, float *rstd, const uint16_t *x, const uint16_t *w, const uint16_t *b, int64_t rows, int64_t n,  \
                             double eps) {                                                                                                \
        return half_norm((struct half_rows){.widen = cafe_any->cast_##kind##_f32, .narrow = cafe_any->cast_f32_##kind, .y = y, .x = x,    \
            .rstd = rstd, .n = n, .eps = eps}, w, b, rows);                                                                               \
    }
KIND(f16)
KIND(bf16)
#undef KIND
