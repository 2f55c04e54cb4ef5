#include "compiler/families/reduction/schedule/reduction_schedule.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/schedule_group.h"
#include "compiler/schedule/vector_access.h"

#include "tests/compiler/families/reduction/reduction_fixture.h"

#include <criterion/criterion.h>

Test(schedule_reduction, softmax_reads_a_row_once_and_holds_it)
{
    struct reduction_case softmax = {.content = REDUCTION_SOFTMAX,
                                     .rank = 2,
                                     .dims = {8192, 8192},
                                     .reduced_axes = 2,
                                     .dtype = KILN_DTYPE_F16};
    struct reduction_scheduled result = reduction_schedule_for("gfx90a", &softmax);
    const struct kiln_schedule *schedule = &result.schedule;
    cr_assert_eq(schedule->family, KILN_FAMILY_REDUCTION);
    cr_assert_eq(kiln_reduction_schedule_of(schedule)->passes.pass_count, 3);
    cr_assert_not(kiln_reduction_is_columns(kiln_reduction_schedule_of(schedule)));
    cr_assert_eq(schedule->walk.vector_elems, 8);
    cr_assert_eq(schedule->launch.block, 512);
    cr_assert_eq(kiln_reduction_schedule_of(schedule)->items_along_reduced, 512);
    cr_assert_eq(kiln_reduction_schedule_of(schedule)->steps_per_item, 2);
    cr_assert(kiln_reduction_is_held(kiln_reduction_schedule_of(schedule)));
    cr_assert_eq(schedule->launch.grid, 8192);
    cr_assert_eq(schedule->traffic.bytes_moved, 2u * 8192 * 8192 * 2);
    cr_assert_eq(schedule->traffic.bytes_moved, schedule->traffic.bytes_fewest);
    reduction_release(&result);
}

Test(schedule_reduction, several_short_rows_share_a_work_group)
{
    struct reduction_case norm = {.content = REDUCTION_NORM,
                                  .rank = 2,
                                  .dims = {4096, 1024},
                                  .reduced_axes = 2,
                                  .dtype = KILN_DTYPE_F32};
    struct reduction_scheduled result = reduction_schedule_for("gfx90a", &norm);
    cr_assert(kiln_reduction_is_held(kiln_reduction_schedule_of(&result.schedule)));
    cr_assert_eq(result.schedule.walk.vector_elems, 4);
    cr_assert_eq(kiln_reduction_schedule_of(&result.schedule)->items_along_reduced, 64);
    cr_assert_eq(kiln_reduction_schedule_of(&result.schedule)->items_along_kept, 4);
    cr_assert_eq(result.schedule.launch.block, 256);
    cr_assert_eq(result.schedule.launch.lds_bytes, 0, "a row is one wave's");
    reduction_release(&result);
}

Test(schedule_reduction, what_does_not_fit_into_registers_is_read_once_per_pass)
{
    struct reduction_case norm = {.content = REDUCTION_NORM,
                                  .rank = 2,
                                  .dims = {512, 200000},
                                  .reduced_axes = 2,
                                  .dtype = KILN_DTYPE_F32};
    struct reduction_scheduled result = reduction_schedule_for("gfx90a", &norm);
    uint64_t x = 512ull * 200000 * 4;
    cr_assert_not(kiln_reduction_is_held(kiln_reduction_schedule_of(&result.schedule)));
    cr_assert_eq(kiln_reduction_schedule_of(&result.schedule)->passes.pass_count, 2);
    cr_assert_eq(result.schedule.launch.block, 1024);
    cr_assert_gt(kiln_reduction_schedule_of(&result.schedule)->steps_per_item, 1);
    cr_assert_eq(result.schedule.traffic.bytes_fewest, 2 * x + 200000 * 4);
    cr_assert_eq(result.schedule.traffic.bytes_moved, 3 * x + 200000 * 4);
    reduction_release(&result);
}

