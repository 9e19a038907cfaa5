/* The whole C API of cafe's kernels. This text, less the lines that start with #, is also what cffi parses (build_cffi.py).
 *
 * Conventions. Results come first, then inputs, sizes, scalars. Arrays are contiguous in C order and hold one type, which the name
 * ends in (f32, f64), unless a contract says otherwise; no alignment beyond the element's is needed. Sizes are in elements; a size
 * of zero does nothing. y may be the same array as an input of its shape where a contract says "in place"; otherwise nothing
 * overlaps. NaN goes through as IEEE arithmetic has it. Results never depend on threads, batch or place (docs/kernels.md).
 * A function that can fail returns a status: CAFE_OK, or what went wrong.
 */
#ifndef CAFE_H
#define CAFE_H

#include <stdint.h>

/* ---- the machine: dispatch.c, threads.c ---- */

enum { CAFE_OK = 0, CAFE_NO_MEMORY = 1, CAFE_UNKNOWN_ISA = 2, CAFE_OUT_OF_RANGE = 3, CAFE_BAD_ID = 4, CAFE_NOT_FINITE = 5 };

/* Fills the table of kernels for instruction set `isa` ("generic", "avx2", "avx2x2", "avx512"), or for the best there is when
 * `isa` is NULL or empty. CAFE_UNKNOWN_ISA when it was not built or this CPU lacks it; the table is then as before. */
int cafe_select_isa(const char *isa);

/* The instruction set in use, and all that can be selected here, separated by spaces. */
const char *cafe_isa(void);
const char *cafe_isas(void);

/* What setup.py found: compiler, flags, OpenMP, instruction sets, one "key: value" a line. */
const char *cafe_build_info(void);

/* How many threads large work is split over. At the start OMP_NUM_THREADS, or the CPUs this process may use. 1 for good in a
 * child after fork. The getter says what is in force; the setter takes n >= 1. Bits do not depend on it. */
int cafe_get_num_threads(void);
void cafe_set_num_threads(int n);

/* ---- probe: bodies/probe.inc, probe.c. What the machine gives at most; the bench puts kernels beside it ---- */

enum { CAFE_PROBE_FMAS = 196608 };

/* y has n elements; each takes CAFE_PROBE_FMAS multiply-adds that stay in registers. */
void cafe_probe_fma_f32(float *y, int64_t n);
void cafe_probe_fma_f64(double *y, int64_t n);

/* n times: reads `reads` elements of x and writes `writes` elements of y, both onwards from the last; sums (n elements) gets what was read. y may
 * be x: then each time the first `writes` of what was read are written, writes <= reads. reads and writes are multiples of 64. `stream`
 * writes past the caches and wants y on a 64-byte bound; `store` does not. */
void cafe_probe_store_f32(float *y, float *sums, const float *x, int64_t n, int64_t reads, int64_t writes);
void cafe_probe_store_f64(double *y, double *sums, const double *x, int64_t n, int64_t reads, int64_t writes);
void cafe_probe_stream_f32(float *y, float *sums, const float *x, int64_t n, int64_t reads, int64_t writes);
void cafe_probe_stream_f64(double *y, double *sums, const double *x, int64_t n, int64_t reads, int64_t writes);

/* ---- the pool: memory.c ---- */

/* Memory for a large result, 64-byte aligned, uninitialised, of at least so many bytes; NULL when there is none. From any thread. */
void *cafe_pool_take(int64_t bytes);

/* Gives it back, to be handed out again; to the system when more than the limit would be cached. NULL is fine. */
void cafe_pool_give(void *data);

/* Gives all cached memory to the system. */
void cafe_pool_empty(void);

/* How many bytes may be cached; at the start a quarter of the machine's memory. */
void cafe_pool_set_limit(int64_t bytes);

/* Six numbers: bytes in use, bytes cached, most bytes ever in use, the limit, how often taken, how often from the cache. */
void cafe_pool_statistics(int64_t *six);

/* ---- elementwise: bodies/unary.inc, bodies/binary.inc, elementwise.c ---- */

/* Functions of one array. IDENTITY is x, ROUND takes halves away from zero, AFFINE is x a + b (rounded after each), CLAMP is x held between
 * a and b, LEAKY_RELU is x > 0 ? x : x a + 0, ELU is x > 0 ? x : a (exp x - 1). */
enum {
    CAFE_IDENTITY, CAFE_NEG, CAFE_ABS, CAFE_SIGN, CAFE_FLOOR, CAFE_CEIL, CAFE_ROUND, CAFE_SQR, CAFE_SQRT, CAFE_RECIP, CAFE_RELU,
    CAFE_LEAKY_RELU, CAFE_AFFINE, CAFE_CLAMP,
    CAFE_EXP, CAFE_LOG, CAFE_SIN, CAFE_COS, CAFE_TANH, CAFE_ERF, CAFE_SIGMOID, CAFE_SOFTPLUS, CAFE_SILU, CAFE_GELU, CAFE_GELU_ERF, CAFE_ELU
};

/* y = op(x), n elements; a and b are the op's numbers or ignored. In place. */
void cafe_unary_f32(int op, float *y, const float *x, int64_t n, double a, double b);
void cafe_unary_f64(int op, double *y, const double *x, int64_t n, double a, double b);

