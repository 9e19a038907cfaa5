/* Entry points of bodies/conv.inc: images, groups and blocks of places over threads. An item's result does not depend on the others. */
#ifndef REAL
#include "conv.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "threads.h"
#include "winograd.h"

enum { SLACK = 64, PANEL = 192 * 32, ROWS = 42 /* a multiple of every tile's height */ };

/* Elements of scratch for a window of so many channels, with room for whole vectors at its end. */
static int64_t conv_window_size(const struct cafe_conv *p, struct cafe_conv_cut cut, int64_t channels) {
    struct cafe_conv_window v = cafe_conv_is_three(p) ? cafe_conv_three_window(p, cut.rows, cut.cols) : cafe_conv_window(p, cut.rows, cut.cols);
    return channels * v.plane + 4 * SLACK;
}

/* Of what the direct input gradient makes from a window: its taps, and dy with zeros around. */
static int64_t conv_gather_size(const struct cafe_conv *p) {
    const int64_t m = p->o / p->groups, above = (p->kh - 1) * p->dh / p->sh, before = (p->kw - 1) * p->dw / p->sw;
    return 3 * (m * p->kh * p->kw + 2 * SLACK) + m * (p->oh + 2 * above) * (p->ow + 2 * before) + 4 * SLACK;
}

/* Channels that `rows` successive rows (c, r, s) can touch. */
static int64_t conv_channels_of(const struct cafe_conv *p, int64_t rows) {
    return cafe_min(p->c / p->groups, (rows + p->kh * p->kw - 2) / (p->kh * p->kw) + 1);
}

static struct cafe_conv conv_read(const int64_t *geometry) {
    struct cafe_conv p;
    memcpy(&p, geometry, sizeof p);
    cafe_conv_flatten(&p);
    return p;
}

/* Into how many parts, at most `most`, to cut each of some items, so that they make even work for the threads. It does not show in bits. */
static int64_t conv_parts(int64_t items, int64_t most) {
    const int64_t threads = cafe_get_num_threads();
    int64_t best = 1;
    for (int64_t parts = 2; parts <= cafe_min(most, threads) && items < 4 * threads; parts++)
        if (cafe_ceil_div(items * parts, threads) * best < cafe_ceil_div(items * best, threads) * parts) best = parts;
    return best;
}

/* Images that are one matrix together, about a block of places. */
static int64_t conv_together(const struct cafe_conv *p) {
    const int64_t places = p->oh * p->ow, images = places ? (CAFE_CONV_PLACES + places / 2) / places : 1;
    return cafe_min(p->n, images > 1 ? images : 1);
}

/* What their product packs: some of w, and so many columns. */
static int64_t conv_multiply_size(int64_t columns) { return (cafe_ceil_div(columns, CAFE_CONV_PANEL) + 3) * PANEL + 6 * SLACK; }

/* How many items make even work for the threads there are. Cutting the forward into more or fewer does not show in its bits. */
static int64_t conv_items(void) {
    int64_t threads = cafe_get_num_threads();
    return threads == 1 ? 1 : 2 * threads;
}

/* The weight gradient's items: the places of all images in grains, in each the rows (c, r, s) in parts. Grains are fixed by sizes alone and
 * their sums added in order; how many parts there are does not show. */
struct conv_grains {
    int64_t images, blocks, cuts, grains; /* a grain: whole images, or so many blocks of one, which has so many grains; how many in all */
    int64_t depth, parts, result;         /* rows a part; parts; elements of a grain's result */
};

