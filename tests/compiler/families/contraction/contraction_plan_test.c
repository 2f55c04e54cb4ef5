/*
 * Which kernels graphs with matrix products become, and what `kiln explain` says about them.
 */
#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_schedule.h"
#include "compiler/program.h"
#include "compiler/schedule/schedule_group.h"
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/compiler/sketched_plans.h"
#include "tests/support/random_numbers.h"

#include <criterion/criterion.h>
#include <string.h>

static struct sketched_plans plans;
static struct kiln_buffer text;

static void setup(void)
{
    sketched_plans_init(&plans);
    kiln_buffer_init(&text);
}

static void teardown(void)
{
    kiln_buffer_fini(&text);
    sketched_plans_fini(&plans);
}

TestSuite(contraction_plan, .init = setup, .fini = teardown);

static const char *const targets[] = {"gfx90a", "gfx1030", "gfx942", "gfx1100", "gfx1201", "host"};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

static struct kiln_kernel_plan make_plan(const char *sketch, const char *target_name,
                                         bool no_fusion)
{
    const struct kiln_lower_options options = {.no_fusion = no_fusion};
    return sketched_plans_make(&plans, sketch, target_name, &options);
}

static double product_operations(const char *sketch, const char *target)
{
    struct kiln_kernel_plan plan = make_plan(sketch, target, false);
    cr_assert_eq(plan.partition.group_count, 1, "%s", sketch);
    return kiln_schedule_work(&plan.schedules[0]).product_operations;
}

/* Multiplications and additions, which profiles compare with the peak rate. */
Test(contraction_plan, work_counts_products)
{
    for (int i = 0; i < TARGET_COUNT; i++) {
        cr_expect_eq(
            product_operations("Matmul a=2,192,64:HALF b=2,64,96:HALF c=2,192,96:HALF", targets[i]),
            2.0 * 2 * 192 * 96 * 64);
        cr_expect_eq(product_operations("Reduction in=96,64 out=96,1 !mode='ADD'", targets[i]), 0);
    }
}

#define GEMM "Matmul a=192,64:HALF b=64,96:HALF c=192,96:virtual | "

