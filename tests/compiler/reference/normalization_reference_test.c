#include "compiler/reference/node_evaluators.h"

#include "float_schedules.h"
#include "norm_sample.h"

#include <criterion/criterion.h>
#include <math.h>

static const int64_t lengths[] = {1, 2, 3, 8, 33, 64, 200, 1000, 1024, 3001};
static const double offsets[] = {0, 5, -300, 1e5};

#define FOR_EACH_LENGTH(length, offset)                                                            \
    for (size_t l_ = 0; l_ < sizeof lengths / sizeof *lengths; l_++)                               \
        for (size_t o_ = 0; o_ < sizeof offsets / sizeof *offsets; o_++)                           \
            if ((length = lengths[l_], offset = offsets[o_],                                       \
                 norm_sample_fill(l_ * 7 + o_, 3 * length, offset), true))

/* ---- implementations in float ---- */

static struct float_moments moments_of(bool two_passes, enum schedule schedule, const float *x,
                                       int64_t count)
{
    return two_passes ? float_two_passes(schedule, x, count) : float_welford(schedule, x, count);
}

static float rstd_of(struct float_moments moments)
{
    return 1 / sqrtf(moments.squares / moments.count + 1e-5F);
}

static void float_layernorm(bool two_passes, enum schedule schedule, int64_t length, int64_t lost)
{
    for (int64_t row = 0; row < 3; row++) {
        const float *x = x_data + row * length;
        struct float_moments moments = moments_of(two_passes, schedule, x, length - lost);
        float rstd = rstd_of(moments);
        for (int64_t i = 0; i < length; i++)
            out[row * length + i] = scale_data[i] * ((x[i] - moments.mean) * rstd) + bias_data[i];
    }
}

/* dx, dscale and dbias of three rows; `first` takes x - mean into the sums and rstd afterwards. */
static void float_layernorm_backward(enum schedule schedule, bool first, bool centered,
                                     int64_t length)
{
    static float g[NORM_SAMPLE_ELEMENTS], products[NORM_SAMPLE_ELEMENTS];
    for (int64_t i = 0; i < length; i++)
        out_dscale[i] = out_dbias[i] = 0;
    for (int64_t row = 0; row < 3; row++) {
        const float *x = x_data + row * length, *dy = dy_data + row * length;
        struct float_moments moments = moments_of(!first, schedule, x, length);
        if (!centered) {
            for (int64_t i = 0; i < length; i++)
                products[i] = x[i] * x[i];
            moments =
                (struct float_moments){(float)length, 0, float_sum(schedule, products, length)};
        }
        float rstd = rstd_of(moments);
        for (int64_t i = 0; i < length; i++) {
            float c = x[i] - moments.mean;
            g[i] = dy[i] * scale_data[i];
            products[i] = first ? g[i] * c : g[i] * (c * rstd);
            out_dscale[i] += dy[i] * (c * rstd);
            out_dbias[i] += dy[i];
        }
        float mean_g = centered ? float_sum(schedule, g, length) / (float)length : 0;
        float slope = float_sum(schedule, products, length) / (float)length;
        for (int64_t i = 0; i < length; i++) {
            float c = x[i] - moments.mean;
            out[row * length + i] = first ? (g[i] - mean_g - c * (slope * rstd * rstd)) * rstd
                                          : rstd * (g[i] - (mean_g + c * rstd * slope));
        }
    }
}

/* ---- layernorm ---- */

static void start_layernorm(int64_t length)
{
    norm_sample_start(KILN_NODE_LAYERNORM, 1U << 2);
    norm_sample_add_input(KILN_OPERAND_X, 1, 3, length, x_data);
    norm_sample_add_input(KILN_OPERAND_SCALE, 1, 1, length, scale_data);
    norm_sample_add_input(KILN_OPERAND_BIAS, 1, 1, length, bias_data);
    norm_sample_add_output(KILN_OPERAND_Y, 1, 3, length);
    norm_sample_add_output(KILN_OPERAND_MEAN, 1, 3, 1);
    norm_sample_add_output(KILN_OPERAND_INV_VARIANCE, 1, 3, 1);
    norm_sample_run();
}

