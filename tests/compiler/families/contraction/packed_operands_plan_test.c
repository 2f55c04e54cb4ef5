/*
 * Packed operands: which kernels load them, and which read what another kernel has unpacked.
 */
#include "compiler/families/contraction/schedule/contraction_schedule.h"
#include "tests/compiler/sketched_plans.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct sketched_plans *plans;

static void setup(void)
{
    plans = calloc(1, sizeof *plans);
    cr_assert_not_null(plans);
    sketched_plans_init(plans);
}

static void teardown(void)
{
    sketched_plans_fini(plans);
    free(plans);
}

TestSuite(packed_operands, .init = setup, .fini = teardown, .timeout = 60);

static struct kiln_kernel_plan plan(const char *sketch)
{
    static const struct kiln_lower_options none;
    return sketched_plans_make(plans, sketch, "gfx942", &none);
}

#define OFFSETS "first_token_offset=6,1,1:INT32 "
#define DEQUANTISED_BATCHES                                                                        \
    "BlockScaleDequantize x=6,64,48:FP4_E2M1 scale=6,2,48:FP8_E8M0 y=6,64,48:virtual "             \
    "!block_size=[1,32,1] | Matmul a=6,16,64:HALF b@3 c=6,16,48:HALF"
#define WINDOW "!stride=[1,1] !dilation=[1,1] !conv_mode='CROSS_CORRELATION'"

Test(packed_operands, products_load_them)
{
    static const char *const sketches[] = {
        "Matmul a=48,96:HALF b=96,80:FP4_E2M1:turned c=48,80:HALF",
        "Matmul a=48,96:HALF b=96,80:INT4 c=48,80:HALF",
        "Matmul a=6,48,96:FP6_E2M3 b=6,96,80:FP6_E3M2 c=6,48,80",
        "MoeGroupedMatmul token=1,37,24:HALF weight=3,24,40:INT4 " OFFSETS "output=1,37,40:HALF",
        "ConvolutionFwd x=2,16,9,10:HALF w=24,16,1,1:FP4_E2M1 y=2,24,9,10:HALF "
        "!pre_padding=[0,0] !post_padding=[0,0] " WINDOW,
        DEQUANTISED_BATCHES,
    };
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++)
        cr_expect_eq(plan(sketches[i]).partition.group_count, 1, "%s", sketches[i]);
}

/* The type in the workspace of what the first of two kernels unpacks. */
static enum kiln_dtype unpacked_dtype(const char *sketch)
{
    const struct kiln_kernel_plan two = plan(sketch);
    cr_assert_eq(two.partition.group_count, 2, "%s", sketch);
    const struct kiln_fusion_group *first = &two.partition.groups[0];
    cr_assert_eq(first->access_count, 2, "%s", sketch);
    cr_assert(first->accesses[1].is_store, "%s", sketch);
    return first->accesses[1].dtype;
}

Test(packed_operands, others_read_them_as_bytes)
{
    cr_expect_eq(unpacked_dtype("ConvolutionFwd x=2,16,9,10:HALF w=24,16,3,3:FP4_E2M1 "
                                "y=2,24,9,10:HALF !pre_padding=[1,1] !post_padding=[1,1] " WINDOW),
                 KILN_DTYPE_F8E4M3);
    cr_expect_eq(unpacked_dtype("ConvolutionFwd x=2,16,9,10:HALF w=24,16,3,3:INT4 "
                                "y=2,24,9,10:HALF !pre_padding=[1,1] !post_padding=[1,1] " WINDOW),
                 KILN_DTYPE_I8, "not as float");
    cr_expect_eq(
        unpacked_dtype("MoeGroupedMatmul token=1,37,24:FP4_E2M1 weight=3,24,40:HALF " OFFSETS
                       "token_index=1,41,1:INT32 output=1,41,40:HALF "
                       "!mode='GATHER'"),
        KILN_DTYPE_F8E4M3, "rows that an index names");
}

/* Small products divide no coordinate of a batch by the size of a block. */
Test(packed_operands, blocks_of_batches_are_dequantised_before)
{
    cr_expect_eq(plan("BlockScaleDequantize x=6,64,48:FP4_E2M1 scale=3,64,48 y=6,64,48:virtual "
                      "!block_size=[2,1,1] | Matmul a=6,16,64 b@3 c=6,16,48")
                     .partition.group_count,
                 2);
}

/* ---- streamed kernels ---- */

static const struct kiln_contraction_schedule *
only_product(const char *sketch, const char *target, const struct kiln_lower_options *options)
{
    const struct kiln_kernel_plan one = sketched_plans_make(plans, sketch, target, options);
    cr_assert_eq(one.partition.group_count, 1, "%s", sketch);
    return kiln_contraction_schedule_of(&one.schedules[0]);
}

static const struct kiln_contraction_schedule *streamed(const char *sketch)
{
    static const struct kiln_lower_options options = {
        .contraction = {.form = KILN_CONTRACTION_STREAMED}};
    const struct kiln_contraction_schedule *contraction = only_product(sketch, "gfx942", &options);
    cr_assert_eq(contraction->pipeline.kind, KILN_PIPELINE_STREAMED, "%s", sketch);
    return contraction;
}

