/* Placing and adding by ids, the adjoints of picking (indexing.c). What only moves, and what adds integers, goes by the size of an element. Ids are
 * read a block at a time; a task that meets a bad one says so and leaves its block alone. */
#include <stdatomic.h>

#include "cafe.h"
#include "dispatch.h"
#include "id_walk.h"
#include "ids.h"
#include "threads.h"

/* Rows: y[at[i]] += x[i] for i < m in order, over `columns` of rows that are `stride` apart in both; a skip adds nothing. */
typedef void rows_of(void *y, const int64_t *at, const void *x, int64_t m, int64_t stride, int64_t columns);

/* Elements: those of x go to y + at[i] * along + i * step, in order. */
typedef void elements_of(void *y, const int64_t *at, const void *x, int64_t n, int64_t along, int64_t step, int found);

#define PLACE(name, type, assign)                                                                                               \
    static void name##_##type(void *to, const int64_t *at, const void *from, int64_t n, int64_t along, int64_t step, int found) { \
        type *y = to;                                                                                                           \
        const type *x = from;                                                                                                   \
        if (found == CAFE_IDS_INSIDE && step == 0)                                                                              \
            for (int64_t i = 0; i < n; i++) y[at[i] * along] assign x[i];                                                       \
        else if (found == CAFE_IDS_INSIDE)                                                                                      \
            for (int64_t i = 0; i < n; i++) y[at[i] * along + i * step] assign x[i];                                            \
        else                                                                                                                    \
            for (int64_t i = 0; i < n; i++)                                                                                     \
                if (at[i] >= 0) y[at[i] * along + i * step] assign x[i];                                                        \
    }
#define ROWS(type)                                                                                                              \
    static void rows_##type(void *to, const int64_t *at, const void *from, int64_t m, int64_t stride, int64_t columns) {        \
        for (int64_t i = 0; i < m; i++) {                                                                                       \
            type *y = (type *)to + at[i] * stride;                                                                              \
            const type *x = (const type *)from + i * stride;                                                                    \
            for (int64_t c = 0; at[i] >= 0 && c < columns; c++) y[c] += x[c];                                                   \
        }                                                                                                                       \
    }
#define WHOLE(type) PLACE(put, type, =) PLACE(add, type, +=) ROWS(type)
WHOLE(uint8_t)
WHOLE(uint16_t)
WHOLE(uint32_t)
WHOLE(uint64_t)
PLACE(add, float, +=)
PLACE(add, double, +=)

static void rows_float(void *y, const int64_t *at, const void *x, int64_t m, int64_t stride, int64_t columns) {
    cafe_f32->index_add_rows(y, at, x, m, stride, columns);
}

static void rows_double(void *y, const int64_t *at, const void *x, int64_t m, int64_t stride, int64_t columns) {
    cafe_f64->index_add_rows(y, at, x, m, stride, columns);
}

enum { SIZES = 4 }; /* by the size's logarithm */
static int log_of(int64_t size) { return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3; }
static elements_of *const put_elements[SIZES] = {put_uint8_t, put_uint16_t, put_uint32_t, put_uint64_t};
static elements_of *const add_elements[2][SIZES] = {{add_uint8_t, add_uint16_t, add_uint32_t, add_uint64_t}, {0, 0, add_float, add_double}};
static rows_of *const add_rows[2][SIZES] = {{rows_uint8_t, rows_uint16_t, rows_uint32_t, rows_uint64_t}, {0, 0, rows_float, rows_double}};

struct placing {
    char *y;
    const char *x;
    const void *ids;
    int kind, ndim, dim;
    const int64_t *shape, *strides;
    int64_t outer, n, m, inner, size; /* outer: rows, where a scatter goes by strips */
    rows_of *rows;
    elements_of *elements;
    atomic_int status;
};

enum { ROW_STRIP = 16, STRIP = 256 }; /* columns of one thread's own: a cache line of f32; ids read together */

/* An item is ROW_STRIP columns of one outer index, so that one thread meets all that is added to a place, in the order of the ids. */
static void index_add_task(void *context, int64_t begin, int64_t end) {
    struct placing *c = context;
    int64_t ids[CAFE_IDS_BLOCK], strips = cafe_ceil_div(c->inner, ROW_STRIP), some;
    for (int64_t item = begin, wide; item < end; item += wide) {
        int64_t o = item / strips, column = item % strips * ROW_STRIP;
        wide = cafe_min(end - item, strips - item % strips);
        for (int64_t i = 0; i < c->m; i += some) {
            some = cafe_min(CAFE_IDS_BLOCK, c->m - i);
            int found;
            const int64_t *at = cafe_ids_at(ids, c->ids, c->kind, i, some, c->n, &found);
            if (!found) {
                atomic_store(&c->status, CAFE_BAD_ID);
                return;
            }
            c->rows(c->y + (o * c->n * c->inner + column) * c->size, at, c->x + ((o * c->m + i) * c->inner + column) * c->size, some, c->inner,
                    cafe_min(wide * ROW_STRIP, c->inner - column));
        }
    }
}

