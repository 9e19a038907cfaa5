/* Entry points of bodies/matmul.inc: cut C, and a batch of them, into blocks for the threads. Any cut gives the same bits, so
 * this one looks for even work: a block's rows and columns share what is packed for it. */
#ifndef REAL
#include "matmul.h"

#include <stdatomic.h>
#include <stddef.h>

#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "threads.h"

/* Few rows of C whose B is large, though not much larger than the second caches together: blocks of K go to the threads, not columns, so that
 * each reads its part of B from front to back. Half of each row is a bad cut: rows a page apart then fall on half of a cache's sets.
 * k = n = 1024 on two threads: one row 100 to 37 microseconds, four 122 to 72, fourteen 187 to 163; from 16 MiB on columns are as quick or quicker
 * (Granite Rapids, November 2026). Sums of the blocks take turns as in a body. */
enum { FEW_ROWS = 16, DEEP_B = 8 << 20, DEEP_SUMS = CAFE_MATMUL_SCRATCH / 2 };

/* C as groups of columns, each as runs of rows. An item is one run in one group; items count down a group, then group by group,
 * then matrix by matrix, so that a thread's items make few rectangles, large ones. Groups differ by a panel of columns at most. */
enum { PANEL_COLUMNS = 32 };
struct matmul_grid {
    int64_t n, panels, groups;
    int64_t rows, runs; /* a run's height, how many in m */
};

static struct matmul_grid matmul_grid_of(int64_t m, int64_t n) {
    enum { NARROW = 64, WIDE = 256, RUN = 4 };
    struct matmul_grid g = {.n = n, .panels = cafe_ceil_div(n, PANEL_COLUMNS)};
    g.groups = cafe_ceil_div(n, m <= FEW_ROWS ? NARROW : WIDE); /* few rows: B is read once, by whoever; many: a group's B is packed once */
    g.rows = m <= FEW_ROWS ? m : RUN;
    g.runs = cafe_ceil_div(m, g.rows);
    return g;
}

/* Where a group begins; where they end for one more than the last. */
static int64_t matmul_column(const struct matmul_grid *g, int64_t group) { return cafe_min(g->n, g->panels * group / g->groups * PANEL_COLUMNS); }

/* What threads are for, in multiply-adds. */
static int64_t matmul_work(const struct cafe_matmul *p) {
    enum { FEW = 4 }; /* fewer rows wait for B: each takes about as long as so many */
    return (p->m < FEW ? FEW : p->m) * p->n * p->k;
}

static int64_t matmul_matrices(int64_t rank, const int64_t *batch) {
    int64_t n = 1;
    for (int64_t d = 0; d < rank; d++) n *= batch[d];
    return n;
}

/* Which way products of f32 go: by chains of FMAs, or in pieces on tiles (bodies/split.inc), which takes 0.6 of the time where many rows go by
 * (k = n = 1024 on two threads, Granite Rapids, November 2026: 1024 rows 7.1 to 4.2 ms; one row 53 to 116 microseconds). A row must have the same
 * bits alone, so its number cannot decide: B's size does, and that a layer's batch, which may be one row, stays with chains. */
static atomic_int matmul_algorithm = CAFE_MATMUL_AUTO;
void cafe_set_matmul_algorithm(int algorithm) { atomic_store(&matmul_algorithm, algorithm); }
int cafe_get_matmul_algorithm(void) { return atomic_load(&matmul_algorithm); }

static int matmul_is_split_f32(const struct cafe_matmul *p) {
    enum { SIDE = 64, LARGE_B = 192 << 10 }; /* elements */
    const int algorithm = cafe_get_matmul_algorithm();
    if (algorithm == CAFE_MATMUL_FMA || p->steady == CAFE_ALWAYS || p->k < SIDE || p->n < SIDE) return 0;
    return algorithm == CAFE_MATMUL_SPLIT || (cafe_has_tiles && !p->steady && p->k * p->n >= LARGE_B);
}

