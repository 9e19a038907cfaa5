/* What rnn.c and bodies/rnn.inc share: sizes and scratch. */
#ifndef CAFE_RNN_H
#define CAFE_RNN_H

#include <stdint.h>

/* B sequences, T times, H hidden. A body takes CAFE_RNN_ROWS sequences at a time through all times: enough for its products, and few
 * enough that state and gates stay in L2 beside the weights. */
struct cafe_rnn {
    int64_t batch, steps, hidden;
};
enum { CAFE_RNN_ROWS = 64 };

/* Scratch of a body, in elements: weights packed (whole panels: at most 32 columns), and two arrays of ROWS rows, each row with a line to
 * spare so that rows a power of two apart do not fall on each other in L1. gates: how many H go into a row of the wider one. */
static inline int64_t cafe_rnn_row(int64_t n) { return n + 16; }
static inline int64_t cafe_rnn_scratch(int64_t hidden, int64_t gates) {
    int64_t wide = gates * hidden;
    return (hidden + 32) * (wide + 32) + CAFE_RNN_ROWS * (cafe_rnn_row(hidden) + cafe_rnn_row(wide));
}

#endif
