/* Random numbers by counter: Philox 4x64 with ten rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * 2011), as NumPy has it: word i is the (i mod 4)th of block first + i / 4 + 1, a function of key and counter alone. */
#ifndef REAL
#include <math.h>
#include <string.h>

#include "cafe.h"
#include "entry.h"
#include "threads.h"

enum { WORDS = 4, SIDE = 4 /* blocks side by side: one's multiplications wait for each other */, RUN = SIDE * WORDS };

static uint64_t multiply_high(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    return (uint64_t)(((unsigned __int128)a * b) >> 64);
#else
    uint64_t low = UINT32_MAX, cross = (a & low) * (b & low) >> 32, m = (a >> 32) * (b & low) + cross, k = (a & low) * (b >> 32) + (m & low);
    return (a >> 32) * (b >> 32) + (m >> 32) + (k >> 32);
#endif
}

/* The words of SIDE blocks from `counter` on. */
static void philox(uint64_t *words, uint64_t key, uint64_t counter) {
    uint64_t x[SIDE][WORDS], k0 = key, k1 = 0;
    for (int s = 0; s < SIDE; s++) x[s][0] = counter + (uint64_t)s, x[s][1] = x[s][2] = x[s][3] = 0;
    for (int round = 0; round < 10; round++) {
        for (int s = 0; s < SIDE; s++) {
            uint64_t a = x[s][0], c = x[s][2];
            x[s][0] = multiply_high(0xCA5A826395121157u, c) ^ x[s][1] ^ k0;
            x[s][1] = 0xCA5A826395121157u * c;
            x[s][2] = multiply_high(0xD2E7470EE14C6C93u, a) ^ x[s][3] ^ k1;
            x[s][3] = 0xD2E7470EE14C6C93u * a;
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

/* Items are runs of RUN words. */
static void uniform_task(void *context, int64_t begin, int64_t end) {
    struct random_call *c = context;
    uint64_t words[RUN];
    for (int64_t run = begin; run < end; run++) {
        philox(words, c->key, c->first + 1 + (uint64_t)run * SIDE);
        double *y = (double *)c->y + run * RUN;
        for (int i = 0; i < cafe_min(RUN, c->n - run * RUN); i++) {
            double value = c->low + (c->high - c->low) * ((double)(words[i] >> 11) * 0x1p-53);
            y[i] = value < c->high || c->high <= c->low ? value : c->low; /* rounding may reach the end */
        }
    }
}

void cafe_uniform(double *y, int64_t n, uint64_t key, uint64_t first, double low, double high) {
    struct random_call c = {y, n, key, first, low, high, 0};
    cafe_for(cafe_ceil_div(n, RUN), CAFE_GRAIN / RUN, n, CAFE_SERIAL_EXP, uniform_task, &c);
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
    uint64_t words[RUN], from = (uint64_t)ceil(c->low * 0x1p53);
    T kept = (T)c->kept;
    for (int64_t run = begin; run < end; run++) {
        philox(words, c->key, c->first + 1 + (uint64_t)run * SIDE);
        T *y = (T *)c->y + run * RUN;
        int64_t n = cafe_min(RUN, c->n - run * RUN);
        for (int64_t i = 0; i < n; i++) y[i] = words[i] >> 11 >= from ? kept : 0;
    }
}

void ENTRY(keep_mask)(T *y, int64_t n, uint64_t key, uint64_t first, double p_drop, double kept) {
    struct random_call c = {y, n, key, first, p_drop, 0, kept};
    cafe_for(cafe_ceil_div(n, RUN), CAFE_GRAIN / RUN, n, CAFE_SERIAL_EXP, ENTRY(keep_mask_task), &c);
}

#endif