static const char *const one_kernel[] = {
    "Matmul a=192,64:HALF b=64,96:HALF c=192,96:HALF",
    /* bias and gelu */
    GEMM "Pointwise in_0@3 in_1=96:HALF out_0=192,96:virtual !operation='ADD' | "
         "Pointwise in_0@5 out_0=192,96:HALF !operation='GELU_FWD'",
    /* residual and swish, the sum as an output too */
    GEMM "Pointwise in_0@3 in_1=192,96:HALF out_0=192,96 !operation='ADD' | "
         "Pointwise in_0@5 out_0=192,96:HALF !operation='SWISH_FWD'",
    /* gate */
    GEMM "Pointwise in_0=192,96:HALF out_0=192,96:virtual !operation='SIGMOID_FWD' | "
         "Pointwise in_0@3 in_1@5 out_0=192,96:HALF !operation='MUL'",
    /* dequantise int8 weights by column, then multiply */
    "Pointwise in_0=64,96:INT8 in_1=1,96 out_0=64,96:virtual !operation='MUL' | "
    "Matmul a=192,64:HALF b@3 c=192,96:HALF",
    /* scale and zero point */
    "Pointwise in_0=64,96:INT8 in_1=1,96 out_0=64,96:virtual !operation='SUB' | "
    "Pointwise in_0@3 in_1=1,96 out_0=64,96:virtual !operation='MUL' | "
    "Matmul a=192,64:HALF b@5 c=192,96:HALF",
    /* both operands */
    "Pointwise in_0=192,64:FP8_E4M3 in_1=192,1 out_0=192,64:virtual !operation='MUL' | "
    "Pointwise in_0=64,96:FP8_E4M3 in_1=1,96 out_0=64,96:virtual !operation='MUL' | "
    "Matmul a@3 b@6 c=192,96:HALF",
    /* scaled int8 products */
    "Matmul a=192,64:INT8 b=64,96:INT8 c=192,96:virtual | "
    "Pointwise in_0@3 in_1=192,1 out_0=192,96:virtual !operation='MUL' | "
    "Pointwise in_0@5 in_1=1,96 out_0=192,96:HALF !operation='MUL'",
    "Pointwise in_0=192,64:HALF out_0=192,64:virtual !operation='RELU_FWD' | "
    "Matmul a@2 b=64,96:HALF c=192,96:HALF",
    "Matmul a=96,96:HALF b@1 c=96,96:virtual | "
    "Pointwise in_0@2 in_1@1 out_0=96,96:HALF !operation='ADD'",
    /* SwiGLU */
    GEMM "Matmul a@1 b=64,96:HALF c=192,96:virtual | "
         "Pointwise in_0@3 out_0=192,96:virtual !operation='SWISH_FWD' | "
         "Pointwise in_0@6 in_1@5 out_0=192,96:HALF !operation='MUL'",
    /* the same of dequantised weights, through half, with biases */
    "Pointwise in_0=64,96:INT8 in_1=1,96 out_0=64,96:virtual !operation='MUL' | "
    "Matmul a=192,64:HALF b@3 c=192,96:HALF:virtual | "
    "Pointwise in_0=64,96:INT8 in_1=1,96 out_0=64,96:virtual !operation='MUL' | "
    "Matmul a@4 b@8 c=192,96:HALF:virtual | "
    "Pointwise in_0@5 out_0=192,96:virtual !operation='GELU_FWD' | "
    "Pointwise in_0@10 in_1@9 out_0=192,96:virtual !operation='MUL' | "
    "Pointwise in_0@11 in_1=96 out_0=192,96:HALF !operation='ADD'",
    /* what they share is the right operand */
    GEMM "Matmul a=192,64:HALF b@2 c=192,96:virtual | "
         "Pointwise in_0@3 in_1@5 out_0=192,96:HALF !operation='SUB'",
    /* written out: multiplied with both repeated, and summed */
    "Pointwise in_0=192,1,64:HALF in_1=96,64:HALF out_0=192,96,64:virtual !operation='MUL' | "
    "Reduction in@3 out=192,96,1:HALF !mode='ADD'",
    /* residual and RMS norm, the sum as an output too */
    "Matmul a=192,64:HALF b=64,1024:HALF c=192,1024:virtual | "
    "Pointwise in_0@3 in_1=192,1024:HALF out_0=192,1024:HALF !operation='ADD' | "
    "RMSNorm x@5 scale=1,1024:HALF epsilon=k y=192,1024:HALF",
    /* softmax */
    "Matmul a=192,64:HALF b=64,512:HALF c=192,512:virtual | "
    "Reduction in@3 out=192,1:virtual !mode='MAX_OP' | "
    "Pointwise in_0@3 in_1@4 out_0=192,512:virtual !operation='SUB' | "
    "Pointwise in_0@5 out_0=192,512:virtual !operation='EXP' | "
    "Reduction in@6 out=192,1:virtual !mode='ADD' | "
    "Pointwise in_0@6 in_1@7 out_0=192,512:HALF !operation='DIV'",
    /* bias, layer norm, its statistics as outputs */
    GEMM "Pointwise in_0@3 in_1=96:HALF out_0=192,96:virtual !operation='ADD' | "
         "Layernorm x@5 scale=96 bias=96 epsilon=k y=192,96:HALF !normalized_dim_count=1",
    /* sum and maximum of the rows */
    GEMM "Reduction in@3 out=192,1 !mode='ADD' | Reduction in@3 out=192,1 !mode='AMAX'",
    /* a gate, and the norm of what it lets through */
    GEMM "Matmul a@1 b=64,96:HALF c=192,96:virtual | "
         "Pointwise in_0@3 out_0=192,96:virtual !operation='SWISH_FWD' | "
         "Pointwise in_0@6 in_1@5 out_0=192,96:virtual !operation='MUL' | "
         "RMSNorm x@7 scale=1,96:HALF epsilon=k y=192,96:HALF",
};

Test(contraction_plan, what_goes_with_a_product_is_one_kernel)
{
    for (size_t i = 0; i < sizeof one_kernel / sizeof *one_kernel; i++) {
        for (int t = 0; t < TARGET_COUNT; t++) {
            struct kiln_kernel_plan plan = make_plan(one_kernel[i], targets[t], false);
            cr_expect_eq(plan.partition.group_count, 1, "%u kernels for %s: %s",
                         plan.partition.group_count, targets[t], one_kernel[i]);
            cr_expect_eq(plan.partition.workspace_bytes, 0);
            cr_expect_eq(plan.partition.groups[0].family, KILN_FAMILY_CONTRACTION);
        }
    }
}

