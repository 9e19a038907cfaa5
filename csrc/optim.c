/* Entry points of bodies/optim.inc, for both types: the file includes itself once for each. All variables are one run of elements,
 * cut into grains wherever they fall, so that a thousand small variables cost one region. */
#ifndef REAL
#include "optim.h"
#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "threads.h"

/* What lies within begin <= i < end of the run, variable by variable: number `at`, its elements `from` on, n of them. */
struct piece { int64_t at, from, n, passed; };

static struct piece first_piece(const int64_t *n, int64_t begin, int64_t end) {
    struct piece k = {0, 0, 0, 0};
    while (k.passed + n[k.at] <= begin) k.passed += n[k.at++];
    k.from = begin - k.passed;
    k.n = cafe_min(n[k.at] - k.from, end - begin);
    return k;
}

static void next_piece(struct piece *k, const int64_t *n, int64_t end) {
    k->passed += n[k->at++];
    k->from = 0;
    k->n = k->passed < end ? cafe_min(n[k->at], end - k->passed) : 0;
}

static int64_t sum_of(const int64_t *n, int64_t count) {
    int64_t total = 0;
    for (int64_t i = 0; i < count; i++) total += n[i];
    return total;
}

#define REAL f32
#include "optim.c"
#undef REAL
#define REAL f64
#include "optim.c"
#undef REAL
#else

typedef struct {
    T *const *p, *const *m, *const *v;
    const T *const *g;
    const int64_t *n;
    struct cafe_sgd sgd;
    struct cafe_adam adam;
} ENTRY(optim_call);

static void ENTRY(sgd_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(optim_call) *c = context;
    for (struct piece k = first_piece(c->n, begin, end); k.passed < end; next_piece(&k, c->n, end)) {
        T *p = c->p[k.at] + k.from;
        const T *g = c->g[k.at] + k.from;
        if (c->m) TABLE->sgd_momentum(p, g, c->m[k.at] + k.from, k.n, &c->sgd);
        else TABLE->sgd(p, g, k.n, &c->sgd);
    }
}

void ENTRY(sgd)(T *const *p, const T *const *g, T *const *m, const int64_t *n, int64_t count, double lr, double momentum,
                double dampening, double weight_decay, int nesterov, int first) {
    ENTRY(optim_call) c = {.p = p, .g = g, .m = momentum != 0 ? m : 0, .n = n};
    c.sgd = (struct cafe_sgd){lr, momentum, 1 - dampening, weight_decay, nesterov, first};
    int64_t total = sum_of(n, count);
    cafe_for(total, CAFE_GRAIN, total, CAFE_SERIAL_OPTIM, ENTRY(sgd_task), &c);
}

static void ENTRY(adam_task)(void *context, int64_t begin, int64_t end) {
    ENTRY(optim_call) *c = context;
    for (struct piece k = first_piece(c->n, begin, end); k.passed < end; next_piece(&k, c->n, end))
        TABLE->adam(c->p[k.at] + k.from, c->g[k.at] + k.from, c->m[k.at] + k.from, c->v[k.at] + k.from, k.n, &c->adam);
}

void ENTRY(adam)(T *const *p, const T *const *g, T *const *m, T *const *v, const int64_t *n, int64_t count, double shrink,
                 double weight_decay, double beta1, double beta2, double root, double eps, double step) {
    ENTRY(optim_call) c = {.p = p, .g = g, .m = m, .v = v, .n = n};
    c.adam = (struct cafe_adam){shrink, weight_decay, 1 - beta1, beta2, 1 - beta2, root, eps, step};
    int64_t total = sum_of(n, count);
    cafe_for(total, CAFE_GRAIN, total, CAFE_SERIAL_OPTIM, ENTRY(adam_task), &c);
}

#endif