/* Functions of two arrays. MAXIMUM and MINIMUM are NaN where either is. The backward ones take the incoming gradient and what the
 * forward kept: its result (relu, tanh, sigmoid) or its input (silu, gelu, gelu_erf). */
enum {
    CAFE_ADD, CAFE_SUB, CAFE_MUL, CAFE_DIV, CAFE_MAXIMUM, CAFE_MINIMUM, CAFE_RELU_BACKWARD, CAFE_TANH_BACKWARD,
    CAFE_SIGMOID_BACKWARD, CAFE_SILU_BACKWARD, CAFE_GELU_BACKWARD, CAFE_GELU_ERF_BACKWARD
};
enum { CAFE_EQ, CAFE_NE, CAFE_LT, CAFE_LE, CAFE_GT, CAFE_GE };

/* Which operand is one number for all n: none, the first, the second, both (where alone takes that). */
enum { CAFE_NEITHER, CAFE_FIRST, CAFE_SECOND, CAFE_BOTH };

/* y = op(a, b), n elements. In place where the operand is an array. */
void cafe_binary_f32(int op, float *y, const float *a, const float *b, int64_t n, int fixed);
void cafe_binary_f64(int op, double *y, const double *a, const double *b, int64_t n, int fixed);

/* y = a^b and x^e, n elements, with C's special cases, computed in f64 and rounded once. In place where the operand is an array. */
void cafe_pow_f32(float *y, const float *a, const float *b, int64_t n, int fixed);
void cafe_powf_f32(float *y, const float *x, int64_t n, double e);

/* y = 1 where the relation holds, else 0; a NaN is unequal to everything. */
void cafe_compare_f32(int op, uint8_t *y, const float *a, const float *b, int64_t n, int fixed);
void cafe_compare_f64(int op, uint8_t *y, const double *a, const double *b, int64_t n, int fixed);

/* y = c ? a : b, n elements. */
void cafe_where_f32(float *y, const uint8_t *c, const float *a, const float *b, int64_t n, int fixed);
void cafe_where_f64(double *y, const uint8_t *c, const double *a, const double *b, int64_t n, int fixed);

/* The same over y's shape, ndim <= CAFE_MAX_DIMS, with any strides in the operands, in bytes, 0 where an operand repeats. */
enum { CAFE_MAX_DIMS = 8 };
void cafe_binary_strided_f32(int op, float *y, const float *a, const float *b, int ndim, const int64_t *shape,
                             const int64_t *a_strides, const int64_t *b_strides);
void cafe_binary_strided_f64(int op, double *y, const double *a, const double *b, int ndim, const int64_t *shape,
                             const int64_t *a_strides, const int64_t *b_strides);
void cafe_compare_strided_f32(int op, uint8_t *y, const float *a, const float *b, int ndim, const int64_t *shape,
                              const int64_t *a_strides, const int64_t *b_strides);
void cafe_compare_strided_f64(int op, uint8_t *y, const double *a, const double *b, int ndim, const int64_t *shape,
                              const int64_t *a_strides, const int64_t *b_strides);

/* ---- reductions: bodies/reduce.inc, reduce.c ---- */

/* Along the middle axis of (outer, n, inner). A sum of nothing is 0; up to eight elements are added in their own type from left to
 * right, more by fours in their own type and the sums of four in f64; the order depends on n alone, so that the axis makes no
 * difference. The extremes want n > 0 and are NaN where there is one. CAFE_NO_MEMORY when scratch is not to be had. */
int cafe_sum_f32(float *y, const float *x, int64_t outer, int64_t n, int64_t inner);
int cafe_sum_f64(double *y, const double *x, int64_t outer, int64_t n, int64_t inner);
int cafe_max_f32(float *y, const float *x, int64_t outer, int64_t n, int64_t inner);
int cafe_max_f64(double *y, const double *x, int64_t outer, int64_t n, int64_t inner);
int cafe_min_f32(float *y, const float *x, int64_t outer, int64_t n, int64_t inner);
int cafe_min_f64(double *y, const double *x, int64_t outer, int64_t n, int64_t inner);

/* Where the extreme is: the first of equals, the first NaN if there is one; 0 < n <= 2^24. */
void cafe_argmax_f32(uint32_t *y, const float *x, int64_t outer, int64_t n, int64_t inner);
void cafe_argmax_f64(uint32_t *y, const double *x, int64_t outer, int64_t n, int64_t inner);
void cafe_argmin_f32(uint32_t *y, const float *x, int64_t outer, int64_t n, int64_t inner);
void cafe_argmin_f64(uint32_t *y, const double *x, int64_t outer, int64_t n, int64_t inner);

/* ---- running sums: bodies/running.inc, running.c ---- */

/* Along the middle axis of (outer, n, inner): y[i] = x[0] + … + x[i], added in f64 in this order and rounded once. */
void cafe_cumsum_f32(float *y, const float *x, int64_t outer, int64_t n, int64_t inner);
void cafe_cumsum_f64(double *y, const double *x, int64_t outer, int64_t n, int64_t inner);

/* ---- copies: bodies/layout.inc, bodies/cast.inc, layout.c ---- */