/* Grains enough to share out, but a grain's sums are written, read and added, which should be little beside computing them. */
static struct conv_grains conv_grains(const struct cafe_conv *p) {
    const int64_t depth = p->c / p->groups * p->kh * p->kw, places = p->oh * p->ow;
    const struct cafe_conv_cut cut = cafe_conv_cut(p, CAFE_CONV_PLACES);
    struct conv_grains g = {.images = 1, .blocks = cut.down * cut.across, .cuts = 1, .result = p->o * depth};
    const int direct = cafe_conv_is_direct(p);
    g.parts = direct || depth == 0 ? 1 : cafe_ceil_div(depth, CAFE_CONV_DEPTH);
    int64_t wanted = cafe_ceil_div(CAFE_CONV_ITEMS, p->groups * g.parts), most = p->n * places / CAFE_CONV_GRAIN;
    while (!direct && wanted > 1 && wanted > most) wanted /= 2;
    if (p->n > 0) g.images = cafe_ceil_div(p->n, wanted);
    if (p->n > 0 && !direct) g.cuts = cafe_min(g.blocks, wanted > p->n ? cafe_ceil_div(wanted, p->n) : 1);
    g.blocks = cafe_ceil_div(g.blocks, g.cuts);
    g.grains = cafe_ceil_div(p->n, g.images) * g.cuts;
    if (!direct) g.parts *= conv_parts(g.grains * p->groups * g.parts, cafe_ceil_div(g.parts ? depth / g.parts : 0, ROWS / 2));
    g.depth = cafe_ceil_div(depth, g.parts);
    return g;
}

/* The convolution of dy that it then is. */
static struct cafe_conv conv_turn(const struct cafe_conv *p) {
    struct cafe_conv t = *p;
    t.c = p->o, t.o = p->c;
    t.h = p->oh, t.w = p->ow, t.oh = p->h, t.ow = p->w;
    if (p->sh == 1 && p->sw == 1) t.ph = p->dh * (p->kh - 1) - p->ph, t.pw = p->dw * (p->kw - 1) - p->pw;
    return t;
}

/* The tiles that Winograd's algorithm has for a kernel, or none. */
static enum cafe_winograd_kind conv_tiles(const struct cafe_conv *p) {
    const int plain = p->dh == 1 && p->dw == 1 && p->c > p->groups, both = p->sh == 2 && p->sw == 2, none = p->sh == 1 && p->sw == 1;
    const int64_t low = p->kh < p->kw ? p->kh : p->kw, high = p->kh < p->kw ? p->kw : p->kh;
    if (plain && none && low == 3 && high == 3) return p->algorithm == CAFE_CONV_WINOGRAD4 ? CAFE_WINOGRAD_4X4 : CAFE_WINOGRAD_2X2;
    if (plain && none && p->kh == 1 && p->kw >= 3 && p->kw <= 6) return p->kw <= 4 ? CAFE_WINOGRAD_LINE6 : CAFE_WINOGRAD_LINE4;
    if (plain && both && low >= 3 && high <= 4) return CAFE_WINOGRAD_3X3;
    if (plain && both && low >= 5 && high <= 6) return CAFE_WINOGRAD_2X2;
    return CAFE_NO_WINOGRAD;
}

/* Whether Winograd's algorithm pays: from where the transforms, which cost as much for one channel as for many, are few beside the
 * products; and a map that is not much larger than a tile is mostly border. (A 3 x 3 kernel without a stride gains enough for that alone to
 * say it.) With a stride the direct sum's windows are dealt out or its results added up, which costs it a sixth of its rate; without one an
 * eighth must be saved: three taps along 64 places, 256 channels, took 1.04 of the direct sum's time with eight images, 1.8 with one. A 3 x 3
 * kernel by 2 leaves 49 of 81 products in four phases, too many but for the gradient of its input: 64 to 128 at 56 takes 1.18 of the direct
 * sum's time with eight images, 128 to 256 at 28 1.03, and 1.26 with one (Granite Rapids, November 2026). */
static int conv_winograd_pays(const struct cafe_conv *p, enum cafe_winograd_kind kind, int turned) {
    const int64_t c = p->c / p->groups, o = p->o / p->groups, strided = p->sh > 1;
    const int64_t direct = (turned && strided ? p->h * p->w : p->oh * p->ow) * p->kh * p->kw * c * o;
    const struct cafe_winograd g = cafe_winograd(kind, p, turned);
    const int64_t most = strided ? direct + direct / 5 : direct - direct / 8;
    if (strided && !turned && p->kh == 3 && p->kw == 3) return 0;
    return c >= 16 && o >= 16 && p->oh * p->ow >= 36 && ((kind == CAFE_WINOGRAD_2X2 && !strided) || cafe_winograd_cost(&g) <= most);
}

