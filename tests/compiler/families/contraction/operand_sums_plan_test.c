/*
 * Sums of a product's operand over k, as bias gradients are: which kernels they become.
 */
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

TestSuite(operand_sums_plan, .init = setup, .fini = teardown);

#define ATTRIBUTES(padding, stride)                                                                \
    " !pre_padding=[" padding "] !post_padding=[" padding "] !stride=[" stride                     \
    "] !dilation=[1,1] !conv_mode='CROSS_CORRELATION' "
#define SAME            ATTRIBUTES("1,1", "1,1")
#define IMAGE           "8,64,28,28:HALF:last"
#define WEIGHT_GRADIENT "ConvolutionWrw x=" IMAGE " dy=" IMAGE " dw=64,64,3,3:HALF:last" SAME
#define LINEAR          "Matmul a=512,2048:HALF:turned b=2048,1024:HALF c=512,1024:HALF "

static const char *const targets[] = {"gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_90", "host"};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

static const struct {
    const char *sketch;
    uint32_t kernels;
    bool is_right; /* the CONTRACT's right operand */
} beside[] = {
    {WEIGHT_GRADIENT "| Reduction in@2 out=1,64,1,1:HALF !mode='ADD'", 1, false},
    /* Wherever the sum stands. */
    {"Reduction in=" IMAGE " out=1,64,1,1 !mode='ADD' | ConvolutionWrw x=" IMAGE
     " dy@1 dw=64,64,3,3:HALF:last" SAME,
     1, false},
    /* With work before and behind it. */
    {"Pointwise in_0=" IMAGE " in_1=" IMAGE " out_0=8,64,28,28:HALF:virtual:last "
     "!operation='RELU_BWD' | ConvolutionWrw x=" IMAGE " dy@3 dw=64,64,3,3:HALF:last" SAME
     "| Reduction in@3 out=1,64,1,1:virtual !mode='ADD' "
     "| Pointwise in_0@6 in_1=1,64,1,1 out_0=1,64,1,1 !operation='ADD'",
     1, false},
    {"ConvolutionWrw x=8,64,28,28:HALF dy=8,64,28,28:HALF dw=64,16,3,3:HALF" SAME
     "| Reduction in@2 out=1,64,1,1 !mode='ADD'",
     1, false},
    {LINEAR "| Reduction in@1 out=512,1 !mode='ADD'", 1, false},
    {"Pointwise in_0=2048,512 in_1=2048,512 out_0=2048,512:virtual !operation='RELU_BWD' "
     "| Pointwise in_0@3 in_1=1,512 out_0=2048,512:virtual !operation='ADD' "
     "| Matmul a=1024,2048:turned b@5 c=1024,512 | Reduction in@5 out=1,512 !mode='ADD'",
     1, true},
    {LINEAR "| Reduction in@2 out=1,1024 !mode='ADD'", 1, true},
    {"Matmul a=512,2048 b=2048,1024:turned c=512,1024 | Reduction in@2 out=1,1024 !mode='ADD'", 1,
     true},
    {"Matmul a=6,128,256:DOUBLE b=6,256,64:DOUBLE c=6,128,64:DOUBLE "
     "| Reduction in@1 out=6,128,1:DOUBLE !mode='ADD'",
     1, false},
};

/* The group with a product. */
static uint32_t find_product(const struct kiln_kernel_plan *plan)
{
    for (uint32_t i = 0; i < plan->partition.group_count; i++) {
        if (plan->partition.groups[i].anchor_count != 0)
            return i;
    }
    cr_assert_fail("no product");
    return 0;
}

Test(operand_sums_plan, are_done_in_the_kernel_of_the_product)
{
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        for (size_t t = 0; t < TARGET_COUNT; t++) {
            const struct kiln_lower_options options = {.contraction = {.segments = 1}};
            const struct kiln_kernel_plan plan =
                sketched_plans_make(&plans, beside[i].sketch, targets[t], &options);
            cr_assert_eq(plan.partition.group_count, beside[i].kernels, "%zu for %s: %u", i,
                         targets[t], plan.partition.group_count);
            const struct kiln_contraction_schedule *contraction =
                kiln_contraction_schedule_of(&plan.schedules[0]);
            const struct kiln_fusion_group *group = &plan.partition.groups[0];
            enum kiln_place place = beside[i].is_right ? KILN_PLACE_RIGHT : KILN_PLACE_LEFT;
            cr_expect_eq(kiln_group_summed_place(&plan.ir, group), place, "%zu", i);
            cr_expect_eq(contraction->operand_sum.operand.places[0], place, "%zu for %s", i,
                         targets[t]);
            cr_expect_eq(plan.schedules[0].launch.grid, plan.schedules[0].launch.chunk_count,
                         "%zu for %s", i, targets[t]);
            cr_expect_gt(contraction->operand_sum.groups, 0, "%zu for %s", i, targets[t]);
            cr_expect_gt(plan.schedules[0].launch.chunk_count, contraction->operand_sum.groups,
                         "%zu for %s", i, targets[t]);
            cr_expect_neq(plan.partition.choices & KILN_CHOICE_NO_OPERAND_SUMS, 0);
        }
    }
}

