/* The arithmetic of pooling. There are no variants: the graph fixes the window. */
#include "compiler/plan/plan_family.h"

/* Once per tap of each result. */
static uint64_t operations(const struct kiln_ir *ir, const struct kiln_op *op)
{
    return (uint64_t)kiln_domain_elements(&ir->domains[op->iteration]);
}

const struct kiln_plan_family kiln_plan_pooling = {.operations = operations};
