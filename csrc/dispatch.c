#include "dispatch.h"

#include <stdio.h>
#include <string.h>

#include "cafe.h"

#if CAFE_HAVE_AVX2
#include <cpuid.h>
#endif
#if CAFE_HAVE_AMX
#include <sys/syscall.h>
#include <unistd.h>
#endif

static const struct cafe_isa *chosen = &cafe_isa_generic;
const struct cafe_table_f32 *cafe_f32 = &cafe_table_f32_generic;
const struct cafe_table_f64 *cafe_f64 = &cafe_table_f64_generic;
const struct cafe_table_any *cafe_any = &cafe_table_any_generic;
const struct cafe_split *cafe_split_f32;
int cafe_has_tiles;

static int has_generic(void) { return 1; }

#if CAFE_HAVE_AVX2
/* Intel since Haswell (2013), AMD since Excavator and Zen (2015). Compilers differ in knowing the name "f16c": ask the CPU. */
static int has_avx2(void) {
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

#if CAFE_HAVE_AVX512
/* Intel servers since Skylake-SP (2017), AMD since Zen 4 (2022). */
static int has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif

#if CAFE_HAVE_AMX
/* Intel servers since Sapphire Rapids (2023), under a Linux that lets this process use them (5.16; by now, or on being asked). */
static int has_amx(void) {
    enum { TILE = 1 << 24, BF16 = 1 << 22, ASK = 0x1023, TILES = 18 }; /* of CPUID 7; ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
    unsigned a, b, c, d;
    const int there = has_avx512() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && d & TILE && d & BF16;
    return there && syscall(SYS_arch_prctl, ASK, TILES) == 0;
}
#endif

/* From what anyone has to the best. avx2x2 is for tests: the order of the list keeps it from being chosen unasked. */
static const struct { const struct cafe_isa *isa; int (*supported)(void); } known[] = {
#if CAFE_HAVE_AVX2
    {&cafe_isa_avx2x2, has_avx2},
#endif
    {&cafe_isa_generic, has_generic},
#if CAFE_HAVE_AVX2
    {&cafe_isa_avx2, has_avx2},
#endif
#if CAFE_HAVE_AVX512
    {&cafe_isa_avx512, has_avx512},
#endif
#if CAFE_HAVE_AMX
    {&cafe_isa_amx, has_amx},
#endif
};
enum { KNOWN = sizeof known / sizeof known[0] };

int cafe_select_isa(const char *name) {
    const struct cafe_isa *found = NULL;
    for (int i = 0; i < KNOWN; i++)
        if ((!name || !*name || !strcmp(name, known[i].isa->name)) && known[i].supported()) found = known[i].isa;
    if (!found) return CAFE_UNKNOWN_ISA;
    chosen = found;
    cafe_f32 = found->f32;
    cafe_f64 = found->f64;
    cafe_any = found->any;
    cafe_split_f32 = found->split;
    cafe_has_tiles = found->tiles;
    return CAFE_OK;
}

const char *cafe_isa(void) { return chosen->name; }

const char *cafe_isas(void) {
    static char names[64]; /* written once with the same text whoever comes first */
    size_t used = 0;
    for (int i = 0; i < KNOWN; i++)
        if (known[i].supported()) used += (size_t)snprintf(names + used, sizeof names - used, used ? " %s" : "%s", known[i].isa->name);
    return names;
}

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

const char *cafe_build_info(void) {
    return "compiler: " COMPILER "\nflags: " CAFE_FLAGS "\nopenmp: " CAFE_OPENMP_FLAGS "\nisas: " CAFE_ISAS "\napi: " CAFE_API;
}
