/* The vocabulary as two AVX2 halves: AVX-512's sixteen and eight lanes on a CPU that lacks it. Same lanes, same order of folding,
 * same FMAs: a kernel gives the same bits here and on AVX-512, which is how sixteen-lane logic is tested everywhere. */
#define F32(word) JOIN2(half32, word)
#define F64(word) JOIN2(half64, word)
#include "simd_avx2.h"
#undef F32
#undef F64

#define REAL f32
#define HALF(word) JOIN2(half32, word)
#define HALF_LANES 8
#include "simd_pair.inc"
#undef REAL
#undef HALF
#undef HALF_LANES

#define REAL f64
#define HALF(word) JOIN2(half64, word)
#define HALF_LANES 4
#include "simd_pair.inc"
#undef REAL
#undef HALF
#undef HALF_LANES

#define HALF_KIND(kind)                                                                                                   \
    FN f32_vec f32_load_##kind(const uint16_t *p) { return (f32_vec){half32_load_##kind(p), half32_load_##kind(p + 8)}; } \
    FN f32_vec f32_load_##kind##_part(const uint16_t *p, int64_t n) {                                                     \
        return (f32_vec){half32_load_##kind##_part(p, f32_low(n)), half32_load_##kind##_part(p + f32_low(n), f32_high(n))}; \
    }                                                                                                                     \
    FN void f32_store_##kind(uint16_t *p, f32_vec a) { half32_store_##kind(p, a.lo), half32_store_##kind(p + 8, a.hi); }  \
    FN void f32_store_##kind##_part(uint16_t *p, f32_vec a, int64_t n) {                                                  \
        half32_store_##kind##_part(p, a.lo, f32_low(n));                                                                  \
        half32_store_##kind##_part(p + f32_low(n), a.hi, f32_high(n));                                                    \
    }
HALF_KIND(f16)
HALF_KIND(bf16)
#undef HALF_KIND

FN f32_vec f32_max_abs(f32_vec a, f32_vec b) { return (f32_vec){half32_max_abs(a.lo, b.lo), half32_max_abs(a.hi, b.hi)}; }
FN f32_vec f32_bf16(f32_vec a) { return (f32_vec){half32_bf16(a.lo), half32_bf16(a.hi)}; }
FN void f32_store_pairs(void *p, f32_vec a, f32_vec b) { half32_store_pairs(p, a.lo, b.lo), half32_store_pairs((char *)p + 32, a.hi, b.hi); }

FN f64_vec f32_widen_lo(f32_vec a) { return (f64_vec){half32_widen_lo(a.lo), half32_widen_hi(a.lo)}; }
FN f64_vec f32_widen_hi(f32_vec a) { return (f64_vec){half32_widen_lo(a.hi), half32_widen_hi(a.hi)}; }
FN f32_vec f32_narrow(f64_vec lo, f64_vec hi) { return (f32_vec){half32_narrow(lo.lo, lo.hi), half32_narrow(hi.lo, hi.hi)}; }
