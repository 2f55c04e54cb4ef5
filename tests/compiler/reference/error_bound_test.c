#include "compiler/reference/error_bound.h"
#include "compiler/reference/pointwise_reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>

static struct kiln_bounded real(double value, double bound)
{
    return (struct kiln_bounded){.real = value, .bound = bound, .dtype = KILN_DTYPE_F32};
}

static struct kiln_bounded integer(int64_t value, double bound)
{
    return (struct kiln_bounded){
        .real = (double)value, .integer = value, .bound = bound, .dtype = KILN_DTYPE_I32};
}

static struct kiln_bounded evaluate(enum kiln_pointwise_mode mode, enum kiln_scalar scalar,
                                    struct kiln_bounded a, struct kiln_bounded b,
                                    enum kiln_dtype dtype)
{
    struct kiln_pointwise attributes = {.mode = mode,
                                        .relu_upper_clip = INFINITY,
                                        .swish_beta = 1,
                                        .elu_alpha = 1,
                                        .softplus_beta = 1};
    struct kiln_bounded operands[3] = {a, b, real(1, 0)};
    return kiln_bounded_evaluate(&attributes, scalar, operands, dtype);
}

static struct kiln_bounded unary(enum kiln_pointwise_mode mode, double value, double bound)
{
    return evaluate(mode, KILN_SCALAR_F32, real(value, bound), real(0, 0), KILN_DTYPE_F32);
}

static struct kiln_bounded binary(enum kiln_pointwise_mode mode, struct kiln_bounded a,
                                  struct kiln_bounded b)
{
    return evaluate(mode, KILN_SCALAR_F32, a, b, KILN_DTYPE_F32);
}

Test(error_bound, single_roundings_are_exact)
{
    struct kiln_bounded sum = binary(KILN_POINTWISE_ADD, real(1, 0), real(0x1p-30, 0));
    cr_assert_eq(sum.real, 1);
    cr_assert_eq(sum.bound, 0);
    struct kiln_bounded product = binary(KILN_POINTWISE_MUL, real(3, 0), real(0x1.2p-1, 0));
    cr_assert_eq(product.real, 3 * 0x1.2p-1);
    cr_assert_eq(product.bound, 0);
}

Test(error_bound, math_functions_get_a_few_ulp)
{
    struct kiln_bounded value = unary(KILN_POINTWISE_EXP, 1, 0);
    cr_assert_float_eq(value.real, 2.718281828459045, 0x1p-22);
    cr_assert_gt(value.bound, 0x1p-23 * 2);
    cr_assert_lt(value.bound, 0x1p-23 * 40);
}

Test(error_bound, perturbation_follows_the_derivative)
{
    struct kiln_bounded product = binary(KILN_POINTWISE_MUL, real(100, 0), real(1, 0.5));
    cr_assert_float_eq(product.bound, 50, 1e-4);
    struct kiln_bounded sine = unary(KILN_POINTWISE_SIN, 0, 100);
    cr_assert_geq(sine.bound, 1);
    cr_assert_lt(sine.bound, 1.001);
}

Test(error_bound, jumps_are_as_high_as_they_are)
{
    cr_assert_eq(unary(KILN_POINTWISE_FLOOR, 2.5, 0.25).bound, 0);
    cr_assert_eq(unary(KILN_POINTWISE_FLOOR, 3, 0.25).bound, 1);
    cr_assert_eq(binary(KILN_POINTWISE_CMP_LT, real(1, 0), real(2, 0.5)).bound, 0);
    cr_assert_eq(binary(KILN_POINTWISE_CMP_LT, real(1, 0), real(1.2, 0.5)).bound, 1);
    /* Neither the centres nor the ends are equal, but values inside are. */
    cr_assert_eq(binary(KILN_POINTWISE_CMP_EQ, real(1, 0.5), real(1.1, 0.7)).bound, 1);
    cr_assert_eq(binary(KILN_POINTWISE_CMP_EQ, real(1, 0), real(1.5, 0)).bound, 0);
    /* Zero lies inside the interval and is none of its ends. */
    cr_assert_eq(binary(KILN_POINTWISE_LOGICAL_AND, real(1, 2), real(1, 0)).bound, 1);
}

