/*
 * What a CONTRACT iterates over: sums of products of two operands along the axes that both have and
 * the result has not.
 *
 *   result[batch, m, n] = sum over k of left[batch / repeat, m, k] * right[batch / repeat, k, n]
 *
 * Each of batch, m, n and k may be several axes, or none. Axes of operands and of the result are
 * counted from the right, as domains align: 0 is the last one. An operand whose domain does not
 * reach an axis has size 1 there.
 */
#ifndef KILN_COMPILER_IR_CONTRACTION_H
#define KILN_COMPILER_IR_CONTRACTION_H

#include "compiler/graph/graph.h"

enum kiln_axis_role {
    KILN_AXIS_BATCH, /* in the result; an operand may have it, shorter by a whole factor, or not */
    KILN_AXIS_M,     /* in the left operand and the result */
    KILN_AXIS_N,     /* in the right operand and the result */
    KILN_AXIS_K,     /* in both operands, summed over */
    KILN_AXIS_ROLE_COUNT,
};

enum {
    KILN_CONTRACTION_MAX_AXES = KILN_MAX_RANK + 1, /* a matrix product's result, and k */
    KILN_NO_AXIS = 0xff,
};

struct kiln_contraction_axis {
    enum kiln_axis_role role;
    int64_t size;
    /* From the right; KILN_NO_AXIS where the operand does not vary along this axis. */
    uint8_t left, right, result;
    /* BATCH: so many neighbouring indices read one of the operand; else 1. */
    int64_t left_repeat, right_repeat;
};

struct kiln_contraction {
    uint32_t axis_count;
    struct kiln_contraction_axis axes[KILN_CONTRACTION_MAX_AXES];
};

/* The product of the sizes of all axes of a role: 1 where there are none. */
int64_t kiln_contraction_size(const struct kiln_contraction *contraction, enum kiln_axis_role role);

#endif
