/*
 * Which kernels reductions end up in, and what they leave in memory for each other.
 */
#include "compiler/families/reduction/fuse/reduction_passes.h"
#include "compiler/schedule/schedule.h"
#include "tests/compiler/fuse/ir_fixture.h"
#include "tests/compiler/fuse/partition_invariants.h"

#include <criterion/criterion.h>

enum { ROWS = 4096, COLS = 1024 };

static uint32_t reduce(struct ir_fixture *fixture, enum kiln_opcode opcode, uint32_t value,
                       uint32_t axes)
{
    const struct kiln_domain domain = fixture->ir.domains[fixture->ir.ops[value].domain];
    return kiln_ir_reduce(&fixture->ir, opcode, value,
                          kiln_ir_reduced_domain(&fixture->ir, domain.dims, domain.rank, axes));
}

enum { OVER_ROWS = 1, OVER_COLUMNS = 2 };

/* value (op) the reduced value, repeated. */
static uint32_t with_repeated(struct ir_fixture *fixture, enum kiln_opcode opcode, uint32_t value,
                              uint32_t reduced)
{
    uint32_t repeated = kiln_ir_broadcast(&fixture->ir, reduced, fixture->ir.ops[value].domain);
    return kiln_ir_binary(&fixture->ir, opcode, value, repeated);
}

static struct kiln_partition partition(struct ir_fixture *fixture)
{
    struct kiln_partition result = ir_fixture_partition(fixture);
    partition_check(&fixture->ir, &fixture->graph, &result, "cluster");
    return result;
}

static bool loads(const struct kiln_fusion_group *group, uint32_t value)
{
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (group->accesses[i].value == value)
            return true;
    }
    return false;
}

Test(cluster, softmax_is_one_kernel)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, ROWS, COLS);
    uint32_t max = ir_fixture_result(fixture, reduce(fixture, KILN_OP_REDUCE_MAX, x, OVER_COLUMNS));
    uint32_t shifted = ir_fixture_result(fixture, with_repeated(fixture, KILN_OP_SUB, x, max));
    uint32_t e = ir_fixture_result(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_EXP, shifted));
    uint32_t sum = ir_fixture_result(fixture, reduce(fixture, KILN_OP_REDUCE_SUM, e, OVER_COLUMNS));
    ir_fixture_store(fixture, with_repeated(fixture, KILN_OP_DIV, e, sum));
    struct kiln_partition result = partition(fixture);
    cr_assert_eq(result.group_count, 1);
    cr_expect_eq(result.workspace_bytes, 0);
    cr_expect_eq(result.groups[0].family, KILN_FAMILY_REDUCTION);
    struct kiln_reduction_passes passes;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(
        kiln_reduction_passes(&fixture->ir, &result.groups[0], &fixture->arena, &passes, &error),
        KILN_OK);
    cr_expect_eq(passes.pass_count, 3);
    cr_assert_eq(passes.accumulator_count, 2);
    cr_expect_eq(passes.accumulators[0].pass, 0);
    cr_expect_eq(passes.accumulators[1].pass, 1);
    ir_fixture_destroy(fixture);
}

Test(cluster, reductions_share_a_kernel_when_they_share_loads)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, ROWS, COLS);
    uint32_t other = ir_fixture_load(fixture, ROWS, COLS);
    uint32_t square = kiln_ir_binary(&fixture->ir, KILN_OP_MUL, x, x);
    ir_fixture_store(fixture, reduce(fixture, KILN_OP_REDUCE_SUM, x, OVER_COLUMNS));
    ir_fixture_store(fixture, reduce(fixture, KILN_OP_REDUCE_SUM, square, OVER_COLUMNS));
    ir_fixture_store(fixture, reduce(fixture, KILN_OP_REDUCE_SUM, other, OVER_COLUMNS));
    struct kiln_partition result = partition(fixture);
    cr_assert_eq(result.group_count, 2);
    cr_expect(loads(&result.groups[0], x) && !loads(&result.groups[0], other));
    cr_expect(loads(&result.groups[1], other) && !loads(&result.groups[1], x));
    ir_fixture_destroy(fixture);
}

