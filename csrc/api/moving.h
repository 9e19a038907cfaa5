/* Copies, casts, packed numbers, indexing, sorting, random numbers: a part of the API, see cafe.h. */
#ifndef CAFE_API_MOVING_H
#define CAFE_API_MOVING_H

#include <stdint.h>

/* ---- copies: bodies/layout.inc, bodies/cast.inc, layout.c ---- */

/* y = x in row-major order. x has ndim <= CAFE_MAX_DIMS axes, strides in bytes, elements of 1, 2, 4 or 8 bytes. */
void cafe_copy_strided(void *y, const void *x, int ndim, const int64_t *shape, const int64_t *strides, int64_t size);

/* The same into a y with strides, too; and into zeros (n elements): x (not empty) begins at `offset` bytes, no stride of y's is negative. */
void cafe_copy_between(void *y, const void *x, int ndim, const int64_t *shape, const int64_t *y_strides, const int64_t *x_strides, int64_t size);
void cafe_unslice(void *y, int64_t n, int64_t offset, const void *x, int ndim, const int64_t *shape, const int64_t *y_strides, const int64_t *x_strides, int64_t size);

/* y = x in another type, n elements: exact, or rounded once to nearest even. The second goes by f32, piece by piece: from or to F16 and
 * BF16, the other type being one of these, F64 or an integer (CAFE_KIND_…, CAFE_ID_…), which is held at its bounds, 0 for a NaN. */
enum { CAFE_F16_F32, CAFE_BF16_F32, CAFE_F32_F16, CAFE_F32_BF16, CAFE_F32_F64, CAFE_F64_F32 };
void cafe_cast(int conversion, void *y, const void *x, int64_t n);
enum { CAFE_KIND_F16 = 16, CAFE_KIND_BF16, CAFE_KIND_F32, CAFE_KIND_F64 }; /* beside the integers' kinds, below */
void cafe_cast_by_f32(int from, int to, void *y, const void *x, int64_t n);
void cafe_cast_whole(int from, int to, void *y, const void *x, int64_t n); /* between integers: what does not fit wraps */

/* ---- packed numbers: bodies/quant.inc, quant.c ---- */

/* y = the numbers of blocks of `size` bytes, `numbers` a block, in one of GGUF's formats: the formula's value, rounded after each step. */
enum { CAFE_Q4_0, CAFE_Q4_1, CAFE_Q5_0, CAFE_Q5_1, CAFE_Q8_0, CAFE_Q2_K, CAFE_Q3_K, CAFE_Q4_K, CAFE_Q5_K, CAFE_Q6_K };
void cafe_dequantize(int kind, float *y, const uint8_t *x, int64_t blocks, int64_t numbers, int64_t size);

/* ---- ids: ids.c ---- */

/* Types of ids. Outside 0 <= id < n the largest U8, U32 and I64 mean "skip"; any other id there makes a function give CAFE_BAD_ID, and
 * its results are then worth nothing. */
enum { CAFE_ID_U8, CAFE_ID_U32, CAFE_ID_I16, CAFE_ID_I32, CAFE_ID_I64 };

/* ---- integers of these types to floats and back: bodies/whole.inc, whole.c ---- */

/* y = x, n elements: toward zero, held at the type's bounds, 0 for a NaN; and rounded once to the nearest. */
void cafe_to_whole_f32(int kind, void *y, const float *x, int64_t n);
void cafe_to_whole_f64(int kind, void *y, const double *x, int64_t n);
void cafe_of_whole_f32(int kind, float *y, const void *x, int64_t n);
void cafe_of_whole_f64(int kind, double *y, const void *x, int64_t n);

/* ---- integers of these types: bodies/integers.inc, integers.c ---- */

/* y = a op b over y's shape, ndim <= CAFE_MAX_DIMS, any strides in bytes, 0 where an operand repeats. ADD, SUB and MUL wrap, DIV is toward zero,
 * MAXIMUM, MINIMUM. CAFE_REFUSED where a divisor is 0. */
int cafe_integers_binary(int kind, int op, void *y, const void *a, const void *b, int ndim, const int64_t *shape, const int64_t *a_strides,
                         const int64_t *b_strides);

/* y = 1 where the relation holds, else 0; the same operands. */
void cafe_integers_compare(int kind, int op, uint8_t *y, const void *a, const void *b, int ndim, const int64_t *shape, const int64_t *a_strides,
                           const int64_t *b_strides);

