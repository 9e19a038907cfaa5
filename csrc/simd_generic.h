/* The vocabulary in plain C11: loops over a small array, which a compiler turns into what vectors the target has. No FMA: fma
 * rounds twice. As many lanes as AVX2, so that sums fold in the same order. The two types are one text (simd_generic.inc). */
#ifndef CAFE_SIMD_GENERIC_H
#define CAFE_SIMD_GENERIC_H

#include "half.h"

#define REAL f32
#define BITS int32_t
#define LANES 8
#define MANTISSA_BITS 23
#define BIAS 127
#define BIG 0x1.8p23f
#include "simd_generic.inc"
#undef REAL
#undef BITS
#undef LANES
#undef MANTISSA_BITS
#undef BIAS
#undef BIG

#define REAL f64
#define BITS int64_t
#define LANES 4
#define MANTISSA_BITS 52
#define BIAS 1023
#define BIG 0x1.8p52
#include "simd_generic.inc"
#undef REAL
#undef BITS
#undef LANES
#undef MANTISSA_BITS
#undef BIAS
#undef BIG

#define EACH for (int i = 0; i < 8; i++)
FN f32_vec f32_load_f16(const uint16_t *p) { f32_vec r; EACH r.x[i] = cafe_from_f16(p[i]); return r; }
FN f32_vec f32_load_bf16(const uint16_t *p) { f32_vec r; EACH r.x[i] = cafe_from_bf16(p[i]); return r; }
FN f32_vec f32_load_f16_part(const uint16_t *p, int64_t n) { f32_vec r; EACH r.x[i] = i < n ? cafe_from_f16(p[i]) : 0; return r; }
FN f32_vec f32_load_bf16_part(const uint16_t *p, int64_t n) { f32_vec r; EACH r.x[i] = i < n ? cafe_from_bf16(p[i]) : 0; return r; }
FN void f32_store_f16(uint16_t *p, f32_vec a) { EACH p[i] = cafe_to_f16(a.x[i]); }
FN void f32_store_bf16(uint16_t *p, f32_vec a) { EACH p[i] = cafe_to_bf16(a.x[i]); }
FN void f32_store_f16_part(uint16_t *p, f32_vec a, int64_t n) { EACH if (i < n) p[i] = cafe_to_f16(a.x[i]); }
FN void f32_store_bf16_part(uint16_t *p, f32_vec a, int64_t n) { EACH if (i < n) p[i] = cafe_to_bf16(a.x[i]); }
FN f32_vec f32_max_abs(f32_vec a, f32_vec b) { return f32_max(f32_abs(a), b); }
FN f32_vec f32_bf16(f32_vec a) {
    uint32_t u[8];
    memcpy(u, a.x, sizeof u);
    EACH u[i] = (u[i] + 0x8000u) & 0xffff0000u;
    memcpy(a.x, u, sizeof u);
    return a;
}
FN void f32_store_pairs(void *p, f32_vec a, f32_vec b) {
    uint32_t u[8], v[8];
    memcpy(u, a.x, sizeof u), memcpy(v, b.x, sizeof v);
    EACH v[i] = (v[i] & 0xffff0000u) | u[i] >> 16;
    memcpy(p, v, sizeof v);
}
#undef EACH

FN f64_vec f32_widen_lo(f32_vec a) { f64_vec r; for (int i = 0; i < 4; i++) r.x[i] = a.x[i]; return r; }
FN f64_vec f32_widen_hi(f32_vec a) { f64_vec r; for (int i = 0; i < 4; i++) r.x[i] = a.x[i + 4]; return r; }
FN f32_vec f32_narrow(f64_vec lo, f64_vec hi) {
    f32_vec r;
    for (int i = 0; i < 4; i++) r.x[i] = (float)lo.x[i], r.x[i + 4] = (float)hi.x[i];
    return r;
}
FN void v_fence(void) {}

#endif
