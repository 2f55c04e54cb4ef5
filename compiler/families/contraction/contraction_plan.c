/* The planner's view of products: their arithmetic, and a program with blocks in products. */
#include "compiler/plan/plan_family.h"

/* Blocks of a quantised result are reduced in the kernel of its product. Competes by time: not
 * every tile has whole blocks. */
static const struct kiln_variant variants[] = {
    {.name = "blocks in products",
     .find = &kiln_pass_move_views_over_products,
     .finish = &kiln_pass_optimize,
     .refines = true},
};

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

const struct kiln_plan_family kiln_plan_contraction = {
    .variant_count = sizeof variants / sizeof *variants,
    .variants = variants,
    .operations = operations,
};
