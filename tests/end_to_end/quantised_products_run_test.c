/*
 * Products whose kernels quantise their results by blocks, on the host device, against the
 * interpreter.
 */
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define BIAS_GELU(m, n)                                                                            \
    "| Pointwise in_0@3 in_1=1," n " out_0=" m "," n ":virtual !operation='ADD' "                  \
    "| Pointwise in_0@5 out_0=" m "," n ":HALF:virtual !operation='GELU_FWD' "

static const char *const sketches[] = {
    /* Part of a tile, in rows and columns; blocks of all sizes, elements and scales of many types.
     */
    "Matmul a=33,20:HALF b=20,96:HALF c=33,96:HALF:virtual | BlockScaleQuantize x@3 "
    "y=33,96:FP8_E4M3 scale=33,3:FP8_E8M0 !block_size=32",
    "Matmul a=70,40:HALF b=40,80:HALF c=70,80:HALF:virtual " BIAS_GELU(
        "70", "80") "| BlockScaleQuantize x@6 y=70,80:FP8_E5M2 scale=70,5 !block_size=16",
    "Matmul a=20,33 b=33,256 c=20,256:virtual | BlockScaleQuantize x@3 y=20,256:INT8 "
    "scale=20,2 !block_size=128",
    "Matmul a=20,33 b=33,40 c=20,40:virtual | BlockScaleQuantize x@3 y=20,40:HALF "
    "scale=20,5:HALF !block_size=8",
    "Matmul a=40,64:BFLOAT16 b=64,192:BFLOAT16 c=40,192:BFLOAT16:virtual "
    "| BlockScaleQuantize x@3 y=40,192:BFLOAT16 scale=40,3:BFLOAT16 !block_size=64",
    "Matmul a=40,64:INT8 b=64,64:INT8 c=40,64:INT32:virtual | BlockScaleQuantize x@3 y=40,64:INT8 "
    "scale=40,2 !block_size=32",
    /* Packed elements, of blocks and of whole rows. */
    "Matmul a=40,20 b=20,96 c=40,96:virtual | BlockScaleQuantize x@3 "
    "y=40,96:FP6_E2M3 scale=40,6 !block_size=16",
    "Matmul a=3,20,16:HALF b=1,16,64:HALF c=3,20,64:HALF | BlockScaleQuantize x@3 "
    "y=3,20,64:FP4_E2M1 scale=3,20,1:FP8_E8M0 !block_size=64",
    "Matmul a=33,20:HALF b=20,96:HALF c=33,96:HALF:virtual | BlockScaleQuantize x@3 "
    "y=33,96:FP4_E2M1 scale=33,3:FP8_E8M0 !block_size=32",
    /* Batches, and what is quantised as an output. */
    "Matmul a=3,20,16:HALF b=1,16,96:HALF c=3,20,96:HALF | BlockScaleQuantize x@3 "
    "y=3,20,96:FP8_E4M3 scale=3,20,3 !block_size=32",
    /* Columns of scales, and a factor per row. */
    "Matmul a=48,16:HALF b=16,64:HALF c=48,64:virtual | Pointwise in_0@3 in_1=48,1 "
    "out_0=48,64:virtual !operation='MUL' | BlockScaleQuantize x@5 y=48,64:FP8_E4M3 "
    "scale=48,4:turned !block_size=16",
    /* Two products that meet. */
    "Matmul a=33,48:HALF b=48,64:HALF c=33,64:virtual | Matmul a@1 b=48,64:HALF c=33,64:virtual "
    "| Pointwise in_0@3 out_0=33,64:virtual !operation='SWISH_FWD' "
    "| Pointwise in_0@6 in_1@5 out_0=33,64:virtual !operation='MUL' "
    "| BlockScaleQuantize x@7 y=33,64:FP8_E4M3 scale=33,2:FP8_E8M0 !block_size=32",
    /* Results that run along their rows, with blocks along either. */
    "Matmul a=96,20 b=20,33 c=96,33:virtual:turned | BlockScaleQuantize x@3 "
    "y=96,33:FP8_E4M3:turned scale=3,33:turned !block_size=32 !axis=0",
    "Matmul a=33,20 b=20,96 c=33,96:virtual:turned | BlockScaleQuantize x@3 "
    "y=33,96:FP8_E4M3:turned scale=33,3:turned !block_size=32",
    "ConvolutionFwd x=2,16,5,6:HALF:last w=64,16,3,3:HALF:last y=2,64,5,6:HALF:virtual:last "
    "!pre_padding=[1,1] !post_padding=[1,1] !stride=[1,1] !dilation=[1,1] "
    "!conv_mode='CROSS_CORRELATION' | BlockScaleQuantize x@3 y=2,64,5,6:FP8_E4M3:last "
    "scale=2,2,5,6:last !block_size=32 !axis=1",
};

static void use_no_cache(void)
{
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
}

TestSuite(quantised_products_run, .init = use_no_cache, .timeout = 250);

/* On the host's own tiles, and on those of GPUs with either size of waves. */
Test(quantised_products_run, agree_with_the_interpreter)
{
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        const struct kiln_lower_options own = {.host_wave_size = 0};
        const struct kiln_lower_options tiles = {
            .host_wave_size = i % 2 == 0 ? 32 : 64,
            .contraction = {.form = i % 4 < 2 ? KILN_CONTRACTION_PLAIN : KILN_CONTRACTION_ANY}};
        run_checked_sketch(sketches[i], &own);
        run_checked_sketch(sketches[i], &tiles);
    }
}
