/* Entry points of bodies/reduce.inc, for both types: the file includes itself once for each. */
#ifndef REAL
#include "dispatch.h"
#include "cafe.h"
#include "entry.h"
#include "threads.h"

enum { ROWS_BLOCK = 4096, STRIP = 512, STRIPS = 2, EXTREME_BLOCK = 1 << 15 }; /* SUM_BLOCK and SUM_STRIP of the bodies; strips a thread, if there are columns enough */

/* Columns of a strip: whole cache lines, STRIP at most, and so few that threads find work. Strips decide no bits. */
static int64_t strip_of(int64_t inner) {
    return cafe_min(STRIP, cafe_ceil_div(inner ? inner : 1, 64 * STRIPS * cafe_get_num_threads()) * 64);
}

/* sums[i] = partial[0][i] + partial[1][i] + …, in order, for i in one run of `width`, `blocks` of them. */
static double fold(const double *partial, int64_t blocks, int64_t width) {
    double sum = 0;
    for (int64_t b = 0; b < blocks; b++) sum += partial[b * width];
    return sum;
}

#define REAL f32
#include "reduce.c"
#undef REAL
#define REAL f64
#include "reduce.c"
#undef REAL
#else

typedef struct {
    T *y;
    const T *x;
    double *partial;
    int64_t n, inner, strip, strips, blocks, least;
    uint32_t *at;
    const T *z;
} ENTRY(reduce_call);

static void ENTRY(sum_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    TABLE->sum_rows(c->y + begin, c->x + begin * c->n, end - begin, c->n);
}

/* An item is a block of a row. */
static void ENTRY(sum_block_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i % c->blocks * ROWS_BLOCK;
        TABLE->sum_block(c->partial + i, c->x + i / c->blocks * c->n + from, cafe_min(ROWS_BLOCK, c->n - from));
    }
}

/* An item is a strip of columns of an outer index. */
static void ENTRY(sum_columns_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % c->strips * c->strip, o = i / c->strips;
        TABLE->sum_columns(c->y + o * c->inner + column, c->x + o * c->n * c->inner + column, c->n, c->inner,
                           cafe_min(c->strip, c->inner - column));
    }
}

/* An item is a block of rows of a strip. partial is (outer, blocks, inner). */
static void ENTRY(sum_columns_block_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % c->strips * c->strip, b = i / c->strips % c->blocks, o = i / c->strips / c->blocks, from = b * ROWS_BLOCK;
        TABLE->sum_columns_block(c->partial + (o * c->blocks + b) * c->inner + column, c->x + (o * c->n + from) * c->inner + column,
                                 cafe_min(ROWS_BLOCK, c->n - from), c->inner, cafe_min(c->strip, c->inner - column));
    }
}

int ENTRY(sum)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) {
    int64_t strip = strip_of(inner);
    ENTRY(reduce_call) c = {y, x, 0, n, inner, strip, cafe_ceil_div(inner, strip), cafe_ceil_div(n, ROWS_BLOCK), 0, NULL, NULL};
    int64_t work = outer * n * inner, results = outer * inner;
    if (n == 0)
        for (int64_t i = 0; i < results; i++) y[i] = 0;
    if (work == 0) return CAFE_OK;
    if (n <= ROWS_BLOCK) {
        if (inner == 1) cafe_for(outer, cafe_ceil_div(CAFE_GRAIN, n), work, CAFE_SERIAL_CHEAP, ENTRY(sum_rows_task), &c);
        else cafe_for(outer * c.strips, 1, work, CAFE_SERIAL_CHEAP, ENTRY(sum_columns_task), &c);
        return CAFE_OK;
    }
    c.partial = cafe_scratch((size_t)(results * c.blocks) * sizeof(double));
    if (!c.partial) return CAFE_NO_MEMORY;
    if (inner == 1) cafe_for(outer * c.blocks, 1, work, CAFE_SERIAL_CHEAP, ENTRY(sum_block_task), &c);
    else cafe_for(outer * c.blocks * c.strips, 1, work, CAFE_SERIAL_CHEAP, ENTRY(sum_columns_block_task), &c);
    for (int64_t i = 0; i < results; i++) y[i] = (T)fold(c.partial + i / inner * c.blocks * inner + i % inner, c.blocks, inner);
    return CAFE_OK;
}

/* The same of the products of two rows, each rounded to T as by itself. */
static void ENTRY(dot_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    T product[ROWS_BLOCK];
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i * ROWS_BLOCK, n = cafe_min(ROWS_BLOCK, c->n - from);
        TABLE->binary(CAFE_MUL, product, c->x + from, c->z + from, n, CAFE_NEITHER, 0, 0, 0);
        if (c->blocks > 1) TABLE->sum_block(c->partial + i, product, n);
        else TABLE->sum_rows(c->y, product, 1, n);
    }
}

