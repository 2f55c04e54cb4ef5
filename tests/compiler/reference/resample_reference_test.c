/* The oracle's pooling, by hand. */
#include "compiler/reference/node_evaluators.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { ELEMENTS = 64 };

static struct kiln_tensor tensors[3];
static struct kiln_graph graph;
static struct kiln_node node;
static double x[ELEMENTS], y[ELEMENTS], x_bound[ELEMENTS], y_bound[ELEMENTS];
static double index_real[ELEMENTS], index_bound[ELEMENTS];
static int64_t index_integer[ELEMENTS];

TestSuite(resample_reference);

/* A row of `count` elements, as the only axis of an image. */
static void pool_row(const double *row, int64_t count, struct kiln_resample resample,
                     int64_t results)
{
    struct kiln_reference_tensor contents[2] = {{.real = x, .bound = x_bound},
                                                {.real = y, .bound = y_bound}};
    resample.spatial_count = 1;
    memcpy(x, row, (size_t)count * sizeof *row);
    tensors[0] = (struct kiln_tensor){.rank = 3, .dims = {1, 1, count}, .dtype = KILN_DTYPE_F32};
    tensors[1] = (struct kiln_tensor){.rank = 3, .dims = {1, 1, results}, .dtype = KILN_DTYPE_F32};
    graph = (struct kiln_graph){.tensor_count = 2, .tensors = tensors};
    node = (struct kiln_node){.kind = KILN_NODE_RESAMPLE_FORWARD,
                              .input_count = 1,
                              .output_count = 1,
                              .outputs = {1},
                              .resample = resample};
    cr_assert_eq(kiln_resample_evaluate(&graph, &node, KILN_SCALAR_F32, contents, NULL, NULL),
                 KILN_OK);
}

/* Pools a row, with positions. */
static void pool_row_with_index(const double *row, int64_t count, struct kiln_resample resample,
                                int64_t results)
{
    struct kiln_reference_tensor contents[3] = {
        {.real = x, .bound = x_bound},
        {.real = y, .bound = y_bound},
        {.real = index_real, .integer = index_integer, .bound = index_bound}};
    pool_row(row, count, resample, results);
    tensors[2] = tensors[1];
    tensors[2].dtype = KILN_DTYPE_I32;
    graph.tensor_count = 3;
    node.outputs[1] = 2;
    node.output_roles[1] = KILN_OPERAND_INDEX;
    node.output_count = 2;
    cr_assert_eq(kiln_resample_evaluate(&graph, &node, KILN_SCALAR_F32, contents, NULL, NULL),
                 KILN_OK);
}

static void expect_positions(const int64_t *expected, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        cr_expect(index_integer[i] == expected[i] && index_bound[i] == 0, "index[%d] = %d", (int)i,
                  (int)index_integer[i]);
}

/* The gradient of a row of `count`; keys NULL: of a mean. */
static void pool_gradient(const double *dy, const int64_t *keys, int64_t results,
                          struct kiln_resample resample, int64_t count)
{
    struct kiln_reference_tensor contents[3] = {
        {.real = x, .bound = x_bound},
        {.real = y, .bound = y_bound},
        {.real = index_real, .integer = index_integer, .bound = index_bound}};
    resample.spatial_count = 1;
    memcpy(x, dy, (size_t)results * sizeof *dy);
    if (keys != NULL)
        memcpy(index_integer, keys, (size_t)results * sizeof *keys);
    tensors[0] = (struct kiln_tensor){.rank = 3, .dims = {1, 1, results}, .dtype = KILN_DTYPE_F32};
    tensors[1] = (struct kiln_tensor){.rank = 3, .dims = {1, 1, count}, .dtype = KILN_DTYPE_F32};
    tensors[2] = (struct kiln_tensor){.rank = 3, .dims = {1, 1, results}, .dtype = KILN_DTYPE_I32};
    graph = (struct kiln_graph){.tensor_count = 3, .tensors = tensors};
    node = (struct kiln_node){.kind = KILN_NODE_RESAMPLE_BACKWARD,
                              .input_count = keys != NULL ? 2 : 1,
                              .inputs = {0, 2},
                              .input_roles = {KILN_OPERAND_DY, KILN_OPERAND_INDEX},
                              .output_count = 1,
                              .outputs = {1},
                              .resample = resample};
    cr_assert_eq(
        kiln_resample_backward_evaluate(&graph, &node, KILN_SCALAR_F32, contents, NULL, NULL),
        KILN_OK);
}

/* Within what the oracle itself allows. */
static void expect_nearly(const double *expected, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        cr_expect(fabs(y[i] - expected[i]) <= y_bound[i] + 1e-7 && y_bound[i] < 1e-5, "y[%d] = %g",
                  (int)i, y[i]);
}

static void expect_results(const double *expected, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        cr_expect(y[i] == expected[i], "y[%d] = %g", (int)i, y[i]);
        cr_expect_eq(y_bound[i], 0, "the largest of exact numbers is exact");
    }
}

Test(resample_reference, windows_move_by_strides)
{
    pool_row((double[]){3, 1, 4, 1, 5, 9, 2}, 7,
             (struct kiln_resample){.window = {3}, .stride = {2}, .pre_padding = {1}}, 3);
    expect_results((double[]){3, 4, 9}, 3);
}

