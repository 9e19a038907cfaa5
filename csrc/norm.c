/* Entry points of bodies/norm.inc, for both types: the file includes itself once for each. Rows, groups and channels are independent; what is
 * summed over rows (gradients of weights and biases) is summed in grains of rows, and over the grains in f64, in order. */
#ifndef REAL
#include <string.h>

#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "threads.h"

enum {
    NORM_STRIP = 64,          /* columns a task where planes have one place */
    NORM_GRAIN = 64 * 1024,   /* elements whose dw and db are summed in T: 85 rows of 768 */
    NORM_FEW = 16             /* rows at least: a partial sum costs two rows of traffic itself */
};

static int64_t norm_rows_per_grain(int64_t n) {
    int64_t rows = NORM_GRAIN / n;
    return rows < NORM_FEW ? NORM_FEW : rows;
}

#define REAL f32
#include "norm.c"
#undef REAL
#define REAL f64
#include "norm.c"
#undef REAL
#else

/* Everything that the calls below share; each uses its part of it. */
typedef struct {
    T *y, *mean, *rest, *rstd; /* forward's results; rstd is var for a batch */
    T *dx, *dw, *db;           /* backward's results, or NULL */
    const T *g, *x, *r, *w, *b, *by_mean, *by_rest, *by_rstd;
    T *partial;                /* a pair of rows a grain */
    double *sums;              /* a pair of numbers a channel of an image */
    int64_t rows, n;           /* rows and their length */
    int64_t groups, channels, places, images, grains;
    double eps;
} ENTRY(norm_call);

/* -- rows */

/* x + r of some rows from row on, put where the call's result will stand: it is read before it is written, place by place. */
static const T *ENTRY(norm_sum)(const ENTRY(norm_call) *c, T *into, int64_t row, int64_t rows) {
    TABLE->binary(CAFE_ADD, into, c->x + row * c->n, c->r + row * c->n, rows * c->n, CAFE_NEITHER, 0, 0, 0);
    return into;
}

/* layer_norm of x + r, some rows at a time, so that the sum is still in the cache when it is read. */
static void ENTRY(residual_norm_rows)(ENTRY(norm_call) *c, int64_t begin, int64_t end) {
    int64_t step = cafe_ceil_div(CAFE_GRAIN, c->n);
    for (int64_t row = begin; row < end; row += step) {
        int64_t rows = cafe_min(step, end - row);
        T *y = c->y + row * c->n;
        TABLE->layer_norm_rows(y, c->mean + row, c->rest + row, c->rstd + row, ENTRY(norm_sum)(c, y, row, rows), c->w, c->b, rows, c->n, c->eps);
    }
}

static void ENTRY(layer_norm_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(norm_call) *c = context;
    int64_t at = begin * c->n;
    if (c->r) ENTRY(residual_norm_rows)(c, begin, end);
    else if (c->mean)
        TABLE->layer_norm_rows(c->y + at, c->mean + begin, c->rest + begin, c->rstd + begin, c->x + at, c->w, c->b, end - begin, c->n, c->eps);
    else TABLE->rms_norm_rows(c->y + at, c->rstd + begin, c->x + at, c->w, c->b, end - begin, c->n, c->eps);
}

static void ENTRY(norm_rows)(ENTRY(norm_call) *c) {
    if (c->rows * c->n == 0) return;
    cafe_for(c->rows, cafe_ceil_div(CAFE_GRAIN, c->n), c->rows * c->n, CAFE_SERIAL_EXP, ENTRY(layer_norm_task), c);
}

void ENTRY(layer_norm)(T *y, T *mean, T *rest, T *rstd, const T *x, const T *r, const T *w, const T *b, int64_t rows, int64_t n,
                       double eps) {
    ENTRY(norm_call) c = {.y = y, .mean = mean, .rest = rest, .rstd = rstd, .x = x, .r = r, .w = w, .b = b, .rows = rows, .n = n, .eps = eps};
    ENTRY(norm_rows)(&c);
}

void ENTRY(rms_norm)(T *y, T *rstd, const T *x, const T *w, const T *b, int64_t rows, int64_t n, double eps) {
    ENTRY(norm_call) c = {.y = y, .rstd = rstd, .x = x, .w = w, .b = b, .rows = rows, .n = n, .eps = eps};
    ENTRY(norm_rows)(&c);
}

