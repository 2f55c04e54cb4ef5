/*
 * Partitions of random graphs, and of the graphs that are hardest to split.
 */
#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/fuse/contraction_grouping.h"
#include "compiler/ir/import.h"
#include "compiler/ir/passes.h"
#include "tests/compiler/fuse/ir_fixture.h"
#include "tests/compiler/fuse/partition_invariants.h"
#include "tests/support/random_graph.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct kind_of_check {
    uint32_t families;
    uint32_t max_nodes;
    uint32_t vgprs;
    uint32_t compute_units; /* few: rows are cut into segments early */
    bool no_fusion;
    uint32_t segments_of_k; /* forced, unless 0 */
    struct kiln_partition_strategy strategy;
};

/* Groups by family and role. */
struct tally {
    uint32_t of[KILN_FAMILY_COUNT][KILN_ROLE_COMBINE + 1];
    uint32_t statistics; /* contractions with statistics of their tiles */
    uint32_t deferred;   /* operands that the second of two products computes */
};

/* Adds to the tally how many groups there were. */
static void count_deferred(const struct kiln_fusion_group *group, struct tally *tally)
{
    const struct kiln_product_group *data =
        group->family == KILN_FAMILY_CONTRACTION ? group->family_data : NULL;
    for (uint32_t i = 0; data != NULL && i < data->between_count; i++)
        tally->deferred += data->betweens[i].is_second;
}

static void check_random_graph(uint64_t seed, const struct kind_of_check *check,
                               struct tally *tally)
{
    struct kiln_random_graph_options random;
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_ir ir;
    struct kiln_partition partition;
    struct kiln_error error;
    struct kiln_target target = {.kind = KILN_TARGET_AMDGPU,
                                 .wave_size = 64,
                                 .vgprs = check->vgprs,
                                 .compute_units = check->compute_units};
    struct kiln_lower_options options = {.no_fusion = check->no_fusion,
                                         .contraction = {.segments = check->segments_of_k}};
    char name[96];
    (void)snprintf(name, sizeof name, "seed %u, families %u, %u registers%s, choices %u",
                   (unsigned)seed, check->families, check->vgprs,
                   check->no_fusion ? ", no fusion" : "", (unsigned)check->strategy.choices);
    kiln_random_graph_options_init(&random);
    random.families = check->families;
    random.max_nodes = check->max_nodes;
    random.max_elements = 1000000; /* makes recomputing dear */
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    cr_assert_eq(kiln_random_graph_make(seed, &random, &arena, &graph, &error), KILN_OK);
    kiln_ir_init(&ir, &arena);
    cr_assert_eq(kiln_ir_import(&graph, &ir, &error), KILN_OK);
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK);
    cr_assert_eq(
        kiln_partition(&ir, &graph, &target, &options, &check->strategy, &partition, &error),
        KILN_OK);
    partition_check(&ir, &graph, &partition, name);
    for (uint32_t i = 0; i < partition.group_count; i++) {
        tally->of[partition.groups[i].family][partition.groups[i].role]++;
        tally->statistics += kiln_group_has_statistics(&partition.groups[i]);
        count_deferred(&partition.groups[i], tally);
    }
    kiln_arena_fini(&arena);
}

Test(partition_random, groups_of_random_graphs_fit_together)
{
    static const uint32_t registers[] = {16, 64, 256};
    struct tally tally = {0};
    for (uint64_t seed = 1; seed <= 240; seed++) {
        struct kind_of_check check = {.families = KILN_RANDOM_POINTWISE,
                                      .max_nodes = seed % 10 == 0 ? 400 : 60,
                                      .vgprs = registers[seed % 3],
                                      .compute_units = 100,
                                      .no_fusion = seed % 4 == 0};
        check_random_graph(seed, &check, &tally);
    }
}