/* Where a mode has an extreme inside the operand's interval, its ends do not show it. */
Test(error_bound, no_point_of_the_interval_is_outside)
{
    static const struct {
        double value, bound;
    } intervals[] = {{2.74, 1.71},  {-2.5, 1},    {1.5, 0.5}, {-1.5, 0.5}, {-0.8, 0.3},
                     {-1.1, 0.75},  {0, 3},       {0.1, 20},  {-5, 4.5},   {5, 4.5},
                     {-0.76, 0.01}, {1.42, 0.02}, {3, 0.25},  {2, 1.999}};
    static const int steps = 500;
    for (uint32_t mode = 1; mode < KILN_POINTWISE_MODE_COUNT; mode++) {
        struct kiln_pointwise attributes = {.mode = (enum kiln_pointwise_mode)mode,
                                            .has_relu_parameter = true,
                                            .relu_lower_clip = -1.25,
                                            .relu_upper_clip = 1.75,
                                            .relu_lower_clip_slope = -0.5,
                                            .swish_beta = 1.7,
                                            .elu_alpha = 0.75,
                                            .softplus_beta = 2};
        const struct kiln_mode_reference *reference =
            kiln_mode_reference((enum kiln_pointwise_mode)mode);
        for (size_t i = 0; reference->real != NULL && i < sizeof intervals / sizeof *intervals;
             i++) {
            struct kiln_bounded operands[3] = {real(intervals[i].value, intervals[i].bound),
                                               real(-1.5, 0), real(1, 0)};
            struct kiln_bounded result =
                kiln_bounded_evaluate(&attributes, KILN_SCALAR_F64, operands, KILN_DTYPE_F64);
            for (int step = -steps; step <= steps && !isinf(result.bound); step++) {
                double x[3] = {intervals[i].value + intervals[i].bound * step / steps, -1.5, 1};
                double error = fabs(reference->real(x, &attributes) - result.real);
                bool both_nan = isnan(reference->real(x, &attributes)) && isnan(result.real);
                cr_assert(both_nan || error <= result.bound,
                          "%s of %g +- %g: at %.9g off by %g, bound %g",
                          kiln_pointwise_mode_info((enum kiln_pointwise_mode)mode)->name,
                          intervals[i].value, intervals[i].bound, x[0], error, result.bound);
            }
        }
    }
}

Test(error_bound, infinities_have_bounds_where_the_result_is_defined)
{
    struct kiln_bounded sigmoid = unary(KILN_POINTWISE_SIGMOID_FWD, INFINITY, 0);
    cr_expect_eq(sigmoid.real, 1);
    cr_expect_lt(sigmoid.bound, 1e-6);
    struct kiln_pointwise elu = {.mode = KILN_POINTWISE_ELU_BWD, .elu_alpha = 0};
    struct kiln_bounded operands[3] = {real(INFINITY, 0), real(-1, 0), real(1, 0)};
    struct kiln_bounded gradient =
        kiln_bounded_evaluate(&elu, KILN_SCALAR_F32, operands, KILN_DTYPE_F32);
    cr_expect_eq(gradient.real, 0, "the gradient is dropped");
    cr_expect_lt(gradient.bound, 1e-6);
}

Test(error_bound, poles_and_overflow_are_unchecked)
{
    cr_assert(isinf(binary(KILN_POINTWISE_DIV, real(1, 0), real(0.1, 0.2)).bound));
    cr_assert_lt(binary(KILN_POINTWISE_DIV, real(1, 0), real(0.1, 0.01)).bound, 2);
    cr_assert(isinf(unary(KILN_POINTWISE_LOG, 1e-3, 1e-3).bound));
    cr_assert(isinf(unary(KILN_POINTWISE_TAN, 1.57, 0.01).bound));
    cr_assert_lt(unary(KILN_POINTWISE_TAN, 1, 0.01).bound, 0.05);
    cr_assert(isinf(unary(KILN_POINTWISE_EXP, 88.722, 0.01).bound));
    cr_assert(isinf(unary(KILN_POINTWISE_SQRT, 1, 2).bound)); /* NaN or not */
    struct kiln_bounded spoiled =
        binary(KILN_POINTWISE_ADD_SQUARE, real(-3e38, 0), real(1.9e19, 0));
    cr_assert(isinf(spoiled.bound), "the square overflows in float, the sum would not");
}