struct cafe_matmul_call_f32;
struct cafe_matmul_call_f64;
static int matmul_in_pieces_f32(struct cafe_matmul_call_f32 *call, int64_t matrices);
static int matmul_is_split_f64(const struct cafe_matmul *p) { return (void)p, 0; }
static int matmul_in_pieces_f64(struct cafe_matmul_call_f64 *call, int64_t matrices) { return (void)call, (void)matrices, CAFE_OK; }

#define REAL f32
#include "matmul.c"
#undef REAL
#define REAL f64
#include "matmul.c"
#undef REAL

/* One block of K in pieces, from column j on: its sums, and behind them the largest of each column. */
static void matmul_piece(const struct cafe_matmul_call_f32 *call, int64_t block, int64_t j, int64_t end, float *scratch) {
    struct cafe_matmul p = call->p;
    const int64_t k0 = block * cafe_split_f32->depth, size = p.m * p.n;
    float *sums = call->sums + block * (size + p.n);
    p.k = cafe_min(p.k - k0, cafe_split_f32->depth), p.n = end - j;
    cafe_split_f32->block(sums + j, sums + size + j, call->a + k0 * p.a_col, call->b + k0 * p.b_row + j, &p, scratch);
}

/* Few rows whose B lies in rows go to the threads by blocks of K, as those by chains do. */
static int matmul_in_pieces_f32(struct cafe_matmul_call_f32 *call, int64_t matrices) {
    const struct cafe_matmul *p = &call->p;
    const int64_t blocks = cafe_ceil_div(p->k, cafe_split_f32->depth), bytes = blocks * (p->m + 1) * p->n * (int64_t)sizeof(float);
    if (matrices > 1 || p->m > FEW_ROWS || p->b_col != 1 || p->widen || blocks == 1 || bytes > DEEP_SUMS) {
        call->body = cafe_split_f32->product;
        return cafe_matmul_cut_f32(call, matrices);
    }
    float *scratch = cafe_matmul_deep_sums_f32(call);
    if (!scratch) return CAFE_NO_MEMORY;
    call->depth = matmul_piece;
    cafe_for(blocks * call->grid.groups, 1, matmul_work(p), CAFE_SERIAL_FMA, cafe_matmul_depth_task_f32, call);
    cafe_split_f32->fold(call->c, call->sums, blocks, call->a, call->b, call->bias, p, scratch);
    return atomic_load(&call->status);
}

/* A product with one column as one with one row, as below: there B, which is widened piece by piece, is the large one. */
static int matmul_halves(int to, int from, uint16_t *y, float *work, const uint16_t *x, const uint16_t *w, const uint16_t *bias, struct cafe_matmul p) {
    if (p.n == 1 && p.m > 1) {
        const uint16_t *column = w;
        p = (struct cafe_matmul){1, p.k, p.m, p.b_col, p.b_row, p.a_col, p.a_row, p.m, 0, p.then, p.widen, p.steady};
        w = x, x = column;
    }
    float *wide_x = work, *wide_bias = wide_x + p.m * p.k, *wide_y = wide_bias + (p.bias_col ? p.n : 1);
    cafe_cast(from, wide_x, x, p.m * p.k);
    if (bias) cafe_cast(from, wide_bias, bias, p.bias_col ? p.n : 1);
    struct cafe_matmul_call_f32 call = {.c = wide_y, .a = wide_x, .b = (const float *)(const void *)w, .bias = bias ? wide_bias : NULL, .p = p};
    int status = cafe_matmul_run_f32(&call, 1);
    cafe_cast(to, y, wide_y, p.m * p.n);
    return status;
}

