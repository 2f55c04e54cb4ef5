/*
 * Strips of pixels: which convolutions have them, and that work-groups cover the result and fit,
 * whatever the sizes.
 */
#include "compiler/families/contraction/schedule/contraction_direct.h"
#include "compiler/families/contraction/schedule/contraction_direct_tile.h"
#include "compiler/families/contraction/schedule/contraction_strips.h"
#include "tests/support/random_numbers.h"

#include <criterion/criterion.h>

static const char *const targets[] = {"gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_90", "host"};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

static const struct kiln_register_limits no_limits = {
    .vector_elems = UINT32_MAX, .steps = UINT32_MAX, .held_elems = UINT64_MAX};

static struct kiln_target find_target(const char *name)
{
    struct kiln_target target;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse(name, &target, &error), KILN_OK);
    return target;
}

/* A depthwise convolution of images x height x width pixels of the result. */
static struct kiln_contraction_schedule
make_convolution(int64_t images, int64_t height, int64_t width, int64_t channels, int64_t taps)
{
    struct kiln_contraction_schedule contraction = {
        .problem.m = images * height * width,
        .problem.n = channels,
        .problem.k = taps * taps,
        .problem.rows = {.count = 3, .sizes = {images, height, width}},
        .problem.columns = {.count = 1, .sizes = {channels}},
        .problem.sums = {.count = 2, .sizes = {taps, taps}},
        .problem.windows.count = 2,
        .result_vector = channels % 8 == 0 ? 8 : 1,
        .pipeline.kind = KILN_PIPELINE_DIRECT,
    };
    for (uint32_t w = 0; w < 2; w++) {
        contraction.problem.windows.windows[w].size = w == 0 ? height : width;
        contraction.problem.windows.windows[w].row_steps[1 + w] = 1;
        contraction.problem.windows.windows[w].k_steps[w] = 1;
        contraction.problem.windows.windows[w].phase = KILN_NONE;
    }
    return contraction;
}

Test(contraction_strips, windows_of_few_neighbouring_taps_have_them)
{
    struct kiln_contraction_schedule contraction = make_convolution(8, 28, 28, 64, 3);
    cr_expect(kiln_find_strips(false, &contraction));
    cr_expect_eq(contraction.pipeline.strips.taps, 3);
    cr_expect_eq(contraction.pipeline.strips.step, 1);
    contraction.problem.windows.windows[1].row_steps[2] = 2;
    contraction.problem.windows.windows[0].row_steps[1] = 7;
    contraction.problem.windows.windows[0].k_steps[0] = 5;
    cr_expect(kiln_find_strips(false, &contraction), "across lines anything may be");
    cr_expect_eq(contraction.pipeline.strips.step, 2);
    contraction.problem.windows.windows[1].k_steps[1] = -1;
    cr_expect(kiln_find_strips(false, &contraction), "taps may go backwards");
    cr_expect_not(kiln_find_strips(true, &contraction), "pixels are columns");
}

Test(contraction_strips, other_windows_have_none)
{
    struct kiln_contraction_schedule contraction = make_convolution(8, 28, 28, 64, 3);
    contraction.problem.windows.windows[1].k_steps[1] = 2;
    cr_expect_not(kiln_find_strips(false, &contraction), "dilation along lines");
    contraction = make_convolution(8, 28, 28, 64, 3);
    contraction.problem.windows.windows[1].row_steps[2] = 3;
    cr_expect_not(kiln_find_strips(false, &contraction), "a wide stride along lines");
    contraction = make_convolution(8, 28, 28, 64, 11);
    cr_expect_not(kiln_find_strips(false, &contraction), "many taps");
    contraction = make_convolution(8, 28, 28, 64, 1);
    cr_expect_not(kiln_find_strips(false, &contraction), "nothing to share");
    contraction = make_convolution(8, 28, 28, 64, 3);
    contraction.problem.windows.phase_count = 1;
    cr_expect_not(kiln_find_strips(false, &contraction), "phases of a stride");
    contraction = make_convolution(8, 28, 28, 64, 3);
    contraction.pipeline.direct.are_rows_fast = true;
    cr_expect_not(kiln_find_strips(false, &contraction), "pixels are neighbours in memory");
    contraction = make_convolution(8, 28, 28, 64, 3);
    contraction.problem.windows.windows[0].k_steps[1] = 1;
    cr_expect_not(kiln_find_strips(false, &contraction), "an axis of k along two windows");
    contraction = make_convolution(8, 28, 28, 64, 3);
    contraction.problem.windows.windows[1].row_steps[1] = 1;
    cr_expect_not(kiln_find_strips(false, &contraction), "a window along two axes of rows");
}

