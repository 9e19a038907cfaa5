#include "dispatch.h"
#if CAFE_HAVE_AVX2
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif

#define ISA avx2x2
#define REGISTERS 32
#define INSTANCE "../simd_pair.h"
#include "bodies/all.inc"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
