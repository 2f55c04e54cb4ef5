/*
 * What operations cost to compute, for choices that weigh arithmetic against memory.
 */
#ifndef KILN_COMPILER_FUSE_OP_COST_H
#define KILN_COMPILER_FUSE_OP_COST_H

#include "compiler/ir/ir.h"

/* Arithmetic of one operation on one element, in simple ones (an addition is 1). */
uint32_t kiln_op_cost(const struct kiln_op *op);

#endif
