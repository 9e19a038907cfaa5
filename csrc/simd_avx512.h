/* The vocabulary on AVX-512 (F, DQ, BW, VL): sixteen f32, eight f64; a mask is a bit a lane, a tail is a mask. */
#include <immintrin.h>

typedef __m512 f32_vec;
typedef __mmask16 f32_mask;
typedef __m512d f64_vec;
typedef __mmask8 f64_mask;
enum { f32_lanes = 16, f32_block = 8, f64_lanes = 8, f64_block = 4 };

FN __mmask16 f32_mask_first(int64_t n) { return (__mmask16)((1u << n) - 1); }
FN __mmask8 f64_mask_first(int64_t n) { return (__mmask8)((1u << n) - 1); }

FN __m512 f32_load(const float *p) { return _mm512_loadu_ps(p); }
FN __m512 f32_load_part(const float *p, int64_t n) { return _mm512_maskz_loadu_ps(f32_mask_first(n), p); }
FN __m512 f32_load_fill(const float *p, int64_t n, float x) { return _mm512_mask_loadu_ps(_mm512_set1_ps(x), f32_mask_first(n), p); }
FN void f32_store(float *p, __m512 a) { _mm512_storeu_ps(p, a); }
FN void f32_store_part(float *p, __m512 a, int64_t n) { _mm512_mask_storeu_ps(p, f32_mask_first(n), a); }
FN void f32_stream(float *p, __m512 a) { _mm512_stream_ps(p, a); }
FN __m512 f32_set1(float x) { return _mm512_set1_ps(x); }
FN __m512 f32_zero(void) { return _mm512_setzero_ps(); }
FN __m512 f32_iota(void) { return _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
FN __m512 f32_add(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
FN __m512 f32_sub(__m512 a, __m512 b) { return _mm512_sub_ps(a, b); }
FN __m512 f32_mul(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
FN __m512 f32_div(__m512 a, __m512 b) { return _mm512_div_ps(a, b); }
FN __m512 f32_sqrt(__m512 a) { return _mm512_sqrt_ps(a); }
FN __m512 f32_fma(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
FN __m512 f32_fnma(__m512 a, __m512 b, __m512 c) { return _mm512_fnmadd_ps(a, b, c); }
FN __m512 f32_max(__m512 a, __m512 b) { return _mm512_max_ps(a, b); }
FN __m512 f32_min(__m512 a, __m512 b) { return _mm512_min_ps(a, b); }
FN __m512 f32_neg(__m512 a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
FN __m512 f32_abs(__m512 a) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a); }
FN __m512 f32_copysign(__m512 a, __m512 b) {
    __m512 s = _mm512_set1_ps(-0.0f);
    return _mm512_or_ps(_mm512_andnot_ps(s, a), _mm512_and_ps(s, b));
}
FN __m512 f32_round(__m512 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
FN __m512 f32_floor(__m512 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
FN __m512 f32_ceil(__m512 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
FN __m512 f32_trunc(__m512 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
FN __mmask16 f32_lt(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
FN __mmask16 f32_le(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
FN __mmask16 f32_gt(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
FN __mmask16 f32_ge(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
FN __mmask16 f32_eq(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
FN __mmask16 f32_ne(__m512 a, __m512 b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
FN __m512 f32_select(__mmask16 m, __m512 a, __m512 b) { return _mm512_mask_blend_ps(m, b, a); }
FN __mmask16 f32_mask_and(__mmask16 a, __mmask16 b) { return (__mmask16)(a & b); }
FN __mmask16 f32_mask_or(__mmask16 a, __mmask16 b) { return (__mmask16)(a | b); }
FN __mmask16 f32_mask_not(__mmask16 a) { return (__mmask16)~a; }
FN int f32_any(__mmask16 m) { return m != 0; }
FN int f32_all(__mmask16 m) { return m == 0xffff; }

/* Folding in halves: 0..7 with 8..15, then as the eight lanes of simd_avx2.h. */
#define FOLD_PS(op)                                                                              \
    __m256 w = _mm256_##op##_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));        \
    __m128 h = _mm_##op##_ps(_mm256_castps256_ps128(w), _mm256_extractf128_ps(w, 1));            \
    h = _mm_##op##_ps(h, _mm_movehl_ps(h, h));                                                   \
    return _mm_cvtss_f32(_mm_##op##_ss(h, _mm_movehdup_ps(h)))
FN float f32_hsum(__m512 a) { FOLD_PS(add); }
FN float f32_hmax(__m512 a) { FOLD_PS(max); }
FN float f32_hmin(__m512 a) { FOLD_PS(min); }
#undef FOLD_PS

FN __m512 f32_pow2(__m512 n) {
    __m512i e = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(e, 23));
}
FN __m512 f32_power(__m512 x) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(x), 23)); }
FN __m512 f32_scale(__m512 a, __m512 n) { return _mm512_scalef_ps(a, n); }
FN __m512 f32_exponent(__m512 a) {
    __m512i e = _mm512_srai_epi32(_mm512_castps_si512(a), 23);
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(e, _mm512_set1_epi32(127)));
}
FN __m512 f32_mantissa(__m512 a) {
    __m512 low = _mm512_and_ps(a, _mm512_castsi512_ps(_mm512_set1_epi32(0x007fffff)));
    return _mm512_or_ps(low, _mm512_set1_ps(1.0f));
}
FN void f32_store_mask(uint8_t *p, __mmask16 m) { _mm_storeu_si128((__m128i *)p, _mm_maskz_set1_epi8(m, 1)); }
FN void f32_store_mask_part(uint8_t *p, __mmask16 m, int64_t n) { _mm_mask_storeu_epi8(p, f32_mask_first(n), _mm_maskz_set1_epi8(m, 1)); }
FN __mmask16 f32_load_mask(const uint8_t *p) {
    __m128i b = _mm_loadu_si128((const __m128i *)p);
    return _mm_test_epi8_mask(b, b);
}
FN __mmask16 f32_load_mask_part(const uint8_t *p, int64_t n) {
    __m128i b = _mm_maskz_loadu_epi8(f32_mask_first(n), p);
    return _mm_test_epi8_mask(b, b);
}

FN __m512 f32_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
FN __m512 f32_load_f16_part(const uint16_t *p, int64_t n) { return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(f32_mask_first(n), p)); }
FN __m512 f32_from_bf16(__m256i h) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16)); }
FN __m512 f32_load_bf16(const uint16_t *p) { return f32_from_bf16(_mm256_loadu_si256((const __m256i *)p)); }
FN __m512 f32_load_bf16_part(const uint16_t *p, int64_t n) { return f32_from_bf16(_mm256_maskz_loadu_epi16(f32_mask_first(n), p)); }
FN __m256i f32_to_f16(__m512 a) { return _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
FN __m256i f32_to_bf16(__m512 a) { /* as cafe_to_bf16; the CPU's own conversion would flush subnormals */
    __m512i u = _mm512_castps_si512(a), high = _mm512_srli_epi32(u, 16);
    __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
    __m512i even = _mm512_srli_epi32(_mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(even, nan, high, _mm512_set1_epi32(0x40)));
}
FN void f32_store_f16(uint16_t *p, __m512 a) { _mm256_storeu_si256((__m256i *)p, f32_to_f16(a)); }
FN void f32_store_f16_part(uint16_t *p, __m512 a, int64_t n) { _mm256_mask_storeu_epi16(p, f32_mask_first(n), f32_to_f16(a)); }
FN void f32_store_bf16(uint16_t *p, __m512 a) { _mm256_storeu_si256((__m256i *)p, f32_to_bf16(a)); }
FN void f32_store_bf16_part(uint16_t *p, __m512 a, int64_t n) { _mm256_mask_storeu_epi16(p, f32_mask_first(n), f32_to_bf16(a)); }

FN __m512 f32_max_abs(__m512 a, __m512 b) { return _mm512_range_ps(a, b, 0xb); } /* the larger size, without a sign */
FN __m512 f32_bf16(__m512 a) {
    __m512i u = _mm512_add_epi32(_mm512_castps_si512(a), _mm512_set1_epi32(0x8000));
    return _mm512_castsi512_ps(_mm512_and_si512(u, _mm512_set1_epi32((int)0xffff0000)));
}
FN void f32_store_pairs(void *p, __m512 a, __m512 b) {
    __m512i below = _mm512_srli_epi32(_mm512_castps_si512(a), 16), above = _mm512_set1_epi32((int)0xffff0000);
    _mm512_storeu_si512(p, _mm512_ternarylogic_epi32(below, _mm512_castps_si512(b), above, 0xf8)); /* below | (b & above) */
}

FN __m512d f32_widen_lo(__m512 a) { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }
FN __m512d f32_widen_hi(__m512 a) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)); }
FN __m512 f32_narrow(__m512d lo, __m512d hi) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(lo)), _mm512_cvtpd_ps(hi), 1);
}

