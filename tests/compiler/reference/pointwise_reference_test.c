#include "compiler/reference/pointwise_reference.h"

#include <criterion/criterion.h>
#include <math.h>

static struct kiln_pointwise defaults(enum kiln_pointwise_mode mode)
{
    return (struct kiln_pointwise){.mode = mode,
                                   .relu_upper_clip = INFINITY,
                                   .swish_beta = 1,
                                   .elu_alpha = 1,
                                   .softplus_beta = 1};
}

static double call(const struct kiln_pointwise *attributes, double a, double b, double c)
{
    double x[3] = {a, b, c};
    return kiln_mode_reference(attributes->mode)->real(x, attributes);
}

/* Values computed by hand or with 30 digits (mpmath). */
Test(pointwise_reference, every_mode_has_its_value)
{
    static const struct {
        enum kiln_pointwise_mode mode;
        double a, b, c, expected;
    } rows[] = {
        {KILN_POINTWISE_ABS, -2.5, 0, 0, 2.5},
        {KILN_POINTWISE_ADD, 1.5, 2, 0, 3.5},
        {KILN_POINTWISE_ADD_SQUARE, 1, -3, 0, 10},
        {KILN_POINTWISE_BINARY_SELECT, 1, 2, -0.5, 1},
        {KILN_POINTWISE_BINARY_SELECT, 1, 2, -0.0, 2},
        {KILN_POINTWISE_CEIL, -1.5, 0, 0, -1},
        {KILN_POINTWISE_CMP_EQ, 1, 1, 0, 1},
        {KILN_POINTWISE_CMP_GE, 1, 1, 0, 1},
        {KILN_POINTWISE_CMP_GT, 1, 1, 0, 0},
        {KILN_POINTWISE_CMP_LE, 2, 1, 0, 0},
        {KILN_POINTWISE_CMP_LT, 0, 1, 0, 1},
        {KILN_POINTWISE_CMP_NEQ, 1, 1, 0, 0},
        {KILN_POINTWISE_DIV, 1, -4, 0, -0.25},
        {KILN_POINTWISE_ELU_BWD, 2, -1, 0, 0.73575888234288464319},
        {KILN_POINTWISE_ELU_FWD, -1, 0, 0, -0.63212055882855767840},
        {KILN_POINTWISE_ERF, 0.5, 0, 0, 0.52049987781304653768},
        {KILN_POINTWISE_EXP, 1, 0, 0, 2.71828182845904523536},
        {KILN_POINTWISE_FLOOR, -1.5, 0, 0, -2},
        {KILN_POINTWISE_GELU_APPROX_TANH_BWD, 1, 1, 0, 1.08296408384578255514},
        {KILN_POINTWISE_GELU_APPROX_TANH_FWD, 1, 0, 0, 0.84119199060827670478},
        {KILN_POINTWISE_GELU_BWD, 2, 1, 0, 2.16663094117537},
        {KILN_POINTWISE_GELU_FWD, 1, 0, 0, 0.84134474606854294859},
        {KILN_POINTWISE_IDENTITY, -0.75, 0, 0, -0.75},
        {KILN_POINTWISE_LOG, 2, 0, 0, 0.69314718055994530942},
        {KILN_POINTWISE_LOGICAL_AND, 2, 0, 0, 0},
        {KILN_POINTWISE_LOGICAL_NOT, 0, 0, 0, 1},
        {KILN_POINTWISE_LOGICAL_OR, 0, 3, 0, 1},
        {KILN_POINTWISE_MAX_OP, 1, 2, 0, 2},
        {KILN_POINTWISE_MIN_OP, 1, 2, 0, 1},
        {KILN_POINTWISE_MUL, 3, -2, 0, -6},
        {KILN_POINTWISE_NEG, 3, 0, 0, -3},
        {KILN_POINTWISE_RECIPROCAL, 4, 0, 0, 0.25},
        {KILN_POINTWISE_RELU_BWD, 5, 1, 0, 5},
        {KILN_POINTWISE_RELU_BWD, 5, 0, 0, 0},
        {KILN_POINTWISE_RELU_FWD, -1, 0, 0, 0},
        {KILN_POINTWISE_RELU_FWD, 7, 0, 0, 7},
        {KILN_POINTWISE_RSQRT, 4, 0, 0, 0.5},
        {KILN_POINTWISE_SIGMOID_BWD, 1, 1, 0, 0.19661193324148185},
        {KILN_POINTWISE_SIGMOID_FWD, 1, 0, 0, 0.73105857863000487926},
        {KILN_POINTWISE_SIN, 1, 0, 0, 0.84147098480789650665},
        {KILN_POINTWISE_SOFTPLUS_BWD, 3, 1, 0, 2.19317573589001463777},
        {KILN_POINTWISE_SOFTPLUS_FWD, 1, 0, 0, 1.31326168751822283405},
        {KILN_POINTWISE_SQRT, 6.25, 0, 0, 2.5},
        {KILN_POINTWISE_SUB, 1, 3, 0, -2},
        {KILN_POINTWISE_SWISH_BWD, 1, 1, 0, 0.92767051187148673},
        {KILN_POINTWISE_SWISH_FWD, 2, 0, 0, 1.76159415595576488812},
        {KILN_POINTWISE_TAN, 1, 0, 0, 1.55740772465490223051},
        {KILN_POINTWISE_TANH_BWD, 1, 1, 0, 0.41997434161402606940},
        {KILN_POINTWISE_TANH_FWD, 1, 0, 0, 0.76159415595576488812},
    };
    bool seen[KILN_POINTWISE_MODE_COUNT] = {false};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_pointwise attributes = defaults(rows[i].mode);
        double value = call(&attributes, rows[i].a, rows[i].b, rows[i].c);
        cr_expect_float_eq(value, rows[i].expected, 2e-14 * fabs(rows[i].expected), "%s: %.17g",
                           kiln_pointwise_mode_info(rows[i].mode)->name, value);
        seen[rows[i].mode] = true;
    }
    for (int mode = 1; mode < KILN_POINTWISE_MODE_COUNT; mode++)
        cr_expect(seen[mode] || mode == KILN_POINTWISE_GEN_INDEX, "mode %d has no row", mode);
}

