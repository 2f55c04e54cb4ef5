/*
 * The steps of partitioning are bounded for hard graphs. The ways out are parts of the graph, and
 * the plain partition.
 */
#include "compiler/ir/import.h"
#include "compiler/ir/passes.h"
#include "compiler/plan/kernel_plan.h"
#include "compiler/program.h"
#include "tests/compiler/fuse/partition_invariants.h"
#include "tests/support/hostile_graph.h"
#include "tests/support/random_graph.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const struct kiln_target target = {.kind = KILN_TARGET_AMDGPU,
                                          .wave_size = 64,
                                          .lds_bytes = 65536,
                                          .vgprs = 256,
                                          .compute_units = 100};

static void make(enum kiln_hostile_family family, uint32_t nodes, struct kiln_arena *arena,
                 struct kiln_graph *graph)
{
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_arena_init(arena);
    cr_assert_eq(kiln_hostile_graph_make(family, nodes, arena, graph, &error), KILN_OK);
}

static uint64_t steps_of(enum kiln_hostile_family family, uint32_t nodes)
{
    static const struct kiln_lower_options options = {0};
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_kernel_plan plan;
    struct kiln_error error;
    kiln_error_init(&error);
    make(family, nodes, &arena, &graph);
    cr_assert_eq(kiln_kernel_plan_make(&graph, &target, &options, &arena, &plan, &error), KILN_OK,
                 "%s: %s", kiln_hostile_text(family), error.text);
    uint64_t steps = 0;
    for (const struct kiln_kernel_plan *part = &plan; part != NULL; part = part->next) {
        cr_assert_not(part->partition.is_plain, "%s", kiln_hostile_text(family));
        steps += part->steps;
    }
    kiln_arena_fini(&arena);
    return steps;
}

Test(partition_work, twice_the_graph_is_at_most_four_times_the_work, .timeout = 240)
{
    enum { NODES = 256 };
    for (int family = 0; family < KILN_HOSTILE_COUNT; family++) {
        uint64_t once = steps_of((enum kiln_hostile_family)family, NODES);
        uint64_t twice = steps_of((enum kiln_hostile_family)family, 2 * NODES);
        cr_expect_lt(2 * twice, 9 * once, "%s: %llu steps, then %llu",
                     kiln_hostile_text((enum kiln_hostile_family)family), (unsigned long long)once,
                     (unsigned long long)twice);
    }
}

/* Partitions in so few steps that there is no way but the plain one. */
static void check_plain(const struct kiln_graph *graph, struct kiln_arena *arena, const char *name)
{
    static const struct kiln_lower_options options = {0};
    static const struct kiln_partition_strategy strategy = {.max_steps = 1};
    struct kiln_error error;
    struct kiln_ir ir;
    struct kiln_partition partition;
    kiln_error_init(&error);
    kiln_ir_init(&ir, arena);
    cr_assert_eq(kiln_ir_import(graph, &ir, &error), KILN_OK);
    cr_assert_eq(kiln_ir_optimize(&ir, graph, &error), KILN_OK);
    cr_assert_eq(kiln_ir_recognize_moments(&ir, NULL, &error), KILN_OK);
    cr_assert_eq(kiln_ir_optimize(&ir, graph, &error), KILN_OK);
    cr_assert_eq(kiln_partition(&ir, graph, &target, &options, &strategy, &partition, &error),
                 KILN_OK);
    cr_expect(partition.is_plain, "%s", name);
    uint32_t plain = 0;
    for (uint32_t i = 1; i < partition.group_count; i++) {
        enum kiln_boundary boundary = partition.groups[i].boundary;
        cr_expect_neq(boundary, KILN_BOUNDARY_NO_FUSION, "%s", name);
        plain += boundary == KILN_BOUNDARY_PLAIN;
    }
    /* The others are those of nodes with several kernels. */
    cr_expect(2 * plain + 1 >= partition.group_count || plain + 1 >= graph->node_count,
              "%s: %u of %u", name, plain, partition.group_count);
    partition_check(&ir, graph, &partition, name);
}

Test(partition_work, plain_partitions_of_hard_graphs_fit_together, .timeout = 240)
{
    for (int family = 0; family < KILN_HOSTILE_COUNT; family++) {
        struct kiln_arena arena;
        struct kiln_graph graph;
        make((enum kiln_hostile_family)family, 120, &arena, &graph);
        check_plain(&graph, &arena, kiln_hostile_text((enum kiln_hostile_family)family));
        kiln_arena_fini(&arena);
    }
}

Test(partition_work, plain_partitions_of_random_graphs_fit_together, .timeout = 240)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct kiln_random_graph_options random;
        struct kiln_error error;
        struct kiln_arena arena;
        struct kiln_graph graph;
        char name[32];
        kiln_error_init(&error);
        kiln_arena_init(&arena);
        kiln_random_graph_options_init(&random);
        random.families = seed % 4 == 0 ? KILN_RANDOM_POINTWISE : KILN_RANDOM_ALL;
        random.max_elements = 1000000;
        cr_assert_eq(kiln_random_graph_make(seed, &random, &arena, &graph, &error), KILN_OK);
        (void)snprintf(name, sizeof name, "seed %u", (unsigned)seed);
        check_plain(&graph, &arena, name);
        kiln_arena_fini(&arena);
    }
}

/* Each of 2048 kernels would compute the same 2048 operations. In parts, each computes what its
 * part has of them. */
Test(partition_work, what_would_take_too_long_is_done_in_parts, .timeout = 240)
{
    static const struct kiln_lower_options options = {0};
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_program program;
    struct kiln_error error;
    kiln_error_init(&error);
    make(KILN_HOSTILE_REPEATED_CHAIN, 4096, &arena, &graph);
    cr_assert_eq(kiln_lower(&graph, &target, &options, &arena, &program, NULL, &error), KILN_OK,
                 "%s", error.text);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < program.kernel_count; i++)
        bytes += program.kernels[i].source_bytes;
    cr_expect_lt(bytes / program.kernel_count, 100000);
    cr_expect_not_null(program.plan->next);
    for (const struct kiln_kernel_plan *part = program.plan; part != NULL; part = part->next)
        cr_expect_not(part->partition.is_plain);
    kiln_arena_fini(&arena);
}

/* A round over the program for each of its 1365 steps would be quadratic, in memory too. */
Test(partition_work, optimising_ends_after_a_few_rounds, .timeout = 240)
{
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_ir ir;
    struct kiln_error error;
    kiln_error_init(&error);
    make(KILN_HOSTILE_FOLDING_CHAIN, 4096, &arena, &graph);
    kiln_ir_init(&ir, &arena);
    cr_assert_eq(kiln_ir_import(&graph, &ir, &error), KILN_OK);
    uint32_t before = ir.op_count;
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK, "%s", error.text);
    cr_expect_lt(ir.op_count, before);
    cr_expect_gt(ir.op_count, before / 2, "%u operations of %u are left", ir.op_count, before);
    kiln_arena_fini(&arena);
}
