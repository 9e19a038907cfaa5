/* The vector vocabulary: what a kernel's body may say, for either type and for every instruction set.
 *
 * A body is written once. It says T (the element), V (a vector), M (a mask), W (lanes) and v_add(a, b); REAL, which is f32 or
 * f64, decides what these mean at the place where they stand, because a macro expands where it is used:
 *
 *     #define REAL f32
 *     #include "bodies/softmax.inc"        V is f32_vec, v_add is f32_add, KERNEL(softmax_rows) is cafe_softmax_rows_f32_avx2
 *     #undef REAL
 *
 * An instance (simd_generic.h, simd_avx2.h, simd_avx512.h, simd_pair.h) defines the same words for f32 and f64; which one is
 * INSTANCE's doing (isa_*.c). The words, each `static inline`:
 *
 *   load store           W elements at p, any alignment            load_part store_part   the first n (0..W) only, the rest is 0
 *   stream               past the caches; p on a vector's bound    load_fill(p, n, x)     the first n, the rest is x
 *   head(p)              how many elements come before p's first vector bound
 *   fetch fetch_read     p's cache line will be written, or read, but not at once; p may lie outside of what there is
 *   fetch_later          the same of what is read later still: as far as the second cache
 *   set1 zero            x in every lane                           iota                   0 1 2 ...
 *   add sub mul div sqrt                                           neg abs copysign(a, b) a's size, b's sign
 *   fma(a, b, c)         a b + c, fused where there is FMA         fnma(a, b, c)          c - a b
 *   max min              a > b ? a : b, so b if either is NaN      round                  to even; |x| < 2^22 (f64: 2^51)
 *   floor ceil trunc     to a whole number: down, up, toward zero; any x
 *   lt le gt ge eq ne    IEEE: NaN compares unequal                select(m, a, b)        m ? a : b
 *   m_and m_or m_not m_first(n)                                    any all                is there a lane, are all lanes
 *   hsum hmax hmin       folded in halves: i with i + W/2, i + W/4, ... : a fixed order, the same for equal W
 *   pow2(n)              2^n for whole n in [-126, 127] (f64: [-1022, 1023])
 *   power(x)             2^n for x = whole + n: whole is 1.5 2^23 + 127 (f64: 1.5 2^52 + 1023), so n stands in the bits of an exponent
 *   scale(x, n)          x 2^n for whole |n| <= 252 (f64: 2044), rounded once, so that subnormals come out right
 *   exponent mantissa    x = mantissa 2^exponent, mantissa in [1, 2), for positive normal x
 *   store_mask load_mask bytes of 0 and 1, and their _part(…, n)
 *   transpose(y, ldy, x, ldx)  a block of BLOCK x BLOCK elements, y[j][i] = x[i][j]
 *   even(a, b) odd(a, b)       every second element of a and, behind them, of b
 *   zip_low(a, b) zip_high     a and b in turn, a's first: what the lower and the upper halves of both give
 *   load_turned(v, p, ldp)     the columns of W x W elements: v[j]'s lane i is p[i * ldp + j]
 *
 * and for f32 alone
 *   load_f16 store_f16 load_bf16 store_bf16     widened and rounded to nearest even, and their _part(…, n)
 *   widen_lo widen_hi    the halves of an f32 vector as two f64 vectors; narrow(lo, hi) back
 *   max_abs(a, b)        |a| > b ? |a| : b, b not negative; b if a is NaN
 *   bf16(x)              x to eight bits, the nearest, a tie away from zero; store_pairs(p, x, y): dwords of x's upper half and, above it, y's
 *
 * "Same bits" rests on two rules. A tail is computed by the body's words on a partial load, never by a scalar loop with other
 * arithmetic. And a contraction that is not written (fma) does not happen: -ffp-contract=off.
 */
#ifndef CAFE_SIMD_H
#define CAFE_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "coefficients.h"

#define JOIN2_(a, b) a##_##b
#define JOIN2(a, b) JOIN2_(a, b)
#define JOIN3_(a, b, c) a##_##b##_##c
#define JOIN3(a, b, c) JOIN3_(a, b, c)
#define JOIN4_(a, b, c, d) a##_##b##_##c##_##d
#define JOIN4(a, b, c, d) JOIN4_(a, b, c, d)

/* FN is inlined wherever it stands. HEAVY is for what is long and stands in many places (exp and its family, loops over a whole array):
 * inlined too, except in the generic instance, whose arrays in structs cost a compiler minutes. PAST_CACHES: v_stream is more than v_store.
 * FUSED: v_fma rounds once. */