/* The tiles to be used, or none where another algorithm is wanted or serves better; `turned`, for the input gradient that p computes. */
static enum cafe_winograd_kind conv_winograd(const struct cafe_conv *p, int64_t size, int turned) {
    const enum cafe_winograd_kind kind = conv_tiles(p);
    if (p->algorithm == CAFE_CONV_WINOGRAD2 || p->algorithm == CAFE_CONV_WINOGRAD4) return kind;
    const int asked = kind && p->algorithm == CAFE_CONV_AUTO && size == sizeof(float);
    return asked && conv_winograd_pays(p, kind, turned) ? kind : CAFE_NO_WINOGRAD;
}

/* Whether the input gradient is computed as a convolution of dy with a turned kernel, not as a product that is added up where its places
 * overlap. A convolution of dy reaches over the whole input, and its tiles want rows, which are the channels in. */
static int conv_is_turned(const struct cafe_conv *p, int64_t size) {
    struct cafe_conv t = conv_turn(p);
    if (p->algorithm == CAFE_CONV_IM2COL || cafe_conv_is_product(p)) return 0;
    if (p->sh != 1 || p->sw != 1) return conv_winograd(&t, size, 1) != CAFE_NO_WINOGRAD;
    if (cafe_conv_is_direct(p)) return p->o == p->groups;
    return conv_winograd(&t, size, 1) || (p->c >= 4 * p->groups && 2 * p->h * p->w <= 3 * p->oh * p->ow);
}

int64_t cafe_conv_work(const int64_t *geometry, int64_t size) {
    struct cafe_conv p = conv_read(geometry);
    const enum cafe_winograd_kind kind = conv_winograd(&p, size, 0);
    if (kind) return cafe_winograd_kernels(&p, kind, 0);
    return p.algorithm == CAFE_CONV_IM2COL ? p.n * p.c * p.kh * p.kw * p.oh * p.ow : 0;
}

int64_t cafe_conv_input_grad_work(const int64_t *geometry, int64_t size) {
    struct cafe_conv p = conv_read(geometry), t = conv_turn(&p);
    if (!conv_is_turned(&p, size)) return 0;
    const enum cafe_winograd_kind kind = conv_winograd(&t, size, 1);
    return kind ? cafe_winograd_kernels(&t, kind, 1) : p.o * (p.c / p.groups) * p.kh * p.kw;
}

int64_t cafe_conv_weight_grad_work(const int64_t *geometry, int64_t size) {
    struct cafe_conv p = conv_read(geometry);
    const enum cafe_winograd_kind kind = conv_winograd(&p, size, 0);
    if (kind) return cafe_winograd_weight_grad_work(&p, kind);
    struct conv_grains g = conv_grains(&p);
    return g.grains * g.result;
}

#define REAL f32
#include "conv.c"
#undef REAL
#define REAL f64
#include "conv.c"
#undef REAL
#else

struct ENTRY(conv_call) {
    T *y;
    const T *x, *w, *bias;
    struct cafe_conv p;
    struct cafe_conv_cut cut;
    struct conv_grains g;
    int64_t m, parts; /* output channels of an item, items that share a block */
    int64_t w_row, w_col; /* how a kernel of one place lies in w: from output to output and from channel to channel */
    int64_t images;   /* of an item */
    const struct cafe_conv_then *then; /* or NULL */
    int64_t scratch;  /* elements that an item needs */
    atomic_int status;
};

static T *ENTRY(conv_scratch)(struct ENTRY(conv_call) *call) {
    T *scratch = cafe_scratch((size_t)call->scratch * sizeof(T));
    if (!scratch) atomic_store(&call->status, CAFE_NO_MEMORY);
    return scratch;
}

/* ---- forward ---- */

typedef void ENTRY(conv_way)(T *y, const T *x, const T *w, const T *bias, int64_t m, const struct cafe_conv *p, const struct cafe_conv_block *b, T *scratch);

