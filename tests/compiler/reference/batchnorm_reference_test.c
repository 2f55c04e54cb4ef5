/* The batch norms of compiler/reference/normalization_reference.c. */
#include "compiler/reference/node_evaluators.h"

#include "norm_sample.h"

#include <criterion/criterion.h>
#include <math.h>

enum { BATCH = 4, CHANNELS = 3, SPACE = 5, PER_CHANNEL = BATCH * SPACE };

static const float channel_scale[CHANNELS] = {0.5F, 1, 2}, channel_bias[CHANNELS] = {1, 0, -1};
static const float previous_mean[CHANNELS] = {1, 2, 3}, previous_variance[CHANNELS] = {4, 5, 6};

static float channel_element(const float *data, int channel, int i)
{
    return data[(i / SPACE * CHANNELS + channel) * SPACE + i % SPACE];
}

static void channel_moments(int channel, double *ret_mean, double *ret_squares)
{
    double mean = 0, squares = 0;
    for (int i = 0; i < PER_CHANNEL; i++)
        mean += (double)channel_element(x_data, channel, i) / (double)PER_CHANNEL;
    for (int i = 0; i < PER_CHANNEL; i++)
        squares += pow((double)channel_element(x_data, channel, i) - mean, 2);
    *ret_mean = mean;
    *ret_squares = squares;
}

static void start_training(int64_t batch, int64_t space)
{
    norm_sample_start(KILN_NODE_BATCHNORM_TRAINING, 1U << 0 | 1U << 2);
    norm_sample_add_input(KILN_OPERAND_X, batch, CHANNELS, space, x_data);
    norm_sample_add_input(KILN_OPERAND_SCALE, 1, CHANNELS, 1, channel_scale);
    norm_sample_add_input(KILN_OPERAND_BIAS, 1, CHANNELS, 1, channel_bias);
    norm_sample_add_input(KILN_OPERAND_PREV_RUNNING_MEAN, 1, CHANNELS, 1, previous_mean);
    norm_sample_add_input(KILN_OPERAND_PREV_RUNNING_VARIANCE, 1, CHANNELS, 1, previous_variance);
    norm_sample_add_output(KILN_OPERAND_Y, batch, CHANNELS, space);
    norm_sample_add_output(KILN_OPERAND_NEXT_RUNNING_MEAN, 1, CHANNELS, 1);
    norm_sample_add_output(KILN_OPERAND_NEXT_RUNNING_VARIANCE, 1, CHANNELS, 1);
    norm_sample_run();
}

Test(batchnorm_reference, training_is_the_formula)
{
    norm_sample_fill(9, BATCH * CHANNELS * SPACE, 1);
    start_training(BATCH, SPACE);
    for (int channel = 0; channel < CHANNELS; channel++) {
        double mean, squares;
        channel_moments(channel, &mean, &squares);
        double rstd = 1 / sqrt(squares / (double)PER_CHANNEL + 1e-5);
        assert_near(norm_sample_result(KILN_OPERAND_NEXT_RUNNING_MEAN)->real[channel],
                    0.9 * (double)previous_mean[channel] + 0.1 * mean, 1e-7);
        assert_near(norm_sample_result(KILN_OPERAND_NEXT_RUNNING_VARIANCE)->real[channel],
                    0.9 * (double)previous_variance[channel] +
                        0.1 * squares / (double)(PER_CHANNEL - 1),
                    1e-7);
        cr_assert_lt(norm_sample_result(KILN_OPERAND_NEXT_RUNNING_VARIANCE)->bound[channel], 1e-4);
        for (int i = 0; i < PER_CHANNEL; i++) {
            double x = (double)channel_element(x_data, channel, i);
            int at = (i / SPACE * CHANNELS + channel) * SPACE + i % SPACE;
            assert_near(norm_sample_result(KILN_OPERAND_Y)->real[at],
                        (double)channel_scale[channel] * (x - mean) * rstd +
                            (double)channel_bias[channel],
                        1e-7);
        }
    }
    norm_sample_finish();
}