static double time_of(const char *sketch, const char *target)
{
    struct kiln_kernel_plan plan = make_plan(sketch, target, false);
    cr_assert_eq(plan.partition.group_count, 1);
    return kiln_schedule_time(&plan.schedules[0], &plan.target);
}

/* Without instructions for its types a product takes longer; with them its time follows k, once
 * that is more than the traffic takes. */
Test(contraction_plan, the_time_of_a_product_is_that_of_its_unit)
{
    static const char half[] = "Matmul a=4096,4096:HALF b=4096,4096:HALF c=4096,4096:HALF";
    static const char single[] = "Matmul a=4096,4096 b=4096,4096 c=4096,4096";
    static const char longer[] = "Matmul a=4096,8192:HALF b=8192,4096:HALF c=4096,4096:HALF";
    for (int t = 0; t < TARGET_COUNT; t++) {
        double time = time_of(half, targets[t]);
        double ratio = time_of(longer, targets[t]) / time;
        cr_expect(ratio > 1.8 && ratio < 2.01, "%s: %f", targets[t], ratio);
        struct kiln_target target;
        cr_assert_eq(kiln_target_parse(targets[t], &target, &plans.error), KILN_OK);
        if (target.matrix_gflops != 0)
            cr_expect_gt(time_of(single, targets[t]), 1.5 * time, "%s", targets[t]);
    }
}

/* What moves little and computes much takes the time of its arithmetic, a copy that of its bytes.
 */
Test(contraction_plan, the_time_of_elementwise_work_is_the_larger_one)
{
    for (int t = 0; t < TARGET_COUNT; t++) {
        double copy =
            time_of("Pointwise in_0=4096,4096 out_0=4096,4096 !operation='IDENTITY'", targets[t]);
        double negated =
            time_of("Pointwise in_0=4096,4096 out_0=4096,4096 !operation='NEG'", targets[t]);
        cr_expect_eq(copy, negated, "%s", targets[t]);
        struct kiln_buffer chain;
        kiln_buffer_init(&chain);
        kiln_buffer_append_text(
            &chain, "Pointwise in_0=4096,4096 out_0=4096,4096:virtual !operation='ERF'");
        for (int i = 0; i < 40; i++)
            kiln_buffer_printf(&chain, " | Pointwise in_0@%d out_0=4096,4096%s !operation='ERF'",
                               2 + i, i == 39 ? "" : ":virtual");
        cr_expect_gt(time_of(kiln_buffer_text(&chain), targets[t]), 2 * copy, "%s", targets[t]);
        kiln_buffer_fini(&chain);
    }
}

Test(contraction_plan, without_fusion_each_node_has_a_kernel)
{
    struct kiln_kernel_plan plan = make_plan(one_kernel[1], "gfx942", true);
    cr_expect_eq(plan.partition.group_count, 3);
    plan = make_plan(one_kernel[6], "gfx942", true);
    cr_expect_eq(plan.partition.group_count, 3);
}

/* One that feeds another comes before it, and a reduction of the result after it. */
Test(contraction_plan, products_and_reductions_have_kernels_of_their_own)
{
    struct kiln_kernel_plan plan = make_plan("Matmul a=192,64:HALF b=64,96:HALF c=192,96:virtual | "
                                             "Matmul a@3 b=96,32:HALF c=192,32:HALF",
                                             "gfx942", false);
    cr_expect_eq(plan.partition.group_count, 2);
    plan = make_plan("Matmul a=192,64:HALF b=64,1025:HALF c=192,1025:virtual | "
                     "Reduction in@3 out=192,1 !mode='ADD'",
                     "gfx942", false);
    cr_assert_eq(plan.partition.group_count, 2);
    cr_expect_eq(plan.partition.groups[0].family, KILN_FAMILY_CONTRACTION);
    cr_expect_eq(plan.partition.groups[1].family, KILN_FAMILY_REDUCTION);
}

