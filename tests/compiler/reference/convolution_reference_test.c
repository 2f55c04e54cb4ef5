/* The oracle's convolutions: by hand, against the definition, and the gradients as what they are of
 * the forward one. */
#include "compiler/reference/node_evaluators.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>

enum { ELEMENTS = 4096 };

/* Tensors 0 to 2 are image, filter and result. */
static struct kiln_tensor tensors[3];
static struct kiln_graph graph;
static struct kiln_node node;
static double reals[3][ELEMENTS], bounds[3][ELEMENTS];
static int64_t integers[3][ELEMENTS];
static struct kiln_reference_tensor contents[3];

enum { IMAGE, FILTER, RESULT };

/* The inputs and the output of each direction. */
static const struct {
    enum kiln_node_kind kind;
    uint32_t left, right, output;
} directions[] = {
    {KILN_NODE_CONVOLUTION_FORWARD, IMAGE, FILTER, RESULT},
    {KILN_NODE_CONVOLUTION_DATA_GRADIENT, RESULT, FILTER, IMAGE},
    {KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT, IMAGE, RESULT, FILTER},
};

struct shape {
    int64_t batch, groups, group_channels, group_filters;
    uint32_t spatial_count;
    int64_t image[3], window[3];
    int64_t pre_padding[3], post_padding[3], stride[3], dilation[3];
    bool is_flipped;
};

static void set_up(void)
{
    graph = (struct kiln_graph){.tensor_count = 3, .tensors = tensors};
    for (int i = 0; i < 3; i++) {
        contents[i] = (struct kiln_reference_tensor){
            .real = reals[i], .bound = bounds[i], .integer = integers[i]};
        for (int n = 0; n < ELEMENTS; n++)
            bounds[i][n] = 0;
    }
}

TestSuite(convolution_reference, .init = set_up);

/* A shape's zero strides and dilations mean 1. */
static void set_shape(const struct shape *shape)
{
    uint32_t rank = shape->spatial_count + 2;
    int64_t channels = shape->groups * shape->group_channels;
    int64_t filters = shape->groups * shape->group_filters;
    tensors[IMAGE] = (struct kiln_tensor){.rank = rank, .dims = {shape->batch, channels}};
    tensors[FILTER] = (struct kiln_tensor){.rank = rank, .dims = {filters, shape->group_channels}};
    tensors[RESULT] = (struct kiln_tensor){.rank = rank, .dims = {shape->batch, filters}};
    node = (struct kiln_node){.input_count = 2, .output_count = 1};
    struct kiln_convolution *convolution = &node.convolution;
    convolution->spatial_count = shape->spatial_count;
    convolution->groups = shape->groups;
    convolution->is_flipped = shape->is_flipped;
    for (uint32_t i = 0; i < shape->spatial_count; i++) {
        int64_t stride = shape->stride[i] != 0 ? shape->stride[i] : 1;
        int64_t dilation = shape->dilation[i] != 0 ? shape->dilation[i] : 1;
        int64_t padded = shape->pre_padding[i] + shape->image[i] + shape->post_padding[i];
        tensors[IMAGE].dims[i + 2] = shape->image[i];
        tensors[FILTER].dims[i + 2] = shape->window[i];
        tensors[RESULT].dims[i + 2] = (padded - (shape->window[i] - 1) * dilation - 1) / stride + 1;
        convolution->pre_padding[i] = shape->pre_padding[i];
        convolution->post_padding[i] = shape->post_padding[i];
        convolution->stride[i] = stride;
        convolution->dilation[i] = dilation;
    }
    for (int i = 0; i < 3; i++)
        cr_assert_leq(kiln_tensor_elements(&tensors[i]), ELEMENTS);
}

static void set_data(uint32_t tensor, const double *data, int64_t count)
{
    cr_assert_eq(count, kiln_tensor_elements(&tensors[tensor]));
    for (int64_t i = 0; i < count; i++) {
        reals[tensor][i] = data[i];
        integers[tensor][i] = isfinite(data[i]) ? (int64_t)data[i] : 0;
    }
}

