/* What winograd.c, conv.c and bodies/winograd.inc share: how a convolution falls into tiles, and how its pieces lie.
 *
 * Letters: F(m, r) makes m outputs of r taps from m + r - 1 inputs, its side, by as many multiplications; in the code 10 m + r. A tile has
 * two axes, and after the transforms rows side x cols side spots. C and O are one group's channels.
 *
 * - A 3 x 3 kernel without a stride goes by one such pair.
 * - With stride 2 the input falls into 2 x 2 phases, which a kernel of k taps sees by ceil(k / 2) of its taps each: a convolution without a
 *   stride of four times the channels in (`ins`). Where k is odd the second phase lacks the last tap.
 * - The transposed convolution of stride 2, or the input's gradient, has the phases among its channels out (`outs`), and the taps in reverse.
 * - Along one axis, tap 2 i + j of a `line` is tap (i, j) of a tile whose first axis goes by pairs of places: F(m, r) times F(2, 2).
 *
 * What a tap that is not there would bring to a spot is not computed. */
#ifndef CAFE_WINOGRAD_H
#define CAFE_WINOGRAD_H

#include <stdint.h>

#include "conv.h"

enum {
    CAFE_WINOGRAD_RUN = 32,   /* channels out that one item transforms or computes at least: a panel of the widest vectors */
    CAFE_WINOGRAD_TILES = 56, /* tiles of a block: four panels of AVX-512's rows, and with 64 channels all pieces stay in 1 MiB */
    CAFE_WINOGRAD_SLACK = 64,
    CAFE_WINOGRAD_TAPS = 36   /* of a kernel, at most */
};

/* The kinds of tiles: 10 m + r of the rows and of the columns. The numbers begin with 1; 0 is none of them. */
#define CAFE_WINOGRAD_KINDS(X) X(23, 23) X(43, 43) X(32, 32) X(23, 22) X(32, 22)
enum cafe_winograd_kind { CAFE_NO_WINOGRAD, CAFE_WINOGRAD_2X2, CAFE_WINOGRAD_4X4, CAFE_WINOGRAD_3X3, CAFE_WINOGRAD_LINE4, CAFE_WINOGRAD_LINE6 };

struct cafe_winograd {
    enum cafe_winograd_kind kind;
    int64_t side, spots;      /* spots of a row, and of a tile */
    int64_t kh, kw, stride;
    int64_t ins, outs;        /* phases among the channels in and out: stride^2 in one of them */
    int64_t high, wide;       /* a tile's outputs down and across, ... */
    int64_t below, beside;    /* and the inputs that it sees past as many; of a phase, where there are */
    int64_t c, o, depth;      /* channels of a group, in and out; depth = ins c */
    int64_t place;            /* elements from place to place of a window: channels in whole vectors, */
    int64_t in, out;          /* and from tile to tile; and some, for a power of two would crowd the cache */
    int64_t panels;           /* O in whole panels */
    int64_t ph, pw;           /* padding in front of the input */
    int64_t top, left;        /* and places of the outputs' phases that lie in front of the output */
    int64_t down, across;     /* tiles of an image */
    struct cafe_conv_cut cut; /* of an image's tiles into blocks */
    int64_t images;           /* that share a block where they are small */
};

/* How the kernels lie in w: elements from group to group, output to output, channel to channel; taps in reverse where `turned`. */
struct cafe_winograd_weights {
    int64_t group, out, in;
    int turned;
};

static inline int64_t cafe_winograd_whole(int64_t channels) { return (channels + CAFE_WINOGRAD_RUN - 1) / CAFE_WINOGRAD_RUN * CAFE_WINOGRAD_RUN; }

static inline int64_t cafe_winograd_step(int64_t phases) { return phases > 1 ? 2 : 1; } /* from place to place of a phase */

static inline int cafe_winograd_is_line(enum cafe_winograd_kind kind) { return kind >= CAFE_WINOGRAD_LINE4; }

/* Which row and column modulo 2 a phase has: (0, 1), (0, 0), (1, 0), (1, 1), an order in which neighbours share one of them. */
static inline int64_t cafe_winograd_row(const struct cafe_winograd *g, int64_t phase) { return g->stride == 1 ? 0 : phase >> 1; }
static inline int64_t cafe_winograd_col(const struct cafe_winograd *g, int64_t phase) { return g->stride == 1 ? 0 : (phase ^ phase >> 1 ^ 1) & 1; }

