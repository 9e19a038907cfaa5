/* Entry points of bodies/winograd.inc, called by conv.c: the kernels transformed once a call, then blocks of tiles over threads. */
#ifndef REAL
#include "winograd.h"

#include <stdatomic.h>
#include <stddef.h>

#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "threads.h"

enum { CHANNELS = 32 /* channels in whose kernels one item transforms */ };

/* The weight gradient's items: images in grains, channels out and in in runs; fixed by sizes alone, so that sums over images are. */
struct winograd_grains {
    int64_t images, grains, result;         /* images a grain, elements of a grain's result */
    int64_t outs, out_runs, channels, runs; /* channels out of a run, channels in of one; how many runs of each */
};

/* Channels of an even run of at most `most` of n, in whole steps. */
static int64_t winograd_run(int64_t n, int64_t most, int64_t step) {
    const int64_t runs = n > most ? cafe_ceil_div(n, most) : 1;
    return n > 0 ? cafe_ceil_div(cafe_ceil_div(n, runs), step) * step : step;
}

/* An item's sums, of 128 channels out and 64 in or 128 in all phases, and its tiles stay in a second cache of 2 MiB, and nearly in one of
 * 1 MiB. Smaller runs would transform more often; larger ones leave less to share out, so that images are cut into more grains, each with
 * sums to be transformed, stored and added. With all of 256 channels out in a run the weight gradient of 256 channels at 14 x 14 takes
 * 4.8 ms, so 3.9; 512 at 7 x 7 9.2 and 6.5. A grain has tiles enough to be worth its sums: five taps along 64 places, 64 to 128 channels,
 * take 0.21 ms, with a grain an image 0.26. Where that leaves too few items, runs are smaller: one image of 64 channels at 56 x 56 takes
 * 0.52 ms, in one run 0.85 (else eight images; two threads, Granite Rapids, November 2026). */
static struct winograd_grains winograd_grains(const struct cafe_conv *p, enum cafe_winograd_kind kind) {
    enum { OUTS = 128, INS = 64, FEW_INS = 96 /* are one run */, PHASED_INS = 32, TILES = 128, FEW_ITEMS = 4 };
    const struct cafe_winograd w = cafe_winograd(kind, p, 0);
    const int64_t c = w.c, o = w.o, phased = p->sh * p->sw > 1, run = CAFE_WINOGRAD_RUN;
    struct winograd_grains g = {.images = 1, .result = p->o * c * p->kh * p->kw};
    g.channels = phased ? winograd_run(c, PHASED_INS, run / 2) : winograd_run(c, c <= FEW_INS ? FEW_INS : INS, run);
    g.runs = cafe_ceil_div(c, g.channels);
    const int64_t shares = p->groups * g.runs, most = p->n * w.down * w.across / TILES;
    const int64_t wanted = cafe_min(most, cafe_ceil_div(CAFE_CONV_ITEMS, shares * (o > OUTS ? cafe_ceil_div(o, OUTS) : 1)));
    if (p->n > 0) g.images = cafe_ceil_div(p->n, wanted > 1 ? wanted : 1);
    g.grains = cafe_ceil_div(p->n, g.images);
    g.outs = winograd_run(o, cafe_min(OUTS, cafe_ceil_div(o, cafe_ceil_div(FEW_ITEMS, shares * (g.grains > 0 ? g.grains : 1)))), run);
    g.out_runs = cafe_ceil_div(o, g.outs);
    return g;
}

int64_t cafe_winograd_kernels(const struct cafe_conv *p, enum cafe_winograd_kind kind, int turned) {
    const struct cafe_winograd g = cafe_winograd(kind, p, turned);
    return p->groups * cafe_winograd_group(&g);
}

int64_t cafe_winograd_weight_grad_work(const struct cafe_conv *p, enum cafe_winograd_kind kind) {
    struct winograd_grains g = winograd_grains(p, kind);
    return g.grains * g.result;
}

#define REAL f32
#include "winograd.c"
#undef REAL
#define REAL f64
#include "winograd.c"
#undef REAL
#else

struct ENTRY(winograd_call) {
    T *y, *u;
    const T *x, *w, *bias;
    struct cafe_conv p;
    struct cafe_winograd g;
    struct winograd_grains grains;
    struct cafe_winograd_weights weights;
    const struct cafe_conv_then *then; /* or NULL */
    int64_t m, parts; /* channels out of an item, items that share a block */
    int64_t scratch;
    atomic_int status, strange;
};

static T *ENTRY(winograd_scratch)(struct ENTRY(winograd_call) *call) {
    T *scratch = cafe_scratch((size_t)call->scratch * sizeof(T));
    if (!scratch) atomic_store(&call->status, CAFE_NO_MEMORY);
    return scratch;
}

