/*
 * Finds the gradients of attention: products that add up functions of the scores along their rows
 * or their columns, of two products' elements or of one's,
 *
 *   s = CONTRACT(q, k)    dp = CONTRACT(do, v)    p = EXP(x(s) - stats)    ds = p * (dp - delta)
 *   dq = CONTRACT(ds, k)    dk = CONTRACT(ds^T, q)    dv = CONTRACT(p^T, do)
 *   dbias = ds, or REDUCE_SUM(ds)
 *
 * by what is computed, however the graph says it. What is of the scores' size can be computed once
 * more for each kernel, from the operands: one for what is summed along rows, one for what is
 * summed along columns, with two results at most, and one for each gradient of the scores that
 * others want, summed over batches or not: a fold.
 * rewrite_attention_gradient.c makes their operations of it.
 */
#ifndef KILN_COMPILER_IR_FIND_ATTENTION_GRADIENT_H
#define KILN_COMPILER_IR_FIND_ATTENTION_GRADIENT_H

#include "compiler/ir/ir.h"

enum {
    KILN_GRADIENT_MAX_SCORES = 2,  /* and results, of a kernel */
    KILN_GRADIENT_MAX_ATTENDS = 8, /* second products that take functions of the same scores */
    KILN_GRADIENT_MAX_FOLDS = 2,
    KILN_GRADIENT_MAX_INSIDE = 256, /* operations between the products, so that one kernel can do
                                       them */
};

/* A second product: weights[rows, columns] * value[columns, d]. */
struct kiln_gradient_attend {
    uint32_t value;     /* CONTRACT */
    uint32_t side;      /* which operand of it the weights are */
    uint32_t kernel;    /* of its gradient's */
    bool is_transposed; /* its rows are the scores' last axis */
    /* The axis of scores, from the right, of which several are summed, and how many; KILN_NO_AXIS
     * and 1 where there is none. */
    uint8_t outer_axis;
    int64_t outer;
};

/* A function of both scores that others than second products read. */
struct kiln_gradient_fold {
    uint32_t value;
    uint32_t reader; /* the only one, if it is a REDUCE_SUM: what of it is along batches is the
                        fold's; KILN_NONE: others */
    uint32_t kernel; /* of its gradient's */
};

/* All that functions of the same scores go into. */
struct kiln_attention_gradient {
    uint32_t score_count;
    uint32_t scores[KILN_GRADIENT_MAX_SCORES];
    uint32_t attend_count;
    struct kiln_gradient_attend attends[KILN_GRADIENT_MAX_ATTENDS];
    uint32_t fold_count;
    struct kiln_gradient_fold folds[KILN_GRADIENT_MAX_FOLDS];
    uint32_t inside_count;
    uint32_t *inside; /* the scores and all that lies between the products, ascending */
    uint32_t kernel_count;
};

struct kiln_attention_gradients {
    struct kiln_attention_gradient *found;
    uint32_t count;
    uint32_t *position; /* per operation: where it is inside of its gradient, + 1 */
};

/* The index of an operation in `inside`; KILN_NONE where it is not there. */
uint32_t kiln_attention_gradient_inside(const struct kiln_attention_gradients *gradients,
                                        const struct kiln_attention_gradient *gradient,
                                        uint32_t value);

/* Finds all gradients of a program without dead operations, where rows of the operands and of the
 * results have at most `most` elements. The result lives in the program's arena. */
enum kiln_status kiln_find_attention_gradients(const struct kiln_ir *ir, int64_t most,
                                               struct kiln_attention_gradients *ret_gradients,
                                               struct kiln_error *error) KILN_NODISCARD;

#endif
