/* Entry points of bodies/prod.inc, for both types: the file includes itself once for each. */
#ifndef REAL
#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "parts.h"
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
    struct cafe_parts parts;
} ENTRY(prod_call);

static void ENTRY(prod_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(prod_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        TABLE->prod_block(c->partial + p.result, c->x + p.at, p.rows);
    }
}

static void ENTRY(prod_columns_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(prod_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        TABLE->prod_columns_block(c->partial + p.result, c->x + p.at, p.rows, c->parts.inner, p.columns);
    }
}

/* The blocks' products into scratch. */
static int ENTRY(prod_blocks)(ENTRY(prod_call) *c, int64_t outer, int64_t n, int64_t inner) {
    c->parts = cafe_parts_of(outer, n, inner, BLOCK, STRIP);
    c->partial = cafe_scratch((size_t)(outer * c->parts.blocks * inner) * sizeof(double));
    if (!c->partial) return CAFE_NO_MEMORY;
    cafe_for_parts(&c->parts, CAFE_SERIAL_CHEAP, inner == 1 ? ENTRY(prod_rows_task) : ENTRY(prod_columns_task), c);
    return CAFE_OK;
}

int ENTRY(prod)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) {
    ENTRY(prod_call) c = {.x = x};
    const int64_t results = outer * inner;
    if (n == 0)
        for (int64_t i = 0; i < results; i++) y[i] = 1;
    if (n == 0 || results == 0) return CAFE_OK;
    int status = ENTRY(prod_blocks)(&c, outer, n, inner);
    for (int64_t i = 0; status == CAFE_OK && i < results; i++) {
        const double *partial = c.partial + cafe_parts_first(&c.parts, i);
        double product = partial[0];
        for (int64_t b = 1; b < c.parts.blocks; b++) product *= partial[b * inner];
        y[i] = (T)product;
    }
    return status;
}

/* In partial stands what all of a block is multiplied with. */
static void ENTRY(prod_backward_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(prod_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        TABLE->prod_others(c->dx + p.at, c->x + p.at, p.rows, c->partial[p.result]);
    }
}

int ENTRY(prod_backward)(T *dx, const T *g, const T *x, int64_t outer, int64_t n) {
    ENTRY(prod_call) c = {.dx = dx, .x = x};
    if (outer * n == 0) return CAFE_OK;
    int status = ENTRY(prod_blocks)(&c, outer, n, 1);
    if (status != CAFE_OK) return status;
    int64_t blocks = c.parts.blocks;
    double *after = cafe_pool_take((blocks + 1) * (int64_t)sizeof(double));
    if (!after) return CAFE_NO_MEMORY;
    for (int64_t o = 0; o < outer; o++) { /* a block's factor: g, the blocks before it, the blocks after it */
        double *block = c.partial + o * blocks, before = (double)g[o];
        after[blocks] = 1;
        for (int64_t b = blocks - 1; b >= 0; b--) after[b] = block[b] * after[b + 1];
        for (int64_t b = 0; b < blocks; b++) {
            double own = block[b];
            block[b] = before * after[b + 1];
            before *= own;
        }
    }
    cafe_pool_give(after);
    cafe_for_parts(&c.parts, CAFE_SERIAL_CHEAP, ENTRY(prod_backward_task), &c);
    return CAFE_OK;
}

#endif