Test(batchnorm_reference, of_one_element_per_channel)
{
    norm_sample_fill(10, CHANNELS, 1);
    start_training(1, 1);
    for (int channel = 0; channel < CHANNELS; channel++) {
        cr_assert_eq(norm_sample_result(KILN_OPERAND_Y)->real[channel],
                     (double)channel_bias[channel]);
        assert_near(norm_sample_result(KILN_OPERAND_NEXT_RUNNING_VARIANCE)->real[channel],
                    0.9 * (double)previous_variance[channel], 1e-7);
    }
    norm_sample_finish();
}

Test(batchnorm_reference, backward_is_the_formula)
{
    norm_sample_fill(11, BATCH * CHANNELS * SPACE, 1);
    norm_sample_start(KILN_NODE_BATCHNORM_BACKWARD, 1U << 0 | 1U << 2);
    norm_sample_add_input(KILN_OPERAND_DY, BATCH, CHANNELS, SPACE, dy_data);
    norm_sample_add_input(KILN_OPERAND_X, BATCH, CHANNELS, SPACE, x_data);
    norm_sample_add_input(KILN_OPERAND_SCALE, 1, CHANNELS, 1, channel_scale);
    norm_sample_add_output(KILN_OPERAND_DX, BATCH, CHANNELS, SPACE);
    norm_sample_add_output(KILN_OPERAND_DSCALE, 1, CHANNELS, 1);
    norm_sample_add_output(KILN_OPERAND_DBIAS, 1, CHANNELS, 1);
    norm_sample_run();
    for (int channel = 0; channel < CHANNELS; channel++) {
        double mean, squares, dscale = 0, dbias = 0;
        channel_moments(channel, &mean, &squares);
        double inv = 1 / sqrt(squares / (double)PER_CHANNEL + 1e-5);
        for (int i = 0; i < PER_CHANNEL; i++) {
            double dy = (double)channel_element(dy_data, channel, i);
            dscale += dy * ((double)channel_element(x_data, channel, i) - mean) * inv;
            dbias += dy;
        }
        assert_near(norm_sample_result(KILN_OPERAND_DSCALE)->real[channel], dscale, 1e-6);
        assert_near(norm_sample_result(KILN_OPERAND_DBIAS)->real[channel], dbias, 1e-6);
        for (int i = 0; i < PER_CHANNEL; i++) {
            double xhat = ((double)channel_element(x_data, channel, i) - mean) * inv;
            double dy = (double)channel_element(dy_data, channel, i);
            int at = (i / SPACE * CHANNELS + channel) * SPACE + i % SPACE;
            assert_near(norm_sample_result(KILN_OPERAND_DX)->real[at],
                        (dy - dbias / (double)PER_CHANNEL - xhat * dscale / (double)PER_CHANNEL) *
                            ((double)channel_scale[channel] * inv),
                        1e-6);
        }
    }
    norm_sample_finish();
}

/* hipDNN's order: what overflows before a small scale multiplies it has overflowed. */
static void start_backward_of_large(const float *scale, const float *inverse)
{
    static const float zero[1];
    norm_sample_start(KILN_NODE_BATCHNORM_BACKWARD, 1U << 0 | 1U << 2);
    norm_sample_add_input(KILN_OPERAND_DY, 2, 1, 1, dy_data);
    norm_sample_add_input(KILN_OPERAND_X, 2, 1, 1, x_data);
    norm_sample_add_input(KILN_OPERAND_SCALE, 1, 1, 1, scale);
    norm_sample_add_input(KILN_OPERAND_MEAN, 1, 1, 1, zero);
    norm_sample_add_input(KILN_OPERAND_INV_VARIANCE, 1, 1, 1, inverse);
    norm_sample_add_output(KILN_OPERAND_DX, 2, 1, 1);
    norm_sample_run();
}

