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

/* Channels that `rows` successive rows (c, r, s) can touch. */
static int64_t conv_channels_of(const struct cafe_conv *p, int64_t rows) {
    return cafe_min(p->c / p->groups, (rows + p->kh * p->kw - 2) / (p->kh * p->kw) + 1);
}

static struct cafe_conv conv_read(const int64_t *geometry) {
    struct cafe_conv p;
    memcpy(&p, geometry, sizeof p);
    return p;
}

/* The weight gradient's items: images in grains, each grain's rows (c, r, s) in blocks. The grains are fixed by sizes alone, and
 * their sums are added in order. */
struct conv_grains {
    int64_t images, grains, depth, blocks, result; /* images a grain, rows a block, elements of a grain's result */
};

static struct conv_grains conv_grains(const struct cafe_conv *p) {
    struct conv_grains g;
    int64_t depth = p->c / p->groups * p->kh * p->kw;
    g.blocks = cafe_conv_is_direct(p) || depth == 0 ? 1 : cafe_ceil_div(depth, CAFE_CONV_DEPTH);
    g.depth = cafe_ceil_div(depth, g.blocks);
    g.images = p->n ? cafe_ceil_div(p->n, cafe_ceil_div(CAFE_CONV_ITEMS, p->groups * g.blocks)) : 1;
    g.grains = cafe_ceil_div(p->n, g.images);
    g.result = p->o * depth;
    return g;
}

