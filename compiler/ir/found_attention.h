/*
 * One attention that was found in a program (find_attention.h): its operations, and the way from
 * scores to weights.
 */
#ifndef KILN_COMPILER_IR_FOUND_ATTENTION_H
#define KILN_COMPILER_IR_FOUND_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

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
    bool are_scores_transposed; /* rows of scores are rows of the first product's right operand */
    bool is_online;             /* a softmax; then: */
    uint32_t x;                 /* what the maximum is of */
    uint32_t max;               /* REDUCE_MAX */
    uint32_t exp;               /* EXP */
    /* It is subtracted from x after a BROADCAST. If it is the maximum itself, rows of -infinity are
     * NaN. */
    uint32_t shift;
    bool is_guarded; /* it is the maximum, and 0 where the maximum is -infinity */
    bool is_divided; /* the exponential is divided by its sum on the way */
    uint32_t row_domain;
    struct kiln_attention_step path[KILN_ATTENTION_MAX_PATH]; /* last one first */
    uint32_t path_count;
};

#endif