Test(batchnorm_reference, backward_overflows_before_it_is_scaled)
{
    static const float small[1] = {0x1p-20F}, one[1] = {1}, inverse[1] = {1};
    x_data[0] = 4;
    x_data[1] = -1;
    dy_data[0] = 0x1p126F; /* dy*xhat is too large for float, dy*scale*xhat is not */
    dy_data[1] = 1;
    start_backward_of_large(small, inverse);
    cr_assert(isinf(norm_sample_result(KILN_OPERAND_DX)->bound[0]));
    norm_sample_finish();

    dy_data[0] = 0x1p100F; /* and what does not overflow has a bound */
    start_backward_of_large(small, inverse);
    cr_assert_lt(norm_sample_result(KILN_OPERAND_DX)->bound[0],
                 1e-5 * fabs(norm_sample_result(KILN_OPERAND_DX)->real[0]));
    norm_sample_finish();
    start_backward_of_large(one, inverse);
    cr_assert_lt(norm_sample_result(KILN_OPERAND_DX)->bound[0],
                 1e-5 * fabs(norm_sample_result(KILN_OPERAND_DX)->real[0]));
    norm_sample_finish();
}

/* scale*inv is a denormal number with few bits, and the gradients are large. */
Test(batchnorm_reference, backward_with_a_factor_that_underflows)
{
    static const float scale[1] = {0x1.8p-100F}, inverse[1] = {0x1.8p-48F};
    x_data[0] = x_data[1] = 0;
    dy_data[0] = 0x1p120F;
    dy_data[1] = -0x1p120F;
    start_backward_of_large(scale, inverse);
    out[0] = dy_data[0] * (scale[0] * inverse[0]);
    out[1] = dy_data[1] * (scale[0] * inverse[0]);
    norm_sample_assert_inside(KILN_OPERAND_DX, out);
    norm_sample_finish();
}

static void check_inference(enum kiln_operand role, const float *statistic, const double *inverse)
{
    norm_sample_fill(12, BATCH * CHANNELS * SPACE, 1);
    norm_sample_start(KILN_NODE_BATCHNORM_INFERENCE, 1U << 0 | 1U << 2);
    norm_sample_add_input(KILN_OPERAND_X, BATCH, CHANNELS, SPACE, x_data);
    norm_sample_add_input(KILN_OPERAND_MEAN, 1, CHANNELS, 1, previous_mean);
    norm_sample_add_input(role, 1, CHANNELS, 1, statistic);
    norm_sample_add_input(KILN_OPERAND_SCALE, 1, CHANNELS, 1, channel_scale);
    norm_sample_add_input(KILN_OPERAND_BIAS, 1, CHANNELS, 1, channel_bias);
    norm_sample_add_output(KILN_OPERAND_Y, BATCH, CHANNELS, SPACE);
    norm_sample_run();
    for (int at = 0; at < BATCH * CHANNELS * SPACE; at++) {
        int channel = at / SPACE % CHANNELS;
        double centred = (double)x_data[at] - (double)previous_mean[channel];
        double scale = (double)channel_scale[channel], bias = (double)channel_bias[channel];
        assert_near(norm_sample_result(KILN_OPERAND_Y)->real[at],
                    scale * centred * inverse[channel] + bias, 1e-7);
        out[at] = ((float)centred * (channel_scale[channel] * (float)inverse[channel])) +
                  channel_bias[channel];
    }
    norm_sample_assert_inside(KILN_OPERAND_Y, out);
    norm_sample_finish();
}

Test(batchnorm_reference, inference_knows_which_statistic_it_has)
{
    double given[CHANNELS], computed[CHANNELS];
    for (int channel = 0; channel < CHANNELS; channel++) {
        given[channel] = (double)previous_variance[channel];
        computed[channel] = 1 / sqrt((double)previous_variance[channel] + 1e-5);
    }
    check_inference(KILN_OPERAND_INV_VARIANCE, previous_variance, given);
    check_inference(KILN_OPERAND_VARIANCE, previous_variance, computed);
}
