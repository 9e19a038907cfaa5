/* Functions of elements, reductions, running sums: a part of the API, see cafe.h. */
#ifndef CAFE_API_ELEMENTWISE_H
#define CAFE_API_ELEMENTWISE_H

#include <stdint.h>

/* ---- elementwise: bodies/unary.inc, bodies/binary.inc, elementwise.c ---- */

/* Functions of one array. IDENTITY is x, ROUND takes halves away from zero, AFFINE is x a + b (rounded after each), CLAMP is x held between
 * a and b, LEAKY_RELU is x > 0 ? x : x a + 0, ELU is x > 0 ? x : a (exp x - 1), HARD_SIGMOID is (x + 3) / 6 between 0 and 1, HARDSWISH is x
 * times that. */
enum {
    CAFE_IDENTITY, CAFE_NEG, CAFE_ABS, CAFE_SIGN, CAFE_FLOOR, CAFE_CEIL, CAFE_ROUND, CAFE_SQR, CAFE_SQRT, CAFE_RECIP, CAFE_RELU,
    CAFE_LEAKY_RELU, CAFE_AFFINE, CAFE_CLAMP, CAFE_HARD_SIGMOID, CAFE_HARDSWISH,
    CAFE_EXP, CAFE_LOG, CAFE_SIN, CAFE_COS, CAFE_TANH, CAFE_ERF, CAFE_SIGMOID, CAFE_SOFTPLUS, CAFE_SILU, CAFE_GELU, CAFE_GELU_ERF, CAFE_ELU
};

/* y = op(x), n elements; a and b are the op's numbers or ignored. In place. */
void cafe_unary_f32(int op, float *y, const float *x, int64_t n, double a, double b);
void cafe_unary_f64(int op, double *y, const double *x, int64_t n, double a, double b);

/* Functions of two arrays. MAXIMUM and MINIMUM are NaN where either is. The backward ones take the incoming gradient and what the
 * forward kept: its result (relu, tanh, sigmoid) or its input (the others). */
enum {
    CAFE_ADD, CAFE_SUB, CAFE_MUL, CAFE_DIV, CAFE_MAXIMUM, CAFE_MINIMUM, CAFE_RELU_BACKWARD, CAFE_TANH_BACKWARD,
    CAFE_SIGMOID_BACKWARD, CAFE_HARD_SIGMOID_BACKWARD, CAFE_HARDSWISH_BACKWARD, CAFE_LEAKY_RELU_BACKWARD, CAFE_CLAMP_BACKWARD,
    CAFE_SILU_BACKWARD, CAFE_GELU_BACKWARD, CAFE_GELU_ERF_BACKWARD, CAFE_ELU_BACKWARD
};
enum { CAFE_EQ, CAFE_NE, CAFE_LT, CAFE_LE, CAFE_GT, CAFE_GE };

/* Which operand is one number for all n: none, the first, the second, both (where alone takes that). */
enum { CAFE_NEITHER, CAFE_FIRST, CAFE_SECOND, CAFE_BOTH };

/* y = op(a, b), n elements. In place where the operand is an array. */
void cafe_binary_f32(int op, float *y, const float *a, const float *b, int64_t n, int fixed);
void cafe_binary_f64(int op, double *y, const double *a, const double *b, int64_t n, int fixed);

/* The same for the gradients of functions with numbers, which are the forward's: leaky_relu, clamp, elu. */
void cafe_slope_f32(int op, float *dx, const float *g, const float *x, int64_t n, int fixed, double first, double second);
void cafe_slope_f64(int op, double *dx, const double *g, const double *x, int64_t n, int fixed, double first, double second);

/* y = a^b and x^e, n elements, with C's special cases: f32 computed in f64 and rounded once, f64 within 1 ulp. In place where the operand is an array. */
void cafe_pow_f32(float *y, const float *a, const float *b, int64_t n, int fixed);
void cafe_pow_f64(double *y, const double *a, const double *b, int64_t n, int fixed);
void cafe_powf_f32(float *y, const float *x, int64_t n, double e);
void cafe_powf_f64(double *y, const double *x, int64_t n, double e);

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

