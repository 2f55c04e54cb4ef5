/*
 * Products and the sums of one of their operands, in one kernel, on the host device, against the
 * interpreter.
 */
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define ATTRIBUTES(padding, stride)                                                                \
    " !pre_padding=[" padding "] !post_padding=[" padding "] !stride=[" stride                     \
    "] !dilation=[1,1] !conv_mode='CROSS_CORRELATION' "

#define RELU_GRADIENT                                                                              \
    "Pointwise in_0=2,20,6,5:HALF:last in_1=2,20,6,5:HALF:last out_0=2,20,6,5:HALF:virtual:last "  \
    "!operation='RELU_BWD' "

#define BATCHES "Matmul a=3,20,33:DOUBLE b=3,33,10:DOUBLE c=3,20,10:DOUBLE "

static const char *const sketches[] = {
    /* Rows that are neighbours in memory, whole vectors of them and not; more than a work-group's.
     */
    "ConvolutionWrw x=2,8,9,7:HALF:last dy=2,40,9,7:HALF:last dw=40,8,3,3:HALF:last" ATTRIBUTES(
        "1,1", "1,1") "| Reduction in@2 out=1,40,1,1:HALF !mode='ADD'",
    "ConvolutionWrw x=3,5,9,8:last dy=3,37,5,4:last dw=37,5,3,3:last" ATTRIBUTES(
        "1,1", "2,2") "| Reduction in@2 out=1,37,1,1 !mode='ADD'",
    /* Of several axes of k, of which some are one in memory; of groups, which are batches. */
    "ConvolutionWrw x=3,5,9,8 dy=3,6,9,8 dw=6,5,3,3" ATTRIBUTES(
        "1,1", "1,1") "| Reduction in@2 out=1,6,1,1 !mode='ADD'",
    "ConvolutionWrw x=2,12,5,4:HALF:last dy=2,18,5,4:HALF:last dw=18,4,3,3:HALF:last" ATTRIBUTES(
        "1,1", "1,1") "| Reduction in@2 out=1,18,1,1 !mode='ADD'",
    "ConvolutionWrw x=2,6,5,4 dy=2,6,5,4 dw=6,1,3,3" ATTRIBUTES(
        "1,1", "1,1") "| Reduction in@2 out=1,6,1,1 !mode='ADD'",
    "ConvolutionWrw x=70,3,1,1:BFLOAT16 dy=70,5,1,1:BFLOAT16 dw=5,3,1,1:BFLOAT16" ATTRIBUTES(
        "0,0", "1,1") "| Reduction in@2 out=1,5,1,1:BFLOAT16 !mode='ADD'",
    /* Of what is computed, and with work behind it. */
    RELU_GRADIENT "| ConvolutionWrw x=2,6,6,5:HALF:last dy@3 dw=20,6,3,3:HALF:last" ATTRIBUTES(
        "1,1", "1,1") "| Reduction in@3 out=1,20,1,1:virtual !mode='ADD' "
                      "| Pointwise in_0@6 in_1=1,20,1,1 out_0=1,20,1,1 !operation='ADD'",
    /* Products: along k, and along rows; of either operand; with batches. */
    "Matmul a=70,133:HALF b=133,50:HALF c=70,50:HALF | Reduction in@1 out=70,1:HALF !mode='ADD'",
    "Matmul a=70,133:HALF b=133,56:HALF c=70,56:HALF | Reduction in@2 out=1,56:HALF !mode='ADD'",
    "Matmul a=70,64:turned b=64,50:turned c=70,50 | Reduction in@1 out=70,1 !mode='ADD'",
    "Matmul a=70,64:turned b=64,50:turned c=70,50 | Reduction in@2 out=1,50 !mode='ADD'",
    BATCHES "| Reduction in@1 out=3,20,1:DOUBLE !mode='ADD'",
    "Matmul a=20,1 b=1,10 c=20,10 | Reduction in@1 out=20,1 !mode='ADD'",
    /* One value as both factors, summed as either of them. */
    "Matmul a=64,64:HALF b@1 c=64,64:HALF | Reduction in@1 out=1,64:HALF !mode='ADD'",
    "Matmul a=64,64 b@1 c=64,64 | Reduction in@1 out=1,64 !mode='ADD'",
    "Matmul a=64,64 b@1 c=64,64 | Reduction in@1 out=64,1 !mode='ADD'",
    "Matmul a=2,48,48 b@1 c=2,48,48 | Reduction in@1 out=2,1,48 !mode='ADD'",
    /* fp8, which some tiles hold in other numbers than they stand for. */
    "Matmul a=40,48:FP8_E4M3 b=48,24:FP8_E4M3 c=40,24 | Reduction in@1 out=40,1 !mode='ADD'",
};

static void use_no_cache(void)
{
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
}

TestSuite(operand_sums_run, .init = use_no_cache, .timeout = 250);

/* On the host's own tiles, and on those of a GPU: in all forms that are for several targets. */
Test(operand_sums_run, agree_with_the_interpreter)
{
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        const struct kiln_lower_options own = {.host_wave_size = 0};
        const struct kiln_lower_options tiles = {
            .host_wave_size = 32,
            .contraction = {.form =
                                i % 2 == 0 ? KILN_CONTRACTION_PLAIN : KILN_CONTRACTION_STREAMED}};
        run_checked_sketch(sketches[i], &own);
        run_checked_sketch(sketches[i], &tiles);
    }
}

/* The product's k in segments; those of sums are of a long k. */
Test(operand_sums_run, of_segments)
{
    for (size_t i = 0; i < 4; i++) {
        const struct kiln_lower_options options = {.host_wave_size = i % 2 * 32,
                                                   .contraction = {.segments = 3}};
        run_checked_sketch(sketches[i], &options);
    }
    const struct kiln_lower_options options = {.host_wave_size = 32,
                                               .contraction = {.segments = 5}};
    run_checked_sketch("Matmul a=9,17000:HALF:turned b=17000,16:HALF c=9,16 "
                       "| Reduction in@1 out=9,1 !mode='ADD'",
                       &options);
    run_checked_sketch("Matmul a=9,16403 b=16403,4:turned c=9,4 "
                       "| Reduction in@2 out=1,4:virtual !mode='ADD' "
                       "| Pointwise in_0@4 in_1=1,4 out_0=1,4 !operation='ADD'",
                       &options);
}
