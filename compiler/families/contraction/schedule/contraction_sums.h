/*
 * Sums of an operand's rows over k in a contraction's kernel: by which work-groups, and how they
 * load the operand (kernels_templates/device/contraction/operand_sums.h).
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_SUMS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_SUMS_H

#include "compiler/families/contraction/schedule/contraction_access.h"

/* Fills `summed` of the schedule and what goes with it, if the group has such sums: once tiles and
 * the block are chosen. */
void kiln_choose_operand_sums(const struct kiln_contraction_problem *problem);

/* Local memory where work-items merge what they have added up; 0 where there are no such sums. */
uint32_t kiln_operand_sums_lds_bytes(const struct kiln_contraction_problem *problem);

#endif
