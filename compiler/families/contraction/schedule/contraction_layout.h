/*
 * A contraction's axes in its schedule: sizes, windows, and the strides of every access.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_LAYOUT_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_LAYOUT_H

#include "compiler/families/contraction/schedule/contraction_access.h"

/* Allocates what a contraction knows of each access; false when memory is out. */
bool kiln_contraction_begin_accesses(const struct kiln_contraction_problem *problem);

/* Fills the operands' places, sizes and axes of the schedule, windows, phases, and the strides of
 * every access; rows of the kernel are n of the CONTRACT where it is transposed. */
void kiln_contraction_lay_out_axes(struct kiln_contraction_problem *problem, bool is_transposed);

/* True if rows of an operand's tiles are rows, or columns, of the result; `summed` is one of them
 * too. */
bool kiln_is_left_operand(const struct kiln_contraction_schedule *contraction,
                          const struct kiln_operand_schedule *operand);
bool kiln_is_right_operand(const struct kiln_contraction_schedule *contraction,
                           const struct kiln_operand_schedule *operand);

/* True if any of these axes goes along a window. */
bool kiln_is_axis_windowed(const struct kiln_contraction_schedule *contraction,
                           const struct kiln_operand_schedule *operand, bool is_k, uint32_t axis);

#endif
