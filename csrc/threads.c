#include "threads.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cafe.h"
#include "config.h"

#if CAFE_OPENMP
#include <omp.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#define HAVE_PTHREADS 1
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

enum { MAX_OWNERS = 4, HUGE_PAGE = 2 << 20 };

static atomic_int wanted;      /* threads asked for; 0 before the first question */
static atomic_int forked;      /* this process is a child: it has no team and must not make one */
static atomic_int owners;      /* live threads that have made a team */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static _Thread_local int is_owner;
static _Thread_local struct { void *memory; size_t bytes; } scratch;

#if HAVE_PTHREADS
static pthread_key_t at_exit;

static void leave_thread(void *unused) {
    (void)unused;
    if (is_owner) atomic_fetch_sub(&owners, 1);
    is_owner = 0;
    free(scratch.memory);
    scratch.memory = NULL;
    scratch.bytes = 0;
}

/* The team's other threads do not exist in the child, and the lock may be another thread's. */
static void in_child(void) {
    atomic_store(&forked, 1);
    atomic_flag_clear(&busy);
}

/* When the extension is loaded, before any thread can be in here. */
__attribute__((constructor)) static void prepare(void) {
    pthread_key_create(&at_exit, leave_thread);
    pthread_atfork(NULL, NULL, in_child);
}

static void watch_thread(void) { pthread_setspecific(at_exit, &scratch); /* any non-null value has leave_thread called */ }
#else
static void watch_thread(void) {}
#endif

int cafe_get_num_threads(void) {
    if (atomic_load(&forked)) return 1;
    int n = atomic_load(&wanted);
#if CAFE_OPENMP
    if (n == 0) {
        n = omp_get_max_threads();
        atomic_store(&wanted, n);
    }
    return n;
#else
    (void)n;
    return 1;
#endif
}

void cafe_set_num_threads(int n) { atomic_store(&wanted, n < 1 ? 1 : n); }

#if CAFE_OPENMP
/* How many threads this call may use; above 1 the caller has the team and must give it back with leave(). */
static int enter(int64_t grains, int64_t work, int64_t serial_below) {
    if (work < serial_below || grains < 2) return 1;
    int n = (int)cafe_min(cafe_get_num_threads(), grains);
    if (n < 2 || omp_in_parallel() || atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) return 1;
    if (!is_owner && atomic_load(&owners) < MAX_OWNERS) {
        watch_thread();
        atomic_fetch_add(&owners, 1);
        is_owner = 1;
    }
    if (is_owner) return n;
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return 1;
}

static void leave(void) { atomic_flag_clear_explicit(&busy, memory_order_release); }
#endif

void cafe_for(int64_t n, int64_t grain, int64_t work, int64_t serial_below, cafe_task *task, void *context) {
    if (n <= 0) return;
#if CAFE_OPENMP
    int64_t grains = cafe_ceil_div(n, grain);
    int team = enter(grains, work, serial_below);
    if (team > 1) {
#pragma omp parallel num_threads(team)
        {
            int64_t size = omp_get_num_threads(), me = omp_get_thread_num();
            int64_t begin = grains * me / size * grain, end = cafe_min(n, grains * (me + 1) / size * grain);
            if (begin < end) task(context, begin, end);
        }
        leave();
        return;
    }
#else
    (void)grain, (void)work, (void)serial_below;
#endif
    task(context, 0, n);
}

void cafe_for_each(int64_t n, int64_t grain, int64_t work, int64_t serial_below, cafe_task *task, void *context) {
    if (n <= 0) return;
#if CAFE_OPENMP
    int64_t grains = cafe_ceil_div(n, grain);
    int team = enter(grains, work, serial_below);
    if (team > 1) {
#pragma omp parallel for num_threads(team) schedule(dynamic, 1)
        for (int64_t i = 0; i < grains; i++) task(context, i * grain, cafe_min(n, (i + 1) * grain));
        leave();
        return;
    }
#else
    (void)grain, (void)work, (void)serial_below;
#endif
    task(context, 0, n);
}

/* Large pieces lie on 2 MiB bounds and ask for huge pages: a fault costs microseconds, a whole megabyte's 256 of them. */
void *cafe_scratch(size_t bytes) {
    if (bytes <= scratch.bytes) return scratch.memory;
    size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : 4096;
    bytes = (bytes + unit - 1) / unit * unit;
    watch_thread();
    free(scratch.memory);
    scratch.memory = aligned_alloc(unit, bytes);
    scratch.bytes = scratch.memory ? bytes : 0;
#if HAVE_PTHREADS && defined(MADV_HUGEPAGE)
    if (scratch.memory && unit == HUGE_PAGE) madvise(scratch.memory, bytes, MADV_HUGEPAGE);
#endif
    return scratch.memory;
}

static int64_t last_level_cache(void) {
    static _Atomic int64_t found; /* computed at most once a thread, with the same result */
    int64_t bytes = atomic_load(&found);
    if (bytes == 0) {
        bytes = 32 << 20;
#if defined(_SC_LEVEL3_CACHE_SIZE)
        long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
        if (cache > 0) bytes = cafe_min(cache, bytes);
#endif
        atomic_store(&found, bytes);
    }
    return bytes;
}

int cafe_streams(int64_t bytes) { return bytes >= last_level_cache() / 4 * 5; }
