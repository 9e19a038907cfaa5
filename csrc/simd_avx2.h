/* The vocabulary on AVX2, FMA and F16C: eight f32, four f64. simd_pair.h includes this file under other names (F32, F64). */
#include <immintrin.h>

#ifndef F32
#define F32(word) JOIN2(f32, word)
#define F64(word) JOIN2(f64, word)
#endif

typedef __m256 F32(vec);
typedef __m256 F32(mask);
typedef __m256d F64(vec);
typedef __m256d F64(mask);
enum { F32(lanes) = 8, F32(block) = 8, F64(lanes) = 4, F64(block) = 4 };

/* n ones followed by zeros, for maskload and maskstore: read from the middle of a row of ones and zeros. */
static const int32_t F32(ones)[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
static const int64_t F64(ones)[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
FN __m256i F32(first)(int64_t n) { return _mm256_loadu_si256((const __m256i *)(F32(ones) + 8 - n)); }
FN __m256i F64(first)(int64_t n) { return _mm256_loadu_si256((const __m256i *)(F64(ones) + 4 - n)); }

FN __m256 F32(load)(const float *p) { return _mm256_loadu_ps(p); }
FN __m256 F32(load_part)(const float *p, int64_t n) { return _mm256_maskload_ps(p, F32(first)(n)); }
FN __m256 F32(load_fill)(const float *p, int64_t n, float x) {
    __m256i m = F32(first)(n);
    return _mm256_blendv_ps(_mm256_set1_ps(x), _mm256_maskload_ps(p, m), _mm256_castsi256_ps(m));
}
FN void F32(store)(float *p, __m256 a) { _mm256_storeu_ps(p, a); }
FN void F32(store_part)(float *p, __m256 a, int64_t n) { _mm256_maskstore_ps(p, F32(first)(n), a); }
FN void F32(stream)(float *p, __m256 a) { _mm256_stream_ps(p, a); }
FN __m256 F32(set1)(float x) { return _mm256_set1_ps(x); }
FN __m256 F32(zero)(void) { return _mm256_setzero_ps(); }
FN __m256 F32(iota)(void) { return _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7); }
FN __m256 F32(add)(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
FN __m256 F32(sub)(__m256 a, __m256 b) { return _mm256_sub_ps(a, b); }
FN __m256 F32(mul)(__m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
FN __m256 F32(div)(__m256 a, __m256 b) { return _mm256_div_ps(a, b); }
FN __m256 F32(sqrt)(__m256 a) { return _mm256_sqrt_ps(a); }
FN __m256 F32(fma)(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
FN __m256 F32(fnma)(__m256 a, __m256 b, __m256 c) { return _mm256_fnmadd_ps(a, b, c); }
FN __m256 F32(max)(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
FN __m256 F32(min)(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }
FN __m256 F32(neg)(__m256 a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f)); }
FN __m256 F32(abs)(__m256 a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
FN __m256 F32(copysign)(__m256 a, __m256 b) {
    __m256 s = _mm256_set1_ps(-0.0f);
    return _mm256_or_ps(_mm256_andnot_ps(s, a), _mm256_and_ps(s, b));
}
FN __m256 F32(round)(__m256 a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
FN __m256 F32(floor)(__m256 a) { return _mm256_floor_ps(a); }
FN __m256 F32(ceil)(__m256 a) { return _mm256_ceil_ps(a); }
FN __m256 F32(trunc)(__m256 a) { return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
FN __m256 F32(lt)(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
FN __m256 F32(le)(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
FN __m256 F32(gt)(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
FN __m256 F32(ge)(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
FN __m256 F32(eq)(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
FN __m256 F32(ne)(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
FN __m256 F32(select)(__m256 m, __m256 a, __m256 b) { return _mm256_blendv_ps(b, a, m); }
FN __m256 F32(mask_and)(__m256 a, __m256 b) { return _mm256_and_ps(a, b); }
FN __m256 F32(mask_or)(__m256 a, __m256 b) { return _mm256_or_ps(a, b); }
FN __m256 F32(mask_not)(__m256 a) { return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1))); }
FN __m256 F32(mask_first)(int64_t n) { return _mm256_castsi256_ps(F32(first)(n)); }
FN int F32(any)(__m256 m) { return _mm256_movemask_ps(m) != 0; }
FN int F32(all)(__m256 m) { return _mm256_movemask_ps(m) == 0xff; }

/* Folding in halves: 0..3 with 4..7, 0..1 with 2..3, 0 with 1. */
#define FOLD_PS(op)                                                                              \
    __m128 h = _mm_##op##_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));            \
    h = _mm_##op##_ps(h, _mm_movehl_ps(h, h));                                                   \
    return _mm_cvtss_f32(_mm_##op##_ss(h, _mm_movehdup_ps(h)))
FN float F32(hsum)(__m256 a) { FOLD_PS(add); }
FN float F32(hmax)(__m256 a) { FOLD_PS(max); }
FN float F32(hmin)(__m256 a) { FOLD_PS(min); }
#undef FOLD_PS

FN __m256 F32(pow2)(__m256 n) {
    __m256i e = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(e, 23));
}
FN __m256 F32(power)(__m256 x) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(x), 23)); }
/* In two steps, of which the first is exact. */
FN __m256 F32(scale)(__m256 a, __m256 n) {
    __m256i bias = _mm256_set1_epi32(127), whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    __m256i rest = _mm256_sub_epi32(whole, half);
    __m256 first = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    __m256 second = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
    return _mm256_mul_ps(_mm256_mul_ps(a, first), second);
}
FN __m256 F32(exponent)(__m256 a) {
    __m256i e = _mm256_srai_epi32(_mm256_castps_si256(a), 23);
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(e, _mm256_set1_epi32(127)));
}
FN __m256 F32(mantissa)(__m256 a) {
    __m256 low = _mm256_and_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(0x007fffff)));
    return _mm256_or_ps(low, _mm256_set1_ps(1.0f));
}
FN void F32(store_mask)(uint8_t *p, __m256 m) {
    __m256i w = _mm256_castps_si256(m);
    __m128i h = _mm_packs_epi32(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
    h = _mm_and_si128(_mm_packs_epi16(h, h), _mm_set1_epi8(1));
    _mm_storel_epi64((__m128i *)p, h);
}
FN void F32(store_mask_part)(uint8_t *p, __m256 m, int64_t n) {
    uint8_t all[8];
    F32(store_mask)(all, m);
    memcpy(p, all, (size_t)n);
}
FN __m256 F32(load_mask)(const uint8_t *p) {
    __m256i w = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(w, _mm256_setzero_si256()));
}
FN __m256 F32(load_mask_part)(const uint8_t *p, int64_t n) {
    uint8_t all[8] = {0};
    memcpy(all, p, (size_t)n);
    return F32(load_mask)(all);
}

FN __m256 F32(load_f16)(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
FN void F32(store_f16)(uint16_t *p, __m256 a) {
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
FN __m256 F32(load_bf16)(const uint16_t *p) {
    __m256i w = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(w, 16));
}
FN void F32(store_bf16)(uint16_t *p, __m256 a) {
    /* As cafe_to_bf16: add half an ulp less one plus the kept bit's parity; a NaN is made quiet instead. */
    __m256i u = _mm256_castps_si256(a), high = _mm256_srli_epi32(u, 16);
    __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
    __m256i even = _mm256_srli_epi32(_mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    __m256i r = _mm256_blendv_epi8(even, _mm256_or_si256(high, _mm256_set1_epi32(0x40)), nan);
    _mm_storeu_si128((__m128i *)p, _mm_packus_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1)));
}
FN __m256 F32(max_abs)(__m256 a, __m256 b) { return F32(max)(F32(abs)(a), b); }
FN __m256 F32(bf16)(__m256 a) {
    __m256i u = _mm256_add_epi32(_mm256_castps_si256(a), _mm256_set1_epi32(0x8000));
    return _mm256_castsi256_ps(_mm256_and_si256(u, _mm256_set1_epi32((int)0xffff0000)));
}
FN void F32(store_pairs)(void *p, __m256 a, __m256 b) {
    __m256i above = _mm256_and_si256(_mm256_castps_si256(b), _mm256_set1_epi32((int)0xffff0000));
    _mm256_storeu_si256((__m256i *)p, _mm256_or_si256(_mm256_srli_epi32(_mm256_castps_si256(a), 16), above));
}
#define HALF_PART(kind)                                                                                            \
    FN __m256 F32(load_##kind##_part)(const uint16_t *p, int64_t n) {                                              \
        uint16_t all[8] = {0};                                                                                     \
        memcpy(all, p, (size_t)n * sizeof *p);                                                                     \
        return F32(load_##kind)(all);                                                                              \
    }                                                                                                              \
    FN void F32(store_##kind##_part)(uint16_t *p, __m256 a, int64_t n) {                                           \
        uint16_t all[8];                                                                                           \
        F32(store_##kind)(all, a);                                                                                 \
        memcpy(p, all, (size_t)n * sizeof *p);                                                                     \
    }
HALF_PART(f16)
HALF_PART(bf16)
#undef HALF_PART

FN __m256d F32(widen_lo)(__m256 a) { return _mm256_cvtps_pd(_mm256_castps256_ps128(a)); }
FN __m256d F32(widen_hi)(__m256 a) { return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)); }
FN __m256 F32(narrow)(__m256d lo, __m256d hi) { return _mm256_set_m128(_mm256_cvtpd_ps(hi), _mm256_cvtpd_ps(lo)); }

/* Eight rows of eight: pairs, then fours, then the two 128-bit halves change places. */
FN __m256 F32(middle_pairs)(__m256 a) { return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(a), 0xd8)); }
FN __m256 F32(even)(__m256 a, __m256 b) { return F32(middle_pairs)(_mm256_shuffle_ps(a, b, 0x88)); }
FN __m256 F32(odd)(__m256 a, __m256 b) { return F32(middle_pairs)(_mm256_shuffle_ps(a, b, 0xdd)); }
FN __m256 F32(zip_low)(__m256 a, __m256 b) { return _mm256_permute2f128_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b), 0x20); }
FN __m256 F32(zip_high)(__m256 a, __m256 b) { return _mm256_permute2f128_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b), 0x31); }