/* Grains begin … end of rows, each into its own pair of partial rows. */
static void ENTRY(norm_backward_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(norm_call) *c = context;
    int64_t n = c->n, step = norm_rows_per_grain(n);
    for (int64_t i = begin; i < end; i++) {
        int64_t row = i * step, rows = cafe_min(step, c->rows - row), at = row * n;
        T *dw = c->dw ? c->partial + 2 * i * n : NULL, *db = c->db ? c->partial + (2 * i + 1) * n : NULL, *dx = c->dx ? c->dx + at : NULL;
        if (dw) memset(dw, 0, (size_t)n * sizeof(T));
        if (db) memset(db, 0, (size_t)n * sizeof(T));
        if (c->by_mean)
            TABLE->layer_norm_backward_rows(dx, dw, db, c->g + at, c->r ? ENTRY(norm_sum)(c, dx, row, rows) : c->x + at, c->w, c->by_mean + row, c->by_rest + row, c->by_rstd + row, rows, n);
        else TABLE->rms_norm_backward_rows(dx, dw, db, c->g + at, c->x + at, c->w, c->by_rstd + row, rows, n);
    }
}

/* Columns begin … end of dw and db: the sums over the grains. */
static void ENTRY(norm_fold_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(norm_call) *c = context;
    for (int64_t k = begin; k < end; k++) {
        double w = 0, b = 0;
        for (int64_t i = 0; i < c->grains; i++) {
            if (c->dw) w += c->partial[2 * i * c->n + k];
            if (c->db) b += c->partial[(2 * i + 1) * c->n + k];
        }
        if (c->dw) c->dw[k] = (T)w;
        if (c->db) c->db[k] = (T)b;
    }
}

static int ENTRY(norm_rows_backward)(ENTRY(norm_call) *c) {
    int64_t work = c->rows * c->n;
    if (work == 0) return CAFE_OK;
    c->grains = cafe_ceil_div(c->rows, norm_rows_per_grain(c->n));
    if (c->dw || c->db) {
        c->partial = cafe_scratch((size_t)(2 * c->grains * c->n) * sizeof(T));
        if (!c->partial) return CAFE_NO_MEMORY;
    }
    cafe_for(c->grains, 1, work, CAFE_SERIAL_EXP, ENTRY(norm_backward_task), c);
    if (c->partial) cafe_for(c->n, NORM_STRIP, 2 * c->grains * c->n, CAFE_SERIAL_CHEAP, ENTRY(norm_fold_task), c);
    return CAFE_OK;
}

int ENTRY(layer_norm_backward)(T *dx, T *dw, T *db, const T *dy, const T *x, const T *r, const T *w, const T *mean, const T *rest,
                               const T *rstd, int64_t rows, int64_t n) {
    ENTRY(norm_call) c = {.dx = dx, .dw = dw, .db = db, .g = dy, .x = x, .r = r, .w = w, .by_mean = mean, .by_rest = rest, .by_rstd = rstd,
                          .rows = rows, .n = n};
    return ENTRY(norm_rows_backward)(&c);
}

int ENTRY(rms_norm_backward)(T *dx, T *dw, T *db, const T *dy, const T *x, const T *w, const T *rstd, int64_t rows, int64_t n) {
    ENTRY(norm_call) c = {.dx = dx, .dw = dw, .db = db, .g = dy, .x = x, .w = w, .by_rstd = rstd, .rows = rows, .n = n};
    return ENTRY(norm_rows_backward)(&c);
}

/* -- groups: an item is one group of one image */

static void ENTRY(group_norm_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(norm_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t k = i % c->groups * c->channels, at = i * c->channels * c->places;
        TABLE->group_norm_row(c->y + at, c->mean + i, c->rest + i, c->rstd + i, c->x + at, c->w ? c->w + k : NULL, c->b ? c->b + k : NULL,
                              c->channels, c->places, c->eps);
    }
}

