/*
 * Variances written out in sums, and what only looks like one.
 */
#include "compiler/ir/passes.h"

#include <criterion/criterion.h>

/* Programs over x[4, 8] float (tensor 0) with outputs of one column (1) and of all (2). */
enum { X, COLUMN, ALL, TENSORS };

static struct kiln_arena arena;
static struct kiln_ir ir;
static struct kiln_tensor tensors[TENSORS];
static struct kiln_graph graph;
static struct kiln_error error;

static void setup(void)
{
    for (uint32_t i = 0; i < TENSORS; i++)
        tensors[i] = (struct kiln_tensor){.rank = 2,
                                          .dims = {4, i == COLUMN ? 1 : 8},
                                          .strides = {8, 1},
                                          .role = i == X ? KILN_TENSOR_INPUT : KILN_TENSOR_OUTPUT,
                                          .producer = KILN_NONE};
    graph = (struct kiln_graph){.tensor_count = TENSORS, .tensors = tensors};
    kiln_arena_init(&arena);
    kiln_ir_init(&ir, &arena);
    kiln_error_init(&error);
}

static void teardown(void)
{
    kiln_arena_fini(&arena);
}

TestSuite(recognize_moments, .init = setup, .fini = teardown);

static uint32_t sum(uint32_t value, uint32_t axes)
{
    const int64_t dims[2] = {4, 8};
    return kiln_ir_reduce(&ir, KILN_OP_REDUCE_SUM, value,
                          kiln_ir_reduced_domain(&ir, dims, 2, axes));
}

static uint32_t binary(enum kiln_opcode opcode, uint32_t a, uint32_t b)
{
    return kiln_ir_binary(&ir, opcode, a, b);
}

static uint32_t real(double value)
{
    return kiln_ir_real(&ir, KILN_SCALAR_F32, value);
}

static uint32_t minus_repeated(uint32_t value, uint32_t mean)
{
    return binary(KILN_OP_SUB, value, kiln_ir_broadcast(&ir, mean, ir.ops[value].domain));
}

/* Stores the value, runs the pass, and counts an opcode in what is left. */
static uint32_t count_after(uint32_t value, uint32_t tensor, enum kiln_opcode opcode)
{
    struct kiln_buffer faults;
    kiln_buffer_init(&faults);
    tensors[tensor == ALL ? COLUMN : ALL].role = KILN_TENSOR_VIRTUAL;
    kiln_ir_store(&ir, value, tensor);
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_ir_recognize_moments(&ir, NULL, &error), KILN_OK);
    cr_assert(kiln_ir_validate(&ir, &graph, &faults), "%s", kiln_buffer_text(&faults));
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK);
    kiln_buffer_fini(&faults);
    uint32_t count = 0;
    for (uint32_t i = 0; i < ir.op_count; i++)
        count += ir.ops[i].opcode == opcode;
    return count;
}

Test(recognize_moments, a_variance_is_one_walk)
{
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    uint32_t centred = minus_repeated(x, binary(KILN_OP_DIV, sum(x, 2), real(8)));
    uint32_t variance = binary(KILN_OP_DIV, sum(binary(KILN_OP_MUL, centred, centred), 2), real(8));
    uint32_t root = kiln_ir_unary(&ir, KILN_OP_SQRT, variance);
    uint32_t y = binary(KILN_OP_DIV, centred, kiln_ir_broadcast(&ir, root, ir.ops[x].domain));
    cr_expect_eq(count_after(y, ALL, KILN_OP_REDUCE_SQUARES), 1);
    uint32_t sums = 0;
    uint32_t means = 0;
    for (uint32_t i = 0; i < ir.op_count; i++) {
        sums += ir.ops[i].opcode == KILN_OP_REDUCE_SUM;
        means += ir.ops[i].opcode == KILN_OP_REDUCE_MEAN;
    }
    cr_expect_eq(sums, 0);
    cr_expect_eq(means, 1);
}

Test(recognize_moments, a_mean_may_be_a_product)
{
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    uint32_t centred = minus_repeated(x, binary(KILN_OP_MUL, real(0.125), sum(x, 2)));
    uint32_t squares = sum(binary(KILN_OP_MUL, centred, centred), 2);
    cr_expect_eq(count_after(squares, COLUMN, KILN_OP_REDUCE_SQUARES), 1);
}

Test(recognize_moments, another_divisor_is_no_mean)
{
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    uint32_t centred = minus_repeated(x, binary(KILN_OP_DIV, sum(x, 2), real(7)));
    uint32_t squares = sum(binary(KILN_OP_MUL, centred, centred), 2);
    cr_expect_eq(count_after(squares, COLUMN, KILN_OP_REDUCE_SQUARES), 0);
}

Test(recognize_moments, the_mean_of_other_axes_is_no_mean)
{
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    uint32_t centred = minus_repeated(x, binary(KILN_OP_DIV, sum(x, 3), real(32)));
    uint32_t squares = sum(binary(KILN_OP_MUL, centred, centred), 2);
    cr_expect_eq(count_after(squares, COLUMN, KILN_OP_REDUCE_SQUARES), 0);
}

Test(recognize_moments, deviations_from_another_value_are_not)
{
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    uint32_t twice = binary(KILN_OP_ADD, x, x);
    uint32_t centred = minus_repeated(twice, binary(KILN_OP_DIV, sum(x, 2), real(8)));
    uint32_t squares = sum(binary(KILN_OP_MUL, centred, centred), 2);
    cr_expect_eq(count_after(squares, COLUMN, KILN_OP_REDUCE_SQUARES), 0);
}

Test(recognize_moments, a_rounded_deviation_stays_as_it_is)
{
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    uint32_t centred = minus_repeated(x, binary(KILN_OP_DIV, sum(x, 2), real(8)));
    uint32_t rounded = kiln_ir_round(&ir, centred, KILN_DTYPE_F16);
    uint32_t squares = sum(binary(KILN_OP_MUL, rounded, rounded), 2);
    cr_expect_eq(count_after(squares, COLUMN, KILN_OP_REDUCE_SQUARES), 0);
}

Test(recognize_moments, a_product_of_two_is_no_square)
{
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    uint32_t centred = minus_repeated(x, binary(KILN_OP_DIV, sum(x, 2), real(8)));
    uint32_t product = sum(binary(KILN_OP_MUL, centred, x), 2);
    cr_expect_eq(count_after(product, COLUMN, KILN_OP_REDUCE_SQUARES), 0);
}

/* The mean of the squares is part of two variances: its sum is one. */
Test(recognize_moments, the_variance_of_squared_deviations)
{
    uint32_t x = kiln_ir_load(&ir, &graph, X);
    uint32_t centred = minus_repeated(x, binary(KILN_OP_DIV, sum(x, 2), real(8)));
    uint32_t square = binary(KILN_OP_MUL, centred, centred);
    uint32_t variance = binary(KILN_OP_DIV, sum(square, 2), real(8));
    uint32_t deviation = minus_repeated(square, variance);
    uint32_t spread = sum(binary(KILN_OP_MUL, deviation, deviation), 2);
    cr_expect_geq(count_after(spread, COLUMN, KILN_OP_REDUCE_SQUARES), 1);
}
