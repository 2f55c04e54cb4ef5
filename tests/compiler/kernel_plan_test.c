/*
 * How many kernels graphs become, and how many bytes these move.
 */
#include "benchmarks/fusion_graphs.h"
#include "compiler/kernel_plan.h"

#include <criterion/criterion.h>
#include <string.h>

static struct kiln_arena arena;
static struct kiln_error error;

static void setup(void)
{
    kiln_arena_init(&arena);
    kiln_error_init(&error);
}

static void teardown(void)
{
    kiln_arena_fini(&arena);
}

TestSuite(kernel_plan, .init = setup, .fini = teardown);

static const char *const targets[] = {"gfx90a", "gfx1030", "gfx942", "gfx1100", "gfx1201", "host"};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

struct planned {
    struct kiln_graph graph;
    struct kiln_kernel_plan plan;
    double share; /* bytes moved / the fewest */
};

static struct planned make_plan(const char *name, int64_t tensor_bytes, const char *target_name,
                                bool no_fusion)
{
    struct planned planned = {0};
    struct kiln_target target;
    const struct kiln_lower_options options = {.no_fusion = no_fusion};
    const struct kiln_fusion_graph *found = NULL;
    for (unsigned i = 0; i < kiln_fusion_graph_count; i++) {
        if (strcmp(kiln_fusion_graphs[i].name, name) == 0)
            found = &kiln_fusion_graphs[i];
    }
    cr_assert_not_null(found, "no graph '%s'", name);
    cr_assert_eq(kiln_target_parse(target_name, &target, &error), KILN_OK);
    cr_assert_eq(kiln_fusion_graph_make(found, tensor_bytes, &arena, &planned.graph, &error),
                 KILN_OK);
    cr_assert_eq(
        kiln_kernel_plan_make(&planned.graph, &target, &options, &arena, &planned.plan, &error),
        KILN_OK, "%s", error.text);
    planned.share = (double)kiln_kernel_plan_bytes(&planned.plan) /
                    (double)kiln_graph_fewest_bytes(&planned.graph);
    return planned;
}

static const int64_t sizes[] = {1 << 18, 1 << 22, 1 << 28};
enum { SIZE_COUNT = sizeof sizes / sizeof *sizes };

/* Graphs that are one kernel which moves the fewest bytes, on every target and at every size. */
Test(kernel_plan, what_fits_on_chip_is_one_kernel)
{
    static const char *const names[] = {"bias + gelu + scale",
                                        "softmax, written out",
                                        "layernorm, written out",
                                        "layernorm + swish",
                                        "layernorm + swish, fp16",
                                        "layernorm + swish, written out",
                                        "residual + rmsnorm + relu",
                                        "residual + rmsnorm + relu, written out",
                                        "batchnorm inference + relu, NHWC"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int t = 0; t < TARGET_COUNT; t++) {
            for (int s = 0; s < SIZE_COUNT; s++) {
                struct planned planned = make_plan(names[i], sizes[s], targets[t], false);
                cr_expect_eq(planned.plan.partition.group_count, 1, "%s for %s", names[i],
                             targets[t]);
                cr_expect_eq(planned.plan.partition.workspace_bytes, 0);
                cr_expect_leq(planned.share, 1.05, "%s for %s moves %.2f times the fewest bytes",
                              names[i], targets[t], planned.share);
            }
        }
    }
}

static uint32_t count_kind(const struct kiln_kernel_plan *plan, enum kiln_group_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->partition.group_count; i++)
        count += plan->partition.groups[i].kind == kind;
    return count;
}

/* Two kernels that walk over the elements, a combine between them where there are segments. */
Test(kernel_plan, batch_norms_walk_over_the_elements_twice)
{
    static const char *const names[] = {
        "batchnorm training + relu, NCHW", "batchnorm training + relu, NCHW, written out",
        "batchnorm training + relu, NHWC", "batchnorm training + relu, NHWC, written out",
        "relu backward + batchnorm backward, NHWC"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int t = 0; t < TARGET_COUNT; t++) {
            for (int s = 0; s < SIZE_COUNT; s++) {
                struct planned planned = make_plan(names[i], sizes[s], targets[t], false);
                uint32_t combines = count_kind(&planned.plan, KILN_GROUP_COMBINE);
                cr_expect_leq(planned.plan.partition.group_count - combines, 2, "%s for %s",
                              names[i], targets[t]);
                cr_expect_leq(combines, 1);
                cr_expect_leq(planned.share, 1.9, "%s for %s: %.2f", names[i], targets[t],
                              planned.share);
            }
        }
    }
}

Test(kernel_plan, a_batch_norm_of_enough_rows_is_one_kernel)
{
    struct planned planned = make_plan("batchnorm training + relu, NCHW", 1 << 18, "gfx942", false);
    cr_expect_eq(planned.plan.partition.group_count, 1);
}

Test(kernel_plan, fusion_moves_fewer_bytes_with_fewer_kernels)
{
    for (unsigned i = 0; i < kiln_fusion_graph_count; i++) {
        for (int t = 0; t < TARGET_COUNT; t++) {
            struct planned fused =
                make_plan(kiln_fusion_graphs[i].name, 1 << 26, targets[t], false);
            struct planned unfused =
                make_plan(kiln_fusion_graphs[i].name, 1 << 26, targets[t], true);
            cr_expect_lt(fused.share, unfused.share, "%s for %s", kiln_fusion_graphs[i].name,
                         targets[t]);
            cr_expect_lt(fused.plan.partition.group_count, unfused.plan.partition.group_count);
            cr_expect_geq(unfused.plan.partition.group_count, unfused.graph.node_count);
        }
    }
}
