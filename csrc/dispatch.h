/* The table of kernels: one struct of function pointers a type, one table an instruction set, chosen once (cafe_select_isa).
 *
 * An entry point (softmax.c) splits its work over threads and calls cafe_f32->softmax_rows(…). */
#ifndef CAFE_DISPATCH_H
#define CAFE_DISPATCH_H

#include <stdint.h>

#include "attention.h"
#include "config.h"
#include "conv.h"
#include "matmul.h"
#include "optim.h"
#include "rnn.h"
#include "winograd.h"

#define KERNEL_ROW(name, parameters) void (*name) parameters;
#define T float
struct cafe_table_f32 {
#include "table.def"
};
#undef T
#define T double
struct cafe_table_f64 {
#include "table.def"
};
#undef T
struct cafe_table_any {
#include "table_any.def"
};
#undef KERNEL_ROW

/* matmul in pieces (bodies/split.inc), and of few rows by blocks of K (bodies/split_few.inc). */
struct cafe_split {
    int64_t depth; /* of a block */
    void (*product)(float *c, const float *a, const float *b, const float *bias, const struct cafe_matmul *p, float *scratch);
    void (*block)(float *c, float *largest, const float *a, const float *b, const struct cafe_matmul *p, float *scratch);
    void (*fold)(float *c, float *sums, int64_t blocks, const float *a, const float *b, const float *bias, const struct cafe_matmul *p, float *scratch);
};

/* An instruction set: its name, whether this CPU has it, its tables. */
struct cafe_isa {
    const char *name;
    const struct cafe_table_f32 *f32;
    const struct cafe_table_f64 *f64;
    const struct cafe_table_any *any;
    const struct cafe_split *split; /* bodies/split.inc; quick where `tiles` are hardware */
    int tiles;
};

extern const struct cafe_isa cafe_isa_generic;
extern const struct cafe_table_f32 cafe_table_f32_generic;
extern const struct cafe_table_f64 cafe_table_f64_generic;
extern const struct cafe_table_any cafe_table_any_generic;
#if CAFE_HAVE_AVX2
extern const struct cafe_isa cafe_isa_avx2, cafe_isa_avx2x2;
#endif
#if CAFE_HAVE_AVX512
extern const struct cafe_isa cafe_isa_avx512;
extern const struct cafe_table_f32 cafe_table_f32_avx512;
extern const struct cafe_table_f64 cafe_table_f64_avx512;
extern const struct cafe_table_any cafe_table_any_avx512;
#endif
#if CAFE_HAVE_AMX
extern const struct cafe_isa cafe_isa_amx;
#endif

/* The chosen ones; the generic ones before cafe_select_isa. */
extern const struct cafe_table_f32 *cafe_f32;
extern const struct cafe_table_f64 *cafe_f64;
extern const struct cafe_table_any *cafe_any;
extern const struct cafe_split *cafe_split_f32;
extern int cafe_has_tiles;

#endif