FN void F32(load_turned)(__m256 *y, const float *x, int64_t ldx) {
    __m256 a[8], b[8];
    UNROLL for (int i = 0; i < 8; i += 2) {
        __m256 r0 = _mm256_loadu_ps(x + i * ldx), r1 = _mm256_loadu_ps(x + (i + 1) * ldx);
        a[i] = _mm256_unpacklo_ps(r0, r1);
        a[i + 1] = _mm256_unpackhi_ps(r0, r1);
    }
    UNROLL for (int i = 0; i < 8; i += 4) {
        b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    UNROLL for (int i = 0; i < 4; i++) {
        y[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
        y[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
    }
}
FN void F32(transpose)(float *y, int64_t ldy, const float *x, int64_t ldx) {
    __m256 v[8];
    F32(load_turned)(v, x, ldx);
    UNROLL for (int i = 0; i < 8; i++) _mm256_storeu_ps(y + i * ldy, v[i]);
}

FN __m256d F64(load)(const double *p) { return _mm256_loadu_pd(p); }
FN __m256d F64(load_part)(const double *p, int64_t n) { return _mm256_maskload_pd(p, F64(first)(n)); }
FN __m256d F64(load_fill)(const double *p, int64_t n, double x) {
    __m256i m = F64(first)(n);
    return _mm256_blendv_pd(_mm256_set1_pd(x), _mm256_maskload_pd(p, m), _mm256_castsi256_pd(m));
}
FN void F64(store)(double *p, __m256d a) { _mm256_storeu_pd(p, a); }
FN void F64(store_part)(double *p, __m256d a, int64_t n) { _mm256_maskstore_pd(p, F64(first)(n), a); }
FN void F64(stream)(double *p, __m256d a) { _mm256_stream_pd(p, a); }
FN __m256d F64(set1)(double x) { return _mm256_set1_pd(x); }
FN __m256d F64(zero)(void) { return _mm256_setzero_pd(); }
FN __m256d F64(iota)(void) { return _mm256_setr_pd(0, 1, 2, 3); }
FN __m256d F64(add)(__m256d a, __m256d b) { return _mm256_add_pd(a, b); }
FN __m256d F64(sub)(__m256d a, __m256d b) { return _mm256_sub_pd(a, b); }
FN __m256d F64(mul)(__m256d a, __m256d b) { return _mm256_mul_pd(a, b); }
FN __m256d F64(div)(__m256d a, __m256d b) { return _mm256_div_pd(a, b); }
FN __m256d F64(sqrt)(__m256d a) { return _mm256_sqrt_pd(a); }
FN __m256d F64(fma)(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
FN __m256d F64(fnma)(__m256d a, __m256d b, __m256d c) { return _mm256_fnmadd_pd(a, b, c); }
FN __m256d F64(max)(__m256d a, __m256d b) { return _mm256_max_pd(a, b); }
FN __m256d F64(min)(__m256d a, __m256d b) { return _mm256_min_pd(a, b); }
FN __m256d F64(neg)(__m256d a) { return _mm256_xor_pd(a, _mm256_set1_pd(-0.0)); }
FN __m256d F64(abs)(__m256d a) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a); }
FN __m256d F64(copysign)(__m256d a, __m256d b) {
    __m256d s = _mm256_set1_pd(-0.0);
    return _mm256_or_pd(_mm256_andnot_pd(s, a), _mm256_and_pd(s, b));
}
FN __m256d F64(round)(__m256d a) { return _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
FN __m256d F64(floor)(__m256d a) { return _mm256_floor_pd(a); }
FN __m256d F64(ceil)(__m256d a) { return _mm256_ceil_pd(a); }
FN __m256d F64(trunc)(__m256d a) { return _mm256_round_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
FN __m256d F64(lt)(__m256d a, __m256d b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
FN __m256d F64(le)(__m256d a, __m256d b) { return _mm256_cmp_pd(a, b, _CMP_LE_OQ); }
FN __m256d F64(gt)(__m256d a, __m256d b) { return _mm256_cmp_pd(a, b, _CMP_GT_OQ); }
FN __m256d F64(ge)(__m256d a, __m256d b) { return _mm256_cmp_pd(a, b, _CMP_GE_OQ); }
FN __m256d F64(eq)(__m256d a, __m256d b) { return _mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
FN __m256d F64(ne)(__m256d a, __m256d b) { return _mm256_cmp_pd(a, b, _CMP_NEQ_UQ); }
FN __m256d F64(select)(__m256d m, __m256d a, __m256d b) { return _mm256_blendv_pd(b, a, m); }
FN __m256d F64(mask_and)(__m256d a, __m256d b) { return _mm256_and_pd(a, b); }
FN __m256d F64(mask_or)(__m256d a, __m256d b) { return _mm256_or_pd(a, b); }
FN __m256d F64(mask_not)(__m256d a) { return _mm256_xor_pd(a, _mm256_castsi256_pd(_mm256_set1_epi32(-1))); }
FN __m256d F64(mask_first)(int64_t n) { return _mm256_castsi256_pd(F64(first)(n)); }
FN int F64(any)(__m256d m) { return _mm256_movemask_pd(m) != 0; }
FN int F64(all)(__m256d m) { return _mm256_movemask_pd(m) == 0xf; }

#define FOLD_PD(op)                                                                              \
    __m128d h = _mm_##op##_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));           \
    return _mm_cvtsd_f64(_mm_##op##_sd(h, _mm_unpackhi_pd(h, h)))
FN double F64(hsum)(__m256d a) { FOLD_PD(add); }
FN double F64(hmax)(__m256d a) { FOLD_PD(max); }
FN double F64(hmin)(__m256d a) { FOLD_PD(min); }
#undef FOLD_PD

/* AVX2 converts no 64-bit integers: adding 2^52 + 2^51 puts a small whole number into the low bits of the mantissa. */
FN __m256d F64(pow2)(__m256d n) {
    __m256i e = _mm256_castpd_si256(_mm256_add_pd(n, _mm256_set1_pd(0x1.8p52 + 1023)));
    return _mm256_castsi256_pd(_mm256_slli_epi64(e, 52));
}
FN __m256d F64(power)(__m256d x) { return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(x), 52)); }
FN __m256d F64(scale)(__m256d a, __m256d n) {
    __m256d half = F64(round)(_mm256_mul_pd(n, _mm256_set1_pd(0.5)));
    return _mm256_mul_pd(_mm256_mul_pd(a, F64(pow2)(half)), F64(pow2)(_mm256_sub_pd(n, half)));
}
FN __m256d F64(exponent)(__m256d a) {
    __m256i e = _mm256_srli_epi64(_mm256_castpd_si256(a), 52);
    __m256d big = _mm256_or_pd(_mm256_castsi256_pd(e), _mm256_set1_pd(0x1p52));
    return _mm256_sub_pd(big, _mm256_set1_pd(0x1p52 + 1023));
}
FN __m256d F64(mantissa)(__m256d a) {
    __m256d low = _mm256_and_pd(a, _mm256_castsi256_pd(_mm256_set1_epi64x(0x000fffffffffffff)));
    return _mm256_or_pd(low, _mm256_set1_pd(1.0));
}
FN void F64(store_mask_part)(uint8_t *p, __m256d m, int64_t n) {
    int bits = _mm256_movemask_pd(m);
    for (int i = 0; i < n; i++) p[i] = (uint8_t)(bits >> i & 1);
}
FN void F64(store_mask)(uint8_t *p, __m256d m) { F64(store_mask_part)(p, m, 4); }
FN __m256d F64(load_mask_part)(const uint8_t *p, int64_t n) {
    uint32_t all = 0;
    memcpy(&all, p, (size_t)n);
    __m256i w = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)all));
    return _mm256_castsi256_pd(_mm256_cmpgt_epi64(w, _mm256_setzero_si256()));
}
FN __m256d F64(load_mask)(const uint8_t *p) { return F64(load_mask_part)(p, 4); }

FN __m256d F64(even)(__m256d a, __m256d b) { return _mm256_permute4x64_pd(_mm256_unpacklo_pd(a, b), 0xd8); }
FN __m256d F64(odd)(__m256d a, __m256d b) { return _mm256_permute4x64_pd(_mm256_unpackhi_pd(a, b), 0xd8); }
FN __m256d F64(zip_low)(__m256d a, __m256d b) { return _mm256_permute2f128_pd(_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b), 0x20); }
FN __m256d F64(zip_high)(__m256d a, __m256d b) { return _mm256_permute2f128_pd(_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b), 0x31); }

