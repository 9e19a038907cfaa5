#include "ids.h"

#include "cafe.h"
#include "dispatch.h"

/* The bytes of an id of a kind. */
static int64_t id_size(int kind) { return kind == CAFE_ID_U8 ? 1 : kind == CAFE_ID_I16 ? 2 : kind == CAFE_ID_I64 ? 8 : 4; }

int cafe_ids_read(int64_t *y, const void *ids, int kind, int64_t from, int64_t n, int64_t size) {
    int good;
    cafe_any->ids_read(y, &good, (const char *)ids + from * id_size(kind), kind, n, size);
    return good;
}
