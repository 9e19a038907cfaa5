/* Sums and extremes where reduce.c's kernels cannot read: of rows whose elements lie apart, of F16 and BF16. A block is brought into
 * the nearest caches, there made f32 if it is half, and reduced: the bits are those of a row-major copy in f32 or f64, which is never
 * in memory. The file includes itself for both types. */
#ifndef REAL
#include <stdatomic.h>

#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "parts.h"
#include "strided.h"
#include "threads.h"

enum { ROWS_BLOCK = 4096, STRIP = 512 }; /* SUM_BLOCK and SUM_STRIP of bodies/reduce.inc */

/* Rows, one after another: where their elements lie, and what makes T of them (NULL: nothing has to). */
struct gathered {
    struct cafe_strided s;
    const char *x;
    int64_t size;
    void (*widen)(void *y, const void *x, int64_t n);
};

/* The rows' elements at .. at + n <= ROWS_BLOCK side by side: in the buffer, or where they are. */
static const void *gather(void *buffer, const struct gathered *g, int64_t at, int64_t n) {
    uint16_t halves[ROWS_BLOCK];
    const void *from = g->x + at * g->size;
    if (g->s.ndim > 1 || g->s.stride[0][0] != g->size) {
        void *to = g->widen ? (void *)halves : buffer;
        cafe_strided_gather(to, &g->s, 0, g->x, at, n, g->size);
        from = to;
    }
    if (!g->widen) return from;
    g->widen(buffer, from, n);
    return buffer;
}

#define REAL f32
#include "gathered.c"
#undef REAL
#define REAL f64
#include "gathered.c"
#undef REAL

int cafe_reduce_rows(int kind, int what, void *y, const void *x, int ndim, const int64_t *shape, const int64_t *strides, int64_t rows,
                     int64_t n) {
    int half = kind == CAFE_KIND_F16 || kind == CAFE_KIND_BF16;
    struct gathered g = {.x = x, .size = half ? 2 : kind == CAFE_KIND_F64 ? 8 : 4};
    if (half) g.widen = kind == CAFE_KIND_F16 ? cafe_any->cast_f16_f32 : cafe_any->cast_bf16_f32;
    if (rows * n == 0) return CAFE_OK;
    g.s = cafe_strided_join(ndim, shape, strides, NULL, g.size);
    return kind == CAFE_KIND_F64 ? cafe_gathered_f64(what, y, g, rows, n) : cafe_gathered_f32(what, y, g, rows, n);
}

struct half_columns {
    void (*widen)(void *y, const void *x, int64_t n);
    int what;
    float *y;
    const uint16_t *x;
    struct cafe_parts parts; /* whole strips of columns */
    atomic_int failed;
};

/* The columns' sums or extremes over one block of rows more: `sum` holds those of the blocks before, y the extremes. */
static void half_block(const struct half_columns *c, float *y, double *sum, const float *block, int64_t from, int64_t rows, int64_t columns) {
    if (c->what == CAFE_SUM) {
        double more[STRIP];
        cafe_f32->sum_columns_block(more, block, rows, c->parts.strip, columns);
        for (int64_t i = 0; i < columns; i++) sum[i] += more[i];
        for (int64_t i = 0; i < columns; i++) y[i] = (float)sum[i];
    } else if (from == 0) cafe_f32->extreme_columns(y, block, rows, c->parts.strip, columns, c->what == CAFE_MIN);
    else {
        float two[2 * STRIP];
        for (int64_t i = 0; i < columns; i++) two[i] = y[i];
        cafe_f32->extreme_columns(two + STRIP, block, rows, c->parts.strip, columns, c->what == CAFE_MIN);
        cafe_f32->extreme_columns(y, two, 2, STRIP, columns, c->what == CAFE_MIN);
    }
}

