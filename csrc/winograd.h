/* What winograd.c, conv.c and bodies/winograd.inc share: how a 3 x 3 convolution falls into tiles, and how its pieces lie.
 *
 * Letters: a tile is m x m places of the output and the side x side places of the input that they see, side = m + 2; after the
 * transforms it has side^2 spots. C and O are one group's channels. */
#ifndef CAFE_WINOGRAD_H
#define CAFE_WINOGRAD_H

#include <stdint.h>

#include "conv.h"

enum {
    CAFE_WINOGRAD_RUN = 32,   /* channels out that one item transforms or computes at least: a panel of the widest vectors */
    CAFE_WINOGRAD_TILES = 56, /* tiles of a block: four panels of AVX-512's rows, and with 64 channels all pieces stay in 1 MiB */
    CAFE_WINOGRAD_SLACK = 64
};

struct cafe_winograd {
    int64_t m, side, spots;
    int64_t c, o;           /* channels of a group, in and out */
    int64_t in, out;        /* elements from tile to tile: channels in whole vectors, and some, for a power of two would crowd the cache */
    int64_t wide;           /* O in whole panels */
    int64_t down, across;   /* tiles of an image */
    struct cafe_conv_cut cut; /* of an image's tiles into blocks */
    int64_t images;         /* that share a block where they are small */
};

/* How the kernels lie in w: elements from group to group, output to output, channel to channel; taps in reverse where `turned`. */
struct cafe_winograd_weights {
    int64_t group, out, in;
    int turned;
};

static inline int64_t cafe_winograd_wide(int64_t channels) { return (channels + CAFE_WINOGRAD_RUN - 1) / CAFE_WINOGRAD_RUN * CAFE_WINOGRAD_RUN; }

static inline struct cafe_winograd cafe_winograd(const struct cafe_conv *p, int64_t m) {
    struct cafe_winograd g = {.m = m, .side = m + 2, .spots = (m + 2) * (m + 2), .c = p->c / p->groups, .o = p->o / p->groups};
    g.wide = cafe_winograd_wide(g.o);
    g.in = cafe_winograd_wide(g.c) + 16;
    g.out = g.wide + 16;
    g.down = (p->oh + m - 1) / m;
    g.across = (p->ow + m - 1) / m;
    const struct cafe_conv grid = {.oh = g.down, .ow = g.across};
    g.cut = cafe_conv_cut(&grid, CAFE_WINOGRAD_TILES);
    g.images = CAFE_WINOGRAD_TILES / (g.down * g.across);
    g.images = g.images < 1 ? 1 : g.images < p->n ? g.images : p->n;
    return g;
}

static inline struct cafe_conv_block cafe_winograd_block(const struct cafe_winograd *g, int64_t index, int64_t images) {
    const struct cafe_conv grid = {.oh = g->down, .ow = g->across};
    struct cafe_conv_block b = cafe_conv_block(&grid, g->cut, index);
    b.images = images;
    return b;
}

/* Elements of a window of a whole block, channels last, `row` elements from place to place. */
static inline int64_t cafe_winograd_window(const struct cafe_winograd *g, int64_t row) {
    return g->images * (g->cut.rows * g->m + 2) * (g->cut.cols * g->m + 2) * row;
}

/* Tiles of a whole block. */
static inline int64_t cafe_winograd_tiles(const struct cafe_winograd *g) { return g->images * g->cut.rows * g->cut.cols; }

/* y of x and w by F(m x m): `u` is room for cafe_winograd_kernels elements. dw of dy and x: `work`, for ..._weight_grad_work. bias and `then` may
 * be NULL. CAFE_NO_MEMORY, CAFE_NOT_FINITE. */
int64_t cafe_winograd_kernels(const struct cafe_conv *p, int64_t m);
int64_t cafe_winograd_weight_grad_work(const struct cafe_conv *p);
int cafe_winograd_f32(float *y, const float *x, const float *w, const float *bias, float *u, const struct cafe_conv *p, int64_t m,
                      struct cafe_winograd_weights weights, const struct cafe_conv_then *then);
int cafe_winograd_f64(double *y, const double *x, const double *w, const double *bias, double *u, const struct cafe_conv *p, int64_t m,
                      struct cafe_winograd_weights weights, const struct cafe_conv_then *then);
int cafe_winograd_weight_grad_f32(float *dw, const float *dy, const float *x, float *work, const struct cafe_conv *p, int64_t m);
int cafe_winograd_weight_grad_f64(double *dw, const double *dy, const double *x, double *work, const struct cafe_conv *p, int64_t m);

#endif