Test(schedule_reduction, what_all_rows_share_is_read_again_only_when_it_is_large)
{
    struct reduction_case centered = {.content = REDUCTION_CENTERED,
                                      .rank = 2,
                                      .dims = {512, 200000},
                                      .reduced_axes = 2,
                                      .dtype = KILN_DTYPE_F32};
    struct reduction_scheduled small = reduction_schedule_for("gfx90a", &centered);
    cr_assert_eq(small.schedule.traffic.bytes_moved, 3 * 512ull * 800000 + 800000);
    reduction_release(&small);

    centered.dims[1] = 400000;
    struct reduction_scheduled large = reduction_schedule_for("gfx90a", &centered);
    cr_assert_eq(large.schedule.traffic.bytes_moved, 3 * 512ull * 1600000 + 2 * 1600000);
    reduction_release(&large);
}

Test(schedule_reduction, long_rows_are_held_by_more_work_items)
{
    struct reduction_case softmax = {.content = REDUCTION_SOFTMAX,
                                     .rank = 2,
                                     .dims = {4096, 32768},
                                     .reduced_axes = 2,
                                     .dtype = KILN_DTYPE_F32};
    static const char *const targets[] = {"gfx90a", "gfx942", "gfx906", "gfx1100", "gfx1201"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct reduction_scheduled result = reduction_schedule_for(targets[i], &softmax);
        cr_assert(kiln_reduction_is_held(kiln_reduction_schedule_of(&result.schedule)), "%s",
                  targets[i]);
        cr_assert_geq(result.schedule.launch.block, 512, "%s", targets[i]);
        reduction_release(&result);
    }
}

Test(schedule_reduction, held_rows_of_a_class_leave_registers_for_occupancy)
{
    static const char *const targets[] = {"gfx90a", "gfx942", "gfx1100", "sm_90"};
    static const int64_t columns[] = {4096, 4100, 8192};
    struct reduction_case norm = {.content = REDUCTION_NORM,
                                  .rank = 2,
                                  .dims = {512, 0},
                                  .reduced_axes = 2,
                                  .dtype = KILN_DTYPE_F32};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        for (size_t j = 0; j < sizeof columns / sizeof *columns; j++) {
            norm.dims[1] = columns[j];
            struct ir_fixture *fixture = reduction_fixture_create(targets[i]);
            fixture->options.shapes = KILN_SHAPES_ARGUMENT;
            struct kiln_fusion_group group = reduction_fixture_group(fixture, &norm);
            struct kiln_schedule schedule = reduction_fixture_schedule(fixture, &group);
            cr_assert(kiln_reduction_is_held(kiln_reduction_schedule_of(&schedule)), "%s",
                      targets[i]);
            cr_assert_eq(schedule.walk.vector_elems, 4, "%s", targets[i]);
            cr_assert_leq(kiln_reduction_schedule_of(&schedule)->steps_per_item, 4, "%s",
                          targets[i]);
            ir_fixture_destroy(fixture);
        }
    }
}

Test(schedule_reduction, the_registers_of_the_target_decide_what_is_held)
{
    struct reduction_case softmax = {.content = REDUCTION_SOFTMAX,
                                     .rank = 2,
                                     .dims = {4096, 65536},
                                     .reduced_axes = 2,
                                     .dtype = KILN_DTYPE_F32};
    struct reduction_scheduled many = reduction_schedule_for("gfx90a", &softmax);
    cr_assert(kiln_reduction_is_held(kiln_reduction_schedule_of(&many.schedule)));
    reduction_release(&many);
    struct reduction_scheduled few = reduction_schedule_for("gfx906", &softmax);
    cr_assert_not(kiln_reduction_is_held(kiln_reduction_schedule_of(&few.schedule)));
    reduction_release(&few);

    /* On CUDA all work-items of a block share a file of 65536. */
    struct ir_fixture *fixture = reduction_fixture_create("gfx90a");
    fixture->target.kind = KILN_TARGET_CUDA; /* without clusters */
    struct kiln_fusion_group group = reduction_fixture_group(fixture, &softmax);
    struct kiln_schedule schedule = reduction_fixture_schedule(fixture, &group);
    cr_assert_not(kiln_reduction_is_held(kiln_reduction_schedule_of(&schedule)));
    ir_fixture_destroy(fixture);
}

