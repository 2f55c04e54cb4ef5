/*
 * Axes of convolutions' kernels: what is merged, what is taken apart, windows, phases, and what
 * becomes a batch.
 */
#include "compiler/families/contraction/schedule/contraction_axes.h"
#include "compiler/families/contraction/schedule/contraction_layout.h"
#include "compiler/families/contraction/schedule/contraction_schedule.h"
#include "compiler/plan/kernel_plan.h"
#include "tests/compiler/graph/graph_sketch.h"

#include <criterion/criterion.h>

static struct kiln_arena arena;
static struct kiln_error error;
static struct json_graph graph;

static void setup(void)
{
    kiln_arena_init(&arena);
    kiln_error_init(&error);
}

static void teardown(void)
{
    kiln_arena_fini(&arena);
    json_graph_fini(&graph);
}

TestSuite(contraction_axes, .init = setup, .fini = teardown);

#define ATTRIBUTES(padding, stride, dilation)                                                      \
    " !pre_padding=[" padding "] !post_padding=[" padding "] !stride=[" stride                     \
    "] !dilation=[" dilation "] !conv_mode='CROSS_CORRELATION' "

static const struct kiln_kernel_plan *plan_sketch(const char *sketch)
{
    const struct kiln_lower_options options = {0};
    static struct kiln_kernel_plan plan;
    struct kiln_target target;
    graph_sketch_accept(&graph, sketch, NULL);
    cr_assert_eq(kiln_target_parse("gfx942", &target, &error), KILN_OK);
    cr_assert_eq(kiln_kernel_plan_make(&graph.graph, &target, &options, &arena, &plan, &error),
                 KILN_OK, "%s", error.text);
    return &plan;
}

/* The only kernel's. */
static const struct kiln_contraction_schedule *schedule_sketch(const char *sketch)
{
    const struct kiln_kernel_plan *plan = plan_sketch(sketch);
    cr_assert_eq(plan->partition.group_count, 1);
    return kiln_contraction_schedule_of(&plan->schedules[0]);
}

static void expect_sizes(const struct kiln_role_axes *axes, uint32_t count, int64_t a, int64_t b,
                         int64_t c)
{
    const int64_t sizes[] = {a, b, c};
    cr_assert_eq(axes->count, count, "%u axes", axes->count);
    for (uint32_t i = 0; i < count; i++)
        cr_expect_eq(axes->sizes[i], sizes[i], "axis %u has size %lld", i,
                     (long long)axes->sizes[i]);
}

Test(contraction_axes, one_tap_is_a_matrix_product)
{
    const struct kiln_contraction_schedule *contraction =
        schedule_sketch("ConvolutionFwd x=8,64,14,14:HALF:last w=96,64,1,1:HALF:last "
                        "y=8,96,14,14:HALF:last" ATTRIBUTES("0,0", "1,1", "1,1"));
    expect_sizes(&contraction->problem.rows, 1, 8 * 14 * 14, 0, 0);
    expect_sizes(&contraction->problem.columns, 1, 96, 0, 0);
    expect_sizes(&contraction->problem.sums, 1, 64, 0, 0);
    cr_expect_eq(contraction->problem.windows.count, 0);
    cr_expect_eq(contraction->problem.batches.rank, 0);
}

Test(contraction_axes, so_is_its_data_gradient)
{
    const struct kiln_contraction_schedule *contraction =
        schedule_sketch("ConvolutionBwd dy=8,96,14,14:HALF:last w=96,64,1,1:HALF:last "
                        "dx=8,64,14,14:HALF:last" ATTRIBUTES("0,0", "1,1", "1,1"));
    expect_sizes(&contraction->problem.rows, 1, 8 * 14 * 14, 0, 0);
    expect_sizes(&contraction->problem.sums, 1, 96, 0, 0);
    cr_expect_eq(contraction->problem.windows.count, 0);
    cr_expect_eq(contraction->problem.windows.phase_count, 0);
}