Test(error_bound, certain_infinities_and_nan_are_checked)
{
    struct kiln_bounded pole = binary(KILN_POINTWISE_DIV, real(-1, 0), real(0, 0));
    cr_assert(isinf(pole.real) && pole.real < 0);
    cr_assert_eq(pole.bound, 0);
    struct kiln_bounded overflow = unary(KILN_POINTWISE_EXP, 100, 1);
    cr_assert(isinf(overflow.real));
    cr_assert_eq(overflow.bound, 0);
    struct kiln_bounded invalid = unary(KILN_POINTWISE_SQRT, -4, 1);
    cr_assert(isnan(invalid.real));
    cr_assert_eq(invalid.bound, 0);
}

Test(error_bound, rounding_to_storage_snaps_the_bound)
{
    struct kiln_bounded inside = evaluate(KILN_POINTWISE_IDENTITY, KILN_SCALAR_F32,
                                          real(1 + 0x1p-13, 0x1p-20), real(0, 0), KILN_DTYPE_F16);
    cr_assert_eq(inside.real, 1);
    cr_assert_eq(inside.bound, 0, "the whole interval rounds to 1");
    struct kiln_bounded tie = evaluate(KILN_POINTWISE_IDENTITY, KILN_SCALAR_F32,
                                       real(1 + 0x1p-11, 0x1p-20), real(0, 0), KILN_DTYPE_F16);
    cr_assert_eq(tie.bound, 0x1p-10, "one unit of half");
    struct kiln_bounded saturated = evaluate(KILN_POINTWISE_IDENTITY, KILN_SCALAR_F32,
                                             real(1e6, 1e5), real(0, 0), KILN_DTYPE_F8E4M3);
    cr_assert_eq(saturated.real, 448);
    cr_assert_eq(saturated.bound, 0);
    struct kiln_bounded truth =
        evaluate(KILN_POINTWISE_IDENTITY, KILN_SCALAR_F32, real(1, 2), real(0, 0), KILN_DTYPE_BOOL);
    cr_assert_eq(truth.bound, 1);
}

Test(error_bound, integers_are_exact)
{
    struct kiln_bounded sum = evaluate(KILN_POINTWISE_ADD, KILN_SCALAR_I32, integer(INT32_MAX, 0),
                                       integer(1, 0), KILN_DTYPE_I32);
    cr_assert_eq(sum.integer, INT32_MIN);
    cr_assert_eq(sum.bound, 0);
    struct kiln_bounded product =
        evaluate(KILN_POINTWISE_MUL, KILN_SCALAR_I64, integer(INT64_C(3037000499), 0),
                 integer(INT64_C(3037000499), 0), KILN_DTYPE_I64);
    cr_assert_eq(product.integer, INT64_C(3037000499) * INT64_C(3037000499));
    struct kiln_bounded clamped = evaluate(KILN_POINTWISE_ADD, KILN_SCALAR_I32, integer(200, 0),
                                           integer(100, 0), KILN_DTYPE_U8);
    cr_assert_eq(clamped.integer, 255);
    struct kiln_bounded uncertain = evaluate(KILN_POINTWISE_MUL, KILN_SCALAR_I32, integer(10, 1),
                                             integer(5, 0), KILN_DTYPE_I32);
    cr_assert_eq(uncertain.bound, 5);
}

Test(error_bound, a_decided_select_ignores_the_other_operand)
{
    struct kiln_pointwise attributes = {.mode = KILN_POINTWISE_BINARY_SELECT};
    struct kiln_bounded operands[3] = {real(2, 0), real(NAN, INFINITY), real(1, 0)};
    struct kiln_bounded value =
        kiln_bounded_evaluate(&attributes, KILN_SCALAR_F32, operands, KILN_DTYPE_F32);
    cr_assert_eq(value.real, 2);
    cr_assert_eq(value.bound, 0);
    operands[2] = real(1, 3);
    value = kiln_bounded_evaluate(&attributes, KILN_SCALAR_F32, operands, KILN_DTYPE_F32);
    cr_assert(isinf(value.bound));
}

Test(error_bound, a_zero_of_unknown_sign_is_no_safe_divisor)
{
    /* -1e-9 +- 2e-9 rounds to 0 or -0 in half; one over it is either infinity. */
    struct kiln_bounded zero = evaluate(KILN_POINTWISE_IDENTITY, KILN_SCALAR_F32, real(-1e-9, 2e-9),
                                        real(0, 0), KILN_DTYPE_F16);
    cr_assert_eq(zero.real, 0);
    cr_assert_gt(zero.bound, 0);
    cr_assert(
        isinf(evaluate(KILN_POINTWISE_RECIPROCAL, KILN_SCALAR_F32, zero, real(0, 0), KILN_DTYPE_F32)
                  .bound));
}
