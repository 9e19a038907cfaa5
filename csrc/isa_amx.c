#include "dispatch.h"
#if CAFE_HAVE_AMX
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("amx-tile,amx-bf16,avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("amx-tile,amx-bf16,avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c")
#endif

/* AVX-512's tables, and matmul in pieces on tiles; of the bodies only what that needs. */
#pragma GCC diagnostic ignored "-Wunused-function"
#define ISA amx
#define REGISTERS 32
#include "simd.h"
#include "simd_avx512.h"
#include "tiles_amx.h"
#include "cafe.h"
#include "threads.h"
#define REAL f32
#include "bodies/functions.inc"
#include "bodies/unary.inc"
#include "bodies/matmul.inc"
#include "bodies/split.inc"
#include "bodies/split_few.inc"
#undef REAL

const struct cafe_isa cafe_isa_amx = {"amx", &cafe_table_f32_avx512, &cafe_table_f64_avx512, &cafe_table_any_avx512, &cafe_split_f32_amx, 1};

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
