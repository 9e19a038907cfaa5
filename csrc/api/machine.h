/* The machine, the probe, the pool: a part of the API, see cafe.h. */
#ifndef CAFE_API_MACHINE_H
#define CAFE_API_MACHINE_H

#include <stdint.h>

/* ---- the machine: dispatch.c, threads.c ---- */

enum { CAFE_OK = 0, CAFE_NO_MEMORY = 1, CAFE_UNKNOWN_ISA = 2, CAFE_OUT_OF_RANGE = 3, CAFE_BAD_ID = 4, CAFE_NOT_FINITE = 5, CAFE_REFUSED = 6 };

/* Fills the table of kernels for instruction set `isa` ("generic", "avx2", "avx2x2", "avx512"), or for the best there is when
 * `isa` is NULL or empty. CAFE_UNKNOWN_ISA when it was not built or this CPU lacks it; the table is then as before. */
int cafe_select_isa(const char *isa);

/* The instruction set in use, and all that can be selected here, separated by spaces. */
const char *cafe_isa(void);
const char *cafe_isas(void);

/* What setup.py found: compiler, flags, OpenMP, instruction sets, one "key: value" a line. */
const char *cafe_build_info(void);

/* How many threads large work is split over. At the start OMP_NUM_THREADS, or the CPUs this process may use. 1 for good in a
 * child after fork. The getter says what is in force; the setter takes n >= 1. Bits do not depend on it. */
int cafe_get_num_threads(void);
void cafe_set_num_threads(int n);

/* ---- probe: bodies/probe.inc, probe.c. What the machine gives at most; the bench puts kernels beside it ---- */

enum { CAFE_PROBE_FMAS = 196608 };

/* y has n elements; each takes CAFE_PROBE_FMAS multiply-adds that stay in registers. */
void cafe_probe_fma_f32(float *y, int64_t n);
void cafe_probe_fma_f64(double *y, int64_t n);

/* n times: reads `reads` elements of x and writes `writes` elements of y, both onwards from the last; sums (n elements) gets what was read. y may
 * be x: then each time the first `writes` of what was read are written, writes <= reads. reads and writes are multiples of 64. `stream`
 * writes past the caches and wants y on a 64-byte bound; `store` does not. */
void cafe_probe_store_f32(float *y, float *sums, const float *x, int64_t n, int64_t reads, int64_t writes);
void cafe_probe_store_f64(double *y, double *sums, const double *x, int64_t n, int64_t reads, int64_t writes);
void cafe_probe_stream_f32(float *y, float *sums, const float *x, int64_t n, int64_t reads, int64_t writes);
void cafe_probe_stream_f64(double *y, double *sums, const double *x, int64_t n, int64_t reads, int64_t writes);

/* ---- the pool: memory.c ---- */

/* Memory for a large result, 64-byte aligned, uninitialised, of at least so many bytes; NULL when there is none. From any thread. */
void *cafe_pool_take(int64_t bytes);

/* Gives it back, to be handed out again; to the system when more than the limit would be cached. NULL is fine. */
void cafe_pool_give(void *data);

/* Gives all cached memory to the system. */
void cafe_pool_empty(void);

/* How many bytes may be cached; at the start a quarter of the machine's memory. */
void cafe_pool_set_limit(int64_t bytes);

/* Six numbers: bytes in use, bytes cached, most bytes ever in use, the limit, how often taken, how often from the cache. */
void cafe_pool_statistics(int64_t *six);

#endif
