/* The oracle's grouped products, by hand. */
#include "compiler/reference/node_evaluators.h"

#include <criterion/criterion.h>

enum { MOST = 64 };

static struct kiln_tensor tensors[6];
static struct kiln_graph graph = {.tensor_count = 6, .tensors = tensors};
static struct kiln_node node;
static double values[6][MOST], bounds[6][MOST];
static int64_t integers[6][MOST];
static struct kiln_reference_tensor contents[6];

TestSuite(grouped_matmul_reference);

static void set_tensor(uint32_t ordinal, enum kiln_dtype dtype, int64_t a, int64_t b, int64_t c)
{
    tensors[ordinal] = (struct kiln_tensor){.rank = 3, .dims = {a, b, c}, .dtype = dtype};
    contents[ordinal] =
        (struct kiln_reference_tensor){.real = values[ordinal], .bound = bounds[ordinal]};
    if (dtype == KILN_DTYPE_I32)
        contents[ordinal].integer = integers[ordinal];
}

static void set_integers(uint32_t ordinal, const int *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        integers[ordinal][i] = numbers[i];
}

/* Row r is r + 1; expert e is 10 ** e: so each number of the result says which both were. */
static void run(enum kiln_grouped_mode mode, uint32_t top_k, int64_t tokens, int64_t rows,
                int64_t groups, const int *offsets, const int *index, const int *ks)
{
    enum { EXPERTS = 2 };
    set_tensor(0, KILN_DTYPE_F32, 1, tokens, 1);
    set_tensor(1, KILN_DTYPE_F32, EXPERTS, 1, 1);
    set_tensor(2, KILN_DTYPE_I32, groups, 1, 1);
    set_tensor(3, KILN_DTYPE_I32, 1, rows, 1);
    set_tensor(4, KILN_DTYPE_I32, 1, rows, 1);
    set_tensor(5, KILN_DTYPE_F32, 1, rows, 1);
    for (int64_t i = 0; i < tokens; i++)
        values[0][i] = (double)i + 1;
    values[1][0] = 1;
    values[1][1] = 10;
    set_integers(2, offsets, (uint32_t)groups);
    node = (struct kiln_node){
        .kind = KILN_NODE_GROUPED_MATMUL,
        .input_count = 3 + (uint32_t)mode,
        .inputs = {0, 1, 2, 3, 4},
        .input_roles = {KILN_OPERAND_TOKEN, KILN_OPERAND_WEIGHT, KILN_OPERAND_FIRST_TOKEN_OFFSET,
                        KILN_OPERAND_TOKEN_INDEX, KILN_OPERAND_TOKEN_KS},
        .output_count = 1,
        .outputs = {5},
        .output_roles = {KILN_OPERAND_OUTPUT},
        .grouped_matmul = {.mode = mode, .top_k = top_k},
    };
    if (index != NULL)
        set_integers(3, index, (uint32_t)rows);
    if (ks != NULL)
        set_integers(4, ks, (uint32_t)rows);
    cr_assert_eq(kiln_grouped_matmul_evaluate(&graph, &node, KILN_SCALAR_F32, contents, NULL, NULL),
                 KILN_OK);
}

static void expect_rows(const double *expected, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        cr_expect_eq(values[5][i], expected[i], "row %d is %g", (int)i, values[5][i]);
}

Test(grouped_matmul_reference, groups_follow_each_other_and_experts_repeat)
{
    run(KILN_GROUPED_NONE, 0, 6, 6, 4, (int[]){1, 2, 2, 4}, NULL, NULL);
    /* Row 0 has no group, group 1 no row; group 2 has expert 0 again. */
    expect_rows((double[]){0, 2, 3, 4, 50, 60}, 6);
}

Test(grouped_matmul_reference, damaged_offsets_are_moved)
{
    run(KILN_GROUPED_NONE, 0, 4, 4, 2, (int[]){-5, 99}, NULL, NULL);
    expect_rows((double[]){1, 2, 3, 4}, 4);
    run(KILN_GROUPED_NONE, 0, 4, 4, 4, (int[]){2, 1, 3, 0}, NULL, NULL);
    /* Starts at 2, 2, 3, 3. */
    expect_rows((double[]){0, 0, 30, 40}, 4);
}

Test(grouped_matmul_reference, gathered_rows)
{
    run(KILN_GROUPED_GATHER, 0, 3, 5, 2, (int[]){0, 2}, (int[]){2, 0, 0, -1, 3}, NULL);
    expect_rows((double[]){3, 1, 10, 0, 0}, 5);
}

Test(grouped_matmul_reference, scattered_rows)
{
    run(KILN_GROUPED_SCATTER, 2, 4, 4, 2, (int[]){0, 2}, (int[]){1, 0, 0, 1}, (int[]){1, 0, 1, 0});
    expect_rows((double[]){2, 30, 40, 1}, 4);
    /* Numbers that are no row, and a ks that is not below top_k. */
    run(KILN_GROUPED_SCATTER, 2, 4, 4, 2, (int[]){0, 2}, (int[]){1, 9, 0, -1}, (int[]){1, 0, 2, 0});
    expect_rows((double[]){0, 0, 0, 1}, 4);
}

Test(grouped_matmul_reference, gradient)
{
    set_tensor(0, KILN_DTYPE_F32, 1, 4, 1);
    set_tensor(1, KILN_DTYPE_F32, 1, 4, 1);
    set_tensor(2, KILN_DTYPE_I32, 3, 1, 1);
    set_tensor(5, KILN_DTYPE_F32, 3, 1, 1);
    for (int i = 0; i < 4; i++) {
        values[0][i] = i + 1;
        values[1][i] = 1;
    }
    set_integers(2, (int[]){0, 3, 3}, 3);
    node = (struct kiln_node){
        .kind = KILN_NODE_GROUPED_MATMUL_BACKWARD,
        .input_count = 3,
        .inputs = {0, 1, 2},
        .input_roles = {KILN_OPERAND_DOUTPUT, KILN_OPERAND_TOKEN, KILN_OPERAND_FIRST_TOKEN_OFFSET},
        .output_count = 1,
        .outputs = {5},
        .output_roles = {KILN_OPERAND_DWEIGHT},
    };
    cr_assert_eq(
        kiln_grouped_matmul_backward_evaluate(&graph, &node, KILN_SCALAR_F32, contents, NULL, NULL),
        KILN_OK);
    expect_rows((double[]){6, 0, 4}, 3);
}
