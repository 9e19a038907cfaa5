#include "dispatch.h"
#if CAFE_HAVE_AVX512
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c")
#endif

#define ISA avx512
#define REGISTERS 32
#define INSTANCE "../simd_avx512.h"
#include "bodies/all.inc"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
