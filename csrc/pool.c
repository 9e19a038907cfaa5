/* Entry points of bodies/pool.inc, for both types: the file includes itself once for each. An item is a plane. */
#ifndef REAL
#include <stdatomic.h>
#include <string.h>

#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "threads.h"

/* The largest window along an axis. */
static int64_t pool_width(const int64_t *start, const int64_t *end, int64_t places) {
    int64_t width = 0;
    for (int64_t i = 0; i < places; i++)
        if (end[i] - start[i] > width) width = end[i] - start[i];
    return width;
}

#define REAL f32
#include "pool.c"
#undef REAL
#define REAL f64
#include "pool.c"
#undef REAL
#else

typedef struct {
    T *y, *dx;
    uint32_t *ids;
    const T *x, *g;
    int64_t rows, columns, down, along; /* of the input's planes; places along each axis */
    const int64_t *top, *bottom, *down_by, *start, *end, *along_by;
    int64_t height, width;
    atomic_int status;
} ENTRY(pool_call);

static void ENTRY(max_pool_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(pool_call) *c = context;
    size_t codes = (size_t)(c->height * c->width);
    T *scratch = cafe_scratch((size_t)(4 * c->columns) * sizeof(T) + codes * sizeof(uint32_t));
    if (!scratch) {
        atomic_store(&c->status, CAFE_NO_MEMORY);
        return;
    }
    uint32_t *offset = (uint32_t *)(scratch + 4 * c->columns);
    for (int64_t r = 0, code = 0; r < c->height; r++)
        for (int64_t k = 0; k < c->width; k++) offset[code++] = (uint32_t)(r * c->columns + k);
    for (int64_t p = begin; p < end; p++) {
        const T *plane = c->x + p * c->rows * c->columns;
        for (int64_t i = 0; i < c->down; i++) {
            int64_t at = (p * c->down + i) * c->along, top = c->top[i];
            TABLE->max_pool_row(c->y + at, c->ids + at, plane + top * c->columns, top, c->bottom[i] - top, c->columns, c->start, c->end, c->along,
                                c->width, offset, scratch);
        }
    }
}

int ENTRY(max_pool)(T *y, uint32_t *ids, const T *x, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along,
                    const int64_t *top, const int64_t *bottom, const int64_t *start, const int64_t *end) {
    ENTRY(pool_call) c = {.y = y, .ids = ids, .x = x, .rows = rows, .columns = columns, .down = down, .along = along, .top = top,
                          .bottom = bottom, .start = start, .end = end, .height = pool_width(top, bottom, down),
                          .width = pool_width(start, end, along)};
    int64_t each = rows * columns;
    cafe_for(planes, cafe_ceil_div(CAFE_GRAIN, each), planes * each, CAFE_SERIAL_EXP, ENTRY(max_pool_task), &c);
    return atomic_load(&c.status);
}

static void ENTRY(max_pool_backward_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(pool_call) *c = context;
    int64_t each = c->rows * c->columns, places = c->down * c->along;
    memset(c->dx + begin * each, 0, (size_t)((end - begin) * each) * sizeof(T));
    for (int64_t p = begin; p < end; p++) {
        T *dx = c->dx + p * each;
        for (int64_t i = p * places; i < (p + 1) * places; i++) dx[c->ids[i]] += c->g[i];
    }
}

void ENTRY(max_pool_backward)(T *dx, const T *dy, const uint32_t *ids, int64_t planes, int64_t size, int64_t places) {
    ENTRY(pool_call) c = {.dx = dx, .g = dy, .ids = (uint32_t *)ids, .rows = 1, .columns = size, .down = 1, .along = places};
    cafe_for(planes, cafe_ceil_div(CAFE_GRAIN, size), planes * size, CAFE_SERIAL_CHEAP, ENTRY(max_pool_backward_task), &c);
}

static void ENTRY(avg_pool_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(pool_call) *c = context;
    T *scratch = cafe_scratch((size_t)(2 * c->columns) * sizeof(T));
    if (!scratch) {
        atomic_store(&c->status, CAFE_NO_MEMORY);
        return;
    }
    for (int64_t p = begin; p < end; p++)
        for (int64_t i = 0; i < c->down; i++)
            TABLE->avg_pool_row(c->y + (p * c->down + i) * c->along, c->x + (p * c->rows + c->top[i]) * c->columns, c->bottom[i] - c->top[i],
                                c->columns, c->down_by[i], c->start, c->end, c->along_by, c->along, c->width, scratch);
}

int ENTRY(avg_pool)(T *y, const T *x, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along, const int64_t *top,
                    const int64_t *bottom, const int64_t *down_by, const int64_t *start, const int64_t *end, const int64_t *along_by) {
    ENTRY(pool_call) c = {.y = y, .x = x, .rows = rows, .columns = columns, .down = down, .along = along, .top = top, .bottom = bottom,
                          .down_by = down_by, .start = start, .end = end, .along_by = along_by, .width = pool_width(start, end, along)};
    int64_t each = rows * columns;
    cafe_for(planes, cafe_ceil_div(CAFE_GRAIN, each), planes * each, CAFE_SERIAL_CHEAP, ENTRY(avg_pool_task), &c);
    return atomic_load(&c.status);
}

static void ENTRY(avg_pool_backward_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(pool_call) *c = context;
    int64_t each = c->rows * c->columns;
    T *spread = cafe_scratch((size_t)c->columns * sizeof(T));
    if (!spread) {
        atomic_store(&c->status, CAFE_NO_MEMORY);
        return;
    }
    memset(c->dx + begin * each, 0, (size_t)((end - begin) * each) * sizeof(T));
    for (int64_t p = begin; p < end; p++)
        for (int64_t i = 0; i < c->down; i++)
            TABLE->avg_pool_backward_row(c->dx + (p * c->rows + c->top[i]) * c->columns, c->g + (p * c->down + i) * c->along,
                                         c->bottom[i] - c->top[i], c->columns, c->down_by[i], c->start, c->end, c->along_by, c->along, spread);
}

int ENTRY(avg_pool_backward)(T *dx, const T *dy, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along,
                             const int64_t *top, const int64_t *bottom, const int64_t *down_by, const int64_t *start, const int64_t *end,
                             const int64_t *along_by) {
    ENTRY(pool_call) c = {.dx = dx, .g = dy, .rows = rows, .columns = columns, .down = down, .along = along, .top = top, .bottom = bottom,
                          .down_by = down_by, .start = start, .end = end, .along_by = along_by};
    int64_t each = rows * columns;
    cafe_for(planes, cafe_ceil_div(CAFE_GRAIN, each), planes * each, CAFE_SERIAL_CHEAP, ENTRY(avg_pool_backward_task), &c);
    return atomic_load(&c.status);
}

#endif
