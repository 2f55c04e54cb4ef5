/* Reductions along axes that are not the fastest: columns, and both sides of a kept axis. */
#include "compiler/families/reduction/schedule/reduction_schedule.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/schedule_group.h"
#include "compiler/schedule/vector_access.h"

#include "tests/compiler/families/reduction/reduction_fixture.h"

#include <criterion/criterion.h>

Test(schedule_columns, a_column_sum_reads_neighbouring_columns)
{
    struct reduction_case sum = {.content = REDUCTION_SUM,
                                 .rank = 2,
                                 .dims = {8192, 8192},
                                 .reduced_axes = 1,
                                 .dtype = KILN_DTYPE_F32};
    struct reduction_scheduled result = reduction_schedule_for("gfx90a", &sum);
    const struct kiln_schedule *schedule = &result.schedule;
    cr_assert(kiln_reduction_is_columns(kiln_reduction_schedule_of(schedule)));
    cr_assert_eq(schedule->walk.vector_elems, 4);
    cr_assert_eq(kiln_reduction_schedule_of(schedule)->kept_count, 2048);
    cr_assert_eq(kiln_reduction_schedule_of(schedule)->step_count, 8192);
    cr_assert_geq(kiln_reduction_schedule_of(schedule)->items_along_kept * 16, 128);
    cr_assert_geq(schedule->launch.grid, 110, "no compute unit without work");
    cr_assert_eq(schedule->accesses[0].mode, KILN_ACCESS_VECTOR);
    cr_assert_eq(schedule->accesses[1].mode, KILN_ACCESS_VECTOR);
    reduction_release(&result);
}

Test(schedule_columns, segments_of_columns_are_combined_along_their_own_axis)
{
    struct reduction_case statistics = {.content = REDUCTION_STATISTICS,
                                        .role = KILN_ROLE_PARTIAL,
                                        .rank = 4,
                                        .dims = {64, 56, 56, 256},
                                        .reduced_axes = 7,
                                        .dtype = KILN_DTYPE_F16,
                                        .segment_count = 128};
    struct reduction_scheduled partial = reduction_schedule_for("gfx90a", &statistics);
    cr_assert(kiln_reduction_is_columns(kiln_reduction_schedule_of(&partial.schedule)));
    cr_assert_eq(partial.schedule.walk.rank, 2);
    cr_assert_eq(partial.schedule.walk.reduced_axes, 1);
    cr_assert_eq(kiln_reduction_schedule_of(&partial.schedule)->step_count, 64 * 56 * 56);
    cr_assert_eq(partial.schedule.walk.vector_elems, 8);
    cr_assert_eq(partial.schedule.traffic.bytes_moved,
                 64ull * 56 * 56 * 256 * 2 + 3 * 128 * 256 * 4);
    reduction_release(&partial);

    statistics.role = KILN_ROLE_COMBINE;
    struct reduction_scheduled combine = reduction_schedule_for("gfx90a", &statistics);
    cr_assert(kiln_reduction_is_columns(kiln_reduction_schedule_of(&combine.schedule)));
    cr_assert_eq(combine.schedule.walk.rank, 2);
    cr_assert_eq(combine.schedule.walk.dims[0], 128);
    cr_assert_eq(combine.schedule.walk.dims[1], 256);
    cr_assert_eq(combine.schedule.accesses[0].strides[0], 256);
    cr_assert_eq(combine.schedule.accesses[3].strides[0], 0);
    cr_assert_eq(combine.schedule.accesses[3].mode, KILN_ACCESS_VECTOR);
    cr_assert_eq(combine.schedule.traffic.bytes_moved, 3 * 128 * 256 * 4 + 2 * 256 * 2);
    /* Neighbours read all of the 64 bytes that an AMD GPU's caches ask for, 32 on an NVIDIA GPU. */
    cr_assert_geq(kiln_reduction_schedule_of(&combine.schedule)->items_along_kept *
                      combine.schedule.walk.vector_elems * 4,
                  64);
    reduction_release(&combine);
    combine = reduction_schedule_for("sm_90", &statistics);
    cr_assert_eq(kiln_reduction_schedule_of(&combine.schedule)->items_along_kept *
                     combine.schedule.walk.vector_elems * 4,
                 32);
    reduction_release(&combine);
}