Test(normalization_reference, layernorm_is_the_formula)
{
    enum { LENGTH = 200 };
    norm_sample_fill(1, 3 * LENGTH, 2);
    start_layernorm(LENGTH);
    for (int row = 0; row < 3; row++) {
        const float *x = x_data + row * LENGTH;
        double mean = 0, variance = 0;
        for (int i = 0; i < LENGTH; i++)
            mean += (double)x[i] / (double)LENGTH;
        for (int i = 0; i < LENGTH; i++)
            variance += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)LENGTH;
        double rstd = 1 / sqrt(variance + 1e-5);
        assert_near(norm_sample_result(KILN_OPERAND_MEAN)->real[row], mean, 1e-7);
        assert_near(norm_sample_result(KILN_OPERAND_INV_VARIANCE)->real[row], rstd, 1e-7);
        for (int i = 0; i < LENGTH; i++)
            assert_near(norm_sample_result(KILN_OPERAND_Y)->real[row * LENGTH + i],
                        (double)scale_data[i] * ((double)x[i] - mean) * rstd + (double)bias_data[i],
                        1e-7);
    }
    norm_sample_finish();
}

Test(normalization_reference, layernorm_in_every_order_is_inside)
{
    int64_t length;
    double offset;
    FOR_EACH_LENGTH(length, offset)
    {
        start_layernorm(length);
        for (int schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
            for (int two_passes = 0; two_passes < 2; two_passes++) {
                float_layernorm(two_passes != 0, (enum schedule)schedule, length, 0);
                norm_sample_assert_inside(KILN_OPERAND_Y, out);
                for (int row = 0; row < 3; row++)
                    out[row] = rstd_of(moments_of(two_passes != 0, (enum schedule)schedule,
                                                  x_data + row * length, length));
                norm_sample_assert_inside(KILN_OPERAND_INV_VARIANCE, out);
            }
        }
        norm_sample_finish();
    }
}

Test(normalization_reference, the_bound_of_layernorm_is_not_silly)
{
    norm_sample_fill(3, 3 * 1024, 0);
    start_layernorm(1024);
    double largest = 0, bound = 0;
    for (int i = 0; i < 3 * 1024; i++) {
        largest = fmax(largest, fabs(norm_sample_result(KILN_OPERAND_Y)->real[i]));
        bound = fmax(bound, norm_sample_result(KILN_OPERAND_Y)->bound[i]);
    }
    cr_log_info("bound %.3g of %.3g", bound, largest);
    cr_assert_lt(bound, 1e-3 * largest);
    norm_sample_finish();
}

Test(normalization_reference, a_lost_element_is_outside)
{
    for (size_t i = 1; lengths[i] <= 1000; i++) {
        norm_sample_fill(i, 3 * lengths[i], 0);
        for (int64_t row = 0; row < 3; row++) /* whose loss would show if anything's would */
            x_data[(row + 1) * lengths[i] - 1] = 1.5F;
        start_layernorm(lengths[i]);
        for (int schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
            float_layernorm(false, (enum schedule)schedule, lengths[i], 1);
            cr_assert_gt(norm_sample_compare(KILN_OPERAND_Y, out).wrong, 0, "%d elements",
                         (int)lengths[i]);
        }
        norm_sample_finish();
    }
}

static void start_backward(enum kiln_node_kind kind, int64_t length)
{
    norm_sample_start(kind, 1U << 2);
    norm_sample_add_input(KILN_OPERAND_DY, 1, 3, length, dy_data);
    norm_sample_add_input(KILN_OPERAND_X, 1, 3, length, x_data);
    norm_sample_add_input(KILN_OPERAND_SCALE, 1, 1, length, scale_data);
    norm_sample_add_output(KILN_OPERAND_DX, 1, 3, length);
    norm_sample_add_output(KILN_OPERAND_DSCALE, 1, 1, length);
    norm_sample_add_output(KILN_OPERAND_DBIAS, 1, 1, length);
    norm_sample_run();
}

/* dx = rstd*g - a*x - b, the form of hipdnn-op-semantics.md 6.2 (6.4 for RMSNorm). */
static void assert_backward_formula(bool centered, int64_t length)
{
    for (int row = 0; row < 3; row++) {
        const float *x = x_data + row * length, *dy = dy_data + row * length;
        double n = (double)length, mean = 0, variance = 0, sum_g = 0, sum_gx = 0;
        for (int i = 0; i < length && centered; i++)
            mean += (double)x[i] / n;
        for (int i = 0; i < length; i++) {
            double g = (double)dy[i] * (double)scale_data[i];
            variance += ((double)x[i] - mean) * ((double)x[i] - mean) / n;
            sum_g += centered ? g : 0;
            sum_gx += g * (double)x[i];
        }
        double rstd = 1 / sqrt(variance + 1e-5);
        double a = rstd * rstd * rstd * (sum_gx - mean * sum_g) / n;
        double b = rstd * sum_g / n - a * mean;
        for (int i = 0; i < length; i++)
            assert_near(norm_sample_result(KILN_OPERAND_DX)->real[row * length + i],
                        rstd * (double)dy[i] * (double)scale_data[i] - a * (double)x[i] - b, 1e-7);
    }
}