/* AFFINE: x first + second, which wraps. CLAMP: x held between them. n elements; both numbers are of the kind. */
void cafe_integers_unary(int kind, int op, void *y, const void *x, int64_t n, int64_t first, int64_t second);

/* Along the middle axis of (outer, n, inner), in the kind: CAFE_REFUSED where a sum does not fit it. The extremes want n > 0. */
int cafe_integers_sum(int kind, void *y, const void *x, int64_t outer, int64_t n, int64_t inner);
int cafe_integers_cumsum(int kind, void *y, const void *x, int64_t outer, int64_t n, int64_t inner);
int cafe_integers_max(int kind, void *y, const void *x, int64_t outer, int64_t n, int64_t inner);
int cafe_integers_min(int kind, void *y, const void *x, int64_t outer, int64_t n, int64_t inner);

/* y = c ? a : b for n elements of `size` 1 or 2, whatever they are. */
void cafe_choose_small(int64_t size, void *y, const uint8_t *c, const void *a, const void *b, int64_t n, int fixed);

/* ---- indexing: bodies/indexing.inc, indexing.c ---- */

/* y (outer, m, inner) = x (outer, n, inner) at ids (m), 0 for a skip. An element has `size` bytes. */
int cafe_index_select(void *y, const void *x, const void *ids, int kind, int64_t outer, int64_t n, int64_t m, int64_t inner, int64_t size);

/* y (shape) = x with ids (shape) in place of the index along `dim`, 0 for a skip. x has strides in bytes, n indices along dim, and at least
 * as many as shape along the others; 1 <= ndim <= CAFE_MAX_DIMS; size is 1, 2, 4 or 8. */
int cafe_gather(void *y, const void *x, const void *ids, int kind, int ndim, const int64_t *shape, const int64_t *strides, int dim,
                int64_t n, int64_t size);

/* Their adjoints, y += source where the ids say, in the order of the ids: y (outer, n, inner) and source (outer, m, inner); y of any strides,
 * in elements, and source (shape). `floats`: f32 or f64, else integers, which wrap. The last puts source there: of several the last stays. */
int cafe_index_add(int floats, int64_t size, void *y, const void *source, const void *ids, int kind, int64_t outer, int64_t n, int64_t m, int64_t inner);
int cafe_scatter_add(int floats, int64_t size, void *y, const void *source, const void *ids, int kind, int ndim, const int64_t *shape,
                     const int64_t *strides, int dim, int64_t n);
int cafe_scatter(int64_t size, void *y, const void *source, const void *ids, int kind, int ndim, const int64_t *shape, const int64_t *strides,
                 int dim, int64_t n);

/* ---- sorting: sort.c ---- */
/* y (rows, n) = each row of x in ascending or descending order, ids (rows, n) where its elements stood: equals, the two zeros among them, in the
 * order they have, NaN last. n < 2^32. `size` is the bytes of an element. */
enum { CAFE_SORT_U8, CAFE_SORT_U32, CAFE_SORT_I16, CAFE_SORT_I32, CAFE_SORT_I64, CAFE_SORT_F16, CAFE_SORT_BF16, CAFE_SORT_F32, CAFE_SORT_F64 };
int cafe_sort(void *y, uint32_t *ids, const void *x, int kind, int64_t rows, int64_t n, int64_t size, int descending);

/* ---- random numbers: bodies/random.inc, random.c ---- */

/* Numbers i of the Philox generator with `key`, counted from the four that the counter value after `first` gives: y (n) in
 * low <= y < high, and y = kept with probability 1 - p_drop, else 0; 0 <= p_drop < 1. */
void cafe_uniform(double *y, int64_t n, uint64_t key, uint64_t first, double low, double high);
void cafe_keep_mask_f32(float *y, int64_t n, uint64_t key, uint64_t first, double p_drop, double kept);
void cafe_keep_mask_f64(double *y, int64_t n, uint64_t key, uint64_t first, double p_drop, double kept);

/* y (2 pairs) = the first 2 pairs numbers between 0 and 1 made normal, each of the first half with its like in the second: Box and Muller. */
void cafe_normal(double *y, int64_t pairs, uint64_t key, uint64_t first, double mean, double std);

#endif