Test(schedule_reduction, what_no_later_pass_reads_is_not_held)
{
    struct reduction_case sum = {.content = REDUCTION_SUM,
                                 .rank = 2,
                                 .dims = {4096, 32768},
                                 .reduced_axes = 2,
                                 .dtype = KILN_DTYPE_F32};
    struct reduction_scheduled result = reduction_schedule_for("gfx90a", &sum);
    cr_assert_not(kiln_reduction_is_held(kiln_reduction_schedule_of(&result.schedule)));
    cr_assert_eq(result.schedule.launch.block, 256);
    cr_assert_eq(result.schedule.traffic.bytes_moved, result.schedule.traffic.bytes_fewest);
    reduction_release(&result);
}

Test(schedule_reduction, a_full_reduction_in_segments)
{
    struct reduction_case sum = {.content = REDUCTION_SUM,
                                 .role = KILN_ROLE_PARTIAL,
                                 .rank = 1,
                                 .dims = {1 << 24},
                                 .reduced_axes = 1,
                                 .dtype = KILN_DTYPE_F32,
                                 .segment_count = 512};
    struct reduction_scheduled partial = reduction_schedule_for("gfx90a", &sum);
    cr_assert_not(kiln_reduction_is_columns(kiln_reduction_schedule_of(&partial.schedule)));
    cr_assert_eq(partial.schedule.walk.rank, 1);
    cr_assert_eq(kiln_reduction_schedule_of(&partial.schedule)->kept_count, 1);
    cr_assert_eq(kiln_reduction_schedule_of(&partial.schedule)->steps_per_segment,
                 (1 << 24) / 4 / 512);
    cr_assert_eq(partial.schedule.launch.block, 256);
    cr_assert_eq(partial.schedule.launch.grid, 512);
    cr_assert_eq(partial.schedule.traffic.bytes_moved, (4u << 24) + 512 * 4);
    reduction_release(&partial);

    sum.role = KILN_ROLE_COMBINE;
    struct reduction_scheduled combine = reduction_schedule_for("gfx90a", &sum);
    cr_assert_not(kiln_reduction_is_columns(kiln_reduction_schedule_of(&combine.schedule)),
                  "one row: its segments are dense");
    cr_assert_eq(combine.schedule.walk.rank, 1);
    cr_assert_eq(combine.schedule.walk.dims[0], 512);
    cr_assert_eq(combine.schedule.accesses[0].mode, KILN_ACCESS_VECTOR);
    cr_assert_eq(combine.schedule.launch.grid, 1);
    cr_assert_eq(combine.schedule.traffic.bytes_moved, 512 * 4 + 4);
    reduction_release(&combine);
}

Test(schedule_reduction, a_middle_axis_is_held_too)
{
    struct reduction_case softmax = {.content = REDUCTION_SOFTMAX,
                                     .rank = 3,
                                     .dims = {1000, 64, 1000},
                                     .reduced_axes = 2,
                                     .dtype = KILN_DTYPE_F32};
    struct reduction_scheduled result = reduction_schedule_for("gfx90a", &softmax);
    cr_assert(kiln_reduction_is_columns(kiln_reduction_schedule_of(&result.schedule)));
    cr_assert_eq(result.schedule.walk.rank, 3);
    cr_assert(kiln_reduction_is_held(kiln_reduction_schedule_of(&result.schedule)));
    cr_assert_eq(kiln_reduction_schedule_of(&result.schedule)->kept_count, 1000 * 250);
    reduction_release(&result);
}

Test(schedule_reduction, rows_of_a_few_elements_are_one_work_items)
{
    struct reduction_case sum = {.content = REDUCTION_SUM,
                                 .rank = 2,
                                 .dims = {1000000, 3},
                                 .reduced_axes = 2,
                                 .dtype = KILN_DTYPE_F32};
    struct reduction_scheduled result = reduction_schedule_for("gfx90a", &sum);
    cr_assert_eq(result.schedule.walk.vector_elems, 2);
    cr_assert_eq(result.schedule.walk.moved_elems, 1, "the second vector has one element twice");
    cr_assert_eq(kiln_reduction_schedule_of(&result.schedule)->items_along_reduced, 1);
    cr_assert_eq(kiln_reduction_schedule_of(&result.schedule)->steps_per_item, 2);
    cr_assert_eq(result.schedule.launch.block, 256);
    reduction_release(&result);
}