/* y = x in row-major order. x has ndim <= CAFE_MAX_DIMS axes, strides in bytes, elements of 1, 2, 4 or 8 bytes. */
void cafe_copy_strided(void *y, const void *x, int ndim, const int64_t *shape, const int64_t *strides, int64_t size);

/* The same into a y with strides, too; and into zeros (n elements): x (not empty) begins at `offset` bytes, no stride of y's is negative. */
void cafe_copy_between(void *y, const void *x, int ndim, const int64_t *shape, const int64_t *y_strides, const int64_t *x_strides, int64_t size);
void cafe_unslice(void *y, int64_t n, int64_t offset, const void *x, int ndim, const int64_t *shape, const int64_t *y_strides, const int64_t *x_strides, int64_t size);

/* y = x in another type, n elements: exact, or rounded to nearest even. */
enum { CAFE_F16_F32, CAFE_BF16_F32, CAFE_F32_F16, CAFE_F32_BF16, CAFE_F32_F64, CAFE_F64_F32 };
void cafe_cast(int conversion, void *y, const void *x, int64_t n);

/* ---- packed numbers: bodies/quant.inc, quant.c ---- */

/* y = the numbers of blocks of `size` bytes, `numbers` a block, in one of GGUF's formats: the formula's value, rounded after each step. */
enum { CAFE_Q4_0, CAFE_Q4_1, CAFE_Q5_0, CAFE_Q5_1, CAFE_Q8_0, CAFE_Q2_K, CAFE_Q3_K, CAFE_Q4_K, CAFE_Q5_K, CAFE_Q6_K };
void cafe_dequantize(int kind, float *y, const uint8_t *x, int64_t blocks, int64_t numbers, int64_t size);

/* ---- softmax: bodies/softmax.inc, softmax.c ---- */

/* Along the middle axis of (outer, n, inner): y = exp(x - max x) / sum exp(x - max x), and its logarithm. In place. A row with a NaN
 * or +inf in it, or of -inf alone, is NaN. */
void cafe_softmax_f32(float *y, const float *x, int64_t outer, int64_t n, int64_t inner);
void cafe_softmax_f64(double *y, const double *x, int64_t outer, int64_t n, int64_t inner);
void cafe_log_softmax_f32(float *y, const float *x, int64_t outer, int64_t n, int64_t inner);
void cafe_log_softmax_f64(double *y, const double *x, int64_t outer, int64_t n, int64_t inner);

/* From the results y: dx = y (dy - sum dy y) for softmax, dx = dy - exp(y) sum dy for its logarithm. dx may be dy or y. */
void cafe_softmax_backward_f32(float *dx, const float *dy, const float *y, int64_t outer, int64_t n, int64_t inner);
void cafe_softmax_backward_f64(double *dx, const double *dy, const double *y, int64_t outer, int64_t n, int64_t inner);
void cafe_log_softmax_backward_f32(float *dx, const float *dy, const float *y, int64_t outer, int64_t n, int64_t inner);
void cafe_log_softmax_backward_f64(double *dx, const double *dy, const double *y, int64_t outer, int64_t n, int64_t inner);

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

/* ---- indexing: bodies/indexing.inc, indexing.c ---- */

/* y (outer, m, inner) = x (outer, n, inner) at ids (m), 0 for a skip. An element has `size` bytes. */
int cafe_index_select(void *y, const void *x, const void *ids, int kind, int64_t outer, int64_t n, int64_t m, int64_t inner, int64_t size);

/* y (shape) = x with ids (shape) in place of the index along `dim`, 0 for a skip. x has strides in bytes, n indices along dim, and at least
 * as many as shape along the others; 1 <= ndim <= CAFE_MAX_DIMS; size is 1, 2, 4 or 8. */
int cafe_gather(void *y, const void *x, const void *ids, int kind, int ndim, const int64_t *shape, const int64_t *strides, int dim,
                int64_t n, int64_t size);

/* Their adjoints, y += source where the ids say, in the order of the ids: y (outer, n, inner) and source (outer, m, inner); y of any strides,
 * in elements, and source (shape). */
int cafe_index_add_f32(float *y, const float *source, const void *ids, int kind, int64_t outer, int64_t n, int64_t m, int64_t inner);
int cafe_index_add_f64(double *y, const double *source, const void *ids, int kind, int64_t outer, int64_t n, int64_t m, int64_t inner);
int cafe_scatter_add_f32(float *y, const float *source, const void *ids, int kind, int ndim, const int64_t *shape, const int64_t *strides,
                         int dim, int64_t n);
int cafe_scatter_add_f64(double *y, const double *source, const void *ids, int kind, int ndim, const int64_t *shape, const int64_t *strides,
                         int dim, int64_t n);

/* ---- sorting: sort.c ---- */
/* y (rows, n) = each row of x in ascending or descending order, ids (rows, n) where its elements stood: equals, the two zeros among them, in the
 * order they have, NaN last. n < 2^32. `size` is the bytes of an element. */