int cafe_index_add(int floats, int64_t size, void *y, const void *source, const void *ids, int kind, int64_t outer, int64_t n, int64_t m, int64_t inner) {
    struct placing c = {.y = y, .x = source, .ids = ids, .kind = kind, .outer = outer, .n = n, .m = m, .inner = inner, .size = size};
    c.rows = add_rows[floats][log_of(size)];
    cafe_for(outer * cafe_ceil_div(inner, ROW_STRIP), 1, outer * m * inner, CAFE_SERIAL_CHEAP, index_add_task, &c);
    return atomic_load(&c.status);
}

/* n ids from element i on, which lie along one row or several. */
static int place(struct placing *c, struct id_walk *w, int64_t i, int64_t n) {
    int64_t ids[CAFE_IDS_BLOCK];
    int found;
    const int64_t *at = cafe_ids_at(ids, c->ids, c->kind, i, n, c->n, &found);
    if (!found) {
        atomic_store(&c->status, CAFE_BAD_ID);
        return 0;
    }
    for (int64_t k = 0, run; k < n; k += run) {
        run = cafe_min(n - k, w->length - w->column);
        c->elements(c->y + (w->base + w->column * w->step) * c->size, at + k, c->x + (i + k) * c->size, run, w->along, w->step, found);
        w->column += run;
        if (w->column == w->length) next_row(w);
    }
    return 1;
}

/* An item is one index of all axes before the ids': places of unlike ones are never the same. */
static void scatter_task(void *context, int64_t begin, int64_t end) {
    struct placing *c = context;
    int64_t each = 1;
    for (int d = c->dim; d < c->ndim; d++) each *= c->shape[d];
    struct id_walk w = walk_from(c->ndim, c->shape, c->strides, c->dim, begin * each);
    for (int64_t i = begin * each, some; i < end * each; i += some) {
        some = cafe_min(CAFE_IDS_BLOCK, end * each - i);
        if (!place(c, &w, i, some)) return;
    }
}

/* An item is a strip of the last axis, which is not the ids', over all others: the same holds of these. */
static void scatter_strips_task(void *context, int64_t begin, int64_t end) {
    struct placing *c = context;
    struct id_walk w = walk_from(c->ndim, c->shape, c->strides, c->dim, 0);
    for (int64_t row = 0; row < c->outer; row++) {
        int64_t to = cafe_min(end * STRIP, w.length);
        for (int64_t k = begin * STRIP; k < to; k += STRIP) {
            struct id_walk here = w;
            here.column = k;
            if (!place(c, &here, row * w.length + k, cafe_min(STRIP, to - k))) return;
        }
        next_row(&w);
    }
}

static int scatter(struct placing c) {
    int64_t outer = 1, total = 1, length = c.shape[c.ndim - 1];
    for (int d = 0; d < c.ndim; d++) total *= c.shape[d], outer *= d < c.dim ? c.shape[d] : 1;
    if (total == 0) return CAFE_OK;
    if (c.dim < c.ndim - 1 && length > STRIP) {
        c.outer = total / length;
        cafe_for(cafe_ceil_div(length, STRIP), 1, total, CAFE_SERIAL_CHEAP, scatter_strips_task, &c);
    } else cafe_for(outer, cafe_ceil_div(CAFE_GRAIN * outer, total), total, CAFE_SERIAL_CHEAP, scatter_task, &c);
    return atomic_load(&c.status);
}

int cafe_scatter_add(int floats, int64_t size, void *y, const void *source, const void *ids, int kind, int ndim, const int64_t *shape,
                     const int64_t *strides, int dim, int64_t n) {
    return scatter((struct placing){.y = y, .x = source, .ids = ids, .kind = kind, .ndim = ndim, .dim = dim, .shape = shape, .strides = strides,
                                    .n = n, .size = size, .elements = add_elements[floats][log_of(size)]});
}

int cafe_scatter(int64_t size, void *y, const void *source, const void *ids, int kind, int ndim, const int64_t *shape, const int64_t *strides,
                 int dim, int64_t n) {
    return scatter((struct placing){.y = y, .x = source, .ids = ids, .kind = kind, .ndim = ndim, .dim = dim, .shape = shape, .strides = strides,
                                    .n = n, .size = size, .elements = put_elements[log_of(size)]});
}
