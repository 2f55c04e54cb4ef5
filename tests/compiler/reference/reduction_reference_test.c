#include "compiler/reference/reduction_reference.h"

#include "float_schedules.h"
#include "tests/support/random_numbers.h"

#include <criterion/criterion.h>
#include <math.h>

enum { MAX_COUNT = 5000, SHORT = 4 };

static struct kiln_bounded real(double value, double bound)
{
    return (struct kiln_bounded){.real = value, .bound = bound, .dtype = KILN_DTYPE_F32};
}

static struct kiln_bounded integer(int64_t value, double bound, enum kiln_dtype dtype)
{
    return (struct kiln_bounded){
        .real = (double)value, .integer = value, .bound = bound, .dtype = dtype};
}

/* Of four floats, exact. */
static struct kiln_bounded reduce_four(enum kiln_reduction_mode mode, double a, double b, double c,
                                       double d)
{
    struct kiln_bounded row[SHORT] = {real(a, 0), real(b, 0), real(c, 0), real(d, 0)};
    return kiln_bounded_reduce(mode, KILN_SCALAR_F32, row, SHORT, KILN_DTYPE_F32);
}

static struct kiln_bounded reduce_integers(enum kiln_reduction_mode mode, enum kiln_scalar scalar,
                                           int64_t a, int64_t b, int64_t c, enum kiln_dtype dtype)
{
    struct kiln_bounded row[3] = {integer(a, 0, dtype), integer(b, 0, dtype), integer(c, 0, dtype)};
    return kiln_bounded_reduce(mode, scalar, row, 3, dtype);
}

Test(reduction_reference, every_mode_has_its_value)
{
    static const struct {
        enum kiln_reduction_mode mode;
        double expected;
    } rows[] = {
        {KILN_REDUCTION_ADD, 3.5 - 2 + 0.25},
        {KILN_REDUCTION_MUL, 0},
        {KILN_REDUCTION_MIN, -2},
        {KILN_REDUCTION_MAX, 3.5},
        {KILN_REDUCTION_AMAX, 3.5},
        {KILN_REDUCTION_AVG, 1.75 / 4},
        {KILN_REDUCTION_NORM1, 5.75},
        {KILN_REDUCTION_NORM2, 4.0388736053508778},
        {KILN_REDUCTION_MUL_NO_ZEROS, -1.75},
    };
    bool seen[KILN_REDUCTION_MODE_COUNT] = {false};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_bounded result = reduce_four(rows[i].mode, 3.5, -2, 0, 0.25);
        cr_expect_float_eq(result.real, rows[i].expected, 5e-7, "mode %d: %.9g", rows[i].mode,
                           result.real);
        cr_expect_lt(result.bound, 5e-6, "mode %d", rows[i].mode);
        seen[rows[i].mode] = true;
    }
    for (int mode = 1; mode < KILN_REDUCTION_MODE_COUNT; mode++)
        cr_expect(seen[mode], "mode %d", mode);
    cr_assert_eq(reduce_four(KILN_REDUCTION_MUL_NO_ZEROS, 0, -0.0, 0, 0).real, 1);
    cr_assert_eq(reduce_four(KILN_REDUCTION_AMAX, -7, 2, 0, 1).real, 7);
    cr_assert_eq(reduce_four(KILN_REDUCTION_MUL, 1.5, 2, -1, 0.5).real, -1.5);
}

Test(reduction_reference, extremes_are_exact_and_nan_wins)
{
    cr_assert_eq(reduce_four(KILN_REDUCTION_MIN, 3, -2, 8, 4).bound, 0);
    cr_assert_eq(reduce_four(KILN_REDUCTION_MAX, -INFINITY, INFINITY, 8, 4).real, INFINITY);
    cr_assert_eq(reduce_four(KILN_REDUCTION_MAX, -INFINITY, INFINITY, 8, 4).bound, 0);
    for (int mode = KILN_REDUCTION_MIN; mode <= KILN_REDUCTION_AMAX; mode++) {
        struct kiln_bounded nan = reduce_four((enum kiln_reduction_mode)mode, 1, 2, NAN, INFINITY);
        cr_assert(isnan(nan.real) && nan.bound == 0);
    }
    cr_assert_gt(reduce_four(KILN_REDUCTION_MAX, -1, 0, -0.0, -2).bound, 0, "which zero is open");
    cr_assert_gt(reduce_four(KILN_REDUCTION_MIN, 1, 0, -0.0, 2).bound, 0);
    cr_assert_eq(reduce_four(KILN_REDUCTION_MIN, 1, 0, 0, 2).bound, 0);
    struct kiln_bounded row[3] = {real(1, 0.5), real(1.2, 0), real(-3, 9)};
    struct kiln_bounded max =
        kiln_bounded_reduce(KILN_REDUCTION_MAX, KILN_SCALAR_F32, row, 3, KILN_DTYPE_F32);
    cr_assert_float_eq(max.bound, 4.8, 1e-6); /* up to 6 */
    row[2].bound = INFINITY;
    cr_assert(isinf(
        kiln_bounded_reduce(KILN_REDUCTION_MAX, KILN_SCALAR_F32, row, 3, KILN_DTYPE_F32).bound));
}