static int matmul_batch_halves(int to, int from, uint16_t *c, float *work, const uint16_t *a, const uint16_t *b, int64_t a_size, int64_t b_size,
                               struct cafe_matmul_call_f32 *call) {
    float *wide_b = work + a_size, *wide_c = wide_b + b_size;
    cafe_cast(from, work, a, a_size);
    cafe_cast(from, wide_b, b, b_size);
    call->c = wide_c, call->a = work, call->b = wide_b;
    int64_t matrices = matmul_matrices(call->rank, call->batch);
    call->a_batch = call->batch + call->rank, call->b_batch = call->a_batch + call->rank;
    const int64_t size = matrices * call->p.m * call->p.n;
    int status = cafe_matmul_run_f32(call, matrices);
    cafe_cast(to, c, wide_c, size);
    return status;
}

#define KIND(kind, KIND)                                                                                                                   \
    int cafe_linear_##kind(uint16_t *y, float *work, const uint16_t *x, const uint16_t *w, const uint16_t *bias, int then, int64_t m,        \
                           int64_t k, int64_t n, int64_t x_row, int64_t x_col, int64_t w_row, int64_t w_col, int steady) {                 \
        return matmul_halves(CAFE_F32_##KIND, CAFE_##KIND##_F32, y, work, x, w, bias,                                                      \
                             (struct cafe_matmul){m, k, n, x_row, x_col, w_col, w_row, n, 1, then, cafe_any->cast_##kind##_f32,             \
                                                    steady ? CAFE_UNLESS_ASKED : CAFE_ANY_WAY});                                                \
    }                                                                                                                                      \
    int cafe_matmul_batch_##kind(uint16_t *c, float *work, const uint16_t *a, const uint16_t *b, int64_t a_size, int64_t b_size, int64_t m,  \
                                 int64_t k, int64_t n, int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col, int64_t rank,           \
                                 const int64_t *batch) {                                                                                   \
        struct cafe_matmul_call_f32 call = {.p = {m, k, n, a_row, a_col, b_row, b_col, n, 1, CAFE_IDENTITY}, .rank = rank, .batch = batch};  \
        return matmul_batch_halves(CAFE_F32_##KIND, CAFE_##KIND##_F32, c, work, a, b, a_size, b_size, &call);                              \
    }
KIND(f16, F16)
KIND(bf16, BF16)
#undef KIND
#else

struct ENTRY(matmul_call) {
    T *c;
    const T *a, *b, *bias;
    struct cafe_matmul p;
    void (*body)(T *, const T *, const T *, const T *, const struct cafe_matmul *, T *);
    struct matmul_grid grid;
    int64_t rank;
    const int64_t *batch, *a_batch, *b_batch; /* the batch's sizes, strides of A and of B along it */
    T *sums;                                  /* of the blocks of K, where these are cut: */
    void (*depth)(const struct ENTRY(matmul_call) *call, int64_t block, int64_t j, int64_t end, T *scratch); /* one of them, columns j .. end */
    atomic_int status;
};

/* One rectangle of one matrix: `groups` groups from `group` on, `runs` runs from `run` on. */
static void ENTRY(matmul_rectangle)(struct ENTRY(matmul_call) *call, int64_t matrix, int64_t group, int64_t groups, int64_t run, int64_t runs, T *scratch) {
    struct cafe_matmul p = call->p;
    int64_t i = run * call->grid.rows, j = matmul_column(&call->grid, group), left = matrix, a = i * p.a_row, b = j * p.b_col;
    for (int64_t d = call->rank - 1; d >= 0; left /= call->batch[d], d--) {
        a += left % call->batch[d] * call->a_batch[d];
        b += left % call->batch[d] * call->b_batch[d];
    }
    T *c = call->c + (matrix * p.m + i) * p.n + j;
    p.m = cafe_min(p.m - i, runs * call->grid.rows);
    p.n = matmul_column(&call->grid, group + groups) - j;
    const T *from = p.widen ? (const T *)(const void *)((const uint16_t *)(const void *)call->b + b) : call->b + b;
    call->body(c, call->a + a, from, call->bias ? call->bias + j * p.bias_col : NULL, &p, scratch);
}

static void ENTRY(matmul_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(matmul_call) *call = context;
    T *scratch = cafe_scratch(CAFE_MATMUL_SCRATCH);
    if (!scratch) {
        atomic_store(&call->status, CAFE_NO_MEMORY);
        return;
    }
    const int64_t runs = call->grid.runs, groups = call->grid.groups;
    while (begin < end) {
        int64_t matrix = begin / (groups * runs), group = begin / runs % groups, run = begin % runs, left = end - begin;
        int64_t whole = run == 0 && left >= runs;
        int64_t wide = whole ? cafe_min(left / runs, groups - group) : 1, high = whole ? runs : cafe_min(left, runs - run);
        ENTRY(matmul_rectangle)(call, matrix, group, wide, run, high, scratch);
        begin += wide * high;
    }
}

/* A product with one column as that of the transposes, with one row: C lies in memory as before. */
static void ENTRY(matmul_turn)(struct ENTRY(matmul_call) *call) {
    const struct cafe_matmul p = call->p;
    const T *a = call->a;
    const int64_t *a_batch = call->a_batch;
    call->p = (struct cafe_matmul){1, p.k, p.m, p.b_col, p.b_row, p.a_col, p.m == 1 ? 1 : p.a_row, p.m, 0, p.then};
    call->a = call->b, call->b = a;
    call->a_batch = call->b_batch, call->b_batch = a_batch;
}

/* One block of K, from column j on: its sums into C's shape, a block after the other. */
static void ENTRY(matmul_depth)(const struct ENTRY(matmul_call) *call, int64_t block, int64_t j, int64_t end, T *scratch) {
    struct cafe_matmul p = call->p;
    const int64_t blocks = cafe_matmul_blocks(p.k), k0 = p.k * block / blocks;
    p.k = p.k * (block + 1) / blocks - k0, p.n = end - j, p.then = CAFE_IDENTITY;
    TABLE->matmul(call->sums + block * p.m * p.c_row + j, call->a + k0 * p.a_col, call->b + k0 * p.b_row + j * p.b_col, NULL, &p, scratch);
}

static void ENTRY(matmul_depth_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(matmul_call) *call = context;
    T *scratch = cafe_scratch(CAFE_MATMUL_SCRATCH);
    if (!scratch) {
        atomic_store(&call->status, CAFE_NO_MEMORY);
        return;
    }
    for (const int64_t groups = call->grid.groups; begin < end;) {
        int64_t group = begin % groups, wide = cafe_min(end - begin, groups - group);
        call->depth(call, begin / groups, matmul_column(&call->grid, group), matmul_column(&call->grid, group + wide), scratch);
        begin += wide;
    }
}

static int ENTRY(matmul_is_deep)(const struct cafe_matmul *p) {
    const int64_t size = sizeof(T), blocks = cafe_matmul_blocks(p->k);
    const int pays = p->m <= FEW_ROWS && p->b_col == 1 && blocks > 1 && p->k * p->n * size <= DEEP_B && blocks * p->m * p->n * size <= DEEP_SUMS;
    return pays && !p->widen && matmul_work(p) >= CAFE_SERIAL_FMA && cafe_get_num_threads() > 1;
}

/* This thread's scratch, of which the upper half is for sums: bodies that have one block to do use little. NULL if there is none. */
static T *ENTRY(matmul_deep_sums)(struct ENTRY(matmul_call) *call) {
    T *scratch = cafe_scratch(CAFE_MATMUL_SCRATCH);
    if (scratch) call->sums = scratch + DEEP_SUMS / (int64_t)sizeof(T);
    return scratch;
}

static int ENTRY(matmul_deep)(struct ENTRY(matmul_call) *call) {
    const struct cafe_matmul *p = &call->p;
    if (!ENTRY(matmul_deep_sums)(call)) return CAFE_NO_MEMORY;
    const int64_t blocks = cafe_matmul_blocks(p->k);
    call->depth = ENTRY(matmul_depth);
    cafe_for(blocks * call->grid.groups, 1, 1, 0, ENTRY(matmul_depth_task), call);
    TABLE->matmul_fold(call->c, call->sums, blocks, call->bias, p);
    return atomic_load(&call->status);
}

/* C cut into blocks, each by the call's body. */
static int ENTRY(matmul_cut)(struct ENTRY(matmul_call) *call, int64_t matrices) {
    cafe_for(matrices * call->grid.groups * call->grid.runs, 1, matrices * matmul_work(&call->p), CAFE_SERIAL_FMA, ENTRY(matmul_task), call);
    return atomic_load(&call->status);
}

static int ENTRY(matmul_run)(struct ENTRY(matmul_call) *call, int64_t matrices) {
    const struct cafe_matmul *p = &call->p;
    if (matrices * p->m * p->n == 0) return CAFE_OK;
    const int split = E2(matmul_is_split, REAL)(p);
    if (p->n == 1 && !p->widen && !split) ENTRY(matmul_turn)(call);
    call->grid = matmul_grid_of(p->m, p->n);
    if (split) return E2(matmul_in_pieces, REAL)(call, matrices);
    if (matrices == 1 && ENTRY(matmul_is_deep)(p)) return ENTRY(matmul_deep)(call);
    call->body = TABLE->matmul;
    return ENTRY(matmul_cut)(call, matrices);
}

int ENTRY(matmul)(T *c, const T *a, const T *b, int64_t m, int64_t k, int64_t n, int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col) {
    struct ENTRY(matmul_call) call = {.c = c, .a = a, .b = b, .p = {m, k, n, a_row, a_col, b_row, b_col, n, 1, CAFE_IDENTITY, NULL, CAFE_ANY_WAY}};
    return ENTRY(matmul_run)(&call, 1);
}

int ENTRY(matmul_batch)(T *c, const T *a, const T *b, int64_t m, int64_t k, int64_t n, int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col,
                        int64_t rank, const int64_t *batch) {
    struct ENTRY(matmul_call) call = {.c = c, .a = a, .b = b, .p = {m, k, n, a_row, a_col, b_row, b_col, n, 1, CAFE_IDENTITY}};
    call.rank = rank, call.batch = batch, call.a_batch = batch + rank, call.b_batch = batch + 2 * rank;
    return ENTRY(matmul_run)(&call, matmul_matrices(rank, batch));
}

int ENTRY(matmul_chains)(T *c, const T *a, const T *b, int64_t m, int64_t k, int64_t n, int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col,
                         int64_t rank, const int64_t *batch) {
    struct ENTRY(matmul_call) call = {.c = c, .a = a, .b = b, .p = {m, k, n, a_row, a_col, b_row, b_col, n, 1, CAFE_IDENTITY, NULL, CAFE_ALWAYS}};
    call.rank = rank, call.batch = batch, call.a_batch = batch + rank, call.b_batch = batch + 2 * rank;
    return ENTRY(matmul_run)(&call, matmul_matrices(rank, batch));
}

int ENTRY(linear)(T *y, const T *x, const T *w, const T *bias, int then, int64_t m, int64_t k, int64_t n, int64_t x_row, int64_t x_col, int64_t w_row,
                  int64_t w_col) {
    struct ENTRY(matmul_call) call = {.c = y, .a = x, .b = w, .bias = bias, .p = {m, k, n, x_row, x_col, w_col, w_row, n, 1, then, NULL, CAFE_UNLESS_ASKED}};
    return ENTRY(matmul_run)(&call, 1);
}

int ENTRY(linear_backward)(T *dx, T *dw, T *db, const T *dy, const T *x, const T *w, int64_t m, int64_t k, int64_t n) {
    int status = CAFE_OK;
    if (dx) status = ENTRY(linear)(dx, dy, w, NULL, CAFE_IDENTITY, m, n, k, n, 1, 1, k);
    if (dw && status == CAFE_OK) status = ENTRY(matmul)(dw, dy, x, n, m, k, 1, n, k, 1);
    if (db && status == CAFE_OK) status = ENTRY(sum)(db, dy, 1, m, n);
    return status;
}

#endif
