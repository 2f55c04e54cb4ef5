#include "tests/compiler/fuse/ir_fixture.h"

#include <criterion/criterion.h>

Test(partition, a_chain_of_256_nodes_is_one_kernel)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 64, 64);
    uint32_t y = ir_fixture_load(fixture, 64, 64);
    for (int i = 0; i < 256; i++)
        x = ir_fixture_result(
            fixture, kiln_ir_binary(&fixture->ir, i % 2 ? KILN_OP_ADD : KILN_OP_MUL, x, y));
    ir_fixture_store(fixture, x);
    struct kiln_partition result = ir_fixture_partition(fixture);
    cr_assert_eq(result.group_count, 1);
    cr_assert_eq(result.workspace_bytes, 0);
    cr_assert_eq(result.groups[0].access_count, 3);
    cr_assert_eq(result.groups[0].load_count, 2);
    cr_assert_eq(result.groups[0].boundary, KILN_BOUNDARY_FIRST);
    ir_fixture_destroy(fixture);
}

Test(partition, an_output_of_smaller_shape_rides_along_guarded)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t bias = ir_fixture_load(fixture, 1, 32);
    uint32_t small = kiln_ir_unary(&fixture->ir, KILN_OP_NEG, bias);
    ir_fixture_store(fixture, small);
    uint32_t wide = kiln_ir_broadcast(&fixture->ir, small, ir_fixture_domain(fixture, 16, 32));
    ir_fixture_store(
        fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, wide, ir_fixture_load(fixture, 16, 32)));
    struct kiln_partition result = ir_fixture_partition(fixture);
    cr_assert_eq(result.group_count, 1);
    const struct kiln_fusion_group *group = &result.groups[0];
    cr_assert_eq(group->access_count - group->load_count, 2);
    uint32_t guards = 0;
    for (uint32_t i = group->load_count; i < group->access_count; i++)
        guards |= group->accesses[i].guard_axes;
    cr_assert_eq(guards, 1u, "the small output is written where the row is 0 only");
    ir_fixture_destroy(fixture);
}

Test(partition, outputs_of_unrelated_shapes_need_a_kernel_each)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t scalar = ir_fixture_load(fixture, 1, 1);
    uint32_t a = kiln_ir_binary(&fixture->ir, KILN_OP_ADD, ir_fixture_load(fixture, 4, 7), scalar);
    ir_fixture_store(fixture, a);
    uint32_t b = kiln_ir_binary(&fixture->ir, KILN_OP_MUL, ir_fixture_load(fixture, 9, 5), scalar);
    ir_fixture_store(fixture, b);
    struct kiln_partition result = ir_fixture_partition(fixture);
    cr_assert_eq(result.group_count, 2);
    cr_assert_eq(result.groups[1].boundary, KILN_BOUNDARY_OF_POINTWISE);
    ir_fixture_destroy(fixture);
}

Test(partition, without_fusion_every_node_is_a_kernel)
{
    struct ir_fixture *fixture = ir_fixture_create();
    fixture->options.no_fusion = true;
    uint32_t x = ir_fixture_load(fixture, 10, 10);
    for (uint32_t i = 0; i < 4; i++) {
        fixture->ir.node = i;
        x = ir_fixture_result(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_NEG, x));
    }
    fixture->ir.node = 4;
    ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_ABS, x));
    struct kiln_partition result = ir_fixture_partition(fixture);
    cr_assert_eq(result.group_count, 5);
    /* Two values alive at a time, 400 bytes each, padded to 512. */
    cr_assert_eq(result.workspace_bytes, 1024);
    for (uint32_t i = 0; i < 5; i++) {
        cr_assert_eq(result.groups[i].access_count, 2);
        cr_assert_eq(result.groups[i].accesses[0].kind,
                     i == 0 ? KILN_ARGUMENT_TENSOR : KILN_ARGUMENT_WORKSPACE);
    }
    ir_fixture_destroy(fixture);
}

static uint32_t costly(struct ir_fixture *fixture, uint32_t x, int operations)
{
    for (int i = 0; i < operations; i++)
        x = kiln_ir_unary(&fixture->ir, KILN_OP_TANH, x);
    return ir_fixture_result(fixture, x);
}

Test(partition, a_costly_value_is_not_computed_again_for_every_row)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t bias = costly(fixture, ir_fixture_load(fixture, 1, 256), 20);
    uint32_t wide = kiln_ir_broadcast(&fixture->ir, bias, ir_fixture_domain(fixture, 4096, 256));
    ir_fixture_store(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, wide,
                                             ir_fixture_load(fixture, 4096, 256)));
    struct kiln_partition result = ir_fixture_partition(fixture);
    cr_assert_eq(result.group_count, 2);
    cr_assert_eq(result.workspace_bytes, 1024);
    cr_assert_eq(result.groups[0].op_count, 21);
    ir_fixture_destroy(fixture);
}

Test(partition, a_cheap_value_is_computed_again)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t bias = costly(fixture, ir_fixture_load(fixture, 1, 256), 2);
    uint32_t wide = kiln_ir_broadcast(&fixture->ir, bias, ir_fixture_domain(fixture, 4096, 256));
    ir_fixture_store(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, wide,
                                             ir_fixture_load(fixture, 4096, 256)));
    cr_assert_eq(ir_fixture_partition(fixture).group_count, 1);
    ir_fixture_destroy(fixture);
}

Test(partition, too_many_live_values_are_split_until_they_fit)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t x = ir_fixture_load(fixture, 8, 8);
    uint32_t values[400];
    for (int i = 0; i < 400; i++) {
        x = ir_fixture_result(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_TANH, x));
        values[i] = x;
    }
    for (int i = 0; i < 400; i++)
        x = ir_fixture_result(fixture, kiln_ir_binary(&fixture->ir, KILN_OP_ADD, x, values[i]));
    ir_fixture_store(fixture, x);
    struct kiln_partition result = ir_fixture_partition(fixture);
    cr_assert_gt(result.group_count, 1);
    for (uint32_t i = 0; i < result.group_count; i++) {
        cr_assert_leq(result.groups[i].live_registers, 128,
                      "group %u of %u: %u live, %u ops, %u accesses", i, result.group_count,
                      result.groups[i].live_registers, result.groups[i].op_count,
                      result.groups[i].access_count);
        cr_assert_leq(result.groups[i].access_count, KILN_GROUP_MAX_ACCESSES * 2, "group %u", i);
    }
    cr_assert_eq(result.groups[1].boundary, KILN_BOUNDARY_REGISTERS);
    ir_fixture_destroy(fixture);
}

Test(partition, an_output_that_is_read_again_is_not_loaded)
{
    struct ir_fixture *fixture = ir_fixture_create();
    uint32_t a = kiln_ir_unary(&fixture->ir, KILN_OP_NEG, ir_fixture_load(fixture, 8, 8));
    ir_fixture_store(fixture, a);
    ir_fixture_store(fixture, kiln_ir_unary(&fixture->ir, KILN_OP_EXP, a));
    struct kiln_partition result = ir_fixture_partition(fixture);
    cr_assert_eq(result.group_count, 1);
    cr_assert_eq(result.groups[0].load_count, 1);
    cr_assert_eq(result.groups[0].access_count, 3);
    ir_fixture_destroy(fixture);
}