Test(cluster, mean_and_squares_share_an_accumulator)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, ROWS, COLS);
    ir_fixture_store(fixture, reduce(fixture, KILN_OP_REDUCE_SQUARES, x, OVER_COLUMNS));
    ir_fixture_store(fixture, reduce(fixture, KILN_OP_REDUCE_MEAN, x, OVER_COLUMNS));
    struct kiln_partition result = partition(fixture);
    cr_assert_eq(result.group_count, 1);
    struct kiln_reduction_passes passes;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(
        kiln_reduction_passes(&fixture->ir, &result.groups[0], &fixture->arena, &passes, &error),
        KILN_OK);
    cr_assert_eq(passes.accumulator_count, 1);
    cr_expect_eq(passes.accumulators[0].kind, KILN_ACCUMULATOR_MOMENTS);
    cr_expect_neq(passes.accumulators[0].results[0], KILN_NONE);
    cr_expect_neq(passes.accumulators[0].results[1], KILN_NONE);
    cr_expect_eq(passes.pass_count, 1);
    ir_fixture_destroy(fixture);
}

Test(cluster, what_another_kernel_needs_is_cut_at_row_values)
{
    for (int stored = 0; stored < 2; stored++) {
        struct ir_fixture *fixture = ir_fixture_create();
        fixture->strategy.choices =
            KILN_CHOICE_NO_SEGMENTS | (stored != 0 ? KILN_CHOICE_STORE_SHARED_VALUES : 0);
        uint32_t x = ir_fixture_load(fixture, ROWS, COLS);
        uint32_t mean = reduce(fixture, KILN_OP_REDUCE_MEAN, x, OVER_COLUMNS);
        uint32_t centred = ir_fixture_result(fixture, with_repeated(fixture, KILN_OP_SUB, x, mean));
        ir_fixture_store(fixture, reduce(fixture, KILN_OP_REDUCE_SUM, centred, OVER_ROWS));
        struct kiln_partition result = partition(fixture);
        cr_assert_eq(result.group_count, 2);
        cr_expect_neq(result.choices & KILN_CHOICE_STORE_SHARED_VALUES, 0);
        cr_expect_eq(loads(&result.groups[1], x), stored == 0);
        cr_expect_eq(loads(&result.groups[1], mean), stored == 0);
        cr_expect_eq(loads(&result.groups[1], centred), stored != 0);
        cr_expect_eq(result.workspace_bytes,
                     (stored ? (uint64_t)ROWS * COLS : (uint64_t)ROWS) * sizeof(float));
        ir_fixture_destroy(fixture);
    }
}

Test(cluster, few_rows_are_reduced_in_segments)
{
    for (int never = 0; never < 2; never++) {
        struct ir_fixture *fixture = ir_fixture_create();
        fixture->strategy.choices = never != 0 ? KILN_CHOICE_NO_SEGMENTS : 0;
        uint32_t x = ir_fixture_load(fixture, 4, 1 << 24);
        uint32_t sum = reduce(fixture, KILN_OP_REDUCE_SUM, x, OVER_COLUMNS);
        ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_SQRT, sum));
        struct kiln_partition result = partition(fixture);
        if (never) {
            cr_assert_eq(result.group_count, 1);
            cr_expect_eq(result.groups[0].family, KILN_FAMILY_REDUCTION);
        } else {
            cr_assert_eq(result.group_count, 2);
            cr_expect_neq(result.choices & KILN_CHOICE_NO_SEGMENTS, 0);
            cr_expect_eq(result.groups[0].role, KILN_ROLE_PARTIAL);
            cr_expect_eq(result.groups[1].role, KILN_ROLE_COMBINE);
            cr_expect_gt(result.groups[0].segment_count, 8);
            cr_expect_eq(result.groups[1].boundary, KILN_BOUNDARY_SEGMENTS);
        }
        ir_fixture_destroy(fixture);
    }
}

