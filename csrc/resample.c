/* Entry points of bodies/resample.inc, for both types: the file includes itself once for each. An item is a plane. What only copies or adds
 * by ids needs no vectors and stands here. */
#ifndef REAL
#include <stdatomic.h>
#include <string.h>

#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "threads.h"

#define REAL f32
#include "resample.c"
#undef REAL
#define REAL f64
#include "resample.c"
#undef REAL
#else

typedef struct {
    T *y;                               /* the result's planes */
    const T *x;                         /* the source's: of y's gradient in a backward */
    int64_t rows, columns, down, along; /* sizes before and after resizing */
    const int64_t *top, *bottom, *low, *high;
    const T *down_weights, *along_weights;
    atomic_int status;
} ENTRY(resample_call);

static void ENTRY(resize_nearest_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(resample_call) *c = context;
    for (int64_t p = begin; p < end; p++) {
        T *y = c->y + p * c->down * c->along;
        for (int64_t i = 0; i < c->down; i++, y += c->along) {
            const T *x = c->x + (p * c->rows + c->top[i]) * c->columns;
            if (i > 0 && c->top[i] == c->top[i - 1]) memcpy(y, y - c->along, (size_t)c->along * sizeof(T));
            else for (int64_t j = 0; j < c->along; j++) y[j] = x[c->low[j]];
        }
    }
}

void ENTRY(resize_nearest)(T *y, const T *x, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along,
                           const int64_t *down_ids, const int64_t *along_ids) {
    ENTRY(resample_call) c = {.y = y, .x = x, .rows = rows, .columns = columns, .down = down, .along = along, .top = down_ids,
                              .low = along_ids};
    int64_t each = down * along;
    cafe_for(planes, cafe_ceil_div(CAFE_GRAIN, each), planes * each, CAFE_SERIAL_CHEAP, ENTRY(resize_nearest_task), &c);
}

/* A plane's sums in f64, or NULL. */
static double *ENTRY(resample_sums)(ENTRY(resample_call) *c, int64_t rows) {
    double *sums = cafe_scratch((size_t)(rows * c->columns) * sizeof(double));
    if (!sums) atomic_store(&c->status, CAFE_NO_MEMORY);
    return sums;
}

static void ENTRY(resize_nearest_backward_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(resample_call) *c = context;
    int64_t size = c->rows * c->columns;
    double *sums = ENTRY(resample_sums)(c, c->rows);
    if (!sums) return;
    for (int64_t p = begin; p < end; p++) {
        const T *g = c->x + p * c->down * c->along;
        memset(sums, 0, (size_t)size * sizeof(double));
        for (int64_t i = 0; i < c->down; i++, g += c->along)
            for (int64_t j = 0; j < c->along; j++) sums[c->top[i] * c->columns + c->low[j]] += g[j];
        for (int64_t k = 0; k < size; k++) c->y[p * size + k] = (T)sums[k];
    }
}

int ENTRY(resize_nearest_backward)(T *dx, const T *dy, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along,
                                   const int64_t *down_ids, const int64_t *along_ids) {
    ENTRY(resample_call) c = {.y = dx, .x = dy, .rows = rows, .columns = columns, .down = down, .along = along, .top = down_ids,
                              .low = along_ids};
    int64_t each = down * along;
    cafe_for(planes, cafe_ceil_div(CAFE_GRAIN, each), planes * each, CAFE_SERIAL_CHEAP, ENTRY(resize_nearest_backward_task), &c);
    return atomic_load(&c.status);
}

static void ENTRY(resize_linear_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(resample_call) *c = context;
    T *mixed = cafe_scratch((size_t)c->columns * sizeof(T));
    if (!mixed) {
        atomic_store(&c->status, CAFE_NO_MEMORY);
        return;
    }
    for (int64_t p = begin; p < end; p++)
        for (int64_t i = 0; i < c->down; i++) {
            const T *plane = c->x + p * c->rows * c->columns;
            TABLE->resize_linear_row(c->y + (p * c->down + i) * c->along, plane + c->top[i] * c->columns, plane + c->bottom[i] * c->columns,
                                     c->down_weights[i], c->columns, c->along, c->low, c->high, c->along_weights, mixed);
        }
}

int ENTRY(resize_linear)(T *y, const T *x, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along, const int64_t *top,
                         const int64_t *bottom, const T *down_weights, const int64_t *low, const int64_t *high, const T *along_weights) {
    ENTRY(resample_call) c = {.y = y, .x = x, .rows = rows, .columns = columns, .down = down, .along = along, .top = top, .bottom = bottom,
                              .low = low, .high = high, .down_weights = down_weights, .along_weights = along_weights};
    int64_t each = down * along;
    cafe_for(planes, cafe_ceil_div(CAFE_GRAIN, each), planes * each, CAFE_SERIAL_EXP, ENTRY(resize_linear_task), &c);
    return atomic_load(&c.status);
}

static void ENTRY(resize_linear_backward_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(resample_call) *c = context;
    int64_t size = c->rows * c->columns;
    double *sums = ENTRY(resample_sums)(c, c->rows + 1);
    if (!sums) return;
    double *spread = sums + size;
    for (int64_t p = begin; p < end; p++) {
        memset(sums, 0, (size_t)size * sizeof(double));
        for (int64_t i = 0; i < c->down; i++)
            TABLE->resize_linear_backward_row(sums + c->top[i] * c->columns, sums + c->bottom[i] * c->columns,
                                              c->x + (p * c->down + i) * c->along, (double)c->down_weights[i], c->columns, c->along, c->low,
                                              c->high, c->along_weights, spread);
        for (int64_t k = 0; k < size; k++) c->y[p * size + k] = (T)sums[k];
    }
}

int ENTRY(resize_linear_backward)(T *dx, const T *dy, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along,
                                  const int64_t *top, const int64_t *bottom, const T *down_weights, const int64_t *low,
                                  const int64_t *high, const T *along_weights) {
    ENTRY(resample_call) c = {.y = dx, .x = dy, .rows = rows, .columns = columns, .down = down, .along = along, .top = top,
                              .bottom = bottom, .low = low, .high = high, .down_weights = down_weights, .along_weights = along_weights};
    int64_t each = down * along;
    cafe_for(planes, cafe_ceil_div(CAFE_GRAIN, each), planes * each, CAFE_SERIAL_CHEAP, ENTRY(resize_linear_backward_task), &c);
    return atomic_load(&c.status);
}

#endif
