/* What attention.c and bodies/attention.inc share: sizes, where things lie, how work is blocked. */
#ifndef CAFE_ATTENTION_H
#define CAFE_ATTENTION_H

#include <stdint.h>

/* B batch, H query heads, G key/value heads, S queries, T keys, D width of queries and keys, E of values. Strides are in elements; the last
 * axis is contiguous but for the mask's. Mask: batch, head, query, key, any of them 0. */
struct cafe_attention {
    int64_t batch, heads, groups, queries, keys, depth, width, causal;
    int64_t q[3], k[3], v[3], mask[4], g[3];
    double scale;
};

/* Keys that are taken at a time: a block's keys, transposed, are 32 KiB for a depth of 64 in f32. */
enum { CAFE_ATTENTION_KEYS = 128, CAFE_ATTENTION_ROWS = 64 /* at least the queries that a body takes at a time */ };

/* Scratch, in elements, of one call of a body on so many queries. A packed width is whole panels: at most 32 columns. */
static inline int64_t cafe_attention_padded(int64_t n) { return (n + 31) / 32 * 32; }
static inline int64_t cafe_attention_scratch(const struct cafe_attention *p, int64_t queries) {
    int64_t depth = cafe_attention_padded(p->depth), width = cafe_attention_padded(p->width);
    return (2 * CAFE_ATTENTION_KEYS + 2 * CAFE_ATTENTION_ROWS) * (depth + width + CAFE_ATTENTION_KEYS) + 2 * queries;
}

#endif