/* Scale, cast to fp8, and the largest absolute value of all: a value for each row, then one. */
Test(contraction_plan, a_maximum_of_all_takes_a_second_kernel)
{
    static const char *const sketches[] = {
        GEMM "Reduction in@3 out=1,1 !mode='AMAX' | "
             "Pointwise in_0@3 in_1=1,1 out_0=192,96:virtual !operation='MUL' | "
             "Pointwise in_0@6 out_0=192,96:FP8_E4M3 !operation='IDENTITY'",
        "Matmul a=3,512,64:HALF b=3,64,1024:HALF c=3,512,1024:virtual | "
        "Reduction in@3 out=1,1,1 !mode='AMAX' | "
        "Pointwise in_0@3 out_0=3,512,1024:FP8_E4M3 !operation='IDENTITY'",
        GEMM "Reduction in@3 out=1,1 !mode='ADD'",
    };
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        struct kiln_kernel_plan plan = make_plan(sketches[i], "gfx942", false);
        cr_expect_eq(plan.partition.group_count, 2, "%u kernels: %s", plan.partition.group_count,
                     sketches[i]);
        cr_expect_leq(plan.partition.workspace_bytes, 8 * 3 * 512, "%lu bytes: %s",
                      (unsigned long)plan.partition.workspace_bytes, sketches[i]);
    }
}

/* Two products share a kernel where their results meet, an operand is the same and they are of one
 * size; there are two to a kernel at most, and none waits for another. */
Test(contraction_plan, products_that_do_not_share_a_kernel)
{
    static const char *const two[] = {
        GEMM "Matmul a=192,64:HALF b=64,96:HALF c=192,96:virtual | "
             "Pointwise in_0@3 in_1@6 out_0=192,96:HALF !operation='MUL'",
        GEMM "Matmul a@1 b=64,96:HALF c=192,96:HALF | "
             "Pointwise in_0@3 out_0=192,96:HALF !operation='RELU_FWD'",
        "Matmul a=96,96:HALF b=96,96:HALF c=96,96:HALF:virtual | "
        "Matmul a@3 b@2 c=96,96:HALF:virtual | "
        "Pointwise in_0@3 in_1@4 out_0=96,96:HALF !operation='MUL'",
        GEMM "Matmul a@1 b=64,96:HALF c=192,96:virtual | Matmul a@1 b=64,96:HALF c=192,96:virtual "
             "| Pointwise in_0@3 in_1@5 out_0=192,96:virtual !operation='MUL' | "
             "Pointwise in_0@8 in_1@7 out_0=192,96:HALF !operation='MUL'",
    };
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) {
        struct kiln_kernel_plan plan = make_plan(two[i], "gfx942", false);
        cr_expect_eq(plan.partition.group_count, 2, "%u kernels: %s", plan.partition.group_count,
                     two[i]);
    }
}

/* Every operand may bring eight strides: 125 of them had more arguments than a program may have. */
Test(contraction_plan, a_kernel_has_no_more_operands_than_a_launch_takes)
{
    enum { OPERANDS = 125 };
#define DEEP "2,2,2,2,2,2,4,4"
    kiln_buffer_append_text(&text, "Matmul a=" DEEP " b=" DEEP " c=" DEEP ":virtual");
    for (uint32_t i = 0; i < OPERANDS; i++)
        kiln_buffer_printf(&text,
                           " | Pointwise in_0@%u in_1=" DEEP " out_0=" DEEP "%s "
                           "!operation='ADD'",
                           i == 0 ? 3 : 3 + 2 * i, i + 1 < OPERANDS ? ":virtual" : "");
    struct kiln_kernel_plan plan = make_plan(kiln_buffer_text(&text), "gfx942", false);
    cr_expect_gt(plan.partition.group_count, 1);
    for (uint32_t i = 0; i < plan.partition.group_count; i++) {
        const struct kiln_fusion_group *group = &plan.partition.groups[i];
        cr_expect(group->family != KILN_FAMILY_CONTRACTION ||
                  group->access_count <= KILN_CONTRACTION_MAX_ACCESSES);
    }
}

/* Two for each of m, n and k, and what comes after the product. */
Test(contraction_plan, operations)
{
    struct kiln_kernel_plan plan = make_plan(one_kernel[0], "host", false);
    cr_expect_eq(kiln_kernel_plan_operations(&plan), 2 * 192 * 64 * 96);
    cr_expect_eq(kiln_kernel_plan_bytes(&plan), 2 * (192 * 64 + 64 * 96 + 192 * 96));
}

