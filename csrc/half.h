/* Half precision and bfloat16, one number at a time: widening is exact, narrowing rounds to nearest, ties to even. */
#ifndef CAFE_HALF_H
#define CAFE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t cafe_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float cafe_float(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float cafe_from_bf16(uint16_t h) { return cafe_float((uint32_t)h << 16); }

static inline uint16_t cafe_to_bf16(float x) {
    uint32_t u = cafe_bits(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((u >> 16) | 0x40u); /* a NaN stays one, made quiet */
    return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

static inline float cafe_from_f16(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00u) return cafe_float(sign | 0x7f800000u | ((rest & 0x3ffu) << 13) | (rest > 0x7c00u ? 0x400000u : 0));
    if (rest >= 0x400u) return cafe_float(sign | ((rest << 13) + (112u << 23)));
    float tiny = (float)rest * 0x1p-24f; /* subnormal or zero: a multiple of 2^-24, exact in f32 */
    return cafe_float(sign | cafe_bits(tiny));
}

static inline uint16_t cafe_to_f16(float x) {
    uint32_t u = cafe_bits(x), sign = (u >> 16) & 0x8000u;
    u &= 0x7fffffffu;
    if (u > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | ((u >> 13) & 0x3ffu));
    if (u >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and more round to infinity */
    if (u >= 0x38800000u) { /* normal halves: rebias, then round the 13 bits that go */
        u -= 112u << 23;
        return (uint16_t)(sign | ((u + 0xfffu + ((u >> 13) & 1u)) >> 13));
    }
    /* Below 2^-14 adding 0.5 leaves the half's bits, rounded to even by the addition, at the bottom of the sum. */
    return (uint16_t)(sign | (cafe_bits(cafe_float(u) + 0.5f) - 0x3f000000u));
}

#endif