/* What is not the sum over k and nothing else, or not of all that is in memory. */
static const char *const apart[] = {
    /* over some of k, over rows too, and over rows instead */
    WEIGHT_GRADIENT "| Reduction in@2 out=8,64,1,1 !mode='ADD'",
    WEIGHT_GRADIENT "| Reduction in@2 out=1,1,1,1 !mode='ADD'",
    WEIGHT_GRADIENT "| Reduction in@2 out=8,1,28,28 !mode='ADD'",
    /* of the image, of which windows read each element several times, or strides some never */
    WEIGHT_GRADIENT "| Reduction in@1 out=1,64,1,1 !mode='ADD'",
    "ConvolutionWrw x=8,64,28,28:HALF:last dy=8,64,14,14:HALF:last "
    "dw=64,64,1,1:HALF:last" ATTRIBUTES("0,0", "2,2") "| Reduction in@1 out=1,64,1,1 !mode='ADD'",
    /* of something else than the product has */
    WEIGHT_GRADIENT "| Pointwise in_0@2 in_1@2 out_0=8,64,28,28:virtual:last !operation='MUL' "
                    "| Reduction in@4 out=1,64,1,1 !mode='ADD'",
    WEIGHT_GRADIENT "| Reduction in@2 out=1,64,1,1 !mode='MAX_OP'",
    /* of an operand that batches share */
    "Matmul a=1,512,1024:HALF b=8,1024,256:HALF c=8,512,256:HALF | Reduction in@1 out=1,512,1 "
    "!mode='ADD'",
    /* of groups with fewer rows than a work-group adds up */
    "ConvolutionWrw x=8,144,56,56:HALF:last dy=8,144,56,56:HALF:last dw=144,1,3,3:HALF:last" SAME
    "| Reduction in@2 out=1,144,1,1 !mode='ADD'",
    /* of what is computed from three tensors of its size */
    "Pointwise in_0=2048,512 in_1=2048,512 out_0=2048,512:virtual !operation='RELU_BWD' "
    "| Pointwise in_0@3 in_1=2048,512 out_0=2048,512:virtual !operation='ADD' "
    "| Matmul a=1024,2048:turned b@5 c=1024,512 | Reduction in@5 out=1,512 !mode='ADD'",
    /* of integers */
    "Matmul a=512,1024:INT8 b=1024,256:INT8 c=512,256:INT32 | Reduction in@1 out=512,1:INT32 "
    "!mode='ADD'",
};

Test(operand_sums_plan, are_nothing_but_the_sum_over_k)
{
    const struct kiln_lower_options options = {0};
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        const struct kiln_kernel_plan plan =
            sketched_plans_make(&plans, apart[i], "gfx942", &options);
        cr_expect_gt(plan.partition.group_count, 1, "%zu", i);
        cr_expect_eq(plan.partition.choices & KILN_CHOICE_NO_OPERAND_SUMS, 0, "%zu", i);
    }
}

/* Segments of a short k are the product's alone. */
Test(operand_sums_plan, of_a_long_k_have_segments_and_a_second_kernel)
{
    static const struct {
        const char *sketch;
        uint32_t kernels;
        bool has_segments;
    } cut[] = {
        {"ConvolutionWrw x=64,256,14,14:HALF:last dy=64,256,14,14:HALF:last "
         "dw=256,256,3,3:HALF:last" SAME "| Reduction in@2 out=1,256,1,1:HALF !mode='ADD'",
         2, false},
        {"ConvolutionWrw x=64,64,56,56:HALF:last dy=64,64,56,56:HALF:last "
         "dw=64,64,3,3:HALF:last" SAME "| Reduction in@2 out=1,64,1,1:HALF !mode='ADD'",
         3, true},
        {"Matmul a=128,65536:HALF:turned b=65536,128:HALF c=128,128:HALF | Reduction in@2 "
         "out=1,128:HALF !mode='ADD'",
         3, true},
    };
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        const struct kiln_lower_options options = {0};
        const struct kiln_kernel_plan plan =
            sketched_plans_make(&plans, cut[i].sketch, "gfx942", &options);
        cr_assert_eq(plan.partition.group_count, cut[i].kernels, "%zu: %u", i,
                     plan.partition.group_count);
        const struct kiln_contraction_schedule *contraction =
            kiln_contraction_schedule_of(&plan.schedules[find_product(&plan)]);
        cr_expect_gt(kiln_ending_segments(&contraction->ending), 1, "%zu", i);
        cr_expect_eq(contraction->operand_sum.segments,
                     cut[i].has_segments ? kiln_ending_segments(&contraction->ending) : 1, "%zu",
                     i);
        for (uint32_t g = 1; g < plan.partition.group_count; g++)
            cr_expect_eq(plan.partition.groups[g].role, KILN_ROLE_COMBINE, "%zu", i);
    }
}

/* A value of the result that meets a sum is none of the kernel's: rows of the one are not rows of
 * the other. */