/* Weights n x k in blocks of 32 along k, times `type`. */
#define WEIGHTS(k, weights, block, type)                                                           \
    "BlockScaleDequantize x=" k ",4096:" weights ":turned scale=128,4096:FP8_E8M0:turned y=" k     \
    ",4096:virtual !block_size=[" block ",1] | Matmul a=4,4096:" type " b@3 c=4,4096:" type

Test(packed_operands, lanes_load_whole_blocks)
{
    static const char *const sketches[] = {
        WEIGHTS("4096", "FP4_E2M1", "32", "BFLOAT16"),
        WEIGHTS("4096", "FP6_E2M3", "32", "BFLOAT16"),
        WEIGHTS("4096", "FP8_E4M3", "32", "BFLOAT16"),
        "Matmul a=4,4096:HALF b=4096,512:INT4:turned c=4,512:HALF",
    };
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        const struct kiln_contraction_schedule *contraction = streamed(sketches[i]);
        cr_expect_eq(contraction->pipeline.streamed.lane_run, 4, "%s", sketches[i]);
        cr_expect_eq(contraction->tile.k % 128, 0, "%s", sketches[i]);
    }
}

Test(packed_operands, lanes_load_what_shares_a_scale)
{
    cr_expect_eq(streamed("BlockScaleDequantize x=512,64:FP4_E2M1:turned "
                          "scale=32,64:FP8_E8M0:turned y=512,64:virtual !block_size=[16,1] "
                          "| Matmul a=4,512:BFLOAT16 b@3 c=4,64")
                     ->pipeline.streamed.lane_run,
                 2, "blocks of 16");
    cr_expect_eq(
        streamed("Matmul a=4,520:HALF b=520,64:FP4_E2M1:turned c=4,64")->pipeline.streamed.lane_run,
        1, "lanes would begin anywhere");
    cr_expect_eq(
        streamed("Matmul a=4,512:HALF b=512,64:FP4_E2M1 c=4,64")->pipeline.streamed.lane_run, 1,
        "memory runs along columns");
    cr_expect_eq(
        streamed("Matmul a=4,512:HALF b=512,64:INT8:turned c=4,64")->pipeline.streamed.lane_run, 1,
        "no blocks");
}

/* ---- staged kernels ---- */

#define ROWS_OF_WEIGHTS(rows, weights)                                                             \
    "BlockScaleDequantize x=4096,4096:" weights ":turned scale=128,4096:FP8_E8M0:turned "          \
    "y=4096,4096:HALF:virtual:turned !block_size=[32,1] | Matmul a=" rows ",4096:HALF b@3 c=" rows \
    ",4096:HALF"

/* A row of 32 packs of 8 halves for each of 32 columns: runs of two are as many as work-items. */
Test(packed_operands, work_items_stage_runs_of_packs)
{
    static const struct kiln_lower_options plain = {.contraction = {.form = KILN_CONTRACTION_PLAIN,
                                                                    .tile_m = 32,
                                                                    .tile_n = 32,
                                                                    .tile_k = 256,
                                                                    .waves_m = 1,
                                                                    .waves_n = 1,
                                                                    .waves_k = 8}};
    const struct kiln_contraction_schedule *contraction =
        only_product(ROWS_OF_WEIGHTS("64", "FP4_E2M1"), "gfx942", &plain);
    cr_expect_eq(contraction->right.lane_run, 2);
    cr_expect_eq(contraction->left.lane_run, 1, "halves");
}

/* Tiles with fewer columns would leave each work-item of eight warps a single pack. */
Test(packed_operands, on_hopper_few_rows_are_streamed_and_others_have_more_producers)
{
    static const struct kiln_lower_options none;
    const struct kiln_contraction_schedule *few =
        only_product(ROWS_OF_WEIGHTS("16", "FP4_E2M1"), "sm_90", &none);
    cr_expect_eq(few->pipeline.kind, KILN_PIPELINE_STREAMED);
    cr_expect_eq(few->right.lane_run, 4);
    const struct kiln_contraction_schedule *many =
        only_product(ROWS_OF_WEIGHTS("64", "FP4_E2M1"), "sm_90", &none);
    cr_expect_eq(kiln_pipeline_producer_waves(&many->pipeline), 8);
    cr_expect_gt(many->right.lane_run, 1);
    cr_expect_geq(many->tile.n, 64);
}

/* ---- texts ---- */

Test(packed_operands, of_fp4_make_a_table)
{
    static const struct {
        const char *sketch;
        bool has_table;
    } rows[] = {
        {WEIGHTS("4096", "FP4_E2M1", "32", "BFLOAT16"), true},
        {"Matmul a=4,512:HALF b=512,64:FP4_E2M1:turned c=4,64", true},
        {WEIGHTS("4096", "FP6_E2M3", "32", "BFLOAT16"), false},
        {"Pointwise in_0=512,64:FP4_E2M1:turned out_0=512,64:HALF:virtual:turned "
         "!operation='RELU_FWD' | Matmul a=4,512:HALF b@2 c=4,64",
         false}, /* no odd function */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_arena arena;
        kiln_arena_init(&arena);
        const struct kiln_program program = sketch_lower(&arena, rows[i].sketch, "gfx942", NULL);
        cr_assert_eq(program.kernel_count, 1, "%s", rows[i].sketch);
        cr_expect_eq(strstr(program.kernels[0].source, ", 0, TABLED, ") != NULL, rows[i].has_table,
                     "%s", rows[i].sketch);
        kiln_arena_fini(&arena);
    }
}
