/* Entry points of bodies/running.inc, for both types: the file includes itself once for each. */
#ifndef REAL
#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "parts.h"
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
    struct cafe_parts parts;
} ENTRY(cumsum_call);

static void ENTRY(cumsum_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(cumsum_call) *c = context;
    int64_t n = c->parts.n;
    TABLE->cumsum_rows(c->y + begin * n, c->x + begin * n, end - begin, n);
}

static void ENTRY(cumsum_columns_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(cumsum_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        TABLE->cumsum_columns(c->y + p.at, c->x + p.at, p.rows, c->parts.inner, p.columns);
    }
}

void ENTRY(cumsum)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) {
    ENTRY(cumsum_call) c = {y, x, cafe_parts_of(outer, n, inner, n, STRIP)};
    const int64_t work = outer * n * inner;
    if (work == 0) return;
    if (inner == 1) cafe_for(outer, ROWS, work, CAFE_SERIAL_CHEAP, ENTRY(cumsum_rows_task), &c);
    else cafe_for_parts(&c.parts, CAFE_SERIAL_CHEAP, ENTRY(cumsum_columns_task), &c);
}

#endif