/* Where tap (i, j) of a phase's tile lies in the kernel, or -1 where it has none. */
static inline int64_t cafe_winograd_tap(const struct cafe_winograd *g, int turned, int64_t phase, int64_t i, int64_t j) {
    if (cafe_winograd_is_line(g->kind)) return 2 * i + j >= g->kw ? -1 : turned ? g->kw - 1 - (2 * i + j) : 2 * i + j;
    if (turned) i = g->below - i, j = g->beside - j;
    const int64_t row = cafe_winograd_row(g, phase) + g->stride * i, col = cafe_winograd_col(g, phase) + g->stride * j;
    return row < g->kh && col < g->kw ? row * g->kw + col : -1;
}

/* The tiles' sizes, of a kind and of channels. */
static inline struct cafe_winograd cafe_winograd_of(enum cafe_winograd_kind kind, const struct cafe_conv *p) {
#define CAFE_WINOGRAD_PAIR(rows, cols) {rows, cols},
    static const int64_t pairs[][2] = {{0, 0}, CAFE_WINOGRAD_KINDS(CAFE_WINOGRAD_PAIR)};
#undef CAFE_WINOGRAD_PAIR
    const int64_t rows = pairs[kind][0], cols = pairs[kind][1], line = cafe_winograd_is_line(kind);
    struct cafe_winograd g = {.kind = kind, .kh = p->kh, .kw = p->kw, .stride = p->sh, .ins = p->sh * p->sh, .outs = 1, .ph = p->ph, .pw = p->pw};
    g.side = cols / 10 + cols % 10 - 1;
    g.spots = g.side * (rows / 10 + rows % 10 - 1);
    g.high = line ? 1 : rows / 10, g.below = line ? 0 : rows % 10 - 1;
    g.wide = line ? 2 * (rows / 10) : cols / 10, g.beside = line ? 2 * (rows % 10) - 1 : cols % 10 - 1;
    g.c = p->c / p->groups, g.o = p->o / p->groups;
    g.panels = cafe_winograd_whole(g.o);
    g.place = cafe_winograd_whole(g.c) + 16, g.out = g.panels + 16;
    return g;
}

/* Elements from tile to tile for so many channels, all phases; what is read by panels from any phase on may go over the end by one. */
static inline int64_t cafe_winograd_wide(const struct cafe_winograd *g, int64_t channels) {
    return cafe_winograd_whole(g->ins * channels) + (g->ins > 1 ? CAFE_WINOGRAD_RUN : 0) + 16;
}

/* The same, of what is to be computed: p is a convolution, or, `turned` with a stride, the transposed one, that takes p's input to its output. */
static inline struct cafe_winograd cafe_winograd(enum cafe_winograd_kind kind, const struct cafe_conv *p, int turned) {
    struct cafe_winograd g = cafe_winograd_of(kind, p);
    int64_t oh = p->oh, ow = p->ow;
    if (turned && g.stride > 1) {
        g.outs = g.ins, g.ins = 1;
        g.ph = g.below - p->ph / 2, g.pw = g.beside - p->pw / 2;
        g.top = p->ph % 2, g.left = p->pw % 2;
        oh = (oh + g.top + 1) / 2, ow = (ow + g.left + 1) / 2;
    }
    g.depth = g.ins * g.c;
    g.in = cafe_winograd_wide(&g, g.c);
    g.down = (oh + g.high - 1) / g.high;
    g.across = (ow + g.wide - 1) / g.wide;
    const struct cafe_conv grid = {.oh = g.down, .ow = g.across};
    const int64_t tiles = CAFE_WINOGRAD_TILES;
    g.cut = cafe_conv_cut(&grid, tiles);
    g.images = tiles / (g.down * g.across);
    g.images = g.images < 1 ? 1 : g.images < p->n ? g.images : p->n;
    return g;
}

static inline struct cafe_conv_block cafe_winograd_block(const struct cafe_winograd *g, int64_t index, int64_t images) {
    const struct cafe_conv grid = {.oh = g->down, .ow = g->across};
    struct cafe_conv_block b = cafe_conv_block(&grid, g->cut, index);
    b.images = images;
    return b;
}