/* The ways give the same bits; few outputs of one input channel are cheapest without a product. */
static ENTRY(conv_way) *ENTRY(conv_choose)(const struct cafe_conv *p) {
    const int direct = p->algorithm == CAFE_CONV_DIRECT || (p->algorithm != CAFE_CONV_IMPLICIT && cafe_conv_is_direct(p));
    return direct ? TABLE->conv_direct : TABLE->conv;
}

static int ENTRY(conv_multiplies)(const struct cafe_conv *p) {
    return cafe_conv_is_product(p) && !cafe_conv_is_direct(p) && p->algorithm != CAFE_CONV_DIRECT && p->algorithm != CAFE_CONV_IMPLICIT;
}

/* Items: runs of images, groups, blocks of places, parts of the output channels. */
static void ENTRY(conv_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(conv_call) *call = context;
    const struct cafe_conv *p = &call->p;
    const int64_t m = p->o / p->groups, c = p->c / p->groups, blocks = call->cut.down * call->cut.across;
    T *scratch = ENTRY(conv_scratch)(call);
    int64_t first = begin % call->parts * call->m, block = begin / call->parts % blocks, group = begin / call->parts / blocks % p->groups;
    int64_t image = begin / call->parts / blocks / p->groups * call->images;
    for (int64_t i = begin; scratch && i < end; i++) {
        const int64_t o = group * m + first;
        struct cafe_conv_block b = cafe_conv_block(p, call->cut, block);
        b.images = cafe_min(call->images, p->n - image);
        T *y = call->y + (image * p->o + o) * p->oh * p->ow;
        const T *x = call->x + (image * p->c + group * c) * p->h * p->w, *w = call->w + group * m * c * p->kh * p->kw + first * call->w_row;
        const T *bias = call->bias ? call->bias + o : NULL;
        const int64_t outs = cafe_min(call->m, m - first);
        if (ENTRY(conv_multiplies)(p)) TABLE->conv_product(y, x, w, call->w_row, call->w_col, bias, outs, p, &b, scratch);
        else ENTRY(conv_choose)(p)(y, x, w, bias, outs, p, &b, scratch);
        for (int64_t k = 0; call->then && k < b.images; k++)
            TABLE->conv_then(y + k * p->o * p->oh * p->ow + b.row * p->ow + b.col, o, outs, b.rows * b.cols, p->oh * p->ow, call->then);
        if ((first += call->m) < m) continue; /* the next item: divisions would cost a small map more than its sums */
        first = 0;
        if (++block < blocks) continue;
        block = 0;
        if (++group < p->groups) continue;
        group = 0, image += call->images;
    }
}

/* What comes after all sums. Items: images, in their outputs' planes. */
static void ENTRY(conv_after_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(conv_call) *call = context;
    const int64_t o = call->p.o, places = call->p.oh * call->p.ow;
    for (int64_t i = begin; i < end; i++) {
        if (call->bias) TABLE->conv_bias(call->y + i * o * places, places, call->bias, o, places);
        if (call->then) TABLE->conv_then(call->y + i * o * places, 0, o, places, places, call->then);
    }
}

/* A kernel of one place on maps of one: a product of matrices, whose rows are images. */
static int ENTRY(conv_is_of_points)(const struct cafe_conv *p) { return ENTRY(conv_multiplies)(p) && p->ow == 1 && p->groups == 1; }

static int ENTRY(conv_of_points)(struct ENTRY(conv_call) *call) {
    const struct cafe_conv *p = &call->p;
    const int status = ENTRY(matmul_chains)(call->y, call->x, call->w, p->n, p->c, p->o, p->c, 1, call->w_col, call->w_row, 0, NULL);
    if (call->bias || call->then) cafe_for(p->n, 1, p->n * p->o, CAFE_SERIAL_CHEAP, ENTRY(conv_after_task), call);
    return status;
}

