/* Entry points of bodies/softmax.inc, for both types: the file includes itself once for each. Along the last axis a grain is some
 * whole rows; along another it is STRIP columns of one outer index. */
#ifndef REAL
#include "dispatch.h"
#include "cafe.h"
#include "entry.h"
#include "parts.h"
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
    struct cafe_parts parts;
} ENTRY(softmax_call);

static void ENTRY(softmax_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(softmax_call) *c = context;
    int64_t n = c->parts.n;
    c->rows(c->y + begin * n, c->x + begin * n, end - begin, n);
}

static void ENTRY(softmax_strips_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(softmax_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        c->columns(c->y + p.at, c->x + p.at, p.rows, c->parts.inner, p.columns);
    }
}

static void ENTRY(softmax_forward)(ENTRY(softmax_call) c) {
    cafe_for_parts(&c.parts, CAFE_SERIAL_EXP, c.parts.inner == 1 ? ENTRY(softmax_rows_task) : ENTRY(softmax_strips_task), &c);
}

void ENTRY(softmax)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) {
    ENTRY(softmax_call) c = {TABLE->softmax_rows, TABLE->softmax_columns, y, x, cafe_parts_of(outer, n, inner, n, STRIP)};
    ENTRY(softmax_forward)(c);
}

void ENTRY(log_softmax)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) {
    ENTRY(softmax_call) c = {TABLE->log_softmax_rows, TABLE->log_softmax_columns, y, x, cafe_parts_of(outer, n, inner, n, STRIP)};
    ENTRY(softmax_forward)(c);
}

typedef struct {
    void (*rows)(T *dx, const T *dy, const T *y, int64_t rows, int64_t n);
    void (*columns)(T *dx, const T *dy, const T *y, int64_t n, int64_t stride, int64_t columns);
    T *dx;
    const T *dy, *y;
    struct cafe_parts parts;
} ENTRY(softmax_backward_call);

static void ENTRY(softmax_backward_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(softmax_backward_call) *c = context;
    int64_t n = c->parts.n;
    c->rows(c->dx + begin * n, c->dy + begin * n, c->y + begin * n, end - begin, n);
}

static void ENTRY(softmax_backward_strips_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(softmax_backward_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        c->columns(c->dx + p.at, c->dy + p.at, c->y + p.at, p.rows, c->parts.inner, p.columns);
    }
}

static void ENTRY(softmax_either_backward)(ENTRY(softmax_backward_call) c, int64_t serial_below) {
    cafe_task *task = c.parts.inner == 1 ? ENTRY(softmax_backward_rows_task) : ENTRY(softmax_backward_strips_task);
    cafe_for_parts(&c.parts, serial_below, task, &c);
}

void ENTRY(softmax_backward)(T *dx, const T *dy, const T *y, int64_t outer, int64_t n, int64_t inner) {
    const struct cafe_parts parts = cafe_parts_of(outer, n, inner, n, STRIP);
    ENTRY(softmax_backward_call) c = {TABLE->softmax_backward_rows, TABLE->softmax_backward_columns, dx, dy, y, parts};
    ENTRY(softmax_either_backward)(c, CAFE_SERIAL_CHEAP);
}

void ENTRY(log_softmax_backward)(T *dx, const T *dy, const T *y, int64_t outer, int64_t n, int64_t inner) {
    const struct cafe_parts parts = cafe_parts_of(outer, n, inner, n, STRIP);
    ENTRY(softmax_backward_call) c = {TABLE->log_softmax_backward_rows, TABLE->log_softmax_backward_columns, dx, dy, y, parts};
    ENTRY(softmax_either_backward)(c, CAFE_SERIAL_EXP);
}

#endif
