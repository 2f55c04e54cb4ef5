/*
 * The direct form of a contraction: which axes are groups, and that its work-groups cover the
 * result and fit, whatever the sizes.
 */
#include "compiler/families/contraction/schedule/contraction_direct.h"
#include "compiler/families/contraction/schedule/contraction_direct_tile.h"
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
    struct kiln_contraction contraction = {0};
    const struct kiln_map_axis nowhere = kiln_map_axis_nowhere();
    kiln_contraction_append(&contraction, KILN_AXIS_BATCH, groups, kiln_map_axis_along(1),
                            kiln_map_axis_along(2), kiln_map_axis_along(1));
    kiln_contraction_append(&contraction, KILN_AXIS_N, 1, nowhere, kiln_map_axis_along(2),
                            kiln_map_axis_along(1));
    kiln_contraction_append(&contraction, KILN_AXIS_K, 3, kiln_map_axis_along(0),
                            kiln_map_axis_along(0), nowhere);
    return contraction;
}

Test(contraction_direct, groups_share_an_axis_of_the_result_with_columns)
{
    struct kiln_contraction convolution = make_convolution(8);
    cr_expect(kiln_is_group_axis(&convolution, 0));
    cr_expect_not(kiln_is_group_axis(&convolution, 1), "no batch");
    cr_expect_not(kiln_is_group_axis(&convolution, 2), "no batch");
    struct kiln_contraction one = make_convolution(1);
    cr_expect_not(kiln_is_group_axis(&one, 0), "one group is all");
    struct kiln_contraction product = convolution;
    product.maps[KILN_CONTRACT_RESULT].axes[0].along = 2;
    cr_expect_not(kiln_is_group_axis(&product, 0), "batches of a matrix product");
    product = convolution;
    product.maps[KILN_CONTRACT_LEFT].axes[0].repeat.value = 2;
    cr_expect_not(kiln_is_group_axis(&product, 0), "heads that share an operand");
    product = convolution;
    product.maps[KILN_CONTRACT_LEFT].axes[0].along = KILN_NO_AXIS;
    cr_expect_not(kiln_is_group_axis(&product, 0), "an operand that all share");
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
            .pipeline = {.kind = KILN_PIPELINE_DIRECT,
                         .direct.are_rows_fast = kiln_random_below(&random, 3) == 0},
            .result_vector = 1u << kiln_random_below(&random, 4)};
        if (contraction.pipeline.direct.are_rows_fast)
            contraction.result_vector = 1;
        contraction.problem.m =
            1 + (int64_t)kiln_random_below(&random, (uint32_t)1 << kiln_random_below(&random, 22));
        contraction.problem.n =
            (int64_t)contraction.result_vector *
            (1 + kiln_random_below(&random, 1u << kiln_random_below(&random, 12)));
        kiln_choose_direct_tile(&target, &no_limits, is_left_shared, &contraction);
        cr_expect_geq(contraction.pipeline.direct.slots, 1);
        cr_expect_geq(contraction.pipeline.direct.vectors, 1);
        cr_expect_leq(contraction.pipeline.direct.slots * contraction.pipeline.direct.vectors,
                      block);
        cr_expect_eq(contraction.tile.m,
                     contraction.pipeline.direct.slots * contraction.pipeline.direct.item_rows);
        cr_expect_eq(contraction.tile.n,
                     contraction.pipeline.direct.vectors * contraction.result_vector);
        cr_expect_leq(is_left_shared ? contraction.tile.m : contraction.tile.n,
                      contraction.pipeline.direct.shared_rows,
                      "what is shared has a place in local memory");
        cr_expect_leq(kiln_direct_lds_bytes(&contraction, 8), target.lds_bytes);
    }
}

/* The number of channels, or of pixels, is no reason for another kernel; how many work-items they
 * make is. */
Test(contraction_direct, many_sizes_share_two_kernels)
{
    struct kiln_target target = find_target("gfx942");
    for (int64_t channels = 16; channels <= 960; channels += 16) {
        struct kiln_contraction_schedule few = {.problem.m = 49,
                                                .problem.n = channels,
                                                .pipeline.kind = KILN_PIPELINE_DIRECT,
                                                .result_vector = 8};
        struct kiln_contraction_schedule many = {.problem.m = 8 << 20,
                                                 .problem.n = channels,
                                                 .pipeline.kind = KILN_PIPELINE_DIRECT,
                                                 .result_vector = 8};
        kiln_choose_direct_tile(&target, &no_limits, false, &few);
        kiln_choose_direct_tile(&target, &no_limits, false, &many);
        cr_expect_eq(few.pipeline.direct.item_rows, 1);
        cr_expect_gt(many.pipeline.direct.item_rows, 1);
        cr_expect_eq(few.pipeline.direct.shared_rows, many.pipeline.direct.shared_rows);
        cr_expect_eq(few.tile.k, many.tile.k);
        cr_expect_geq(many.pipeline.direct.slots * many.pipeline.direct.vectors,
                      3 * kiln_direct_block(&target) / 4,
                      "most work-items have something to do with %d channels", (int)channels);
    }
}

Test(contraction_direct, narrow_bounds_make_smaller_kernels)
{
    struct kiln_target target = find_target("gfx942");
    struct kiln_register_limits limits = no_limits;
    struct kiln_contraction_schedule contraction = {.problem.m = 8 << 20,
                                                    .problem.n = 64,
                                                    .pipeline.kind = KILN_PIPELINE_DIRECT,
                                                    .result_vector = 8};
    limits.steps = 1;
    kiln_choose_direct_tile(&target, &limits, false, &contraction);
    cr_expect_eq(contraction.pipeline.direct.item_rows, 1);
}