/* Small integers, so that every sum is exact. */
static void set_random(uint32_t tensor, uint64_t seed)
{
    uint64_t state = seed * 2 + 1;
    for (int64_t i = 0; i < kiln_tensor_elements(&tensors[tensor]); i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        integers[tensor][i] = (int64_t)(state >> 60) - 8;
        reals[tensor][i] = (double)integers[tensor][i];
    }
}

static void evaluate(uint32_t direction, enum kiln_scalar scalar)
{
    struct kiln_arena arena;
    struct kiln_error error;
    kiln_arena_init(&arena);
    kiln_error_init(&error);
    node.kind = directions[direction].kind;
    node.inputs[0] = directions[direction].left;
    node.inputs[1] = directions[direction].right;
    node.outputs[0] = directions[direction].output;
    cr_assert_eq(kiln_convolution_evaluate(&graph, &node, scalar, contents, &arena, &error),
                 KILN_OK);
    kiln_arena_fini(&arena);
}

static void expect_data(uint32_t tensor, const double *expected, int64_t count, const char *what)
{
    cr_assert_eq(count, kiln_tensor_elements(&tensors[tensor]), "%s", what);
    for (int64_t i = 0; i < count; i++)
        cr_expect_eq(reals[tensor][i], expected[i], "%s: element %" PRId64 " is %g", what, i,
                     reals[tensor][i]);
}

#define DATA(...) (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / 8

/* ---- by hand ---- */

static const struct shape line = {
    .batch = 1,
    .groups = 1,
    .group_channels = 1,
    .group_filters = 1,
    .spatial_count = 1,
    .image = {5},
    .window = {3},
};

Test(convolution_reference, forward_along_a_line)
{
    struct shape shape = line;
    set_shape(&shape);
    set_data(IMAGE, DATA(1, 2, 3, 4, 5));
    set_data(FILTER, DATA(1, 10, 100));
    evaluate(0, KILN_SCALAR_F32);
    expect_data(RESULT, DATA(321, 432, 543), "plain");
    node.convolution.is_flipped = true;
    evaluate(0, KILN_SCALAR_F32);
    expect_data(RESULT, DATA(123, 234, 345), "flipped");
    shape.pre_padding[0] = 2;
    shape.post_padding[0] = 1;
    set_shape(&shape);
    evaluate(0, KILN_SCALAR_F32);
    expect_data(RESULT, DATA(100, 210, 321, 432, 543, 54), "padded");
    shape.stride[0] = 3;
    set_shape(&shape);
    evaluate(0, KILN_SCALAR_F32);
    expect_data(RESULT, DATA(100, 432), "strided");
    shape.stride[0] = 1;
    shape.dilation[0] = 2;
    set_shape(&shape);
    evaluate(0, KILN_SCALAR_F32);
    expect_data(RESULT, DATA(310, 420, 531, 42), "dilated");
}

Test(convolution_reference, gradients_along_a_line)
{
    struct shape shape = line;
    set_shape(&shape);
    set_data(RESULT, DATA(1, 2, 3));
    set_data(FILTER, DATA(1, 10, 100));
    evaluate(1, KILN_SCALAR_F32);
    expect_data(IMAGE, DATA(1, 12, 123, 230, 300), "plain");
    node.convolution.is_flipped = true;
    evaluate(1, KILN_SCALAR_F32);
    expect_data(IMAGE, DATA(100, 210, 321, 32, 3), "flipped");
    set_data(IMAGE, DATA(1, 2, 3, 4, 5));
    set_data(RESULT, DATA(1, 10, 100));
    evaluate(2, KILN_SCALAR_F32);
    expect_data(FILTER, DATA(543, 432, 321), "of the weights, flipped");
    node.convolution.is_flipped = false;
    evaluate(2, KILN_SCALAR_F32);
    expect_data(FILTER, DATA(321, 432, 543), "of the weights");
    shape.stride[0] = 2; /* the middle element meets the window's ends alone */
    set_shape(&shape);
    set_data(RESULT, DATA(1, 2));
    set_data(FILTER, DATA(1, 10, 100));
    evaluate(1, KILN_SCALAR_F32);
    expect_data(IMAGE, DATA(1, 10, 102, 20, 200), "strided");
}

