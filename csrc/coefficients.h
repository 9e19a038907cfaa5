/* Written by fit/fit_functions.py, which says what each is and how it was fitted. Lowest degree first. */
#ifndef CAFE_COEFFICIENTS_H
#define CAFE_COEFFICIENTS_H

static const float f32_ln2_high = 0x1.62e4000000000p-1f, f32_ln2_low = 0x1.7f7d1c0000000p-20f;
/* (exp r - 1 - r) / r^2, degree 4, |r| <= 0.34675: exp within 2^-27.73, relative */
static const float f32_exp_c[5] = {0x1.fffffc0000000p-2f, 0x1.5554900000000p-3f, 0x1.5558f20000000p-5f, 0x1.123a240000000p-7f, 0x1.6a24000000000p-10f};

static const float f32_exp_low = -104.0f, f32_exp_high = 89.0f;

static const double f64_ln2_high = 0x1.62e42fefa4000p-1, f64_ln2_low = -0x1.8432a1b0e2634p-43;
/* (exp r - 1 - r) / r^2, degree 10, |r| <= 0.34675: exp within 2^-60.19, relative */
static const double f64_exp_c[11] = {0x1.0000000000000p-1, 0x1.555555555555bp-3, 0x1.5555555555501p-5, 0x1.111111110ec55p-7, 0x1.6c16c16c306e0p-10, 0x1.a01a01b387b12p-13, 0x1.a01a01364fd02p-16, 0x1.71ddf0028b26ap-19, 0x1.27e5b4993e94dp-22, 0x1.af6c1dbf3fb2dp-26, 0x1.1e3cf69c82f55p-29};

static const double f64_exp_low = -746.0, f64_exp_high = 710.0;

#endif
