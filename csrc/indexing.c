/* Picking by ids, by the size of an element. Ids are read a block at a time; a task that meets a bad one says so and leaves its block alone. */
#include <stdatomic.h>
#include <string.h>

#include "cafe.h"
#include "dispatch.h"
#include "id_walk.h"
#include "ids.h"
#include "strided.h"
#include "threads.h"

struct index_call {
    void *y;
    const void *x, *ids;
    int kind;
    int64_t outer, n, m, inner, size;
    atomic_int status;
};

/* y = n elements of `size` bytes, the i-th from x + at[i] * along + i * step; zeros for skips. Four are loaded before they are stored, since
 * a compiler must take a store for one that the next load may see: 0.75 of the time. By memcpy, as a run of four halves is eight bytes at
 * any even address; it becomes the one load and store. */
static void pick(char *y, const char *x, const int64_t *at, int64_t n, int64_t along, int64_t step, int64_t size, int found) {
#define PICK(type)                                                                  \
    type four[4];                                                                   \
    int64_t i = 0;                                                                  \
    for (; found == CAFE_IDS_INSIDE && i + 4 <= n; i += 4) {                        \
        for (int k = 0; k < 4; k++)                                                 \
            memcpy(&four[k], x + at[i + k] * along + (i + k) * step, sizeof(type)); \
        memcpy(y + i * (int64_t)sizeof(type), four, sizeof four);                   \
    }                                                                               \
    for (; i < n; i++) {                                                            \
        four[0] = 0;                                                                \
        if (at[i] >= 0) memcpy(four, x + at[i] * along + i * step, sizeof(type));   \
        memcpy(y + i * (int64_t)sizeof(type), four, sizeof(type));                  \
    }                                                                               \
    return
    switch (size) {
    case 1: { PICK(uint8_t); }
    case 2: { PICK(uint16_t); }
    case 4: { PICK(uint32_t); }
    default: { PICK(uint64_t); }
    }
#undef PICK
}

/* `n` runs of `bytes`, from x + at[i] * bytes. */
static void select_block(char *y, const char *x, const int64_t *at, int64_t n, int64_t bytes, int found) {
    if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) {
        pick(y, x, at, n, bytes, 0, bytes, found);
        return;
    }
    for (int64_t i = 0; i < n; i++, y += bytes) {
        if (at[i] < 0) memset(y, 0, (size_t)bytes);
        else memcpy(y, x + at[i] * bytes, (size_t)bytes);
    }
}

/* Of one outer index, or the same ids for several: then they are read once a block. */
static void index_select_task(void *context, int64_t begin, int64_t end) {
    struct index_call *c = context;
    int64_t ids[CAFE_IDS_BLOCK], bytes = c->inner * c->size;
    for (int64_t i = begin, some, outer; i < end; i += outer * some) {
        int64_t o = i / c->m, from = i % c->m;
        some = cafe_min(cafe_min(CAFE_IDS_BLOCK, c->m - from), end - i);
        outer = some == c->m ? (end - i) / c->m : 1;
        int found;
        const int64_t *at = cafe_ids_at(ids, c->ids, c->kind, from, some, c->n, &found);
        if (!found) {
            atomic_store(&c->status, CAFE_BAD_ID);
            return;
        }
        for (int64_t k = 0; k < outer; k++)
            select_block((char *)c->y + (i + k * c->m) * bytes, (const char *)c->x + (o + k) * c->n * bytes, at, some, bytes, found);
    }
}

int cafe_index_select(void *y, const void *x, const void *ids, int kind, int64_t outer, int64_t n, int64_t m, int64_t inner, int64_t size) {
    struct index_call c = {y, x, ids, kind, outer, n, m, inner, size, CAFE_OK};
    cafe_for(outer * m, cafe_ceil_div(CAFE_GRAIN, inner > 0 ? inner : 1), outer * m * inner, CAFE_SERIAL_CHEAP, index_select_task, &c);
    return atomic_load(&c.status);
}

struct gather_call {
    void *y;
    const void *x, *ids;
    int kind, ndim, dim;
    const int64_t *shape, *strides;
    int64_t n, size;
    atomic_int status;
};

static void gather_task(void *context, int64_t begin, int64_t end) {
    struct gather_call *c = context;
    int64_t ids[CAFE_IDS_BLOCK];
    struct id_walk w = walk_from(c->ndim, c->shape, c->strides, c->dim, begin);
    for (int64_t i = begin; i < end; i += CAFE_IDS_BLOCK) {
        int64_t some = cafe_min(CAFE_IDS_BLOCK, end - i), run;
        int found;
        const int64_t *at = cafe_ids_at(ids, c->ids, c->kind, i, some, c->n, &found);
        if (!found) {
            atomic_store(&c->status, CAFE_BAD_ID);
            return;
        }
        for (int64_t k = 0; k < some; k += run) {
            run = cafe_min(some - k, w.length - w.column);
            pick((char *)c->y + (i + k) * c->size, (const char *)c->x + w.base + w.column * w.step, at + k, run, w.along, w.step, c->size, found);
            w.column += run;
            if (w.column == w.length) next_row(&w);
        }
    }
}

int cafe_gather(void *y, const void *x, const void *ids, int kind, int ndim, const int64_t *shape, const int64_t *strides, int dim, int64_t n,
                int64_t size) {
    struct gather_call c = {y, x, ids, kind, ndim, dim, shape, strides, n, size, CAFE_OK};
    int64_t total = 1;
    for (int d = 0; d < ndim; d++) total *= shape[d];
    cafe_for(total, CAFE_GRAIN, total, CAFE_SERIAL_CHEAP, gather_task, &c);
    return atomic_load(&c.status);
}
