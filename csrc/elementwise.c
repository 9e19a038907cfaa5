/* Entry points of bodies/unary.inc and bodies/binary.inc, for both types: the file includes itself once for each. */
#ifndef REAL
#include "dispatch.h"
#include "cafe.h"
#include "entry.h"
#include "strided.h"
#include "threads.h"

#define REAL f32
#include "elementwise.c"
#undef REAL
#define REAL f64
#include "elementwise.c"
#undef REAL
#else

typedef struct {
    int op, fixed;
    int64_t stream;
    void *y;
    const T *a, *b;
    const uint8_t *c;
    double first, second;
    struct cafe_strided s;
} ENTRY(map_call);

static void ENTRY(unary_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(map_call) *c = context;
    TABLE->unary(c->op, (T *)c->y + begin, c->a + begin, end - begin, c->first, c->second, c->stream);
}

void ENTRY(unary)(int op, T *y, const T *x, int64_t n, double a, double b) {
    ENTRY(map_call) c = {.op = op, .y = y, .a = x, .first = a, .second = b, .stream = cafe_streams(2 * n * (int64_t)sizeof(T)) && y != x};
    cafe_for(n, CAFE_GRAIN, n, op < CAFE_EXP ? CAFE_SERIAL_CHEAP : CAFE_SERIAL_EXP, ENTRY(unary_task), &c);
}

static void ENTRY(binary_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(map_call) *c = context;
    const T *a = c->fixed == CAFE_FIRST ? c->a : c->a + begin, *b = c->fixed == CAFE_SECOND ? c->b : c->b + begin;
    TABLE->binary(c->op, (T *)c->y + begin, a, b, end - begin, c->fixed, c->first, c->second, c->stream);
}

void ENTRY(binary)(int op, T *y, const T *a, const T *b, int64_t n, int fixed) {
    ENTRY(map_call) c = {.op = op, .y = y, .a = a, .b = b, .fixed = fixed};
    c.stream = cafe_streams((fixed == CAFE_NEITHER ? 3 : 2) * n * (int64_t)sizeof(T)) && y != a && y != b;
    cafe_for(n, CAFE_GRAIN, n, op < CAFE_SILU_BACKWARD ? CAFE_SERIAL_CHEAP : CAFE_SERIAL_EXP, ENTRY(binary_task), &c);
}

void ENTRY(slope)(int op, T *dx, const T *g, const T *x, int64_t n, int fixed, double first, double second) {
    ENTRY(map_call) c = {.op = op, .y = dx, .a = g, .b = x, .fixed = fixed, .first = first, .second = second};
    c.stream = cafe_streams(3 * n * (int64_t)sizeof(T)) && dx != g && dx != x;
    cafe_for(n, CAFE_GRAIN, n, op < CAFE_SILU_BACKWARD ? CAFE_SERIAL_CHEAP : CAFE_SERIAL_EXP, ENTRY(binary_task), &c);
}

#define POW E2(pow, REAL)
#define POWF E2(powf, REAL)
static void ENTRY(pow_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(map_call) *c = context;
    const T *a = c->fixed == CAFE_FIRST ? c->a : c->a + begin, *b = c->fixed == CAFE_SECOND ? c->b : c->b + begin;
    cafe_any->POW((T *)c->y + begin, a, b, end - begin, c->fixed);
}

void ENTRY(pow)(T *y, const T *a, const T *b, int64_t n, int fixed) {
    ENTRY(map_call) c = {.y = y, .a = a, .b = b, .fixed = fixed};
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_EXP, ENTRY(pow_task), &c);
}

static void ENTRY(powf_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(map_call) *c = context;
    cafe_any->POWF((T *)c->y + begin, c->a + begin, end - begin, c->first);
}

void ENTRY(powf)(T *y, const T *x, int64_t n, double e) {
    ENTRY(map_call) c = {.y = y, .a = x, .first = e};
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_EXP, ENTRY(powf_task), &c);
}
#undef POW
#undef POWF

static void ENTRY(compare_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(map_call) *c = context;
    const T *a = c->fixed == CAFE_FIRST ? c->a : c->a + begin, *b = c->fixed == CAFE_SECOND ? c->b : c->b + begin;
    TABLE->compare(c->op, (uint8_t *)c->y + begin, a, b, end - begin, c->fixed);
}

void ENTRY(compare)(int op, uint8_t *y, const T *a, const T *b, int64_t n, int fixed) {
    ENTRY(map_call) c = {.op = op, .y = y, .a = a, .b = b, .fixed = fixed};
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_CHEAP, ENTRY(compare_task), &c);
}

