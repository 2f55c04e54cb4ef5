/* Plans of graphs that are sketched (tests/compiler/graph/graph_sketch.h), for tests of what
 * becomes of them. */
#ifndef KILN_TESTS_COMPILER_SKETCHED_PLANS_H
#define KILN_TESTS_COMPILER_SKETCHED_PLANS_H

#include "compiler/plan/kernel_plan.h"
#include "compiler/program.h"
#include "tests/compiler/graph/json_graph.h"

enum { SKETCHED_PLANS_MAX = 512 };

/* Plans point to their graphs, which therefore live as long as the arena. */
struct sketched_plans {
    struct kiln_arena arena;
    struct kiln_error error;
    struct json_graph graphs[SKETCHED_PLANS_MAX];
    size_t count;
};

void sketched_plans_init(struct sketched_plans *plans);
void sketched_plans_fini(struct sketched_plans *plans);

/* Fails the test where the sketch has no plan for that target. */
struct kiln_kernel_plan sketched_plans_make(struct sketched_plans *plans, const char *sketch,
                                            const char *target_name,
                                            const struct kiln_lower_options *options);

/* Lowers a sketch without options. The program lives as long as the arena. Fails the test like
 * sketched_plans_make. `dump` may be NULL. */
struct kiln_program sketch_lower(struct kiln_arena *arena, const char *sketch,
                                 const char *target_name, const struct kiln_dump *dump);

#endif
