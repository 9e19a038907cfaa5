/* Entry points of bodies/integers.inc. */
#include <stdatomic.h>
#include <string.h>

#include "cafe.h"
#include "dispatch.h"
#include "ids.h"
#include "parts.h"
#include "strided.h"
#include "threads.h"

enum { BLOCK = 1 << 16, STRIP = INTEGERS_STRIP }; /* elements of a row, or rows of a strip of columns, that are one item */

struct integers {
    int kind, op;
    int64_t size, result; /* an element's bytes, and a result's */
    char *y;
    const char *a, *b;
    const uint8_t *condition;
    struct cafe_strided s;
    struct cafe_parts parts;
    int64_t least, first, second;
    int64_t *high, *low;
    atomic_int status;
};

/* An operand's n elements for the result's from `at` on: where they lie, or gathered into the buffer. */
static const char *operand(const struct integers *c, int k, const struct cafe_walk *w, int64_t at, int64_t n, char *buffer) {
    const char *base = k ? c->b : c->a;
    if (c->s.by_rows && c->s.stride[k][c->s.ndim - 1]) return base + w->offset[k];
    cafe_strided_gather(buffer, &c->s, k, base, at, n, c->size);
    return buffer;
}

/* Elements from `at` on that the operands have in one piece: of a row of the last axis, or as many as a buffer takes if one stands still
 * along it. */
static int64_t piece(const struct integers *c, const struct cafe_walk *w, int64_t left) {
    int last = c->s.ndim - 1, both = c->s.stride[0][last] && c->s.stride[1][last];
    int64_t n = c->s.by_rows ? cafe_min(left, c->s.shape[last] - w->index[last]) : left;
    return c->s.by_rows && both ? n : cafe_min(n, CAFE_STRIDED_BLOCK);
}

typedef void pieces_of(struct integers *c, char *y, const char *a, const char *b, int64_t n);

static void walk(struct integers *c, int64_t begin, int64_t end, pieces_of *f) {
    char a[CAFE_STRIDED_BLOCK * 8], b[CAFE_STRIDED_BLOCK * 8];
    for (int64_t at = begin, n; at < end; at += n) {
        struct cafe_walk w = cafe_walk_from(&c->s, at);
        n = piece(c, &w, end - at);
        f(c, c->y + at * c->result, operand(c, 0, &w, at, n, a), operand(c, 1, &w, at, n, b), n);
    }
}

static void binary_piece(struct integers *c, char *y, const char *a, const char *b, int64_t n) {
    int zero = 0;
    if (c->op == CAFE_DIV) cafe_any->integers_div(c->kind, y, a, b, n, &zero);
    else cafe_any->integers_binary(c->kind, c->op, y, a, b, n);
    if (zero) atomic_store(&c->status, CAFE_REFUSED);
}

static void compare_piece(struct integers *c, char *y, const char *a, const char *b, int64_t n) {
    cafe_any->integers_compare(c->kind, c->op, (uint8_t *)y, a, b, n);
}

static void binary_task(void *context, int64_t begin, int64_t end) { walk(context, begin, end, binary_piece); }
static void compare_task(void *context, int64_t begin, int64_t end) { walk(context, begin, end, compare_piece); }

int cafe_integers_binary(int kind, int op, void *y, const void *a, const void *b, int ndim, const int64_t *shape, const int64_t *a_strides,
                         const int64_t *b_strides) {
    int64_t size = cafe_id_size(kind);
    struct integers c = {.kind = kind, .op = op, .size = size, .result = size, .y = y, .a = a, .b = b,
                         .s = cafe_strided_join(ndim, shape, a_strides, b_strides, size)};
    cafe_for(c.s.total, CAFE_GRAIN, c.s.total, op == CAFE_DIV ? CAFE_SERIAL_EXP : CAFE_SERIAL_CHEAP, binary_task, &c);
    return atomic_load(&c.status);
}

void cafe_integers_compare(int kind, int op, uint8_t *y, const void *a, const void *b, int ndim, const int64_t *shape,
                           const int64_t *a_strides, const int64_t *b_strides) {
    int64_t size = cafe_id_size(kind);
    struct integers c = {.kind = kind, .op = op, .size = size, .result = 1, .y = (char *)y, .a = a, .b = b,
                         .s = cafe_strided_join(ndim, shape, a_strides, b_strides, size)};
    cafe_for(c.s.total, CAFE_GRAIN, c.s.total, CAFE_SERIAL_CHEAP, compare_task, &c);
}

