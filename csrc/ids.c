#include "ids.h"

#include "cafe.h"

/* The largest value of the types that candle has as ids means "skip", unless it is below the size. */
#define READ(type, is_skip)                                             \
    for (int64_t i = 0; i < n; i++) {                                   \
        type id = ((const type *)ids)[from + i];                        \
        int inside = (uint64_t)(int64_t)id < (uint64_t)size;            \
        good &= inside | (is_skip);                                     \
        y[i] = inside ? (int64_t)id : CAFE_ID_SKIP;                     \
    }                                                                   \
    break

int cafe_ids_read(int64_t *y, const void *ids, int kind, int64_t from, int64_t n, int64_t size) {
    int good = 1;
    switch (kind) {
    case CAFE_ID_U8: READ(uint8_t, id == UINT8_MAX);
    case CAFE_ID_U32: READ(uint32_t, id == UINT32_MAX);
    case CAFE_ID_I16: READ(int16_t, 0);
    case CAFE_ID_I32: READ(int32_t, 0);
    default: READ(int64_t, id == INT64_MAX);
    }
    return good;
}