Test(schedule_columns, segments_of_unaligned_columns_are_wide_on_cuda)
{
    struct reduction_case statistics = {.content = REDUCTION_STATISTICS,
                                        .role = KILN_ROLE_PARTIAL,
                                        .rank = 2,
                                        .dims = {16384, 1023},
                                        .reduced_axes = 1,
                                        .dtype = KILN_DTYPE_F16,
                                        .segment_count = 32};
    struct reduction_scheduled odd = reduction_schedule_for("sm_90", &statistics);
    cr_assert_eq(kiln_reduction_schedule_of(&odd.schedule)->items_along_kept, 32);
    reduction_release(&odd);
    odd = reduction_schedule_for("gfx942", &statistics);
    cr_assert_eq(kiln_reduction_schedule_of(&odd.schedule)->items_along_kept, 8);
    reduction_release(&odd);
    statistics.dims[1] = 1024;
    struct reduction_scheduled even = reduction_schedule_for("sm_90", &statistics);
    cr_assert_eq(kiln_reduction_schedule_of(&even.schedule)->items_along_kept, 8);
    reduction_release(&even);
}

/* Strips of 128 bytes, or of 64 where those would leave more than half of the compute units idle.
 */
Test(schedule_columns, few_whole_columns_have_narrow_strips)
{
    static const struct {
        const char *target;
        int64_t columns;
        uint32_t items_along_kept; /* of 16 bytes each */
    } cases[] = {
        {"gfx942", 4096, 4}, {"gfx942", 10007, 8}, {"gfx90a", 4096, 8}, {"sm_90", 4097, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reduction_case sum = {.content = REDUCTION_SUM,
                                     .rank = 2,
                                     .dims = {4096, cases[i].columns},
                                     .reduced_axes = 1,
                                     .dtype = KILN_DTYPE_F16};
        struct reduction_scheduled result = reduction_schedule_for(cases[i].target, &sum);
        cr_expect_eq(kiln_reduction_schedule_of(&result.schedule)->items_along_kept,
                     cases[i].items_along_kept, "%s", cases[i].target);
        reduction_release(&result);
    }
}

static double busy_items(const char *target, enum reduction_content content, int64_t columns)
{
    struct reduction_case reduction = {.content = content,
                                       .rank = 2,
                                       .dims = {4096, columns},
                                       .reduced_axes = 1,
                                       .dtype = KILN_DTYPE_F16};
    struct reduction_scheduled result = reduction_schedule_for(target, &reduction);
    double busy = kiln_reduction_schedule_of(&result.schedule)->busy_items;
    reduction_release(&result);
    return busy;
}

/* 1024 work-items fill a compute unit, if each has one access in flight. */
Test(schedule_columns, columns_count_what_they_have_in_flight)
{
    cr_expect_float_eq(busy_items("gfx942", REDUCTION_SUM, 4096), 2 * 128 * 1024.0, 1);
    cr_expect_float_eq(busy_items("sm_90", REDUCTION_SUM, 4096), 132 * 1024.0, 1);
    cr_expect_float_eq(busy_items("sm_90", REDUCTION_SUM, 2047), 64 * 1024.0, 1,
                       "unaligned vectors: a multiprocessor has no more than its share");
    cr_expect_float_eq(busy_items("sm_90", REDUCTION_SOFTMAX, 8192), 132 * 1024.0, 1);
    cr_expect_float_eq(busy_items("sm_90", REDUCTION_SOFTMAX, 8193), 129 * 512.0, 1,
                       "unaligned stores take twice the time");
}

Test(schedule_columns, channels_first_have_two_reduced_axes_around_the_kept_one)
{
    struct reduction_case statistics = {.content = REDUCTION_STATISTICS,
                                        .rank = 4,
                                        .dims = {64, 256, 56, 56},
                                        .reduced_axes = 13,
                                        .dtype = KILN_DTYPE_F16};
    struct reduction_scheduled result = reduction_schedule_for("gfx90a", &statistics);
    cr_assert_not(kiln_reduction_is_columns(kiln_reduction_schedule_of(&result.schedule)));
    cr_assert_eq(result.schedule.walk.rank, 3);
    cr_assert_eq(result.schedule.walk.reduced_axes, 5);
    cr_assert_eq(kiln_reduction_schedule_of(&result.schedule)->kept_count, 256);
    cr_assert_eq(kiln_reduction_schedule_of(&result.schedule)->step_count, 64 * 3136 / 8);
    cr_assert_eq(result.schedule.accesses[1].mode, KILN_ACCESS_SPLAT, "one result per row");
    reduction_release(&result);
}
