#include "compiler/families/reduction/schedule/reduction_schedule.h"

#include "compiler/emit/emit.h"
#include "compiler/schedule/schedule_family.h"
#include "compiler/schedule/schedule_group.h"
#include "tests/compiler/families/reduction/reduction_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

struct cluster {
    struct kiln_reduction_schedule reduction;
    struct kiln_schedule_launch launch;
    bool has_cluster_text;
};

static struct cluster cluster_of_case(const char *target, const struct reduction_case *reduction)
{
    struct ir_fixture *fixture = reduction_fixture_create(target);
    struct kiln_fusion_group group = reduction_fixture_group(fixture, reduction);
    struct kiln_schedule schedule = reduction_fixture_schedule(fixture, &group);
    struct cluster cluster = {.reduction = *kiln_reduction_schedule_of(&schedule),
                              .launch = schedule.launch};
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_kernel kernel;
    struct kiln_emission emission = {.ir = &fixture->ir,
                                     .graph = &fixture->graph,
                                     .group = &group,
                                     .schedule = &schedule,
                                     .target = &fixture->target};
    cr_assert_eq(kiln_emit_kernel(&emission, &kernel, &error), KILN_OK, "%s", error.text);
    cluster.has_cluster_text =
        strstr(kernel.source, "KILN_DEVICE void kiln_cluster_wait()") != NULL;
    ir_fixture_destroy(fixture);
    return cluster;
}

static struct cluster cluster_of(const char *target, enum reduction_content content,
                                 enum kiln_dtype dtype, int64_t rows, int64_t columns)
{
    struct reduction_case reduction = {
        .content = content, .rank = 2, .dims = {rows, columns}, .reduced_axes = 2, .dtype = dtype};
    return cluster_of_case(target, &reduction);
}

Test(reduction_cluster, work_groups_of_a_cluster_share_long_rows)
{
    static const struct {
        int64_t columns;
        uint32_t groups, items;
    } cases[] = {
        {16384, 1, 256}, /* 64 KiB */
        {32767, 4, 256},
        {50257, 8, 128},
        {262144, 8, 512},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cluster cluster =
            cluster_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_F32, 512, cases[i].columns);
        const struct kiln_reduction_schedule *reduction = &cluster.reduction;
        cr_expect_eq(reduction->groups_of_row, cases[i].groups, "%d", (int)cases[i].columns);
        cr_expect_eq(reduction->segment_count, cases[i].groups);
        cr_expect_eq(cluster.launch.grid_unit, cases[i].groups);
        cr_expect_eq(cluster.launch.chunk_count, 512 * cases[i].groups);
        cr_expect_eq(cluster.launch.grid % cases[i].groups, 0);
        cr_expect_eq(cluster.has_cluster_text, cases[i].groups > 1);
        cr_expect(kiln_reduction_is_held(reduction));
        if (cases[i].groups > 1) {
            cr_expect_eq(reduction->items_along_kept, 1);
            cr_expect_eq(reduction->items_along_reduced, cases[i].items, "%d: %u",
                         (int)cases[i].columns, reduction->items_along_reduced);
        }
    }
}

Test(reduction_cluster, short_rows_of_many_operands_have_waves_to_merge)
{
    static const struct {
        uint32_t operands;
        int64_t columns;
    } cases[] = {{7, 2720}, {13, 1360}, {16, 1025}, {16, 1100}, {16, 1300}, {40, 1024}, {40, 600}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reduction_case reduction = {.content = REDUCTION_SOFTMAX,
                                           .rank = 2,
                                           .dims = {16384, cases[i].columns},
                                           .reduced_axes = 2,
                                           .dtype = KILN_DTYPE_F32,
                                           .addend_count = cases[i].operands - 1};
        struct cluster cluster = cluster_of_case("sm_90", &reduction);
        cr_expect(
            cluster.reduction.groups_of_row == 1 ||
                (cluster.reduction.items_along_reduced >= 128 && cluster.launch.lds_bytes > 0),
            "%u of %d: %u groups of %u work-items", cases[i].operands, (int)cases[i].columns,
            cluster.reduction.groups_of_row, cluster.reduction.items_along_reduced);
    }
}

Test(reduction_cluster, prints_and_explains_what_was_chosen)
{
    struct reduction_case softmax = {.content = REDUCTION_SOFTMAX,
                                     .rank = 2,
                                     .dims = {512, 50257},
                                     .reduced_axes = 2,
                                     .dtype = KILN_DTYPE_F32};
    struct ir_fixture *fixture = reduction_fixture_create("sm_90");
    struct kiln_fusion_group group = reduction_fixture_group(fixture, &softmax);
    struct kiln_schedule schedule = reduction_fixture_schedule(fixture, &group);
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_schedule_print(&schedule, &group, &text);
    cr_expect_not_null(strstr(kiln_buffer_text(&text), ", cluster of 8, "), "%s",
                       kiln_buffer_text(&text));
    cr_expect_not_null(strstr(kiln_buffer_text(&text), ", vector 4 skewed by 1, "), "%s",
                       kiln_buffer_text(&text));
    kiln_schedule_family(schedule.family)->explain(&schedule, &fixture->target, &text);
    cr_expect_not_null(strstr(kiln_buffer_text(&text), "; 1024 work-items share a row, "), "%s",
                       kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    ir_fixture_destroy(fixture);
}

Test(reduction_cluster, an_entry_more_is_for_the_other_work_groups)
{
    struct cluster cluster = cluster_of("sm_90", REDUCTION_SOFTMAX, KILN_DTYPE_F32, 512, 32768);
    cr_expect_eq(cluster.launch.lds_bytes,
                 (cluster.reduction.items_along_reduced / 32 + 1) * sizeof(float));
}

Test(reduction_cluster, other_targets_and_what_is_read_once_have_none)
{
    cr_expect_eq(
        cluster_of("sm_80", REDUCTION_SOFTMAX, KILN_DTYPE_F32, 512, 65536).reduction.groups_of_row,
        1);
    cr_expect_eq(
        cluster_of("gfx942", REDUCTION_SOFTMAX, KILN_DTYPE_F32, 512, 65536).reduction.groups_of_row,
        1);
    cr_expect_eq(
        cluster_of("sm_90", REDUCTION_SUM, KILN_DTYPE_F32, 512, 65536).reduction.groups_of_row, 1);
}
