/* Entry points of bodies/rotary.inc, for both types: the file includes itself once for each. An item is a row. */
#ifndef REAL
#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "threads.h"

#define REAL f32
#include "rotary.c"
#undef REAL
#define REAL f64
#include "rotary.c"
#undef REAL
#else

struct ENTRY(rotary_call) {
    T *y;
    const T *x, *cos, *sin;
    const int64_t *size, *x_stride, *cos_stride, *sin_stride;
    int64_t step;
};

static void ENTRY(rotate_task)(void *context, int64_t begin, int64_t end) {
    const struct ENTRY(rotary_call) *c = context;
    const int64_t width = c->size[3];
    for (int64_t row = begin; row < end; row++) {
        int64_t at[3] = {row / c->size[2] / c->size[1], row / c->size[2] % c->size[1], row % c->size[2]}, x = 0, cos = 0, sin = 0;
        for (int d = 0; d < 3; d++) {
            x += at[d] * c->x_stride[d];
            cos += at[d] * c->cos_stride[d];
            sin += at[d] * c->sin_stride[d];
        }
        TABLE->rotate_row(c->y + row * width, c->x + x, c->cos + cos, c->sin + sin, width / 2, c->step);
    }
}

void ENTRY(rotate)(T *y, const T *x, const T *cos, const T *sin, const int64_t *sizes, int64_t step) {
    struct ENTRY(rotary_call) call = {y, x, cos, sin, sizes, sizes + 4, sizes + 7, sizes + 10, step};
    int64_t rows = sizes[0] * sizes[1] * sizes[2];
    if (rows * sizes[3] == 0) return;
    cafe_for(rows, cafe_ceil_div(CAFE_GRAIN, sizes[3]), rows * sizes[3], CAFE_SERIAL_CHEAP, ENTRY(rotate_task), &call);
}

#endif