Test(resample_reference, nan_never_wins_and_nothing_is_the_lowest_number)
{
    const double lowest = -(double)FLT_MAX;
    pool_row((double[]){NAN, -INFINITY, NAN, -7, NAN, INFINITY}, 6,
             (struct kiln_resample){.window = {2}, .stride = {2}}, 3);
    expect_results((double[]){lowest, -7, INFINITY}, 3);
}

Test(resample_reference, padding_is_nothing_or_zeros)
{
    const double lowest = -(double)FLT_MAX;
    struct kiln_resample resample = {
        .window = {2}, .stride = {1}, .pre_padding = {2}, .post_padding = {1}};
    pool_row((double[]){-3, -5}, 2, resample, 4);
    expect_results((double[]){lowest, -3, -3, -5}, 4);
    resample.pads_zeros = true;
    pool_row((double[]){-3, -5}, 2, resample, 4);
    expect_results((double[]){0, 0, -3, 0}, 4);
}

Test(resample_reference, three_axes)
{
    struct kiln_reference_tensor contents[2] = {{.real = x, .bound = x_bound},
                                                {.real = y, .bound = y_bound}};
    for (int i = 0; i < 27; i++)
        x[i] = i == 13 ? 99 : i;
    tensors[0] = (struct kiln_tensor){.rank = 5, .dims = {1, 1, 3, 3, 3}, .dtype = KILN_DTYPE_F32};
    tensors[1] = (struct kiln_tensor){.rank = 5, .dims = {1, 1, 2, 2, 2}, .dtype = KILN_DTYPE_F32};
    graph = (struct kiln_graph){.tensor_count = 2, .tensors = tensors};
    node = (struct kiln_node){
        .kind = KILN_NODE_RESAMPLE_FORWARD,
        .input_count = 1,
        .output_count = 1,
        .outputs = {1},
        .resample = {.spatial_count = 3, .window = {2, 2, 1}, .stride = {1, 1, 2}}};
    cr_assert_eq(kiln_resample_evaluate(&graph, &node, KILN_SCALAR_F32, contents, NULL, NULL),
                 KILN_OK);
    expect_results((double[]){12, 14, 15, 17, 21, 23, 24, 26}, 8);
}

Test(resample_reference, the_first_maximum_has_the_index)
{
    struct kiln_resample resample = {
        .window = {3}, .stride = {2}, .pre_padding = {1}, .post_padding = {1}};
    pool_row_with_index((double[]){3, 3, 4, NAN, 4, 9, 9}, 7, resample, 4);
    expect_results((double[]){3, 4, 9, 9}, 4);
    expect_positions((int64_t[]){0, 2, 5, 5}, 4);
    pool_row_with_index((double[]){NAN, -INFINITY, -FLT_MAX, -1, 0, 0, -2}, 7, resample, 4);
    expect_positions((int64_t[]){-1, 3, 4, 5}, 4);
    resample.pads_zeros = true;
    pool_row_with_index((double[]){0, 0, 4, 1, 4, -1, -2}, 7, resample, 4);
    expect_positions((int64_t[]){-1, 2, 4, -1}, 4);
}

Test(resample_reference, an_index_is_uncertain_among_uncertain_numbers)
{
    x_bound[1] = 0.5;
    pool_row_with_index((double[]){3, 3, 4, 9}, 4,
                        (struct kiln_resample){.window = {2}, .stride = {2}}, 2);
    cr_expect(isinf(index_bound[0]));
    cr_expect_eq(index_bound[1], 0);
    x_bound[1] = 0;
}

Test(resample_reference, means)
{
    struct kiln_resample resample = {.mode = KILN_POOLING_MEAN_OF_IMAGE,
                                     .window = {3},
                                     .stride = {2},
                                     .pre_padding = {1},
                                     .post_padding = {4}};
    pool_row_with_index((double[]){2, 4, 5, 6, 7}, 5, resample, 4);
    expect_nearly((double[]){3, 5, 6.5, 0}, 4);
    expect_positions((int64_t[]){-1, -1, -1, -1}, 4);
    resample.mode = KILN_POOLING_MEAN_OF_WINDOW;
    pool_row_with_index((double[]){2, 4, 5, 6, 7}, 5, resample, 4);
    expect_nearly((double[]){2, 5, 13. / 3, 0}, 4);
}

Test(resample_reference, gradients)
{
    struct kiln_resample resample = {.window = {3}, .stride = {2}, .pre_padding = {1}};
    pool_gradient((double[]){1, 2, 4, 8}, (int64_t[]){1, 1, 0, 99}, 4, resample, 5);
    expect_nearly((double[]){0, 3, 0, 0, 0}, 5);
    resample.mode = KILN_POOLING_MEAN_OF_IMAGE;
    pool_gradient((double[]){2, 3, 4}, NULL, 3, resample, 5);
    expect_nearly((double[]){1, 2, 1, 3, 2}, 5);
    resample.mode = KILN_POOLING_MEAN_OF_WINDOW;
    pool_gradient((double[]){3, 6, 9}, NULL, 3, resample, 5);
    expect_nearly((double[]){1, 3, 2, 5, 3}, 5);
}
