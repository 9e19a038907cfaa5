/* Entry points of bodies/softmax.inc, for both types: the file includes itself once for each. */
#ifndef REAL
#include "dispatch.h"
#include "cafe.h"
#include "entry.h"
#include "threads.h"

#define REAL f32
#include "softmax.c"
#undef REAL
#define REAL f64
#include "softmax.c"
#undef REAL
#else

struct ENTRY(softmax_rows) { T *y; const T *x; int64_t n; };
static void ENTRY(softmax_rows_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(softmax_rows) *c = context;
    TABLE->softmax_rows(c->y + begin * c->n, c->x + begin * c->n, end - begin, c->n);
}

void ENTRY(softmax)(T *y, const T *x, int64_t outer, int64_t n, int64_t inner) {
    if (outer * n * inner == 0) return;
    struct ENTRY(softmax_rows) c = {y, x, n};
    int64_t grain = cafe_ceil_div(CAFE_GRAIN, n);
    (void)inner;
    cafe_for(outer, grain, outer * n, CAFE_SERIAL_EXP, ENTRY(softmax_rows_task), &c);
}

#endif
