/*
 * The direct form of a contraction: which axes are groups, and that its work-groups cover the
 * result and fit, whatever the sizes.
 */
#include "compiler/schedule/contraction_direct.h"
#include "tests/support/random_numbers.h"

#include <criterion/criterion.h>

static const char *const targets[] = {"gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_90", "host"};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

static struct kiln_target find_target(const char *name)
{
    struct kiln_target target;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse(name, &target, &error), KILN_OK);
    return target;
}

/* Axes of a convolution of one line of pixels: groups, output channels, and taps. */
static struct kiln_contraction make_convolution(int64_t groups)
{
    struct kiln_contraction contraction = {.axis_count = 3};
    struct kiln_contraction_axis *axes = contraction.axes;
    axes[0] = (struct kiln_contraction_axis){
        .role = KILN_AXIS_BATCH, .size = groups, .left = 1, .right = 2, .result = 1};
    axes[1] = (struct kiln_contraction_axis){
        .role = KILN_AXIS_N, .size = 1, .left = KILN_NO_AXIS, .right = 2, .result = 1};
    axes[2] = (struct kiln_contraction_axis){
        .role = KILN_AXIS_K, .size = 3, .left = 0, .right = 0, .result = KILN_NO_AXIS};
    for (uint32_t i = 0; i < contraction.axis_count; i++) {
        axes[i].left_repeat = axes[i].right_repeat = 1;
        axes[i].left_step = axes[i].right_step = axes[i].result_step = 1;
    }
    return contraction;
}

Test(contraction_direct, groups_share_an_axis_of_the_result_with_columns)
{
    struct kiln_contraction convolution = make_convolution(8);
    cr_expect(kiln_is_group_axis(&convolution, &convolution.axes[0]));
    cr_expect_not(kiln_is_group_axis(&convolution, &convolution.axes[1]), "no batch");
    cr_expect_not(kiln_is_group_axis(&convolution, &convolution.axes[2]), "no batch");
    struct kiln_contraction one = make_convolution(1);
    cr_expect_not(kiln_is_group_axis(&one, &one.axes[0]), "one group is all");
    struct kiln_contraction product = convolution;
    product.axes[0].result = 2;
    cr_expect_not(kiln_is_group_axis(&product, &product.axes[0]), "batches of a matrix product");
    product = convolution;
    product.axes[0].left_repeat = 2;
    cr_expect_not(kiln_is_group_axis(&product, &product.axes[0]), "heads that share an operand");
    product = convolution;
    product.axes[0].left = KILN_NO_AXIS;
    cr_expect_not(kiln_is_group_axis(&product, &product.axes[0]), "an operand that all share");
}

static const struct kiln_register_limits no_limits = {
    .vector_elems = UINT32_MAX, .steps = UINT32_MAX, .held_elems = UINT64_MAX};

Test(contraction_direct, work_groups_fit_whatever_the_sizes)
{
    struct kiln_random random = {.state = 5};
    for (int i = 0; i < 3000; i++) {
        struct kiln_target target = find_target(targets[i % TARGET_COUNT]);
        uint32_t block = kiln_direct_block(&target);
        bool is_left_shared = kiln_random_below(&random, 2) != 0;
        struct kiln_contraction_schedule contraction = {
            .are_rows_fast = kiln_random_below(&random, 3) == 0,
            .result_vector = 1u << kiln_random_below(&random, 4)};
        if (contraction.are_rows_fast)
            contraction.result_vector = 1;
        contraction.m =
            1 + (int64_t)kiln_random_below(&random, (uint32_t)1 << kiln_random_below(&random, 22));
        contraction.n = (int64_t)contraction.result_vector *
                        (1 + kiln_random_below(&random, 1u << kiln_random_below(&random, 12)));
        kiln_choose_direct_tile(&target, &no_limits, is_left_shared, &contraction);
        cr_expect_geq(contraction.slots, 1);
        cr_expect_geq(contraction.vectors, 1);
        cr_expect_leq(contraction.slots * contraction.vectors, block);
        cr_expect_eq(contraction.tile_m, contraction.slots * contraction.item_rows);
        cr_expect_eq(contraction.tile_n, contraction.vectors * contraction.result_vector);
        cr_expect_leq(is_left_shared ? contraction.tile_m : contraction.tile_n,
                      contraction.shared_rows, "what is shared has a place in local memory");
        cr_expect_leq(kiln_direct_lds_bytes(&contraction, 8), target.lds_bytes);
    }
}

/* The number of channels, or of pixels, is no reason for another kernel; how many work-items they
 * make is. */
Test(contraction_direct, many_sizes_share_two_kernels)
{
    struct kiln_target target = find_target("gfx942");
    for (int64_t channels = 16; channels <= 960; channels += 16) {
        struct kiln_contraction_schedule few = {.m = 49, .n = channels, .result_vector = 8};
        struct kiln_contraction_schedule many = {.m = 8 << 20, .n = channels, .result_vector = 8};
        kiln_choose_direct_tile(&target, &no_limits, false, &few);
        kiln_choose_direct_tile(&target, &no_limits, false, &many);
        cr_expect_eq(few.item_rows, 1);
        cr_expect_gt(many.item_rows, 1);
        cr_expect_eq(few.shared_rows, many.shared_rows);
        cr_expect_eq(few.tile_k, many.tile_k);
        cr_expect_geq(many.slots * many.vectors, 3 * kiln_direct_block(&target) / 4,
                      "most work-items have something to do with %d channels", (int)channels);
    }
}

Test(contraction_direct, narrow_bounds_make_smaller_kernels)
{
    struct kiln_target target = find_target("gfx942");
    struct kiln_register_limits limits = no_limits;
    struct kiln_contraction_schedule contraction = {.m = 8 << 20, .n = 64, .result_vector = 8};
    limits.steps = 1;
    kiln_choose_direct_tile(&target, &limits, false, &contraction);
    cr_expect_eq(contraction.item_rows, 1);
}