Test(partition_random, groups_of_random_reductions_fit_together)
{
    static const uint32_t registers[] = {16, 64, 256};
    struct tally tally = {0};
    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct kind_of_check check = {.families = seed % 5 == 0 ? KILN_RANDOM_POINTWISE |
                                                                      KILN_RANDOM_REDUCTIONS
                                                                : KILN_RANDOM_ALL,
                                      .max_nodes = seed % 20 == 0 ? 200 : 30,
                                      .vgprs = registers[seed % 3],
                                      .compute_units = seed % 2 == 0 ? 1 : 100,
                                      .no_fusion = seed % 7 == 0,
                                      .segments_of_k = seed % 3 == 0 ? 4 : 0,
                                      .strategy = {.choices = seed % (1u << KILN_CHOICE_COUNT)}};
        check_random_graph(seed, &check, &tally);
    }
    /* Attention is recognised before a partition: attention_plan_test.c. */
    for (int family = 0; family < KILN_FAMILY_ATTENTION; family++)
        cr_expect_gt(tally.of[family][KILN_ROLE_WHOLE], 50, "only %u groups of family %d",
                     tally.of[family][KILN_ROLE_WHOLE], family);
    for (int role = KILN_ROLE_PARTIAL; role <= KILN_ROLE_COMBINE; role++)
        cr_expect_gt(tally.of[KILN_FAMILY_REDUCTION][role], 50, "only %u groups of role %d",
                     tally.of[KILN_FAMILY_REDUCTION][role], role);
    cr_expect_gt(tally.of[KILN_FAMILY_CONTRACTION][KILN_ROLE_PARTIAL], 50);
    cr_expect_gt(tally.statistics, 20, "only %u", tally.statistics);
    cr_expect_gt(tally.deferred, 3, "only %u", tally.deferred);
}

static void finish(struct ir_fixture *fixture, const char *name)
{
    struct kiln_partition partition = ir_fixture_partition(fixture);
    partition_check(&fixture->ir, &fixture->graph, &partition, name);
    ir_fixture_destroy(fixture);
}

Test(partition_random, a_thousand_outputs_of_one_shape)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 4, 4);
    for (int i = 0; i < 1000; i++) {
        x = kiln_ir_binary(&fixture->ir, KILN_OP_ADD, x, x);
        ir_fixture_store(fixture, x);
    }
    finish(fixture, "outputs");
}

Test(partition_random, one_value_in_a_thousand_outputs)
{
    for (int no_fusion = 0; no_fusion < 2; no_fusion++) {
        struct ir_fixture *fixture = ir_fixture_create();
        fixture->options.no_fusion = no_fusion != 0;
        uint32_t loaded = ir_fixture_load(fixture, 4, 4);
        uint32_t computed = kiln_ir_unary(&fixture->ir, KILN_OP_NEG, loaded);
        for (int i = 0; i < 500; i++) {
            kiln_ir_store(&fixture->ir, loaded,
                          ir_fixture_tensor(fixture, KILN_TENSOR_OUTPUT, 4, 4));
            kiln_ir_store(&fixture->ir, computed,
                          ir_fixture_tensor(fixture, KILN_TENSOR_OUTPUT, 4, 4));
        }
        finish(fixture, "copies");
    }
}

Test(partition_random, a_sum_of_a_thousand_inputs_without_intermediate_tensors)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t sum = ir_fixture_load(fixture, 4, 4);
    for (int i = 0; i < 1000; i++)
        sum = kiln_ir_binary(&fixture->ir, KILN_OP_ADD, sum, ir_fixture_load(fixture, 4, 4));
    ir_fixture_store(fixture, sum);
    finish(fixture, "inputs");
}

Test(partition_random, four_thousand_costly_operations)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 4, 4);
    for (int i = 0; i < 4096; i++)
        x = kiln_ir_unary(&fixture->ir, KILN_OP_TAN, x);
    ir_fixture_store(fixture, x);
    struct kiln_partition partition = ir_fixture_partition(fixture);
    cr_assert_gt(partition.group_count, 1);
    partition_check(&fixture->ir, &fixture->graph, &partition, "costly");
    ir_fixture_destroy(fixture);
}

/* The values that need registers are the same in every group, each of which has to be split. */
Test(partition_random, many_groups_share_what_has_to_be_split)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 1, 1);
    uint32_t values[300];
    for (int i = 0; i < 300; i++)
        values[i] = x = ir_fixture_result(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_TANH, x));
    for (int i = 0; i < 300; i++)
        x = ir_fixture_result(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, x, values[i]));
    for (int i = 0; i < 40; i++)
        ir_fixture_store(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, x,
                                                 ir_fixture_load(fixture, 3 + i, 2)));
    finish(fixture, "shared");
}

