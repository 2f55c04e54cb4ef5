/*
 * Packed tensors that products, convolutions, pooling and attention read directly, on the host
 * device, against the interpreter.
 */
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW                                                                                     \
    "!pre_padding=[1,1] !post_padding=[1,1] !stride=[1,1] !dilation=[1,1] "                        \
    "!conv_mode='CROSS_CORRELATION'"
#define DEQUANTIZE "BlockScaleDequantize "

static const char *const sketches[] = {
    "Matmul a=18,96:HALF b=96,40:FP4_E2M1:turned c=18,40:HALF",
    "Matmul a=18,96:BFLOAT16 b=96,40:FP6_E2M3:turned c=18,40:BFLOAT16",
    "Matmul a=18,96:HALF b=96,40:INT4 c=18,40:HALF",
    "Matmul a=18,32:INT8 b=32,17:INT4:turned c=18,17:INT32",
    /* No row is whole bytes. */
    "Matmul a=17,33:FP6_E3M2 b=33,15:FP4_E2M1 c=17,15",
    /* Batches of their own, and fewer. */
    "Matmul a=3,2,9,32:HALF b=3,2,32,24:FP4_E2M1:turned c=3,2,9,24:HALF",
    "Matmul a=3,2,9,33:INT4 b=3,1,33,24:FP6_E2M3 c=3,2,9,24",
    "Matmul a=90,4,7:FP4_E2M1 b=90,7,5:FP4_E2M1 c=90,4,5",
    "MoeGroupedMatmul token=1,37,24:HALF weight=3,24,40:FP4_E2M1:turned "
    "first_token_offset=6,1,1:INT32 output=1,37,40:HALF",
    "MoeGroupedMatmul token=1,37,24:FP4_E2M1 weight=3,24,40:INT4:turned "
    "first_token_offset=6,1,1:INT32 token_index=1,41,1:INT32 output=1,41,40:HALF !mode='GATHER'",
    "ConvolutionFwd x=2,16,7,6:HALF:last w=24,16,3,3:FP4_E2M1:last y=2,24,7,6:HALF:last " WINDOW,
    "ConvolutionFwd x=2,16,7,6:HALF w=24,16,3,3:INT4 y=2,24,7,6:HALF " WINDOW,
    "ConvolutionFwd x=2,16,7,6:FP6_E3M2 w=16,1,3,3:FP4_E2M1 y=2,16,7,6 " WINDOW,
    "ConvolutionBwd dy=2,24,7,6:HALF w=24,16,3,3:FP4_E2M1 dx=2,16,7,6:HALF " WINDOW,
    "ConvolutionWrw dy=2,24,7,6:HALF x=2,16,7,6:FP4_E2M1 dw=24,16,3,3 " WINDOW,
    /* A virtual tensor that changes no value is none to cut. */
    "Pointwise in_0=2,16,7,6:FP4_E2M1 out_0=2,16,7,6:virtual !operation='IDENTITY' "
    "| ConvolutionFwd x@2 w=24,16,3,3 y=2,24,7,6 " WINDOW,
    "ResampleFwd x=2,6,8,8:FP4_E2M1 y=2,6,4,4:HALF !resample_mode='MAXPOOL' "
    "!padding_mode='NEG_INF_PAD' !pre_padding=[0,0] !post_padding=[0,0] !stride=[2,2] "
    "!window=[2,2]",
    "Sdpa q=2,4,20,64:HALF k=2,2,35,64:FP4_E2M1 v=2,2,35,64:FP4_E2M1 o=2,4,20,64:HALF",
    "Sdpa q=1,2,20,32:FP6_E2M3 k=1,2,35,32:FP6_E3M2 v=1,2,35,32:HALF o=1,2,20,32",
    /* Blocks in batches, and blocks of rows in many small products. */
    DEQUANTIZE "x=2,3,64,24:FP4_E2M1:turned scale=2,3,2,24:FP8_E8M0:turned y=2,3,64,24:virtual "
               "!block_size=[1,1,32,1] | Matmul a=2,3,9,64:HALF b@3 c=2,3,9,24:HALF",
    DEQUANTIZE "x=4,8,12:FP4_E2M1 scale=2,8,3 y=4,8,12:virtual !block_size=[2,1,4] "
               "| Matmul a=4,5,8 b@3 c=4,5,12",
    DEQUANTIZE "x=640,16:FP4_E2M1 scale=40,1:FP8_E8M0 y=640,16:virtual !block_size=[16,16] "
               "| Matmul a@3 b=16,4 c=640,4",
};

