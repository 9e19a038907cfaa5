/* Entry points of bodies/running.inc, for both types: the file includes itself once for each. */
#ifndef REAL
#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "threads.h"

enum { STRIP = 256, ROWS = 4 }; /* RUNS_STRIP and RUNS of the bodies */

#define REAL f32
#include "running.c"
#undef REAL
#define REAL f64
#include "running.c"
#undef REAL
#else

typedef struct {
    T *y;
    const T *x;
    int64_t n, inner, strips;
} ENTRY(cumsum_call);

static void ENTRY(cumsum_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(cumsum_call) *c = context;
    TABLE->cumsum_rows(c->y + begin * c->n, c->x + begin * c->n, end - begin, c->n);
}

/* An item is a strip of columns of an outer index. */
static void ENTRY(cumsum_columns_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(cumsum_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % c->strips * STRIP, at = i / c->strips * c->n * c->inner + column;
        TABLE->cumsum_columns(c->y + at, c->x + at, c->n, c->inner, cafe_min(STRIP, c->inner - column));
    }
}

void ENTRY(cumsum)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) {
    ENTRY(cumsum_call) c = {y, x, n, inner, cafe_ceil_div(inner, STRIP)};
    const int64_t work = outer * n * inner;
    if (work == 0) return;
    if (inner == 1) cafe_for(outer, ROWS, work, CAFE_SERIAL_CHEAP, ENTRY(cumsum_rows_task), &c);
    else cafe_for(outer * c.strips, 1, work, CAFE_SERIAL_CHEAP, ENTRY(cumsum_columns_task), &c);
}

#endif