Test(normalization_reference, backward_is_the_formula)
{
    norm_sample_fill(4, 3 * 200, 1);
    start_backward(KILN_NODE_LAYERNORM_BACKWARD, 200);
    assert_backward_formula(true, 200);
    norm_sample_finish();
    start_backward(KILN_NODE_RMSNORM_BACKWARD, 200);
    assert_backward_formula(false, 200);
    norm_sample_finish();
}

Test(normalization_reference, backward_in_every_order_is_inside)
{
    int64_t length;
    double offset;
    FOR_EACH_LENGTH(length, offset)
    {
        for (int centered = 0; centered < 2; centered++) {
            start_backward(centered ? KILN_NODE_LAYERNORM_BACKWARD : KILN_NODE_RMSNORM_BACKWARD,
                           length);
            for (int schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
                for (int first = 0; first < 2; first++) {
                    float_layernorm_backward((enum schedule)schedule, first != 0, centered != 0,
                                             length);
                    norm_sample_assert_inside(KILN_OPERAND_DX, out);
                    norm_sample_assert_inside(KILN_OPERAND_DSCALE, out_dscale);
                    norm_sample_assert_inside(KILN_OPERAND_DBIAS, out_dbias);
                }
            }
            norm_sample_finish();
        }
    }
}

Test(normalization_reference, the_bound_of_dx_is_not_silly)
{
    norm_sample_fill(5, 3 * 1024, 0);
    start_backward(KILN_NODE_LAYERNORM_BACKWARD, 1024);
    double largest = 0, bound = 0;
    for (int i = 0; i < 3 * 1024; i++) {
        largest = fmax(largest, fabs(norm_sample_result(KILN_OPERAND_DX)->real[i]));
        bound = fmax(bound, norm_sample_result(KILN_OPERAND_DX)->bound[i]);
    }
    cr_log_info("bound %.3g of %.3g", bound, largest);
    cr_assert_lt(bound, 2e-3 * largest);
    norm_sample_finish();
}

/* Where mean and deviation are given, they are taken. */
Test(normalization_reference, given_statistics_count)
{
    static const float means[3] = {1, 2, 3}, rstds[3] = {0.5F, 2, 4};
    norm_sample_fill(6, 12, 0);
    norm_sample_start(KILN_NODE_LAYERNORM_BACKWARD, 1U << 2);
    norm_sample_add_input(KILN_OPERAND_DY, 1, 3, 4, dy_data);
    norm_sample_add_input(KILN_OPERAND_X, 1, 3, 4, x_data);
    norm_sample_add_input(KILN_OPERAND_MEAN, 1, 3, 1, means);
    norm_sample_add_input(KILN_OPERAND_INV_VARIANCE, 1, 3, 1, rstds);
    norm_sample_add_output(KILN_OPERAND_DSCALE, 1, 1, 4);
    norm_sample_run();
    for (int i = 0; i < 4; i++) {
        double expected = 0;
        for (int row = 0; row < 3; row++)
            expected += (double)dy_data[4 * row + i] *
                        ((double)x_data[4 * row + i] - (double)means[row]) * (double)rstds[row];
        assert_near(norm_sample_result(KILN_OPERAND_DSCALE)->real[i], expected, 1e-6);
    }
    norm_sample_finish();
}

Test(normalization_reference, rmsnorm_is_the_formula)
{
    norm_sample_fill(7, 3 * 50, 1);
    norm_sample_start(KILN_NODE_RMSNORM, 1U << 2);
    norm_sample_add_input(KILN_OPERAND_X, 1, 3, 50, x_data);
    norm_sample_add_input(KILN_OPERAND_SCALE, 1, 1, 50, scale_data);
    norm_sample_add_output(KILN_OPERAND_Y, 1, 3, 50);
    norm_sample_add_output(KILN_OPERAND_INV_RMS, 1, 3, 1);
    norm_sample_run();
    for (int row = 0; row < 3; row++) {
        const float *x = x_data + row * 50;
        double squares = 0;
        for (int i = 0; i < 50; i++)
            squares += (double)x[i] * (double)x[i];
        double inverse = 1 / sqrt(squares / 50 + 1e-5);
        assert_near(norm_sample_result(KILN_OPERAND_INV_RMS)->real[row], inverse, 1e-7);
        for (int i = 0; i < 50; i++)
            assert_near(norm_sample_result(KILN_OPERAND_Y)->real[row * 50 + i],
                        (double)scale_data[i] * (double)x[i] * inverse, 1e-7);
    }
    cr_assert_lt(norm_sample_result(KILN_OPERAND_Y)->bound[0], 1e-4);
    norm_sample_finish();
}