FN __m512d f64_load(const double *p) { return _mm512_loadu_pd(p); }
FN __m512d f64_load_part(const double *p, int64_t n) { return _mm512_maskz_loadu_pd(f64_mask_first(n), p); }
FN __m512d f64_load_fill(const double *p, int64_t n, double x) { return _mm512_mask_loadu_pd(_mm512_set1_pd(x), f64_mask_first(n), p); }
FN void f64_store(double *p, __m512d a) { _mm512_storeu_pd(p, a); }
FN void f64_store_part(double *p, __m512d a, int64_t n) { _mm512_mask_storeu_pd(p, f64_mask_first(n), a); }
FN void f64_stream(double *p, __m512d a) { _mm512_stream_pd(p, a); }
FN __m512d f64_set1(double x) { return _mm512_set1_pd(x); }
FN __m512d f64_zero(void) { return _mm512_setzero_pd(); }
FN __m512d f64_iota(void) { return _mm512_setr_pd(0, 1, 2, 3, 4, 5, 6, 7); }
FN __m512d f64_add(__m512d a, __m512d b) { return _mm512_add_pd(a, b); }
FN __m512d f64_sub(__m512d a, __m512d b) { return _mm512_sub_pd(a, b); }
FN __m512d f64_mul(__m512d a, __m512d b) { return _mm512_mul_pd(a, b); }
FN __m512d f64_div(__m512d a, __m512d b) { return _mm512_div_pd(a, b); }
FN __m512d f64_sqrt(__m512d a) { return _mm512_sqrt_pd(a); }
FN __m512d f64_fma(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
FN __m512d f64_fnma(__m512d a, __m512d b, __m512d c) { return _mm512_fnmadd_pd(a, b, c); }
FN __m512d f64_max(__m512d a, __m512d b) { return _mm512_max_pd(a, b); }
FN __m512d f64_min(__m512d a, __m512d b) { return _mm512_min_pd(a, b); }
FN __m512d f64_neg(__m512d a) { return _mm512_xor_pd(a, _mm512_set1_pd(-0.0)); }
FN __m512d f64_abs(__m512d a) { return _mm512_andnot_pd(_mm512_set1_pd(-0.0), a); }
FN __m512d f64_copysign(__m512d a, __m512d b) {
    __m512d s = _mm512_set1_pd(-0.0);
    return _mm512_or_pd(_mm512_andnot_pd(s, a), _mm512_and_pd(s, b));
}
FN __m512d f64_round(__m512d a) { return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
FN __m512d f64_floor(__m512d a) { return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
FN __m512d f64_ceil(__m512d a) { return _mm512_roundscale_pd(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
FN __m512d f64_trunc(__m512d a) { return _mm512_roundscale_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
FN __mmask8 f64_lt(__m512d a, __m512d b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
FN __mmask8 f64_le(__m512d a, __m512d b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
FN __mmask8 f64_gt(__m512d a, __m512d b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
FN __mmask8 f64_ge(__m512d a, __m512d b) { return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ); }
FN __mmask8 f64_eq(__m512d a, __m512d b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
FN __mmask8 f64_ne(__m512d a, __m512d b) { return _mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ); }
FN __m512d f64_select(__mmask8 m, __m512d a, __m512d b) { return _mm512_mask_blend_pd(m, b, a); }
FN __mmask8 f64_mask_and(__mmask8 a, __mmask8 b) { return (__mmask8)(a & b); }
FN __mmask8 f64_mask_or(__mmask8 a, __mmask8 b) { return (__mmask8)(a | b); }
FN __mmask8 f64_mask_not(__mmask8 a) { return (__mmask8)~a; }
FN int f64_any(__mmask8 m) { return m != 0; }
FN int f64_all(__mmask8 m) { return m == 0xff; }

#define FOLD_PD(op)                                                                              \
    __m256d w = _mm256_##op##_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));       \
    __m128d h = _mm_##op##_pd(_mm256_castpd256_pd128(w), _mm256_extractf128_pd(w, 1));           \
    return _mm_cvtsd_f64(_mm_##op##_sd(h, _mm_unpackhi_pd(h, h)))
FN double f64_hsum(__m512d a) { FOLD_PD(add); }
FN double f64_hmax(__m512d a) { FOLD_PD(max); }
FN double f64_hmin(__m512d a) { FOLD_PD(min); }
#undef FOLD_PD

FN __m512d f64_pow2(__m512d n) {
    __m512i e = _mm512_add_epi64(_mm512_cvtpd_epi64(n), _mm512_set1_epi64(1023));
    return _mm512_castsi512_pd(_mm512_slli_epi64(e, 52));
}
FN __m512d f64_power(__m512d x) { return _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_castpd_si512(x), 52)); }
FN __m512d f64_scale(__m512d a, __m512d n) { return _mm512_scalef_pd(a, n); }
FN __m512d f64_exponent(__m512d a) {
    __m512i e = _mm512_srai_epi64(_mm512_castpd_si512(a), 52);
    return _mm512_cvtepi64_pd(_mm512_sub_epi64(e, _mm512_set1_epi64(1023)));
}
FN __m512d f64_mantissa(__m512d a) {
    __m512d low = _mm512_and_pd(a, _mm512_castsi512_pd(_mm512_set1_epi64(0x000fffffffffffff)));
    return _mm512_or_pd(low, _mm512_set1_pd(1.0));
}
FN void f64_store_mask(uint8_t *p, __mmask8 m) { _mm_storel_epi64((__m128i *)p, _mm_maskz_set1_epi8(m, 1)); }
FN void f64_store_mask_part(uint8_t *p, __mmask8 m, int64_t n) { _mm_mask_storeu_epi8(p, f64_mask_first(n), _mm_maskz_set1_epi8(m, 1)); }
FN __mmask8 f64_load_mask(const uint8_t *p) {
    __m128i b = _mm_loadl_epi64((const __m128i *)p);
    return (__mmask8)_mm_test_epi8_mask(b, b);
}
FN __mmask8 f64_load_mask_part(const uint8_t *p, int64_t n) {
    __m128i b = _mm_maskz_loadu_epi8(f64_mask_first(n), p);
    return (__mmask8)_mm_test_epi8_mask(b, b);
}

/* Pairs of rows, of pairs, then 128-bit lanes of four, of eight: sixteen rows as columns in 64 shuffles. */
FN __m512 f32_even(__m512 a, __m512 b) {
    return _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), b);
}
FN __m512 f32_odd(__m512 a, __m512 b) {
    return _mm512_permutex2var_ps(a, _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31), b);
}
FN __m512 f32_zip_low(__m512 a, __m512 b) {
    return _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), b);
}
FN __m512 f32_zip_high(__m512 a, __m512 b) {
    return _mm512_permutex2var_ps(a, _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), b);
}

FN void f32_load_turned(__m512 *y, const float *x, int64_t ldx) {
    __m512 a[16], b[16];
    UNROLL for (int i = 0; i < 16; i += 2) {
        __m512 r0 = _mm512_loadu_ps(x + i * ldx), r1 = _mm512_loadu_ps(x + (i + 1) * ldx);
        a[i] = _mm512_unpacklo_ps(r0, r1);
        a[i + 1] = _mm512_unpackhi_ps(r0, r1);
    }
    UNROLL for (int i = 0; i < 16; i += 4) {
        b[i] = _mm512_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm512_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    UNROLL for (int i = 0; i < 4; i++) UNROLL for (int half = 0; half < 16; half += 8) {
        a[half + i] = _mm512_shuffle_f32x4(b[half + i], b[half + i + 4], 0x88);
        a[half + i + 4] = _mm512_shuffle_f32x4(b[half + i], b[half + i + 4], 0xdd);
    }
    UNROLL for (int i = 0; i < 8; i++) {
        y[i] = _mm512_shuffle_f32x4(a[i], a[i + 8], 0x88);
        y[i + 8] = _mm512_shuffle_f32x4(a[i], a[i + 8], 0xdd);
    }
}
FN __m512d f64_even(__m512d a, __m512d b) {
    return _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b);
}
FN __m512d f64_odd(__m512d a, __m512d b) {
    return _mm512_permutex2var_pd(a, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b);
}
FN __m512d f64_zip_low(__m512d a, __m512d b) {
    return _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b);
}
FN __m512d f64_zip_high(__m512d a, __m512d b) {
    return _mm512_permutex2var_pd(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b);
}

