/* Entry points of bodies/loss.inc, for both types: the file includes itself once for each. */
#ifndef REAL
#include "dispatch.h"
#include "cafe.h"
#include "entry.h"
#include "ids.h"
#include "threads.h"

enum { LOSS_BLOCK = 4096 /* rows.inc's ROW_BLOCK */ };

#define REAL f32
#include "loss.c"
#undef REAL
#define REAL f64
#include "loss.c"
#undef REAL
#else

/* Means over pairs. */
struct ENTRY(pair_call) {
    void (*row)(T *y, const T *a, const T *b, int64_t n, T delta);
    void (*block)(double *partial, const T *a, const T *b, int64_t n, T delta);
    void (*slopes)(T *da, const T *a, const T *b, int64_t n, T scale, T delta);
    T *da;
    const T *a, *b;
    double *partial;
    int64_t n;
    T scale, delta /* huber's */;
};

/* An item is a block. */
static void ENTRY(pair_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(pair_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i * LOSS_BLOCK;
        c->block(c->partial + i, c->a + from, c->b + from, cafe_min(LOSS_BLOCK, c->n - from), c->delta);
    }
}

static int ENTRY(pair_mean)(T *y, struct ENTRY(pair_call) c, int64_t serial_below) {
    int64_t blocks = cafe_ceil_div(c.n, LOSS_BLOCK);
    if (blocks <= 1) {
        c.row(y, c.a, c.b, c.n, c.delta);
        return CAFE_OK;
    }
    double sum = 0;
    c.partial = cafe_scratch((size_t)blocks * sizeof sum);
    if (!c.partial) return CAFE_NO_MEMORY;
    cafe_for(blocks, 1, c.n, serial_below, ENTRY(pair_task), &c);
    for (int64_t i = 0; i < blocks; i++) sum += c.partial[i];
    *y = (T)sum / (T)c.n;
    return CAFE_OK;
}

static void ENTRY(pair_slopes_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(pair_call) *c = context;
    c->slopes(c->da + begin, c->a + begin, c->b + begin, end - begin, c->scale, c->delta);
}

int ENTRY(bce)(T *y, const T *x, const T *t, int64_t n) {
    struct ENTRY(pair_call) c = {.row = TABLE->bce_row, .block = TABLE->bce_block, .a = x, .b = t, .n = n};
    return ENTRY(pair_mean)(y, c, CAFE_SERIAL_EXP);
}

void ENTRY(mse_backward)(T *da, const T *g, const T *a, const T *b, int64_t n) {
    struct ENTRY(pair_call) c = {.slopes = TABLE->mse_backward, .da = da, .a = a, .b = b, .scale = *g * (T)(2.0 / (double)(n > 0 ? n : 1))};
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_CHEAP, ENTRY(pair_slopes_task), &c);
}

int ENTRY(mse)(T *y, T *da, const T *a, const T *b, int64_t n) {
    struct ENTRY(pair_call) c = {.row = TABLE->mse_row, .block = TABLE->mse_block, .a = a, .b = b, .n = n};
    if (da) ENTRY(mse_backward)(da, &(T){1}, a, b, n);
    return ENTRY(pair_mean)(y, c, CAFE_SERIAL_CHEAP);
}

void ENTRY(huber_backward)(T *da, const T *g, const T *a, const T *b, int64_t n, double delta) {
    struct ENTRY(pair_call) c = {.slopes = TABLE->huber_backward, .da = da, .a = a, .b = b, .delta = (T)delta};
    c.scale = *g * (T)(1.0 / (double)(n > 0 ? n : 1));
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_CHEAP, ENTRY(pair_slopes_task), &c);
}

int ENTRY(huber)(T *y, T *da, const T *a, const T *b, int64_t n, double delta) {
    struct ENTRY(pair_call) c = {.row = TABLE->huber_row, .block = TABLE->huber_block, .a = a, .b = b, .n = n, .delta = (T)delta};
    if (da) ENTRY(huber_backward)(da, &(T){1}, a, b, n, delta);
    return ENTRY(pair_mean)(y, c, CAFE_SERIAL_CHEAP);
}

void ENTRY(bce_backward)(T *dx, const T *g, const T *x, const T *t, int64_t n) {
    struct ENTRY(pair_call) c = {.slopes = TABLE->bce_backward, .da = dx, .a = x, .b = t, .scale = *g * (T)(1.0 / (double)(n > 0 ? n : 1))};
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_EXP, ENTRY(pair_slopes_task), &c);
}

typedef struct {
    T *loss, *dx;
    const T *x, *weights;
    const int64_t *at;
    int64_t n;
    T g, share;
} ENTRY(cross_entropy_call);

static void ENTRY(cross_entropy_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(cross_entropy_call) *c = context;
    const T *weights = c->weights ? c->weights + begin : NULL;
    TABLE->cross_entropy_rows(c->loss + begin, c->dx ? c->dx + begin * c->n : NULL, c->x + begin * c->n, c->at + begin, weights, c->g,
                              c->share, end - begin, c->n);
}

int ENTRY(cross_entropy)(T *y, T *dx, const T *x, const void *ids, int kind, const T *weights, int64_t rows, int64_t n, double g) {
    char *scratch = cafe_scratch((size_t)rows * (sizeof(int64_t) + sizeof(T)));
    if (!scratch) return CAFE_NO_MEMORY;
    int64_t *at = (int64_t *)scratch;
    if (!cafe_ids_read(at, ids, kind, 0, rows, n)) return CAFE_BAD_ID;
    ENTRY(cross_entropy_call) c = {(T *)(at + rows), dx, x, weights, at, n, (T)g, (T)g / (T)rows};
    cafe_for(rows, cafe_ceil_div(CAFE_GRAIN, n), rows * n, CAFE_SERIAL_EXP, ENTRY(cross_entropy_task), &c);
    if (!y) return CAFE_OK;
    TABLE->sum_rows(y, c.loss, 1, rows);
    *y = 0 - (weights ? *y : *y / (T)rows); /* a minus sign would make a loss of nothing -0 */
    return CAFE_OK;
}

#endif
