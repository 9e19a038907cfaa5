/* Entry points of bodies/attention.inc, for both types: the file includes itself once for each. */
#ifndef REAL
#include "attention.h"

#include <stdatomic.h>
#include <string.h>

#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "threads.h"

static struct cafe_attention attention_of(const int64_t *sizes, double scale) {
    struct cafe_attention p;
    memcpy(&p, sizes, CAFE_ATTENTION_SIZES * sizeof *sizes);
    p.scale = scale;
    return p;
}

/* n in runs of whole `unit`s: as many as make `items` runs of each of `heads`, so that all threads have work to the end. */
static int64_t run_length(int64_t n, int64_t unit, int64_t heads, int64_t items) {
    int64_t units = cafe_ceil_div(n, unit), runs = cafe_ceil_div(items, heads);
    runs = runs < 1 ? 1 : runs > units ? units : runs;
    return cafe_ceil_div(units, runs > 0 ? runs : 1) * unit;
}

enum { RUNS = 4 /* items a thread, where heads alone do not give that many */, UNIT = 2 * CAFE_ATTENTION_ROWS };

#define REAL f32
#include "attention.c"
#undef REAL
#define REAL f64
#include "attention.c"
#undef REAL
#else

struct ENTRY(attention_call) {
    struct cafe_attention p;
    T *y, *logsumexp, *dq, *dk, *dv, *delta;
    const T *q, *k, *v, *mask, *g;
    int64_t run, runs; /* how items are cut: of each head, so many queries or keys at a time */
    atomic_int status;
};

static T *ENTRY(attention_scratch)(struct ENTRY(attention_call) *c, int64_t queries) {
    T *scratch = cafe_scratch((size_t)cafe_attention_scratch(&c->p, queries) * sizeof(T));
    if (!scratch) atomic_store(&c->status, CAFE_NO_MEMORY);
    return scratch;
}

/* An item is a run of one head's queries; of a causal head the last run, which has most to do, comes first. */
static void ENTRY(attention_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(attention_call) *c = context;
    const struct cafe_attention *p = &c->p;
    T *scratch = ENTRY(attention_scratch)(c, c->run);
    for (int64_t item = begin; scratch && item < end; item++) {
        int64_t head = item / c->runs, b = head / p->heads, h = head % p->heads, shared = h / (p->heads / p->groups);
        int64_t from = (c->runs - 1 - item % c->runs) * c->run, to = cafe_min(p->queries, from + c->run), at = head * p->queries + from;
        const T *mask = c->mask ? c->mask + b * p->mask[0] + h * p->mask[1] : NULL;
        TABLE->attention(c->y + at * p->width, c->logsumexp + at, c->q + b * p->q[0] + h * p->q[1], c->k + b * p->k[0] + shared * p->k[1],
                         c->v + b * p->v[0] + shared * p->v[1], mask, from, to, p, scratch);
    }
}

int ENTRY(attention)(T *y, T *logsumexp, const T *q, const T *k, const T *v, const T *mask, const int64_t *sizes, double scale) {
    struct ENTRY(attention_call) c = {.p = attention_of(sizes, scale), .y = y, .logsumexp = logsumexp, .q = q, .k = k, .v = v, .mask = mask};
    const struct cafe_attention *p = &c.p;
    int64_t heads = p->batch * p->heads;
    if (heads * p->queries == 0) return CAFE_OK;
    c.run = run_length(p->queries, UNIT, heads, RUNS * cafe_get_num_threads());
    c.runs = cafe_ceil_div(p->queries, c.run);
    int64_t work = heads * p->queries * p->keys * (p->depth + p->width);
    cafe_for_each(heads * c.runs, 1, work, CAFE_SERIAL_FMA, ENTRY(attention_task), &c);
    return atomic_load(&c.status);
}

static void ENTRY(attention_delta_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(attention_call) *c = context;
    const struct cafe_attention *p = &c->p;
    for (int64_t head = begin; head < end; head++) {
        const T *g = c->g + head / p->heads * p->g[0] + head % p->heads * p->g[1];
        TABLE->attention_delta(c->delta + head * p->queries, g, p->g[2], c->y + head * p->queries * p->width, p->queries, p->width);
    }
}

