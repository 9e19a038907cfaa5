/* Elementwise functions of F16 and BF16: a block is widened into the nearest cache, computed by f32's kernel and rounded once. */
#include "dispatch.h"
#include "cafe.h"
#include "strided.h"
#include "threads.h"

enum { POWF = -1 }; /* beside the ops of cafe_unary, for a power with a number */

struct half_call {
    void (*widen)(void *y, const void *x, int64_t n), (*narrow)(void *y, const void *x, int64_t n);
    int op, fixed;
    uint16_t *y;
    const uint16_t *a, *b;
    double first, second;
    struct cafe_strided s;
};

static void half_unary_task(void *context, int64_t begin, int64_t end) {
    struct half_call *c = context;
    float x[CAFE_STRIDED_BLOCK];
    for (int64_t i = begin, n; i < end; i += n) {
        n = cafe_min(end - i, CAFE_STRIDED_BLOCK);
        c->widen(x, c->a + i, n);
        if (c->op == POWF) cafe_any->powf_f32(x, x, n, c->first);
        else cafe_f32->unary(c->op, x, x, n, c->first, c->second, 0);
        c->narrow(c->y + i, x, n);
    }
}

static void half_binary_task(void *context, int64_t begin, int64_t end) {
    struct half_call *c = context;
    float a[CAFE_STRIDED_BLOCK], b[CAFE_STRIDED_BLOCK];
    for (int64_t i = begin, n; i < end; i += n) {
        n = cafe_min(end - i, CAFE_STRIDED_BLOCK);
        if (c->fixed == CAFE_FIRST) c->widen(a, c->a, 1);
        else c->widen(a, c->a + i, n);
        if (c->fixed == CAFE_SECOND) c->widen(b, c->b, 1);
        else c->widen(b, c->b + i, n);
        float *y = c->fixed == CAFE_FIRST ? b : a;
        cafe_f32->binary(c->op, y, a, b, n, c->fixed, 0, 0, 0);
        c->narrow(c->y + i, y, n);
    }
}

static void half_strided_task(void *context, int64_t begin, int64_t end) {
    struct half_call *c = context;
    uint16_t at[CAFE_STRIDED_BLOCK];
    float a[CAFE_STRIDED_BLOCK], b[CAFE_STRIDED_BLOCK];
    for (int64_t i = begin, n; i < end; i += n) {
        n = cafe_min(end - i, CAFE_STRIDED_BLOCK);
        cafe_strided_gather(at, &c->s, 0, c->a, i, n, sizeof *at);
        c->widen(a, at, n);
        cafe_strided_gather(at, &c->s, 1, c->b, i, n, sizeof *at);
        c->widen(b, at, n);
        cafe_f32->binary(c->op, a, a, b, n, CAFE_NEITHER, 0, 0, 0);
        c->narrow(c->y + i, a, n);
    }
}

static void half_unary(struct half_call c, int64_t n) {
    cafe_for(n, CAFE_GRAIN, n, c.op < CAFE_EXP && c.op != POWF ? CAFE_SERIAL_CHEAP : CAFE_SERIAL_EXP, half_unary_task, &c);
}

static void half_binary(struct half_call c, int64_t n) {
    cafe_for(n, CAFE_GRAIN, n, c.op < CAFE_SILU_BACKWARD ? CAFE_SERIAL_CHEAP : CAFE_SERIAL_EXP, half_binary_task, &c);
}

static void half_strided(struct half_call c, int ndim, const int64_t *shape, const int64_t *a_strides, const int64_t *b_strides) {
    c.s = cafe_strided_join(ndim, shape, a_strides, b_strides, sizeof *c.y);
    cafe_for(c.s.total, CAFE_GRAIN, c.s.total, CAFE_SERIAL_CHEAP, half_strided_task, &c);
}

#define KIND(kind)                                                                                                                   \
    void cafe_unary_##kind(int op, uint16_t *y, const uint16_t *x, int64_t n, double a, double b) {                                  \
        half_unary((struct half_call){cafe_any->cast_##kind##_f32, cafe_any->cast_f32_##kind, op, 0, y, x, 0, a, b, {0}}, n);        \
    }                                                                                                                                \
    void cafe_powf_##kind(uint16_t *y, const uint16_t *x, int64_t n, double e) {                                                     \
        half_unary((struct half_call){cafe_any->cast_##kind##_f32, cafe_any->cast_f32_##kind, POWF, 0, y, x, 0, e, 0, {0}}, n);      \
    }                                                                                                                                \
    void cafe_binary_##kind(int op, uint16_t *y, const uint16_t *a, const uint16_t *b, int64_t n, int fixed) {                       \
        half_binary((struct half_call){cafe_any->cast_##kind##_f32, cafe_any->cast_f32_##kind, op, fixed, y, a, b, 0, 0, {0}}, n);   \
    }                                                                                                                                \
    void cafe_binary_strided_##kind(int op, uint16_t *y, const uint16_t *a, const uint16_t *b, int ndim, const int64_t *shape,       \
                                    const int64_t *a_strides, const int64_t *b_strides) {                                            \
        half_strided((struct half_call){cafe_any->cast_##kind##_f32, cafe_any->cast_f32_##kind, op, 0, y, a, b, 0, 0, {0}}, ndim,    \
                     shape, a_strides, b_strides);                                                                                   \
    }
KIND(f16)
KIND(bf16)
#undef KIND
