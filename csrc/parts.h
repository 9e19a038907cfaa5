/* An array of shape (outer, n, inner) that is walked along n, in parts that are the items of cafe_for: `block` of n times `strip` columns
 * of inner. Where inner is 1 a part is a run of a row; where n is one block it is the whole row, or a whole strip. */
#ifndef CAFE_PARTS_H
#define CAFE_PARTS_H

#include <stdint.h>

#include "threads.h"

struct cafe_parts {
    int64_t outer, n, inner, block, strip, blocks, strips;
};

static inline struct cafe_parts cafe_parts_of(int64_t outer, int64_t n, int64_t inner, int64_t block, int64_t strip) {
    return (struct cafe_parts){outer, n, inner, block, strip, cafe_ceil_div(n, block), cafe_ceil_div(inner, strip)};
}

/* In elements: where a part begins in the array, and in one of shape (outer, blocks, inner) that has a result for each block; its sizes. */
struct cafe_part {
    int64_t at, result, rows, columns;
};

static inline struct cafe_part cafe_part_of(const struct cafe_parts *p, int64_t item) {
    int64_t column = item % p->strips * p->strip, block = item / p->strips, o = block / p->blocks, row = block % p->blocks * p->block;
    return (struct cafe_part){(o * p->n + row) * p->inner + column, block * p->inner + column, cafe_min(p->block, p->n - row),
                              cafe_min(p->strip, p->inner - column)};
}

/* Where the first block's result for element i of (outer, inner) lies; the next block's is `inner` further on. */
static inline int64_t cafe_parts_first(const struct cafe_parts *p, int64_t i) { return i / p->inner * p->blocks * p->inner + i % p->inner; }

/* cafe_for over the parts: of a short row some in a grain, else each on its own. */
static inline void cafe_for_parts(const struct cafe_parts *p, int64_t serial_below, cafe_task *task, void *context) {
    int64_t grain = p->inner == 1 ? cafe_ceil_div(CAFE_GRAIN, cafe_min(p->n, p->block)) : 1;
    cafe_for(p->outer * p->blocks * p->strips, grain, p->outer * p->n * p->inner, serial_below, task, context);
}

#endif