static void expect_words(const char *sketch, const char *target, const char *words)
{
    struct kiln_kernel_plan plan = make_plan(sketch, target, false);
    kiln_buffer_clear(&text);
    kiln_schedule_print(&plan.schedules[0], &plan.partition.groups[0], &text);
    cr_expect_not_null(strstr(kiln_buffer_text(&text), words), "%s: '%s' is not in:\n%s", target,
                       words, kiln_buffer_text(&text));
}

Test(contraction_plan, the_schedule_in_words)
{
    expect_words(one_kernel[0], "host", "template contraction, m 192, n 96, k 64, tile ");
    expect_words(one_kernel[0], "host", ", no matrix instruction, staged as half, lds ");
    expect_words(one_kernel[0], "host",
                 ", left operand read along k in vectors of 8, right operand "
                 "read along its rows in vectors of 8, result in vectors of 8");
    expect_words(one_kernel[0], "gfx942", ", waves 1x1x8, mfma_");
    expect_words("Matmul a=4096,64:HALF b=64,4096:HALF c=4096,4096:HALF", "gfx942",
                 ", waves 2x4, mfma_");
    expect_words("Matmul a=6,33,35 b=3,35,31 c=6,33,31", "gfx1030",
                 "m 33, n 31, k 35, batch 6, tile ");
    /* Of large tiles half packs of 16 bytes across k are as many as work-items. */
    static const char *const halves[] = {"gfx90a", "gfx942", "gfx1100", "gfx1201"};
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        expect_words("Matmul a=4096,4096:HALF b=4096,4096:HALF c=4096,4096:HALF", halves[i],
                     "right operand read along its rows in vectors of 8, in half packs");
    /* Of one byte quarters are, but not of weights that something is computed of. */
    static const char *const quarters[] = {"gfx90a", "gfx942"};
    for (size_t i = 0; i < sizeof quarters / sizeof *quarters; i++) {
        expect_words("Matmul a=4096,4096:INT8 b=4096,4096:INT8 c=4096,4096:INT32", quarters[i],
                     "right operand read along its rows in vectors of 16, in quarter packs");
        expect_words("Matmul a=4096,4096:INT8 b=4096,4088:INT8 c=4096,4088:INT32", quarters[i],
                     "right operand read along its rows in vectors of 8, in half packs");
        expect_words("Pointwise in_0=4096,4096:INT8 in_1=1,4096 out_0=4096,4096:HALF:virtual "
                     "!operation='MUL' "
                     "| Matmul a=4096,4096:HALF b@3 c=4096,4096:HALF",
                     quarters[i],
                     "right operand read along its rows in vectors of 8, in half packs");
    }
    /* Replicated fragments leave registers for half of that in each of twice as many waves. */
    static const char across[] =
        "Matmul a=4096,4096:INT8:turned b=4096,4096:INT8 c=4096,4096:INT32";
    expect_words(
        across, "gfx1201",
        "left operand read along its rows in vectors of 16, in quarter packs, right operand "
        "read along its rows in vectors of 16, in quarter packs");
    expect_words(across, "gfx1100",
                 "left operand read along its rows in vectors of 4, in half packs, right operand "
                 "read along its rows in vectors of 4, in half packs");
    /* An end of k is in the first tile, so packs of the others begin anywhere. */
    expect_words("Matmul a=6,33,35 b=3,35,31 c=6,33,31", "gfx1030",
                 "left operand read along k in vectors of 4");
    expect_words("Matmul a=6,33,35 b=3,35,31 c=6,33,31", "sm_80",
                 "left operand read along k in vectors of 4");
    expect_words("Matmul a=6,33,35 b=3,35,31 c=6,33,31", "gfx1030",
                 "read along its rows one by one");
    expect_words("Matmul a=192,64:INT8 b=64,96:INT8 c=192,96:INT32", "gfx942", "staged as int8");
    expect_words("Matmul a=192,64:INT8 b=64,96:HALF c=192,96", "host", "staged as half");
    expect_words("Matmul a=192,64:FP8_E4M3 b=64,96:FP8_E4M3 c=192,96", "gfx942",
                 "mfma_16x16_f8e4m3_fnuz, staged as fp8_e4m3");
    expect_words("Matmul a=192,64:FP8_E5M2 b=64,96:FP8_E5M2 c=192,96", "gfx942", "staged as half");
    expect_words("Matmul a=192,64:FP8_E4M3_FNUZ b=64,96:FP8_E4M3_FNUZ c=192,96", "gfx942",
                 "staged as fp8_e4m3_fnuz");
    expect_words("Matmul a=192,64:FP8_E5M2_FNUZ b=64,96:FP8_E5M2_FNUZ c=192,96", "gfx942",
                 "staged as fp8_e5m2_fnuz");
    expect_words("Matmul a=192,64:FP8_E4M3_FNUZ b=64,96:FP8_E4M3_FNUZ c=192,96", "gfx1201",
                 "staged as half");
    expect_words("Matmul a=192,64:FP8_E5M2 b=64,96:FP8_E5M2 c=192,96", "gfx1201",
                 "staged as fp8_e5m2");
    expect_words("Matmul a=192,64:FP8_E4M3 b=64,96:FP8_E5M2 c=192,96", "gfx1201", "staged as half");
    expect_words("Matmul a=192,64:FP8_E4M3 b=64,96:FP8_E4M3 c=192,96", "gfx90a", "staged as half");
    expect_words(one_kernel[10], "gfx942", ", 2 products that share their left operand, tile ");
    expect_words(one_kernel[12], "gfx942", ", 2 products that share their right operand, tile ");
}

