/* The oracle's block scaling, by hand. */
#include "compiler/reference/node_evaluators.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { ELEMENTS = 16 };

static struct kiln_tensor tensors[3];
static double values[3][ELEMENTS], bounds[3][ELEMENTS];

TestSuite(block_scale_reference);

/* Rows of 5 elements, in blocks of `rows` times `columns`. */
static void dequantize(const double *x, const double *scale, int64_t rows, int64_t columns,
                       bool is_negative)
{
    struct kiln_reference_tensor contents[3];
    const int64_t scale_rows = 1 / rows + 1, scale_columns = 4 / columns + 1;
    memset(bounds, 0, sizeof bounds);
    for (int i = 0; i < 3; i++) {
        contents[i] = (struct kiln_reference_tensor){.real = values[i], .bound = bounds[i]};
        tensors[i] = (struct kiln_tensor){.rank = 2, .dims = {2, 5}, .dtype = KILN_DTYPE_F32};
    }
    tensors[1].dims[0] = scale_rows;
    tensors[1].dims[1] = scale_columns;
    memcpy(values[0], x, 10 * sizeof *x);
    memcpy(values[1], scale, (size_t)(scale_rows * scale_columns) * sizeof *scale);
    const struct kiln_graph graph = {.tensor_count = 3, .tensors = tensors};
    const struct kiln_node node = {
        .kind = KILN_NODE_BLOCK_SCALE_DEQUANTIZE,
        .input_count = 2,
        .output_count = 1,
        .inputs = {0, 1},
        .outputs = {2},
        .block_scale = {.block_count = 2, .blocks = {rows, columns}, .is_negative = is_negative}};
    cr_assert_eq(kiln_dequantize_evaluate(&graph, &node, KILN_SCALAR_F32, contents, NULL, NULL),
                 KILN_OK);
}

static void expect_results(const double *expected)
{
    for (int i = 0; i < 10; i++)
        cr_expect(values[2][i] == expected[i] || (isnan(values[2][i]) && isnan(expected[i])),
                  "y[%d] = %g", i, values[2][i]);
}

Test(block_scale_reference, the_last_block_may_be_shorter)
{
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    dequantize(x, (double[]){10, 100, 1000, -1, 2, 0.5}, 1, 2, false);
    expect_results((double[]){10, 20, 300, 400, 5000, -6, -7, 16, 18, 5});
}

Test(block_scale_reference, blocks_have_two_axes)
{
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    dequantize(x, (double[]){2, 3}, 2, 3, false);
    expect_results((double[]){2, 4, 6, 12, 15, 12, 14, 16, 27, 30});
}

Test(block_scale_reference, a_negative_scale_is_an_exponent)
{
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    dequantize(x, (double[]){3, -1}, 1, 5, true);
    expect_results((double[]){0.125, 0.25, 0.375, 0.5, 0.625, 12, 14, 16, 18, 20});
}

Test(block_scale_reference, nan_takes_its_block)
{
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    dequantize(x, (double[]){1, NAN}, 2, 3, false);
    expect_results((double[]){1, 2, 3, NAN, NAN, 6, 7, 8, NAN, NAN});
}