int ENTRY(dot)(T *y, const T *a, const T *b, int64_t n) {
    ENTRY(reduce_call) c = {.y = y, .x = a, .z = b, .n = n, .blocks = cafe_ceil_div(n, ROWS_BLOCK)};
    *y = 0;
    c.partial = cafe_scratch((size_t)(c.blocks + 1) * sizeof(double));
    if (!c.partial) return CAFE_NO_MEMORY;
    cafe_for(c.blocks, 4, n, CAFE_SERIAL_CHEAP, ENTRY(dot_task), &c);
    if (c.blocks > 1) *y = (T)fold(c.partial, c.blocks, 1);
    return CAFE_OK;
}

static void ENTRY(extreme_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    TABLE->extreme_rows(c->y + begin, c->x + begin * c->n, end - begin, c->n, c->least);
}

/* An item is a block of a row; y has one for each. */
static void ENTRY(extreme_blocks_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i % c->blocks * EXTREME_BLOCK;
        TABLE->extreme_rows(c->y + i, c->x + i / c->blocks * c->n + from, 1, cafe_min(EXTREME_BLOCK, c->n - from), c->least);
    }
}

static void ENTRY(extreme_columns_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % c->strips * c->strip, o = i / c->strips;
        TABLE->extreme_columns(c->y + o * c->inner + column, c->x + o * c->n * c->inner + column, c->n, c->inner,
                               cafe_min(c->strip, c->inner - column), c->least);
    }
}

static int ENTRY(extreme)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner, int64_t least) {
    int64_t strip = strip_of(inner);
    ENTRY(reduce_call) c = {y, x, 0, n, inner, strip, cafe_ceil_div(inner, strip), 0, least, NULL, NULL};
    int64_t work = outer * n * inner;
    if (work == 0) return CAFE_OK;
    if (inner > 1) cafe_for(outer * c.strips, 1, work, CAFE_SERIAL_CHEAP, ENTRY(extreme_columns_task), &c);
    else if (n <= EXTREME_BLOCK) cafe_for(outer, cafe_ceil_div(CAFE_GRAIN, n), work, CAFE_SERIAL_CHEAP, ENTRY(extreme_rows_task), &c);
    else { /* the largest of the blocks' largest */
        c.blocks = cafe_ceil_div(n, EXTREME_BLOCK);
        c.y = cafe_scratch((size_t)(outer * c.blocks) * sizeof(T));
        if (!c.y) return CAFE_NO_MEMORY;
        cafe_for(outer * c.blocks, 1, work, CAFE_SERIAL_CHEAP, ENTRY(extreme_blocks_task), &c);
        TABLE->extreme_rows(y, c.y, outer, c.blocks, least);
    }
    return CAFE_OK;
}

int ENTRY(max)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) { return ENTRY(extreme)(y, x, outer, n, inner, 0); }
int ENTRY(min)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) { return ENTRY(extreme)(y, x, outer, n, inner, 1); }

static void ENTRY(arg_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    TABLE->arg_rows(c->at + begin, c->x + begin * c->n, end - begin, c->n, c->least);
}

static void ENTRY(arg_columns_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % c->strips * c->strip, o = i / c->strips;
        TABLE->arg_columns(c->at + o * c->inner + column, c->x + o * c->n * c->inner + column, c->n, c->inner,
                           cafe_min(c->strip, c->inner - column), c->least);
    }
}

static void ENTRY(arg)(uint32_t *y, const T *x, int64_t outer, int64_t n, int64_t inner, int64_t least) {
    int64_t strip = strip_of(inner), work = outer * n * inner;
    ENTRY(reduce_call) c = {NULL, x, 0, n, inner, strip, cafe_ceil_div(inner, strip), 0, least, y, NULL};
    if (work == 0) return;
    if (inner == 1) cafe_for(outer, cafe_ceil_div(CAFE_GRAIN, n), work, CAFE_SERIAL_CHEAP, ENTRY(arg_rows_task), &c);
    else cafe_for(outer * c.strips, 1, work, CAFE_SERIAL_CHEAP, ENTRY(arg_columns_task), &c);
}

void ENTRY(argmax)(uint32_t *y, const T *x, int64_t outer, int64_t n, int64_t inner) { ENTRY(arg)(y, x, outer, n, inner, 0); }
void ENTRY(argmin)(uint32_t *y, const T *x, int64_t outer, int64_t n, int64_t inner) { ENTRY(arg)(y, x, outer, n, inner, 1); }

#endif