/* Sizes are arguments, and the text says nothing else of them than a few classes. */
Test(contraction_plan, two_hundred_shapes_are_few_kernels)
{
    enum { SHAPES = 200, MOST_KERNELS = 16, MOST_OF_WHOLE_PACKS = 12 };
    static const char *const names[] = {"gfx942", "gfx1100", "gfx90a"};
    for (size_t t = 0; t < 2 * (sizeof names / sizeof *names); t++) {
        bool is_whole = t % 2 != 0; /* as most models have them */
        int most = is_whole ? MOST_OF_WHOLE_PACKS : MOST_KERNELS;
        struct kiln_random random = {.state = 5};
        const char *sources[MOST_KERNELS] = {0};
        int count = 0;
        for (int i = 0; i < SHAPES; i++) {
            int known = 0;
            unsigned m = 1 + kiln_random_below(&random, 1u << kiln_random_below(&random, 13));
            unsigned n = 64 + kiln_random_below(&random, 64u << kiln_random_below(&random, 7));
            unsigned k = 64 + kiln_random_below(&random, 64u << kiln_random_below(&random, 7));
            if (is_whole)
                n = (n + 7) / 8 * 8, k = (k + 7) / 8 * 8;
            kiln_buffer_clear(&text);
            kiln_buffer_printf(
                &text,
                "Matmul a=%u,%u:HALF b=%u,%u:HALF c=%u,%u:virtual | Pointwise in_0@3 "
                "in_1=1,%u:HALF out_0=%u,%u:virtual !operation='ADD' | Pointwise "
                "in_0@5 out_0=%u,%u:HALF !operation='GELU_FWD'",
                m, k, k, n, m, n, n, m, n, m, n);
            const struct kiln_program program =
                sketch_lower(&plans.arena, kiln_buffer_text(&text), names[t / 2], NULL);
            cr_assert_eq(program.kernel_count, 1);
            while (known < count && strcmp(sources[known], program.kernels[0].source) != 0)
                known++;
            if (known < count)
                continue;
            cr_assert_lt(count, most, "%s: more kernels", names[t / 2]);
            sources[count++] = program.kernels[0].source;
        }
    }
}

static struct kiln_kernel_plan make_split_plan(const char *sketch, uint32_t segments)
{
    const struct kiln_lower_options options = {.contraction = {.segments = segments}};
    return sketched_plans_make(&plans, sketch, "gfx942", &options);
}

/* A gradient of weights: two tiles at most, and a k that keeps one work-group busy for long. */
#define LONG_K  "Matmul a=128,65536:HALF b=65536,128:HALF c=128,128:virtual | "
#define SHIFTED "Pointwise in_0@3 in_1=128:HALF out_0=128,128:HALF !operation='ADD'"

