/* Written by fit/fit_functions.py, which says what each is and how it was fitted. Lowest degree first. */
#ifndef CAFE_COEFFICIENTS_H
#define CAFE_COEFFICIENTS_H

static const float f32_ln2_high = 0x1.62e4000000000p-1f, f32_ln2_low = 0x1.7f7d1c0000000p-20f;
/* (exp r - 1 - r) / r^2, |r| <= 0.3467: within 2^-28.04, relative */
static const float f32_exp_c[5] = {0x1.fffffc0000000p-2f, 0x1.5554920000000p-3f, 0x1.5558f20000000p-5f, 0x1.123a200000000p-7f, 0x1.6a23cc0000000p-10f};

static const float f32_exp_low = -104.0f, f32_exp_high = 89.0f;

/* (ln(1 + f) / s - 2) / s^2 in s^2 <= 1/9: within 2^-30.38, relative */
static const float f32_log_c[5] = {0x1.5555580000000p-1f, 0x1.9996a80000000p-2f, 0x1.2509720000000p-2f, 0x1.b6d6a40000000p-3f, 0x1.f1aede0000000p-3f};

/* erf x / x - 1 in x^2, |x| <= 1: within 2^-27.23, relative */
static const float f32_erf_c[8] = {0x1.06eba80000000p-3f, -0x1.8127460000000p-2f, 0x1.ce2f0a0000000p-4f, -0x1.b829d80000000p-6f, 0x1.562b1a0000000p-8f, -0x1.bcd7e00000000p-11f, 0x1.d8b8900000000p-14f, -0x1.44cfc60000000p-17f};

static const float f32_bell_slope = 0x1.7154760000000p-1f, f32_bell_over = -0x1.cab1b60000000p-28f;
/* (2^f - 1) / f, |f| <= 0.5002: within 2^-25.91, relative */
static const float f32_exp2_c[6] = {0x1.62e4300000000p-1f, 0x1.ebfbdc0000000p-3f, 0x1.c6aee80000000p-5f, 0x1.3b2d4e0000000p-7f, 0x1.5f3eac0000000p-10f, 0x1.41fb820000000p-13f};

/* 2^(slope a^2) Phi(-a), a <= 15, is over / under: within 2^-25.63, relative */
static const float f32_tail_over_c[5] = {0x1.0000000000000p-1f, 0x1.c997dc0000000p-2f, 0x1.83e6dc0000000p-3f, 0x1.5d8ccc0000000p-5f, 0x1.20e2040000000p-8f};

/* and what it is divided by */
static const float f32_tail_under_c[6] = {0x1.0000000000000p+0f, 0x1.b10e1e0000000p+0f, 0x1.3a80860000000p+0f, 0x1.f164c80000000p-2f, 0x1.b61a3c0000000p-4f, 0x1.6a100e0000000p-7f};

static const float f32_quarter[3] = {0x1.921fb60000000p+0f, -0x1.777a5c0000000p-25f, -0x1.ee59da0000000p-50f};
/* (sin r / r - 1) / r^2 in r^2, |r| <= 0.8: within 2^-28.18, relative */
static const float f32_sin_c[4] = {-0x1.5555560000000p-3f, 0x1.1111080000000p-7f, -0x1.a00ed40000000p-13f, 0x1.6ca88c0000000p-19f};

/* (cos r - 1 + r^2 / 2) / r^4 in r^2, |r| <= 0.8: within 2^-30.8, relative */
static const float f32_cos_c[3] = {0x1.55554a0000000p-5f, -0x1.6c0bc40000000p-10f, 0x1.99c8400000000p-16f};

static const double f64_ln2_high = 0x1.62e42fefa4000p-1, f64_ln2_low = -0x1.8432a1b0e2634p-43;
/* (exp r - 1 - r) / r^2, |r| <= 0.3467: within 2^-60.15, relative */
static const double f64_exp_c[11] = {0x1.0000000000000p-1, 0x1.555555555555bp-3, 0x1.5555555555502p-5, 0x1.111111110ec40p-7, 0x1.6c16c16c305d6p-10, 0x1.a01a01b38a1e5p-13, 0x1.a01a013650107p-16, 0x1.71ddf00272b8bp-19, 0x1.27e5b48f65d50p-22, 0x1.af6c1dcf6d857p-26, 0x1.1e3d0c429b2a2p-29};

static const double f64_exp_low = -746.0, f64_exp_high = 710.0;