#if defined(__GNUC__)
#define FN static inline __attribute__((always_inline, unused))
#if defined(PLAIN)
#define HEAVY static __attribute__((noinline, unused))
#define UNROLL
#else
#define HEAVY FN
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define v_fetch(p) __builtin_prefetch(p, 1, 2)
#define v_fetch_read(p) __builtin_prefetch(p, 0, 3)
#define v_fetch_later(p) __builtin_prefetch(p, 0, 2)
#else
#define v_fetch(p) ((void)(p))
#define v_fetch_read(p) ((void)(p))
#define v_fetch_later(p) ((void)(p))
#define FN static inline
#define HEAVY static
#define UNROLL
#endif
#if defined(PLAIN)
#define PAST_CACHES 0
#define FUSED 0
#else
#define PAST_CACHES 1
#define FUSED 1
#endif

typedef float f32_t;
typedef double f64_t;

static const float f32_whole = 0x1.8p23f + 127;
static const double f64_whole = 0x1.8p52 + 1023;

#define T JOIN2(REAL, t)
#define V JOIN2(REAL, vec)
#define M JOIN2(REAL, mask)
#define W JOIN2(REAL, lanes)
#define BLOCK JOIN2(REAL, block)

#define v_load JOIN2(REAL, load)
#define v_load_part JOIN2(REAL, load_part)
#define v_load_fill JOIN2(REAL, load_fill)
#define v_store JOIN2(REAL, store)
#define v_store_part JOIN2(REAL, store_part)
#define v_stream JOIN2(REAL, stream)
#define v_head(p) ((int64_t)(-(uintptr_t)(p) / sizeof(T) % W))
#define v_set1 JOIN2(REAL, set1)
#define v_zero JOIN2(REAL, zero)
#define v_iota JOIN2(REAL, iota)
#define v_add JOIN2(REAL, add)
#define v_sub JOIN2(REAL, sub)
#define v_mul JOIN2(REAL, mul)
#define v_div JOIN2(REAL, div)
#define v_sqrt JOIN2(REAL, sqrt)
#define v_fma JOIN2(REAL, fma)
#define v_fnma JOIN2(REAL, fnma)
#define v_max JOIN2(REAL, max)
#define v_min JOIN2(REAL, min)
#define v_neg JOIN2(REAL, neg)
#define v_abs JOIN2(REAL, abs)
#define v_copysign JOIN2(REAL, copysign)
#define v_round JOIN2(REAL, round)
#define v_floor JOIN2(REAL, floor)
#define v_ceil JOIN2(REAL, ceil)
#define v_trunc JOIN2(REAL, trunc)
#define v_lt JOIN2(REAL, lt)
#define v_le JOIN2(REAL, le)
#define v_gt JOIN2(REAL, gt)
#define v_ge JOIN2(REAL, ge)
#define v_eq JOIN2(REAL, eq)
#define v_ne JOIN2(REAL, ne)
#define v_select JOIN2(REAL, select)
#define m_and JOIN2(REAL, mask_and)
#define m_or JOIN2(REAL, mask_or)
#define m_not JOIN2(REAL, mask_not)
#define m_first JOIN2(REAL, mask_first)
#define m_any JOIN2(REAL, any)
#define m_all JOIN2(REAL, all)
#define v_hsum JOIN2(REAL, hsum)
#define v_hmax JOIN2(REAL, hmax)
#define v_hmin JOIN2(REAL, hmin)
#define v_pow2 JOIN2(REAL, pow2)
#define v_power JOIN2(REAL, power)
#define v_scale JOIN2(REAL, scale)
#define v_exponent JOIN2(REAL, exponent)
#define v_mantissa JOIN2(REAL, mantissa)
#define v_store_mask JOIN2(REAL, store_mask)
#define v_store_mask_part JOIN2(REAL, store_mask_part)
#define v_load_mask JOIN2(REAL, load_mask)
#define v_load_mask_part JOIN2(REAL, load_mask_part)
#define v_transpose JOIN2(REAL, transpose)
#define v_load_turned JOIN2(REAL, load_turned)
#define v_even JOIN2(REAL, even)
#define v_odd JOIN2(REAL, odd)
#define v_zip_low JOIN2(REAL, zip_low)
#define v_zip_high JOIN2(REAL, zip_high)
#define v_max_abs JOIN2(REAL, max_abs)
#define v_bf16 JOIN2(REAL, bf16)
#define v_store_pairs JOIN2(REAL, store_pairs)

/* A kernel's name in the table, and a helper's name, which is private to the instance and the type. */
#define KERNEL(name) JOIN4(cafe, name, REAL, ISA)
#define LOCAL(name) JOIN2(REAL, name)

#endif