static void unary_task(void *context, int64_t begin, int64_t end) {
    struct integers *c = context;
    cafe_any->integers_unary(c->kind, c->op, c->y + begin * c->size, c->a + begin * c->size, end - begin, c->first, c->second);
}

void cafe_integers_unary(int kind, int op, void *y, const void *x, int64_t n, int64_t first, int64_t second) {
    struct integers c = {.kind = kind, .op = op, .size = cafe_id_size(kind), .y = y, .a = x, .first = first, .second = second};
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_CHEAP, unary_task, &c);
}

static void sum_rows_task(void *context, int64_t begin, int64_t end) {
    struct integers *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        cafe_any->integers_sum_row(c->kind, c->high + p.result, c->low + p.result, c->a + p.at * c->size, p.rows);
    }
}

/* high and low are (outer, blocks, inner). */
static void sum_columns_task(void *context, int64_t begin, int64_t end) {
    struct integers *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        int64_t *high = c->high + p.result, *low = c->low + p.result;
        memset(high, 0, (size_t)p.columns * sizeof *high);
        memset(low, 0, (size_t)p.columns * sizeof *low);
        cafe_any->integers_sum_columns(c->kind, high, low, c->a + p.at * c->size, p.rows, c->parts.inner, p.columns);
    }
}

/* y[i] = high 2^32 + low, 0 <= low < 2^32, as an integer of a kind; whether it fits. */
static int put(int kind, void *y, int64_t i, int64_t high, int64_t low) {
    if (high < INT32_MIN || high > INT32_MAX) return 0;
    int64_t sum = (int64_t)((uint64_t)high << 32 | (uint64_t)low);
    switch (kind) {
        case CAFE_ID_U8: ((uint8_t *)y)[i] = (uint8_t)sum; return sum >= 0 && sum <= UINT8_MAX;
        case CAFE_ID_U32: ((uint32_t *)y)[i] = (uint32_t)sum; return sum >= 0 && sum <= UINT32_MAX;
        case CAFE_ID_I16: ((int16_t *)y)[i] = (int16_t)sum; return sum >= INT16_MIN && sum <= INT16_MAX;
        case CAFE_ID_I32: ((int32_t *)y)[i] = (int32_t)sum; return sum >= INT32_MIN && sum <= INT32_MAX;
    }
    ((int64_t *)y)[i] = sum;
    return 1;
}

int cafe_integers_sum(int kind, void *y, const void *x, int64_t outer, int64_t n, int64_t inner) {
    struct integers c = {.kind = kind, .size = cafe_id_size(kind), .y = y, .a = x, .parts = cafe_parts_of(outer, n, inner, BLOCK, STRIP)};
    int64_t blocks = c.parts.blocks, results = outer * inner;
    if (n == 0 || results == 0) {
        memset(y, 0, (size_t)(results * c.size));
        return CAFE_OK;
    }
    c.high = cafe_scratch((size_t)(2 * results * blocks) * sizeof *c.high);
    if (!c.high) return CAFE_NO_MEMORY;
    c.low = c.high + results * blocks;
    cafe_for_parts(&c.parts, CAFE_SERIAL_CHEAP, inner == 1 ? sum_rows_task : sum_columns_task, &c);
    for (int64_t i = 0; i < results; i++) {
        int64_t high = 0, low = 0, at = cafe_parts_first(&c.parts, i);
        for (int64_t b = 0; b < blocks; b++, low &= UINT32_MAX) {
            low += c.low[at + b * inner];
            high += c.high[at + b * inner] + (low >> 32);
        }
        if (!put(kind, y, i, high, low)) return CAFE_REFUSED;
    }
    return CAFE_OK;
}

static void cumsum_task(void *context, int64_t begin, int64_t end) {
    struct integers *c = context;
    for (int64_t i = begin; i < end; i++) {
        int far = 0;
        struct cafe_part p = cafe_part_of(&c->parts, i);
        cafe_any->integers_cumsum(c->kind, c->y + p.at * c->size, c->a + p.at * c->size, p.rows, c->parts.inner, p.columns, &far);
        if (far) atomic_store(&c->status, CAFE_REFUSED);
    }
}

