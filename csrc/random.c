/* Random numbers by counter: Philox 4x64 with ten rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * 2011), as NumPy has it: word i is the (i mod 4)th of block first + i / 4 + 1, a function of key and counter alone. */
#ifndef REAL
#include <math.h>
#include <string.h>

#include "dispatch.h"
#include "cafe.h"
#include "entry.h"
#include "threads.h"

/* Blocks go side by side: one's multiplications wait for each other. Two are what sixteen registers hold: four take twice as long a word. */
enum { WORDS = 4, SIDE = 2, RUN = SIDE * WORDS };

#if defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 2")
#else
#define UNROLL
#endif

/* The lower half of a b, and the upper one. */
static uint64_t multiply(uint64_t *high, uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)a * b;
    *high = (uint64_t)(product >> 64);
    return (uint64_t)product;
#else
    uint64_t low = UINT32_MAX, cross = (a & low) * (b & low) >> 32, m = (a >> 32) * (b & low) + cross, k = (a & low) * (b >> 32) + (m & low);
    *high = (a >> 32) * (b >> 32) + (m >> 32) + (k >> 32);
    return a * b;
#endif
}

/* The words of SIDE blocks from `counter` on. */
static void philox(uint64_t *words, uint64_t key, uint64_t counter) {
    uint64_t x[SIDE][WORDS], k0 = key, k1 = 0;
    for (int s = 0; s < SIDE; s++) x[s][0] = counter + (uint64_t)s, x[s][1] = x[s][2] = x[s][3] = 0;
    for (int round = 0; round < 10; round++) {
        UNROLL for (int s = 0; s < SIDE; s++) {
            uint64_t above, above_too, c = multiply(&above, 0xCA5A826395121157u, x[s][2]);
            uint64_t a = multiply(&above_too, 0xD2E7470EE14C6C93u, x[s][0]);
            x[s][0] = above ^ x[s][1] ^ k0;
            x[s][1] = c;
            x[s][2] = above_too ^ x[s][3] ^ k1;
            x[s][3] = a;
        }
        k0 += 0x9E3779B97F4A7C15u;
        k1 += 0xBB67AE8584CAA73Bu;
    }
    memcpy(words, x, sizeof x);
}

struct random_call {
    void *y;
    int64_t n;
    uint64_t key, first;
    double low, high, kept;
};

/* n numbers of a run to their place: all of them but at the end. */
static inline void put(void *y, const void *made, int64_t n, size_t size) {
    if (n == RUN) memcpy(y, made, RUN * size);
    else memcpy(y, made, (size_t)n * size);
}

/* Items are runs of RUN words. */
static void uniform_task(void *context, int64_t begin, int64_t end) {
    struct random_call *c = context;
    uint64_t words[RUN];
    double made[RUN], low = c->low, high = c->high;
    for (int64_t run = begin; run < end; run++) {
        philox(words, c->key, c->first + 1 + (uint64_t)run * SIDE);
        for (int i = 0; i < RUN; i++) {
            double value = low + (high - low) * ((double)(int64_t)(words[i] >> 11) * 0x1p-53);
            made[i] = value < high || high <= low ? value : low; /* rounding may reach the end */
        }
        put((double *)c->y + run * RUN, made, cafe_min(RUN, c->n - run * RUN), sizeof *made);
    }
}

void cafe_uniform(double *y, int64_t n, uint64_t key, uint64_t first, double low, double high) {
    struct random_call c = {y, n, key, first, low, high, 0};
    cafe_for(cafe_ceil_div(n, RUN), CAFE_GRAIN / RUN, n, CAFE_SERIAL_EXP, uniform_task, &c);
}

static void normal_task(void *context, int64_t begin, int64_t end) {
    struct random_call *c = context;
    double *u = c->y;
    cafe_any->normal(u + begin, u + c->n + begin, end - begin, c->low, c->high);
}

void cafe_normal(double *y, int64_t pairs, uint64_t key, uint64_t first, double mean, double std) {
    struct random_call c = {y, pairs, key, first, mean, std, 0};
    cafe_uniform(y, 2 * pairs, key, first, 0, 1);
    cafe_for(pairs, CAFE_GRAIN, pairs, CAFE_SERIAL_EXP / 4, normal_task, &c);
}

#define REAL f32
#include "random.c"
#undef REAL
#define REAL f64
#include "random.c"
#undef REAL
#else

/* A word is kept when its 53 bits, as a fraction, reach `low`: the same as a comparison of whole numbers. */
static void ENTRY(keep_mask_task)(void *context, int64_t begin, int64_t end) {
    struct random_call *c = context;
    uint64_t words[RUN];
    int64_t from = (int64_t)ceil(c->low * 0x1p53);
    T made[RUN], either[2] = {0, (T)c->kept};
    for (int64_t run = begin; run < end; run++) {
        philox(words, c->key, c->first + 1 + (uint64_t)run * SIDE);
        for (int i = 0; i < RUN; i++) made[i] = either[(int64_t)(words[i] >> 11) >= from]; /* no branch: who could guess it? */
        put((T *)c->y + run * RUN, made, cafe_min(RUN, c->n - run * RUN), sizeof *made);
    }
}

void ENTRY(keep_mask)(T *y, int64_t n, uint64_t key, uint64_t first, double p_drop, double kept) {
    struct random_call c = {y, n, key, first, p_drop, 0, kept};
    cafe_for(cafe_ceil_div(n, RUN), CAFE_GRAIN / RUN, n, CAFE_SERIAL_EXP, ENTRY(keep_mask_task), &c);
}

#endif