static int ENTRY(conv_run)(struct ENTRY(conv_call) *call) {
    const struct cafe_conv *p = &call->p;
    const int64_t c = p->c / p->groups, m = p->o / p->groups, taps = p->kh * p->kw, places = p->oh * p->ow;
    if (p->n * p->o * places == 0) return CAFE_OK;
    if (ENTRY(conv_is_of_points)(p)) return ENTRY(conv_of_points)(call);
    const int product = ENTRY(conv_multiplies)(p), direct = ENTRY(conv_choose)(p) == TABLE->conv_direct, patches = !product && !direct;
    call->cut = cafe_conv_cut(p, direct && c == 1 ? CAFE_CONV_NEAR : CAFE_CONV_PLACES);
    const int64_t blocks = p->groups * call->cut.down * call->cut.across, wanted = conv_items();
    call->images = product ? conv_together(p) : patches ? cafe_min(conv_together(p), p->n * blocks / wanted) : 1;
    call->images = call->images < 1 ? 1 : call->images;
    const int64_t items = cafe_ceil_div(p->n, call->images) * blocks;
    call->m = items < wanted ? cafe_min(m, cafe_ceil_div(cafe_ceil_div(m * items, wanted), ROWS) * ROWS) : m;
    if (product) call->m = cafe_ceil_div(m, conv_parts(items, cafe_ceil_div(m, ROWS / 2)));
    call->parts = cafe_ceil_div(m, call->m);
    call->scratch = CAFE_MATMUL_SCRATCH / (int64_t)sizeof(T);
    if (direct) call->scratch = conv_window_size(p, call->cut, c) + 2 * (c * taps + 2 * SLACK);
    if (patches) call->scratch = conv_window_size(p, call->cut, call->images * conv_channels_of(p, 192)) + PANEL + 4 * SLACK;
    if (product && call->images > 1) call->scratch = conv_multiply_size(call->images * places);
    if (!direct && call->images > 1) call->scratch += call->m * call->images * places;
    cafe_for(items * call->parts, 1, p->n * p->o * places * c * taps, CAFE_SERIAL_FMA, ENTRY(conv_task), call);
    return atomic_load(&call->status);
}

/* The patches of all images to `cols`, and products with them. */
static int ENTRY(conv_of_patches)(struct ENTRY(conv_call) *call, T *cols, const int64_t *geometry) {
    const struct cafe_conv *p = &call->p;
    const int64_t m = p->o / p->groups, depth = p->c / p->groups * p->kh * p->kw, places = p->oh * p->ow;
    const int64_t batch[6] = {p->n, p->groups, 0, m * depth, p->groups * depth * places, depth * places};
    int status = ENTRY(im2col)(cols, call->x, geometry);
    if (status == CAFE_OK) status = ENTRY(matmul_chains)(call->y, call->w, cols, m, depth, places, depth, 1, places, 1, 2, batch);
    if (call->bias || call->then) cafe_for(p->n, 1, p->n * p->o * places, CAFE_SERIAL_CHEAP, ENTRY(conv_after_task), call);
    return status;
}

static int ENTRY(conv_forward)(T *y, const T *x, const T *w, const T *bias, T *work, const int64_t *geometry, const struct cafe_conv_then *then) {
    struct ENTRY(conv_call) call = {.y = y, .x = x, .w = w, .bias = bias, .p = conv_read(geometry), .then = then};
    const struct cafe_conv *p = &call.p;
    if (p->n * p->o * p->oh * p->ow == 0) return CAFE_OK;
    const enum cafe_winograd_kind kind = conv_winograd(p, sizeof(T), 0);
    const int64_t taps = p->kh * p->kw, c = p->c / p->groups;
    call.w_row = c * taps, call.w_col = 1;
    if (kind) return ENTRY(winograd)(y, x, w, bias, work, p, kind, (struct cafe_winograd_weights){p->o / p->groups * c * taps, c * taps, taps, 0}, then);
    return p->algorithm == CAFE_CONV_IM2COL ? ENTRY(conv_of_patches)(&call, work, geometry) : ENTRY(conv_run)(&call);
}

int ENTRY(conv)(T *y, const T *x, const T *w, const T *bias, T *work, const int64_t *geometry) {
    return ENTRY(conv_forward)(y, x, w, bias, work, geometry, NULL);
}

