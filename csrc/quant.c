/* Entry point of bodies/quant.inc: some blocks a task. */
#include "dispatch.h"
#include "cafe.h"
#include "threads.h"

struct quant {
    int kind;
    float *y;
    const uint8_t *x;
    int64_t numbers, size;
};

static void quant_task(void *context, int64_t begin, int64_t end) {
    struct quant *c = context;
    cafe_any->dequantize(c->kind, c->y + begin * c->numbers, c->x + begin * c->size, end - begin, c->numbers, c->size);
}

void cafe_dequantize(int kind, float *y, const uint8_t *x, int64_t blocks, int64_t numbers, int64_t size) {
    struct quant c = {kind, y, x, numbers, size};
    if (kind < CAFE_Q4_0 || kind > CAFE_Q6_K) return;
    cafe_for(blocks, cafe_ceil_div(CAFE_GRAIN, numbers), blocks * numbers, CAFE_SERIAL_CHEAP, quant_task, &c);
}
