/*
 * Rows in local memory: a work-group copies its rows there whole, and work-items take single
 * elements of them. Short rows whose length is no multiple of a vector need neither vectors nor
 * their tails then.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_LOCAL_H
#define KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_LOCAL_H

#include "compiler/families/reduction/schedule/pass_work.h"
#include "compiler/families/reduction/schedule/reduction_problem.h"

/* Elements of a staged access in local memory: rows of all work-items, from any place within a word
 * of 16 bytes on, up to whole words. */
uint32_t kiln_local_elements(const struct kiln_fusion_group *group,
                             const struct kiln_schedule *schedule, uint32_t access);

/* Local memory of a work-group: rows of operands and results, and accumulators. */
uint32_t kiln_local_bytes(const struct kiln_fusion_group *group,
                          const struct kiln_schedule *schedule, uint32_t wave_size);

/* Completes the layout of a group whose rows belong in local memory; false and no change where they
 * do not. */
bool kiln_lay_out_local_rows(const struct kiln_reduction_problem *problem,
                             const struct kiln_pass_work *work, struct kiln_schedule *schedule);

#endif