Test(contraction_plan, a_long_k_of_few_tiles_is_cut_into_segments)
{
    struct kiln_kernel_plan plan = make_split_plan(LONG_K SHIFTED, 0);
    const struct kiln_fusion_group *groups = plan.partition.groups;
    cr_assert_eq(plan.partition.group_count, 2);
    cr_expect_eq(groups[0].family, KILN_FAMILY_CONTRACTION);
    cr_expect_eq(groups[0].role, KILN_ROLE_PARTIAL);
    cr_expect_eq(groups[1].family, KILN_FAMILY_REDUCTION);
    cr_expect_eq(groups[1].role, KILN_ROLE_COMBINE);
    cr_expect_eq(groups[1].boundary, KILN_BOUNDARY_SEGMENTS);
    cr_expect_gt(groups[0].segment_count, 8);
    cr_expect_eq(groups[1].segment_count, groups[0].segment_count);
    cr_expect_eq(kiln_ending_segments(&kiln_contraction_schedule_of(&plan.schedules[0])->ending),
                 groups[0].segment_count);
    cr_expect_eq(plan.schedules[0].launch.grid % groups[0].segment_count, 0);
    cr_expect_eq(plan.partition.workspace_bytes,
                 (uint64_t)groups[0].segment_count * 128 * 128 * sizeof(float));
    /* What follows is computed where they are combined. */
    cr_expect_eq(groups[0].access_count - groups[0].load_count, 1);
    cr_expect(groups[0].accesses[groups[0].load_count].is_accumulator);
    cr_expect_eq(groups[1].load_count, 2);
}

Test(contraction_plan, k_is_not_cut_where_that_gains_nothing)
{
    static const char *const whole[] = {
        /* short */
        "Matmul a=128,4096:HALF b=4096,128:HALF c=128,128:HALF",
        /* many tiles */
        "Matmul a=4096,16384:HALF b=16384,4096:HALF c=4096,4096:HALF",
        /* as many batches */
        "Matmul a=512,128,16384:HALF b=512,16384,128:HALF c=512,128,128:HALF",
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        struct kiln_kernel_plan plan = make_split_plan(whole[i], 0);
        cr_assert_eq(plan.partition.group_count, 1, "%s", whole[i]);
        cr_expect_eq(plan.partition.groups[0].role, KILN_ROLE_WHOLE, "%s", whole[i]);
        cr_expect_eq(
            kiln_ending_segments(&kiln_contraction_schedule_of(&plan.schedules[0])->ending), 1,
            "%s", whole[i]);
    }
}

Test(contraction_plan, segments_of_k_can_be_forced)
{
    static const struct {
        const char *sketch;
        uint32_t asked, found;
    } rows[] = {
        {LONG_K SHIFTED, 1, 1},
        {LONG_K SHIFTED, 5, 5},
        {one_kernel[1], 3, 3},
        {one_kernel[4], 64, 64},
        {"Matmul a=20,5:HALF b=5,30:HALF c=20,30:HALF", 64, 5},
        {"Matmul a=20,1:HALF b=1,30:HALF c=20,30:HALF", 64, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_kernel_plan plan = make_split_plan(rows[i].sketch, rows[i].asked);
        cr_expect_eq(plan.partition.group_count, rows[i].found > 1 ? 2 : 1, "%s", rows[i].sketch);
        cr_expect_eq(plan.partition.groups[0].segment_count, rows[i].found, "%s", rows[i].sketch);
    }
}

/* Each step that a wave loads ahead has what is computed of the operands in the kernel's text
 * again: this one took 19 s to compile with eight. */
Test(contraction_plan, heavy_prologues_are_loaded_fewer_steps_ahead)
{
    struct kiln_kernel_plan plan =
        make_plan("Pointwise in_0=32,33:FP8_E4M3 in_1=32,1 out_0=32,33:virtual !operation='ADD' | "
                  "Pointwise in_0@3 out_0=32,33:virtual !operation='SIGMOID_FWD' | "
                  "Matmul a@4 b=33,24:FP8_E5M2 c=32,24",
                  "gfx1201", false);
    const struct kiln_contraction_schedule *contraction =
        kiln_contraction_schedule_of(&plan.schedules[0]);
    cr_assert(contraction->pipeline.kind == KILN_PIPELINE_STREAMED);
    cr_expect_eq(contraction->tile.k, 2 * 4, "%u", contraction->tile.k);
}