static int ENTRY(winograd_status)(struct ENTRY(winograd_call) *call) {
    int status = atomic_load(&call->status);
    return status == CAFE_OK && atomic_load(&call->strange) ? CAFE_NOT_FINITE : status;
}

/* Items: groups, runs of channels out, runs of channels in. */
static void ENTRY(winograd_kernel_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(winograd_call) *call = context;
    const struct cafe_winograd *g = &call->g;
    const struct cafe_winograd_weights *w = &call->weights;
    const int64_t outs = g->panels / CAFE_WINOGRAD_RUN, ins = cafe_ceil_div(g->c, CHANNELS);
    for (int64_t i = begin; i < end; i++) {
        int64_t k0 = i % ins * CHANNELS, first = i / ins % outs * CAFE_WINOGRAD_RUN, group = i / ins / outs;
        TABLE->winograd_kernel(call->u + group * cafe_winograd_group(g), call->w + group * w->group, w->out, w->in, w->turned, first,
                               cafe_min(CAFE_WINOGRAD_RUN, g->o - first), k0, cafe_min(CHANNELS, g->c - k0), g);
    }
}

/* What follows for the places of a block: whole rows lie in one run. */
static void ENTRY(winograd_follow)(T *y, int64_t o, int64_t n, const struct ENTRY(winograd_call) *call, const struct cafe_conv_block *b) {
    const struct cafe_conv *p = &call->p;
    const int64_t high = call->g.high, wide = call->g.wide, top = b->row * high, left = b->col * wide;
    const int64_t rows = cafe_min(b->rows * high, p->oh - top), cols = cafe_min(b->cols * wide, p->ow - left);
    const int64_t runs = cols == p->ow ? 1 : rows, run = cols == p->ow ? rows * cols : cols, places = p->oh * p->ow;
    for (int64_t image = 0; image < b->images; image++)
        for (int64_t i = 0; i < runs; i++) TABLE->conv_then(y + image * p->o * places + (top + i) * p->ow + left, o, n, run, places, call->then);
}

/* Items: runs of images, groups, blocks of tiles, parts of the channels out. */
static void ENTRY(winograd_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(winograd_call) *call = context;
    const struct cafe_conv *p = &call->p;
    const struct cafe_winograd *g = &call->g;
    const int64_t blocks = g->cut.down * g->cut.across;
    T *scratch = ENTRY(winograd_scratch)(call);
    int strange = 0;
    for (int64_t i = begin; scratch && i < end; i++) {
        int64_t first = i % call->parts * call->m, block = i / call->parts % blocks, group = i / call->parts / blocks % p->groups;
        int64_t image = i / call->parts / blocks / p->groups * g->images, o = group * g->o + first;
        struct cafe_conv_block b = cafe_winograd_block(g, block, cafe_min(g->images, p->n - image));
        T *y = call->y + (image * p->o + o) * p->oh * p->ow;
        TABLE->winograd(y, call->x + (image * p->c + group * g->c) * p->h * p->w,
                        call->u + group * cafe_winograd_group(g), call->bias ? call->bias + o : NULL, first, cafe_min(call->m, g->o - first), g, p,
                        &b, &strange, scratch);
        if (call->then) ENTRY(winograd_follow)(y, o, cafe_min(call->m, g->o - first), call, &b);
    }
    if (strange) atomic_store(&call->strange, 1);
}

/* Elements of scratch of an item: the sums, then the tiles and the window that they are made of, in whose place the outputs come: all phases of
 * the output want the tiles. */
static int64_t ENTRY(winograd_room)(const struct cafe_winograd *g) {
    const int64_t tiles = cafe_winograd_tiles(g), seen = tiles * g->spots * g->in, window = cafe_winograd_window(g, g->place);
    const int64_t out = tiles * g->high * g->wide * cafe_winograd_step(g->outs) * g->out + (g->outs > 1 ? seen : 0);
    return tiles * g->spots * g->out + (seen + window > out ? seen + window : out) + CAFE_WINOGRAD_SLACK;
}

