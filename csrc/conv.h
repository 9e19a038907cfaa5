/* What conv.c and bodies/conv.inc share: a convolution's sizes, and the blocks it is cut into. */
#ifndef CAFE_CONV_H
#define CAFE_CONV_H

#include <stdint.h>

/* The seventeen numbers of api/layers.h's contract, in its order. */
struct cafe_conv {
    int64_t n, c, o, groups;      /* images, channels in, channels out, groups of both */
    int64_t h, w, kh, kw, oh, ow; /* input, kernel, output */
    int64_t sh, sw, ph, pw, dh, dw; /* stride, padding in front, dilation */
    int64_t algorithm;            /* one of CAFE_CONV_AUTO and so on */
};

enum {
    CAFE_CONV_PLACES = 384,  /* places of a block: with a hundred channels or two its input and output stay in a 512 KiB L2 */
    CAFE_CONV_PANEL = 32,    /* of the widest panel: a part of a row is a whole number of them */
    CAFE_CONV_NEAR = 4096,   /* of the direct way where it has one channel to keep near */
    CAFE_CONV_DEPTH = 256,   /* rows (c, r, s) of the weight gradient that one item computes */
    CAFE_CONV_ITEMS = 16,    /* items of the weight gradient, more or less: enough to share out evenly */
    CAFE_CONV_GRAIN = 1024   /* places of all images that are worth sums of their own there */
};

/* A block of output places: whole rows, or a part of one row, which lie side by side in the output; of one image, or where the
 * images are small of several, one after the other. */
struct cafe_conv_block {
    int64_t row, rows, col, cols, images;
};

/* What is made of a forward's outputs while they are near: a batch norm by given statistics, and ReLU of it. A number for each of the O
 * channels out, in the outputs' type; w and b may be NULL. */
struct cafe_conv_then {
    const void *mean, *var, *w, *b;
    double eps;
    int relu;
};

/* A kernel of one place that takes every place: the output is the product of w with the input as it lies. */
static inline int cafe_conv_is_product(const struct cafe_conv *p) {
    return p->kh * p->kw == 1 && p->sh == 1 && p->sw == 1 && p->ph == 0 && p->pw == 0 && p->oh == p->h && p->ow == p->w;
}

/* Then images are as good as rows: where one begins and ends is of no account. */
static inline void cafe_conv_flatten(struct cafe_conv *p) {
    if (!cafe_conv_is_product(p)) return;
    p->w = p->ow = p->oh * p->ow;
    p->h = p->oh = 1;
}

/* Whether an input channel is read by itself: where there is one a group, and few outputs that share what a product would pack of it. */
static inline int cafe_conv_is_direct(const struct cafe_conv *p) { return p->c == p->groups && p->o < 8 * p->groups; }

/* A kernel of 3 x 3 places without stride or dilation for a few outputs of each channel in. */
static inline int cafe_conv_is_three(const struct cafe_conv *p) {
    return p->kh == 3 && p->kw == 3 && p->sh == 1 && p->sw == 1 && p->dh == 1 && p->dw == 1 && cafe_conv_is_direct(p);
}

/* How the output is cut into blocks of at most so many rows and columns. */
struct cafe_conv_cut {
    int64_t rows, cols, down, across; /* a block's size; how many blocks */
};

/* Even blocks of about `places` places, by the output's size alone. */
static inline struct cafe_conv_cut cafe_conv_cut(const struct cafe_conv *p, int64_t places) {
    struct cafe_conv_cut cut = {1, p->ow, p->oh, 1};
    if (p->ow > places) {
        cut.across = (p->ow + places - 1) / places;
        cut.cols = (p->ow + cut.across * CAFE_CONV_PANEL - 1) / (cut.across * CAFE_CONV_PANEL) * CAFE_CONV_PANEL;
        cut.across = (p->ow + cut.cols - 1) / cut.cols;
    } else if (p->oh * p->ow > 0) {
        cut.down = (p->oh * p->ow + places - 1) / places;
        cut.rows = (p->oh + cut.down - 1) / cut.down;
        cut.down = (p->oh + cut.rows - 1) / cut.rows;
    }
    return cut;
}

static inline struct cafe_conv_block cafe_conv_block(const struct cafe_conv *p, struct cafe_conv_cut cut, int64_t index) {
    int64_t row = index / cut.across * cut.rows, col = index % cut.across * cut.cols;
    int64_t rows = p->oh - row < cut.rows ? p->oh - row : cut.rows, cols = p->ow - col < cut.cols ? p->ow - col : cut.cols;
    return (struct cafe_conv_block){row, rows, col, cols, 1};
}

/* The input that a block reads, zeros where there is none, laid out so that neighbours in the output are neighbours here whatever
 * the stride: of each channel `rows` rows, a row dealt out into `sw` runs of `width`, by column modulo stride. */
struct cafe_conv_window {
    int64_t rows, width, row, plane;
};

static inline struct cafe_conv_window cafe_conv_window(const struct cafe_conv *p, int64_t rows, int64_t cols) {
    struct cafe_conv_window v;
    v.rows = (rows - 1) * p->sh + (p->kh - 1) * p->dh + 1;
    v.width = ((cols - 1) * p->sw + (p->kw - 1) * p->dw) / p->sw + 1;
    v.row = p->sw * v.width;
    v.plane = v.rows * v.row;
    return v;
}

/* The window of cafe_conv_is_three: rows a whole number of cache lines apart, so that few of the vectors stored and read lie over two, and
 * begun early enough for the padding to end with a line. */
enum { CAFE_CONV_LINE = 16 };
static inline struct cafe_conv_window cafe_conv_three_window(const struct cafe_conv *p, int64_t rows, int64_t cols) {
    struct cafe_conv_window v = cafe_conv_window(p, rows, cols);
    v.row = (v.width + 2 * CAFE_CONV_LINE - 2) / CAFE_CONV_LINE * CAFE_CONV_LINE;
    v.plane = v.rows * v.row;
    return v;
}

/* Where tap (r, s) of a channel lies in its window, for the block's first place. */
static inline int64_t cafe_conv_tap(const struct cafe_conv *p, const struct cafe_conv_window *v, int64_t r, int64_t s) {
    return r * p->dh * v->row + s * p->dw % p->sw * v->width + s * p->dw / p->sw;
}

/* Channels of the input gradient that one item computes: enough rows for a product to be worth its packing. */
static inline int64_t cafe_conv_channels(const struct cafe_conv *p) {
    int64_t taps = p->kh * p->kw, channels = (63 + taps) / taps, all = p->c / p->groups;
    return channels < all ? channels : all;
}

#endif
