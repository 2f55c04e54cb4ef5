#include "compiler/reference/sum_bound.h"
#include "float_schedules.h"
#include "tests/support/random_numbers.h"

#include <criterion/criterion.h>
#include <math.h>

enum { MAX_COUNT = 5000 };

static const int64_t counts[] = {1, 2, 3, 4, 7, 16, 63, 64, 65, 255, 1000, 1024, 4097, 5000};
static const double offsets[] = {0, 1, -30, 1e3, 1e6};

static const struct kiln_arithmetic *f32(void)
{
    return kiln_arithmetic_of(KILN_SCALAR_F32);
}

static struct kiln_interval number(double value)
{
    return (struct kiln_interval){value, value, value};
}

/* Rows of several characters: uniform, of one sign, alternating, constant, with an outlier. */
static void fill(struct kiln_random *random, double offset, int character, float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double value = kiln_random_uniform(random, -1, 1);
        if (character == 1)
            value = fabs(value);
        if (character == 2)
            value = i % 2 == 0 ? 1 + value * 1e-3 : -1;
        if (character == 3)
            value = 0.1;
        if (character == 4 && i == count / 2)
            value = 1e4;
        x[i] = (float)(offset + value);
    }
}

static bool contains(const struct kiln_interval *interval, double value)
{
    return value >= interval->low && value <= interval->high;
}

struct sums {
    struct kiln_bounded_sum sum;
    struct kiln_moments moments;
};

static struct sums sums_of(const float *x, int64_t count)
{
    static struct kiln_interval numbers[MAX_COUNT];
    struct sums sums = {.sum = {0}};
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = number((double)x[i]);
        kiln_bounded_sum_add(&sums.sum, numbers[i]);
    }
    sums.moments = kiln_bounded_moments(numbers, count, f32());
    return sums;
}

#define FOR_EACH_ROW(x, count, random)                                                             \
    for (size_t c_ = 0; c_ < sizeof counts / sizeof *counts; c_++)                                 \
        for (size_t o_ = 0; o_ < sizeof offsets / sizeof *offsets; o_++)                           \
            for (int k_ = 0; k_ < 5; k_++)                                                         \
                if ((count = counts[c_], fill(random, offsets[o_], k_, x, count), true))

Test(sum_bound, every_order_of_summation_is_inside)
{
    static float x[MAX_COUNT];
    struct kiln_random random = {1};
    int64_t count;
    FOR_EACH_ROW(x, count, &random)
    {
        struct sums sums = sums_of(x, count);
        struct kiln_interval total = kiln_bounded_sum_total(&sums.sum, f32());
        struct kiln_interval mean = kiln_bounded_sum_mean(&sums.sum, f32());
        for (int schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
            float sum = float_sum((enum schedule)schedule, x, count);
            cr_assert(contains(&total, (double)sum), "%d: %g not in [%g, %g]", schedule,
                      (double)sum, total.low, total.high);
            cr_assert(contains(&mean, (double)(sum / (float)count)));
            float welford = float_welford((enum schedule)schedule, x, count).mean;
            cr_assert(contains(&mean, (double)welford));
            cr_assert(contains(&sums.moments.mean, (double)welford));
            cr_assert(contains(&sums.moments.mean, (double)(sum / (float)count)));
        }
    }
}

Test(sum_bound, two_passes_updates_and_merges_are_inside)
{
    static float x[MAX_COUNT];
    struct kiln_random random = {2};
    int64_t count;
    FOR_EACH_ROW(x, count, &random)
    {
        struct kiln_moments moments = sums_of(x, count).moments;
        cr_assert_geq(moments.squares.low, 0);
        for (int schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
            struct float_moments welford = float_welford((enum schedule)schedule, x, count);
            struct float_moments passes = float_two_passes((enum schedule)schedule, x, count);
            cr_assert(contains(&moments.squares, (double)welford.squares),
                      "%d of %d: %g not in [%g, %g]", schedule, (int)count, (double)welford.squares,
                      moments.squares.low, moments.squares.high);
            cr_assert(contains(&moments.squares, (double)passes.squares));
        }
    }
}

/* The bound holds for perturbed numbers: every implementation sees its own. */
Test(sum_bound, perturbed_numbers_are_inside)
{
    enum { COUNT = 300 };
    struct kiln_random random = {3};
    struct kiln_interval numbers[COUNT];
    float x[COUNT];
    struct kiln_bounded_sum sum = {0};
    for (int i = 0; i < COUNT; i++) {
        double value = kiln_random_uniform(&random, 4, 6);
        numbers[i] = (struct kiln_interval){value, value - 0.1, value + 0.05};
        kiln_bounded_sum_add(&sum, numbers[i]);
    }
    struct kiln_moments moments = kiln_bounded_moments(numbers, COUNT, f32());
    struct kiln_interval total = kiln_bounded_sum_total(&sum, f32());
    for (int trial = 0; trial < 200; trial++) {
        for (int i = 0; i < COUNT; i++) { /* all outwards, all to one side, at random */
            bool up = trial == 0   ? numbers[i].value > moments.mean.value
                      : trial == 1 ? true
                                   : kiln_random_chance(&random, 50);
            x[i] = (float)(up ? numbers[i].high : numbers[i].low);
        }
        struct float_moments got = float_two_passes(SCHEDULE_TREE, x, COUNT);
        cr_assert(contains(&total, (double)float_sum(SCHEDULE_CHAIN, x, COUNT)));
        cr_assert(contains(&moments.mean, (double)got.mean));
        cr_assert(contains(&moments.squares, (double)got.squares));
    }
    cr_assert_lt(total.high - total.low, 0.21 * (double)COUNT);
}

