/* Products and convolutions whose results are quantised by blocks: in one kernel, or why not. */
#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_schedule.h"
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

TestSuite(quantised_products_plan, .init = setup, .fini = teardown);

static const char *const targets[] = {"gfx90a",  "gfx942", "gfx1030", "gfx1100",
                                      "gfx1201", "sm_90",  "host"};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

#define GEMM(n) "Matmul a=256,64:HALF b=64," n ":HALF c=256," n ":HALF:virtual | "
#define BIAS_GELU(n)                                                                               \
    "Pointwise in_0@3 in_1=1," n ":HALF out_0=256," n ":virtual !operation='ADD' | "               \
    "Pointwise in_0@5 out_0=256," n ":HALF:virtual !operation='GELU_FWD' | "
#define QUANTIZE(x, n, scales, block)                                                              \
    "BlockScaleQuantize x@" x " y=256," n ":FP8_E4M3 scale=256," scales                            \
    ":FP8_E8M0 !block_size=" block

static struct kiln_kernel_plan make_plan(const char *sketch, const char *target)
{
    const struct kiln_lower_options options = {0};
    return sketched_plans_make(&plans, sketch, target, &options);
}

static const struct {
    const char *sketch;
    uint32_t kernels;
    uint32_t block; /* of the product's kernel; 0: it reduces none */
} rows[] = {
    {GEMM("2048") QUANTIZE("3", "2048", "64", "32"), 1, 32},
    {GEMM("2048") BIAS_GELU("2048") QUANTIZE("6", "2048", "64", "32"), 1, 32},
    {GEMM("1024") BIAS_GELU("1024") QUANTIZE("6", "1024", "64", "16"), 1, 16},
    {GEMM("1152") BIAS_GELU("1152") QUANTIZE("6", "1152", "9", "128"), 1, 128},
    /* The quantised values are an output too; scales are floats. */
    {GEMM("96") "Pointwise in_0@3 in_1=256,96:HALF out_0=256,96:HALF !operation='ADD' | "
                "BlockScaleQuantize x@5 y=256,96:INT8 scale=256,3 !block_size=32",
     1, 32},
    /* SwiGLU */
    {"Matmul a=4096,512:HALF b=512,2048:HALF c=4096,2048:HALF:virtual | "
     "Matmul a@1 b=512,2048:HALF c=4096,2048:HALF:virtual | "
     "Pointwise in_0@3 out_0=4096,2048:virtual !operation='SWISH_FWD' | "
     "Pointwise in_0@6 in_1@5 out_0=4096,2048:virtual !operation='MUL' | "
     "BlockScaleQuantize x@7 y=4096,2048:FP8_E4M3 scale=4096,16 !block_size=128",
     1, 128},
    {"Matmul a=6,40,64:HALF b=6,64,96:HALF c=6,40,96:HALF:virtual | BlockScaleQuantize x@3 "
     "y=6,40,96:FP8_E5M2 scale=6,40,3 !block_size=32",
     1, 32},
    /* Channels of images, next to each other in memory. */
    {"ConvolutionFwd x=2,32,14,14:HALF:last w=64,32,3,3:HALF:last y=2,64,14,14:HALF:virtual:last "
     "!pre_padding=[1,1] !post_padding=[1,1] !stride=[1,1] !dilation=[1,1] "
     "!conv_mode='CROSS_CORRELATION' | BlockScaleQuantize x@3 y=2,64,14,14:FP8_E4M3:last "
     "scale=2,2,14,14:last !block_size=32 !axis=1",
     1, 32},
    /* The product runs along its rows, and so do the blocks. */
    {"Matmul a=96,64:HALF b=64,48:HALF c=96,48:virtual:turned | BlockScaleQuantize x@3 "
     "y=96,48:FP8_E4M3:turned scale=3,48:turned !block_size=32 !axis=0",
     1, 32},
    /* A row is one block: a reduction of whole rows. */
    {GEMM("64") QUANTIZE("3", "64", "1", "64"), 1, 0},
    /* No tile has whole blocks of these sizes. */
    {GEMM("1024") QUANTIZE("3", "1024", "4", "256"), 2, 0},
    {GEMM("1920") QUANTIZE("3", "1920", "80", "24"), 2, 0},
    /* Blocks lie across the columns. */
    {GEMM("96") "BlockScaleQuantize x@3 y=256,96:FP8_E4M3 scale=8,96 !block_size=32 !axis=0", 2, 0},
    /* Others read the product as well. */
    {GEMM("96") "Reduction in@3 out=256,1 !mode='ADD' | " QUANTIZE("3", "96", "3", "32"), 2, 0},
};