int ENTRY(conv_norm)(T *y, const T *x, const T *w, const T *bias, T *work, const int64_t *geometry, const T *mean, const T *var, const T *scale,
                     const T *shift, double eps, int relu) {
    const struct cafe_conv_then then = {mean, var, scale, shift, eps, relu};
    if (x) return ENTRY(conv_forward)(y, x, w, bias, work, geometry, &then);
    struct ENTRY(conv_call) call = {.y = y, .p = conv_read(geometry), .then = &then};
    cafe_for(call.p.n, 1, call.p.n * call.p.o * call.p.oh * call.p.ow, CAFE_SERIAL_CHEAP, ENTRY(conv_after_task), &call);
    return CAFE_OK;
}

/* ---- the gradient of the input ---- */

/* Items: runs of images, groups, and within a group runs of `m` channels in. */
static void ENTRY(conv_input_grad_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(conv_call) *call = context;
    const struct cafe_conv *p = &call->p;
    const int64_t m = p->o / p->groups, c = p->c / p->groups, taps = p->kh * p->kw, places = p->oh * p->ow;
    T *scratch = ENTRY(conv_scratch)(call);
    for (int64_t i = begin; scratch && i < end; i++) {
        int64_t first = i % call->parts * call->m, group = i / call->parts % p->groups, image = i / call->parts / p->groups * call->images;
        int64_t n = cafe_min(call->m, c - first), images = cafe_min(call->images, p->n - image);
        T *dx = call->y + (image * p->c + group * c + first) * p->h * p->w;
        const T *dy = call->x + (image * p->o + group * m) * places, *w = call->w + (group * m * c + first) * taps;
        if (cafe_conv_is_direct(p)) TABLE->conv_direct_input_grad(dx, dy, w, p, scratch);
        else if (images > 1) TABLE->conv_input_grad_images(dx, dy, w, n, images, p, scratch);
        else TABLE->conv_input_grad(dx, dy, w, n, p, scratch);
    }
}

/* w (O, C/G, taps) with channels in and out exchanged in each group, and the taps in reverse: what a convolution of dy takes. */
static void ENTRY(conv_turn_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(conv_call) *call = context;
    const struct cafe_conv *p = &call->p;
    const int64_t m = p->o / p->groups, c = p->c / p->groups, taps = p->kh * p->kw;
    for (int64_t i = begin; i < end; i++)
        for (int64_t o = 0; o < m; o++) {
            const T *from = call->w + ((i / c * m + o) * c + i % c) * taps;
            T *to = call->y + (i * m + o) * taps;
            for (int64_t tap = 0; tap < taps; tap++) to[tap] = from[taps - 1 - tap];
        }
}

/* Without a stride the gradient is itself a convolution, of dy with the turned kernel. */
static int ENTRY(conv_turned)(T *dx, const T *dy, const T *w, T *work, const struct cafe_conv *p) {
    struct ENTRY(conv_call) turn = {.y = work, .w = w, .p = *p}, call = {.y = dx, .x = dy, .w = work, .p = conv_turn(p)};
    const enum cafe_winograd_kind kind = conv_winograd(&call.p, sizeof(T), 1);
    const int64_t taps = p->kh * p->kw, c = p->c / p->groups;
    if (kind) return ENTRY(winograd)(dx, dy, w, NULL, work, &call.p, kind, (struct cafe_winograd_weights){p->o / p->groups * c * taps, taps, c * taps, 1}, NULL);
    cafe_for(p->c, 1, p->o / p->groups * p->c * p->kh * p->kw, CAFE_SERIAL_CHEAP, ENTRY(conv_turn_task), &turn);
    call.w_row = p->o / p->groups * taps, call.w_col = 1;
    return ENTRY(conv_run)(&call);
}

