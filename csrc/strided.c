#include "strided.h"

#include <string.h>

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

int64_t cafe_strided_offset(const struct cafe_strided *s, int k, int64_t at) {
    int64_t offset = 0;
    for (int i = s->ndim - 1; i > 0; i--) {
        offset += at % s->shape[i] * s->stride[k][i];
        at /= s->shape[i];
    }
    return offset + at * s->stride[k][0];
}

/* One element n times. */
static void fill_run(char *y, const char *x, int64_t n, int64_t size) {
    int64_t done = n < 64 ? n : 64; /* doubled from there on in the nearest cache, and in pieces that stay in it */
    for (int64_t i = 0; i < done; i++) memcpy(y + i * size, x, (size_t)size);
    for (int64_t more; done < n; done += more) {
        more = cafe_min(cafe_min(done, 2048 / size), n - done);
        memcpy(y + done * size, y, (size_t)(more * size));
    }
}

/* n elements, `stride` bytes apart. */
static void gather_run(char *y, const char *x, int64_t n, int64_t stride, int64_t size) {
    if (stride == 0) fill_run(y, x, n, size);
    else if (stride == size) memcpy(y, x, (size_t)(n * size));
    else if (size == 4) for (int64_t i = 0; i < n; i++) memcpy(y + i * 4, x + i * stride, 4);
    else if (size == 8) for (int64_t i = 0; i < n; i++) memcpy(y + i * 8, x + i * stride, 8);
    else if (size == 2) for (int64_t i = 0; i < n; i++) memcpy(y + i * 2, x + i * stride, 2);
    else for (int64_t i = 0; i < n; i++) y[i] = x[i * stride];
}

void cafe_strided_gather(void *y, const struct cafe_strided *s, int k, const void *base, int64_t at, int64_t n, int64_t size) {
    int last = s->ndim - 1;
    int64_t index[CAFE_MAX_DIMS], rest = at;
    for (int i = last; i >= 0; i--) {
        index[i] = rest % s->shape[i];
        rest /= s->shape[i];
    }
    const char *x = (const char *)base + cafe_strided_offset(s, k, at);
    for (char *to = y; n > 0;) {
        int64_t run = cafe_min(n, s->shape[last] - index[last]);
        gather_run(to, x, run, s->stride[k][last], size);
        to += run * size;
        n -= run;
        /* On to the next row: back to the start of each axis that is through, one step along the first that is not. */
        x -= index[last] * s->stride[k][last];
        index[last] = 0;
        for (int i = last - 1; i >= 0; i--) {
            x += s->stride[k][i];
            if (++index[i] < s->shape[i]) break;
            x -= s->shape[i] * s->stride[k][i];
            index[i] = 0;
        }
    }
}