/* Taps and channels go along k, the channels, which are neighbours in memory, last. */
Test(contraction_axes, windows)
{
    const struct kiln_contraction_schedule *contraction =
        schedule_sketch("ConvolutionFwd x=8,64,14,13:HALF:last w=96,64,3,5:HALF:last "
                        "y=8,96,7,11:HALF:last" ATTRIBUTES("1,3", "2,1", "1,2"));
    expect_sizes(&contraction->problem.rows, 3, 8, 7, 11);
    expect_sizes(&contraction->problem.sums, 3, 3, 5, 64);
    cr_assert_eq(contraction->problem.windows.count, 2);
    cr_expect_not(contraction->problem.windows.is_right);
    const struct kiln_window_schedule *high = &contraction->problem.windows.windows[0];
    cr_expect(high->size == 14 && high->offset == -1 && high->phase == KILN_NONE);
    cr_expect(high->row_steps[0] == 0 && high->row_steps[1] == 2 && high->row_steps[2] == 0);
    cr_expect(high->k_steps[0] == 1 && high->k_steps[1] == 0 && high->k_steps[2] == 0);
    const struct kiln_window_schedule *wide = &contraction->problem.windows.windows[1];
    cr_expect(wide->size == 13 && wide->offset == -3 && wide->phase == KILN_NONE);
    cr_expect(wide->row_steps[2] == 1 && wide->k_steps[1] == 2);
    cr_expect(kiln_is_axis_windowed(contraction, &contraction->left, true, 0));
    cr_expect_not(kiln_is_axis_windowed(contraction, &contraction->left, true, 2));
    cr_expect_not(kiln_is_axis_windowed(contraction, &contraction->right, true, 0));
}

/* Seven taps of three channels each: the image's lines, and so the window, are counted in channels,
 * and a run is three packs long. */
Test(contraction_axes, taps_of_few_channels_are_a_run)
{
    const struct kiln_contraction_schedule *contraction =
        schedule_sketch("ConvolutionFwd x=8,3,56,51:HALF:last w=64,3,7,7:HALF:last "
                        "y=8,64,28,25:HALF:last" ATTRIBUTES("3,2", "2,2", "1,1"));
    expect_sizes(&contraction->problem.sums, 2, 7, 24, 0);
    cr_expect_eq(contraction->problem.k, 7 * 24);
    cr_expect_eq(contraction->problem.k_run, 21);
    cr_expect_eq(contraction->k_granule, 8);
    cr_expect_eq(contraction->left.vector, 8);
    cr_expect_eq(contraction->right.vector, 8);
    const struct kiln_window_schedule *wide = &contraction->problem.windows.windows[1];
    cr_expect(wide->size == 51 * 3 && wide->offset == -2 * 3);
    cr_expect(wide->row_steps[2] == 2 * 3 && wide->k_steps[1] == 1);
    cr_expect(contraction->problem.windows.windows[0].size == 56 &&
              contraction->problem.windows.windows[0].k_steps[0] == 1);
}

/* Whole packs of channels, taps that are apart, and weights in another order are none. */
Test(contraction_axes, what_is_no_run)
{
    static const char *const sketches[] = {
        "ConvolutionFwd x=8,64,14,14:HALF:last w=64,64,3,3:HALF:last y=8,64,14,14:HALF:"
        "last" ATTRIBUTES("1,1", "1,1", "1,1"),
        "ConvolutionFwd x=8,3,14,14:HALF:last w=64,3,3,3:HALF:last y=8,64,14,12:HALF:"
        "last" ATTRIBUTES("1,1", "1,1", "1,2"),
        "ConvolutionFwd x=8,3,14,14:HALF:last w=64,3,3,3:HALF y=8,64,14,14:HALF:last" ATTRIBUTES(
            "1,1", "1,1", "1,1"),
    };
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        const struct kiln_contraction_schedule *contraction = schedule_sketch(sketches[i]);
        cr_expect_eq(contraction->problem.k_run, 0, "%zu", i);
        cr_expect_eq(contraction->problem.sums.count, 3, "%zu", i);
        json_graph_fini(&graph);
    }
    graph_sketch_accept(&graph, sketches[0], NULL);
}

