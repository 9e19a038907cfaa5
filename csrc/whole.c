/* Entry points of bodies/whole.inc, for both types: the file includes itself once for each. */
#ifndef REAL
#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "ids.h"
#include "threads.h"

#define REAL f32
#include "whole.c"
#undef REAL
#define REAL f64
#include "whole.c"
#undef REAL
#else

typedef struct {
    int kind;
    T *reals;
    const T *from;
    char *whole;
    const char *from_whole;
} ENTRY(whole_call);

static void ENTRY(to_whole_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(whole_call) *c = context;
    TABLE->to_whole(c->kind, c->whole + begin * cafe_id_size(c->kind), c->from + begin, end - begin);
}

void ENTRY(to_whole)(int kind, void *y, const T *x, int64_t n) {
    ENTRY(whole_call) c = {.kind = kind, .whole = y, .from = x};
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_CHEAP, ENTRY(to_whole_task), &c);
}

static void ENTRY(of_whole_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(whole_call) *c = context;
    TABLE->of_whole(c->kind, c->reals + begin, c->from_whole + begin * cafe_id_size(c->kind), end - begin);
}

void ENTRY(of_whole)(int kind, T *y, const void *x, int64_t n) {
    ENTRY(whole_call) c = {.kind = kind, .reals = y, .from_whole = x};
    cafe_for(n, CAFE_GRAIN, n, CAFE_SERIAL_CHEAP, ENTRY(of_whole_task), &c);
}

#endif