Test(operand_sums_plan, do_not_meet_the_result)
{
    const struct kiln_lower_options options = {0};
    const struct kiln_kernel_plan plan =
        sketched_plans_make(&plans,
                            "Matmul a=512,2048:HALF b=2048,1024:HALF c=512,1024:HALF | Reduction "
                            "in@2 out=1,1024:virtual "
                            "!mode='ADD' | Pointwise in_0@3 in_1@4 out_0=512,1024 !operation='ADD'",
                            "gfx942", &options);
    cr_expect_gt(plan.partition.group_count, 1);
}

Test(operand_sums_plan, without_fusion_have_a_kernel)
{
    const struct kiln_lower_options options = {.no_fusion = true};
    const struct kiln_kernel_plan plan =
        sketched_plans_make(&plans, beside[0].sketch, "gfx942", &options);
    cr_expect_gt(plan.partition.group_count, 1);
    cr_expect_eq(plan.partition.choices & KILN_CHOICE_NO_OPERAND_SUMS, 0);
}

/* As for products, sizes are arguments: other images, batches and channels are the same kernel. */
Test(operand_sums_plan, make_no_other_kernels_of_other_sizes)
{
    static const char *const sketches[] = {
        "ConvolutionWrw x=8,64,28,28:HALF:last dy=8,64,28,28:HALF:last dw=64,64,3,3:HALF:last" SAME
        "| Reduction in@2 out=1,64,1,1:HALF !mode='ADD'",
        "ConvolutionWrw x=7,64,30,26:HALF:last dy=7,64,30,26:HALF:last dw=64,64,3,3:HALF:last" SAME
        "| Reduction in@2 out=1,64,1,1:HALF !mode='ADD'",
    };
    struct kiln_program programs[2];
    for (size_t i = 0; i < 2; i++) {
        programs[i] = sketch_lower(&plans.arena, sketches[i], "gfx942", NULL);
        cr_assert_eq(programs[i].kernel_count, 1);
    }
    cr_expect_str_eq(programs[0].kernels[0].symbol, programs[1].kernels[0].symbol);
}

/* Where the product's work-items load half packs, which are as many as they. */
Test(operand_sums_plan, sums_are_of_whole_packs)
{
    const struct kiln_program program =
        sketch_lower(&plans.arena,
                     "Matmul a=4096,4096:HALF b=4096,4096:HALF c=4096,4096:HALF "
                     "| Reduction in@2 out=1,4096 !mode='ADD'",
                     "gfx942", NULL);
    cr_assert_eq(program.kernel_count, 1);
    const char *source = program.kernels[0].source;
    cr_expect_not_null(strstr(source, "#define KILN_RIGHT_PIECES 2\n"));
    cr_expect_not_null(strstr(source, "#define KILN_SUMMED_RUN 8\n"));
    cr_expect_not_null(strstr(source, "#define KILN_SUMMED_PIECES 1\n"));
}

/* dw = x^T dy, dx = dy w^T and db, the sum of dy, in any order. */
Test(operand_sums_plan, order_does_not_matter)
{
#define DW "Matmul a=1024,512:HALF:turned b=512,1024:HALF c=1024,1024:HALF"
    static const char *const orders[] = {
        DW " | Matmul a@2 b=1024,1024:HALF:turned c=512,1024:HALF "
           "| Reduction in@2 out=1,1024 !mode='ADD'",
        DW " | Reduction in@2 out=1,1024 !mode='ADD' "
           "| Matmul a@2 b=1024,1024:HALF:turned c=512,1024:HALF",
        "Reduction in=512,1024:HALF out=1,1024 !mode='ADD' "
        "| Matmul a=1024,512:HALF:turned b@1 c=1024,1024:HALF "
        "| Matmul a@1 b=1024,1024:HALF:turned c=512,1024:HALF",
        "Matmul a=512,1024:HALF b=1024,1024:HALF:turned c=512,1024:HALF "
        "| Matmul a=1024,512:HALF:turned b@1 c=1024,1024:HALF "
        "| Reduction in@1 out=1,1024 !mode='ADD'",
    };
    const struct kiln_lower_options options = {0};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct kiln_kernel_plan plan = sketched_plans_make(&plans, orders[i], "gfx942", &options);
        cr_expect_eq(plan.partition.group_count, 2, "order %zu: %u kernels", i,
                     plan.partition.group_count);
    }
}

/* A sum with the domain of the result is not placed, and hinders nothing. */
Test(operand_sums_plan, two_products_of_one_column_are_one_kernel)
{
    const struct kiln_lower_options options = {0};
    struct kiln_kernel_plan plan =
        sketched_plans_make(&plans,
                            "Matmul a=512,1024:HALF b=1024,1:HALF c=512,1:virtual "
                            "| Matmul a@1 b=1024,1:HALF c=512,1:virtual "
                            "| Pointwise in_0@3 in_1@5 out_0=512,1:HALF !operation='MUL' "
                            "| Reduction in@1 out=512,1 !mode='ADD'",
                            "gfx942", &options);
    cr_expect_eq(plan.partition.group_count, 2);
}