Test(quantised_products_plan, kernels)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int t = 0; t < TARGET_COUNT; t++) {
            struct kiln_kernel_plan plan = make_plan(rows[i].sketch, targets[t]);
            const struct kiln_schedule *schedule = &plan.schedules[0];
            cr_expect_eq(plan.partition.group_count, rows[i].kernels, "%s: %u kernels for %s",
                         targets[t], plan.partition.group_count, rows[i].sketch);
            cr_assert_eq(schedule->family, KILN_FAMILY_CONTRACTION);
            const struct kiln_contraction_schedule *contraction =
                kiln_contraction_schedule_of(schedule);
            cr_expect_eq(contraction->problem.block, rows[i].block, "%s: %s", targets[t],
                         rows[i].sketch);
            cr_expect_eq(contraction->problem.columns.count, 1, "%s: %s", targets[t],
                         rows[i].sketch);
            if (plan.partition.group_count == 1)
                cr_expect_eq(schedule->traffic.bytes_moved, schedule->traffic.bytes_fewest,
                             "%s: %s", targets[t], rows[i].sketch);
        }
    }
}

/* Elements of 4 and 6 bits, of blocks or of whole rows. Vectors start at whole bytes. */
Test(quantised_products_plan, packed_elements)
{
    static const struct {
        const char *sketch;
        uint32_t kernels;
    } packed[] = {
        {GEMM("2048") "BlockScaleQuantize x@3 y=256,2048:FP4_E2M1 scale=256,64:FP8_E8M0 "
                      "!block_size=32",
         1},
        {GEMM("96") "BlockScaleQuantize x@3 y=256,96:FP6_E3M2 scale=256,6:FP8_E8M0 !block_size=16",
         1},
        {GEMM("64") "BlockScaleQuantize x@3 y=256,64:FP4_E2M1 scale=256,1 !block_size=64", 1},
        /* Rows are no whole vectors, or the elements of a block are no neighbours in memory. */
        {GEMM("60") "BlockScaleQuantize x@3 y=256,60:FP4_E2M1 scale=256,1 !block_size=60", 2},
        {GEMM("96") "BlockScaleQuantize x@3 y=256,96:FP4_E2M1:turned scale=256,6 !block_size=16",
         2},
    };
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        for (int t = 0; t < TARGET_COUNT; t++) {
            bool is_cuda = strcmp(targets[t], "sm_90") == 0;
            struct kiln_kernel_plan plan = make_plan(packed[i].sketch, targets[t]);
            cr_expect_eq(plan.partition.group_count, is_cuda ? 2 : packed[i].kernels, "%s: %s",
                         targets[t], packed[i].sketch);
        }
    }
}

/* Kernels that spill are made again with smaller tiles, which have whole blocks too. */
Test(quantised_products_plan, blocks_in_every_form)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int t = 0; t < TARGET_COUNT && rows[i].block != 0; t++) {
            struct kiln_kernel_plan plan = make_plan(rows[i].sketch, targets[t]);
            const struct kiln_graph *graph = &plans.graphs[plans.count - 1].graph;
            enum kiln_status status = KILN_OK;
            while (status == KILN_OK) {
                const struct kiln_contraction_schedule *contraction =
                    kiln_contraction_schedule_of(&plan.schedules[0]);
                cr_expect_eq(kiln_tile_columns(contraction) % rows[i].block, 0, "%s: %s",
                             targets[t], rows[i].sketch);
                cr_expect_leq(contraction->ending.rows.lanes * contraction->result_vector,
                              rows[i].block);
                status = kiln_kernel_plan_relax(&plan, graph, 0, &plans.error);
            }
            cr_expect_eq(status, KILN_NOT_FOUND, "%s: %s", targets[t], plans.error.text);
        }
    }
}

/* A schedule that has no whole blocks leaves the product and the quantisation apart. */
Test(quantised_products_plan, a_forced_tile_may_have_no_blocks)
{
    const struct kiln_lower_options options = {
        .contraction = {.form = KILN_CONTRACTION_PLAIN, .tile_m = 64, .tile_n = 64}};
    struct kiln_kernel_plan plan = sketched_plans_make(
        &plans, GEMM("1152") QUANTIZE("3", "1152", "9", "128"), "gfx942", &options);
    cr_expect_eq(plan.partition.group_count, 2);
}
