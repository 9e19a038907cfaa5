/* Work over threads: cut in fixed grains, never by the number of threads, so that bits do not depend on it.
 *
 * One team at a time: while a thread of Python has it, others that call in run their work alone, and at most MAX_OWNERS threads
 * ever get a team of their own, because the OpenMP runtime keeps one for each. Inside a parallel region, and in a child after
 * fork (where GNU's runtime would hang), everything is serial. */
#ifndef CAFE_THREADS_H
#define CAFE_THREADS_H

#include <stddef.h>
#include <stdint.h>

/* Below this much work a second thread costs more than it brings: a fork and join is 1 to 9 microseconds (Zen3, November 2026).
 * In elements, or multiply-adds for CAFE_SERIAL_FMA. */
enum {
    CAFE_SERIAL_CHEAP = 64 * 1024, /* copies, sums, one or two flops an element */
    CAFE_SERIAL_EXP = 16 * 1024,   /* exp and its family */
    CAFE_SERIAL_OPTIM = 32 * 1024, /* an optimizer's step */
    CAFE_SERIAL_FMA = 1000000,     /* matrix products */
    CAFE_GRAIN = 4096              /* elements: half of a 32 KiB L1 in f32; where nothing else decides */
};

/* Computes items begin <= i < end. What it does for an item must not depend on the other items it is given. */
typedef void cafe_task(void *context, int64_t begin, int64_t end);

/* Runs task over 0 <= i < n, each thread one run of whole grains: begin is a multiple of grain, end too or n. Serial, in one call
 * (0, n), when work < serial_below. */
void cafe_for(int64_t n, int64_t grain, int64_t work, int64_t serial_below, cafe_task *task, void *context);

/* The same for items of unequal weight: threads take a grain at a time, in turn. */
void cafe_for_each(int64_t n, int64_t grain, int64_t work, int64_t serial_below, cafe_task *task, void *context);

/* 64-byte aligned memory of the calling thread's own, kept for its next call and freed with the thread; NULL if there is none.
 * A second call may move it: one piece a task. */
void *cafe_scratch(size_t bytes);

/* Whether a call that reads and writes so many bytes in all writes past the caches (v_stream): where they exceed the last-level cache, and 32 MiB
 * are more than what a virtual machine has of the one it shares, by a quarter. With less, most of it is still there for the next call, and plain
 * stores are up to twice as fast; from a half more on they are the slower ones (Zen5, November 2026). */
int cafe_streams(int64_t bytes);

static inline int64_t cafe_min(int64_t a, int64_t b) { return a < b ? a : b; }
/* a / b, rounded up; b below 1 counts as 1, so that a grain of empty rows or the parts of no heads can be asked for. */
static inline int64_t cafe_ceil_div(int64_t a, int64_t b) { return b > 1 ? (a + b - 1) / b : a; }

#endif
