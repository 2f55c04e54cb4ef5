/*
 * The axes of a contraction's kernel. What a CONTRACT iterates over becomes one index for rows, one
 * for columns and one for k, and batches: axes of a role that every operand walks as one become
 * one, what is left of several is taken apart where an operand needs it.
 *
 * A window with a divisor, that of a strided convolution's gradient, has a coordinate for one in so
 * many rows and taps only. Rows are sorted by what is left over, their phase, each with the taps
 * that fit: so many dense products in one launch, and phases are batches.
 */
#ifndef KILN_COMPILER_SCHEDULE_CONTRACTION_AXES_H
#define KILN_COMPILER_SCHEDULE_CONTRACTION_AXES_H

#include "compiler/schedule/schedule.h"

struct kiln_contraction_problem {
    const struct kiln_ir *ir;
    const struct kiln_graph *graph;
    const struct kiln_fusion_group *group;
    const struct kiln_target *target;
    const struct kiln_op *op; /* the first CONTRACT; the second has its axes and types */
    const struct kiln_contraction *axes;
    struct kiln_schedule *schedule;
    struct kiln_contraction_schedule *contraction;
};

/* The heaviest access of a place, in bytes; KILN_NONE when there is none. */
uint32_t kiln_contraction_heaviest(const struct kiln_contraction_problem *problem,
                                   enum kiln_place place, bool is_store);

/* The result's memory runs along m rather than n, or what is reduced does; two products are laid
 * out by what they share. */
bool kiln_contraction_is_transposed(const struct kiln_contraction_problem *problem);

/* Whether an axis counts the groups of a convolution's channels: a batch that goes along the same
 * axis of the result as columns. */
bool kiln_is_group_axis(const struct kiln_contraction *contraction,
                        const struct kiln_contraction_axis *axis);

/* Elements of the result: of operands, no. */
bool kiln_is_access_of_result(const struct kiln_access *access);

/* Fills the operands' places, sizes and axes of the schedule, windows, phases, and the strides of
 * every access; rows of the kernel are n of the CONTRACT where it is transposed. */
void kiln_contraction_lay_out_axes(struct kiln_contraction_problem *problem, bool is_transposed);

/* Whether any of these axes goes along a window. */
bool kiln_is_axis_windowed(const struct kiln_contraction_schedule *contraction,
                           const struct kiln_operand_schedule *operand, bool is_k, uint32_t axis);

#endif
