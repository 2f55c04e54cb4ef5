/*
 * Registers that a reduction's work-items need to keep rows from one pass to the next, so that a
 * row is read once.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_REGISTERS_H
#define KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_REGISTERS_H

#include "compiler/families/reduction/schedule/reduction_problem.h"

/* Registers of the accumulators, for one lane of a vector, at the worst pass. */
uint32_t kiln_accumulator_registers(const struct kiln_reduction_passes *passes);

/* Something is read in more passes than one, so that holding it saves traffic. */
bool kiln_gains_from_holding(const struct kiln_reduction_problem *problem);

/* The form that a work-item holds so many steps in: converted where that leaves registers for other
 * work-groups. On CUDA, which has fewer, only costly values are. */
enum kiln_reduction_held kiln_held_form(const struct kiln_reduction_problem *problem,
                                        const struct kiln_schedule *schedule, uint64_t steps);

/* Steps that a pass after the first loads together, of so many that a work-item holds: operands
 * that it alone reads then take few registers. */
uint32_t kiln_steps_of_later_pass(uint64_t steps);

/* Rows fit into the registers, and the unrolled code into its bound, where
 * `items_along_reduced` work-items share a row and a work-group has items_along_reduced *
 * items_along_kept. */
bool kiln_can_hold_rows(const struct kiln_reduction_problem *problem,
                        const struct kiln_schedule *schedule, uint32_t items_along_reduced,
                        uint32_t items_along_kept);

/* Each work-item would hold so much that more work-items are better, if their rows can be held too:
 * several work-groups then share a compute unit, and one loads while another computes. */
bool kiln_holds_too_much(const struct kiln_reduction_problem *problem,
                         const struct kiln_schedule *schedule, uint32_t items_along_reduced);

/* Registers that hold a work-item's steps of a row, if so many work-items share it. */
uint64_t kiln_registers_of_rows(const struct kiln_reduction_problem *problem,
                                const struct kiln_schedule *schedule, uint32_t items_along_reduced);

#endif