FN void F64(load_turned)(__m256d *y, const double *x, int64_t ldx) {
    __m256d r0 = _mm256_loadu_pd(x), r1 = _mm256_loadu_pd(x + ldx);
    __m256d r2 = _mm256_loadu_pd(x + 2 * ldx), r3 = _mm256_loadu_pd(x + 3 * ldx);
    __m256d a = _mm256_unpacklo_pd(r0, r1), b = _mm256_unpackhi_pd(r0, r1);
    __m256d c = _mm256_unpacklo_pd(r2, r3), d = _mm256_unpackhi_pd(r2, r3);
    y[0] = _mm256_permute2f128_pd(a, c, 0x20);
    y[1] = _mm256_permute2f128_pd(b, d, 0x20);
    y[2] = _mm256_permute2f128_pd(a, c, 0x31);
    y[3] = _mm256_permute2f128_pd(b, d, 0x31);
}
FN void F64(transpose)(double *y, int64_t ldy, const double *x, int64_t ldx) {
    __m256d v[4];
    F64(load_turned)(v, x, ldx);
    UNROLL for (int i = 0; i < 4; i++) _mm256_storeu_pd(y + i * ldy, v[i]);
}

#ifndef CAFE_FENCE
#define CAFE_FENCE
FN void v_fence(void) { _mm_sfence(); }
#endif
