/*
 * How a reduction's work is laid out: vectors, work-items that share a row, what is held in
 * registers.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_LAYOUT_H
#define KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_LAYOUT_H

#include "compiler/families/reduction/schedule/pass_work.h"
#include "compiler/schedule/schedule_family.h"

/* Fills what of a collapsed schedule with passes is left open, except what kiln_walk_finish does.
 * `is_dense` is scratch memory, one per access. */
void kiln_lay_out_reduction(const struct kiln_schedule_task *task,
                            const struct kiln_pass_work *work, bool *is_dense,
                            struct kiln_schedule *schedule);

#endif
