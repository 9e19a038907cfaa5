/* Entry points of bodies/prod.inc, for both types: the file includes itself once for each. */
#ifndef REAL
#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "threads.h"

enum { BLOCK = 4096, STRIP = 512 }; /* SUM_BLOCK and SUM_STRIP of the bodies */

#define REAL f32
#include "prod.c"
#undef REAL
#define REAL f64
#include "prod.c"
#undef REAL
#else

typedef struct {
    T *dx;
    const T *x;
    double *partial; /* (outer, blocks, inner) */
    int64_t n, inner, strips, blocks;
} ENTRY(prod_call);

/* An item is a block of a row. */
static void ENTRY(prod_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(prod_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i % c->blocks * BLOCK;
        TABLE->prod_block(c->partial + i, c->x + i / c->blocks * c->n + from, cafe_min(BLOCK, c->n - from));
    }
}

/* An item is a block of rows of a strip. */
static void ENTRY(prod_columns_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(prod_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % c->strips * STRIP, b = i / c->strips % c->blocks, o = i / c->strips / c->blocks, from = b * BLOCK;
        TABLE->prod_columns_block(c->partial + (o * c->blocks + b) * c->inner + column, c->x + (o * c->n + from) * c->inner + column,
                                  cafe_min(BLOCK, c->n - from), c->inner, cafe_min(STRIP, c->inner - column));
    }
}

/* The blocks' products into scratch. */
static int ENTRY(prod_blocks)(ENTRY(prod_call) *c, int64_t outer) {
    const int64_t work = outer * c->n * c->inner;
    c->blocks = cafe_ceil_div(c->n, BLOCK);
    c->strips = cafe_ceil_div(c->inner, STRIP);
    c->partial = cafe_scratch((size_t)(outer * c->blocks * c->inner) * sizeof(double));
    if (!c->partial) return CAFE_NO_MEMORY;
    const int64_t grain = cafe_ceil_div(CAFE_GRAIN, cafe_min(c->n, BLOCK));
    if (c->inner == 1) cafe_for(outer * c->blocks, grain, work, CAFE_SERIAL_CHEAP, ENTRY(prod_rows_task), c);
    else cafe_for(outer * c->blocks * c->strips, 1, work, CAFE_SERIAL_CHEAP, ENTRY(prod_columns_task), c);
    return CAFE_OK;
}

int ENTRY(prod)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) {
    ENTRY(prod_call) c = {.x = x, .n = n, .inner = inner};
    const int64_t results = outer * inner;
    if (n == 0)
        for (int64_t i = 0; i < results; i++) y[i] = 1;
    if (n == 0 || results == 0) return CAFE_OK;
    int status = ENTRY(prod_blocks)(&c, outer);
    for (int64_t i = 0; status == CAFE_OK && i < results; i++) {
        const double *partial = c.partial + i / inner * c.blocks * inner + i % inner;
        double product = partial[0];
        for (int64_t b = 1; b < c.blocks; b++) product *= partial[b * inner];
        y[i] = (T)product;
    }
    return status;
}

/* An item is a block of a row; in partial stands what all of it is multiplied with. */
static void ENTRY(prod_backward_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(prod_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i % c->blocks * BLOCK, at = i / c->blocks * c->n + from;
        TABLE->prod_others(c->dx + at, c->x + at, cafe_min(BLOCK, c->n - from), c->partial[i]);
    }
}

int ENTRY(prod_backward)(T *dx, const T *g, const T *x, int64_t outer, int64_t n) {
    ENTRY(prod_call) c = {.dx = dx, .x = x, .n = n, .inner = 1};
    if (outer * n == 0) return CAFE_OK;
    int status = ENTRY(prod_blocks)(&c, outer);
    if (status != CAFE_OK) return status;
    double *after = cafe_pool_take((c.blocks + 1) * (int64_t)sizeof(double));
    if (!after) return CAFE_NO_MEMORY;
    for (int64_t o = 0; o < outer; o++) { /* a block's factor: g, the blocks before it, the blocks after it */
        double *block = c.partial + o * c.blocks, before = (double)g[o];
        after[c.blocks] = 1;
        for (int64_t b = c.blocks - 1; b >= 0; b--) after[b] = block[b] * after[b + 1];
        for (int64_t b = 0; b < c.blocks; b++) {
            double own = block[b];
            block[b] = before * after[b + 1];
            before *= own;
        }
    }
    cafe_pool_give(after);
    const int64_t grain = cafe_ceil_div(CAFE_GRAIN, cafe_min(n, BLOCK));
    cafe_for(outer * c.blocks, grain, outer * n, CAFE_SERIAL_CHEAP, ENTRY(prod_backward_task), &c);
    return CAFE_OK;
}

#endif