Test(partition_random, values_of_no_tensor_can_be_split_too)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 1, 1);
    uint32_t values[300];
    for (int i = 0; i < 300; i++)
        values[i] = x = kiln_ir_unary(&fixture->ir, KILN_OP_TANH, x);
    for (int i = 0; i < 300; i++)
        x = kiln_ir_binary(&fixture->ir, KILN_OP_ADD, x, values[i]);
    ir_fixture_store(fixture, kiln_ir_broadcast(&fixture->ir, x, ir_fixture_domain(fixture, 8, 8)));
    struct kiln_partition partition = ir_fixture_partition(fixture);
    partition_check(&fixture->ir, &fixture->graph, &partition, "no tensors");
    for (uint32_t i = 0; i < partition.group_count; i++)
        cr_assert_leq(partition.groups[i].live_registers, fixture->target.vgprs / 2);
    ir_fixture_destroy(fixture);
}

static uint32_t reduce(struct ir_fixture *fixture, enum kiln_opcode opcode, uint32_t value,
                       uint32_t axes)
{
    const struct kiln_domain domain = fixture->ir.domains[fixture->ir.ops[value].domain];
    return kiln_ir_reduce(&fixture->ir, opcode, value,
                          kiln_ir_reduced_domain(&fixture->ir, domain.dims, domain.rank, axes));
}

Test(partition_random, reduced_values_in_hundreds_of_outputs)
{
    for (int long_rows = 0; long_rows < 2; long_rows++) {
        struct ir_fixture *fixture = ir_fixture_create();
        uint32_t x = ir_fixture_load(fixture, 8, long_rows ? 10000000 : 16);
        uint32_t sum = reduce(fixture, KILN_OP_REDUCE_SUM, x, 2);
        uint32_t max = reduce(fixture, KILN_OP_REDUCE_MAX, x, 2);
        uint32_t difference = kiln_ir_binary(&fixture->ir, KILN_OP_SUB, sum, max);
        for (int i = 0; i < 200; i++) {
            ir_fixture_store(fixture, sum);
            ir_fixture_store(fixture, difference);
        }
        finish(fixture, "copies of reduced values");
    }
}

/* Each accumulator of moments is three loads of the kernel that combines segments. */
Test(partition_random, combined_moments_with_a_hundred_outputs)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 8, 10000000);
    uint32_t means[8];
    for (int i = 0; i < 8; i++) {
        uint32_t power = x;
        for (int k = 0; k < i; k++)
            power = kiln_ir_binary(&fixture->ir, KILN_OP_MUL, power, x);
        means[i] = reduce(fixture, KILN_OP_REDUCE_MEAN, power, 2);
    }
    for (int i = 0; i < 115; i++) {
        means[0] = kiln_ir_binary(&fixture->ir, KILN_OP_ADD, means[0], means[i % 7 + 1]);
        ir_fixture_store(fixture, means[0]);
    }
    finish(fixture, "combined moments");
}

/* A sum over values of many clusters fits into none of them. */
Test(partition_random, a_thousand_row_values_in_one_sum, .timeout = 20)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 64, 64);
    uint32_t sums[900];
    for (int i = 0; i < 900; i++)
        sums[i] = reduce(
            fixture, KILN_OP_REDUCE_SUM,
            kiln_ir_binary(&fixture->ir, KILN_OP_ADD, x, ir_fixture_load(fixture, 64, 64)), 2);
    for (int i = 0; i < 900; i++)
        x = kiln_ir_binary(&fixture->ir, KILN_OP_ADD, x,
                           kiln_ir_broadcast(&fixture->ir, sums[i], fixture->ir.ops[x].domain));
    ir_fixture_store(fixture, x);
    finish(fixture, "sum of rows");
}

Test(partition_random, thousands_of_reductions_beside_pointwise_outputs, .timeout = 20)
{
    struct ir_fixture *fixture = ir_fixture_create();
    for (int i = 0; i < 480; i++) {
        uint32_t reduced = ir_fixture_load(fixture, 64, 64);
        uint32_t mapped = ir_fixture_load(fixture, 64, 64);
        ir_fixture_store(fixture, reduce(fixture, KILN_OP_REDUCE_SUM, reduced, 2));
        ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_EXP, mapped));
    }
    finish(fixture, "beside");
}
