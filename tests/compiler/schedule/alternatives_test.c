/* The choices that `kiln explain` prints for every kernel: times agree with the model that chose.
 */
#include "compiler/plan/kernel_plan.h"
#include "compiler/schedule/kernel_model.h"
#include "compiler/schedule/schedule_group.h"
#include "tests/compiler/every_graph.h"

#include <criterion/criterion.h>
#include <string.h>

static uint32_t kernels_seen;

static void expect_times(const struct kiln_kernel_plan *plan, const struct kiln_graph *graph,
                         uint32_t number, const char *name)
{
    const struct kiln_planned_kernel kernel = kiln_kernel_plan_find(plan, number);
    const struct kiln_kernel_plan *part = kernel.part;
    const struct kiln_schedule *schedule = &part->schedules[kernel.index];
    const char *target = part->target.name;
    struct kiln_kernel_model model;
    struct kiln_alternatives found;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_find_alternatives(&part->ir, part->graph != NULL ? part->graph : graph,
                                        &part->partition.groups[kernel.index], &part->target,
                                        schedule, &found, &error),
                 KILN_OK);
    bool is_listed = schedule->family == KILN_FAMILY_CONTRACTION ||
                     schedule->family == KILN_FAMILY_ATTENTION ||
                     schedule->family == KILN_FAMILY_REDUCTION;
    cr_assert_eq(found.count != 0, is_listed, "%s, kernel %u for %s", name, (unsigned)number,
                 target);
    if (!is_listed)
        return;
    kernels_seen++;
    cr_assert(kiln_model_kernel(schedule, &part->target, &model));
    double busy = 0;
    for (int i = 0; i < KILN_BOUND_LAUNCH; i++)
        busy = busy > model.part_ns[i] ? busy : model.part_ns[i];
    cr_expect_float_eq(
        model.time_ns, busy + model.part_ns[KILN_BOUND_LAUNCH] + model.part_ns[KILN_BOUND_WAITING],
        1e-6 * model.time_ns, "%s, kernel %u for %s", name, (unsigned)number, target);
    /* More work-groups may sum up an operand, which adds less than a hundredth here. */
    double time = model.time_ns - model.part_ns[KILN_BOUND_LAUNCH];
    cr_expect_float_eq(found.items[0].time_ns, time, 0.01 * time, "%s, kernel %u for %s", name,
                       (unsigned)number, target);
    cr_expect_null(found.items[0].why_not);
    for (uint32_t i = 1; i < found.count; i++) {
        const struct kiln_alternative *item = &found.items[i];
        cr_assert_not_null(item->why_not);
        cr_expect_str_neq(item->what, found.items[0].what);
        cr_expect_str_neq(item->what, found.items[i == 1 ? 2 : 1].what);
        bool is_compared = strcmp(item->why_not, "next if compilers lack registers") != 0;
        cr_expect_eq(item->time_ns > 0, is_compared, "%s, kernel %u for %s", name, (unsigned)number,
                     target);
        if (strcmp(item->why_not, "no faster by the model") == 0)
            cr_expect_geq(item->time_ns, found.items[0].time_ns, "%s, kernel %u for %s", name,
                          (unsigned)number, target);
    }
}

static void visit(const struct kiln_graph *graph, const char *name)
{
    static const char *const targets[] = {"gfx90a",  "gfx942", "gfx1100",
                                          "gfx1201", "sm_80",  "sm_90"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct kiln_lower_options options = {0};
        struct kiln_arena arena;
        struct kiln_kernel_plan plan;
        struct kiln_target target;
        struct kiln_error error;
        kiln_error_init(&error);
        kiln_arena_init(&arena);
        cr_assert_eq(kiln_target_parse(targets[i], &target, &error), KILN_OK);
        if (kiln_kernel_plan_make(graph, &target, &options, &arena, &plan, &error) == KILN_OK) {
            for (uint32_t k = 0; k < kiln_kernel_plan_kernels(&plan); k++)
                expect_times(&plan, graph, k, name);
        }
        kiln_arena_fini(&arena);
    }
}

Test(alternatives, the_time_of_a_kernel_is_that_of_its_schedule, .timeout = 300)
{
    every_stored_graph(visit);
    cr_expect_gt(kernels_seen, 40);
}
