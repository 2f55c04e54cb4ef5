/* The planner's view of products: arithmetic, and no variants. */
#include "compiler/plan/plan_family.h"

/* A product and a sum at each point of m, n and k. */
static uint64_t operations(const struct kiln_ir *ir, const struct kiln_op *op)
{
    const struct kiln_contraction *axes = &ir->contractions[op->contraction];
    uint64_t terms = 2 * (uint64_t)kiln_domain_elements(&ir->domains[op->domain]) *
                     (uint64_t)kiln_contraction_size(axes, KILN_AXIS_K);
    return axes->routing == KILN_ROUTING_SUMS
               ? terms / (uint64_t)kiln_contraction_size(axes, KILN_AXIS_BATCH)
               : terms;
}

const struct kiln_plan_family kiln_plan_contraction = {.operations = operations};
