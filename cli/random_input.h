/*
 * Random contents of input tensors, in ranges that suit what the graph does with them: logarithms
 * and variances get positive numbers, divisors stay away from zero, conditions are 0 or 1. The same
 * seed gives the same elements, whatever the strides and the device.
 */
#ifndef KILN_CLI_RANDOM_INPUT_H
#define KILN_CLI_RANDOM_INPUT_H

#include "compiler/graph/graph.h"

#include <stdint.h>

enum kiln_input_range {
    KILN_INPUT_ANY,      /* -2 to 2; integers -8 to 8, unsigned 0 to 15 */
    KILN_INPUT_POSITIVE, /* 0.25 to 4; integers 1 to 8 */
    KILN_INPUT_NONZERO,  /* either sign, 0.5 to 2; integers 1 to 8 */
    KILN_INPUT_GRID,     /* multiples of 0.5 from -2 to 2, so that comparisons see equal values */
    KILN_INPUT_FRACTION, /* 0 to 1 */
    KILN_INPUT_FLAG,     /* 0 or 1 */
    KILN_INPUT_OFFSETS,  /* of a ragged tensor: batches of any length up to the longest */
};

struct kiln_random_input {
    enum kiln_dtype dtype;
    enum kiln_input_range range;
    uint64_t stream;
    struct kiln_ragged ragged; /* OFFSETS: of the tensor with the shortest sequence */
};

/* A number without a pattern for each value, zero included. */
uint64_t kiln_random_mix(uint64_t value);

void kiln_random_input_init(struct kiln_random_input *random, const struct kiln_graph *graph,
                            uint32_t tensor, uint64_t seed);
/* A kiln_element_maker; context is the struct kiln_random_input. */
struct kiln_constant kiln_random_input_element(void *context, int64_t index);

#endif