/* Where no image ends, a row of taps and their channels are neighbours in both operands. */
Test(contraction_axes, without_a_window_taps_and_channels_are_one)
{
    const struct kiln_contraction_schedule *contraction =
        schedule_sketch("ConvolutionFwd x=8,64,14,13:HALF:last w=96,64,3,5:HALF:last "
                        "y=8,96,12,9:HALF:last" ATTRIBUTES("0,0", "1,1", "1,1"));
    expect_sizes(&contraction->problem.rows, 3, 8, 12, 9);
    expect_sizes(&contraction->problem.sums, 2, 3, 5 * 64, 0);
    cr_expect_eq(contraction->problem.windows.count, 0);
}

/* Stores run along pixels, so filters are rows, and an image is not behind the one before it. */
Test(contraction_axes, images_are_batches_where_channels_come_first)
{
    const struct kiln_contraction_schedule *contraction =
        schedule_sketch("ConvolutionFwd x=8,64,14,14:HALF w=96,64,3,3:HALF "
                        "y=8,96,14,14:HALF" ATTRIBUTES("1,1", "1,1", "1,1"));
    expect_sizes(&contraction->problem.rows, 1, 96, 0, 0);
    expect_sizes(&contraction->problem.columns, 2, 14, 14, 0);
    cr_expect(contraction->problem.windows.is_right);
    cr_assert_eq(contraction->problem.batches.rank, 1);
    cr_expect_eq(contraction->problem.batches.sizes[0], 8);
    cr_expect_eq(contraction->problem.windows.windows[0].batch_steps[0], 0);
}

/* What is added is the same in each row of pixels: no access of the result may be cut by its end.
 */
Test(contraction_axes, batches_go_along_windows)
{
    const struct kiln_contraction_schedule *contraction = schedule_sketch(
        "ConvolutionFwd x=8,64,14,12:HALF w=96,64,3,3:HALF "
        "y=8,96,14,12:virtual" ATTRIBUTES(
            "1,1", "1,1",
            "1,1") "| Pointwise in_0@3 in_1=1,1,1,12 out_0=8,96,14,12:HALF !operation='ADD'");
    expect_sizes(&contraction->problem.columns, 1, 12, 0, 0);
    cr_assert_eq(contraction->problem.batches.rank, 2);
    cr_expect_eq(contraction->problem.batches.sizes[0], 8);
    cr_expect_eq(contraction->problem.batches.sizes[1], 14);
    cr_expect_eq(contraction->problem.windows.windows[0].batch_steps[1], 1);
    cr_expect_eq(contraction->problem.windows.windows[0].batch_steps[0], 0);
}

/* Statistics store no elements, whose memory the rows would follow: the one row of pixels stays
 * between the images and their columns. A factor that all images have in common is not linear along
 * them, though its stride is that of the one row, 0. */
Test(contraction_axes, an_axis_of_one_index_hides_no_other)
{
    const struct kiln_kernel_plan *plan =
        plan_sketch("ConvolutionFwd x=2048,64,1,128:last w=64,64,3,3:last "
                    "y=2048,64,1,128:virtual:last" ATTRIBUTES(
                        "1,1", "1,1", "1,1") "| Pointwise in_0@3 in_1=1,1,1,128 "
                                             "out_0=2048,64,1,128:virtual:last !operation='MUL' "
                                             "| Reduction in@5 out=1,64,1,1 !mode='ADD'");
    const struct kiln_fusion_group *group = &plan->partition.groups[0];
    const struct kiln_contraction_schedule *contraction =
        kiln_contraction_schedule_of(&plan->schedules[0]);
    cr_assert_eq(kiln_ending_statistics(&contraction->ending), KILN_STATISTICS_COLUMNS);
    expect_sizes(&contraction->problem.rows, 3, 2048, 1, 128);
    unsigned factors = 0;
    for (uint32_t i = 0; i < group->load_count; i++) {
        const struct kiln_access_schedule *access = &plan->schedules[0].accesses[i];
        if (!kiln_is_access_of_result(&group->accesses[i]))
            continue;
        factors++;
        cr_expect(contraction->accesses[i].splits_rows);
        cr_expect_eq(access->strides[KILN_STRIDE_ROW], 1);
        cr_expect_eq(access->strides[KILN_STRIDE_OUTER_ROW], 0);
    }
    cr_expect_eq(factors, 1);
}