Test(contraction_strips, work_groups_cover_the_result_and_fit)
{
    struct kiln_random random = {.state = 11};
    for (int i = 0; i < 3000; i++) {
        struct kiln_target target = find_target(targets[i % TARGET_COUNT]);
        struct kiln_contraction_schedule contraction = make_convolution(
            1 + (int64_t)kiln_random_below(&random, 1u << kiln_random_below(&random, 9)),
            1 + (int64_t)kiln_random_below(&random, 1u << kiln_random_below(&random, 9)),
            1 + (int64_t)kiln_random_below(&random, 1u << kiln_random_below(&random, 9)),
            (kiln_random_below(&random, 2) != 0 ? 8 : 1) *
                (1 + (int64_t)kiln_random_below(&random, 1u << kiln_random_below(&random, 10))),
            2 + (int64_t)kiln_random_below(&random, 6));
        cr_assert(kiln_find_strips(false, &contraction));
        kiln_choose_strip_tile(&target, &no_limits, &contraction);
        struct kiln_strip_counts counts = kiln_count_strips(&contraction);
        cr_expect_geq(contraction.pipeline.strips.direct.slots *
                          contraction.pipeline.strips.direct.vectors,
                      1);
        cr_expect_leq(contraction.pipeline.strips.direct.slots *
                          contraction.pipeline.strips.direct.vectors,
                      kiln_direct_block(&target));
        cr_expect_eq(contraction.pipeline.strips.direct.slots,
                     counts.tile_lines * contraction.pipeline.strips.line_slots);
        cr_expect_leq(contraction.tile.n, contraction.pipeline.strips.direct.shared_rows,
                      "a place in local memory");
        cr_expect_leq(kiln_direct_lds_bytes(&contraction, 8), target.lds_bytes);
        cr_expect_eq(contraction.tile.k % contraction.pipeline.strips.taps, 0,
                     "whole lines of the window");
        cr_expect_geq(counts.strips * contraction.pipeline.strips.direct.item_rows, counts.line);
        cr_expect_geq(counts.line_tiles * contraction.pipeline.strips.line_slots, counts.strips);
        cr_expect_geq(counts.column_tiles * contraction.tile.n, contraction.problem.n);
        int64_t groups_of_lines = counts.tiles / counts.line_tiles / counts.column_tiles;
        cr_expect_geq(groups_of_lines * counts.tile_lines * contraction.pipeline.strips.steps,
                      counts.lines);
        cr_expect_lt((groups_of_lines - 1) * counts.tile_lines * contraction.pipeline.strips.steps,
                     counts.lines, "each work-group has a line");
    }
}

/* The number of channels, or of pixels, is no reason for another kernel; how many work-items they
 * make is. */
Test(contraction_strips, many_sizes_share_two_kernels)
{
    struct kiln_target target = find_target("gfx942");
    for (int64_t channels = 16; channels <= 960; channels += 16) {
        struct kiln_contraction_schedule few = make_convolution(1, 7, 7, channels, 3);
        struct kiln_contraction_schedule many = make_convolution(64, 112, 112, channels, 3);
        cr_assert(kiln_find_strips(false, &few) && kiln_find_strips(false, &many));
        kiln_choose_strip_tile(&target, &no_limits, &few);
        kiln_choose_strip_tile(&target, &no_limits, &many);
        cr_expect_eq(few.pipeline.strips.direct.item_rows, 2);
        cr_expect_eq(many.pipeline.strips.direct.item_rows, 4);
        cr_expect_eq(few.pipeline.strips.direct.shared_rows,
                     many.pipeline.strips.direct.shared_rows);
        cr_expect_eq(few.tile.k, many.tile.k);
        cr_expect_geq(many.pipeline.strips.direct.slots * many.pipeline.strips.direct.vectors,
                      3 * kiln_direct_block(&target) / 4,
                      "most work-items have something to do with %d channels", (int)channels);
    }
}

/* Two work-groups are in a compute unit at a time: 3.4 rounds of them would take as long as 4. */
Test(contraction_strips, work_groups_fill_their_rounds)
{
    static const int64_t images[][2] = {{56, 144}, {56, 64}, {28, 192}, {112, 32}};
    static const char *const gpus[] = {"sm_90", "gfx942", "gfx90a"};
    for (size_t t = 0; t < sizeof gpus / sizeof *gpus; t++) {
        struct kiln_target target = find_target(gpus[t]);
        int64_t round = 2 * (int64_t)target.compute_units;
        for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
            struct kiln_contraction_schedule contraction =
                make_convolution(64, images[i][0], images[i][0], images[i][1], 3);
            cr_assert(kiln_find_strips(false, &contraction));
            kiln_choose_strip_tile(&target, &no_limits, &contraction);
            uint32_t steps = contraction.pipeline.strips.steps;
            contraction.pipeline.strips.steps = 1;
            int64_t tiles = kiln_count_strips(&contraction).tiles;
            contraction.pipeline.strips.steps = steps;
            int64_t rounds = (kiln_count_strips(&contraction).tiles + round - 1) / round;
            cr_expect_leq(rounds * round * steps, tiles + tiles / 3, "%s, %d pixels: %u tiles each",
                          gpus[t], (int)images[i][0], steps);
        }
    }
}

Test(contraction_strips, narrow_bounds_make_shorter_strips)
{
    struct kiln_target target = find_target("gfx942");
    struct kiln_register_limits limits = no_limits;
    struct kiln_contraction_schedule contraction = make_convolution(64, 112, 112, 64, 3);
    cr_assert(kiln_find_strips(false, &contraction));
    limits.steps = 1;
    kiln_choose_strip_tile(&target, &limits, &contraction);
    cr_expect_eq(contraction.pipeline.strips.direct.item_rows, 1);
}

/* A billion channels can be shared out in as many ways, but a work-group has 256 vectors at most.
 */
Test(contraction_strips, the_search_is_bounded_whatever_the_sizes, .timeout = 60)
{
    enum { MOST_COMPARED = 8192 };
    static const int64_t channels[] = {1, 255, 4096, (1 << 24) - 1, 1 << 24, 1 << 30, INT32_MAX};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        for (size_t t = 0; t < TARGET_COUNT; t++) {
            struct kiln_target target = find_target(targets[t]);
            struct kiln_contraction_schedule contraction =
                make_convolution(1, 1024, 1 << 20, channels[i], 3);
            cr_assert(kiln_find_strips(false, &contraction));
            uint32_t compared = kiln_choose_strip_tile(&target, &no_limits, &contraction);
            cr_expect_leq(compared, MOST_COMPARED, "%s: %u tiles for %lld channels", targets[t],
                          compared, (long long)channels[i]);
            cr_expect_geq(contraction.pipeline.strips.direct.vectors, 1);
        }
    }
}
