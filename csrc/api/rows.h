/* Softmax, norms, losses: a part of the API, see cafe.h. */
#ifndef CAFE_API_ROWS_H
#define CAFE_API_ROWS_H

#include <stdint.h>

/* ---- softmax: bodies/softmax.inc, softmax.c ---- */

/* Along the middle axis of (outer, n, inner): y = exp(x - max x) / sum exp(x - max x), and its logarithm. In place. A row with a NaN
 * or +inf in it, or of -inf alone, is NaN. */
void cafe_softmax_f32(float *y, const float *x, int64_t outer, int64_t n, int64_t inner);
void cafe_softmax_f64(double *y, const double *x, int64_t outer, int64_t n, int64_t inner);
void cafe_log_softmax_f32(float *y, const float *x, int64_t outer, int64_t n, int64_t inner);
void cafe_log_softmax_f64(double *y, const double *x, int64_t outer, int64_t n, int64_t inner);

/* Of F16 and BF16, as bits: computed in f32 and rounded once (half_rows.c), the norms too. CAFE_NO_MEMORY. */
int cafe_softmax_f16(uint16_t *y, const uint16_t *x, int64_t outer, int64_t n, int64_t inner);
int cafe_softmax_bf16(uint16_t *y, const uint16_t *x, int64_t outer, int64_t n, int64_t inner);
int cafe_log_softmax_f16(uint16_t *y, const uint16_t *x, int64_t outer, int64_t n, int64_t inner);
int cafe_log_softmax_bf16(uint16_t *y, const uint16_t *x, int64_t outer, int64_t n, int64_t inner);
int cafe_layer_norm_f16(uint16_t *y, float *mean, float *rest, float *rstd, const uint16_t *x, const uint16_t *r, const uint16_t *w,
                        const uint16_t *b, int64_t rows, int64_t n, double eps);
int cafe_layer_norm_bf16(uint16_t *y, float *mean, float *rest, float *rstd, const uint16_t *x, const uint16_t *r, const uint16_t *w,
                         const uint16_t *b, int64_t rows, int64_t n, double eps);
int cafe_rms_norm_f16(uint16_t *y, float *rstd, const uint16_t *x, const uint16_t *w, const uint16_t *b, int64_t rows, int64_t n, double eps);
int cafe_rms_norm_bf16(uint16_t *y, float *rstd, const uint16_t *x, const uint16_t *w, const uint16_t *b, int64_t rows, int64_t n, double eps);

/* From the results y: dx = y (dy - sum dy y) for softmax, dx = dy - exp(y) sum dy for its logarithm. dx may be dy or y. */
void cafe_softmax_backward_f32(float *dx, const float *dy, const float *y, int64_t outer, int64_t n, int64_t inner);
void cafe_softmax_backward_f64(double *dx, const double *dy, const double *y, int64_t outer, int64_t n, int64_t inner);
void cafe_log_softmax_backward_f32(float *dx, const float *dy, const float *y, int64_t outer, int64_t n, int64_t inner);
void cafe_log_softmax_backward_f64(double *dx, const double *dy, const double *y, int64_t outer, int64_t n, int64_t inner);

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

/* ---- loss: bodies/loss.inc, loss.c ---- */

/* The mean of (a - b)^2 over n; NaN for n = 0. The order of the sum depends on n alone. da, if not NULL: 2 (a - b) / n. CAFE_NO_MEMORY. */
int cafe_mse_f32(float *y, float *da, const float *a, const float *b, int64_t n);
int cafe_mse_f64(double *y, double *da, const double *a, const double *b, int64_t n);

/* da = 2 g (a - b) / n, for the number at g. da may be a or b. */
void cafe_mse_backward_f32(float *da, const float *g, const float *a, const float *b, int64_t n);
void cafe_mse_backward_f64(double *da, const double *g, const double *a, const double *b, int64_t n);

/* The mean over n of d^2 / 2 where |d| = |a - b| <= delta and of delta (|d| - delta / 2) elsewhere; da = g d / n, d held between -delta and
 * delta. As mse. */
int cafe_huber_f32(float *y, float *da, const float *a, const float *b, int64_t n, double delta);
int cafe_huber_f64(double *y, double *da, const double *a, const double *b, int64_t n, double delta);
void cafe_huber_backward_f32(float *da, const float *g, const float *a, const float *b, int64_t n, double delta);
void cafe_huber_backward_f64(double *da, const double *g, const double *a, const double *b, int64_t n, double delta);

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

#endif