Test(cluster, many_rows_or_few_bytes_are_not_cut)
{
    static const int64_t shapes[][2] = {{ROWS, COLS}, {4, 1024}, {1 << 20, 8}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct ir_fixture *fixture = ir_fixture_create();
        uint32_t x = ir_fixture_load(fixture, shapes[i][0], shapes[i][1]);
        ir_fixture_store(fixture, reduce(fixture, KILN_OP_REDUCE_SUM, x, OVER_COLUMNS));
        struct kiln_partition result = partition(fixture);
        cr_expect_eq(result.group_count, 1, "%d", (int)i);
        ir_fixture_destroy(fixture);
    }
}

Test(cluster, a_kernel_waits_for_what_its_epilogue_needs)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, ROWS, COLS);
    uint32_t z = ir_fixture_load(fixture, ROWS, COLS);
    uint32_t row_sum = reduce(fixture, KILN_OP_REDUCE_SUM, x, OVER_COLUMNS);
    uint32_t centred = with_repeated(fixture, KILN_OP_SUB, x, row_sum);
    uint32_t column_sum = reduce(fixture, KILN_OP_REDUCE_SUM, z, OVER_ROWS);
    uint32_t y = with_repeated(fixture, KILN_OP_MUL, centred, column_sum);
    ir_fixture_store(fixture, y);
    struct kiln_partition result = partition(fixture);
    uint32_t last = result.group_count - 1;
    cr_expect_eq(result.groups[last].family, KILN_FAMILY_REDUCTION);
    cr_expect(loads(&result.groups[last], x));
    cr_expect(loads(&result.groups[last], column_sum));
    for (uint32_t i = 0; i < last; i++)
        cr_expect(!loads(&result.groups[i], x), "x is read twice");
    ir_fixture_destroy(fixture);
}

Test(cluster, a_stored_operand_rides_along)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, ROWS, COLS);
    uint32_t residual = ir_fixture_load(fixture, ROWS, COLS);
    uint32_t h = ir_fixture_result(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, x, residual));
    ir_fixture_store(fixture, h);
    ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_NEG, x)); /* shares a load */
    ir_fixture_store(fixture, reduce(fixture, KILN_OP_REDUCE_SUM, h, OVER_COLUMNS));
    struct kiln_partition result = partition(fixture);
    cr_assert_eq(result.group_count, 1);
    cr_expect_eq(result.groups[0].access_count - result.groups[0].load_count, 3);
    ir_fixture_destroy(fixture);
}

Test(cluster, what_is_too_much_for_one_kernel_gets_kernels_of_its_own)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t sum = ir_fixture_load(fixture, ROWS, COLS);
    for (int i = 0; i < 2 * KILN_GROUP_MAX_ACCESSES; i++)
        sum = ir_fixture_result(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, sum,
                                                        ir_fixture_load(fixture, ROWS, COLS)));
    uint32_t max = reduce(fixture, KILN_OP_REDUCE_MAX, sum, OVER_COLUMNS);
    ir_fixture_store(fixture, with_repeated(fixture, KILN_OP_SUB, sum, max));
    struct kiln_partition result = partition(fixture);
    cr_expect_gt(result.group_count, 3);
    uint32_t reductions = 0;
    for (uint32_t i = 0; i < result.group_count; i++) {
        if (result.groups[i].family != KILN_FAMILY_REDUCTION)
            continue;
        reductions++;
        cr_expect_eq(result.groups[i].load_count, 1);
    }
    cr_expect_eq(reductions, 1);
    ir_fixture_destroy(fixture);
}

Test(cluster, without_fusion_a_node_is_a_kernel)
{
    struct ir_fixture *fixture = ir_fixture_create();
    fixture->options.no_fusion = true;
    uint32_t x = ir_fixture_load(fixture, ROWS, COLS);
    /* Node 0 has an inside: a mean, and what is made of it. */
    uint32_t mean = reduce(fixture, KILN_OP_REDUCE_MEAN, x, OVER_COLUMNS);
    uint32_t centred = ir_fixture_result(fixture, with_repeated(fixture, KILN_OP_SUB, x, mean));
    fixture->ir.node = 1;
    uint32_t max =
        ir_fixture_result(fixture, reduce(fixture, KILN_OP_REDUCE_MAX, centred, OVER_COLUMNS));
    fixture->ir.node = 2;
    ir_fixture_store(fixture, with_repeated(fixture, KILN_OP_SUB, centred, max));
    struct kiln_partition result = partition(fixture);
    cr_assert_eq(result.group_count, 3);
    cr_expect_eq(result.groups[0].family, KILN_FAMILY_REDUCTION);
    cr_expect_eq(result.groups[1].family, KILN_FAMILY_REDUCTION);
    cr_expect_eq(result.groups[2].family, KILN_FAMILY_POINTWISE);
    ir_fixture_destroy(fixture);
}