void ENTRY(group_norm)(T *y, T *mean, T *rest, T *rstd, const T *x, const T *w, const T *b, int64_t images, int64_t groups,
                       int64_t channels, int64_t places, double eps) {
    ENTRY(norm_call) c = {.y = y, .mean = mean, .rest = rest, .rstd = rstd, .x = x, .w = w, .b = b, .groups = groups, .channels = channels,
                          .places = places, .eps = eps};
    int64_t row = channels * places, work = images * groups * row;
    if (work) cafe_for(images * groups, cafe_ceil_div(CAFE_GRAIN, row), work, CAFE_SERIAL_EXP, ENTRY(group_norm_task), &c);
}

static void ENTRY(group_norm_backward_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(norm_call) *c = context;
    int64_t all = c->images * c->groups * c->channels;
    for (int64_t i = begin; i < end; i++) {
        int64_t k = i % c->groups * c->channels, at = i * c->channels * c->places;
        TABLE->group_norm_backward_row(c->dx ? c->dx + at : NULL, c->sums + i * c->channels, all, c->g + at, c->x + at, c->w ? c->w + k : NULL,
                                       c->by_mean[i], c->by_rest[i], c->by_rstd[i], c->channels, c->places);
    }
}

int ENTRY(group_norm_backward)(T *dx, T *dw, T *db, const T *dy, const T *x, const T *w, const T *mean, const T *rest, const T *rstd,
                               int64_t images, int64_t groups, int64_t channels, int64_t places) {
    int64_t all = groups * channels, row = channels * places, work = images * groups * row;
    if (work == 0) return CAFE_OK;
    ENTRY(norm_call) c = {.dx = dx, .g = dy, .x = x, .w = w, .by_mean = mean, .by_rest = rest, .by_rstd = rstd, .images = images,
                          .groups = groups, .channels = channels, .places = places,
                          .sums = cafe_scratch((size_t)(2 * images * all) * sizeof(double))};
    if (!c.sums) return CAFE_NO_MEMORY;
    cafe_for(images * groups, cafe_ceil_div(CAFE_GRAIN, row), work, CAFE_SERIAL_EXP, ENTRY(group_norm_backward_task), &c);
    for (int64_t k = 0; k < all; k++) {
        double sum_w = 0, sum_b = 0;
        for (int64_t i = k; i < images * all; i += all) {
            sum_w += c.sums[i];
            sum_b += c.sums[images * all + i];
        }
        if (dw) dw[k] = (T)sum_w;
        if (db) db[k] = (T)sum_b;
    }
    return CAFE_OK;
}

/* -- channels over a batch: an item is a channel; where planes have one place, a strip of channels */

static void ENTRY(batch_norm_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(norm_call) *c = context;
    int64_t stride = c->channels * c->places;
    for (int64_t k = begin; k < end; k++) {
        int64_t at = k * c->places;
        TABLE->batch_norm_planes(c->y + at, c->mean + k, c->rest + k, c->rstd + k, c->x + at, c->w ? c->w + k : NULL, c->b ? c->b + k : NULL,
                                 c->images, c->places, stride, c->eps);
    }
}

static void ENTRY(batch_norm_strip)(void *context, int64_t k, int64_t end) {
    ENTRY(norm_call) *c = context;
    TABLE->batch_norm_columns(c->y + k, c->mean + k, c->rest + k, c->rstd + k, c->x + k, c->w ? c->w + k : NULL, c->b ? c->b + k : NULL,
                              c->images, end - k, c->channels, c->eps);
}

/* Over channels, by planes or by strips. */
static void ENTRY(norm_channels)(ENTRY(norm_call) *c, cafe_task *by_plane, cafe_task *by_strip) {
    int64_t each = c->images * c->places, work = each * c->channels;
    if (work == 0) return;
    if (c->places == 1) cafe_for(c->channels, NORM_STRIP, work, CAFE_SERIAL_EXP, by_strip, c);
    else cafe_for(c->channels, cafe_ceil_div(CAFE_GRAIN, each), work, CAFE_SERIAL_EXP, by_plane, c);
}

void ENTRY(batch_norm)(T *y, T *mean, T *rest, T *var, const T *x, const T *w, const T *b, int64_t images, int64_t channels,
                       int64_t places, double eps) {
    ENTRY(norm_call) c = {.y = y, .mean = mean, .rest = rest, .rstd = var, .x = x, .w = w, .b = b, .images = images, .channels = channels,
                          .places = places, .eps = eps};
    ENTRY(norm_channels)(&c, ENTRY(batch_norm_task), ENTRY(batch_norm_strip));
}