enum { CAFE_SORT_U8, CAFE_SORT_U32, CAFE_SORT_I16, CAFE_SORT_I32, CAFE_SORT_I64, CAFE_SORT_F16, CAFE_SORT_BF16, CAFE_SORT_F32, CAFE_SORT_F64 };
int cafe_sort(void *y, uint32_t *ids, const void *x, int kind, int64_t rows, int64_t n, int64_t size, int descending);

/* ---- random numbers: random.c ---- */

/* Numbers i of the Philox generator with `key`, counted from the four that the counter value after `first` gives: y (n) in
 * low <= y < high, and y = kept with probability 1 - p_drop, else 0; 0 <= p_drop < 1. */
void cafe_uniform(double *y, int64_t n, uint64_t key, uint64_t first, double low, double high);
void cafe_keep_mask_f32(float *y, int64_t n, uint64_t key, uint64_t first, double p_drop, double kept);
void cafe_keep_mask_f64(double *y, int64_t n, uint64_t key, uint64_t first, double p_drop, double kept);
/* ---- norms: bodies/norm.inc, norm.c. w and b are NULL where there is no weight or bias; results that are not wanted are NULL ---- */

/* Rows of n: mean, rest (the mean of x - mean), rstd = 1 / sqrt(var + eps) of each row, and y = (x - mean - rest) rstd w + b with w and b
 * of n elements. With r, which is x's size or NULL, x + r takes the place of x. rms_norm: no mean, and the mean of x^2 in place of var. */
void cafe_layer_norm_f32(float *y, float *mean, float *rest, float *rstd, const float *x, const float *r, const float *w, const float *b,
                         int64_t rows, int64_t n, double eps);
void cafe_layer_norm_f64(double *y, double *mean, double *rest, double *rstd, const double *x, const double *r, const double *w,
                         const double *b, int64_t rows, int64_t n, double eps);
void cafe_rms_norm_f32(float *y, float *rstd, const float *x, const float *w, const float *b, int64_t rows, int64_t n, double eps);
void cafe_rms_norm_f64(double *y, double *rstd, const double *x, const double *w, const double *b, int64_t rows, int64_t n, double eps);

/* With h = (x - mean - rest) rstd and u = dy w: dx = rstd (u - mean of u - h mean of u h) in each row; dw = sum dy h and db = sum dy over
 * rows. Overwritten. With r, x + r takes the place of x; dx, which is that of both, must then not be NULL. CAFE_NO_MEMORY. */
int cafe_layer_norm_backward_f32(float *dx, float *dw, float *db, const float *dy, const float *x, const float *r, const float *w,
                                 const float *mean, const float *rest, const float *rstd, int64_t rows, int64_t n);
int cafe_layer_norm_backward_f64(double *dx, double *dw, double *db, const double *dy, const double *x, const double *r, const double *w,
                                 const double *mean, const double *rest, const double *rstd, int64_t rows, int64_t n);
int cafe_rms_norm_backward_f32(float *dx, float *dw, float *db, const float *dy, const float *x, const float *w, const float *rstd,
                               int64_t rows, int64_t n);
int cafe_rms_norm_backward_f64(double *dx, double *dw, double *db, const double *dy, const double *x, const double *w,
                               const double *rstd, int64_t rows, int64_t n);

/* x is (images, groups, channels, places); mean, rest and rstd are (images, groups), w and b (groups, channels). */
void cafe_group_norm_f32(float *y, float *mean, float *rest, float *rstd, const float *x, const float *w, const float *b, int64_t images,
                         int64_t groups, int64_t channels, int64_t places, double eps);
void cafe_group_norm_f64(double *y, double *mean, double *rest, double *rstd, const double *x, const double *w, const double *b,
                         int64_t images, int64_t groups, int64_t channels, int64_t places, double eps);
int cafe_group_norm_backward_f32(float *dx, float *dw, float *db, const float *dy, const float *x, const float *w, const float *mean,
                                 const float *rest, const float *rstd, int64_t images, int64_t groups, int64_t channels, int64_t places);
int cafe_group_norm_backward_f64(double *dx, double *dw, double *db, const double *dy, const double *x, const double *w, const double *mean,
                                 const double *rest, const double *rstd, int64_t images, int64_t groups, int64_t channels, int64_t places);

/* x is (images, channels, places), all else (channels): mean, rest and biased var over images and places, and
 * y = (x - mean - rest) / sqrt(var + eps) w + b. */
void cafe_batch_norm_f32(float *y, float *mean, float *rest, float *var, const float *x, const float *w, const float *b, int64_t images,
                         int64_t channels, int64_t places, double eps);
void cafe_batch_norm_f64(double *y, double *mean, double *rest, double *var, const double *x, const double *w, const double *b,
                         int64_t images, int64_t channels, int64_t places, double eps);
void cafe_batch_norm_backward_f32(float *dx, float *dw, float *db, const float *dy, const float *x, const float *w, const float *mean,
                                  const float *rest, const float *var, int64_t images, int64_t channels, int64_t places, double eps);
void cafe_batch_norm_backward_f64(double *dx, double *dw, double *db, const double *dy, const double *x, const double *w, const double *mean,
                                  const double *rest, const double *var, int64_t images, int64_t channels, int64_t places, double eps);

/* The same by mean and var that are given, and constant. */
void cafe_channel_norm_f32(float *y, const float *x, const float *mean, const float *var, const float *w, const float *b, int64_t images,
                           int64_t channels, int64_t places, double eps);
