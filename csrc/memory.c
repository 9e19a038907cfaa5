/* The pool of results. What was given back is kept by size and handed out again: a page's first touch costs microseconds
 * (2.6 for 4 KiB on a virtual machine, November 2026), more than computing what goes into it.
 *
 * A block's size is rounded up to one of eight steps an octave, so that at most an eighth is wasted and sizes meet again. Blocks of 2 MiB
 * and more lie on 2 MiB bounds and ask for huge pages. A header stands before the data: 64 bytes, so that data stay aligned. */
#include <stdlib.h>
#include <string.h>

#include "cafe.h"
#include "threads.h"

#if defined(__unix__) || defined(__APPLE__)
#define POOL_THREADS 1
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }
/* A child must not find the lock held by a thread it does not have. */
__attribute__((constructor)) static void watch_fork(void) { pthread_atfork(lock, unlock, unlock); }
#else
static void lock(void) {} /* cffi's callers hold no lock, but without threads.h's platforms there is one caller */
static void unlock(void) {}
#endif

/* AddressSanitizer sees no further than malloc's blocks: it is told what of one nobody has asked for, or has given back. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

enum { HUGE = 2 << 20, HEADER = 64, STEPS = 8, CLASSES = 64 * STEPS };

struct block {
    struct block *next;
    void *base; /* what free wants */
    size_t bytes;
    int class;
};

static struct block *kept[CLASSES];
static struct { size_t used, cached, peak, limit; int64_t taken, reused; } pool;

/* The class of a size and the size of the class: 2^(c / 8) (8 + c % 8) / 8 rounded as whole eighths of an octave. */
static int class_of(size_t bytes, size_t *rounded) {
    int octave = 0;
    while (((size_t)STEPS << octave) * 2 <= bytes) octave++;
    size_t step = (size_t)1 << octave, steps = (bytes + step - 1) / step; /* STEPS .. 2 STEPS */
    *rounded = steps * step;
    return octave * STEPS + (int)(steps - STEPS);
}

static size_t limit(void) {
    if (pool.limit) return pool.limit;
#if POOL_THREADS && defined(_SC_PHYS_PAGES)
    pool.limit = (size_t)sysconf(_SC_PHYS_PAGES) / 4 * (size_t)sysconf(_SC_PAGESIZE);
#else
    pool.limit = (size_t)1 << 30;
#endif
    return pool.limit;
}

static struct block *fresh(size_t bytes, int class) {
    size_t lead = bytes >= HUGE ? HUGE : HEADER, unit = bytes >= HUGE ? HUGE : HEADER;
    void *base = aligned_alloc(unit, (lead + bytes + unit - 1) / unit * unit);
    if (!base) return NULL;
#if POOL_THREADS && defined(MADV_HUGEPAGE)
    if (unit == HUGE) madvise((char *)base + lead, bytes, MADV_HUGEPAGE);
#endif
    struct block *b = (struct block *)((char *)base + lead - HEADER);
    *b = (struct block){NULL, base, bytes, class};
    return b;
}

/* Gives memory back to the system until at most `bytes` are cached, the largest blocks first. */
static void shrink(size_t bytes) {
    for (int c = CLASSES - 1; c >= 0 && pool.cached > bytes; c--)
        while (kept[c] && pool.cached > bytes) {
            struct block *b = kept[c];
            kept[c] = b->next;
            pool.cached -= b->bytes;
            free(b->base);
        }
}

void *cafe_pool_take(int64_t wanted) {
    size_t bytes;
    int class = class_of(wanted < 64 ? 64 : (size_t)wanted, &bytes);
    lock();
    struct block *b = kept[class];
    pool.taken++;
    if (b) {
        kept[class] = b->next;
        pool.cached -= bytes;
        pool.reused++;
    } else if (!(b = fresh(bytes, class))) {
        shrink(0);
        b = fresh(bytes, class);
    }
    if (b && (pool.used += bytes) > pool.peak) pool.peak = pool.used;
    unlock();
    if (!b) return NULL;
    char *data = (char *)b + HEADER;
    ASAN_UNPOISON_MEMORY_REGION(data, bytes);
    ASAN_POISON_MEMORY_REGION(data + (wanted < 0 ? 0 : wanted), bytes - (wanted < 0 ? 0 : (size_t)wanted));
    return data;
}

void cafe_pool_give(void *data) {
    if (!data) return;
    struct block *b = (struct block *)((char *)data - HEADER);
    ASAN_POISON_MEMORY_REGION(data, b->bytes);
    lock();
    pool.used -= b->bytes;
    pool.cached += b->bytes;
    b->next = kept[b->class];
    kept[b->class] = b;
    if (pool.cached > limit()) shrink(limit());
    unlock();
}

void cafe_pool_empty(void) {
    lock();
    shrink(0);
    unlock();
}

void cafe_pool_set_limit(int64_t bytes) {
    lock();
    pool.limit = bytes < 1 ? 1 : (size_t)bytes;
    shrink(pool.limit);
    unlock();
}

void cafe_pool_statistics(int64_t *six) {
    lock();
    int64_t numbers[6] = {(int64_t)pool.used, (int64_t)pool.cached, (int64_t)pool.peak, (int64_t)limit(), pool.taken, pool.reused};
    unlock();
    memcpy(six, numbers, sizeof numbers);
}