Test(cluster, workspace_has_the_order_of_axes_of_the_tensor_it_stands_for)
{
    for (int column_major = 0; column_major < 2; column_major++) {
        struct ir_fixture *fixture = ir_fixture_create();
        fixture->options.no_fusion = true;
        uint32_t x = ir_fixture_load(fixture, ROWS, COLS);
        uint32_t square =
            ir_fixture_result(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_MUL, x, x));
        struct kiln_tensor *tensor = &fixture->tensors[fixture->ir.ops[square].tensor];
        tensor->strides[0] = column_major ? 1 : COLS;
        tensor->strides[1] = column_major ? ROWS : 1;
        fixture->ir.node = 1;
        ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_EXP, square));
        struct kiln_partition result = partition(fixture);
        cr_assert_eq(result.group_count, 2);
        for (int group = 0; group < 2; group++) {
            const struct kiln_access *access = &result.groups[group].accesses[group == 0];
            cr_assert_eq(access->kind, KILN_ARGUMENT_WORKSPACE);
            cr_expect_eq(access->strides[0], column_major ? 1 : COLS);
            cr_expect_eq(access->strides[1], column_major ? ROWS : 1);
        }
        ir_fixture_destroy(fixture);
    }
}

/* A cluster that is too much for one kernel reads what it reduces from memory, but a value that is
 * read repeated anyway is not stored at full length for that. */
Test(cluster, repeated_values_are_not_stored_to_be_reduced)
{
    enum { MOST = KILN_GROUP_MAX_ACCESSES };
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t row = ir_fixture_load(fixture, 1, COLS);
    for (int i = 0; i < 12; i++)
        row = ir_fixture_result(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_TAN, row));
    uint32_t repeated =
        kiln_ir_broadcast(&fixture->ir, row, ir_fixture_domain(fixture, ROWS, COLS));
    uint32_t sum = reduce(fixture, KILN_OP_REDUCE_SUM, repeated, OVER_ROWS);
    for (int i = 0; i < MOST; i++)
        sum = kiln_ir_binary(&fixture->ir, KILN_OP_ADD, sum, ir_fixture_load(fixture, 1, COLS));
    ir_fixture_store(fixture, sum);
    struct kiln_partition result = partition(fixture);
    for (uint32_t i = 0; i < result.group_count; i++) {
        const struct kiln_fusion_group *group = &result.groups[i];
        for (uint32_t k = group->load_count; k < group->access_count; k++)
            cr_expect_neq(group->accesses[k].value, repeated);
    }
    cr_expect_lt(result.workspace_bytes, (uint64_t)ROWS * COLS);
    ir_fixture_destroy(fixture);
}

/* Results of one node that its later operations use, as of a layernorm: it stays one kernel. */
Test(cluster, a_node_is_one_kernel_without_fusion)
{
    struct ir_fixture *fixture = ir_fixture_create();
    fixture->options.no_fusion = true;
    uint32_t x = ir_fixture_load(fixture, ROWS, COLS);
    uint32_t mean =
        ir_fixture_result(fixture, reduce(fixture, KILN_OP_REDUCE_MEAN, x, OVER_COLUMNS));
    uint32_t squares = reduce(fixture, KILN_OP_REDUCE_SQUARES, x, OVER_COLUMNS);
    uint32_t rstd = ir_fixture_result(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_RSQRT, squares));
    uint32_t y = with_repeated(fixture, KILN_OP_SUB, x, mean);
    y = ir_fixture_result(fixture, with_repeated(fixture, KILN_OP_MUL, y, rstd));
    ir_fixture_store(fixture, mean);
    for (uint32_t i = 0; i < fixture->ir.op_count; i++)
        fixture->ir.ops[i].node = 0;
    fixture->ir.node = 1;
    uint32_t next = kiln_ir_unary(&fixture->ir, KILN_OP_NEG, y);
    ir_fixture_store(fixture, ir_fixture_result(fixture, next));
    ir_fixture_store(fixture,
                     ir_fixture_result(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_NEG, mean)));
    struct kiln_partition result = partition(fixture);
    cr_expect_eq(result.group_count, 3);
    cr_expect_eq(result.workspace_bytes, (uint64_t)ROWS * COLS * 4);
    ir_fixture_destroy(fixture);
}

