/* The planner's view of pointwise kernels: arithmetic, and no variants. */
#include "compiler/fuse/op_cost.h"
#include "compiler/plan/plan_family.h"

/* Loads, stores, broadcasts and conversions are no arithmetic. */
static uint64_t operations(const struct kiln_ir *ir, const struct kiln_op *op)
{
    if (kiln_opcode_info(op->opcode)->op_class != KILN_OP_CLASS_ELEMENTWISE ||
        op->opcode == KILN_OP_COPY || op->opcode == KILN_OP_CONVERT || op->opcode == KILN_OP_ROUND)
        return 0;
    return kiln_op_cost(op) * (uint64_t)kiln_domain_elements(&ir->domains[op->domain]);
}

const struct kiln_plan_family kiln_plan_pointwise = {.operations = operations};
