/*
 * Convolutions and products that kernels were wrong about once, on the host device, against the
 * interpreter.
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

#define GRADIENT_BEHIND_RELU                                                                       \
    "Pointwise in_0=4,24,9,8:HALF:last in_1=4,24,9,8:HALF:last out_0=4,24,9,8:HALF:virtual:last "  \
    "!operation='RELU_BWD' "

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
    /* The image is another convolution's result. */
    "ConvolutionFwd x=1,6,5,5 w=6,1,3,3 y=1,6,5,5:virtual" ATTRIBUTES(
        "1,1", "1,1", "1,1") "| ConvolutionFwd x@3 w=6,1,3,3 y=1,6,5,5" ATTRIBUTES("1,1", "1,1",
                                                                                   "1,1"),
    "ConvolutionFwd x=1,6,5,5:last w=6,1,3,3:last y=1,6,5,5:virtual:last" ATTRIBUTES(
        "1,1", "1,1",
        "1,1") "| ConvolutionFwd x@3 w=6,1,3,3:last y=1,6,5,5:last" ATTRIBUTES("1,1", "1,1", "1,1"),
    /* An index of an axis of size 1, repeated along one that kernels count: it stays 0. */
    "Pointwise in_0=1,4,1,1 out_0=1,4,1,1:INT32:virtual !operation='GEN_INDEX' !axis_tensor_uid=2 "
    "| Pointwise in_0@2 in_1@1 out_0=1,4,1,1:virtual !operation='ADD' "
    "| ConvolutionFwd x=2,3,6,5 w=4,3,3,3 y=2,4,6,5:virtual" ATTRIBUTES(
        "1,1", "1,1", "1,1") "| Pointwise in_0@6 in_1@3 out_0=2,4,6,5 !operation='SUB'",
    "Pointwise in_0=1,3,1,1 out_0=1,3,1,1:INT32:virtual !operation='GEN_INDEX' !axis_tensor_uid=3 "
    "| Pointwise in_0@2 in_1@1 out_0=1,3,1,1:virtual !operation='ADD' "
    "| Matmul a=2,3,8,8 b=2,3,8,8 c=2,3,8,8:virtual "
    "| Pointwise in_0@6 in_1@3 out_0=2,3,8,8 !operation='SUB'",
    /* An index between two products, of which the first has fewer elements. */
    "Matmul a=1,64,64 b=1,64,64 c=1,64,64:virtual "
    "| Pointwise in_0=4,64,64 out_0=4,64,64:INT32:virtual !operation='GEN_INDEX' "
    "!axis_tensor_uid=2 "
    "| Pointwise in_0@3 in_1@5 out_0=4,64,64:BFLOAT16:virtual !operation='MUL' "
    "| Pointwise in_0@6 in_1@4 out_0=4,64,64:virtual !operation='ADD' "
    "| Matmul a=4,64,64 b@7 c=4,64,64",
    /* An image of one pixel: one load for several columns, of which one is inside of the window. */
    "ConvolutionFwd x=1,5,1,1 w=5,1,2,4 y=1,5,4,4" ATTRIBUTES("2,3", "1,1", "1,1"),
    "ConvolutionBwd dy=1,5,1,1 w=5,1,5,4 dx=1,5,2,4" HUGE("0,0", "11,6", "1,1", "3,3"),
};

/* Channels last, each a group: strips of pixels. */
static const char *const strips[] = {
    "ConvolutionFwd x=3,24,9,11:HALF:last w=24,1,3,3:HALF:last y=3,24,9,11:HALF:last" ATTRIBUTES(
        "1,1", "1,1", "1,1"),
    /* More tiles than a work-group has at once, and several of them one below the other. */
    "ConvolutionFwd x=4,40,37,21:HALF:last w=40,1,3,3:HALF:last y=4,40,19,11:HALF:last" ATTRIBUTES(
        "1,1", "2,2", "1,1"),
    /* Taps backwards; a window of which local memory has a part at a time. */
    "ConvolutionBwd dy=2,16,9,9:HALF:last w=16,1,5,5:HALF:last dx=2,16,9,9:HALF:last" ATTRIBUTES(
        "2,2", "1,1", "1,1"),
    "ConvolutionFwd x=1,8,7,6:last w=8,1,7,7:last y=1,8,7,6:last" ATTRIBUTES("3,3", "1,1", "1,1"),
    /* Windows that lie outside of the image as a whole, dilated and strided across lines. */
    "ConvolutionFwd x=2,8,5,3:HALF:last w=8,1,3,3:HALF:last y=2,8,6,15:HALF:last" ATTRIBUTES(
        "9,7", "3,1", "3,1"),
    /* Channels that are no whole vector; one axis, and three. */
    "ConvolutionFwd x=2,5,9,7:last w=5,1,3,3:last y=2,5,9,7:last" ATTRIBUTES("1,1", "1,1", "1,1"),
    "ConvolutionFwd x=2,16,13:HALF:last w=16,1,4:HALF:last y=2,16,7:HALF:last" ATTRIBUTES("2", "2",
                                                                                          "1"),
    "ConvolutionFwd x=1,8,4,5,6:last w=8,1,3,2,3:last y=1,8,4,6,6:last" ATTRIBUTES("1,1,1", "1,1,1",
                                                                                   "1,1,1"),
    /* In front of the image a scale that has lines but no columns, behind the result a sum. */
    "Pointwise in_0=2,8,6,5:HALF:last in_1=2,1,6,1 out_0=2,8,6,5:HALF:virtual:last "
    "!operation='ADD' | ConvolutionFwd x@3 w=8,1,3,3:HALF:last y=2,8,6,5:virtual:last" ATTRIBUTES(
        "1,1", "1,1", "1,1") "| Pointwise in_0@5 in_1=2,8,6,5:HALF:last out_0=2,8,6,5:HALF:last "
                             "!operation='ADD'",
};