Test(sum_bound, bounds_are_not_silly)
{
    static float x[MAX_COUNT];
    struct kiln_random random = {4};
    fill(&random, 0, 0, x, 1024);
    struct sums sums = sums_of(x, 1024);
    struct kiln_interval total = kiln_bounded_sum_total(&sums.sum, f32());
    cr_assert_lt(kiln_interval_radius(&total), 1024 * 0x1p-24 * 1024 * 0.55);
    cr_assert_lt(kiln_interval_radius(&sums.moments.mean), 1e-4);
    cr_assert_lt(kiln_interval_radius(&sums.moments.squares) / sums.moments.squares.value, 1e-3);
}

/* sum x^2 - n*mean^2 in float is what sound moments are not. */
Test(sum_bound, the_cancelling_form_of_the_variance_is_outside)
{
    static float x[MAX_COUNT];
    struct kiln_random random = {5};
    fill(&random, 1e3, 0, x, 1000);
    struct kiln_moments moments = sums_of(x, 1000).moments;
    float sum = 0, squares = 0;
    for (int i = 0; i < 1000; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    cr_assert(!contains(&moments.squares, (double)(squares - sum * (sum / 1000))));
}

Test(sum_bound, one_number_is_exact)
{
    struct kiln_bounded_sum sum = {0};
    kiln_bounded_sum_add(&sum, number(0.1));
    struct kiln_interval total = kiln_bounded_sum_total(&sum, f32());
    struct kiln_interval mean = kiln_bounded_sum_mean(&sum, f32());
    cr_assert(total.low == 0.1 && total.high == 0.1);
    cr_assert(mean.low == 0.1 && mean.high == 0.1);
    struct kiln_interval one = {5, 4, 6};
    struct kiln_moments moments = kiln_bounded_moments(&one, 1, f32());
    cr_assert(moments.mean.low == 4 && moments.mean.high == 6);
    cr_assert(moments.squares.low == 0 && moments.squares.high == 0);
}

Test(sum_bound, a_zero_sum_has_no_certain_sign)
{
    struct kiln_bounded_sum sum = {0};
    kiln_bounded_sum_add(&sum, number(-0.0));
    struct kiln_interval total = kiln_bounded_sum_total(&sum, f32());
    cr_assert(total.low == 0 && signbit(total.low) != 0 && signbit(total.high) == 0);
}

static struct sums sums_of_three(double a, double b, double c)
{
    struct kiln_interval numbers[3] = {number(a), number(b), number(c)};
    struct sums sums = {.sum = {0}};
    for (int i = 0; i < 3; i++)
        kiln_bounded_sum_add(&sums.sum, numbers[i]);
    sums.moments = kiln_bounded_moments(numbers, 3, f32());
    return sums;
}

Test(sum_bound, infinities_and_nan)
{
    struct sums nan = sums_of_three(1, NAN, INFINITY);
    cr_assert(isnan(kiln_bounded_sum_total(&nan.sum, f32()).low));
    cr_assert(isnan(kiln_bounded_sum_mean(&nan.sum, f32()).low));
    cr_assert(isnan(nan.moments.mean.low) && isnan(nan.moments.squares.low));
    struct sums up = sums_of_three(1, INFINITY, 2);
    struct kiln_interval total = kiln_bounded_sum_total(&up.sum, f32());
    struct kiln_interval mean = kiln_bounded_sum_mean(&up.sum, f32());
    cr_assert(total.low == INFINITY && total.high == INFINITY);
    cr_assert(kiln_interval_is_unknown(&mean));
    cr_assert(kiln_interval_is_unknown(&up.moments.mean));
    cr_assert(kiln_interval_is_unknown(&up.moments.squares));
    struct sums both = sums_of_three(-INFINITY, INFINITY, 2);
    cr_assert(isnan(kiln_bounded_sum_total(&both.sum, f32()).low));
}

Test(sum_bound, partial_sums_that_may_overflow_are_unknown)
{
    struct sums sums = sums_of_three(3e38, -3e38, 3e38); /* one order overflows, another not */
    struct kiln_interval total = kiln_bounded_sum_total(&sums.sum, f32());
    cr_assert(kiln_interval_is_unknown(&total));
    cr_assert(kiln_interval_is_unknown(&sums.moments.squares));
    struct sums squares = sums_of_three(1e20, -1e20, 0); /* the squares overflow, the mean not */
    cr_assert(kiln_interval_is_unknown(&squares.moments.squares));
    cr_assert(kiln_interval_is_finite(&squares.moments.mean));
}