void cafe_channel_norm_f64(double *y, const double *x, const double *mean, const double *var, const double *w, const double *b,
                           int64_t images, int64_t channels, int64_t places, double eps);
void cafe_channel_norm_backward_f32(float *dx, float *dw, float *db, const float *dy, const float *x, const float *mean,
                                    const float *var, const float *w, int64_t images, int64_t channels, int64_t places, double eps);
void cafe_channel_norm_backward_f64(double *dx, double *dw, double *db, const double *dy, const double *x, const double *mean,
                                    const double *var, const double *w, int64_t images, int64_t channels, int64_t places, double eps);

/* ---- pooling: bodies/pool.inc, pool.c. Planes of rows x columns, down x along windows: window (i, j) holds rows top[i] .. bottom[i] - 1 and
 * columns start[j] .. end[j] - 1, never nothing. CAFE_NO_MEMORY ---- */

/* y: the largest of each window. ids: where it is in its plane, row by row: the first of equals, the first NaN if there is one. A window has
 * at most 2^24 elements (f32). */
int cafe_max_pool_f32(float *y, uint32_t *ids, const float *x, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along,
                      const int64_t *top, const int64_t *bottom, const int64_t *start, const int64_t *end);
int cafe_max_pool_f64(double *y, uint32_t *ids, const double *x, int64_t planes, int64_t rows, int64_t columns, int64_t down,
                      int64_t along, const int64_t *top, const int64_t *bottom, const int64_t *start, const int64_t *end);

/* dx (planes, size) = each dy (planes, places) added at its id, in order. ids < size. */
void cafe_max_pool_backward_f32(float *dx, const float *dy, const uint32_t *ids, int64_t planes, int64_t size, int64_t places);
void cafe_max_pool_backward_f64(double *dx, const double *dy, const uint32_t *ids, int64_t planes, int64_t size, int64_t places);

/* y = the sum of each window / (down_by[i] along_by[j]); and back: each dy so divided is added to all of its window. */
int cafe_avg_pool_f32(float *y, const float *x, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along, const int64_t *top,
                      const int64_t *bottom, const int64_t *down_by, const int64_t *start, const int64_t *end, const int64_t *along_by);
int cafe_avg_pool_f64(double *y, const double *x, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along, const int64_t *top,
                      const int64_t *bottom, const int64_t *down_by, const int64_t *start, const int64_t *end, const int64_t *along_by);
int cafe_avg_pool_backward_f32(float *dx, const float *dy, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along,
                               const int64_t *top, const int64_t *bottom, const int64_t *down_by, const int64_t *start,
                               const int64_t *end, const int64_t *along_by);
int cafe_avg_pool_backward_f64(double *dx, const double *dy, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along,
                               const int64_t *top, const int64_t *bottom, const int64_t *down_by, const int64_t *start,
                               const int64_t *end, const int64_t *along_by);

/* ---- resizing: bodies/resample.inc, resample.c. Planes of rows x columns and of down x along places. CAFE_NO_MEMORY ---- */

/* y[i][j] = x[down_ids[i]][along_ids[j]]; and back: each dy added where it came from. */
void cafe_resize_nearest_f32(float *y, const float *x, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along,
                             const int64_t *down_ids, const int64_t *along_ids);
void cafe_resize_nearest_f64(double *y, const double *x, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along,
                             const int64_t *down_ids, const int64_t *along_ids);
int cafe_resize_nearest_backward_f32(float *dx, const float *dy, int64_t planes, int64_t rows, int64_t columns, int64_t down,
                                     int64_t along, const int64_t *down_ids, const int64_t *along_ids);
int cafe_resize_nearest_backward_f64(double *dx, const double *dy, int64_t planes, int64_t rows, int64_t columns, int64_t down,
                                     int64_t along, const int64_t *down_ids, const int64_t *along_ids);

/* Between rows top[i] and bottom[i], in the share down_weights[i] of the latter, then between columns low[j] and high[j]; and its adjoint. */
int cafe_resize_linear_f32(float *y, const float *x, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along,
                           const int64_t *top, const int64_t *bottom, const float *down_weights, const int64_t *low, const int64_t *high,
                           const float *along_weights);
int cafe_resize_linear_f64(double *y, const double *x, int64_t planes, int64_t rows, int64_t columns, int64_t down, int64_t along,
                           const int64_t *top, const int64_t *bottom, const double *down_weights, const int64_t *low,
                           const int64_t *high, const double *along_weights);
int cafe_resize_linear_backward_f32(float *dx, const float *dy, int64_t planes, int64_t rows, int64_t columns, int64_t down,
                                    int64_t along, const int64_t *top, const int64_t *bottom, const float *down_weights,
                                    const int64_t *low, const int64_t *high, const float *along_weights);
int cafe_resize_linear_backward_f64(double *dx, const double *dy, int64_t planes, int64_t rows, int64_t columns, int64_t down,
                                    int64_t along, const int64_t *top, const int64_t *bottom, const double *down_weights,
                                    const int64_t *low, const int64_t *high, const double *along_weights);

