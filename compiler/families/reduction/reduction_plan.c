/* The planner's view of reductions: arithmetic, and no variants. */
#include "compiler/plan/plan_family.h"

/* Once per element that goes into it: of squares, a difference, a square and a sum. */
static uint64_t operations(const struct kiln_ir *ir, const struct kiln_op *op)
{
    uint64_t points = (uint64_t)kiln_domain_elements(&ir->domains[kiln_ir_iteration(ir, op)]);
    return (op->opcode == KILN_OP_REDUCE_SQUARES ? 3 : 1) * points;
}

const struct kiln_plan_family kiln_plan_reduction = {.operations = operations};