static void use_no_cache(void)
{
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
}

TestSuite(packed_operands_run, .init = use_no_cache, .timeout = 250);

Test(packed_operands_run, agree_with_the_interpreter)
{
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        const struct kiln_lower_options options = {.host_wave_size = (uint32_t)(i % 3) * 32};
        run_checked_sketch(sketches[i], &options);
    }
}

/* Codes of all kinds: 2^-127, NaN, and powers of two that take FP4 beyond the ends of bfloat16. */
static void put_scales(const struct kiln_graph *graph, void *const *memory)
{
    static const unsigned char codes[] = {0, 255, 127, 254, 1, 126, 128, 253};
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        unsigned char *to = memory[i];
        int64_t count = graph->tensors[i].dtype == KILN_DTYPE_E8M0
                            ? kiln_tensor_elements(&graph->tensors[i])
                            : 0;
        for (int64_t n = 0; n < count; n++)
            to[n] = codes[n % (int64_t)sizeof codes];
    }
}

/* A lane of a streamed kernel loads whole blocks, and looks up FP4. */
Test(packed_operands_run, streamed_blocks)
{
    static const char *const streamed[] = {
        DEQUANTIZE "x=64,24:FP4_E2M1:turned scale=2,24:FP8_E8M0:turned y=64,24:virtual "
                   "!block_size=[32,1] | Matmul a=5,64:BFLOAT16 b@3 c=5,24:BFLOAT16",
        DEQUANTIZE "x=352,24:FP4_E2M1:turned scale=11,24:FP8_E8M0:turned y=352,24:HALF:virtual "
                   "!block_size=[32,1] | Matmul a=5,352:HALF b@3 c=5,24:HALF",
        DEQUANTIZE "x=352,24:FP4_E2M1:turned scale=22,24:turned y=352,24:BFLOAT16:virtual "
                   "!block_size=[16,1] | Matmul a=5,352:BFLOAT16 b@3 c=5,24",
        DEQUANTIZE "x=320,24:FP6_E3M2:turned scale=10,24:FP8_E8M0:turned y=320,24:virtual "
                   "!block_size=[32,1] | Matmul a=5,320:BFLOAT16 b@3 c=5,24:BFLOAT16",
        DEQUANTIZE "x=24,320:FP4_E2M1 scale=24,10:FP8_E8M0 y=24,320:virtual !block_size=[32] "
                   "| Matmul a@3 b=320,7:BFLOAT16:turned c=24,7",
        "Matmul a=5,352:HALF b=352,24:FP4_E2M1:turned c=5,24:HALF",
        "Matmul a=5,352:HALF b=352,24:INT4:turned c=5,24:HALF",
    };
    for (size_t i = 0; i < 3 * sizeof streamed / sizeof *streamed; i++) {
        const struct kiln_lower_options options = {
            .host_wave_size = (uint32_t)(i % 3) * 32,
            .contraction = {.form = KILN_CONTRACTION_STREAMED}};
        run_checked_sketch(streamed[i / 3], &options);
    }
    const struct kiln_lower_options options = {.contraction = {.form = KILN_CONTRACTION_STREAMED}};
    run_prepared_sketch(streamed[0], &options, put_scales);
    run_prepared_sketch(streamed[3], &options, put_scales);
}