Test(reduction_reference, products_know_their_range)
{
    struct kiln_bounded product = reduce_four(KILN_REDUCTION_MUL, 1.1, 1.3, -0.7, 0.9);
    float chain = 1.1F * 1.3F * -0.7F * 0.9F;
    cr_assert_float_eq((double)chain, 1.1 * 1.3 * -0.7 * 0.9, 1e-6);
    cr_assert_leq(fabs(product.real - 1.1 * 1.3 * -0.7 * 0.9), 1e-7);
    cr_assert(product.bound > 0 && product.bound < 1e-6);
    cr_assert(isinf(reduce_four(KILN_REDUCTION_MUL, 1e20, 1e20, 1e-20, 1).bound));
    cr_assert(isinf(reduce_four(KILN_REDUCTION_MUL, 1e-20, 1e-20, 1e20, 1).bound));
    cr_assert(isinf(reduce_four(KILN_REDUCTION_MUL, 0, 1e20, 1e20, 1).bound),
              "0*infinity, perhaps");
    struct kiln_bounded zero = reduce_four(KILN_REDUCTION_MUL, 0, 1e-30, 1e-30, 1);
    cr_assert(zero.real == 0 && zero.bound < 1e-300);
    cr_assert(isnan(reduce_four(KILN_REDUCTION_MUL, 0, INFINITY, 2, 1).real));
    struct kiln_bounded infinite = reduce_four(KILN_REDUCTION_MUL, -1, INFINITY, 2, 1);
    cr_assert(infinite.real == -INFINITY && infinite.bound == 0);
    cr_assert(isnan(reduce_four(KILN_REDUCTION_MUL_NO_ZEROS, 0, NAN, 2, 1).real));
    struct kiln_bounded row[2] = {real(0.1, 0.2), real(5, 0)};
    cr_assert(isinf(
        kiln_bounded_reduce(KILN_REDUCTION_MUL_NO_ZEROS, KILN_SCALAR_F32, row, 2, KILN_DTYPE_F32)
            .bound));
    row[0] = real(4, 0.5);
    struct kiln_bounded wide =
        kiln_bounded_reduce(KILN_REDUCTION_MUL, KILN_SCALAR_F32, row, 2, KILN_DTYPE_F32);
    cr_assert(wide.bound >= 2.5 && wide.bound < 3);
}

Test(reduction_reference, long_products_in_float_are_inside)
{
    static struct kiln_bounded row[MAX_COUNT];
    struct kiln_random random = {7};
    for (int64_t count = 1; count <= MAX_COUNT; count = count * 2 + 1) {
        float forward = 1, backward = 1;
        for (int64_t i = 0; i < count; i++)
            row[i] = real((double)(float)exp2(kiln_random_uniform(&random, -0.01, 0.01)), 0);
        for (int64_t i = 0; i < count; i++) {
            forward *= (float)row[i].real;
            backward *= (float)row[count - 1 - i].real;
        }
        struct kiln_bounded product =
            kiln_bounded_reduce(KILN_REDUCTION_MUL, KILN_SCALAR_F32, row, count, KILN_DTYPE_F32);
        cr_assert_leq(fabs((double)forward - product.real), product.bound);
        cr_assert_leq(fabs((double)backward - product.real), product.bound);
        cr_assert_leq(product.bound, 1e-3 * product.real);
    }
}

Test(reduction_reference, integers_are_exact_and_wrap)
{
    struct kiln_bounded sum =
        reduce_integers(KILN_REDUCTION_ADD, KILN_SCALAR_I32, INT32_MAX, 1, 5, KILN_DTYPE_I32);
    cr_assert(sum.integer == (int64_t)INT32_MIN + 5 && sum.bound == 0);
    cr_assert_eq(
        reduce_integers(KILN_REDUCTION_ADD, KILN_SCALAR_I64, INT64_MAX, 1, 0, KILN_DTYPE_I64)
            .integer,
        INT64_MIN);
    cr_assert_eq(
        reduce_integers(KILN_REDUCTION_ADD, KILN_SCALAR_I32, 100, 100, 1, KILN_DTYPE_I8).integer,
        127, "the sum is exact, the result saturates");
    cr_assert_eq(
        reduce_integers(KILN_REDUCTION_MUL, KILN_SCALAR_I32, 65536, 65537, 1, KILN_DTYPE_I32)
            .integer,
        65536);
    cr_assert_eq(
        reduce_integers(KILN_REDUCTION_MUL_NO_ZEROS, KILN_SCALAR_I32, 0, -3, 7, KILN_DTYPE_I32)
            .integer,
        -21);
    cr_assert_eq(
        reduce_integers(KILN_REDUCTION_NORM1, KILN_SCALAR_I32, -4, 3, -128, KILN_DTYPE_I32).integer,
        135);
    cr_assert_eq(
        reduce_integers(KILN_REDUCTION_AMAX, KILN_SCALAR_I32, -4, 3, -128, KILN_DTYPE_I32).integer,
        128);
    cr_assert_eq(
        reduce_integers(KILN_REDUCTION_MIN, KILN_SCALAR_I64, 4, INT64_MIN, 3, KILN_DTYPE_I64)
            .integer,
        INT64_MIN);
    cr_assert(
        isinf(reduce_integers(KILN_REDUCTION_AMAX, KILN_SCALAR_I32, INT32_MIN, 3, 1, KILN_DTYPE_I32)
                  .bound));
}

