/* Entry points of bodies/probe.inc, for both types: the file includes itself once for each. */
#ifndef REAL
#include "dispatch.h"
#include "cafe.h"
#include "entry.h"
#include "threads.h"

#define REAL f32
#include "probe.c"
#undef REAL
#define REAL f64
#include "probe.c"
#undef REAL
#else

static void ENTRY(probe_fma_task)(void *y, int64_t begin, int64_t end) { TABLE->probe_fma((T *)y + begin, end - begin, CAFE_PROBE_FMAS); }

void ENTRY(probe_fma)(T *y, int64_t n) { cafe_for(n, 1, n * CAFE_PROBE_FMAS, CAFE_SERIAL_FMA, ENTRY(probe_fma_task), y); }

struct ENTRY(probe) { T *y, *sums; const T *x; int64_t reads, writes, step; };

static void ENTRY(probe_store_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(probe) *c = context;
    TABLE->probe_store(c->y + begin * c->step, c->sums + begin, c->x + begin * c->reads, end - begin, c->reads, c->writes, c->step);
}

static void ENTRY(probe_stream_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(probe) *c = context;
    TABLE->probe_stream(c->y + begin * c->step, c->sums + begin, c->x + begin * c->reads, end - begin, c->reads, c->writes, c->step);
}

/* In place, a chunk is written where it was read: the start of what is in the nearest cache by then. */
void ENTRY(probe_store)(T *y, T *sums, const T *x, int64_t n, int64_t reads, int64_t writes) {
    struct ENTRY(probe) c = {y, sums, x, reads, writes, y == x ? reads : writes};
    cafe_for(n, 1, n * (reads + writes), CAFE_SERIAL_CHEAP, ENTRY(probe_store_task), &c);
}

void ENTRY(probe_stream)(T *y, T *sums, const T *x, int64_t n, int64_t reads, int64_t writes) {
    struct ENTRY(probe) c = {y, sums, x, reads, writes, y == x ? reads : writes};
    cafe_for(n, 1, n * (reads + writes), CAFE_SERIAL_CHEAP, ENTRY(probe_stream_task), &c);
}

#endif
