#include "strided.h"

#include <string.h>

#include "dispatch.h"
#include "threads.h"

struct cafe_strided cafe_strided_join(int ndim, const int64_t *shape, const int64_t *a, const int64_t *b, int64_t size) {
    struct cafe_strided s = {.total = 1};
    for (int i = 0; i < ndim; i++) {
        int64_t sa = a[i], sb = b ? b[i] : 0;
        s.total *= shape[i];
        if (shape[i] == 1) continue;
        int last = s.ndim - 1;
        if (last >= 0 && s.stride[0][last] == sa * shape[i] && (!b || s.stride[1][last] == sb * shape[i])) s.ndim--;
        s.shape[s.ndim] = (s.ndim == last ? s.shape[last] : 1) * shape[i];
        s.stride[0][s.ndim] = sa;
        s.stride[1][s.ndim] = sb;
        s.ndim++;
    }
    if (s.ndim == 0) s.shape[s.ndim++] = 1;
    int64_t ra = s.stride[0][s.ndim - 1], rb = s.stride[1][s.ndim - 1];
    s.by_rows = s.shape[s.ndim - 1] >= CAFE_STRIDED_ROW && (ra == 0 || ra == size) && (rb == 0 || rb == size) && (ra || rb);
    return s;
}

/* n elements, x's sx bytes apart and y's sy; with `stream` a repeated one goes past the caches. */
static void copy_run(char *y, int64_t sy, const char *x, int64_t sx, int64_t n, int64_t size, int64_t stream) {
    if (sx == 0 && sy == size) cafe_any->fill(y, x, n, size, stream);
    else if (sx == size && sy == size) memcpy(y, x, (size_t)(n * size));
    else if (size == 4) for (int64_t i = 0; i < n; i++) memcpy(y + i * sy, x + i * sx, 4);
    else if (size == 8) for (int64_t i = 0; i < n; i++) memcpy(y + i * sy, x + i * sx, 8);
    else if (size == 2) for (int64_t i = 0; i < n; i++) memcpy(y + i * sy, x + i * sx, 2);
    else for (int64_t i = 0; i < n; i++) y[i * sy] = x[i * sx];
}

struct cafe_walk cafe_walk_from(const struct cafe_strided *s, int64_t at) {
    struct cafe_walk w = {.offset = {0, 0}};
    for (int i = s->ndim - 1; i >= 0; at /= s->shape[i--]) {
        w.index[i] = i > 0 ? at % s->shape[i] : at;
        for (int k = 0; k < 2; k++) w.offset[k] += w.index[i] * s->stride[k][i];
    }
    return w;
}

static void step(const struct cafe_strided *s, struct cafe_walk *w, int axis, int64_t n) {
    w->index[axis] += n;
    w->offset[0] += n * s->stride[0][axis];
    w->offset[1] += n * s->stride[1][axis];
}

void cafe_walk_rows(const struct cafe_strided *s, struct cafe_walk *w, int64_t rows) {
    int last = s->ndim - 1;
    step(s, w, last, -w->index[last]);
    for (int i = last - 1; i >= 0; i--, rows = 1) { /* back to the start of each axis that is through, one step along the first that is not */
        step(s, w, i, rows);
        if (w->index[i] < s->shape[i]) break;
        step(s, w, i, -s->shape[i]);
    }
}

void cafe_strided_gather(void *y, const struct cafe_strided *s, int k, const void *base, int64_t at, int64_t n, int64_t size) {
    int last = s->ndim - 1;
    struct cafe_walk w = cafe_walk_from(s, at);
    for (char *to = y; n > 0;) {
        int64_t run = cafe_min(n, s->shape[last] - w.index[last]);
        copy_run(to, size, (const char *)base + w.offset[k], s->stride[k][last], run, size, 0);
        to += run * size;
        n -= run;
        cafe_walk_rows(s, &w, 1);
    }
}

void cafe_strided_move(void *y, const void *x, const struct cafe_strided *s, int64_t at, int64_t n, int64_t size, int64_t stream) {
    int last = s->ndim - 1, solid = s->stride[0][last] == size && s->stride[1][last] == size;
    struct cafe_walk w = cafe_walk_from(s, at);
    while (n > 0) {
        int64_t run = cafe_min(n, s->shape[last] - w.index[last]), rows = 1;
        const char *from = (const char *)x + w.offset[0];
        char *to = (char *)y + w.offset[1];
        if (solid) {
            if (last > 0 && run == s->shape[last]) rows = cafe_min(n / run, s->shape[last - 1] - w.index[last - 1]);
            int64_t ldx = last > 0 ? s->stride[0][last - 1] : 0, ldy = last > 0 ? s->stride[1][last - 1] : 0;
            cafe_any->move_rows(to, ldy, from, ldx, rows, run * size, stream);
        } else copy_run(to, s->stride[1][last], from, s->stride[0][last], run, size, stream);
        n -= rows * run;
        cafe_walk_rows(s, &w, rows);
    }
}

int64_t cafe_strided_before(const struct cafe_strided *s, int k, int64_t offset) {
    int64_t count = 0, each = s->total;
    for (int i = 0; i < s->ndim && offset > 0; i++) {
        int64_t step = s->stride[k][i], whole = step ? offset / step : 0;
        each /= s->shape[i];
        if (whole >= s->shape[i]) return count + s->shape[i] * each;
        count += whole * each;
        offset -= whole * step;
    }
    return offset > 0 ? count + 1 : count;
}
