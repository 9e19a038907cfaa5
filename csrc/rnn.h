/* What rnn.c and bodies/rnn.inc share: sizes and scratch. */
#ifndef CAFE_RNN_H
#define CAFE_RNN_H

#include <stdint.h>

/* B sequences, T times, H hidden; states: how many H wide the gradient of an LSTM's states is, 1 for h alone. A body takes CAFE_RNN_ROWS
 * sequences at a time through all times: enough for its products, and few enough that states stay in L2 beside the weights. */
struct cafe_rnn {
    int64_t batch, steps, hidden, states;
};
enum { CAFE_RNN_ROWS = 64 };

/* Scratch of a body, in elements: weights packed in whole panels, at most 32 columns; of so many rows two that are H wide and one as wide as all
 * gates, each with a line to spare so that rows a power of two apart do not fall on each other in L1, or the gates of a panel of units.
 * gates: how many H go into a row of the wider one. */
static inline int64_t cafe_rnn_row(int64_t n) { return n + 16; }
static inline int64_t cafe_rnn_scratch(int64_t hidden, int64_t gates) {
    return gates * hidden * (hidden + 32) + CAFE_RNN_ROWS * (2 * cafe_rnn_row(hidden) + cafe_rnn_row(gates * hidden) + gates * 32);
}

#endif