/* Query head h of batch item b, over range = queries from, to and keys from, to. */
static void ENTRY(attention_head)(struct ENTRY(attention_call) *c, int64_t b, int64_t h, const int64_t *range, T *dq, T *dk, T *dv, T *scratch) {
    const struct cafe_attention *p = &c->p;
    int64_t head = b * p->heads + h, shared = h / (p->heads / p->groups), pair = b * p->groups + shared, at = head * p->queries;
    TABLE->attention_backward(dq ? dq + at * p->depth : NULL, dk ? dk + pair * p->keys * p->depth : NULL, dv ? dv + pair * p->keys * p->width : NULL,
                              c->g + b * p->g[0] + h * p->g[1], c->q + b * p->q[0] + h * p->q[1], c->k + b * p->k[0] + shared * p->k[1],
                              c->v + b * p->v[0] + shared * p->v[1], c->logsumexp + at, c->delta + at,
                              c->mask ? c->mask + b * p->mask[0] + h * p->mask[1] : NULL, range, p, scratch);
}

/* An item is a run of one key/value head's keys: dk and dv there, from all the query heads that read it; and dq where it is asked for. */
static void ENTRY(attention_keys_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(attention_call) *c = context;
    const struct cafe_attention *p = &c->p;
    T *scratch = ENTRY(attention_scratch)(c, 0);
    for (int64_t item = begin; scratch && item < end; item++) {
        int64_t pair = item / c->runs, from = item % c->runs * c->run, to = cafe_min(p->keys, from + c->run), ratio = p->heads / p->groups;
        int64_t range[4] = {0, p->queries, from, to};
        memset(c->dk + (pair * p->keys + from) * p->depth, 0, (size_t)((to - from) * p->depth) * sizeof(T));
        memset(c->dv + (pair * p->keys + from) * p->width, 0, (size_t)((to - from) * p->width) * sizeof(T));
        for (int64_t h = 0; h < ratio; h++)
            ENTRY(attention_head)(c, pair / p->groups, pair % p->groups * ratio + h, range, c->runs == 1 ? c->dq : NULL, c->dk, c->dv, scratch);
    }
}

/* An item is a run of one head's queries: dq alone. */
static void ENTRY(attention_queries_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(attention_call) *c = context;
    const struct cafe_attention *p = &c->p;
    T *scratch = ENTRY(attention_scratch)(c, 0);
    for (int64_t item = begin; scratch && item < end; item++) {
        int64_t head = item / c->runs, from = (c->runs - 1 - item % c->runs) * c->run;
        int64_t range[4] = {from, cafe_min(p->queries, from + c->run), 0, p->keys};
        ENTRY(attention_head)(c, head / p->heads, head % p->heads, range, c->dq, NULL, NULL, scratch);
    }
}

int ENTRY(attention_backward)(T *dq, T *dk, T *dv, T *delta, const T *g, const T *q, const T *k, const T *v, const T *y, const T *logsumexp,
                              const T *mask, const int64_t *sizes, double scale) {
    struct ENTRY(attention_call) c = {.p = attention_of(sizes, scale), .y = (T *)y, .logsumexp = (T *)logsumexp, .dq = dq, .dk = dk, .dv = dv,
                                      .delta = delta, .q = q, .k = k, .v = v, .mask = mask, .g = g};
    const struct cafe_attention *p = &c.p;
    int64_t heads = p->batch * p->heads, pairs = p->batch * p->groups, threads = cafe_get_num_threads();
    int64_t work = heads * p->queries * p->keys * (p->depth + p->width);
    cafe_for(heads, 1, heads * p->queries * p->width, CAFE_SERIAL_CHEAP, ENTRY(attention_delta_task), &c);
    /* Whole heads make five products of a block, cut ones seven: worth it where whole heads would leave threads without work. */
    int64_t rounds = cafe_ceil_div(pairs, threads), cut = work >= CAFE_SERIAL_FMA && 5 * rounds * threads > 7 * pairs;
    c.run = run_length(p->keys, CAFE_ATTENTION_KEYS, pairs, cut ? RUNS * threads : 1);
    c.runs = c.run > 0 ? cafe_ceil_div(p->keys, c.run) : 1;
    if (c.runs == 0) c.runs = 1;
    int64_t together = c.runs == 1;
    cafe_for_each(pairs * c.runs, 1, work, CAFE_SERIAL_FMA, ENTRY(attention_keys_task), &c);
    if (together || heads * p->queries == 0) return atomic_load(&c.status);
    c.run = run_length(p->queries, UNIT, heads, RUNS * threads);
    c.runs = cafe_ceil_div(p->queries, c.run);
    cafe_for_each(heads * c.runs, 1, work, CAFE_SERIAL_FMA, ENTRY(attention_queries_task), &c);
    return atomic_load(&c.status);
}

#endif
