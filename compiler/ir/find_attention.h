/*
 * Finds attention in a program: two products with a function of the first one's elements between
 * them, the scores, and perhaps the softmax of their rows. However the graph says it, as a node or
 * written out, it is found by what is computed:
 *
 *   s = CONTRACT(q, k)    x = elementwise of s    m = REDUCE_MAX(x)    e = EXP(x - m)
 *   l = REDUCE_SUM(e)     o = CONTRACT(e / l, v)
 *
 * or without m, e and l: any elementwise function of s. One kernel can do it all if nothing else
 * reads the scores, which are then never in memory. rewrite_attention.c makes its operations of it.
 */
#ifndef KILN_COMPILER_IR_FIND_ATTENTION_H
#define KILN_COMPILER_IR_FIND_ATTENTION_H

#include "compiler/ir/attention_miss.h"
#include "compiler/ir/found_attention.h"
#include "compiler/ir/ir.h"

/* The role of an operation in its attention. */
enum kiln_attention_part {
    KILN_ATTENTION_NONE, /* stays what it is */
    KILN_ATTENTION_SCORE,
    KILN_ATTENTION_MAX,
    KILN_ATTENTION_EXP,
    KILN_ATTENTION_SUM,
    KILN_ATTENTION_ATTEND,
};

struct kiln_attentions {
    uint8_t *part;          /* per operation: enum kiln_attention_part */
    uint32_t *attention_of; /* per operation with a part: index of its attention + 1 */
    struct kiln_found_attention *found;
    uint32_t count;
    struct kiln_missed_attention missed; /* the first, in the order of the second products */
};

/* Finds all attention of a program without dead operations, where rows of the operands and of the
 * result have at most `most` elements. The result lives in the program's arena. */
enum kiln_status kiln_find_attention(const struct kiln_ir *ir, int64_t most,
                                     struct kiln_attentions *ret_attentions,
                                     struct kiln_error *error) KILN_NODISCARD;

#endif
