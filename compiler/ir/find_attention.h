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
#include "compiler/ir/ir.h"

enum {
    KILN_ATTENTION_MAX_PATH = 16, /* operations between the exponential and the second product */
};

/* An operation on the way from the exponential to the weights. */
struct kiln_attention_step {
    uint32_t value;
    uint32_t side;   /* which operand is on the way */
    uint32_t factor; /* the other operand, before its BROADCAST, if it is the same in all of a row:
                        goes behind the second product; else KILN_NONE */
};

/* One attention, in values of the program. */
struct kiln_found_attention {
    uint32_t score;             /* CONTRACT */
    uint32_t attend;            /* CONTRACT */
    uint32_t side;              /* which operand of it the weights are */
    bool are_scores_transposed; /* rows of scores are those of the first product's right operand */
    bool is_online;             /* a softmax; then: */
    uint32_t x;                 /* what the maximum is of */
    uint32_t max;               /* REDUCE_MAX */
    uint32_t exp;               /* EXP */
    uint32_t shift;             /* what is subtracted from x, before its BROADCAST */
    bool is_plain;              /* that is the maximum itself: rows of -infinity are NaN */
    bool is_guarded;            /* that is the maximum, and 0 where the maximum is -infinity */
    bool is_divided;            /* the exponential is divided by its sum on the way */
    uint32_t row_domain;
    struct kiln_attention_step path[KILN_ATTENTION_MAX_PATH]; /* last one first */
    uint32_t path_count;
};

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
