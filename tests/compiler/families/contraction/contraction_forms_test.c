/*
 * Forms of products and convolutions: the order in which they give things up, and first forms
 * whose text would be too long.
 */
#include "compiler/families/contraction/schedule/contraction_schedule.h"
#include "tests/compiler/sketched_plans.h"

#include <criterion/criterion.h>

static struct sketched_plans plans;

static void setup(void)
{
    sketched_plans_init(&plans);
}

static void teardown(void)
{
    sketched_plans_fini(&plans);
}

TestSuite(contraction_forms, .init = setup, .fini = teardown);

static struct kiln_kernel_plan make_plan(const char *sketch, const char *target)
{
    const struct kiln_lower_options options = {0};
    return sketched_plans_make(&plans, sketch, target, &options);
}

static bool relax(struct kiln_kernel_plan *plan)
{
    enum kiln_status status =
        kiln_kernel_plan_relax(plan, &plans.graphs[plans.count - 1].graph, 0, &plans.error);
    cr_assert(status == KILN_OK || status == KILN_NOT_FOUND, "%s", plans.error.text);
    return status == KILN_OK;
}

Test(contraction_forms, a_streamed_product_is_staged_and_then_small)
{
    struct kiln_kernel_plan plan = make_plan("Matmul a=24,64:HALF b=64,32:HALF c=24,32", "gfx1030");
    const struct kiln_contraction_schedule *contraction =
        kiln_contraction_schedule_of(&plan.schedules[0]);
    uint32_t staged = 0;
    cr_assert(contraction->pipeline.kind == KILN_PIPELINE_STREAMED);
    while (relax(&plan)) {
        contraction = kiln_contraction_schedule_of(&plan.schedules[0]);
        cr_expect(contraction->pipeline.kind != KILN_PIPELINE_STREAMED || staged == 0);
        staged += kiln_pipeline_buffers(&contraction->pipeline) != 0;
    }
    cr_expect_gt(staged, 1);
    cr_expect_eq(contraction->pipeline.small.item_rows * contraction->pipeline.small.item_columns,
                 1);
}

/* 33 rows are two tiles of 32, the smallest that are staged, and one of 64. */
Test(contraction_forms, a_product_with_statistics_is_staged_in_as_many_tiles)
{
    struct kiln_kernel_plan plan = make_plan("Matmul a=16,33,16:HALF b=16,16,32:HALF c=16,33,32 | "
                                             "Reduction in@3 out=1,1,32 !mode='ADD'",
                                             "gfx90c");
    const struct kiln_schedule *schedule = &plan.schedules[0];
    uint32_t segments = schedule->segment_count;
    cr_assert_eq(kiln_ending_statistics(&kiln_contraction_schedule_of(schedule)->ending),
                 KILN_STATISTICS_COLUMNS);
    cr_assert(kiln_contraction_schedule_of(schedule)->pipeline.kind == KILN_PIPELINE_STREAMED);
    while (relax(&plan))
        cr_expect_eq(schedule->segment_count, segments);
    cr_expect_not(kiln_contraction_schedule_of(schedule)->pipeline.kind == KILN_PIPELINE_STREAMED);
}

static const char depthwise_gradient[] =
    "ConvolutionWrw x=2,16,4,7,9:INT8 dy=2,16,4,7,5:INT8 dw=16,1,3,3,3:INT32 !pre_padding=[1,1,1] "
    "!post_padding=[1,1,1] !stride=[1,1,2] !dilation=[1,1,1] !conv_mode='CROSS_CORRELATION'";

Test(contraction_forms, elements_along_three_windows_are_not_streamed)
{
    static const char *const targets[] = {"gfx90c", "gfx1010", "gfx1030"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct kiln_kernel_plan plan = make_plan(depthwise_gradient, targets[i]);
        cr_expect_not(kiln_contraction_schedule_of(&plan.schedules[0])->pipeline.kind ==
                          KILN_PIPELINE_STREAMED,
                      "%s", targets[i]);
    }
}

#define LINES(channels, outputs)                                                                   \
    "ConvolutionFwd x=8," channels ",56,56:HALF:last w=" outputs ",1,3,3:HALF "                    \
    "y=8," outputs ",56,56:HALF:last !pre_padding=[1,1] !post_padding=[1,1] !stride=[1,1] "        \
    "!dilation=[1,1] !conv_mode='CROSS_CORRELATION'"

Test(contraction_forms, a_strip_of_single_elements_loads_one_line_at_a_time)
{
    struct kiln_kernel_plan vectors = make_plan(LINES("64", "64"), "gfx942");
    cr_assert_eq(kiln_contraction_schedule_of(&vectors.schedules[0])->pipeline.kind,
                 KILN_PIPELINE_STRIPS);
    cr_expect_eq(kiln_contraction_schedule_of(&vectors.schedules[0])->pipeline.strips.lines, 3);
    struct kiln_kernel_plan elements = make_plan(LINES("64", "128"), "gfx942");
    cr_assert_eq(kiln_contraction_schedule_of(&elements.schedules[0])->pipeline.kind,
                 KILN_PIPELINE_STRIPS);
    cr_expect_eq(kiln_contraction_schedule_of(&elements.schedules[0])->pipeline.strips.lines, 1);
}

Test(contraction_forms, items_of_the_host_have_fewer_rows)
{
    struct kiln_kernel_plan plan = make_plan(LINES("64", "64"), "host");
    const struct kiln_schedule *schedule = &plan.schedules[0];
    while (relax(&plan))
        cr_assert_lt(schedule->form, KILN_MAX_FORMS);
    cr_expect_eq(kiln_pipeline_item_rows(&kiln_contraction_schedule_of(schedule)->pipeline), 1);
    cr_expect_eq(schedule->walk.vector_elems, 1);
}
