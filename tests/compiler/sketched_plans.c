#include "tests/compiler/sketched_plans.h"

#include "tests/compiler/graph/graph_sketch.h"

#include <criterion/criterion.h>

void sketched_plans_init(struct sketched_plans *plans)
{
    kiln_arena_init(&plans->arena);
    kiln_error_init(&plans->error);
    plans->count = 0;
}

void sketched_plans_fini(struct sketched_plans *plans)
{
    kiln_arena_fini(&plans->arena);
    for (size_t i = 0; i < plans->count; i++)
        json_graph_fini(&plans->graphs[i]);
}

struct kiln_kernel_plan sketched_plans_make(struct sketched_plans *plans, const char *sketch,
                                            const char *target_name,
                                            const struct kiln_lower_options *options)
{
    struct kiln_kernel_plan plan;
    struct kiln_target target;
    cr_assert_lt(plans->count, SKETCHED_PLANS_MAX);
    struct json_graph *read = &plans->graphs[plans->count++];
    graph_sketch_accept(read, sketch, NULL);
    cr_assert_eq(kiln_target_parse(target_name, &target, &plans->error), KILN_OK);
    cr_assert_eq(
        kiln_kernel_plan_make(&read->graph, &target, options, &plans->arena, &plan, &plans->error),
        KILN_OK, "%s: %s", sketch, plans->error.text);
    return plan;
}

struct kiln_program sketch_lower(struct kiln_arena *arena, const char *sketch,
                                 const char *target_name, const struct kiln_dump *dump)
{
    const struct kiln_lower_options options = {0};
    struct kiln_program program;
    struct kiln_target target;
    struct kiln_error error;
    struct json_graph read;
    kiln_error_init(&error);
    graph_sketch_accept(&read, sketch, NULL);
    cr_assert_eq(kiln_target_parse(target_name, &target, &error), KILN_OK);
    cr_assert_eq(kiln_lower(&read.graph, &target, &options, arena, &program, dump, &error), KILN_OK,
                 "%s: %s", sketch, error.text);
    json_graph_fini(&read);
    return program;
}