int cafe_integers_cumsum(int kind, void *y, const void *x, int64_t outer, int64_t n, int64_t inner) {
    struct integers c = {.kind = kind, .size = cafe_id_size(kind), .y = y, .a = x, .parts = cafe_parts_of(outer, n, inner, n, STRIP)};
    cafe_for_parts(&c.parts, CAFE_SERIAL_CHEAP, cumsum_task, &c);
    return atomic_load(&c.status);
}

static void extreme_rows_task(void *context, int64_t begin, int64_t end) {
    struct integers *c = context;
    int64_t n = c->parts.n;
    cafe_any->integers_extreme_rows(c->kind, c->y + begin * c->size, c->a + begin * n * c->size, end - begin, n, c->least);
}

static void extreme_blocks_task(void *context, int64_t begin, int64_t end) {
    struct integers *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        cafe_any->integers_extreme_rows(c->kind, c->y + p.result * c->size, c->a + p.at * c->size, 1, p.rows, c->least);
    }
}

static void extreme_columns_task(void *context, int64_t begin, int64_t end) {
    struct integers *c = context;
    for (int64_t i = begin; i < end; i++) {
        struct cafe_part p = cafe_part_of(&c->parts, i);
        char *y = c->y + p.result * c->size;
        cafe_any->integers_extreme_columns(c->kind, y, c->a + p.at * c->size, p.rows, c->parts.inner, p.columns, c->least);
    }
}

static int extreme(int kind, void *y, const void *x, int64_t outer, int64_t n, int64_t inner, int least) {
    struct integers c = {.kind = kind, .size = cafe_id_size(kind), .y = y, .a = x, .least = least};
    c.parts = cafe_parts_of(outer, n, inner, inner > 1 ? n : BLOCK, STRIP);
    int64_t blocks = c.parts.blocks;
    if (outer * n * inner == 0) return CAFE_OK;
    if (inner > 1) cafe_for_parts(&c.parts, CAFE_SERIAL_CHEAP, extreme_columns_task, &c);
    else if (blocks == 1) cafe_for_parts(&c.parts, CAFE_SERIAL_CHEAP, extreme_rows_task, &c);
    else { /* the largest of the blocks' largest */
        c.y = cafe_scratch((size_t)(outer * blocks * c.size));
        if (!c.y) return CAFE_NO_MEMORY;
        cafe_for_parts(&c.parts, CAFE_SERIAL_CHEAP, extreme_blocks_task, &c);
        cafe_any->integers_extreme_rows(kind, y, c.y, outer, blocks, least);
    }
    return CAFE_OK;
}

int cafe_integers_max(int kind, void *y, const void *x, int64_t outer, int64_t n, int64_t inner) {
    return extreme(kind, y, x, outer, n, inner, 0);
}

int cafe_integers_min(int kind, void *y, const void *x, int64_t outer, int64_t n, int64_t inner) {
    return extreme(kind, y, x, outer, n, inner, 1);
}

static void choose_task(void *context, int64_t begin, int64_t end) {
    struct integers *c = context;
    char a[CAFE_STRIDED_BLOCK * 2], b[CAFE_STRIDED_BLOCK * 2];
    const int one_a = c->op == CAFE_FIRST || c->op == CAFE_BOTH, one_b = c->op == CAFE_SECOND || c->op == CAFE_BOTH;
    if (one_a) cafe_any->fill(a, c->a, CAFE_STRIDED_BLOCK, c->size, 0);
    if (one_b) cafe_any->fill(b, c->b, CAFE_STRIDED_BLOCK, c->size, 0);
    for (int64_t i = begin, n; i < end; i += n) {
        n = cafe_min(end - i, CAFE_STRIDED_BLOCK);
        const char *from_a = one_a ? a : c->a + i * c->size, *from_b = one_b ? b : c->b + i * c->size;
        cafe_any->choose_small(c->size, c->y + i * c->size, c->condition + i, from_a, from_b, n);
    }
}

void cafe_choose_small(int64_t size, void *y, const uint8_t *condition, const void *a, const void *b, int64_t n, int fixed) {
    struct integers c = {.op = fixed, .size = size, .y = y, .a = a, .b = b, .condition = condition};
    if (n > 0) cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_CHEAP, choose_task, &c);
}