/* ---- rotary positions: bodies/rotary.inc, rotary.c ---- */

/* y is x with the pairs of its last dim turned. sizes: x's four, then in elements the strides of x, cos and sin along the first three (0 where
 * a table repeats); last dims are contiguous. step: 1 for pairs half a row apart, 2 for neighbours. */
void cafe_rotate_f32(float *y, const float *x, const float *cos, const float *sin, const int64_t *sizes, int64_t step);
void cafe_rotate_f64(double *y, const double *x, const double *cos, const double *sin, const int64_t *sizes, int64_t step);

/* ---- optimizers: bodies/optim.inc, optim.c ---- */

/* One step over `count` variables of n[i] elements each, in place; p, m and v hold their addresses. For SGD, per element
 * g += weight_decay p; m = g if first, else momentum m + (1 - dampening) g; p -= lr m, or lr (g + momentum m) with nesterov.
 * m is not read when momentum is 0: p -= lr g. */
void cafe_sgd_f32(float *const *p, const float *const *g, float *const *m, const int64_t *n, int64_t count, double lr,
                  double momentum, double dampening, double weight_decay, int nesterov, int first);
void cafe_sgd_f64(double *const *p, const double *const *g, double *const *m, const int64_t *n, int64_t count, double lr,
                  double momentum, double dampening, double weight_decay, int nesterov, int first);

/* Adam: g += weight_decay p; p *= shrink (1 - lr weight_decay for AdamW, else 1); m += (1 - beta1) (g - m);
 * v = beta2 v + (1 - beta2) g^2; p -= step m / (sqrt(v) / root + eps), with the bias corrections in step and root. */
void cafe_adam_f32(float *const *p, const float *const *g, float *const *m, float *const *v, const int64_t *n, int64_t count,
                   double shrink, double weight_decay, double beta1, double beta2, double root, double eps, double step);
void cafe_adam_f64(double *const *p, const double *const *g, double *const *m, double *const *v, const int64_t *n, int64_t count,
                   double shrink, double weight_decay, double beta1, double beta2, double root, double eps, double step);

/* ---- matmul: bodies/matmul.inc, matmul.c ---- */

/* C (m, n) = A (m, k) B (k, n), zeros where k = 0. A(i, k) lies at a[i a_row + k a_col], B(k, j) at b[k b_row + j b_col]: any
 * strides, 0 and negative ones included; C is contiguous. An element's order of summation depends on k alone. Can fail: CAFE_NO_MEMORY. */
int cafe_matmul_f32(float *c, const float *a, const float *b, int64_t m, int64_t k, int64_t n, int64_t a_row, int64_t a_col,
                    int64_t b_row, int64_t b_col);
int cafe_matmul_f64(double *c, const double *a, const double *b, int64_t m, int64_t k, int64_t n, int64_t a_row, int64_t a_col,
                    int64_t b_row, int64_t b_col);

/* The same for a batch of matrices. batch: the sizes of its `rank` dims, then A's strides along them, then B's; C (dims, m, n) is
 * contiguous. */
int cafe_matmul_batch_f32(float *c, const float *a, const float *b, int64_t m, int64_t k, int64_t n, int64_t a_row, int64_t a_col,
                          int64_t b_row, int64_t b_col, int64_t rank, const int64_t *batch);
int cafe_matmul_batch_f64(double *c, const double *a, const double *b, int64_t m, int64_t k, int64_t n, int64_t a_row, int64_t a_col,
                          int64_t b_row, int64_t b_col, int64_t rank, const int64_t *batch);

/* y (m, n) = x (m, k) transposed w (n, k), plus bias (n) where it is not NULL, and `then` of that, with the bits of the function on
 * its own: IDENTITY, RELU, TANH, SIGMOID, SILU, GELU or GELU_ERF. X and w have any strides. */
int cafe_linear_f32(float *y, const float *x, const float *w, const float *bias, int then, int64_t m, int64_t k, int64_t n,
                    int64_t x_row, int64_t x_col, int64_t w_row, int64_t w_col);
int cafe_linear_f64(double *y, const double *x, const double *w, const double *bias, int then, int64_t m, int64_t k, int64_t n,
                    int64_t x_row, int64_t x_col, int64_t w_row, int64_t w_col);

/* The gradients of linear for dy (m, n), x (m, k), w (n, k), in C order: dx = dy w, dw = dy^T x, db = dy summed over m, with the bits
 * that matmul and sum give. What is NULL is left out. CAFE_NO_MEMORY. */
int cafe_linear_backward_f32(float *dx, float *dw, float *db, const float *dy, const float *x, const float *w, int64_t m, int64_t k,
                             int64_t n);
int cafe_linear_backward_f64(double *dx, double *dw, double *db, const double *dy, const double *x, const double *w, int64_t m, int64_t k,
                             int64_t n);

/* ---- convolution: bodies/conv.inc, conv.c ---- */