static void ENTRY(batch_norm_backward_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(norm_call) *c = context;
    int64_t stride = c->channels * c->places;
    for (int64_t k = begin; k < end; k++) {
        int64_t at = k * c->places;
        T *dx = c->dx ? c->dx + at : NULL, *dw = c->dw ? c->dw + k : NULL, *db = c->db ? c->db + k : NULL;
        const T *g = c->g + at, *x = c->x + at, *w = c->w ? c->w + k : NULL;
        if (c->by_rest)
            TABLE->batch_norm_backward_planes(dx, dw, db, g, x, w, c->by_mean[k], c->by_rest[k], c->by_rstd[k], c->images, c->places, stride, c->eps);
        else TABLE->channel_norm_backward_planes(dx, dw, db, g, x, w, c->by_mean[k], 0, c->by_rstd[k], c->images, c->places, stride, c->eps);
    }
}

static void ENTRY(batch_norm_backward_strip)(void *context, int64_t k, int64_t end) {
    ENTRY(norm_call) *c = context;
    T *dx = c->dx ? c->dx + k : NULL, *dw = c->dw ? c->dw + k : NULL, *db = c->db ? c->db + k : NULL;
    const T *g = c->g + k, *x = c->x + k, *w = c->w ? c->w + k : NULL, *mean = c->by_mean + k, *var = c->by_rstd + k;
    if (c->by_rest)
        TABLE->batch_norm_backward_columns(dx, dw, db, g, x, w, mean, c->by_rest + k, var, c->images, end - k, c->channels, c->eps);
    else TABLE->channel_norm_backward_columns(dx, dw, db, g, x, w, mean, NULL, var, c->images, end - k, c->channels, c->eps);
}

void ENTRY(batch_norm_backward)(T *dx, T *dw, T *db, const T *dy, const T *x, const T *w, const T *mean, const T *rest, const T *var,
                                int64_t images, int64_t channels, int64_t places, double eps) {
    ENTRY(norm_call) c = {.dx = dx, .dw = dw, .db = db, .g = dy, .x = x, .w = w, .by_mean = mean, .by_rest = rest, .by_rstd = var,
                          .images = images, .channels = channels, .places = places, .eps = eps};
    ENTRY(norm_channels)(&c, ENTRY(batch_norm_backward_task), ENTRY(batch_norm_backward_strip));
}

void ENTRY(channel_norm_backward)(T *dx, T *dw, T *db, const T *dy, const T *x, const T *mean, const T *var, const T *w, int64_t images,
                                  int64_t channels, int64_t places, double eps) {
    ENTRY(batch_norm_backward)(dx, dw, db, dy, x, w, mean, NULL, var, images, channels, places, eps);
}

/* An item is a plane, or an image of planes of one place. */
static void ENTRY(channel_norm_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(norm_call) *c = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t k = i % c->channels, at = i * c->places;
        TABLE->channel_norm_plane(c->y + at, c->x + at, c->by_mean[k], c->by_rstd[k], c->w ? c->w[k] : 1, c->b ? c->b[k] : 0, c->places, c->eps);
    }
}

static void ENTRY(channel_norm_rows_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(norm_call) *c = context;
    for (int64_t i = begin; i < end; i++)
        TABLE->channel_norm_row(c->y + i * c->channels, c->x + i * c->channels, c->by_mean, c->by_rstd, c->w, c->b, c->channels, c->eps);
}

void ENTRY(channel_norm)(T *y, const T *x, const T *mean, const T *var, const T *w, const T *b, int64_t images, int64_t channels,
                         int64_t places, double eps) {
    ENTRY(norm_call) c = {.y = y, .x = x, .w = w, .b = b, .by_mean = mean, .by_rstd = var, .channels = channels, .places = places, .eps = eps};
    int64_t work = images * channels * places;
    if (work == 0) return;
    if (places == 1) cafe_for(images, cafe_ceil_div(CAFE_GRAIN, channels), work, CAFE_SERIAL_CHEAP, ENTRY(channel_norm_rows_task), &c);
    else cafe_for(images * channels, cafe_ceil_div(CAFE_GRAIN, places), work, CAFE_SERIAL_CHEAP, ENTRY(channel_norm_task), &c);
}

#endif
