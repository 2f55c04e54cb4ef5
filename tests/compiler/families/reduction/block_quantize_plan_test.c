/* Kernels of graphs that quantise by blocks. */
#include "compiler/plan/kernel_plan.h"
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

TestSuite(block_quantize_plan, .init = setup, .fini = teardown);

#define X           "256,2048:BFLOAT16"
#define Y           "256,2048:FP8_E4M3"
#define UNARY(mode) " !operation='" mode "' "
#define QUANTIZE(x) "BlockScaleQuantize x" x " y=" Y " scale=256,64 !block_size=32"

static const char *const targets[] = {"gfx942", "gfx1100", "gfx1201", "sm_90"};

/* Each moves as few bytes as the graph needs, if it is one kernel. */
static const struct {
    const char *sketch;
    uint32_t kernels;
} rows[] = {
    {QUANTIZE("=" X), 1},
    {"Pointwise in_0=" X " out_0=" X
     ":virtual" UNARY("SWISH_FWD") "| Pointwise in_0@2 in_1=" X " out_0=" X
                                   ":virtual" UNARY("MUL") "| " QUANTIZE("@4"),
     1},
    /* The values that are quantised are an output too. */
    {"Pointwise in_0=" X " in_1=" X " out_0=" X UNARY("ADD") "| " QUANTIZE("@3"), 1},
    {"BlockScaleQuantize x=" X " y=" Y " scale=8,2048 !block_size=32 !axis=0", 1},
    {"BlockScaleQuantize x=" X " y=" Y " scale=256,1 !block_size=4096", 1},
    {"BlockScaleQuantize x=" X " y=" Y " scale=256,2048 !block_size=1", 1},
    /* Packed elements: a work-item stores whole bytes. */
    {"BlockScaleQuantize x=" X " y=256,2048:FP4_E2M1 scale=256,64:FP8_E8M0 !block_size=32", 1},
    {"BlockScaleQuantize x=" X " y=256,2048:FP6_E2M3 scale=8,2048:FP8_E8M0 !block_size=32 !axis=0",
     1},
    /* A short last block, along either axis; with work before it, an odd number of elements. */
    {"BlockScaleQuantize x=256,2000:HALF y=256,2000:FP8_E4M3 scale=256,63 !block_size=32", 1},
    {"BlockScaleQuantize x=250,2048:HALF y=250,2048:FP8_E4M3 scale=8,2048 !block_size=32 !axis=0",
     1},
    {"Pointwise in_0=256,2001:HALF in_1=2001:HALF out_0=256,2001:HALF" UNARY(
         "MUL") "| BlockScaleQuantize x@3 y=256,2001:FP8_E4M3 scale=256,63:FP8_E8M0 "
                "!block_size=32",
     1},
    {"BlockScaleQuantize x=256,2000:HALF y=256,2000:FP4_E2M1 scale=256,63 !block_size=32", 1},
    /* Rows of packed elements begin between bytes. */
    {"BlockScaleQuantize x=256,2001:HALF y=256,2001:FP4_E2M1 scale=256,63 !block_size=32", 2},
    /* Blocks of an odd size begin between bytes. */
    {"BlockScaleQuantize x=256,2040 y=256,2040:FP4_E2M1 scale=256,408 !block_size=5", 2},
    /* One kernel for the rows, one for the blocks. */
    {"RMSNorm x=" X " scale=1,2048 epsilon=k y=" X
     ":virtual !forward_phase='INFERENCE' | " QUANTIZE("@4"),
     2},
};

Test(block_quantize_plan, kernels)
{
    const struct kiln_lower_options options = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
            struct kiln_kernel_plan plan =
                sketched_plans_make(&plans, rows[i].sketch, targets[t], &options);
            cr_expect_eq(plan.partition.group_count, rows[i].kernels, "%s: %u kernels for %s",
                         targets[t], plan.partition.group_count, rows[i].sketch);
            if (plan.partition.group_count == 1)
                cr_expect_eq(plan.schedules[0].traffic.bytes_moved,
                             plan.schedules[0].traffic.bytes_fewest, "%s: %s", targets[t],
                             rows[i].sketch);
        }
    }
}
