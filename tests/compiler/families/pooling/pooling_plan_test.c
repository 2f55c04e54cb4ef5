/* Kernels of graphs with pooling, and their schedules. */
#include "compiler/families/pooling/pooling_schedule.h"
#include "compiler/plan/kernel_plan.h"
#include "tests/compiler/sketched_plans.h"

#include <criterion/criterion.h>
#include <string.h>

static struct sketched_plans plans;

static void setup(void)
{
    sketched_plans_init(&plans);
}

static void teardown(void)
{
    sketched_plans_fini(&plans);
}

TestSuite(pooling_plan, .init = setup, .fini = teardown);

#define HALVE                                                                                      \
    " !pre_padding=[1,1] !post_padding=[1,1] !stride=[2,2] !window=[3,3] "                         \
    "!resample_mode='MAXPOOL' !padding_mode='NEG_INF_PAD' "
#define MEAN(padding)                                                                              \
    " !pre_padding=[1,1] !post_padding=[1,1] !stride=[2,2] !window=[3,3] "                         \
    "!resample_mode='AVGPOOL_" padding "_PADDING' "
#define IMAGE       "8,64,56,56:HALF"
#define RESULT      "8,64,28,28:HALF"
#define UNARY(mode) " !operation='" mode "' "
#define CHANNELS    "1,64,1,1"

static const char *const targets[] = {"gfx942", "gfx1100", "gfx1201"};

static const struct {
    const char *sketch;
    uint32_t kernels;
} rows[] = {
    {"ResampleFwd x=" IMAGE " y=" RESULT HALVE, 1},
    {"ResampleFwd x=" IMAGE " y=" RESULT ":virtual" HALVE "| Pointwise in_0@2 in_1=" CHANNELS
     " out_0=" RESULT
     ":virtual" UNARY("MUL") "| Pointwise in_0@4 in_1=" RESULT " out_0=" RESULT ":virtual" UNARY(
         "ADD") "| Pointwise in_0@6 out_0=" RESULT UNARY("RELU_FWD"),
     1},
    {"Pointwise in_0=" IMAGE " in_1=" CHANNELS " out_0=" IMAGE
     ":virtual" UNARY("ADD") "| Pointwise in_0@3 out_0=" IMAGE
                             ":virtual" UNARY("RELU_FWD") "| ResampleFwd x@4 y=" RESULT HALVE,
     1},
    /* GELU of each of 2.25 taps of an element costs more than the element's way through memory. */
    {"Pointwise in_0=" IMAGE " out_0=" IMAGE
     ":virtual" UNARY("GELU_FWD") "| Pointwise in_0@2 out_0=" IMAGE
                                  ":virtual" UNARY("GELU_FWD") "| ResampleFwd x@3 y=" RESULT HALVE,
     2},
    {"ConvolutionFwd x=8,32,56,56:HALF w=64,32,1,1:HALF y=" IMAGE ":virtual !pre_padding=[0,0] "
     "!post_padding=[0,0] !stride=[1,1] !dilation=[1,1] !conv_mode='CROSS_CORRELATION' "
     "| Pointwise in_0@3 out_0=" IMAGE
     ":virtual" UNARY("RELU_FWD") "| ResampleFwd x@4 y=" RESULT HALVE,
     2},
    {"ResampleFwd x=" IMAGE " y=" RESULT ":virtual" HALVE
     "| ResampleFwd x@2 y=8,64,14,14:HALF" HALVE,
     2},
    /* The largest number and its position. */
    {"Pointwise in_0=" IMAGE " out_0=" IMAGE
     ":virtual" UNARY("RELU_FWD") "| ResampleFwd x@2 y=" RESULT " index=8,64,28,28:INT32" HALVE,
     1},
    {"Pointwise in_0=" IMAGE " out_0=" IMAGE
     ":virtual" UNARY("RELU_FWD") "| ResampleFwd x@2 y=" RESULT ":virtual" MEAN(
         "EXCLUDE") "| Pointwise in_0@3 out_0=" RESULT UNARY("RELU_FWD"),
     1},
    /* Gradients of pooling and of the activation in front of it. */
    {"ResampleBwd dy=" RESULT " index=8,64,28,28:INT32 dx=" IMAGE ":virtual" HALVE
     "| Pointwise in_0@3 in_1=" IMAGE " out_0=" IMAGE UNARY("RELU_BWD"),
     1},
    {"ResampleBwd dy=" RESULT " dx=" IMAGE
     ":virtual" MEAN("EXCLUDE") "| Pointwise in_0@2 in_1=" IMAGE " out_0=" IMAGE UNARY("RELU_BWD"),
     1},
};

Test(pooling_plan, kernels)
{
    const struct kiln_lower_options options = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
            struct kiln_kernel_plan plan =
                sketched_plans_make(&plans, rows[i].sketch, targets[t], &options);
            cr_expect_eq(plan.partition.group_count, rows[i].kernels, "%s: %u kernels for %s",
                         targets[t], plan.partition.group_count, rows[i].sketch);
        }
    }
}