Test(pointwise_reference, parameters_count)
{
    struct kiln_pointwise relu = defaults(KILN_POINTWISE_RELU_FWD);
    relu.relu_lower_clip = -1;
    relu.relu_upper_clip = 6;
    relu.relu_lower_clip_slope = 0.5;
    cr_assert_eq(call(&relu, -3, 0, 0), -2); /* 0.5*(-3 + 1) - 1 */
    cr_assert_eq(call(&relu, -1, 0, 0), -1);
    cr_assert_eq(call(&relu, 9, 0, 0), 6);
    struct kiln_pointwise gradient = relu;
    gradient.mode = KILN_POINTWISE_RELU_BWD;
    gradient.has_relu_parameter = true;
    cr_assert_eq(call(&gradient, 2, -3, 0), 1);
    cr_assert_eq(call(&gradient, 2, -1, 0), 1); /* the lower clip itself is clipped */
    cr_assert_eq(call(&gradient, 2, 6, 0), 2);  /* the upper one is not */
    cr_assert_eq(call(&gradient, 2, 7, 0), 0);
    struct kiln_pointwise elu = defaults(KILN_POINTWISE_ELU_FWD);
    elu.elu_alpha = 3;
    cr_assert_float_eq(call(&elu, -1, 0, 0), 3 * expm1(-1), 1e-15);
    struct kiln_pointwise softplus = defaults(KILN_POINTWISE_SOFTPLUS_FWD);
    softplus.softplus_beta = 2;
    cr_assert_float_eq(call(&softplus, 1, 0, 0), log1p(exp(2)) / 2, 1e-15);
    struct kiln_pointwise swish = defaults(KILN_POINTWISE_SWISH_FWD);
    swish.swish_beta = 0.5;
    cr_assert_float_eq(call(&swish, 2, 0, 0), 2 / (1 + exp(-1)), 1e-15);
}

