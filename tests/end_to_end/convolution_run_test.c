/*
 * Convolutions that kernels were wrong about once, on the host device, against the interpreter.
 */
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define ATTRIBUTES(padding, stride, dilation)                                                      \
    " !pre_padding=[" padding "] !post_padding=[" padding "] !stride=[" stride                     \
    "] !dilation=[" dilation "] !conv_mode='CROSS_CORRELATION' "

#define HUGE(pre, post, stride, dilation)                                                          \
    " !pre_padding=[" pre "] !post_padding=[" post "] !stride=[" stride "] !dilation=[" dilation   \
    "] !conv_mode='CONVOLUTION'"

static const char *const sketches[] = {
    /* An image of one row: its tensor has no stride that would tell one tap from another. */
    "ConvolutionFwd x=2,4,1 w=4,4,3 y=2,4,5:INT8" ATTRIBUTES("3", "1", "1"),
    "ConvolutionFwd x=1,5,1,7:DOUBLE w=5,1,3,1:DOUBLE y=1,5,5,9:DOUBLE" ATTRIBUTES("3,1", "1,1",
                                                                                   "1,1"),
    "ConvolutionFwd x=1,1,1,7:HALF w=6,1,3,1:HALF y=1,6,5,9:HALF" ATTRIBUTES("3,1", "1,1", "1,1"),
    "ConvolutionBwd dy=2,6,1,5 w=6,1,3,1 dx=2,6,3,3" ATTRIBUTES("0,1", "1,1", "1,1"),
    "ConvolutionWrw x=1,6,1,5 dy=1,6,3,7 dw=6,1,3,1" ATTRIBUTES("2,1", "1,1", "1,1"),
    /* Scales that have no window, in front of an image that has one. */
    "Pointwise in_0=2,6,1,5 in_1=1,6,1,1 out_0=2,6,1,5:virtual !operation='ADD' | "
    "ConvolutionFwd x@3 w=4,6,3,3 y=2,4,3,5" ATTRIBUTES("2,1", "1,1", "1,1"),
    "Pointwise in_0=2,6,4,5:HALF:last in_1=2,1,4,1 out_0=2,6,4,5:HALF:virtual:last "
    "!operation='MUL' "
    "| ConvolutionFwd x@3 w=4,6,3,3:HALF:last y=2,4,4,5:HALF:last" ATTRIBUTES("1,1", "1,1", "1,1"),
    /* Rows of pixels are batches where something is added to them that is the same in each. */
    "ConvolutionFwd x=2,3,6,5 w=4,3,3,3 y=2,4,6,5:virtual" ATTRIBUTES(
        "1,1", "1,1", "1,1") "| Pointwise in_0@3 in_1=1,1,1,5 out_0=2,4,6,5 !operation='ADD'",
    "ConvolutionBwd dy=2,4,3,3 w=4,3,3,3 dx=2,3,6,6:virtual" ATTRIBUTES(
        "1,1", "2,2", "1,1") "| Pointwise in_0@3 in_1=1,1,1,6 out_0=2,3,6,6 !operation='ADD'",
    /* Phases without a tap, and phases of less than one tile. */
    "ConvolutionBwd dy=2,8,4,4:HALF:last w=8,3,3,3:HALF:last dx=2,12,9,9:HALF:last" ATTRIBUTES(
        "1,1", "2,2", "2,2"),
    "ConvolutionBwd dy=2,3,3,3 w=3,4,1,2 dx=2,4,7,9" ATTRIBUTES("0,0", "3,3", "1,2"),
    /* Strides, dilations and paddings beyond any image: so many phases have no row. */
    "ConvolutionBwd dy=2,4,2 w=4,3,2 dx=2,3,5" HUGE("3", "1073741824", "1073741824", "1"),
    "ConvolutionBwd dy=2,4,5 w=4,3,3 dx=2,3,5" HUGE("1073741814", "1073741814", "1", "1073741814"),
    "ConvolutionFwd x=2,3,5 w=4,3,3 y=2,4,5" HUGE("1073741814", "1073741814", "1", "1073741814"),
    "ConvolutionWrw x=2,3,5 dy=2,4,2 dw=4,3,2" HUGE("3", "1073741824", "1073741824", "1"),
};

static void run(const char *sketch, uint32_t wave_size, enum kiln_contraction_form form)
{
    const struct kiln_lower_options options = {.host_wave_size = wave_size,
                                               .contraction = {.form = form}};
    run_checked_sketch(sketch, &options);
}

static void use_no_cache(void)
{
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
}

TestSuite(convolution_run, .init = use_no_cache, .timeout = 250);

/* Every other one as for a GPU: tiles are so large then that all of these have less than one. */
Test(convolution_run, agree_with_the_interpreter)
{
    for (uint32_t i = 0; i < sizeof sketches / sizeof *sketches; i++)
        run(sketches[i], i % 2 * 32, KILN_CONTRACTION_ANY);
}

/* What few channels have in tiles, if nothing faster does them. */
Test(convolution_run, small_groups_in_tiles)
{
    enum { FIRST = 1, LAST = 3 };
    for (uint32_t i = FIRST; i <= LAST; i++)
        run(sketches[i], 0, KILN_CONTRACTION_PLAIN);
}