static const struct kiln_schedule *schedule_of(const char *sketch)
{
    static struct kiln_kernel_plan plan;
    const struct kiln_lower_options options = {0};
    plan = sketched_plans_make(&plans, sketch, "gfx942", &options);
    cr_assert_eq(plan.partition.group_count, 1);
    cr_assert_str_eq(plan.schedules[0].template_name, "pooling");
    return &plan.schedules[0];
}

Test(pooling_plan, channels_last_is_loaded_sixteen_bytes_at_a_time)
{
    const struct kiln_schedule *schedule =
        schedule_of("ResampleFwd x=" IMAGE ":last y=" RESULT ":last" HALVE);
    cr_expect_eq(schedule->walk.vector_elems, 8);
    cr_expect_eq(schedule->walk.dims[schedule->walk.rank - 1], 64, "neighbours are channels");
    cr_expect_eq(kiln_pooling_schedule_of(schedule)->taps_together, 9);
    cr_expect_eq(schedule->traffic.bytes_moved, UINT64_C(8) * 64 * (56 * 56 + 28 * 28) * 2,
                 "each element once");
}

Test(pooling_plan, channels_first_loads_each_element_of_a_row_once)
{
    const struct kiln_schedule *schedule = schedule_of("ResampleFwd x=" IMAGE " y=" RESULT HALVE);
    const struct kiln_pooling_schedule *pooling = kiln_pooling_schedule_of(schedule);
    cr_expect_eq(schedule->walk.vector_elems, 4);
    cr_expect_eq(schedule->walk.rank, 3, "images and channels are walked as one");
    cr_expect_eq(schedule->walk.dims[2], 28);
    cr_expect(pooling->span.before == 1 && pooling->span.middle == 8 && pooling->span.after == 0);
    cr_expect_eq(pooling->taps, 3, "rows");
}

Test(pooling_plan, rows_that_no_vector_fits_have_neighbouring_lanes_at_neighbouring_pixels)
{
    const struct kiln_schedule *schedule =
        schedule_of("ResampleFwd x=8,64,56,58:HALF y=8,64,28,29:HALF" HALVE);
    cr_expect_eq(schedule->walk.vector_elems, 1);
    cr_expect_eq(kiln_pooling_schedule_of(schedule)->span.middle, 0);
    cr_expect_eq(kiln_pooling_schedule_of(schedule)->taps_together, 9);
}

/* A window that meets the image has the element that is loaded in place of padding. */
Test(pooling_plan, maxima_need_no_mask_of_padding)
{
    const struct kiln_schedule *schedule =
        schedule_of("ResampleFwd x=" IMAGE ":last y=" RESULT ":last" HALVE);
    cr_expect(kiln_pooling_schedule_of(schedule)->windows[0].has_padding);
    cr_expect_not(kiln_pooling_schedule_of(schedule)->windows[0].is_masked);
    schedule = schedule_of("ResampleFwd x=" IMAGE ":last y=" RESULT ":last" MEAN("EXCLUDE"));
    cr_expect(kiln_pooling_schedule_of(schedule)->windows[0].is_masked);
}

Test(pooling_plan, large_windows_are_loaded_in_equal_parts)
{
    const struct kiln_schedule *schedule = schedule_of(
        "ResampleFwd x=1,8,40,41 y=1,8,36,37 !pre_padding=[0,0] !post_padding=[0,0] !stride=[1,1] "
        "!window=[5,5] !resample_mode='MAXPOOL' !padding_mode='NEG_INF_PAD'");
    cr_expect_eq(kiln_pooling_schedule_of(schedule)->taps, 25);
    cr_expect_eq(kiln_pooling_schedule_of(schedule)->taps_together, 13);
}

/* At most four of the nine taps meet a window. */
Test(pooling_plan, gradients_visit_windows_that_have_the_element)
{
    const struct kiln_schedule *schedule = schedule_of(
        "ResampleBwd dy=" RESULT ":last index=8,64,28,28:INT32:last dx=" IMAGE ":last" HALVE);
    cr_expect_eq(kiln_pooling_schedule_of(schedule)->taps, 4);
    cr_expect_eq(schedule->walk.vector_elems, 8);
}

Test(pooling_plan, an_image_beyond_32_bits_has_64_bit_offsets)
{
    const struct kiln_schedule *schedule = schedule_of(
        "ResampleFwd x=1,1,2,2147483640:INT8 y=1,1,2,1:INT8 !pre_padding=[0,0] "
        "!post_padding=[0,0] !stride=[1,2147483640] !window=[1,2] !resample_mode='MAXPOOL' "
        "!padding_mode='NEG_INF_PAD'");
    cr_expect(schedule->walk.index_is_64bit);
}
