/* What matmul.c and bodies/matmul.inc share: one product and its layout. */
#ifndef CAFE_MATMUL_H
#define CAFE_MATMUL_H

#include <stdint.h>

#include "threads.h"

/* C (m, n) = A (m, k) B (k, n). A and B have any strides, in elements: 0, negative, transposed; C's rows are contiguous. A bias has a
 * value for each column (bias_col 1) or one for all (0). `then` is what follows: CAFE_IDENTITY or a function (cafe_linear). Where there is a
 * `widen`, for f32 alone, B points to F16 or BF16, of which it makes f32: n contiguous ones at a time, so b_row or b_col is 1. */
struct cafe_matmul {
    int64_t m, k, n;
    int64_t a_row, a_col, b_row, b_col, c_row, bias_col;
    int then;
    void (*widen)(void *y, const void *x, int64_t n);
    enum { CAFE_ANY_WAY, CAFE_UNLESS_ASKED, CAFE_ALWAYS } steady; /* when it goes by chains: a layer's rows may be few, a convolution has its bits */
};

/* Scratch for one call of a body, in bytes: packed blocks of A and B, and some columns of B widened. A huge page. */
enum { CAFE_MATMUL_SCRATCH = 2 << 20 };

/* An element's sum is cut by K alone, into so many even blocks: a chain of FMAs in each, the blocks' sums added in order. With 256 for 192 the
 * largest error is twice PyTorch's. */
enum { CAFE_MATMUL_DEPTH = 192 };
static inline int64_t cafe_matmul_blocks(int64_t k) { return k > CAFE_MATMUL_DEPTH ? cafe_ceil_div(k, CAFE_MATMUL_DEPTH) : 1; }

/* matmul_batch by chains, whatever is asked for. */
int cafe_matmul_chains_f32(float *c, const float *a, const float *b, int64_t m, int64_t k, int64_t n, int64_t a_row, int64_t a_col, int64_t b_row,
                           int64_t b_col, int64_t rank, const int64_t *batch);
int cafe_matmul_chains_f64(double *c, const double *a, const double *b, int64_t m, int64_t k, int64_t n, int64_t a_row, int64_t a_col, int64_t b_row,
                           int64_t b_col, int64_t rank, const int64_t *batch);

#endif
