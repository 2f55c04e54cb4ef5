/*
 * Statistics of a product's result that more than one tile has: which kernels they become.
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

TestSuite(contraction_statistics, .init = setup, .fini = teardown);

static struct kiln_kernel_plan make_plan(const char *sketch, const char *target_name)
{
    const struct kiln_lower_options options = {0};
    return sketched_plans_make(&plans, sketch, target_name, &options);
}

#define GEMM    "Matmul a=4096,1024:HALF b=1024,2048:HALF c=4096,2048:HALF"
#define BATCHES "Matmul a=6,512,1024:HALF b=6,1024,2048:HALF c=6,512,2048:HALF"

static const struct {
    const char *sketch;
    enum kiln_statistics statistics; /* of the kernel, whose result is not transposed */
    uint32_t components;             /* of all accumulators */
    uint32_t batches;                /* that share an accumulator */
} rows[] = {
    {GEMM " | Reduction in@3 out=1,2048 !mode='ADD'", KILN_STATISTICS_COLUMNS, 1, 1},
    {GEMM " | Reduction in@3 out=1,2048 !mode='ADD' | Reduction in@3 out=1,2048 !mode='AMAX'",
     KILN_STATISTICS_COLUMNS, 2, 1},
    {GEMM " | Reduction in@3 out=1,1 !mode='AMAX'", KILN_STATISTICS_TILE, 1, 1},
    {GEMM " | Reduction in@3 out=1,1 !mode='NORM2'", KILN_STATISTICS_TILE, 1, 1},
    {GEMM " | Reduction in@3 out=4096,1 !mode='MIN_OP'", KILN_STATISTICS_ROWS, 1, 1},
    /* mean and variance: one accumulator of three */
    {GEMM " | Reduction in@3 out=1,2048 !mode='AVG' | "
          "Pointwise in_0@3 in_1@4 out_0=4096,2048:virtual !operation='SUB' | "
          "Pointwise in_0@5 in_1@5 out_0=4096,2048:virtual !operation='MUL' | "
          "Reduction in@6 out=1,2048 !mode='AVG'",
     KILN_STATISTICS_COLUMNS, 3, 1},
    {BATCHES " | Reduction in@3 out=1,1,2048 !mode='ADD'", KILN_STATISTICS_COLUMNS, 1, 6},
    {BATCHES " | Reduction in@3 out=6,1,2048 !mode='ADD'", KILN_STATISTICS_COLUMNS, 1, 1},
    {BATCHES " | Reduction in@3 out=1,1,1 !mode='MAX_OP'", KILN_STATISTICS_TILE, 1, 6},
    {BATCHES " | Reduction in@3 out=6,1,1 !mode='MAX_OP'", KILN_STATISTICS_TILE, 1, 1},
    {BATCHES " | Reduction in@3 out=1,512,1 !mode='ADD'", KILN_STATISTICS_ROWS, 1, 6},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

static uint32_t tiles_along(int64_t size, uint32_t tile)
{
    return (uint32_t)((size + tile - 1) / tile);
}

static void check_plan(const struct kiln_kernel_plan *plan, size_t row, const char *name)
{
    const struct kiln_fusion_group *groups = plan->partition.groups;
    const char *sketch = rows[row].sketch;
    cr_assert_eq(plan->partition.group_count, 2, "%s on %s: %u kernels", sketch, name,
                 plan->partition.group_count);
    cr_expect_eq(groups[0].family, KILN_FAMILY_CONTRACTION);
    cr_expect_eq(groups[0].role, KILN_ROLE_PARTIAL);
    cr_expect_eq(groups[1].family, KILN_FAMILY_REDUCTION);
    cr_expect_eq(groups[1].role, KILN_ROLE_COMBINE);
    cr_expect_eq(groups[1].boundary, KILN_BOUNDARY_TILES);
    const struct kiln_contraction_schedule *contraction =
        kiln_contraction_schedule_of(&plan->schedules[0]);
    cr_expect_eq(kiln_ending_statistics(&contraction->ending), rows[row].statistics, "%s on %s",
                 sketch, name);
    uint32_t segments = rows[row].batches;
    if (kiln_ending_statistics(&contraction->ending) != KILN_STATISTICS_ROWS)
        segments *= tiles_along(contraction->problem.m, contraction->tile.m);
    if (kiln_ending_statistics(&contraction->ending) != KILN_STATISTICS_COLUMNS)
        segments *= tiles_along(contraction->problem.n, contraction->tile.n);
    cr_expect_eq(groups[0].segment_count, segments, "%s on %s", sketch, name);
    cr_expect_eq(groups[1].segment_count, segments, "%s on %s", sketch, name);
    uint32_t components = 0;
    uint64_t bytes = 0;
    for (uint32_t i = groups[0].load_count; i < groups[0].access_count; i++) {
        const struct kiln_access *access = &groups[0].accesses[i];
        components += access->is_accumulator;
        if (access->is_accumulator)
            bytes += (uint64_t)access->segment_stride * segments * sizeof(float);
    }
    cr_expect_eq(components, rows[row].components, "%s on %s", sketch, name);
    cr_expect_geq(plan->partition.workspace_bytes, bytes, "%s on %s", sketch, name);
    cr_expect_leq(plan->partition.workspace_bytes, bytes + 256 * (uint64_t)components, "%s on %s",
                  sketch, name);
    /* The result is written once and read by nobody. */
    for (uint32_t i = 0; i < groups[1].load_count; i++)
        cr_expect(groups[1].accesses[i].is_accumulator, "%s on %s", sketch, name);
}

Test(contraction_statistics, each_tile_accumulates_and_a_second_kernel_combines)
{
    static const char *const targets[] = {"gfx942", "gfx90a", "gfx1100"};
    for (size_t i = 0; i < ROW_COUNT; i++) {
        struct kiln_kernel_plan plan = make_plan(rows[i].sketch, targets[i % 3]);
        check_plan(&plan, i, targets[i % 3]);
    }
}

Test(contraction_statistics, elements_that_need_them_are_done_behind_the_second_kernel)
{
    struct kiln_kernel_plan plan =
        make_plan("Matmul a=4096,1024:HALF b=1024,2048:HALF c=4096,2048:virtual | "
                  "Reduction in@3 out=1,2048:virtual !mode='AVG' | "
                  "Pointwise in_0@3 in_1@4 out_0=4096,2048:HALF !operation='SUB'",
                  "gfx942");
    const struct kiln_fusion_group *groups = plan.partition.groups;
    cr_assert_eq(plan.partition.group_count, 3);
    cr_expect_eq(groups[0].role, KILN_ROLE_PARTIAL);
    cr_expect_eq(groups[1].role, KILN_ROLE_COMBINE);
    cr_expect_eq(groups[2].family, KILN_FAMILY_POINTWISE);
    cr_expect_eq(groups[0].access_count - groups[0].load_count, 2);
}

Test(contraction_statistics, short_rows_and_few_elements_are_reduced_as_before)
{
    static const struct {
        const char *sketch;
        uint32_t kernels;
    } others[] = {
        /* one tile has all of a row */
        {"Matmul a=4096,64:HALF b=64,512:HALF c=4096,512:HALF | Reduction in@3 out=4096,1 "
         "!mode='AMAX'",
         1},
        /* over batches alone an accumulator would be as large as the result */
        {"Matmul a=64,256,64:HALF b=64,64,2048:HALF c=64,256,2048:HALF | "
         "Reduction in@3 out=1,256,2048 !mode='ADD'",
         2},
        /* so it nearly would with few rows */
        {"Matmul a=500,4,64:HALF b=500,64,2048:HALF c=500,4,2048:HALF | "
         "Reduction in@3 out=500,1,2048 !mode='ADD'",
         2},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct kiln_kernel_plan plan = make_plan(others[i].sketch, "gfx942");
        cr_expect_geq(plan.partition.group_count, others[i].kernels, "%s", others[i].sketch);
        cr_expect_eq(
            kiln_ending_statistics(&kiln_contraction_schedule_of(&plan.schedules[0])->ending),
            KILN_STATISTICS_NONE, "%s", others[i].sketch);
    }
}

/* Of a depthwise convolution n is one channel of each group: the channels are not its axis. */
Test(contraction_statistics, groups_are_no_part_of_a_row)
{
    struct kiln_kernel_plan plan = make_plan(
        "ConvolutionFwd x=2,9,13,18 w=9,1,1,3 y=2,9,13,16 !pre_padding=[0,0] !post_padding=[0,0] "
        "!stride=[1,1] !dilation=[1,1] !conv_mode='CROSS_CORRELATION' | "
        "Reduction in@3 out=1,1,13,16 !mode='AMAX'",
        "gfx942");
    cr_assert_geq(plan.partition.group_count, 2);
    cr_expect_eq(plan.partition.groups[0].family, KILN_FAMILY_CONTRACTION);
    cr_expect_eq(plan.partition.groups[0].reduced_axes, 0);
}

/* The second kernel's text has the number of tiles: forms of the first one keep it. */
Test(contraction_statistics, forms_keep_the_number_of_tiles)
{
    struct kiln_kernel_plan plan = make_plan(rows[0].sketch, "gfx942");
    uint32_t segments = plan.partition.groups[0].segment_count;
    enum kiln_status status = KILN_OK;
    uint32_t forms = 0;
    for (; status == KILN_OK; forms++) {
        cr_expect_eq(plan.schedules[0].segment_count, segments, "form %u", forms);
        status =
            kiln_kernel_plan_relax(&plan, &plans.graphs[plans.count - 1].graph, 0, &plans.error);
    }
    cr_expect_eq(status, KILN_NOT_FOUND);
    cr_expect_gt(forms, 1);
}