/* Weight gradients of channels that are groups, and neighbours in memory: with segments of pixels
 * and without, of a window and of single taps, several filters for each channel, work behind them.
 */
static const char *const depthwise_gradients[] = {
    "ConvolutionWrw x=3,24,19,11:HALF:last dy=3,24,19,11:HALF:last "
    "dw=24,1,3,3:HALF:last" ATTRIBUTES("1,1", "1,1", "1,1"),
    "ConvolutionWrw x=2,40,9,11:HALF:last dy=2,40,5,6:HALF:last dw=40,1,3,3:HALF:last" ATTRIBUTES(
        "1,1", "2,2", "1,1"),
    "ConvolutionWrw x=1,8,3,3:last dy=1,8,3,3:last dw=8,1,3,3:last" ATTRIBUTES("1,1", "1,1", "1,1"),
    "ConvolutionWrw x=2,5,9,7:last dy=2,5,7,7:last dw=5,1,5,3" ATTRIBUTES("1,1", "1,1", "1,1"),
    "ConvolutionWrw x=2,6,9,7:BFLOAT16:last dy=2,12,9,7:BFLOAT16:last "
    "dw=12,1,1,1:BFLOAT16:last" ATTRIBUTES("0,0", "1,1", "1,1"),
    "ConvolutionWrw x=2,16,53:HALF:last dy=2,32,27:HALF:last dw=32,1,4:HALF:last" ATTRIBUTES(
        "2", "2", "1"),
    "ConvolutionWrw x=1,8,4,5,6:DOUBLE:last dy=1,8,4,5,6:DOUBLE:last "
    "dw=8,1,3,2,3:DOUBLE:last" HUGE("1,0,1", "1,1,1", "1,1,1", "1,1,1"),
    /* Lines of seven pixels are as many as taps that have strips. */
    "ConvolutionWrw x=2,16,7,7:HALF:last dy=2,16,7,7:HALF:last dw=16,1,3,3:HALF:last" ATTRIBUTES(
        "1,1", "1,1", "1,1"),
    GRADIENT_BEHIND_RELU
    "| ConvolutionWrw x=4,24,9,8:HALF:last dy@3 dw=24,1,3,3:virtual:last" ATTRIBUTES(
        "2,2", "1,1", "2,2") "| Pointwise in_0@5 in_1=24,1,3,3:last out_0=24,1,3,3:last "
                             "!operation='ADD'",
};

/* Taps of few channels that lie one behind the other are loaded in runs: of more than one pack and
 * of less, of images that are smaller than a pack, cut by padding on either side, behind a prologue
 * that makes something of zero; and such that look like runs and are none. */
static const char *const runs[] = {
    "ConvolutionFwd x=2,3,20,20:HALF:last w=20,3,7,7:HALF:last y=2,20,10,10:HALF:last" ATTRIBUTES(
        "3,3", "2,2", "1,1"),
    "ConvolutionFwd x=2,3,5,6:HALF:last w=5,3,3,3:HALF:last y=2,5,5,6:HALF:last" ATTRIBUTES(
        "1,1", "1,1", "1,1"),
    "ConvolutionFwd x=1,3,1,2:HALF:last w=4,3,3,3:HALF:last y=1,4,1,2:HALF:last" ATTRIBUTES(
        "1,1", "1,1", "1,1"),
    "ConvolutionFwd x=2,5,4,9:BFLOAT16:last w=6,5,3,5:BFLOAT16:last "
    "y=2,6,4,3:BFLOAT16:last" ATTRIBUTES("1,2", "1,3", "1,1"),
    "ConvolutionFwd x=2,3,6,7:FLOAT:last w=4,3,3,3:FLOAT:last y=2,4,6,7:FLOAT:last" ATTRIBUTES(
        "1,1", "1,1", "1,1"),
    "ConvolutionFwd x=1,3,6,7:DOUBLE:last w=4,3,3,3:DOUBLE:last y=1,4,6,7:DOUBLE:last" ATTRIBUTES(
        "1,1", "1,1", "1,1"),
    "ConvolutionFwd x=1,3,6,9:HALF:last w=4,3,3,3:HALF:last y=1,4,4,5:HALF:last" ATTRIBUTES(
        "1,1", "1,1", "2,3"),
    "ConvolutionFwd x=1,3,4,5,6:HALF:last w=4,3,2,3,3:HALF:last y=1,4,5,5,6:HALF:last" ATTRIBUTES(
        "1,1,1", "1,1,1", "1,1,1"),
    "ConvolutionFwd x=2,4,9,9:HALF w=8,4,7,7:HALF y=2,8,9,9:HALF" ATTRIBUTES("3,3", "1,1", "1,1"),
    "Pointwise in_0=2,3,6,6:HALF:last in_1=1,1,1,1:HALF out_0=2,3,6,6:HALF:virtual:last "
    "!operation='ADD' "
    "| ConvolutionFwd x@3 w=5,3,3,3:HALF:last y=2,5,6,6:HALF:last" ATTRIBUTES("1,1", "1,1", "1,1"),
    "Pointwise in_0=2,3,6,6:HALF:last in_1=1,3,1,1:HALF out_0=2,3,6,6:HALF:virtual:last "
    "!operation='ADD' "
    "| ConvolutionFwd x@3 w=5,3,3,3:HALF:last y=2,5,6,6:HALF:last" ATTRIBUTES("1,1", "1,1", "1,1"),
};

