/* Ids of any integer type, as all who pick and place by them read them. */
#ifndef CAFE_IDS_H
#define CAFE_IDS_H

#include <stdint.h>

#include "cafe.h"

/* The bytes of an integer of a kind (api/moving.h). */
static inline int64_t cafe_id_size(int kind) { return kind == CAFE_ID_U8 ? 1 : kind == CAFE_ID_I16 ? 2 : kind == CAFE_ID_I64 ? 8 : 4; }

enum { INTEGERS_STRIP = 512 }; /* columns side by side (bodies/integers.inc) */

enum { CAFE_ID_SKIP = -1, CAFE_IDS_BLOCK = 512 /* ids read at a time: 4 KiB, so that they are still in L1 when used */ };

/* y[i] = ids[from + i] for i < n, CAFE_ID_SKIP for a skip. 0 if an id is neither below `size` nor a skip (`kind`: api/moving.h), else 1. */
int cafe_ids_read(int64_t *y, const void *ids, int kind, int64_t from, int64_t n, int64_t size);

enum { CAFE_IDS_SKIPS = 1, CAFE_IDS_INSIDE = 2 }; /* what was read: ids with skips among them, or ids alone */

/* The same for who only reads them: y, or the ids themselves where they are such already; *found is 0 or one of the two. */
const int64_t *cafe_ids_at(int64_t *y, const void *ids, int kind, int64_t from, int64_t n, int64_t size, int *found);

#endif