Test(contraction_axes, groups_are_batches)
{
    const struct kiln_contraction_schedule *contraction =
        schedule_sketch("ConvolutionFwd x=8,64,14,14:HALF:last w=96,16,3,3:HALF:last "
                        "y=8,96,14,14:HALF:last" ATTRIBUTES("1,1", "1,1", "1,1"));
    cr_assert_eq(contraction->problem.batches.rank, 1);
    cr_expect_eq(contraction->problem.batches.sizes[0], 4);
    cr_expect_eq(contraction->problem.batches.domain_steps[0], 24);
    cr_expect_eq(contraction->problem.n, 24);
    cr_expect_eq(contraction->problem.k, 9 * 16);
}

/* A phase has the rows that are a stride apart, and the taps that meet pixels for them. */
Test(contraction_axes, phases_of_a_strided_data_gradient)
{
    static const struct {
        const char *sketch;
        int64_t divisor, spread, rows, taps, step;
    } rows[] = {
        {"ConvolutionBwd dy=1,8,7:HALF w=8,16,3:HALF dx=1,16,15:HALF" ATTRIBUTES("0", "2", "1"), 2,
         2, 8, 2, -1},
        {"ConvolutionBwd dy=1,8,7:HALF w=8,16,3:HALF dx=1,16,17:HALF" ATTRIBUTES("0", "2", "2"), 2,
         1, 9, 3, -1},
        {"ConvolutionBwd dy=1,8,4:HALF w=8,16,3:HALF dx=1,16,25:HALF" ATTRIBUTES("0", "4", "6"), 4,
         2, 7, 2, -3},
        {"ConvolutionBwd dy=1,8,4:HALF w=8,16,1:HALF dx=1,16,10:HALF" ATTRIBUTES("0", "3", "1"), 3,
         3, 4, 1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct kiln_contraction_schedule *contraction = schedule_sketch(rows[i].sketch);
        cr_assert_eq(contraction->problem.windows.phase_count, 1, "%s", rows[i].sketch);
        const struct kiln_phase *phase = &contraction->problem.windows.phases[0];
        cr_expect(phase->divisor == rows[i].divisor && phase->spread == rows[i].spread,
                  "%s: every %lld of %lld", rows[i].sketch, (long long)phase->spread,
                  (long long)phase->divisor);
        cr_expect_eq(contraction->problem.batches.sizes[phase->batch], rows[i].divisor);
        cr_expect_eq(contraction->problem.rows.sizes[phase->row_axis], rows[i].rows, "%s",
                     rows[i].sketch);
        cr_expect_eq(contraction->problem.sums.sizes[phase->k_axis], rows[i].taps, "%s",
                     rows[i].sketch);
        cr_assert_eq(contraction->problem.windows.count, 1);
        cr_expect_eq(contraction->problem.windows.windows[0].phase, 0);
        cr_expect_eq(contraction->problem.windows.windows[0].k_steps[phase->k_axis], rows[i].step,
                     "%s", rows[i].sketch);
        if (i + 1 < sizeof rows / sizeof *rows)
            json_graph_fini(&graph);
    }
}

Test(contraction_axes, a_weight_gradient_has_its_window_along_columns_and_k)
{
    const struct kiln_contraction_schedule *contraction =
        schedule_sketch("ConvolutionWrw x=2,16,9,9:HALF:last dy=2,32,9,9:HALF:last "
                        "dw=32,16,3,3:HALF:last" ATTRIBUTES("1,1", "1,1", "1,1"));
    expect_sizes(&contraction->problem.rows, 1, 32, 0, 0);
    expect_sizes(&contraction->problem.columns, 3, 3, 3, 16);
    expect_sizes(&contraction->problem.sums, 3, 2, 9, 9);
    cr_expect(contraction->problem.windows.is_right);
    cr_assert_eq(contraction->problem.windows.count, 2);
    cr_expect_eq(contraction->problem.windows.windows[0].row_steps[0], 1);
    cr_expect_eq(contraction->problem.windows.windows[0].k_steps[1], 1);
}