FN void f64_load_turned(__m512d *y, const double *x, int64_t ldx) {
    __m512d a[8], b[8];
    UNROLL for (int i = 0; i < 8; i += 2) {
        __m512d r0 = _mm512_loadu_pd(x + i * ldx), r1 = _mm512_loadu_pd(x + (i + 1) * ldx);
        a[i] = _mm512_unpacklo_pd(r0, r1);
        a[i + 1] = _mm512_unpackhi_pd(r0, r1);
    }
    UNROLL for (int i = 0; i < 2; i++) UNROLL for (int half = 0; half < 8; half += 4) {
        b[half + i] = _mm512_shuffle_f64x2(a[half + i], a[half + i + 2], 0x88);
        b[half + i + 2] = _mm512_shuffle_f64x2(a[half + i], a[half + i + 2], 0xdd);
    }
    UNROLL for (int i = 0; i < 4; i++) {
        y[i] = _mm512_shuffle_f64x2(b[i], b[i + 4], 0x88);
        y[i + 4] = _mm512_shuffle_f64x2(b[i], b[i + 4], 0xdd);
    }
}

/* From memory to memory AVX2's blocks serve. */
#define F32(word) JOIN2(narrow32, word)
#define F64(word) JOIN2(narrow64, word)
#include "simd_avx2.h"
#undef F32
#undef F64
FN void f32_transpose(float *y, int64_t ldy, const float *x, int64_t ldx) { narrow32_transpose(y, ldy, x, ldx); }
FN void f64_transpose(double *y, int64_t ldy, const double *x, int64_t ldx) { narrow64_transpose(y, ldy, x, ldx); }
