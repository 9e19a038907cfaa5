/* Walking arrays of any strides in the order of a contiguous result. */
#ifndef CAFE_STRIDED_H
#define CAFE_STRIDED_H

#include <stddef.h>
#include <stdint.h>

#include "cafe.h"

enum {
    CAFE_STRIDED_BLOCK = 512, /* elements gathered at a time: a few KiB, so that they are still in L1 when used */
    CAFE_STRIDED_ROW = 32     /* rows at least this long are taken as they lie */
};

/* The result's shape and up to two operands' strides in bytes, after axes of one element were dropped and neighbours joined
 * that every operand steps through alike. At least one axis is left. */
struct cafe_strided {
    int ndim, by_rows /* the last axis is long, and the operands step by one element along it, or one of two stands still */;
    int64_t shape[CAFE_MAX_DIMS], stride[2][CAFE_MAX_DIMS];
    int64_t total;
};

/* Joins axes; size is an element's. With one operand, b is NULL. */
struct cafe_strided cafe_strided_join(int ndim, const int64_t *shape, const int64_t *a, const int64_t *b, int64_t size);

/* A place in the result's order, and how far from their bases the operands' elements for it lie, in bytes. */
struct cafe_walk {
    int64_t index[CAFE_MAX_DIMS], offset[2];
};

/* The place of the result's element `at`. */
struct cafe_walk cafe_walk_from(const struct cafe_strided *s, int64_t at);

/* On to the start of a row: by so many rows, all along one line of the last axis but one. */
void cafe_walk_rows(const struct cafe_strided *s, struct cafe_walk *w, int64_t rows);

/* Copies operand k's elements for the result's elements at .. at + n side by side into y. size is 1, 2, 4 or 8. */
void cafe_strided_gather(void *y, const struct cafe_strided *s, int k, const void *base, int64_t at, int64_t n, int64_t size);

/* Copies operand 0's elements at .. at + n to where operand 1's strides say, from y on; with `stream` past the caches where rows are solid. */
void cafe_strided_move(void *y, const void *x, const struct cafe_strided *s, int64_t at, int64_t n, int64_t size, int64_t stream);

/* How many elements of operand k, a part of a row-major array taken in its order, lie less than `offset` bytes from its base. */
int64_t cafe_strided_before(const struct cafe_strided *s, int k, int64_t offset);

#endif