Test(pointwise_reference, special_values_follow_the_formulas)
{
    struct kiln_pointwise relu = defaults(KILN_POINTWISE_RELU_FWD);
    cr_assert_eq(call(&relu, -INFINITY, 0, 0), 0, "a slope of 0 makes no NaN of infinity");
    cr_assert(isnan(call(&relu, NAN, 0, 0)));
    relu.relu_lower_clip = -3;
    cr_assert_eq(call(&relu, -INFINITY, 0, 0), -3);
    relu.relu_lower_clip_slope = 0.5;
    cr_assert_eq(call(&relu, -INFINITY, 0, 0), -INFINITY);
    for (int has_parameter = 0; has_parameter < 2; has_parameter++) {
        struct kiln_pointwise gradient = defaults(KILN_POINTWISE_RELU_BWD);
        gradient.has_relu_parameter = has_parameter;
        cr_assert_eq(call(&gradient, INFINITY, -1, 0), 0);
        cr_assert_eq(call(&gradient, NAN, 0, 0), 0);
        cr_assert_eq(call(&gradient, INFINITY, 1, 0), INFINITY);
        cr_assert(isnan(call(&gradient, NAN, 1, 0)));
    }
    struct kiln_pointwise elu = defaults(KILN_POINTWISE_ELU_BWD);
    elu.elu_alpha = 0;
    cr_assert_eq(call(&elu, INFINITY, -1, 0), 0);
    struct kiln_pointwise swish = defaults(KILN_POINTWISE_SWISH_FWD);
    swish.swish_beta = 0;
    cr_assert_eq(call(&swish, INFINITY, 0, 0), INFINITY);
    struct kiln_pointwise max = defaults(KILN_POINTWISE_MAX_OP);
    cr_assert(isnan(call(&max, NAN, 1, 0)) && isnan(call(&max, 1, NAN, 0)));
    struct kiln_pointwise softplus = defaults(KILN_POINTWISE_SOFTPLUS_FWD);
    cr_assert_eq(call(&softplus, 1e4, 0, 0), 1e4);
    cr_assert_eq(call(&softplus, -INFINITY, 0, 0), 0);
    softplus.softplus_beta = 0;
    cr_assert(isnan(call(&softplus, NAN, 0, 0)), "a beta of 0 hides no NaN");
    struct kiln_pointwise sigmoid = defaults(KILN_POINTWISE_SIGMOID_FWD);
    cr_assert_eq(call(&sigmoid, -INFINITY, 0, 0), 0);
    cr_assert_gt(call(&sigmoid, -720, 0, 0), 0);
    struct kiln_pointwise gelu = defaults(KILN_POINTWISE_GELU_APPROX_TANH_BWD);
    cr_assert_eq(call(&gelu, 1, 1e160, 0), 1, "the cubic's overflow must not show");
}

Test(pointwise_reference, integers_wrap)
{
    int64_t x[3] = {INT64_MIN, 1, 0};
    cr_assert_eq(kiln_mode_reference(KILN_POINTWISE_ABS)->integer(x), INT64_MIN);
    cr_assert_eq(kiln_mode_reference(KILN_POINTWISE_SUB)->integer(x), INT64_MAX);
    cr_assert_eq(kiln_mode_reference(KILN_POINTWISE_NEG)->integer(x), INT64_MIN);
    cr_assert_eq(kiln_mode_reference(KILN_POINTWISE_MIN_OP)->integer(x), INT64_MIN);
    cr_assert_eq(kiln_mode_reference(KILN_POINTWISE_BINARY_SELECT)->integer(x), 1);
}

Test(pointwise_reference, integer_functions_match_the_table)
{
    for (int mode = 1; mode < KILN_POINTWISE_MODE_COUNT; mode++) {
        if (mode == KILN_POINTWISE_GEN_INDEX)
            continue;
        const struct kiln_mode_reference *row = kiln_mode_reference((enum kiln_pointwise_mode)mode);
        bool integer = kiln_pointwise_mode_info((enum kiln_pointwise_mode)mode)->integer;
        cr_expect_eq(row->integer != NULL, integer, "mode %d", mode);
        cr_expect_not_null(row->real);
    }
}