/* A scale per element: y and dx take it so, and dscale and dbias are no sums. */
Test(normalization_reference, rmsnorm_with_a_scale_per_element)
{
    enum { LENGTH = 50 };
    norm_sample_fill(8, 3 * LENGTH, 1);
    norm_sample_start(KILN_NODE_RMSNORM_BACKWARD, 1U << 2);
    norm_sample_add_input(KILN_OPERAND_DY, 1, 3, LENGTH, dy_data);
    norm_sample_add_input(KILN_OPERAND_X, 1, 3, LENGTH, x_data);
    norm_sample_add_input(KILN_OPERAND_SCALE, 1, 3, LENGTH, scale_data);
    norm_sample_add_output(KILN_OPERAND_DX, 1, 3, LENGTH);
    norm_sample_add_output(KILN_OPERAND_DSCALE, 1, 3, LENGTH);
    norm_sample_add_output(KILN_OPERAND_DBIAS, 1, 3, LENGTH);
    norm_sample_run();
    for (int row = 0; row < 3; row++) {
        const float *x = x_data + row * LENGTH, *dy = dy_data + row * LENGTH;
        const float *scale = scale_data + row * LENGTH;
        double squares = 0, products = 0;
        for (int i = 0; i < LENGTH; i++) {
            squares += (double)x[i] * (double)x[i];
            products += (double)dy[i] * (double)scale[i] * (double)x[i];
        }
        double r = 1 / sqrt(squares / (double)LENGTH + 1e-5);
        for (int i = 0; i < LENGTH; i++) {
            int at = row * LENGTH + i;
            double dx = r * (double)dy[i] * (double)scale[i] -
                        (double)x[i] * r * r * r * products / (double)LENGTH;
            assert_near(norm_sample_result(KILN_OPERAND_DX)->real[at], dx, 1e-7);
            assert_near(norm_sample_result(KILN_OPERAND_DSCALE)->real[at],
                        (double)dy[i] * (double)x[i] * r, 1e-7);
            cr_assert_eq(norm_sample_result(KILN_OPERAND_DBIAS)->real[at], (double)dy[i]);
        }
    }
    norm_sample_finish();
}

/* ---- special values ---- */

Test(normalization_reference, rows_that_are_not_finite)
{
    norm_sample_fill(8, 12, 0);
    x_data[1] = NAN;
    x_data[6] = INFINITY;
    start_layernorm(4);
    for (int i = 0; i < 12; i++) {
        const struct kiln_reference_tensor *y = norm_sample_result(KILN_OPERAND_Y);
        if (i < 4)
            cr_assert(isnan(y->real[i]) && y->bound[i] == 0, "a NaN spoils its row for certain");
        else if (i < 8)
            cr_assert(isinf(y->bound[i]), "an infinity may give NaN or not");
        else
            cr_assert_lt(y->bound[i], 1e-4);
    }
    norm_sample_finish();
}

/* A constant row has a deviation of rounding errors; without epsilon nothing can be said. */
Test(normalization_reference, a_constant_row_needs_its_epsilon)
{
    static const float epsilons[] = {0};
    for (int i = 0; i < 30; i++)
        x_data[i] = 0.1F;
    norm_sample_start(KILN_NODE_LAYERNORM, 1U << 2);
    norm_sample_add_input(KILN_OPERAND_X, 1, 3, 10, x_data);
    norm_sample_add_output(KILN_OPERAND_Y, 1, 3, 10);
    norm_sample_run();
    cr_assert(norm_sample_result(KILN_OPERAND_Y)->bound[0] > 0 &&
              norm_sample_result(KILN_OPERAND_Y)->bound[0] < 0.01);
    norm_sample_add_input(KILN_OPERAND_EPSILON, 1, 1, 1, epsilons);
    norm_sample_run();
    cr_assert(isinf(norm_sample_result(KILN_OPERAND_Y)->bound[0]));
    norm_sample_finish();
}

/* Double computes in double: bounds shrink with it. */
Test(normalization_reference, double_has_its_own_bounds)
{
    norm_sample_fill(13, 300, 0);
    start_layernorm(100);
    double single = norm_sample_result(KILN_OPERAND_INV_VARIANCE)->bound[0];
    norm_sample.node.compute_type = KILN_DTYPE_F64;
    norm_sample.tensors[kiln_node_output(&norm_sample.node, KILN_OPERAND_INV_VARIANCE)].dtype =
        KILN_DTYPE_F64;
    norm_sample_run();
    double wide = norm_sample_result(KILN_OPERAND_INV_VARIANCE)->bound[0];
    cr_assert(wide > 0 && wide < single * 1e-8);
    norm_sample_finish();
}
