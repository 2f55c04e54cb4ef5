/*
 * The planner's interface to a family of kernels. One struct per row of compiler/kernel_family.def,
 * defined in the family's room: compiler/families/<name>/<name>_plan.c.
 */
#ifndef KILN_COMPILER_PLAN_PLAN_FAMILY_H
#define KILN_COMPILER_PLAN_PLAN_FAMILY_H

#include "compiler/codegen/target.h"
#include "compiler/ir/pass.h"
#include "compiler/kernel_family.h"
#include "compiler/lower_options.h"

/* A program that a family offers, made by passes. */
struct kiln_variant {
    const char *name; /* of the program, as `kiln explain` lists what was tried */
    /* Finds what the family has kernels for and rewrites it, on a copy of the program. Sets
     * is_found. Without a find there is no such variant. */
    const struct kiln_pass *find;
    const struct kiln_pass *finish; /* runs after that */
    /* A variant that refines the program chosen so far and competes with it by time. Any other
     * one is a version of the graph's program, and preferred to it if its kernels can be made. */
    bool refines;
    bool (*is_for)(const struct kiln_target *target); /* NULL: every target */
    /* True if the caller wants it whatever its time. NULL: never. */
    bool (*is_forced)(const struct kiln_lower_options *options);
};

struct kiln_plan_family {
    uint32_t variant_count;
    const struct kiln_variant *variants; /* the preferred one first */
    /* The simple operations (fuse/op_cost.h) that the graph asks for with an operation of the
     * family, over all its points. */
    uint64_t (*operations)(const struct kiln_ir *ir, const struct kiln_op *op);
};

/* The functions of a family. Static. */
const struct kiln_plan_family *kiln_plan_family(enum kiln_kernel_family family);

#endif