/* How many items make even work for the threads there are. Cutting the forward into more or fewer does not show in its bits. */
static int64_t conv_items(void) {
    int64_t threads = cafe_get_num_threads();
    return threads == 1 ? 1 : 2 * threads;
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

/* Whether Winograd's algorithm pays: from where the transforms, which cost as much for one channel as for many, are few beside the products;
 * and a map that is not much larger than a tile is mostly border. (A 3 x 3 kernel without a stride gains enough for that alone to say it.) With a
 * stride the direct sum's windows are dealt out or its results added up, which costs it a sixth of its rate; without one an eighth must be
 * saved: three taps along 64 places, 256 channels, took 1.04 of the direct sum's time with eight images, 1.8 with one (Granite Rapids,
 * November 2026). */
static int conv_winograd_pays(const struct cafe_conv *p, enum cafe_winograd_kind kind, int turned) {
    const int64_t c = p->c / p->groups, o = p->o / p->groups, strided = p->sh > 1;
    const int64_t direct = (turned && strided ? p->h * p->w : p->oh * p->ow) * p->kh * p->kw * c * o;
    const struct cafe_winograd g = cafe_winograd(kind, p, turned);
    const int64_t most = strided ? direct + direct / 5 : direct - direct / 8;
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
    return conv_winograd(&t, size, 1) || (p->c >= 8 * p->groups && 2 * p->h * p->w <= 3 * p->oh * p->ow);
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
    if (p->algorithm == CAFE_CONV_DIRECT) return TABLE->conv_direct;
    if (p->algorithm == CAFE_CONV_IMPLICIT) return TABLE->conv;
    if (cafe_conv_is_direct(p)) return TABLE->conv_direct;
    return cafe_conv_is_product(p) ? TABLE->conv_product : TABLE->conv;
}

/* Items: runs of images, groups, blocks of places, parts of the output channels. */
static void ENTRY(conv_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(conv_call) *call = context;
    const struct cafe_conv *p = &call->p;
    const int64_t m = p->o / p->groups, c = p->c / p->groups, blocks = call->cut.down * call->cut.across;
    T *scratch = ENTRY(conv_scratch)(call);
    for (int64_t i = begin; scratch && i < end; i++) {
        int64_t first = i % call->parts * call->m, block = i / call->parts % blocks, group = i / call->parts / blocks % p->groups;
        int64_t image = i / call->parts / blocks / p->groups * call->images, o = group * m + first;
        struct cafe_conv_block b = cafe_conv_block(p, call->cut, block);
        b.images = cafe_min(call->images, p->n - image);
        T *y = call->y + (image * p->o + o) * p->oh * p->ow;
        ENTRY(conv_choose)(p)(y, call->x + (image * p->c + group * c) * p->h * p->w,
                              call->w + o * c * p->kh * p->kw, call->bias ? call->bias + o : NULL, cafe_min(call->m, m - first), p, &b, scratch);
        for (int64_t k = 0; call->then && k < b.images; k++)
            TABLE->conv_then(y + k * p->o * p->oh * p->ow + b.row * p->ow + b.col, o, cafe_min(call->m, m - first), b.rows * b.cols, p->oh * p->ow, call->then);
    }
}

static int ENTRY(conv_run)(struct ENTRY(conv_call) *call) {
    const struct cafe_conv *p = &call->p;
    const int64_t c = p->c / p->groups, m = p->o / p->groups, taps = p->kh * p->kw, places = p->oh * p->ow;
    if (p->n * p->o * places == 0) return CAFE_OK;
    const int product = ENTRY(conv_choose)(p) == TABLE->conv, direct = ENTRY(conv_choose)(p) == TABLE->conv_direct;
    call->cut = cafe_conv_cut(p, direct && c == 1 ? CAFE_CONV_NEAR : CAFE_CONV_PLACES);
    const int64_t blocks = p->groups * call->cut.down * call->cut.across, wanted = conv_items();
    call->images = product ? cafe_min((CAFE_CONV_PLACES + places / 2) / places, p->n * blocks / wanted) : 1;
    call->images = call->images < 1 ? 1 : call->images;
    const int64_t items = cafe_ceil_div(p->n, call->images) * blocks;
    call->m = items < wanted ? cafe_min(m, cafe_ceil_div(cafe_ceil_div(m * items, wanted), ROWS) * ROWS) : m;
    call->parts = cafe_ceil_div(m, call->m);
    call->scratch = CAFE_MATMUL_SCRATCH / (int64_t)sizeof(T);
    if (direct) call->scratch = conv_window_size(p, call->cut, c) + 2 * (c * taps + 2 * SLACK);
    if (product) call->scratch = conv_window_size(p, call->cut, call->images * conv_channels_of(p, 192)) + PANEL + 4 * SLACK;
    if (product && call->images > 1) call->scratch += call->m * call->images * places;
    cafe_for(items * call->parts, 1, p->n * p->o * places * c * taps, CAFE_SERIAL_FMA, ENTRY(conv_task), call);
    return atomic_load(&call->status);
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

/* The patches of all images to `cols`, and products with them. */
static int ENTRY(conv_of_patches)(struct ENTRY(conv_call) *call, T *cols, const int64_t *geometry) {
    const struct cafe_conv *p = &call->p;
    const int64_t m = p->o / p->groups, depth = p->c / p->groups * p->kh * p->kw, places = p->oh * p->ow;
    const int64_t batch[6] = {p->n, p->groups, 0, m * depth, p->groups * depth * places, depth * places};
    int status = ENTRY(im2col)(cols, call->x, geometry);
    if (status == CAFE_OK) status = ENTRY(matmul_batch)(call->y, call->w, cols, m, depth, places, depth, 1, places, 1, 2, batch);
    if (call->bias || call->then) cafe_for(p->n, 1, p->n * p->o * places, CAFE_SERIAL_CHEAP, ENTRY(conv_after_task), call);
    return status;
}

static int ENTRY(conv_forward)(T *y, const T *x, const T *w, const T *bias, T *work, const int64_t *geometry, const struct cafe_conv_then *then) {
    struct ENTRY(conv_call) call = {.y = y, .x = x, .w = w, .bias = bias, .p = conv_read(geometry), .then = then};
    const struct cafe_conv *p = &call.p;
    if (p->n * p->o * p->oh * p->ow == 0) return CAFE_OK;
    const enum cafe_winograd_kind kind = conv_winograd(p, sizeof(T), 0);
    const int64_t taps = p->kh * p->kw, c = p->c / p->groups;
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

/* Items: images, groups, and within a group runs of `m` channels in. */
static void ENTRY(conv_input_grad_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(conv_call) *call = context;
    const struct cafe_conv *p = &call->p;
    const int64_t m = p->o / p->groups, c = p->c / p->groups, taps = p->kh * p->kw, places = p->oh * p->ow;
    T *scratch = ENTRY(conv_scratch)(call);
    for (int64_t i = begin; scratch && i < end; i++) {
        int64_t first = i % call->parts * call->m, plane = i / call->parts, n = cafe_min(call->m, c - first);
        T *dx = call->y + (plane * c + first) * p->h * p->w;
        const T *dy = call->x + plane * m * places, *w = call->w + (plane % p->groups * m * c + first) * taps;
        if (cafe_conv_is_direct(p)) TABLE->conv_direct_input_grad(dx, dy, w, p, scratch);
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
    return ENTRY(conv_run)(&call);
}

int ENTRY(conv_input_grad)(T *dx, const T *dy, const T *w, T *work, const int64_t *geometry) {
    struct ENTRY(conv_call) call = {.y = dx, .x = dy, .w = w, .p = conv_read(geometry)};
    const struct cafe_conv *p = &call.p;
    if (p->n * p->c * p->h * p->w == 0) return CAFE_OK;
    if (conv_is_turned(p, sizeof(T))) return ENTRY(conv_turned)(dx, dy, w, work, p);
    const int64_t c = p->c / p->groups, taps = p->kh * p->kw;
    call.cut = cafe_conv_cut(p, CAFE_CONV_PLACES);
    call.m = cafe_conv_channels(p);
    call.parts = cafe_ceil_div(c, call.m);
    const struct cafe_conv_cut all = {p->oh, p->ow, 1, 1};
    call.scratch = conv_window_size(p, all, call.m);
    if (!cafe_conv_is_direct(p)) call.scratch += CAFE_MATMUL_SCRATCH / (int64_t)sizeof(T) + call.m * taps * call.cut.rows * call.cut.cols + 2 * SLACK;
    cafe_for(p->n * p->groups * call.parts, 1, p->n * p->o * p->oh * p->ow * c * taps, CAFE_SERIAL_FMA, ENTRY(conv_input_grad_task), &call);
    return atomic_load(&call.status);
}

/* ---- the gradient of the kernel ---- */

/* Items: grains of images, groups, blocks of rows. */
static void ENTRY(conv_weight_grad_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(conv_call) *call = context;
    const struct cafe_conv *p = &call->p;
    const struct conv_grains *g = &call->g;
    const int64_t m = p->o / p->groups, c = p->c / p->groups, depth = c * p->kh * p->kw, places = p->oh * p->ow;
    T *one = ENTRY(conv_scratch)(call), *scratch = one ? one + m * g->depth + SLACK : NULL;
    for (int64_t i = begin; scratch && i < end; i++) {
        int64_t k0 = i % g->blocks * g->depth, group = i / g->blocks % p->groups, grain = i / g->blocks / p->groups;
        int64_t kc = cafe_min(g->depth, depth - k0), image = grain * g->images, last = cafe_min(p->n, image + g->images);
        T *sum = call->y + grain * g->result + (group * depth + k0) * m;
        for (int64_t first = image; image < last; image++) {
            const T *dy = call->x + (image * p->o + group * m) * places, *x = call->w + (image * p->c + group * c) * p->h * p->w;
            T *to = image == first ? sum : one;
            if (cafe_conv_is_direct(p)) TABLE->conv_direct_weight_grad(to, dy, x, first + 1 < last ? p->c : 1 - (last - 1 - image) * p->c, p, scratch);
            else TABLE->conv_weight_grad(to, dy, x, k0, kc, p, scratch);
            if (to == one) TABLE->conv_add(sum, one, kc * m);
        }
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
    call.g = conv_grains(p);
    call.cut = cafe_conv_cut(p, cafe_conv_is_three(p) ? CAFE_CONV_NEAR : CAFE_CONV_PLACES);
    call.scratch = p->o / p->groups * call.g.depth + call.g.depth * (192 + 2) + PANEL + 8 * SLACK;
    call.scratch += conv_window_size(p, call.cut, conv_channels_of(p, call.g.depth));
    if (cafe_conv_is_three(p)) call.scratch += p->o / p->groups * call.g.depth * 16; /* a vector a sum */
    cafe_for(call.g.grains * p->groups * call.g.blocks, 1, p->n * p->oh * p->ow * call.g.result, CAFE_SERIAL_FMA, ENTRY(conv_weight_grad_task), &call);
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
