/*
 * Why two products that look like attention are none: a softmax of the first one's elements is
 * between them, or any function of them, and values that batches have of their own.
 */
#ifndef KILN_COMPILER_IR_ATTENTION_MISS_H
#define KILN_COMPILER_IR_ATTENTION_MISS_H

#include <stdint.h>

enum kiln_attention_miss {
    KILN_ATTENTION_MISS_NOTHING, /* it is attention, or does not look like it */
#define KILN_ATTENTION_MISS(name, text) KILN_ATTENTION_MISS_##name,
#include "compiler/ir/attention_miss.def"
};

struct kiln_missed_attention {
    enum kiln_attention_miss miss;
    uint32_t score_node, attend_node; /* of the graph, that the products were made for */
};

/* Completes "the products are kernels of their own because ..."; static. */
const char *kiln_attention_miss_text(enum kiln_attention_miss miss);

#endif
