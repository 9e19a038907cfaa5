/* Entry points of bodies/rnn.inc, for both types: the file includes itself once for each. An item is one sequence. */
#ifndef REAL
#include "rnn.h"

#include <stdatomic.h>

#include "cafe.h"
#include "dispatch.h"
#include "entry.h"
#include "threads.h"

enum { SEQUENCES = 4 /* a thread's at least: it reads all weights at each time, whether for one row or for some */ };

#define REAL f32
#include "rnn.c"
#undef REAL
#define REAL f64
#include "rnn.c"
#undef REAL
#else

struct ENTRY(rnn_call) {
    struct cafe_rnn p;
    int64_t gates; /* how many H wide a product is */
    T *y, *states, *dxw, *dh0, *dc0, *dh, *before;
    const T *xw, *h0, *c0, *w, *b, *grad, *given, *kept;
    atomic_int status;
};

static T *ENTRY(rnn_scratch)(struct ENTRY(rnn_call) *c) {
    T *scratch = cafe_scratch((size_t)cafe_rnn_scratch(c->p.hidden, c->gates) * sizeof(T));
    if (!scratch) atomic_store(&c->status, CAFE_NO_MEMORY);
    return scratch;
}

static int ENTRY(rnn_run)(struct ENTRY(rnn_call) *c, cafe_task *task) {
    int64_t work = c->p.batch * c->p.steps * c->p.hidden * c->p.hidden * c->gates;
    cafe_for(c->p.batch, SEQUENCES, work, CAFE_SERIAL_FMA, task, c);
    return atomic_load(&c->status);
}

static void ENTRY(lstm_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(rnn_call) *c = context;
    const int64_t n = c->p.hidden, at = begin * c->p.steps * n;
    T *scratch = ENTRY(rnn_scratch)(c);
    if (scratch) TABLE->lstm(c->y + 2 * at, c->states + 4 * at, c->xw + 4 * at, c->h0 + begin * n, c->c0 + begin * n, c->w, end - begin, &c->p, scratch);
}

int ENTRY(lstm)(T *y, T *gates, const T *xw, const T *h0, const T *c0, const T *w, int64_t batch, int64_t steps, int64_t hidden) {
    struct ENTRY(rnn_call) c = {.p = {batch, steps, hidden, 1}, .gates = 4, .y = y, .states = gates, .xw = xw, .h0 = h0, .c0 = c0, .w = w};
    return ENTRY(rnn_run)(&c, ENTRY(lstm_task));
}

static void ENTRY(lstm_backward_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(rnn_call) *c = context;
    const int64_t n = c->p.hidden, at = begin * c->p.steps * n, row = begin * n;
    T *scratch = ENTRY(rnn_scratch)(c);
    if (scratch)
        TABLE->lstm_backward(c->dxw + 4 * at, c->dh0 + row, c->dc0 + row, c->before + at, c->grad + c->p.states * at, c->h0 + row, c->c0 + row, c->w,
                             c->given + 2 * at, c->kept + 4 * at, end - begin, &c->p, scratch);
}

int ENTRY(lstm_backward)(T *dxw, T *dh0, T *dc0, T *dw, T *work, const T *grad, const T *h0, const T *c0, const T *w, const T *y, const T *gates,
                         int64_t batch, int64_t steps, int64_t hidden, int64_t states) {
    struct ENTRY(rnn_call) c = {.p = {batch, steps, hidden, states}, .gates = 4, .dxw = dxw, .dh0 = dh0, .dc0 = dc0, .before = work, .grad = grad,
                                .h0 = h0, .c0 = c0, .w = w, .given = y, .kept = gates};
    int status = ENTRY(rnn_run)(&c, ENTRY(lstm_backward_task));
    return status ? status : ENTRY(matmul)(dw, dxw, work, 4 * hidden, batch * steps, hidden, 1, 4 * hidden, hidden, 1);
}

static void ENTRY(gru_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(rnn_call) *c = context;
    const int64_t n = c->p.hidden, at = begin * c->p.steps * n;
    T *scratch = ENTRY(rnn_scratch)(c);
    if (scratch) TABLE->gru(c->y + at, c->states + 4 * at, c->xw + 3 * at, c->h0 + begin * n, c->w, c->b, end - begin, &c->p, scratch);
}

int ENTRY(gru)(T *y, T *gates, const T *xw, const T *h0, const T *w, const T *b, int64_t batch, int64_t steps, int64_t hidden) {
    struct ENTRY(rnn_call) c = {.p = {batch, steps, hidden, 1}, .gates = 3, .y = y, .states = gates, .xw = xw, .h0 = h0, .w = w, .b = b};
    return ENTRY(rnn_run)(&c, ENTRY(gru_task));
}

static void ENTRY(gru_backward_task)(void *context, int64_t begin, int64_t end) {
    struct ENTRY(rnn_call) *c = context;
    const int64_t n = c->p.hidden, at = begin * c->p.steps * n, row = begin * n;
    T *scratch = ENTRY(rnn_scratch)(c);
    if (scratch)
        TABLE->gru_backward(c->dxw + 3 * at, c->dh0 + row, c->dh + 3 * at, c->before + at, c->grad + at, c->h0 + row, c->w, c->given + at,
                            c->kept + 4 * at, end - begin, &c->p, scratch);
}

int ENTRY(gru_backward)(T *dxw, T *dh0, T *dw, T *db, T *work, const T *grad, const T *h0, const T *w, const T *y, const T *gates, int64_t batch,
                        int64_t steps, int64_t hidden) {
    T *dh = work + batch * steps * hidden;
    struct ENTRY(rnn_call) c = {.p = {batch, steps, hidden, 1}, .gates = 3, .dxw = dxw, .dh0 = dh0, .dh = dh, .before = work, .grad = grad,
                                .h0 = h0, .w = w, .given = y, .kept = gates};
    int status = ENTRY(rnn_run)(&c, ENTRY(gru_backward_task));
    if (status == CAFE_OK) status = ENTRY(matmul)(dw, dh, work, 3 * hidden, batch * steps, hidden, 1, 3 * hidden, hidden, 1);
    return status ? status : ENTRY(sum)(db, dh, 1, batch * steps, 3 * hidden);
}

#endif