static void half_columns_task(void *context, int64_t begin, int64_t end) {
    struct half_columns *c = context;
    const struct cafe_parts *p = &c->parts;
    float *block = cafe_scratch((size_t)(cafe_min(p->n, ROWS_BLOCK) * p->strip) * sizeof(float));
    if (!block) {
        atomic_store(&c->failed, 1);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part part = cafe_part_of(p, i);
        const uint16_t *x = c->x + part.at;
        float *y = c->y + part.result;
        double sum[STRIP] = {0};
        for (int64_t from = 0, rows; from < p->n; from += rows) {
            rows = cafe_min(ROWS_BLOCK, p->n - from);
            for (int64_t r = 0; r < rows; r++) c->widen(block + r * p->strip, x + (from + r) * p->inner, part.columns);
            if (c->what == CAFE_SUM && p->n <= ROWS_BLOCK) cafe_f32->sum_columns(y, block, rows, p->strip, part.columns);
            else half_block(c, y, sum, block, from, rows, part.columns);
        }
    }
}

int cafe_reduce_half_columns(int kind, int what, float *y, const uint16_t *x, int64_t outer, int64_t n, int64_t inner) {
    struct half_columns c = {.what = what, .y = y, .x = x};
    c.widen = kind == CAFE_KIND_F16 ? cafe_any->cast_f16_f32 : cafe_any->cast_bf16_f32;
    if (outer * n * inner == 0) return CAFE_OK;
    int64_t fit = (128 << 10) / cafe_min(n, ROWS_BLOCK) / 32 * 32; /* half a MiB of f32, in the second cache */
    int64_t each = cafe_ceil_div(inner, 64 * cafe_get_num_threads()) * 32; /* and two strips a thread, if there are columns enough */
    c.parts = cafe_parts_of(outer, n, inner, n, cafe_min(STRIP, cafe_min(fit, each) < 32 ? 32 : cafe_min(fit, each)));
    cafe_for(outer * c.parts.strips, 1, outer * n * inner, CAFE_SERIAL_CHEAP, half_columns_task, &c);
    return atomic_load(&c.failed) ? CAFE_NO_MEMORY : CAFE_OK;
}
#else

typedef struct {
    struct gathered x;
    int what;
    T *y;
    double *partial;
    int64_t n, blocks;
} ENTRY(gathered_call);

static void ENTRY(gathered_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(gathered_call) *c = context;
    T block[ROWS_BLOCK];
    for (int64_t i = begin, rows; i < end; i += rows) {
        rows = cafe_min(ROWS_BLOCK / c->n, end - i);
        const T *x = gather(block, &c->x, i * c->n, rows * c->n);
        if (c->what == CAFE_SUM) TABLE->sum_rows(c->y + i, x, rows, c->n);
        else TABLE->extreme_rows(c->y + i, x, rows, c->n, c->what == CAFE_MIN);
    }
}

/* An item is a block of a row. */
static void ENTRY(gathered_blocks_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(gathered_call) *c = context;
    T block[ROWS_BLOCK];
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i % c->blocks * ROWS_BLOCK, n = cafe_min(ROWS_BLOCK, c->n - from);
        const T *x = gather(block, &c->x, i / c->blocks * c->n + from, n);
        if (c->what == CAFE_SUM) TABLE->sum_block(c->partial + i, x, n);
        else TABLE->extreme_rows(c->y + i, x, 1, n, c->what == CAFE_MIN);
    }
}

static int ENTRY(gathered)(int what, T *y, struct gathered x, int64_t rows, int64_t n) {
    ENTRY(gathered_call) c = {.x = x, .what = what, .y = y, .n = n, .blocks = cafe_ceil_div(n, ROWS_BLOCK)};
    if (n <= ROWS_BLOCK) {
        cafe_for(rows, cafe_ceil_div(CAFE_GRAIN, n), rows * n, CAFE_SERIAL_CHEAP, ENTRY(gathered_rows_task), &c);
        return CAFE_OK;
    }
    c.partial = cafe_scratch((size_t)(rows * c.blocks) * sizeof(double));
    if (!c.partial) return CAFE_NO_MEMORY;
    if (what != CAFE_SUM) c.y = (T *)c.partial;
    cafe_for(rows * c.blocks, 1, rows * n, CAFE_SERIAL_CHEAP, ENTRY(gathered_blocks_task), &c);
    if (what != CAFE_SUM) TABLE->extreme_rows(y, c.y, rows, c.blocks, what == CAFE_MIN);
    for (int64_t r = 0; what == CAFE_SUM && r < rows; r++) {
        double sum = 0;
        for (int64_t b = 0; b < c.blocks; b++) sum += c.partial[r * c.blocks + b];
        y[r] = (T)sum;
    }
    return CAFE_OK;
}

#endif