/* unary, binary, binary_strided and powf of F16 and BF16, as bits: computed in f32 and rounded once (halves.c). */
void cafe_unary_f16(int op, uint16_t *y, const uint16_t *x, int64_t n, double a, double b);
void cafe_unary_bf16(int op, uint16_t *y, const uint16_t *x, int64_t n, double a, double b);
void cafe_binary_f16(int op, uint16_t *y, const uint16_t *a, const uint16_t *b, int64_t n, int fixed);
void cafe_binary_bf16(int op, uint16_t *y, const uint16_t *a, const uint16_t *b, int64_t n, int fixed);
void cafe_binary_strided_f16(int op, uint16_t *y, const uint16_t *a, const uint16_t *b, int ndim, const int64_t *shape,
                             const int64_t *a_strides, const int64_t *b_strides);
void cafe_binary_strided_bf16(int op, uint16_t *y, const uint16_t *a, const uint16_t *b, int ndim, const int64_t *shape,
                              const int64_t *a_strides, const int64_t *b_strides);
void cafe_powf_f16(uint16_t *y, const uint16_t *x, int64_t n, double e);
void cafe_powf_bf16(uint16_t *y, const uint16_t *x, int64_t n, double e);

/* ---- reductions: bodies/reduce.inc, reduce.c ---- */

/* Along the middle axis of (outer, n, inner). A sum of nothing is 0; up to eight elements are added in their own type from left to
 * right, more by fours in their own type and the sums of four in f64; the order depends on n alone, so that the axis makes no
 * difference. The extremes want n > 0 and are NaN where there is one. CAFE_NO_MEMORY when scratch is not to be had. */
int cafe_sum_f32(float *y, const float *x, int64_t outer, int64_t n, int64_t inner);
int cafe_sum_f64(double *y, const double *x, int64_t outer, int64_t n, int64_t inner);
int cafe_dot_f32(float *y, const float *a, const float *b, int64_t n); /* one sum, of the products of two rows, each rounded by itself */
int cafe_dot_f64(double *y, const double *a, const double *b, int64_t n);
int cafe_max_f32(float *y, const float *x, int64_t outer, int64_t n, int64_t inner);
int cafe_max_f64(double *y, const double *x, int64_t outer, int64_t n, int64_t inner);
int cafe_min_f32(float *y, const float *x, int64_t outer, int64_t n, int64_t inner);
int cafe_min_f64(double *y, const double *x, int64_t outer, int64_t n, int64_t inner);

/* The same along the last axis of (rows, n) where the elements lie anyhow (shape and strides in bytes, of which the last axes make a
 * row), or along the middle one where they are F16 or BF16; `kind` is a CAFE_KIND of api/moving.h, and of halves y is f32. The bits of
 * a row-major copy in f32 or f64. */
enum { CAFE_SUM, CAFE_MAX, CAFE_MIN };
int cafe_reduce_rows(int kind, int what, void *y, const void *x, int ndim, const int64_t *shape, const int64_t *strides, int64_t rows,
                     int64_t n);
int cafe_reduce_half_columns(int kind, int what, float *y, const uint16_t *x, int64_t outer, int64_t n, int64_t inner);

/* Where the extreme is: the first of equals, the first NaN if there is one; 0 < n <= 2^24. */
void cafe_argmax_f32(uint32_t *y, const float *x, int64_t outer, int64_t n, int64_t inner);
void cafe_argmax_f64(uint32_t *y, const double *x, int64_t outer, int64_t n, int64_t inner);
void cafe_argmin_f32(uint32_t *y, const float *x, int64_t outer, int64_t n, int64_t inner);
void cafe_argmin_f64(uint32_t *y, const double *x, int64_t outer, int64_t n, int64_t inner);

/* ---- products: bodies/prod.inc, prod.c ---- */

/* Along the middle axis of (outer, n, inner), in f64 and rounded once; 1 where there is nothing to multiply. And dx = g times the product of the
 * others of a row, 0 or not: g (outer), x and dx (outer, n). CAFE_NO_MEMORY when scratch is not to be had. */
int cafe_prod_f32(float *y, const float *x, int64_t outer, int64_t n, int64_t inner);
int cafe_prod_f64(double *y, const double *x, int64_t outer, int64_t n, int64_t inner);
int cafe_prod_backward_f32(float *dx, const float *g, const float *x, int64_t outer, int64_t n);
int cafe_prod_backward_f64(double *dx, const double *g, const double *x, int64_t outer, int64_t n);

/* ---- running sums: bodies/running.inc, running.c ---- */

/* Along the middle axis of (outer, n, inner): y[i] = x[0] + … + x[i], added in f64 in this order and rounded once. */
void cafe_cumsum_f32(float *y, const float *x, int64_t outer, int64_t n, int64_t inner);
void cafe_cumsum_f64(double *y, const double *x, int64_t outer, int64_t n, int64_t inner);

#endif