/* ---- maps ---- */

/* Windows of three along rows of eight, from `offset` on: rows of six. */
static uint32_t reduce_windows(struct ir_fixture *fixture, enum kiln_opcode opcode, uint32_t value,
                               int64_t offset)
{
    struct kiln_map map = {.axis_count = 3, .window_count = 1};
    map.axes[0] = kiln_map_axis_along(0);
    map.axes[1] = kiln_map_axis_along(1);
    map.axes[2] = kiln_map_axis_along(0);
    map.windows[0] = (struct kiln_map_window){.over = 0,
                                              .size = kiln_constant_number(8),
                                              .offset = kiln_constant_number(offset),
                                              .divisor = kiln_constant_number(1)};
    uint32_t iteration = kiln_ir_domain(&fixture->ir, (int64_t[]){3, 4, 6}, 3);
    const struct kiln_reduced_windows windows = {.map = &map,
                                                 .iteration = iteration,
                                                 .domain = ir_fixture_domain(fixture, 4, 6),
                                                 .padding = kiln_ir_neutral_padding(opcode)};
    return kiln_ir_reduce_windows(&fixture->ir, opcode, &value, &windows);
}

Test(cluster, a_kernel_of_windows_computes_cheap_operands_again)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 4, 8);
    uint32_t e = ir_fixture_result(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_EXP, x));
    uint32_t max = reduce_windows(fixture, KILN_OP_REDUCE_MAX, e, 0);
    ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_NEG, max));
    struct kiln_partition result = partition(fixture);
    cr_assert_eq(result.group_count, 1);
    cr_expect_eq(result.groups[0].family, KILN_FAMILY_POOLING);
    cr_expect(loads(&result.groups[0], x));
    cr_expect_eq(result.groups[0].reduced_axes, 0, "it walks over the results");
    ir_fixture_destroy(fixture);
}

Test(cluster, a_costly_operand_of_windows_is_in_memory)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 4, 8);
    uint32_t e = ir_fixture_result(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_ERF, x));
    e = ir_fixture_result(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_ERF, e));
    uint32_t max = reduce_windows(fixture, KILN_OP_REDUCE_MAX, e, 0);
    ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_NEG, max));
    struct kiln_partition result = partition(fixture);
    cr_assert_eq(result.group_count, 2);
    cr_expect_eq(result.groups[0].family, KILN_FAMILY_POINTWISE);
    cr_expect_eq(result.groups[1].family, KILN_FAMILY_POOLING);
    cr_expect(loads(&result.groups[1], e), "and what follows is in its kernel");
    ir_fixture_destroy(fixture);
}

Test(cluster, windows_of_the_same_elements_share_a_kernel)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 4, 8);
    ir_fixture_store(fixture, reduce_windows(fixture, KILN_OP_REDUCE_MAX, x, 0));
    ir_fixture_store(fixture, reduce_windows(fixture, KILN_OP_REDUCE_MIN, x, 0));
    ir_fixture_store(fixture, reduce_windows(fixture, KILN_OP_REDUCE_MAX, x, -1));
    ir_fixture_store(fixture, reduce(fixture, KILN_OP_REDUCE_MAX, x, OVER_COLUMNS));
    struct kiln_partition result = partition(fixture);
    cr_expect_eq(result.group_count, 3, "windows that begin elsewhere are others");
    cr_expect_eq(result.groups[0].anchor_count, 2);
    ir_fixture_destroy(fixture);
}
