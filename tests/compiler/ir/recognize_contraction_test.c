/*
 * Matrix products written out in sums, and what only looks like one.
 */
#include "compiler/ir/passes.h"

#include <criterion/criterion.h>
#include <string.h>

/* Programs over a[m, 1, k] and b[n, k] float, with outputs of all products and of their sums; at
 * first m is 3, n is 5 and k is 8. */
enum { A, B, WIDE, ALL, SUMS, TENSORS };

static struct kiln_arena arena;
static struct kiln_ir ir;
static struct kiln_tensor tensors[TENSORS];
static struct kiln_graph graph = {.tensor_count = TENSORS, .tensors = tensors};
static struct kiln_error error;
static uint32_t points;

static void resize(int64_t m, int64_t n, int64_t k)
{
    const struct kiln_tensor sized[TENSORS] = {
        [A] = {.rank = 3, .dims = {m, 1, k}, .strides = {k, k, 1}, .role = KILN_TENSOR_INPUT},
        [B] = {.rank = 2, .dims = {n, k}, .strides = {k, 1}, .role = KILN_TENSOR_INPUT},
        [WIDE] = {.rank = 3,
                  .dims = {m, n, k},
                  .strides = {n * k, k, 1},
                  .role = KILN_TENSOR_INPUT},
        [ALL] = {.rank = 3,
                 .dims = {m, n, k},
                 .strides = {n * k, k, 1},
                 .role = KILN_TENSOR_VIRTUAL},
        [SUMS] = {.rank = 3, .dims = {m, n, 1}, .strides = {n, 1, 1}, .role = KILN_TENSOR_OUTPUT},
    };
    memcpy(tensors, sized, sizeof tensors);
    for (uint32_t i = 0; i < TENSORS; i++)
        tensors[i].producer = KILN_NONE;
    points = kiln_ir_domain(&ir, tensors[ALL].dims, 3);
}

static void setup(void)
{
    kiln_arena_init(&arena);
    kiln_ir_init(&ir, &arena);
    kiln_error_init(&error);
    resize(3, 5, 8);
}

static void teardown(void)
{
    kiln_arena_fini(&arena);
}

TestSuite(recognize_contraction, .init = setup, .fini = teardown);

static uint32_t load(uint32_t tensor)
{
    return kiln_ir_load(&ir, &graph, tensor);
}

static uint32_t multiply(uint32_t a, uint32_t b)
{
    return kiln_ir_binary(&ir, KILN_OP_MUL, kiln_ir_broadcast(&ir, a, points),
                          kiln_ir_broadcast(&ir, b, points));
}

static uint32_t reduce(enum kiln_opcode opcode, uint32_t value)
{
    return kiln_ir_reduce(&ir, opcode, value,
                          kiln_ir_reduced_domain(&ir, tensors[ALL].dims, 3, 1u << 2));
}

/* Stores the value as SUMS, runs the pass, and gives the CONTRACT that is left, or NULL. */
static const struct kiln_op *contract_after(uint32_t value)
{
    struct kiln_buffer faults;
    kiln_buffer_init(&faults);
    kiln_ir_store(&ir, value, SUMS);
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_ir_recognize_contractions(&ir, NULL, &error), KILN_OK);
    cr_assert(kiln_ir_validate(&ir, &graph, &faults), "%s", kiln_buffer_text(&faults));
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK);
    kiln_buffer_fini(&faults);
    for (uint32_t i = 0; i < ir.op_count; i++) {
        if (ir.ops[i].opcode == KILN_OP_CONTRACT)
            return &ir.ops[i];
    }
    return NULL;
}

Test(recognize_contraction, a_sum_of_repeated_operands_is_a_product)
{
    const struct kiln_op *op =
        contract_after(reduce(KILN_OP_REDUCE_SUM, multiply(load(A), load(B))));
    cr_assert_not_null(op);
    const struct kiln_contraction *contraction = &ir.contractions[op->contraction];
    cr_assert_eq(contraction->axis_count, 3);
    /* Either operand may be the left one. */
    int64_t m = kiln_contraction_size(contraction, KILN_AXIS_M);
    cr_expect(m == 3 || m == 5);
    cr_expect_eq(kiln_contraction_size(contraction, KILN_AXIS_N), 15 / m);
    cr_expect_eq(kiln_contraction_size(contraction, KILN_AXIS_K), 8);
    for (uint32_t i = 0; i < ir.op_count; i++)
        cr_expect_neq(ir.ops[i].opcode, KILN_OP_REDUCE_SUM);
}

Test(recognize_contraction, an_axis_that_both_operands_keep_is_a_batch)
{
    /* 3 x (1 x 8) with 3 x (5 x 8): no rows are left, so it stays a sum. */
    cr_expect_null(contract_after(reduce(KILN_OP_REDUCE_SUM, multiply(load(A), load(WIDE)))));
}

Test(recognize_contraction, a_rounded_product_stays_as_it_is)
{
    uint32_t rounded = kiln_ir_round(&ir, multiply(load(A), load(B)), KILN_DTYPE_F16);
    cr_expect_null(contract_after(reduce(KILN_OP_REDUCE_SUM, rounded)));
}

Test(recognize_contraction, another_reduction_is_no_product)
{
    cr_expect_null(contract_after(reduce(KILN_OP_REDUCE_MAX, multiply(load(A), load(B)))));
}

Test(recognize_contraction, a_sum_of_sums_is_no_product)
{
    uint32_t sum = kiln_ir_binary(&ir, KILN_OP_ADD, kiln_ir_broadcast(&ir, load(A), points),
                                  kiln_ir_broadcast(&ir, load(B), points));
    cr_expect_null(contract_after(reduce(KILN_OP_REDUCE_SUM, sum)));
}

Test(recognize_contraction, products_that_are_outputs_too_are_summed_where_they_are_written)
{
    tensors[ALL].role = KILN_TENSOR_OUTPUT;
    uint32_t products = multiply(load(A), load(B));
    kiln_ir_store(&ir, products, ALL);
    cr_expect_null(contract_after(reduce(KILN_OP_REDUCE_SUM, products)));
}

static const struct {
    int64_t m, n, k;
    bool is_recognized;
} sizes[] = {
    /* The sum is cut into segments for as many work-groups, the product would be one's. */
    {2, 2, 1 << 22, false},
    {32, 32, 1024, false},
    {32, 32, 1023, true},
    {32, 64, 1 << 22, true},
    /* Kernels of products count in 32 bits. */
    {INT32_MAX, 2, 2, true},
    {INT64_C(1) << 31, 2, 2, false},
    {2, INT64_C(1) << 31, 2, false},
    {64, 64, INT64_C(1) << 31, false},
};

Test(recognize_contraction, what_products_have_no_kernel_for_stays_a_sum)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        kiln_ir_init(&ir, &arena);
        resize(sizes[i].m, sizes[i].n, sizes[i].k);
        cr_expect_eq(contract_after(reduce(KILN_OP_REDUCE_SUM, multiply(load(A), load(B)))) != NULL,
                     sizes[i].is_recognized, "%zu", i);
    }
}