int ENTRY(conv_input_grad)(T *dx, const T *dy, const T *w, T *work, const int64_t *geometry) {
    struct ENTRY(conv_call) call = {.y = dx, .x = dy, .w = w, .p = conv_read(geometry)};
    const struct cafe_conv *p = &call.p;
    if (p->n * p->c * p->h * p->w == 0) return CAFE_OK;
    if (conv_is_turned(p, sizeof(T))) return ENTRY(conv_turned)(dx, dy, w, work, p);
    const int64_t c = p->c / p->groups, taps = p->kh * p->kw;
    if (cafe_conv_is_product(p) && !cafe_conv_is_direct(p)) {
        call.p = conv_turn(p);
        call.p.algorithm = CAFE_CONV_AUTO;
        call.w_row = 1, call.w_col = c;
        return ENTRY(conv_run)(&call);
    }
    call.cut = cafe_conv_cut(p, CAFE_CONV_PLACES);
    call.m = cafe_conv_channels(p);
    call.parts = cafe_ceil_div(c, call.m);
    const struct cafe_conv_cut all = {p->oh, p->ow, 1, 1};
    call.scratch = conv_window_size(p, all, call.m);
    if (cafe_conv_is_direct(p)) call.scratch += conv_gather_size(p);
    else call.scratch += CAFE_MATMUL_SCRATCH / (int64_t)sizeof(T) + call.m * taps * call.cut.rows * call.cut.cols + 2 * SLACK;
    call.images = cafe_conv_is_direct(p) ? 1 : conv_together(p);
    const int64_t columns = call.images * p->oh * p->ow, items = cafe_ceil_div(p->n, call.images) * p->groups * call.parts;
    if (call.images > 1) call.scratch += call.m * taps * columns + conv_multiply_size(columns);
    cafe_for(items, 1, p->n * p->o * p->oh * p->ow * c * taps, CAFE_SERIAL_FMA, ENTRY(conv_input_grad_task), &call);
    return atomic_load(&call.status);
}

/* ---- the gradient of the kernel ---- */

/* What a grain is of a group: its images one after the other in the direct way, which has room for `one` of them. */
static void ENTRY(conv_direct_grain)(const struct ENTRY(conv_call) *call, T *sum, int64_t group, int64_t image, T *one) {
    const struct cafe_conv *p = &call->p;
    const int64_t m = p->o / p->groups, taps = p->kh * p->kw, last = cafe_min(p->n, image + call->g.images);
    for (int64_t first = image; first < last; first++) {
        const T *dy = call->x + (first * p->o + group * m) * p->oh * p->ow, *x = call->w + (first * p->c + group) * p->h * p->w;
        T *to = first == image ? sum : one;
        TABLE->conv_direct_weight_grad(to, dy, x, first + 1 < last ? p->c : 1 - (last - 1 - image) * p->c, p, one + m * taps + SLACK);
        if (to == one) TABLE->conv_add(sum, one, taps * m);
    }
}

/* Items: grains, groups, parts of the rows. */
static void ENTRY(conv_weight_grad_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(conv_call) *call = context;
    const struct cafe_conv *p = &call->p;
    const struct conv_grains *g = &call->g;
    const int64_t m = p->o / p->groups, c = p->c / p->groups, depth = c * p->kh * p->kw, blocks = call->cut.down * call->cut.across;
    T *scratch = ENTRY(conv_scratch)(call);
    for (int64_t i = begin; scratch && i < end; i++) {
        int64_t k0 = i % g->parts * g->depth, group = i / g->parts % p->groups, grain = i / g->parts / p->groups;
        int64_t image = grain / g->cuts * g->images, first = grain % g->cuts * g->blocks;
        T *sum = call->y + grain * g->result + (group * depth + k0) * m;
        const T *dy = call->x + (image * p->o + group * m) * p->oh * p->ow, *x = call->w + (image * p->c + group * c) * p->h * p->w;
        const int64_t images = cafe_min(g->images, p->n - image), rows = cafe_min(g->depth, depth - k0);
        if (cafe_conv_is_direct(p)) ENTRY(conv_direct_grain)(call, sum, group, image, scratch);
        else if (rows > 0) TABLE->conv_weight_grad(sum, dy, x, k0, rows, images, first, cafe_min(blocks, first + g->blocks), p, scratch);
    }
}

/* Adds the grains' sums, in order, into the first. */
static void ENTRY(conv_sum_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(conv_call) *call = context;
    for (int64_t grain = 1; grain < call->g.grains; grain++) TABLE->conv_add(call->y + begin, call->y + grain * call->g.result + begin, end - begin);
}