Test(reduction_reference, inexact_integers_keep_a_bound_while_nothing_wraps)
{
    struct kiln_bounded row[3] = {integer(5, 1, KILN_DTYPE_I32), integer(-7, 0, KILN_DTYPE_I32),
                                  integer(9, 2, KILN_DTYPE_I32)};
    struct kiln_bounded sum =
        kiln_bounded_reduce(KILN_REDUCTION_ADD, KILN_SCALAR_I32, row, 3, KILN_DTYPE_I32);
    cr_assert(sum.integer == 7 && sum.bound == 3);
    cr_assert_eq(
        kiln_bounded_reduce(KILN_REDUCTION_MAX, KILN_SCALAR_I32, row, 3, KILN_DTYPE_I32).bound, 2);
    cr_assert(isinf(
        kiln_bounded_reduce(KILN_REDUCTION_MUL, KILN_SCALAR_I32, row, 3, KILN_DTYPE_I32).bound));
    row[1].integer = INT32_MAX - 3;
    row[1].real = INT32_MAX - 3;
    cr_assert(isinf(
        kiln_bounded_reduce(KILN_REDUCTION_ADD, KILN_SCALAR_I32, row, 3, KILN_DTYPE_I32).bound));
}

/* Integers computed in float are rounded on the way in. */
Test(reduction_reference, integers_in_float)
{
    struct kiln_bounded row[2] = {integer(16777217, 0, KILN_DTYPE_I32),
                                  integer(-16777216, 0, KILN_DTYPE_I32)};
    struct kiln_bounded sum =
        kiln_bounded_reduce(KILN_REDUCTION_ADD, KILN_SCALAR_F32, row, 2, KILN_DTYPE_F32);
    cr_assert(sum.real == 1 && sum.bound >= 1 && sum.bound < 8);
    struct kiln_bounded mean =
        kiln_bounded_reduce(KILN_REDUCTION_AVG, KILN_SCALAR_F32, row, 2, KILN_DTYPE_I32);
    cr_assert(mean.bound >= 1 && mean.bound < 40);
}

/* A schedule that loses one element is outside, for rows up to a thousand. */
Test(reduction_reference, a_lost_element_is_outside)
{
    static struct kiln_bounded row[MAX_COUNT];
    static float x[MAX_COUNT];
    struct kiln_random random = {8};
    for (int64_t count = 2; count <= 1000; count = count * 3 / 2 + 1) {
        for (int64_t i = 0; i < count; i++) {
            x[i] = (float)kiln_random_uniform(&random, 0.5, 1.5);
            row[i] = real((double)x[i], 0);
        }
        struct kiln_bounded sum =
            kiln_bounded_reduce(KILN_REDUCTION_ADD, KILN_SCALAR_F32, row, count, KILN_DTYPE_F32);
        for (int schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
            double good = (double)float_sum((enum schedule)schedule, x, count);
            double bad = (double)float_sum((enum schedule)schedule, x, count - 1);
            cr_assert_leq(fabs(good - sum.real), sum.bound);
            cr_assert_gt(fabs(bad - sum.real), sum.bound, "%d elements", (int)count);
        }
    }
}

Test(reduction_reference, half_results_round_once)
{
    struct kiln_bounded row[2] = {real(1, 0), real(0x1p-11, 0)};
    row[0].dtype = row[1].dtype = KILN_DTYPE_F16;
    struct kiln_bounded sum =
        kiln_bounded_reduce(KILN_REDUCTION_ADD, KILN_SCALAR_F32, row, 2, KILN_DTYPE_F16);
    cr_assert_eq(sum.real, 1, "the tie goes to even");
    cr_assert_eq(sum.bound, 0x1p-10);
    row[1].real = 0x1p-12;
    sum = kiln_bounded_reduce(KILN_REDUCTION_ADD, KILN_SCALAR_F32, row, 2, KILN_DTYPE_F16);
    cr_assert_eq(sum.bound, 0);
}