int ENTRY(winograd)(T *y, const T *x, const T *w, const T *bias, T *u, const struct cafe_conv *p, enum cafe_winograd_kind kind,
                    struct cafe_winograd_weights weights, const struct cafe_conv_then *then) {
    struct ENTRY(winograd_call) call = {.y = y, .x = x, .w = w, .bias = bias, .u = u, .p = *p, .weights = weights, .then = then};
    struct cafe_winograd *g = &call.g;
    *g = cafe_winograd(kind, p, weights.turned);
    const int64_t kernels = p->groups * (g->panels / CAFE_WINOGRAD_RUN) * cafe_ceil_div(g->c, CHANNELS);
    cafe_for(kernels, 1, 2 * p->o * g->outs * g->depth * g->spots, CAFE_SERIAL_CHEAP, ENTRY(winograd_kernel_task), &call);
    const int64_t threads = cafe_get_num_threads(), wanted = threads == 1 ? 1 : 2 * threads, blocks = p->groups * g->cut.down * g->cut.across;
    g->images = cafe_min(g->images, p->n * blocks / wanted > 1 ? p->n * blocks / wanted : 1);
    const int64_t items = cafe_ceil_div(p->n, g->images) * blocks, runs = g->panels / CAFE_WINOGRAD_RUN;
    call.m = (items < wanted ? cafe_ceil_div(runs * items, wanted) : runs) * CAFE_WINOGRAD_RUN;
    call.parts = cafe_ceil_div(g->o, call.m);
    call.scratch = ENTRY(winograd_room)(g);
    cafe_for(items * call.parts, 1, p->n * p->o * p->oh * p->ow * g->c * 4, CAFE_SERIAL_FMA, ENTRY(winograd_task), &call);
    return ENTRY(winograd_status)(&call);
}

/* ---- the gradient of the kernel ---- */

/* Items: grains of images, groups, runs of channels out, runs of channels in. */
static void ENTRY(winograd_weight_grad_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(winograd_call) *call = context;
    const struct cafe_conv *p = &call->p;
    const struct winograd_grains *s = &call->grains;
    const int64_t o = call->g.o, c = call->g.c, taps = p->kh * p->kw;
    T *scratch = ENTRY(winograd_scratch)(call);
    int strange = 0;
    for (int64_t i = begin; scratch && i < end; i++) {
        int64_t first = i % s->runs * s->channels, out = i / s->runs % s->out_runs * s->outs, rest = i / s->runs / s->out_runs;
        int64_t group = rest % p->groups, grain = rest / p->groups, image = grain * s->images;
        struct cafe_winograd run = call->g;
        run.o = cafe_min(s->outs, o - out);
        T *dw = call->y + grain * s->result + group * o * c * taps + out * c + first;
        TABLE->winograd_weight_grad(dw, call->x + (image * p->o + group * o + out) * p->oh * p->ow,
                                    call->w + (image * p->c + group * c + first) * p->h * p->w, cafe_min(s->images, p->n - image),
                                    cafe_min(s->channels, c - first), &run, p, &strange, scratch);
    }
    if (strange) atomic_store(&call->strange, 1);
}

/* Adds the grains' sums, in order, into the first. */
static void ENTRY(winograd_sum_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(winograd_call) *call = context;
    for (int64_t grain = 1; grain < call->grains.grains; grain++) TABLE->conv_add(call->y + begin, call->y + grain * call->grains.result + begin, end - begin);
}

int ENTRY(winograd_weight_grad)(T *dw, const T *dy, const T *x, T *work, const struct cafe_conv *p, enum cafe_winograd_kind kind) {
    struct ENTRY(winograd_call) call = {.y = work, .x = dy, .w = x, .p = *p, .grains = winograd_grains(p, kind)};
    struct cafe_winograd *g = &call.g;
    const struct winograd_grains *s = &call.grains;
    *g = cafe_winograd(kind, p, 0);
    g->place = cafe_winograd_whole(s->channels) + 16, g->in = cafe_winograd_wide(g, s->channels);
    g->out = cafe_winograd_whole(s->outs) + 16;
    const int64_t tiles = cafe_winograd_tiles(g), taps = g->kh * g->kw;
    call.scratch = g->spots * (s->outs * g->in + tiles * (g->in + g->out)) + CAFE_WINOGRAD_SLACK;
    call.scratch += cafe_winograd_window(g, g->place > g->out ? g->place : g->out);
    const int64_t items = s->grains * p->groups * s->out_runs * s->runs;
    cafe_for(items, 1, p->n * p->oh * p->ow * s->result / 2, CAFE_SERIAL_FMA, ENTRY(winograd_weight_grad_task), &call);
    cafe_for(s->result, CAFE_GRAIN, s->grains * s->result, CAFE_SERIAL_CHEAP, ENTRY(winograd_sum_task), &call);
    const int64_t size = sizeof(T), shape[3] = {p->groups, g->o * g->c, taps}, strides[3] = {taps * g->o * g->c * size, size, g->o * g->c * size};
    cafe_copy_strided(dw, work, 3, shape, strides, size);
    return ENTRY(winograd_status)(&call);
}

#endif