static void ENTRY(where_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(map_call) *c = context;
    const T *a = c->fixed == CAFE_FIRST || c->fixed == CAFE_BOTH ? c->a : c->a + begin;
    const T *b = c->fixed == CAFE_SECOND || c->fixed == CAFE_BOTH ? c->b : c->b + begin;
    TABLE->where((T *)c->y + begin, c->c + begin, a, b, end - begin, c->fixed);
}

void ENTRY(where)(T *y, const uint8_t *condition, const T *a, const T *b, int64_t n, int fixed) {
    ENTRY(map_call) c = {.y = y, .a = a, .b = b, .c = condition, .fixed = fixed};
    if (n == 0) return;
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_CHEAP, ENTRY(where_task), &c);
}

/* The pieces of y from element i on, one after another: where the operands of each lie, which of them is fixed. */
typedef struct {
    int64_t i, end;
    const T *at[2];
    int fixed;
    struct cafe_walk walk;
    T buffer[2][CAFE_STRIDED_BLOCK];
} ENTRY(pieces);

static void ENTRY(pieces_start)(ENTRY(pieces) *p, const struct cafe_strided *s, int64_t begin, int64_t end) {
    int last = s->ndim - 1;
    p->i = begin;
    p->end = end;
    p->fixed = !s->by_rows || (s->stride[0][last] && s->stride[1][last]) ? CAFE_NEITHER : s->stride[0][last] ? CAFE_SECOND : CAFE_FIRST;
    p->walk = cafe_walk_from(s, begin);
}

/* The next piece and its length: a row of y's last axis where the operands lie as they are wanted, else a block, gathered into the buffers. */
static int64_t ENTRY(piece)(ENTRY(pieces) *p, const ENTRY(map_call) *c) {
    const struct cafe_strided *s = &c->s;
    const T *base[2] = {c->a, c->b};
    int last = s->ndim - 1;
    int64_t n = cafe_min(p->end - p->i, s->by_rows ? s->shape[last] - p->walk.index[last] : CAFE_STRIDED_BLOCK);
    for (int k = 0; k < 2; k++) {
        p->at[k] = s->by_rows ? (const T *)((const char *)base[k] + p->walk.offset[k]) : p->buffer[k];
        if (!s->by_rows) cafe_strided_gather(p->buffer[k], s, k, base[k], p->i, n, sizeof(T));
    }
    if (s->by_rows) cafe_walk_rows(s, &p->walk, 1);
    return n;
}

static void ENTRY(binary_strided_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(map_call) *c = context;
    ENTRY(pieces) p;
    ENTRY(pieces_start)(&p, &c->s, begin, end);
    for (int64_t n; p.i < end; p.i += n) {
        n = ENTRY(piece)(&p, c);
        TABLE->binary(c->op, (T *)c->y + p.i, p.at[0], p.at[1], n, p.fixed, 0, 0, 0);
    }
}

void ENTRY(binary_strided)(int op, T *y, const T *a, const T *b, int ndim, const int64_t *shape, const int64_t *a_strides,
                           const int64_t *b_strides) {
    ENTRY(map_call) c = {.op = op, .y = y, .a = a, .b = b, .s = cafe_strided_join(ndim, shape, a_strides, b_strides, sizeof(T))};
    cafe_for(c.s.total, CAFE_GRAIN, c.s.total, CAFE_SERIAL_CHEAP, ENTRY(binary_strided_task), &c);
}

static void ENTRY(compare_strided_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(map_call) *c = context;
    ENTRY(pieces) p;
    ENTRY(pieces_start)(&p, &c->s, begin, end);
    for (int64_t n; p.i < end; p.i += n) {
        n = ENTRY(piece)(&p, c);
        TABLE->compare(c->op, (uint8_t *)c->y + p.i, p.at[0], p.at[1], n, p.fixed);
    }
}

void ENTRY(compare_strided)(int op, uint8_t *y, const T *a, const T *b, int ndim, const int64_t *shape, const int64_t *a_strides,
                            const int64_t *b_strides) {
    ENTRY(map_call) c = {.op = op, .y = y, .a = a, .b = b, .s = cafe_strided_join(ndim, shape, a_strides, b_strides, sizeof(T))};
    cafe_for(c.s.total, CAFE_GRAIN, c.s.total, CAFE_SERIAL_CHEAP, ENTRY(compare_strided_task), &c);
}

#endif
