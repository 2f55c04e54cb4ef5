/*
 * What a CONTRACT iterates over: sums of products of two operands along the axes that both have and
 * the result has not.
 *
 *   result[batch, m, n] = sum over k of left[batch / repeat, m, k] * right[batch / repeat, k, n]
 *
 * Each of batch, m, n and k may be several axes, or none. Axes of operands and of the result are
 * counted from the right, as domains align: 0 is the last one. An operand whose domain does not
 * reach an axis has size 1 there.
 *
 * Several axes may go along one axis of an operand or of the result, each by steps of its own: of a
 * grouped convolution's channels one counts groups and one those of a group. Of a convolution an
 * axis of m and one of k go along the same axis of the image, which their sum may leave: a window.
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
    /* A matrix product's result of eight axes, and k; a convolution's groups, images, channels of
     * both kinds, and three axes of pixels and of taps. */
    KILN_CONTRACTION_MAX_AXES = 10,
    /* Of one role: images and three axes of pixels, or channels and three of taps. Batches of a
     * product are what rows and columns leave of eight axes. */
    KILN_CONTRACTION_MAX_ROLE_AXES = 4,
    KILN_CONTRACTION_MAX_BATCH_AXES = KILN_MAX_RANK - 2,
    KILN_NO_AXIS = 0xff,
};

struct kiln_contraction_axis {
    enum kiln_axis_role role;
    int64_t size;
    /* From the right; KILN_NO_AXIS where the operand does not vary along this axis. */
    uint8_t left, right, result;
    /* BATCH: so many neighbouring indices read one of the operand; else 1. */
    int64_t left_repeat, right_repeat;
    /* How far an index goes along that axis of the operand or result; positive but where there is a
     * window. */
    int64_t left_step, right_step, result_step;
};

/*
 * An axis of an operand of which coordinates are wanted that it does not have: products there count
 * as zero, as do those with no whole coordinate. The coordinate is
 *
 *   (offset + sum of the steps of all axes that go along it) / divisor
 */
struct kiln_contraction_window {
    uint8_t axis; /* of the operand, from the right */
    int64_t size; /* the operand's */
    int64_t offset;
    int64_t divisor; /* at least 1 */
};

struct kiln_contraction {
    uint32_t axis_count;
    struct kiln_contraction_axis axes[KILN_CONTRACTION_MAX_AXES];
    bool is_right_windowed; /* which operand the windows are of */
    uint32_t window_count;
    struct kiln_contraction_window windows[KILN_MAX_SPATIAL_AXES];
};

/* The product of the sizes of all axes of a role: 1 where there are none. */
int64_t kiln_contraction_size(const struct kiln_contraction *contraction, enum kiln_axis_role role);

/* The only axis of a role, borrowed; NULL where there are none or several. */
const struct kiln_contraction_axis *
kiln_contraction_only_axis(const struct kiln_contraction *contraction, enum kiln_axis_role role);

/* The same products with the operands in the other order. */
struct kiln_contraction kiln_contraction_swap(const struct kiln_contraction *contraction);

/* Whether this is the weight gradient of a depthwise convolution with the image as its left
 * operand: groups are batches, m is taps of the one channel that a group has, k are images and
 * pixels. */
bool kiln_contraction_is_depthwise_gradient(const struct kiln_contraction *contraction);

/* The window over an axis of an operand; NULL where there is none. */
const struct kiln_contraction_window *
kiln_contraction_window_over(const struct kiln_contraction *contraction, bool is_right,
                             uint8_t axis);

#endif
