#include "ids.h"

#include "cafe.h"
#include "dispatch.h"

int cafe_ids_read(int64_t *y, const void *ids, int kind, int64_t from, int64_t n, int64_t size) {
    int good;
    cafe_any->ids_read(y, &good, (const char *)ids + from * cafe_id_size(kind), kind, n, size);
    return good;
}

const int64_t *cafe_ids_at(int64_t *y, const void *ids, int kind, int64_t from, int64_t n, int64_t size, int *found) {
    uint64_t outside = 1;
    if (kind == CAFE_ID_I64) {
        cafe_any->ids_outside((const int64_t *)ids + from, n, size, &outside);
        *found = CAFE_IDS_INSIDE;
        if (!outside) return (const int64_t *)ids + from;
    }
    *found = cafe_ids_read(y, ids, kind, from, n, size) ? CAFE_IDS_SKIPS : 0;
    if (*found && kind != CAFE_ID_I64) {
        cafe_any->ids_outside(y, n, size, &outside);
        if (!outside) *found = CAFE_IDS_INSIDE;
    }
    return y;
}
