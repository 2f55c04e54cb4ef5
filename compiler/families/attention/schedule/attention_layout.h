/*
 * The axes of attention's kernel: batches, rows m and columns n of the scores, k of the first
 * product, d of the result; and how each access walks along them.
 */
#ifndef KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_LAYOUT_H
#define KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_LAYOUT_H

#include "compiler/families/attention/schedule/attention_schedule.h"
#include "compiler/families/contraction/schedule/contraction_access.h"
#include "compiler/families/contraction/schedule/contraction_schedule.h"

/* Fills sizes, batches, repeats and places of the schedule, and strides of its accesses.
 * problem->axes is SCORE's. */
void kiln_attention_lay_out_axes(struct kiln_contraction_problem *problem,
                                 struct kiln_attention_schedule *attention);

/* What stages the loads of a place; NULL where none does. */
const struct kiln_operand_schedule *
kiln_attention_operand(const struct kiln_attention_schedule *attention, enum kiln_place place);

/* Finds which values are right operands too, and lie the same way: one tile may be both then. */
void kiln_attention_find_shared_tiles(const struct kiln_contraction_problem *problem,
                                      struct kiln_attention_schedule *attention);

#endif
