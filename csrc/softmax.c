/* Entry points of bodies/softmax.inc, for both types: the file includes itself once for each. Along the last axis a grain is some
 * whole rows; along another it is STRIP columns of one outer index. */
#ifndef REAL
#include "dispatch.h"
#include "cafe.h"
#include "entry.h"
#include "threads.h"

enum { STRIP = 64 }; /* columns: 256 bytes of f32, whole cache lines for every instance */

#define REAL f32
#include "softmax.c"
#undef REAL
#define REAL f64
#include "softmax.c"
#undef REAL
#else

typedef struct {
    void (*rows)(T *y, const T *x, int64_t rows, int64_t n);
    void (*columns)(T *y, const T *x, int64_t n, int64_t stride, int64_t columns);
    T *y;
    const T *x;
    int64_t n, inner, strips;
} ENTRY(softmax_call);

static void ENTRY(softmax_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(softmax_call) *c = context;
    c->rows(c->y + begin * c->n, c->x + begin * c->n, end - begin, c->n);
}

static void ENTRY(softmax_strips_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(softmax_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % c->strips * STRIP, at = i / c->strips * c->n * c->inner + column;
        c->columns(c->y + at, c->x + at, c->n, c->inner, cafe_min(STRIP, c->inner - column));
    }
}

static void ENTRY(softmax_forward)(ENTRY(softmax_call) c, int64_t outer) {
    int64_t work = outer * c.n * c.inner;
    if (work == 0) return;
    c.strips = cafe_ceil_div(c.inner, STRIP);
    if (c.inner == 1) cafe_for(outer, cafe_ceil_div(CAFE_GRAIN, c.n), work, CAFE_SERIAL_EXP, ENTRY(softmax_rows_task), &c);
    else cafe_for(outer * c.strips, 1, work, CAFE_SERIAL_EXP, ENTRY(softmax_strips_task), &c);
}

void ENTRY(softmax)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) {
    ENTRY(softmax_call) c = {TABLE->softmax_rows, TABLE->softmax_columns, y, x, n, inner, 0};
    ENTRY(softmax_forward)(c, outer);
}

void ENTRY(log_softmax)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) {
    ENTRY(softmax_call) c = {TABLE->log_softmax_rows, TABLE->log_softmax_columns, y, x, n, inner, 0};
    ENTRY(softmax_forward)(c, outer);
}

typedef struct {
    void (*rows)(T *dx, const T *dy, const T *y, int64_t rows, int64_t n);
    void (*columns)(T *dx, const T *dy, const T *y, int64_t n, int64_t stride, int64_t columns);
    T *dx;
    const T *dy, *y;
    int64_t n, inner, strips;
} ENTRY(softmax_backward_call);

static void ENTRY(softmax_backward_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(softmax_backward_call) *c = context;
    c->rows(c->dx + begin * c->n, c->dy + begin * c->n, c->y + begin * c->n, end - begin, c->n);
}

static void ENTRY(softmax_backward_strips_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(softmax_backward_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % c->strips * STRIP, at = i / c->strips * c->n * c->inner + column;
        c->columns(c->dx + at, c->dy + at, c->y + at, c->n, c->inner, cafe_min(STRIP, c->inner - column));
    }
}

static void ENTRY(softmax_either_backward)(ENTRY(softmax_backward_call) c, int64_t outer, int64_t serial_below) {
    int64_t work = outer * c.n * c.inner;
    if (work == 0) return;
    c.strips = cafe_ceil_div(c.inner, STRIP);
    if (c.inner == 1) cafe_for(outer, cafe_ceil_div(CAFE_GRAIN, c.n), work, serial_below, ENTRY(softmax_backward_rows_task), &c);
    else cafe_for(outer * c.strips, 1, work, serial_below, ENTRY(softmax_backward_strips_task), &c);
}

void ENTRY(softmax_backward)(T *dx, const T *dy, const T *y, int64_t outer, int64_t n, int64_t inner) {
    ENTRY(softmax_backward_call) c = {TABLE->softmax_backward_rows, TABLE->softmax_backward_columns, dx, dy, y, n, inner, 0};
    ENTRY(softmax_either_backward)(c, outer, CAFE_SERIAL_CHEAP);
}

void ENTRY(log_softmax_backward)(T *dx, const T *dy, const T *y, int64_t outer, int64_t n, int64_t inner) {
    ENTRY(softmax_backward_call) c = {TABLE->log_softmax_backward_rows, TABLE->log_softmax_backward_columns, dx, dy, y, n, inner, 0};
    ENTRY(softmax_either_backward)(c, outer, CAFE_SERIAL_EXP);
}

#endif