/* (ln(1 + f) / s - 2) / s^2 in s^2 <= 1/9: within 2^-58.6, relative */
static const double f64_log_c[11] = {0x1.5555555555556p-1, 0x1.999999999955dp-2, 0x1.24924924c1d97p-2, 0x1.c71c71a5de01cp-3, 0x1.745d1e0310aacp-3, 0x1.3b12d5d9073f6p-3, 0x1.112345c5c053bp-3, 0x1.dfe2a53e9a655p-4, 0x1.c16fb6890069dp-4, 0x1.1e7bf2f91bdc1p-4, 0x1.5141dfdf60cd9p-3};

/* (((ln(1 + f) / s - 2) / s^2 - 2/3) / s^2 - 2/5) / s^2 in s^2 <= 0.0295: within 2^-49.96, relative */
static const double f64_pow_c[7] = {0x1.2492492492497p-2, 0x1.c71c71c7153e0p-3, 0x1.745d175513089p-3, 0x1.3b13a520bd24fp-3, 0x1.1115a11996618p-3, 0x1.e01f9619723cdp-4, 0x1.d9c85dfff7997p-4};

/* erf x / x - 1 in x^2, |x| <= 1: within 2^-56.31, relative */
static const double f64_erf_c[14] = {0x1.06eba8214db69p-3, -0x1.812746b0379e7p-2, 0x1.ce2f21a042bdep-4, -0x1.b82ce312889c2p-6, 0x1.565bcd0e65193p-8, -0x1.c02db3fef0192p-11, 0x1.f9a326c2d9041p-14, -0x1.f4d2562a11757p-17, 0x1.b9e6518de51afp-20, -0x1.5f6d9cbd8ff58p-23, 0x1.fc43f034ab8cap-27, -0x1.4e635aa2a2083p-30, 0x1.7f171ce869a9bp-34, -0x1.29e14625b31d2p-38};

static const double f64_bell_slope = 0x1.71547652b82fep-1, f64_bell_over = -0x1.0444d0e734faap-57;
/* (2^f - 1) / f, |f| <= 0.5002: within 2^-55.6, relative */
static const double f64_exp2_c[12] = {0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0cfp-5, 0x1.3b2ab6fba4e22p-7, 0x1.5d87fe78a2694p-10, 0x1.430912f883e20p-13, 0x1.ffcbfc74e765fp-17, 0x1.62c021e23b0ccp-20, 0x1.b524dd2e1b73bp-24, 0x1.e4d06cdcfd704p-28, 0x1.ea018e59f14cfp-32, 0x1.c2ce79b91d2a1p-36};

/* 2^(slope a^2) Phi(-a) / t in 2t - 1, t = 1 / (1 + a / 4), a <= 39: within 2^-52.1, relative */
static const double f64_tail_c[23] = {0x1.82b4bb8c94dccp-3, 0x1.373e3a893c28ep-3, 0x1.8c6dbf2cfc33bp-4, 0x1.7dff2bff683ffp-5, 0x1.eec4cc3e43849p-7, 0x1.ee27610444327p-10, -0x1.c81719c938646p-11, -0x1.ab825fb13e800p-12, 0x1.17a4a5f3516c4p-15, 0x1.e4a421c2221e8p-15, -0x1.001101eddae7dp-21, -0x1.26d063edbe78cp-17, 0x1.7fd958332ade2p-23, 0x1.8d490f0f4e7dcp-20, -0x1.4faa74fa599c0p-23, -0x1.124dd572c29d8p-22, 0x1.1ba1a7137f1f7p-24, 0x1.504b21991c64cp-25, -0x1.4b9d32bea5ebcp-26, -0x1.142835389e2e7p-28, 0x1.f657519accbf4p-29, 0x1.76b9ece31648bp-34, -0x1.491a2610d5a81p-32};

static const double f64_quarter[3] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
/* (sin r / r - 1) / r^2 in r^2, |r| <= 0.8: within 2^-57.2, relative */
static const double f64_sin_c[7] = {-0x1.5555555555555p-3, 0x1.111111111110ap-7, -0x1.a01a01a0186a1p-13, 0x1.71de3a52e0bccp-19, -0x1.ae64522473adap-26, 0x1.612048d3e519cp-33, -0x1.aa80a31d99425p-41};

/* (cos r - 1 + r^2 / 2) / r^4 in r^2, |r| <= 0.8: within 2^-59.94, relative */
static const double f64_cos_c[7] = {0x1.5555555555555p-5, -0x1.6c16c16c16c0ep-10, 0x1.a01a01a018a42p-16, -0x1.27e4fb75bef53p-22, 0x1.1eed8c5d9f6aap-29, -0x1.9392e9353b379p-37, 0x1.aaa23a8a90949p-45};

#endif
