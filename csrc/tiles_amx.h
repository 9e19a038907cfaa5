/* Tiles in hardware: eight registers of sixteen rows of 64 bytes (AMX-TILE, AMX-BF16). A tile's number is a literal. */
struct tile_config {
    uint8_t palette, start, nothing[14];
    uint16_t bytes[16]; /* of a row, and how many rows, for each */
    uint8_t rows[16];
};

/* Tiles 0, 1 and 4 have so many rows, the others sixteen. */
FN void tiles_begin(int rows) {
    struct tile_config config = {.palette = 1};
    for (int t = 0; t < 8; t++) config.bytes[t] = 64, config.rows[t] = (uint8_t)(t == 0 || t == 1 || t == 4 ? rows : 16);
    _tile_loadconfig(&config);
}
#define tiles_end() _tile_release()

/* Vectors between these do as tiles do: what is subnormal counts as zero, read or written (MXCSR's bits DAZ and FTZ). */
FN unsigned tiles_arithmetic(void) {
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    return before;
}
#define tiles_arithmetic_end(before) _mm_setcsr(before)
/* The last of three pieces: it has eight bits, or is subnormal and goes for nothing. */
#define tile_piece(v) (v)

#define TILES(rows) ((void)(rows))
#define tile_zero(t) _tile_zero(t)
#define tile_load(t, p, apart) _tile_loadd(t, p, apart)
#define tile_store(t, p, apart) _tile_stored(t, p, apart)
#define tile_multiply(c, a, b) _tile_dpbf16ps(c, a, b)
