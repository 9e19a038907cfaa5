/* What layers and optimizers are made of: a part of the API, see cafe.h. */
#ifndef CAFE_API_LAYERS_H
#define CAFE_API_LAYERS_H

#include <stdint.h>

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

/* Which way products of f32 go, in the whole process: chains of FMAs, sums of pieces where k and n are 64 or more (bodies/split.inc), or what
 * is quick here. */
enum { CAFE_MATMUL_AUTO, CAFE_MATMUL_FMA, CAFE_MATMUL_SPLIT };
void cafe_set_matmul_algorithm(int algorithm);
int cafe_get_matmul_algorithm(void);

/* y (m, n) = x (m, k) transposed w (n, k), plus bias (n) where it is not NULL, and `then` of that, with the bits of the function on
 * its own: IDENTITY, RELU, TANH, SIGMOID, SILU, GELU or GELU_ERF. X and w have any strides. */
int cafe_linear_f32(float *y, const float *x, const float *w, const float *bias, int then, int64_t m, int64_t k, int64_t n,
                    int64_t x_row, int64_t x_col, int64_t w_row, int64_t w_col);
int cafe_linear_f64(double *y, const double *x, const double *w, const double *bias, int then, int64_t m, int64_t k, int64_t n,
                    int64_t x_row, int64_t x_col, int64_t w_row, int64_t w_col);

/* linear and matmul_batch for F16 and BF16: the result for f32, rounded once. X, and A and B, lie without gaps, in any order of dims; of a_size
 * and b_size elements, 1 where a dim is repeated. A row or a column of w lies without gaps; w is widened as it is read. `work` holds m (k + n) + n
 * floats, or a_size + b_size and C's. `steady`: as a layer's product, which AUTO leaves to chains. */
int cafe_linear_f16(uint16_t *y, float *work, const uint16_t *x, const uint16_t *w, const uint16_t *bias, int then, int64_t m, int64_t k,
                    int64_t n, int64_t x_row, int64_t x_col, int64_t w_row, int64_t w_col, int steady);
int cafe_linear_bf16(uint16_t *y, float *work, const uint16_t *x, const uint16_t *w, const uint16_t *bias, int then, int64_t m, int64_t k,
                     int64_t n, int64_t x_row, int64_t x_col, int64_t w_row, int64_t w_col, int steady);
int cafe_matmul_batch_f16(uint16_t *c, float *work, const uint16_t *a, const uint16_t *b, int64_t a_size, int64_t b_size, int64_t m, int64_t k,
                          int64_t n, int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col, int64_t rank, const int64_t *batch);
int cafe_matmul_batch_bf16(uint16_t *c, float *work, const uint16_t *a, const uint16_t *b, int64_t a_size, int64_t b_size, int64_t m, int64_t k,
                           int64_t n, int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col, int64_t rank, const int64_t *batch);

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
    CAFE_CONV_AUTO = 0,      /* WINOGRAD2 where it pays and f32 is wanted, DIRECT for one channel a group, else IMPLICIT */
    CAFE_CONV_IM2COL = 1,    /* the patches in memory, then a product */
    CAFE_CONV_IMPLICIT = 2,  /* the same product, patches packed as they are needed */
    CAFE_CONV_WINOGRAD2 = 3, /* F(2x2, 3x3) and its kin: without dilation, more than one channel a group, for 3 x 3 kernels, 1 x 3 to 1 x 6 and, */
                             /* with stride 2, 3 x 3 to 4 x 4 and 5 x 5 to 6 x 6 */
    CAFE_CONV_WINOGRAD4 = 4, /* the same, but F(4x4, 3x3) for 3 x 3 without a stride */
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

/* ---- rnn: bodies/rnn.inc, rnn.c ---- */

/* An LSTM over B sequences of T times, H hidden, gates in the order i f g o: with a = xw_t + h w', i, f, o = sigmoid and g = tanh of its
 * parts, c = f c + i g, h = o tanh c. xw (B, T, 4H), h0 and c0 (B, H), w (4H, H); y (B, T, 2H) gets h and c side by side,
 * gates (B, T, 4H), which may be xw, what the backward wants of them. Can fail: CAFE_NO_MEMORY. */
int cafe_lstm_f32(float *y, float *gates, const float *xw, const float *h0, const float *c0, const float *w, int64_t batch,
                  int64_t steps, int64_t hidden);
int cafe_lstm_f64(double *y, double *gates, const double *xw, const double *h0, const double *c0, const double *w, int64_t batch,
                  int64_t steps, int64_t hidden);

/* Its gradients from grad, which is that of h (B, T, H) where states is 1, that of y where it is 2. dxw may be gates; work has room for B T H.
 * Can fail: CAFE_NO_MEMORY. */
int cafe_lstm_backward_f32(float *dxw, float *dh0, float *dc0, float *dw, float *work, const float *grad, const float *h0, const float *c0,
                           const float *w, const float *y, const float *gates, int64_t batch, int64_t steps, int64_t hidden,
                           int64_t states);
int cafe_lstm_backward_f64(double *dxw, double *dh0, double *dc0, double *dw, double *work, const double *grad, const double *h0,
                           const double *c0, const double *w, const double *y, const double *gates, int64_t batch, int64_t steps, int64_t hidden,
                           int64_t states);

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
