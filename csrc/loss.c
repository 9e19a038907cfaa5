/* Entry points of bodies/loss.inc, for both types: the file includes itself once for each. */
#ifndef REAL
#include "dispatch.h"
#include "cafe.h"
#include "entry.h"
#include "threads.h"

enum { MSE_BLOCK = 4096 /* rows.inc's ROW_BLOCK */ };

#define REAL f32
#include "loss.c"
#undef REAL
#define REAL f64
#include "loss.c"
#undef REAL
#else

struct ENTRY(mse_call) { T *da; const T *a, *b; double *partial; int64_t n; T scale; };

/* An item is a block. */
static void ENTRY(mse_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(mse_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i * MSE_BLOCK;
        TABLE->mse_block(c->partial + i, c->a + from, c->b + from, cafe_min(MSE_BLOCK, c->n - from));
    }
}

int ENTRY(mse)(T *y, const T *a, const T *b, int64_t n) {
    int64_t blocks = cafe_ceil_div(n, MSE_BLOCK);
    if (blocks <= 1) {
        TABLE->mse_row(y, a, b, n);
        return CAFE_OK;
    }
    double *partial = cafe_scratch((size_t)blocks * sizeof *partial), sum = 0;
    if (!partial) return CAFE_NO_MEMORY;
    struct ENTRY(mse_call) c = {0, a, b, partial, n, 0};
    cafe_for(blocks, 1, n, CAFE_SERIAL_CHEAP, ENTRY(mse_task), &c);
    for (int64_t i = 0; i < blocks; i++) sum += partial[i];
    *y = (T)sum / (T)n;
    return CAFE_OK;
}

static void ENTRY(mse_backward_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(mse_call) *c = context;
    TABLE->mse_backward(c->da + begin, c->a + begin, c->b + begin, end - begin, c->scale);
}

void ENTRY(mse_backward)(T *da, const T *g, const T *a, const T *b, int64_t n) {
    struct ENTRY(mse_call) c = {da, a, b, 0, n, *g * (T)(2.0 / (double)(n > 0 ? n : 1))};
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_CHEAP, ENTRY(mse_backward_task), &c);
}

#endif