/* Convolutions over two axes. `geometry` holds seventeen numbers: N C O G (images, channels in and out, groups), H W of the input, kh kw of
 * the kernel, OH OW of the output, then stride, padding in front and dilation, each down and across, then which algorithm. With x (N, C, H, W),
 * w (O, C/G, kh, kw) and y (N, O, OH, OW), and x being 0 outside,
 *
 *   y[n, o, i, j] = bias[o] + sum over c, r, s of w[o, c, r, s] x[n, group(o) C/G + c, i stride + r dilation - padding, ...]
 *
 * bias may be NULL. OH and OW may be smaller than the input has room for. `work` holds as many elements, of `size` bytes, as
 * cafe_conv_..._work says. What an algorithm cannot do is done as AUTO does it; AUTO looks at an image's sizes, never at N.
 * Can fail: CAFE_NO_MEMORY; CAFE_NOT_FINITE, when Winograd's algorithm ran and has spread an infinity or a NaN (or overflowed) over
 * elements that the plain sum leaves finite: those that are finite are right, the others are to be computed another way. */
enum {
    CAFE_CONV_AUTO = 0,      /* Winograd's F(2x2) where it pays and f32 is wanted, DIRECT for one channel a group, else IMPLICIT */
    CAFE_CONV_IM2COL = 1,    /* the patches in memory, then a product */
    CAFE_CONV_IMPLICIT = 2,  /* the same product, patches packed as they are needed */
    CAFE_CONV_WINOGRAD2 = 3, /* F(2x2, 3x3): 3 x 3 kernels without stride or dilation, more than one channel a group */
    CAFE_CONV_WINOGRAD4 = 4, /* F(4x4, 3x3) */
    CAFE_CONV_DIRECT = 5     /* no product: each output runs over its window */
};
int64_t cafe_conv_work(const int64_t *geometry, int64_t size);
int cafe_conv_f32(float *y, const float *x, const float *w, const float *bias, float *work, const int64_t *geometry);
int cafe_conv_f64(double *y, const double *x, const double *w, const double *bias, double *work, const int64_t *geometry);

/* The same, and of each block while it is near a batch norm, (y - mean) / sqrt(var + eps) scale + shift, and with `relu` ReLU: the bits of
 * cafe_channel_norm and CAFE_RELU. All (O); scale and shift may be NULL. After CAFE_NOT_FINITE y is worth nothing; with x NULL it is what there is. */
int cafe_conv_norm_f32(float *y, const float *x, const float *w, const float *bias, float *work, const int64_t *geometry, const float *mean,
                       const float *var, const float *scale, const float *shift, double eps, int relu);
int cafe_conv_norm_f64(double *y, const double *x, const double *w, const double *bias, double *work, const int64_t *geometry, const double *mean,
                       const double *var, const double *scale, const double *shift, double eps, int relu);

/* Its gradients, overwritten: dx from dy and w, dw from dy and x. They fail as the forward does. */
int64_t cafe_conv_input_grad_work(const int64_t *geometry, int64_t size);
int cafe_conv_input_grad_f32(float *dx, const float *dy, const float *w, float *work, const int64_t *geometry);
int cafe_conv_input_grad_f64(double *dx, const double *dy, const double *w, double *work, const int64_t *geometry);
int64_t cafe_conv_weight_grad_work(const int64_t *geometry, int64_t size);
int cafe_conv_weight_grad_f32(float *dw, const float *dy, const float *x, float *work, const int64_t *geometry);
int cafe_conv_weight_grad_f64(double *dw, const double *dy, const double *x, double *work, const int64_t *geometry);

/* The patches that a kernel sees, cols (N, C, kh, kw, OH, OW), from x; and x from cols, overlapping patches added. O and G are not read. */
int cafe_im2col_f32(float *cols, const float *x, const int64_t *geometry);
int cafe_im2col_f64(double *cols, const double *x, const int64_t *geometry);
int cafe_col2im_f32(float *x, const float *cols, const int64_t *geometry);
int cafe_col2im_f64(double *x, const double *cols, const int64_t *geometry);

/* ---- attention: bodies/attention.inc, attention.c ---- */

/* y (B, H, S, E) = softmax(scale q k' + mask) v and logsumexp (B, H, S), which is all that the backward needs besides. `sizes` holds B H G S T D E
 * and causal, then strides in elements: q, k, v (batch, head, row), mask (batch, head, query, key; its last 0 or 1), g (as q). q (B, H, S, D),
 * k (B, G, T, D) and v (B, G, T, E) are contiguous along their last axis, G divides H, head h reads key/value head h / (H / G).
 * mask may be NULL. Causal: query i sees the keys up to i + T - S. A query that may see no key, or only such as the mask puts
 * at -inf, gets zeros and a logsumexp of -inf. Can fail: CAFE_NO_MEMORY. */
enum { CAFE_ATTENTION_SIZES = 24 };
int cafe_attention_f32(float *y, float *logsumexp, const float *q, const float *k, const float *v, const float *mask,
                       const int64_t *sizes, double scale);
int cafe_attention_f64(double *y, double *logsumexp, const double *q, const double *k, const double *v, const double *mask,
                       const int64_t *sizes, double scale);

/* The gradients of q, k and v, contiguous, from that of y (g), y and logsumexp. delta (B, H, S) is room to work in. */
int cafe_attention_backward_f32(float *dq, float *dk, float *dv, float *delta, const float *g, const float *q, const float *k, const float *v,
                                const float *y, const float *logsumexp, const float *mask, const int64_t *sizes, double scale);