int ENTRY(conv_weight_grad)(T *dw, const T *dy, const T *x, T *work, const int64_t *geometry) {
    struct ENTRY(conv_call) call = {.y = work, .x = dy, .w = x, .p = conv_read(geometry)};
    const struct cafe_conv *p = &call.p;
    if (p->o * p->c * p->kh * p->kw == 0) return CAFE_OK;
    if (p->n * p->oh * p->ow == 0) {
        memset(dw, 0, (size_t)(p->o * (p->c / p->groups) * p->kh * p->kw) * sizeof(T));
        return CAFE_OK;
    }
    const enum cafe_winograd_kind kind = conv_winograd(p, sizeof(T), 0);
    if (kind) return ENTRY(winograd_weight_grad)(dw, dy, x, work, p, kind);
    if (ENTRY(conv_is_of_points)(p)) return ENTRY(matmul_chains)(dw, dy, x, p->o, p->n, p->c, 1, p->o, p->c, 1, 0, NULL);
    call.g = conv_grains(p);
    call.cut = cafe_conv_cut(p, cafe_conv_is_three(p) ? CAFE_CONV_NEAR : CAFE_CONV_PLACES);
    call.scratch = call.g.depth * (192 + 2) + PANEL + 8 * SLACK;
    call.scratch += conv_window_size(p, call.cut, conv_channels_of(p, call.g.depth));
    if (cafe_conv_is_direct(p)) call.scratch += p->o / p->groups * call.g.depth * 17; /* an image's sums, and a vector a sum */
    const int64_t items = call.g.grains * p->groups * call.g.parts;
    cafe_for(items, 1, p->n * p->oh * p->ow * call.g.result, CAFE_SERIAL_FMA, ENTRY(conv_weight_grad_task), &call);
    cafe_for(call.g.result, CAFE_GRAIN, call.g.grains * call.g.result, CAFE_SERIAL_CHEAP, ENTRY(conv_sum_task), &call);
    const int64_t m = p->o / p->groups, depth = call.g.result / p->o, size = sizeof(T); /* each group's sums are (K, O/G), but (O/G, K) in the direct way */
    const int64_t shape[3] = {p->groups, m, depth}, turned = !cafe_conv_is_direct(p);
    const int64_t strides[3] = {m * depth * size, turned ? size : depth * size, turned ? m * size : size};
    cafe_copy_strided(dw, work, 3, shape, strides, size);
    return atomic_load(&call.status);
}

/* ---- patches ---- */

static void ENTRY(im2col_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(conv_call) *call = context;
    const struct cafe_conv *p = &call->p;
    const int64_t size = p->kh * p->kw * p->oh * p->ow;
    T *scratch = ENTRY(conv_scratch)(call);
    for (int64_t i = begin; scratch && i < end; i++) TABLE->im2col(call->y + i * size, call->x + i * p->h * p->w, p, scratch);
}

static void ENTRY(col2im_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(conv_call) *call = context;
    const struct cafe_conv *p = &call->p;
    const int64_t size = p->kh * p->kw * p->oh * p->ow;
    T *scratch = ENTRY(conv_scratch)(call);
    for (int64_t i = begin; scratch && i < end; i++) TABLE->col2im(call->y + i * p->h * p->w, call->x + i * size, p, scratch);
}

static int ENTRY(patches)(T *y, const T *x, const int64_t *geometry, cafe_task *task) {
    struct ENTRY(conv_call) call = {.y = y, .x = x, .p = conv_read(geometry)};
    const struct cafe_conv *p = &call.p;
    const struct cafe_conv_cut all = {p->oh, p->ow, 1, 1};
    call.scratch = conv_window_size(p, all, 1);
    cafe_for(p->n * p->c, 1, p->n * p->c * p->kh * p->kw * p->oh * p->ow, CAFE_SERIAL_CHEAP, task, &call);
    return atomic_load(&call.status);
}

int ENTRY(im2col)(T *cols, const T *x, const int64_t *geometry) { return ENTRY(patches)(cols, x, geometry, ENTRY(im2col_task)); }

int ENTRY(col2im)(T *x, const T *cols, const int64_t *geometry) { return ENTRY(patches)(x, cols, geometry, ENTRY(col2im_task)); }

#endif
