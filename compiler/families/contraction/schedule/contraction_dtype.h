/*
 * In which type a contraction's operands wait in LDS, and are multiplied.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_DTYPE_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_DTYPE_H

#include "compiler/codegen/target.h"
#include "compiler/fuse/fusion_group.h"

/* The narrowest type that holds all operands of the group's products exactly and that the target
 * multiplies, else that of the sums. False when memory is out. */
bool kiln_choose_staged_dtype(const struct kiln_ir *ir, const struct kiln_graph *graph,
                              const struct kiln_fusion_group *group,
                              const struct kiln_target *target,
                              enum kiln_dtype *ret_dtype) KILN_NODISCARD;

#endif