/* Tables of k: pixels of several images, lines and tiles, and a short tile; strides, dilations and
 * padding that leave taps without a pixel; three windows; a prologue on the image. With the largest
 * strides an index beyond k would have no coordinate. */
static const char *const tables[] = {
    "ConvolutionWrw x=3,16,9,11:HALF:last dy=3,24,9,11:HALF:last dw=24,16,3,3:HALF:last" ATTRIBUTES(
        "1,1", "1,1", "1,1"),
    "ConvolutionWrw x=2,8,13,7:HALF:last dy=2,8,7,3:HALF:last dw=8,8,3,3:HALF:last" ATTRIBUTES(
        "1,1", "2,3", "1,1"),
    "ConvolutionWrw x=2,5,6,9:BFLOAT16:last dy=2,7,6,9:BFLOAT16:last "
    "dw=7,5,3,5:BFLOAT16:last" ATTRIBUTES("2,4", "1,1", "2,2"),
    "ConvolutionWrw x=2,4,3,4,5:HALF:last dy=2,8,3,4,5:HALF:last dw=8,4,3,3,3:HALF:last" ATTRIBUTES(
        "1,1,1", "1,1,1", "1,1,1"),
    "ConvolutionWrw x=2,8,6,6:FLOAT:last dy=2,4,6,6:FLOAT:last dw=4,8,3,3:FLOAT:last" ATTRIBUTES(
        "1,1", "1,1", "1,1"),
    "ConvolutionWrw x=1,8,5,5:HALF:last dy=1,8,2,2:HALF:last dw=8,8,2,2:HALF:last" HUGE(
        "3,3", "1073741824,1073741824", "1073741824,1073741824", "1,1"),
    "Pointwise in_0=2,8,9,9:HALF:last in_1=1,8,1,1:HALF out_0=2,8,9,9:HALF:virtual:last "
    "!operation='ADD' "
    "| ConvolutionWrw x@3 dy=2,16,9,9:HALF:last dw=16,8,3,3:HALF:last" ATTRIBUTES("1,1", "1,1",
                                                                                  "1,1"),
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

Test(convolution_run, runs_of_few_channels)
{
    for (uint32_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        run(runs[i], 0, KILN_CONTRACTION_ANY);
        run(runs[i], 32, i % 2 == 0 ? KILN_CONTRACTION_STREAMED : KILN_CONTRACTION_ANY);
    }
}

/* What few channels have in tiles, if nothing faster does them. */
Test(convolution_run, tables_of_k)
{
    for (uint32_t i = 0; i < sizeof tables / sizeof *tables; i++)
        run(tables[i], 32, KILN_CONTRACTION_PLAIN);
}

Test(convolution_run, small_groups_in_tiles)
{
    enum { FIRST = 1, LAST = 3 };
    for (uint32_t i = FIRST; i <= LAST; i++)
        run(sketches[i], 0, KILN_CONTRACTION_PLAIN);
}

Test(convolution_run, depthwise_weight_gradients)
{
    for (uint32_t i = 0; i < sizeof depthwise_gradients / sizeof *depthwise_gradients; i++) {
        run(depthwise_gradients[i], 0, KILN_CONTRACTION_ANY);
        run(depthwise_gradients[i], 32, KILN_CONTRACTION_ANY);
        run(depthwise_gradients[i], 32, KILN_CONTRACTION_PLAIN);
    }
}

Test(convolution_run, strips_of_pixels)
{
    for (uint32_t i = 0; i < sizeof strips / sizeof *strips; i++) {
        run(strips[i], 0, KILN_CONTRACTION_ANY);
        run(strips[i], 32, KILN_CONTRACTION_ANY);
    }
}