/* Which phases of the input have anything at a spot of an output's phase: an odd kernel's missing tap is its last one, or reversed its first. */
struct cafe_winograd_span {
    int64_t begin, end;
};

static inline struct cafe_winograd_span cafe_winograd_span(const struct cafe_winograd *g, int64_t spot, int64_t phase) {
    const int64_t row = spot / g->side, col = spot % g->side, last = g->spots / g->side - 1;
    if (cafe_winograd_is_line(g->kind)) return (struct cafe_winograd_span){0, g->kw % 2 == 0 || spot < g->spots - 1};
    if (g->stride == 1) return (struct cafe_winograd_span){0, 1};
    if (g->outs > 1) {
        const int nothing = (g->kh % 2 && row == 0 && cafe_winograd_row(g, phase)) || (g->kw % 2 && col == 0 && cafe_winograd_col(g, phase));
        return (struct cafe_winograd_span){0, !nothing};
    }
    const int no_row = g->kh % 2 && row == last, no_col = g->kw % 2 && col == g->side - 1;
    return (struct cafe_winograd_span){no_col ? 1 : 0, no_row ? 2 : no_col ? 3 : 4};
}

/* Elements of a group's transformed kernels. */
static inline int64_t cafe_winograd_group(const struct cafe_winograd *g) { return g->outs * g->spots * g->panels * g->depth; }

/* What an image costs, in multiply-adds: the products, by panels, and the transforms, of which a channel's one at a spot takes the time of eight
 * (along one axis 4 to 9.2, with stride 2 5.6 to 13, growing with the channels; Zen 4, AVX-512, November 2026). The kernels' transform takes 17
 * an element, once a call: as many images as four are taken to share it. */
static inline int64_t cafe_winograd_cost(const struct cafe_winograd *g) {
    int64_t products = 0;
    for (int64_t phase = 0; phase < g->outs; phase++)
        for (int64_t spot = 0; spot < g->spots; spot++) {
            const struct cafe_winograd_span span = cafe_winograd_span(g, spot, phase);
            products += span.end - span.begin;
        }
    const int64_t tile = products * g->c * g->panels + 8 * g->spots * (g->ins * g->c + g->outs * g->o);
    return g->down * g->across * tile + 4 * g->spots * g->outs * g->depth * g->o;
}

/* Elements of a window of a whole block, channels last, `row` elements from place to place; x's, or of the output's gradient without `below`
 * and `beside`, which is never larger. */
static inline int64_t cafe_winograd_window(const struct cafe_winograd *g, int64_t row) {
    return g->images * g->ins * (g->cut.rows * g->high + g->below) * (g->cut.cols * g->wide + g->beside) * row;
}

/* Tiles of a whole block. */
static inline int64_t cafe_winograd_tiles(const struct cafe_winograd *g) { return g->images * g->cut.rows * g->cut.cols; }

/* y of x and w: `u` is room for cafe_winograd_kernels elements. dw of dy and x: `work`, for ..._weight_grad_work. bias and `then` may
 * be NULL. CAFE_NO_MEMORY, CAFE_NOT_FINITE. */
int64_t cafe_winograd_kernels(const struct cafe_conv *p, enum cafe_winograd_kind kind, int turned);
int64_t cafe_winograd_weight_grad_work(const struct cafe_conv *p, enum cafe_winograd_kind kind);
int cafe_winograd_f32(float *y, const float *x, const float *w, const float *bias, float *u, const struct cafe_conv *p, enum cafe_winograd_kind kind,
                      struct cafe_winograd_weights weights, const struct cafe_conv_then *then);
int cafe_winograd_f64(double *y, const double *x, const double *w, const double *bias, double *u, const struct cafe_conv *p, enum cafe_winograd_kind kind,
                      struct cafe_winograd_weights weights, const struct cafe_conv_then *then);
int cafe_winograd_weight_grad_f32(float *dw, const float *dy, const float *x, float *work, const struct cafe_conv *p, enum cafe_winograd_kind kind);
int cafe_winograd_weight_grad_f64(double *dw, const double *dy, const double *x, double *work, const struct cafe_conv *p, enum cafe_winograd_kind kind);

#endif