int cafe_attention_backward_f64(double *dq, double *dk, double *dv, double *delta, const double *g, const double *q, const double *k,
                                const double *v, const double *y, const double *logsumexp, const double *mask, const int64_t *sizes,
                                double scale);

/* ---- loss: bodies/loss.inc, loss.c ---- */

/* The mean of (a - b)^2 over n; NaN for n = 0. The order of the sum depends on n alone. da, if not NULL: 2 (a - b) / n. CAFE_NO_MEMORY. */
int cafe_mse_f32(float *y, float *da, const float *a, const float *b, int64_t n);
int cafe_mse_f64(double *y, double *da, const double *a, const double *b, int64_t n);

/* da = 2 g (a - b) / n, for the number at g. da may be a or b. */
void cafe_mse_backward_f32(float *da, const float *g, const float *a, const float *b, int64_t n);
void cafe_mse_backward_f64(double *da, const double *g, const double *a, const double *b, int64_t n);

/* The mean of t ln(1 + exp(-x)) + (1 - t) ln(1 + exp x) over n, and dx = g ((1 - t) sigmoid(x) - t sigmoid(-x)) / n: as mse. */
int cafe_bce_f32(float *y, const float *x, const float *t, int64_t n);
int cafe_bce_f64(double *y, const double *x, const double *t, int64_t n);
void cafe_bce_backward_f32(float *dx, const float *g, const float *x, const float *t, int64_t n);
void cafe_bce_backward_f64(double *dx, const double *g, const double *x, const double *t, int64_t n);

/* For logits x (rows, n), ids (rows) and weights (rows): y = sum w_i (ln sum_j exp x_ij - x_i,id), one number, and dx = g w_i (softmax(x)_ij
 * - [j = id]). y or dx may be NULL: then it is left out. Without weights, where they are NULL, w is 1 / rows. A row whose id is a
 * skip, or whose weight is 0, adds nothing, and dx is 0 there. n > 0. Can fail: CAFE_NO_MEMORY, CAFE_BAD_ID. */
int cafe_cross_entropy_f32(float *y, float *dx, const float *x, const void *ids, int kind, const float *weights, int64_t rows,
                           int64_t n, double g);
int cafe_cross_entropy_f64(double *y, double *dx, const double *x, const void *ids, int kind, const double *weights, int64_t rows,
                           int64_t n, double g);

/* ---- rnn: bodies/rnn.inc, rnn.c ---- */

/* An LSTM over B sequences of T times, H hidden, gates in the order i f g o: with a = xw_t + h w', i, f, o = sigmoid and g = tanh of its
 * parts, c = f c + i g, h = o tanh c. xw (B, T, 4H), h0 and c0 (B, H), w (4H, H); y (B, T, 2H) gets h and c side by side,
 * gates (B, T, 4H) what the backward wants of them. Can fail: CAFE_NO_MEMORY. */
int cafe_lstm_f32(float *y, float *gates, const float *xw, const float *h0, const float *c0, const float *w, int64_t batch,
                  int64_t steps, int64_t hidden);
int cafe_lstm_f64(double *y, double *gates, const double *xw, const double *h0, const double *c0, const double *w, int64_t batch,
                  int64_t steps, int64_t hidden);

/* Its gradients from that of y (grad); work has room for B T H. Can fail: CAFE_NO_MEMORY. */
int cafe_lstm_backward_f32(float *dxw, float *dh0, float *dc0, float *dw, float *work, const float *grad, const float *h0, const float *c0,
                           const float *w, const float *y, const float *gates, int64_t batch, int64_t steps, int64_t hidden);
int cafe_lstm_backward_f64(double *dxw, double *dh0, double *dc0, double *dw, double *work, const double *grad, const double *h0,
                           const double *c0, const double *w, const double *y, const double *gates, int64_t batch, int64_t steps, int64_t hidden);

/* A GRU, gates in the order r z n: with a = h w' + b, r and z = sigmoid(xw_t + a) of their parts, n = tanh(xw_n + r a_n),
 * h = (1 - z) n + z h. xw (B, T, 3H), h0 (B, H), w (3H, H), b (3H); y (B, T, H), gates (B, T, 4H): r, z, n, a_n. Can fail: CAFE_NO_MEMORY. */
int cafe_gru_f32(float *y, float *gates, const float *xw, const float *h0, const float *w, const float *b, int64_t batch, int64_t steps,
                 int64_t hidden);
int cafe_gru_f64(double *y, double *gates, const double *xw, const double *h0, const double *w, const double *b, int64_t batch,
                 int64_t steps, int64_t hidden);

/* Its gradients from that of y (grad); work has room for 4 B T H. Can fail: CAFE_NO_MEMORY. */
int cafe_gru_backward_f32(float *dxw, float *dh0, float *dw, float *db, float *work, const float *grad, const float *h0, const float *w,
                          const float *y, const float *gates, int64_t batch, int64_t steps, int64_t hidden);
int cafe_gru_backward_f64(double *dxw, double *dh0, double *dw, double *db, double *work, const double *grad, const double *h0,
                          const double *w, const double *y, const double *gates, int64_t batch, int64_t steps, int64_t hidden);

#endif