Test(schedule_reduction, the_last_vector_of_a_row_is_moved_back)
{
    static const struct {
        enum reduction_content content;
        int64_t columns;
        uint32_t moved;
        const char *why;
    } rows[] = {
        {REDUCTION_SOFTMAX, 1024, 0, "vectors divide the row"},
        {REDUCTION_SOFTMAX, 1023, 1, "the last vector shares an element"},
        {REDUCTION_SOFTMAX, 1021, 3, "the last vector shares three elements"},
        {REDUCTION_SOFTMAX, 2049, 0, "one vector more would take another turn of all work-items"},
        {REDUCTION_NORM, 1023, 1, "lanes of moments have counts of their own"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reduction_case reduction = {.content = rows[i].content,
                                           .rank = 2,
                                           .dims = {100000, rows[i].columns},
                                           .reduced_axes = 2,
                                           .dtype = KILN_DTYPE_F32};
        struct reduction_scheduled result = reduction_schedule_for("gfx90a", &reduction);
        cr_expect_eq(result.schedule.walk.vector_elems, 4);
        cr_expect_eq(result.schedule.walk.moved_elems, rows[i].moved, "%s", rows[i].why);
        reduction_release(&result);
    }
}

Test(schedule_reduction, the_last_step_of_a_row_is_not_nearly_empty)
{
    struct reduction_case softmax = {.content = REDUCTION_SOFTMAX,
                                     .rank = 2,
                                     .dims = {8192, 4097},
                                     .reduced_axes = 2,
                                     .dtype = KILN_DTYPE_F16};
    struct reduction_scheduled result = reduction_schedule_for("gfx942", &softmax);
    cr_expect_eq(kiln_reduction_schedule_of(&result.schedule)->step_count, 513);
    cr_expect_eq(kiln_reduction_schedule_of(&result.schedule)->items_along_reduced, 256);
    reduction_release(&result);
    softmax.dims[1] = 4096;
    result = reduction_schedule_for("gfx942", &softmax);
    cr_expect_eq(kiln_reduction_schedule_of(&result.schedule)->items_along_reduced, 512);
    reduction_release(&result);
}

Test(schedule_reduction, lines_have_tails_unless_vectors_divide_them)
{
    struct reduction_case sum = {.content = REDUCTION_SUM,
                                 .rank = 2,
                                 .dims = {7, 1024},
                                 .reduced_axes = 1,
                                 .dtype = KILN_DTYPE_F32};
    struct reduction_scheduled result = reduction_schedule_for("gfx90a", &sum);
    cr_assert_not(kiln_schedule_has_tails(&result.schedule));
    reduction_release(&result);
    sum.dims[1] = 1023;
    struct reduction_scheduled odd = reduction_schedule_for("gfx90a", &sum);
    cr_assert(kiln_schedule_has_tails(&odd.schedule));
    reduction_release(&odd);
}

Test(schedule_reduction, the_memory_order_decides_the_form)
{
    struct reduction_case sum = {.content = REDUCTION_SUM,
                                 .rank = 2,
                                 .dims = {512, 512},
                                 .reduced_axes = 1,
                                 .is_reversed = true,
                                 .dtype = KILN_DTYPE_F32};
    struct reduction_scheduled result = reduction_schedule_for("gfx90a", &sum);
    cr_assert_not(kiln_reduction_is_columns(kiln_reduction_schedule_of(&result.schedule)),
                  "the first axis is the fastest");
    reduction_release(&result);
}

Test(schedule_reduction, few_rows_get_many_work_items)
{
    struct reduction_case sum = {.content = REDUCTION_SUM,
                                 .rank = 2,
                                 .dims = {16, 8192},
                                 .reduced_axes = 2,
                                 .dtype = KILN_DTYPE_F32};
    struct reduction_scheduled result = reduction_schedule_for("gfx90a", &sum);
    cr_assert_eq(result.schedule.launch.block, 1024);
    cr_assert_eq(result.schedule.launch.grid, 16);
    reduction_release(&result);
}

/* kiln explain prints the rule. */
Test(schedule_reduction, the_rule_for_work_items_is_noted)
{
    static const struct {
        enum kiln_items_rule rule;
        const char *target;
        struct reduction_case reduction;
    } rows[] = {
        {KILN_ITEMS_STEPS,
         "gfx90a",
         {REDUCTION_NORM, .rank = 2, .dims = {100000, 1024}, .reduced_axes = 2}},
        {KILN_ITEMS_FILL,
         "gfx90a",
         {REDUCTION_SUM, .rank = 2, .dims = {16, 8192}, .reduced_axes = 2}},
        {KILN_ITEMS_HOLD,
         "gfx90a",
         {REDUCTION_SOFTMAX, .rank = 2, .dims = {100000, 32768}, .reduced_axes = 2}},
        {KILN_ITEMS_CACHE,
         "gfx90a",
         {REDUCTION_NORM, .rank = 2, .dims = {100000, 200000}, .reduced_axes = 2}},
        {KILN_ITEMS_BLOCK,
         "gfx90a",
         {REDUCTION_SUM, .rank = 2, .dims = {16, 1 << 22}, .reduced_axes = 1}},
        {KILN_ITEMS_ALONE,
         "host",
         {REDUCTION_SUM, .rank = 2, .dims = {100000, 8192}, .reduced_axes = 2}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reduction_case reduction = rows[i].reduction;
        reduction.dtype = KILN_DTYPE_F32;
        struct reduction_scheduled result = reduction_schedule_for(rows[i].target, &reduction);
        cr_expect_eq(kiln_reduction_schedule_of(&result.schedule)->items_rule, rows[i].rule,
                     "row %zu: %d", i,
                     (int)kiln_reduction_schedule_of(&result.schedule)->items_rule);
        reduction_release(&result);
    }
}

Test(schedule_reduction, a_core_takes_whole_rows)
{
    struct reduction_case softmax = {.content = REDUCTION_SOFTMAX,
                                     .rank = 2,
                                     .dims = {1024, 8192},
                                     .reduced_axes = 2,
                                     .dtype = KILN_DTYPE_F32};
    struct reduction_scheduled cached = reduction_schedule_for("host", &softmax);
    cr_assert_eq(kiln_reduction_schedule_of(&cached.schedule)->items_along_reduced, 1);
    cr_assert_eq(cached.schedule.launch.lds_bytes, 0);
    cr_assert_geq(cached.schedule.walk.vector_elems, 16);
    cr_assert_geq(cached.schedule.launch.grid, 8);
    cr_assert_eq(cached.schedule.traffic.bytes_moved, cached.schedule.traffic.bytes_fewest,
                 "32 KiB stay in the cache");
    reduction_release(&cached);

    softmax.dims[1] = 1 << 20;
    struct reduction_scheduled again = reduction_schedule_for("host", &softmax);
    cr_assert_eq(again.schedule.traffic.bytes_fewest, 2 * 1024ull * (4 << 20));
    cr_assert_eq(again.schedule.traffic.bytes_moved, 4 * 1024ull * (4 << 20),
                 "three reads and a write");
    reduction_release(&again);
}

Test(schedule_reduction, a_core_takes_the_vectors_that_leave_least_over)
{
    static const struct {
        int64_t length;
        uint32_t vector;
    } expected[] = {{3, 2}, {10, 8}, {24, 8}, {31, 8}, {49, 16}, {1009, 32}, {1024, 32}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct reduction_case sum = {.content = REDUCTION_SUM,
                                     .rank = 2,
                                     .dims = {1000, expected[i].length},
                                     .reduced_axes = 2,
                                     .dtype = KILN_DTYPE_F32};
        struct reduction_scheduled result = reduction_schedule_for("host", &sum);
        cr_assert_eq(result.schedule.walk.vector_elems, expected[i].vector, "%lld",
                     (long long)expected[i].length);
        reduction_release(&result);
    }
}

Test(schedule_reduction, all_cores_get_columns)
{
    struct reduction_case sum = {.content = REDUCTION_SUM,
                                 .rank = 2,
                                 .dims = {8192, 8192},
                                 .reduced_axes = 1,
                                 .dtype = KILN_DTYPE_F32};
    struct reduction_scheduled many = reduction_schedule_for("host", &sum);
    cr_assert_eq(many.schedule.walk.vector_elems, 64);
    reduction_release(&many);

    sum.dims[1] = 256;
    struct reduction_scheduled few = reduction_schedule_for("host", &sum);
    cr_assert_eq(few.schedule.walk.vector_elems, 32);
    cr_assert_eq(few.schedule.launch.grid, 8);
    reduction_release(&few);
}

Test(schedule_reduction, short_lines_without_tails_are_worth_half_the_vector)
{
    struct reduction_case statistics = {.content = REDUCTION_STATISTICS,
                                        .rank = 3,
                                        .dims = {64, 512, 14 * 14},
                                        .reduced_axes = 5,
                                        .dtype = KILN_DTYPE_F16};
    struct reduction_scheduled result = reduction_schedule_for("gfx90a", &statistics);
    cr_assert_eq(result.schedule.walk.vector_elems, 4);
    reduction_release(&result);

    statistics.dims[2] = 7 * 7;
    struct reduction_scheduled odd = reduction_schedule_for("gfx90a", &statistics);
    cr_assert_eq(odd.schedule.walk.vector_elems, 8, "no other vector would do better");
    reduction_release(&odd);
}

Test(schedule_reduction, one_element_at_a_time_on_request)
{
    struct reduction_case softmax = {.content = REDUCTION_SOFTMAX,
                                     .rank = 2,
                                     .dims = {100, 8192},
                                     .reduced_axes = 2,
                                     .dtype = KILN_DTYPE_F32};
    struct ir_fixture *fixture = reduction_fixture_create("gfx90a");
    fixture->options.max_vector_elements = 1;
    struct kiln_fusion_group group = reduction_fixture_group(fixture, &softmax);
    struct kiln_schedule schedule = reduction_fixture_schedule(fixture, &group);
    cr_assert_eq(schedule.walk.vector_elems, 1);
    cr_assert_eq(kiln_reduction_schedule_of(&schedule)->steps_per_item, 1);
    ir_fixture_destroy(fixture);
}

Test(schedule_reduction, little_local_memory_means_smaller_work_groups)
{
    struct reduction_case statistics = {.content = REDUCTION_STATISTICS,
                                        .rank = 2,
                                        .dims = {1 << 20, 256},
                                        .reduced_axes = 1,
                                        .dtype = KILN_DTYPE_F64};
    for (uint32_t lds = 0; lds <= 8192; lds = lds == 0 ? 64 : 2 * lds) {
        struct ir_fixture *fixture = reduction_fixture_create("gfx90a");
        fixture->target.lds_bytes = lds;
        struct kiln_fusion_group group = reduction_fixture_group(fixture, &statistics);
        struct kiln_schedule schedule = reduction_fixture_schedule(fixture, &group);
        cr_assert_leq(schedule.launch.lds_bytes, lds);
        ir_fixture_destroy(fixture);
    }
}

Test(schedule_reduction, prints_what_was_chosen)
{
    struct reduction_case sum = {.content = REDUCTION_SUM,
                                 .role = KILN_ROLE_PARTIAL,
                                 .rank = 2,
                                 .dims = {4096, 8192},
                                 .reduced_axes = 2,
                                 .dtype = KILN_DTYPE_F32,
                                 .segment_count = 4};
    struct reduction_scheduled result = reduction_schedule_for("gfx90a", &sum);
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_schedule_print(&result.schedule, &result.group, &text);
    cr_assert_str_eq(
        kiln_buffer_text(&text),
        "  template reduction (rows), axes 4096 reduced 8192, 128 work-items along the reduced "
        "axes x 2 "
        "along the kept ones, steps 512, 4 at once, read once and held, 4 segments, lds 16 bytes, "
        "vector 4, block 256, grid 8192, 32-bit index\n");
    kiln_buffer_fini(&text);
    reduction_release(&result);
}

static enum kiln_reduction_held held_on(const char *target, enum reduction_content content,
                                        int64_t columns)
{
    struct reduction_case reduction = {.content = content,
                                       .rank = 2,
                                       .dims = {8192, columns},
                                       .reduced_axes = 2,
                                       .dtype = KILN_DTYPE_F16};
    struct reduction_scheduled result = reduction_schedule_for(target, &reduction);
    enum kiln_reduction_held held = kiln_reduction_schedule_of(&result.schedule)->held;
    reduction_release(&result);
    return held;
}

Test(schedule_reduction, what_is_held_stays_narrow_unless_something_costly_is_made_of_it)
{
    cr_assert_eq(held_on("sm_90", REDUCTION_NORM, 8192), KILN_HELD_LOADED);
    cr_assert_eq(held_on("sm_90", REDUCTION_SOFTMAX, 8192), KILN_HELD_CONVERTED,
                 "the exponentials are kept");
    cr_assert_eq(held_on("sm_90", REDUCTION_NORM, 1 << 20), KILN_HELD_NOTHING);
}

Test(schedule_reduction, long_rows_are_held_as_they_were_loaded)
{
    cr_assert_eq(held_on("gfx942", REDUCTION_SOFTMAX, 32768), KILN_HELD_CONVERTED);
    cr_assert_eq(held_on("gfx942", REDUCTION_SOFTMAX, 50264), KILN_HELD_LOADED);
    cr_assert_eq(held_on("gfx942", REDUCTION_NORM, 50264), KILN_HELD_LOADED);
    cr_assert_eq(held_on("sm_80", REDUCTION_SOFTMAX, 50264), KILN_HELD_LOADED);
    cr_assert_eq(held_on("sm_90", REDUCTION_SOFTMAX, 50264), KILN_HELD_CONVERTED,
                 "work-groups of a cluster share a row");
    cr_assert_eq(held_on("gfx942", REDUCTION_SOFTMAX, 1 << 20), KILN_HELD_NOTHING);
}

Test(schedule_reduction, a_launch_stays_below_what_hip_can_count)
{
    static const struct reduction_case cases[] = {
        {.content = REDUCTION_SOFTMAX,
         .rank = 2,
         .dims = {INT64_C(1) << 24, 16384},
         .reduced_axes = 2},
        {.content = REDUCTION_SOFTMAX,
         .rank = 2,
         .dims = {INT64_C(1) << 24, 65536},
         .reduced_axes = 2},
        {.content = REDUCTION_SUM, .rank = 2, .dims = {INT64_C(1) << 24, 65536}, .reduced_axes = 2},
        {.content = REDUCTION_SUM, .rank = 2, .dims = {65536, INT64_C(1) << 28}, .reduced_axes = 1},
        {.content = REDUCTION_NORM, .rank = 2, .dims = {INT64_C(1) << 32, 4}, .reduced_axes = 2},
    };
    static const char *const targets[] = {"gfx90a", "gfx942", "gfx1100", "sm_80", "sm_90"};
    uint32_t largest_block = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t k = 0; k < sizeof targets / sizeof *targets; k++) {
            struct reduction_case reduction = cases[i];
            reduction.dtype = KILN_DTYPE_F32;
            struct reduction_scheduled result = reduction_schedule_for(targets[k], &reduction);
            cr_expect_leq((uint64_t)result.schedule.launch.grid * result.schedule.launch.block,
                          UINT32_MAX, "case %zu on %s", i, targets[k]);
            if (result.schedule.launch.block > largest_block)
                largest_block = result.schedule.launch.block;
            reduction_release(&result);
        }
    }
    cr_expect_eq(largest_block, 1024);
}