/* Two groups of one channel and two filters each. */
Test(convolution_reference, groups)
{
    struct shape shape = line;
    shape.groups = 2;
    shape.group_filters = 2;
    shape.image[0] = 2;
    shape.window[0] = 1;
    set_shape(&shape);
    set_data(IMAGE, DATA(1, 2, 3, 4));
    set_data(FILTER, DATA(1, 10, 100, 1000));
    evaluate(0, KILN_SCALAR_F32);
    expect_data(RESULT, DATA(1, 2, 10, 20, 300, 400, 3000, 4000), "forward");
    set_data(RESULT, DATA(1, 2, 3, 4, 5, 6, 7, 8));
    evaluate(1, KILN_SCALAR_F32);
    expect_data(IMAGE, DATA(31, 42, 7500, 8600), "data gradient");
    set_data(IMAGE, DATA(1, 10, 100, 1000));
    evaluate(2, KILN_SCALAR_F32);
    expect_data(FILTER, DATA(21, 43, 6500, 8700), "weight gradient");
}

/* ---- the definition ---- */

static const struct shape shapes[] = {
    {2, 1, 3, 4, 1, {7}, {3}, {1}, {2}, {2}, {1}, false},
    {1, 3, 2, 1, 1, {9}, {2}, {0}, {3}, {1}, {4}, true},
    {2, 2, 2, 3, 2, {5, 4}, {3, 2}, {1, 0}, {0, 2}, {2, 1}, {1, 2}, false},
    {1, 4, 1, 2, 2, {4, 6}, {2, 3}, {2, 1}, {1, 1}, {3, 2}, {2, 1}, true},
    {2, 1, 2, 2, 3, {3, 4, 3}, {2, 1, 3}, {1, 0, 1}, {0, 1, 1}, {1, 2, 1}, {2, 1, 1}, false},
    {1, 2, 1, 1, 3, {2, 3, 4}, {2, 2, 2}, {0, 1, 3}, {1, 1, 0}, {1, 1, 2}, {1, 2, 1}, true},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

/* The dims of a tensor with three spatial axes, missing ones of size 1. */
static void spatial_dims(uint32_t tensor, int64_t dims[3])
{
    for (uint32_t i = 0; i < 3; i++)
        dims[i] = i + 2 < tensors[tensor].rank ? tensors[tensor].dims[i + 2] : 1;
}

/* x[n, c, o * stride + r * dilation - pre], 0 outside. */
static double image_at(int64_t n, int64_t c, const int64_t *o, const int64_t *r)
{
    int64_t dims[3];
    spatial_dims(IMAGE, dims);
    int64_t offset = n * tensors[IMAGE].dims[1] + c;
    for (uint32_t i = 0; i < 3; i++) {
        const struct kiln_convolution *a = &node.convolution;
        int64_t at = i < a->spatial_count
                         ? o[i] * a->stride[i] + r[i] * a->dilation[i] - a->pre_padding[i]
                         : 0;
        if (at < 0 || at >= dims[i])
            return 0;
        offset = offset * dims[i] + at;
    }
    return reals[IMAGE][offset];
}

/* One element of the forward result from the formula in graph.h, index by index. */
static double defined(int64_t n, int64_t k, const int64_t *o)
{
    int64_t window[3], r[3];
    spatial_dims(FILTER, window);
    int64_t group_channels = tensors[FILTER].dims[1];
    int64_t group = k / (tensors[FILTER].dims[0] / node.convolution.groups);
    double sum = 0;
    for (int64_t c = 0; c < group_channels; c++) {
        for (r[0] = 0; r[0] < window[0]; r[0]++) {
            for (r[1] = 0; r[1] < window[1]; r[1]++) {
                for (r[2] = 0; r[2] < window[2]; r[2]++) {
                    int64_t w = k * group_channels + c;
                    for (int i = 0; i < 3; i++)
                        w = w * window[i] +
                            (node.convolution.is_flipped ? window[i] - 1 - r[i] : r[i]);
                    sum += reals[FILTER][w] * image_at(n, group * group_channels + c, o, r);
                }
            }
        }
    }
    return sum;
}

Test(convolution_reference, forward_is_the_definition)
{
    for (uint32_t i = 0; i < SHAPES; i++) {
        set_shape(&shapes[i]);
        set_random(IMAGE, i);
        set_random(FILTER, i + 100);
        evaluate(0, KILN_SCALAR_F64);
        int64_t dims[3], o[3], element = 0;
        spatial_dims(RESULT, dims);
        for (int64_t n = 0; n < tensors[RESULT].dims[0]; n++) {
            for (int64_t k = 0; k < tensors[RESULT].dims[1]; k++) {
                for (o[0] = 0; o[0] < dims[0]; o[0]++) {
                    for (o[1] = 0; o[1] < dims[1]; o[1]++) {
                        for (o[2] = 0; o[2] < dims[2]; o[2]++, element++)
                            cr_assert_eq(reals[RESULT][element], defined(n, k, o),
                                         "shape %u, element %" PRId64, i, element);
                    }
                }
            }
        }
        cr_assert_eq(element, kiln_tensor_elements(&tensors[RESULT]));
    }
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static void copy(double *to, uint32_t tensor)
{
    for (int64_t i = 0; i < kiln_tensor_elements(&tensors[tensor]); i++)
        to[i] = reals[tensor][i];
}

/* By how much <dy, conv> changes when one element of an input grows by 1 is that element of the
 * gradient: the convolution is linear in each of its inputs. */
static void expect_differences(uint32_t direction, uint32_t input, const double *dy, uint32_t shape)
{
    static double gradient[ELEMENTS];
    int64_t results = kiln_tensor_elements(&tensors[RESULT]);
    int64_t count = kiln_tensor_elements(&tensors[input]);
    static double original[ELEMENTS];
    copy(original, input);
    for (int64_t i = 0; i < results; i++)
        reals[RESULT][i] = dy[i];
    evaluate(direction, KILN_SCALAR_F64);
    copy(gradient, input);
    for (int64_t i = 0; i < count; i++)
        reals[input][i] = original[i];
    evaluate(0, KILN_SCALAR_F64);
    double start = dot(dy, reals[RESULT], results);
    cr_assert_eq(start, dot(gradient, original, count), "shape %u, direction %u", shape, direction);
    for (int64_t i = 0; i < count; i++) {
        reals[input][i] = original[i] + 1;
        evaluate(0, KILN_SCALAR_F64);
        cr_assert_eq(dot(dy, reals[RESULT], results) - start, gradient[i],
                     "shape %u, direction %u, element %" PRId64, shape, direction, i);
        reals[input][i] = original[i];
    }
}

Test(convolution_reference, gradients_are_differences)
{
    static double dy[ELEMENTS];
    for (uint32_t i = 0; i < SHAPES; i++) {
        set_shape(&shapes[i]);
        set_random(IMAGE, i);
        set_random(FILTER, i + 100);
        set_random(RESULT, i + 200);
        copy(dy, RESULT);
        expect_differences(1, IMAGE, dy, i);
        expect_differences(2, FILTER, dy, i);
    }
}

/* ---- bounds ---- */

/* Each term rounded to float, then added in order or against it. */
static float float_sum(const double *terms, int64_t count, bool is_backwards)
{
    float sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (float)terms[is_backwards ? count - 1 - i : i];
    return sum;
}

Test(convolution_reference, bounds_hold_float_sums_and_are_close)
{
    enum { CHANNELS = 400 };
    struct shape shape = line;
    shape.group_channels = CHANNELS;
    shape.image[0] = shape.window[0] = 5;
    set_shape(&shape);
    static double terms[CHANNELS * 5];
    double magnitude = 0;
    for (int64_t i = 0; i < CHANNELS * 5; i++) {
        reals[IMAGE][i] = (double)(float)sin((double)i);
        reals[FILTER][i] = (double)(float)cos(3.0 * (double)i);
        terms[i] = reals[IMAGE][i] * reals[FILTER][i];
        magnitude += fabs(terms[i]);
    }
    evaluate(0, KILN_SCALAR_F32);
    cr_expect_leq(fabs((double)float_sum(terms, CHANNELS * 5, false) - reals[RESULT][0]),
                  bounds[RESULT][0]);
    cr_expect_leq(fabs((double)float_sum(terms, CHANNELS * 5, true) - reals[RESULT][0]),
                  bounds[RESULT][0]);
    cr_expect_lt(bounds[RESULT][0], magnitude * (double)(CHANNELS * 5) * 0x1p-23);
}

Test(convolution_reference, bounds_grow_where_an_inexact_element_is_read)
{
    struct shape shape = line;
    set_shape(&shape);
    set_data(IMAGE, DATA(1, 2, 3, 4, 5));
    set_data(FILTER, DATA(1, 10, 100));
    bounds[IMAGE][0] = 0.5;
    evaluate(0, KILN_SCALAR_F32);
    cr_expect_geq(bounds[RESULT][0], 0.5);
    cr_expect_lt(bounds[RESULT][1], 0.01);
    bounds[FILTER][1] = 0.5;
    evaluate(0, KILN_SCALAR_F32);
    cr_expect_geq(bounds[RESULT][2], 2);
}

static void set_types(enum kiln_dtype image, enum kiln_dtype filter, enum kiln_dtype result)
{
    tensors[IMAGE].dtype = image;
    tensors[FILTER].dtype = filter;
    tensors[RESULT].dtype = result;
}

Test(convolution_reference, integers_are_exact_and_wrap)
{
    struct shape shape = line;
    shape.pre_padding[0] = 1;
    set_shape(&shape);
    set_types(KILN_DTYPE_I8, KILN_DTYPE_U8, KILN_DTYPE_I32);
    set_data(IMAGE, DATA(-1, 2, 3, 4, 5));
    set_data(FILTER, DATA(1, 10, 100));
    evaluate(0, KILN_SCALAR_I32);
    static const int64_t expected[] = {190, 319, 432, 543};
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(integers[RESULT][i], expected[i]);
        cr_expect_eq(bounds[RESULT][i], 0);
    }
    integers[IMAGE][4] = INT32_MAX;
    evaluate(0, KILN_SCALAR_I32);
    cr_expect_eq(integers[RESULT][3], 43 - 100);
    bounds[FILTER][0] = 1;
    evaluate(0, KILN_SCALAR_I32);
    cr_expect_eq(bounds[RESULT][0], 0, "the first tap meets padding alone");
    cr_expect(isinf(bounds[RESULT][1]), "of inexact integers nothing is known");
}

Test(convolution_reference, padding_contributes_nothing_also_to_infinity)
{
    struct shape shape = line;
    shape.pre_padding[0] = 1;
    set_shape(&shape);
    set_data(IMAGE, DATA(1, 2, 3, 4, 5));
    set_data(FILTER, DATA(INFINITY, 10, 100));
    evaluate(0, KILN_SCALAR_F32);
    cr_expect_eq(reals[RESULT][0], 10 + 2 * 100);
    cr_expect_lt(bounds[RESULT][0], 1);
    cr_expect(reals[RESULT][1] == INFINITY && bounds[RESULT][1] == 0);
    set_data(FILTER, DATA(1, 10, 100));
    reals[IMAGE][4] = NAN;
    evaluate(0, KILN_SCALAR_F32);
    cr_expect_lt(bounds[RESULT][0], 1);
    cr_expect(isnan(reals[RESULT][3]) && !isnan(reals[RESULT][2]));
}

/* A result of padding alone. */
Test(convolution_reference, empty_sums_are_zero)
{
    struct shape shape = line;
    shape.pre_padding[0] = 3;
    set_shape(&shape);
    set_data(IMAGE, DATA(1, 2, 3, 4, 5));
    set_data(FILTER, DATA(1, 10, 100));
    for (int i = 0; i < 6; i++)
        reals[RESULT][i] = NAN;
    evaluate(0, KILN_SCALAR_F32);
    cr_expect(reals[RESULT][0] == 0 && bounds[RESULT][0] < 1e-30, "%g", bounds[RESULT][0]);
    cr_expect_eq(reals[RESULT][1], 100);
}
