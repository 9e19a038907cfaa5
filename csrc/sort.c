/* Stable sorting of rows: elements become unsigned keys that are in their order, then by radix, a byte at a time from the lowest; a byte that is
 * the same in all of a row's keys costs nothing. Short rows by insertion. */
#include <stdatomic.h>
#include <string.h>

#include "cafe.h"
#include "threads.h"

enum { BYTES = 256, SHORT = 24 /* keys that insertion sorts sooner than radix */, WORK = 64 /* what sorting an element takes, in cheap ones */ };

struct item {
    uint64_t key;
    uint32_t from;
};

struct sort_call {
    char *y;
    uint32_t *ids;
    const char *x;
    int kind, descending;
    int64_t n, size;
    atomic_int status;
};

/* Bits of a float as a key: the negative ones in reverse below the others, -0 as 0, NaN above all. `top` is the sign, `infinity` the bits of
 * infinity. In descending order everything but NaN is reversed. */
static uint64_t real_key(uint64_t bits, uint64_t top, uint64_t infinity, int descending) {
    uint64_t size = bits & (top - 1), all = top | (top - 1);
    if (size > infinity) return all;
    uint64_t key = bits & top ? top - size : top + size;
    return descending ? 2 * top - key : key;
}

/* Bits of an integer as a key; `top` is the sign of a signed one, 0 for another. */
static uint64_t whole_key(uint64_t bits, uint64_t top, uint64_t all, int descending) { return ((descending ? ~bits : bits) ^ top) & all; }

#define KEYS(type, key)                                                      \
    for (int64_t i = 0; i < c->n; i++) {                                     \
        type bits;                                                           \
        memcpy(&bits, x + i * (int64_t)sizeof bits, sizeof bits);            \
        to[i] = (struct item){key, (uint32_t)i};                             \
    }                                                                        \
    break

static void read_row(struct item *to, const char *x, const struct sort_call *c) {
    const int down = c->descending;
    switch (c->kind) {
    case CAFE_SORT_F16: KEYS(uint16_t, real_key(bits, 0x8000, 0x7C00, down));
    case CAFE_SORT_BF16: KEYS(uint16_t, real_key(bits, 0x8000, 0x7F80, down));
    case CAFE_SORT_F32: KEYS(uint32_t, real_key(bits, (uint64_t)1 << 31, 0x7F800000, down));
    case CAFE_SORT_F64: KEYS(uint64_t, real_key(bits, (uint64_t)1 << 63, 0x7FF0000000000000, down));
    case CAFE_SORT_U8: KEYS(uint8_t, whole_key(bits, 0, UINT8_MAX, down));
    case CAFE_SORT_U32: KEYS(uint32_t, whole_key(bits, 0, UINT32_MAX, down));
    case CAFE_SORT_I16: KEYS(uint16_t, whole_key(bits, 0x8000, UINT16_MAX, down));
    case CAFE_SORT_I32: KEYS(uint32_t, whole_key(bits, (uint64_t)1 << 31, UINT32_MAX, down));
    default: KEYS(uint64_t, whole_key(bits, (uint64_t)1 << 63, UINT64_MAX, down));
    }
}
#undef KEYS

static void insertion(struct item *a, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        struct item moved = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1].key > moved.key; j--) a[j] = a[j - 1];
        a[j] = moved;
    }
}

/* Sorts a by `size` bytes, with b to move to and fro; gives the one that holds the result. */
static struct item *radix(struct item *a, struct item *b, int64_t n, int64_t size) {
    uint32_t count[8][BYTES];
    memset(count, 0, (size_t)size * sizeof *count);
    for (int64_t i = 0; i < n; i++)
        for (int64_t byte = 0; byte < size; byte++) count[byte][a[i].key >> 8 * byte & 255]++;
    for (int64_t byte = 0; byte < size; byte++) {
        uint32_t *at = count[byte], sum = 0;
        if (at[a[0].key >> 8 * byte & 255] == n) continue;
        for (int k = 0; k < BYTES; k++) {
            uint32_t here = at[k];
            at[k] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < n; i++) b[at[a[i].key >> 8 * byte & 255]++] = a[i];
        struct item *swap = a;
        a = b, b = swap;
    }
    return a;
}

/* y = x in the order of the items, and where they came from. */
static void write_row(char *y, uint32_t *ids, const char *x, const struct item *sorted, const struct sort_call *c) {
    for (int64_t i = 0; i < c->n; i++) ids[i] = sorted[i].from;
#define MOVE(bytes) \
    case bytes: \
        for (int64_t i = 0; i < c->n; i++) memcpy(y + i * bytes, x + (int64_t)sorted[i].from * bytes, bytes); \
        return;
    switch (c->size) {
        MOVE(1)
        MOVE(2)
        MOVE(4)
        MOVE(8)
    }
#undef MOVE
}

static void sort_task(void *context, int64_t begin, int64_t end) {
    struct sort_call *c = context;
    struct item *a = cafe_scratch((size_t)(2 * c->n) * sizeof *a);
    if (!a) {
        atomic_store(&c->status, CAFE_NO_MEMORY);
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        struct item *sorted = a;
        read_row(a, c->x + row * c->n * c->size, c);
        if (c->n <= SHORT) insertion(a, c->n);
        else sorted = radix(a, a + c->n, c->n, c->size);
        write_row(c->y + row * c->n * c->size, c->ids + row * c->n, c->x + row * c->n * c->size, sorted, c);
    }
}

int cafe_sort(void *y, uint32_t *ids, const void *x, int kind, int64_t rows, int64_t n, int64_t size, int descending) {
    struct sort_call c = {y, ids, x, kind, descending, n, size, CAFE_OK};
    if (rows * n == 0) return CAFE_OK;
    cafe_for(rows, 1, rows * n * WORK, CAFE_SERIAL_CHEAP, sort_task, &c);
    return atomic_load(&c.status);
}
