/* The oracle's quantisation by blocks, by hand. */
#include "compiler/reference/node_evaluators.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { ELEMENTS = 64 };

static struct kiln_tensor tensors[3];
static double x[ELEMENTS], y[ELEMENTS], scale[ELEMENTS];
static double x_bound[ELEMENTS], y_bound[ELEMENTS], scale_bound[ELEMENTS];

TestSuite(block_quantize_reference);

static void quantize(const struct kiln_tensor *shape, struct kiln_block_quantize attributes,
                     enum kiln_dtype y_type, enum kiln_dtype scale_type)
{
    static int64_t integers[ELEMENTS];
    struct kiln_reference_tensor contents[3] = {{.real = x, .bound = x_bound},
                                                {.real = y, .bound = y_bound},
                                                {.real = scale, .bound = scale_bound}};
    if (kiln_dtype_is_integer(y_type))
        contents[1].integer = integers;
    tensors[0] = tensors[1] = tensors[2] = *shape;
    tensors[0].dtype = KILN_DTYPE_F32;
    tensors[1].dtype = y_type;
    tensors[2].dtype = scale_type;
    int64_t size = shape->dims[attributes.axis];
    tensors[2].dims[attributes.axis] = (size + attributes.block_size - 1) / attributes.block_size;
    const struct kiln_graph graph = {.tensor_count = 3, .tensors = tensors};
    const struct kiln_node node = {.kind = KILN_NODE_BLOCK_SCALE_QUANTIZE,
                                   .input_count = 1,
                                   .output_count = 2,
                                   .outputs = {1, 2},
                                   .block_quantize = attributes};
    cr_assert_eq(kiln_block_quantize_evaluate(&graph, &node, KILN_SCALAR_F32, contents, NULL, NULL),
                 KILN_OK);
}

static void expect_numbers(const double *got, const double *bound, const double *expected,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cr_expect_eq(got[i], expected[i], "%zu: %g", i, got[i]);
        cr_expect_eq(bound[i], 0, "%zu", i);
    }
}

Test(block_quantize_reference, a_short_last_block)
{
    const struct kiln_tensor row = {.rank = 1, .dims = {5}};
    memcpy(x, (double[]){448, -224, 0, 0, 896}, 5 * sizeof *x);
    quantize(&row, (struct kiln_block_quantize){.axis = 0, .block_size = 2}, KILN_DTYPE_F8E4M3,
             KILN_DTYPE_F32);
    expect_numbers(scale, scale_bound, (double[]){1, 0, 2}, 3);
    expect_numbers(y, y_bound, (double[]){448, -224, 0, 0, 448}, 5);
}

Test(block_quantize_reference, columns_and_ties_to_even)
{
    const struct kiln_tensor matrix = {.rank = 2, .dims = {2, 2}};
    memcpy(x, (double[]){127, 254, 2.5, -3}, 4 * sizeof *x);
    quantize(&matrix, (struct kiln_block_quantize){.axis = 0, .block_size = 2}, KILN_DTYPE_I8,
             KILN_DTYPE_F32);
    expect_numbers(scale, scale_bound, (double[]){1, 2}, 2);
    expect_numbers(y, y_bound, (double[]){127, 127, 2, -2}, 4);
}

Test(block_quantize_reference, scales_round_up_and_saturate)
{
    const struct kiln_tensor row = {.rank = 1, .dims = {3}};
    memcpy(x, (double[]){448 * (1 + 0x1p-20), 1e30, 0x1p-40}, 3 * sizeof *x);
    quantize(&row, (struct kiln_block_quantize){.axis = 0, .block_size = 1}, KILN_DTYPE_F8E4M3,
             KILN_DTYPE_F16);
    expect_numbers(scale, scale_bound, (double[]){1 + 0x1p-10, 65504, 0x1p-24}, 3);
    cr_expect_eq(y[1], 448);
}

Test(block_quantize_reference, what_is_not_finite_leaves_its_block_open)
{
    const struct kiln_tensor row = {.rank = 1, .dims = {4}};
    memcpy(x, (double[]){1, NAN, 448, 1}, 4 * sizeof *x);
    quantize(&row, (struct kiln_block_quantize){.axis = 0, .block_size = 2}, KILN_DTYPE_F8E4M3,
             KILN_DTYPE_F32);
    cr_expect(isinf(scale_bound[0]) && isinf(y_bound[0]) && isinf(y_bound[1]));
    expect_numbers(scale + 1, scale_bound + 1, (double[]){1}, 1);
}
