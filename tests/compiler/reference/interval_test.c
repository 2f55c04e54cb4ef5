#include "compiler/reference/interval.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

static const struct kiln_interval infinite = {INFINITY, INFINITY, INFINITY};

static const struct kiln_arithmetic *f32(void)
{
    return kiln_arithmetic_of(KILN_SCALAR_F32);
}

static struct kiln_interval between(double low, double value, double high)
{
    return (struct kiln_interval){value, low, high};
}

static bool is_unknown(struct kiln_interval a)
{
    return kiln_interval_is_unknown(&a);
}

Test(interval, operations_contain_all_combinations)
{
    struct kiln_interval a = between(-1, 2, 3), b = between(-5, -4, -2);
    struct kiln_interval product = kiln_interval_mul(a, b, f32());
    cr_assert(product.value == -8 && product.low <= -15 && product.high >= 5);
    cr_assert(product.low > -15.001 && product.high < 5.001);
    struct kiln_interval difference = kiln_interval_sub(a, b, f32());
    cr_assert(difference.value == 6 && difference.low <= 1 && difference.high >= 8);
    struct kiln_interval square = kiln_interval_square(a, f32());
    cr_assert(square.low == 0 && square.high >= 9 && square.value == 4);
    struct kiln_interval magnitude = kiln_interval_abs(b);
    cr_assert(magnitude.low == 2 && magnitude.high == 5 && magnitude.value == 4);
    struct kiln_interval root = kiln_interval_rsqrt(between(1, 4, 16), f32());
    cr_assert(root.low <= 0.25 && root.high >= 1 && root.value == 0.5);
}

/* Every result has room for the rounding of the computing type. */
Test(interval, float_operations_are_inside)
{
    for (int i = 1; i < 2000; i++) {
        float x = (float)i * 0.37F, y = 1 / (float)i;
        struct kiln_interval a = between((double)x, (double)x, (double)x);
        struct kiln_interval b = between((double)y, (double)y, (double)y);
        struct kiln_interval sum = kiln_interval_add(a, b, f32());
        struct kiln_interval product = kiln_interval_mul(a, b, f32());
        struct kiln_interval root = kiln_interval_rsqrt(a, f32());
        double got = (double)(x + y);
        cr_assert(got >= sum.low && got <= sum.high);
        got = (double)(x * y);
        cr_assert(got >= product.low && got <= product.high);
        got = (double)(1 / sqrtf(x));
        cr_assert(got >= root.low && got <= root.high);
        cr_assert_lt(root.high - root.low, 2e-6 * root.value);
    }
}

Test(interval, infinities_and_nan_stay_certain_where_they_are)
{
    struct kiln_interval nan = between(NAN, NAN, NAN);
    struct kiln_interval unknown = kiln_interval_unknown(3), zero = between(0, 0, 0);
    cr_assert(isnan(kiln_interval_add(nan, unknown, f32()).low));
    cr_assert(is_unknown(kiln_interval_add(infinite, unknown, f32())));
    cr_assert(isnan(kiln_interval_sub(infinite, infinite, f32()).low));
    cr_assert(kiln_interval_mul(infinite, between(-3, -2, -1), f32()).high == -INFINITY);
    cr_assert(is_unknown(kiln_interval_mul(infinite, between(-1, 2, 3), f32())));
    cr_assert(isnan(kiln_interval_mul(infinite, zero, f32()).low));
    cr_assert(kiln_interval_rsqrt(infinite, f32()).high == 0);
}

Test(interval, poles_and_overflow_are_unknown)
{
    cr_assert(is_unknown(kiln_interval_rsqrt(between(0, 1e-9, 1e-8), f32())));
    cr_assert(isnan(kiln_interval_rsqrt(between(-2, -1.5, -1), f32()).low));
    struct kiln_interval large = between(1e20, 1e20, 1e20);
    cr_assert(is_unknown(kiln_interval_mul(large, large, f32())));
    cr_assert(!is_unknown(kiln_interval_mul(large, large, kiln_arithmetic_of(KILN_SCALAR_F64))));
    struct kiln_interval unknown = kiln_interval_unknown(7.4);
    struct kiln_bounded stored = kiln_interval_store(&unknown, KILN_DTYPE_I8);
    cr_assert(stored.integer == 7 && isinf(stored.bound));
}

/* A score of moderate size under the mask -FLT_MAX is a number; a larger one may overflow. */
Test(interval, sums_within_range_do_not_overflow)
{
    struct kiln_interval lowest = between(-FLT_MAX, -FLT_MAX, -FLT_MAX);
    struct kiln_interval large = between(-0x1p103, -0x1p103, -0x1p103);
    struct kiln_interval sum = kiln_interval_add(lowest, between(-2, -1, 3), f32());
    cr_expect_eq(sum.low, -FLT_MAX);
    cr_expect_eq(sum.value, -FLT_MAX);
    cr_expect_leq(sum.high, -FLT_MAX * (1 - 2e-7));
    cr_expect(is_unknown(kiln_interval_add(lowest, large, f32())));
}
