/* Tiles in memory: what the hardware's do, so that kernels written for these are tested anywhere. Slow. */
#ifndef CAFE_TILES_PLAIN_H
#define CAFE_TILES_PLAIN_H

#include <stdint.h>
#include <string.h>

struct cafe_tile {
    int rows;
    uint32_t x[16][16];
};

/* Eight tiles of sixteen rows, but 0, 1 and 4. */
static inline void cafe_tiles_begin(struct cafe_tile *tiles, int rows) {
    for (int t = 0; t < 8; t++) tiles[t].rows = t == 0 || t == 1 || t == 4 ? rows : 16;
}

static inline void cafe_tile_zero(struct cafe_tile *t) { memset(t->x, 0, sizeof t->x); }

static inline void cafe_tile_load(struct cafe_tile *t, const void *p, int64_t apart) {
    for (int i = 0; i < t->rows; i++) memcpy(t->x[i], (const char *)p + i * apart, 64);
}

static inline void cafe_tile_store(const struct cafe_tile *t, void *p, int64_t apart) {
    for (int i = 0; i < t->rows; i++) memcpy((char *)p + i * apart, t->x[i], 64);
}

static inline float cafe_tile_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* c[i][j] += sum over p of the lower halves' product and the upper ones': each its own chain, then these two, then c. */
static inline void cafe_tile_multiply(struct cafe_tile *c, const struct cafe_tile *a, const struct cafe_tile *b) {
    for (int i = 0; i < c->rows; i++) {
        float low[16] = {0}, high[16] = {0};
        for (int p = 0; p < 16; p++)
            for (int j = 0; j < 16; j++) {
                low[j] += cafe_tile_float(a->x[i][p] << 16) * cafe_tile_float(b->x[p][j] << 16);
                high[j] += cafe_tile_float(a->x[i][p] & 0xffff0000u) * cafe_tile_float(b->x[p][j] & 0xffff0000u);
            }
        for (int j = 0; j < 16; j++) {
            const float sum = cafe_tile_float(c->x[i][j]) + (low[j] + high[j]);
            memcpy(&c->x[i][j], &sum, sizeof sum);
        }
    }
}

#endif

#define tiles_begin(rows) ((void)(rows))
#define tiles_end() ((void)0)
#define tiles_arithmetic() 0u
#define tiles_arithmetic_end(before) ((void)(before))
#define tile_piece(v) v_bf16(v)
#define TILES(rows) struct cafe_tile tiles[8]; cafe_tiles_begin(tiles, rows)
#define tile_zero(t) cafe_tile_zero(tiles + (t))
#define tile_load(t, p, apart) cafe_tile_load(tiles + (t), p, apart)
#define tile_store(t, p, apart) cafe_tile_store(tiles + (t), p, apart)
#define tile_multiply(c, a, b) cafe_tile_multiply(tiles + (c), tiles + (a), tiles + (b))
