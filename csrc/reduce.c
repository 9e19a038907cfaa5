/* Entry points of bodies/reduce.inc, for both types: the file includes itself once for each. */
#ifndef REAL
#include "dispatch.h"
#include "cafe.h"
#include "entry.h"
#include "parts.h"
#include "threads.h"

enum {
    ROWS_BLOCK = 4096, /* SUM_BLOCK of the bodies */
    STRIP = 512,       /* their SUM_STRIP */
    STRIPS = 2,        /* a thread, if there are columns enough */
    EXTREME_BLOCK = 1 << 15
};

/* Columns of a strip: whole cache lines, STRIP at most, and so few that threads find work. Strips decide no bits. */
static int64_t strip_of(int64_t inner) {
    return cafe_min(STRIP, cafe_ceil_div(inner ? inner : 1, 64 * STRIPS * cafe_get_num_threads()) * 64);
}

/* The sum of an element's partial sums, in order. */
static double fold(const double *partial, const struct cafe_parts *p) {
    double sum = 0;
    for (int64_t b = 0; b < p->blocks; b++) sum += partial[b * p->inner];
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
    const T *x, *z;
    double *partial;
    uint32_t *at;
    struct cafe_parts parts;
    int64_t least;
} ENTRY(reduce_call);

static void ENTRY(sum_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    TABLE->sum_rows(c->y + begin, c->x + begin * c->parts.n, end - begin, c->parts.n);
}

static void ENTRY(sum_block_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        TABLE->sum_block(c->partial + p.result, c->x + p.at, p.rows);
    }
}

static void ENTRY(sum_columns_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        TABLE->sum_columns(c->y + p.result, c->x + p.at, p.rows, c->parts.inner, p.columns);
    }
}

static void ENTRY(sum_columns_block_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        TABLE->sum_columns_block(c->partial + p.result, c->x + p.at, p.rows, c->parts.inner, p.columns);
    }
}

int ENTRY(sum)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) {
    ENTRY(reduce_call) c = {.y = y, .x = x, .parts = cafe_parts_of(outer, n, inner, ROWS_BLOCK, strip_of(inner))};
    int64_t blocks = c.parts.blocks, results = outer * inner;
    if (n == 0)
        for (int64_t i = 0; i < results; i++) y[i] = 0;
    if (n == 0 || results == 0) return CAFE_OK;
    if (blocks == 1) {
        cafe_for_parts(&c.parts, CAFE_SERIAL_CHEAP, inner == 1 ? ENTRY(sum_rows_task) : ENTRY(sum_columns_task), &c);
        return CAFE_OK;
    }
    c.partial = cafe_scratch((size_t)(results * blocks) * sizeof(double));
    if (!c.partial) return CAFE_NO_MEMORY;
    cafe_for_parts(&c.parts, CAFE_SERIAL_CHEAP, inner == 1 ? ENTRY(sum_block_task) : ENTRY(sum_columns_block_task), &c);
    for (int64_t i = 0; i < results; i++) y[i] = (T)fold(c.partial + cafe_parts_first(&c.parts, i), &c.parts);
    return CAFE_OK;
}

/* The same of the products of two rows, each rounded to T as by itself. */
static void ENTRY(dot_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    T product[ROWS_BLOCK];
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        TABLE->binary(CAFE_MUL, product, c->x + p.at, c->z + p.at, p.rows, CAFE_NEITHER, 0, 0, 0);
        if (c->parts.blocks > 1) TABLE->sum_block(c->partial + p.result, product, p.rows);
        else TABLE->sum_rows(c->y, product, 1, p.rows);
    }
}

int ENTRY(dot)(T *y, const T *a, const T *b, int64_t n) {
    ENTRY(reduce_call) c = {.y = y, .x = a, .z = b, .parts = cafe_parts_of(1, n, 1, ROWS_BLOCK, 1)};
    int64_t blocks = c.parts.blocks;
    *y = 0;
    c.partial = cafe_scratch((size_t)(blocks + 1) * sizeof(double));
    if (!c.partial) return CAFE_NO_MEMORY;
    cafe_for(blocks, 4, n, CAFE_SERIAL_CHEAP, ENTRY(dot_task), &c);
    if (blocks > 1) *y = (T)fold(c.partial, &c.parts);
    return CAFE_OK;
}

static void ENTRY(extreme_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    TABLE->extreme_rows(c->y + begin, c->x + begin * c->parts.n, end - begin, c->parts.n, c->least);
}

static void ENTRY(extreme_blocks_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        TABLE->extreme_rows(c->y + p.result, c->x + p.at, 1, p.rows, c->least);
    }
}

static void ENTRY(extreme_columns_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        TABLE->extreme_columns(c->y + p.result, c->x + p.at, p.rows, c->parts.inner, p.columns, c->least);
    }
}

static int ENTRY(extreme)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner, int64_t least) {
    ENTRY(reduce_call) c = {.y = y, .x = x, .least = least};
    c.parts = cafe_parts_of(outer, n, inner, inner > 1 ? n : EXTREME_BLOCK, strip_of(inner));
    int64_t blocks = c.parts.blocks;
    if (outer * n * inner == 0) return CAFE_OK;
    if (inner > 1) cafe_for_parts(&c.parts, CAFE_SERIAL_CHEAP, ENTRY(extreme_columns_task), &c);
    else if (blocks == 1) cafe_for_parts(&c.parts, CAFE_SERIAL_CHEAP, ENTRY(extreme_rows_task), &c);
    else { /* the largest of the blocks' largest */
        c.y = cafe_scratch((size_t)(outer * blocks) * sizeof(T));
        if (!c.y) return CAFE_NO_MEMORY;
        cafe_for_parts(&c.parts, CAFE_SERIAL_CHEAP, ENTRY(extreme_blocks_task), &c);
        TABLE->extreme_rows(y, c.y, outer, blocks, least);
    }
    return CAFE_OK;
}

int ENTRY(max)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) { return ENTRY(extreme)(y, x, outer, n, inner, 0); }
int ENTRY(min)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) { return ENTRY(extreme)(y, x, outer, n, inner, 1); }

static void ENTRY(arg_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    TABLE->arg_rows(c->at + begin, c->x + begin * c->parts.n, end - begin, c->parts.n, c->least);
}

static void ENTRY(arg_columns_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(reduce_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        TABLE->arg_columns(c->at + p.result, c->x + p.at, p.rows, c->parts.inner, p.columns, c->least);
    }
}

static void ENTRY(arg)(uint32_t *y, const T *x, int64_t outer, int64_t n, int64_t inner, int64_t least) {
    ENTRY(reduce_call) c = {.at = y, .x = x, .least = least, .parts = cafe_parts_of(outer, n, inner, n, strip_of(inner))};
    cafe_for_parts(&c.parts, CAFE_SERIAL_CHEAP, inner == 1 ? ENTRY(arg_rows_task) : ENTRY(arg_columns_task), &c);
}

void ENTRY(argmax)(uint32_t *y, const T *x, int64_t outer, int64_t n, int64_t inner) { ENTRY(arg)(y, x, outer, n, inner, 0); }
void ENTRY(argmin)(uint32_t *y, const T *x, int64_t outer, int64_t n, int64_t inner) { ENTRY(arg)(y, x, outer, n, inner, 1); }

#endif
