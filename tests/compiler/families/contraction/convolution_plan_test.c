/*
 * Which kernels graphs with convolutions become, as frameworks send them, in both layouts.
 */
#include "compiler/families/contraction/schedule/contraction_schedule.h"
#include "compiler/plan/kernel_plan.h"
#include "compiler/program.h"
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/compiler/sketched_plans.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct kiln_arena arena;
static struct kiln_error error;

static void setup(void)
{
    kiln_arena_init(&arena);
    kiln_error_init(&error);
}

static void teardown(void)
{
    kiln_arena_fini(&arena);
}

TestSuite(convolution_plan, .init = setup, .fini = teardown);

#define ATTRIBUTES(padding, stride)                                                                \
    " !pre_padding=[" padding "] !post_padding=[" padding "] !stride=[" stride                     \
    "] !dilation=[1,1] !conv_mode='CROSS_CORRELATION' "
#define SAME     ATTRIBUTES("1,1", "1,1")
#define HALF     ATTRIBUTES("1,1", "2,2")
#define IMAGE    "64,64,56,56:HALF:last"
#define FILTERS  "128,64,3,3:HALF:last"
#define SHAPE    "64,128,56,56"
#define VIRTUAL  SHAPE ":HALF:virtual:last"
#define OUTPUT   SHAPE ":HALF:last"
#define CHANNELS "1,128,1,1"
/* Tensors 1 to 3. */
#define CONVOLUTION "ConvolutionFwd x=" IMAGE " w=" FILTERS " y=" VIRTUAL SAME
#define DATA_GRADIENT                                                                              \
    "ConvolutionBwd dy=64,64,56,56:HALF:last w=64,128,3,3:HALF:last dx=" VIRTUAL SAME
#define STRIDED_GRADIENT                                                                           \
    "ConvolutionBwd dy=64,64,28,28:HALF:last w=64,128,3,3:HALF:last dx=" VIRTUAL HALF
#define UNARY(from, to, mode) "| Pointwise in_0@" from " out_0=" to " !operation='" mode "' "
#define BINARY(from, with, to, mode)                                                               \
    "| Pointwise in_0@" from " in_1" with " out_0=" to " !operation='" mode "' "
#define NORM_INFERENCE(from, channels, to)                                                         \
    "BatchnormInference x" from " mean=" channels " inv_variance=" channels " scale=" channels     \
    " bias=" channels " y=" to " "

static const struct {
    const char *name, *sketch;
    uint32_t kernels;
    uint32_t most; /* where the number depends on the target; else 0 */
} rows[] = {
    {"scale, bias, residual, relu",
     CONVOLUTION BINARY("3", "=" CHANNELS, VIRTUAL, "MUL") BINARY("5", "=" CHANNELS, VIRTUAL, "ADD")
         BINARY("7", "=" OUTPUT, VIRTUAL, "ADD") UNARY("9", OUTPUT, "RELU_FWD"),
     1, 0},
    {"bias, silu",
     CONVOLUTION BINARY("3", "=" CHANNELS, VIRTUAL, "ADD") UNARY("5", OUTPUT, "SWISH_FWD"), 1, 0},
    {"bias of half", CONVOLUTION BINARY("3", "=" CHANNELS ":HALF", OUTPUT, "ADD"), 1, 0},
    {"bias first",
     CONVOLUTION "| Pointwise in_0=" CHANNELS ":HALF in_1@3 out_0=" OUTPUT " !operation='ADD'", 1,
     0},
    {"sigmoid of itself times itself",
     CONVOLUTION UNARY("3", VIRTUAL, "SIGMOID_FWD") BINARY("3", "@4", OUTPUT, "MUL"), 1, 0},
    {"outputs before and behind relu",
     "ConvolutionFwd x=" IMAGE " w=" FILTERS " y=" OUTPUT SAME UNARY("3", OUTPUT, "RELU_FWD"), 1,
     0},
    {"three outputs",
     "ConvolutionFwd x=" IMAGE " w=" FILTERS " y=" OUTPUT SAME UNARY("3", OUTPUT, "RELU_FWD")
         BINARY("3", "=" CHANNELS, SHAPE ":FLOAT:last", "MUL"),
     1, 0},
    {"cast to float", CONVOLUTION UNARY("3", SHAPE ":FLOAT:last", "IDENTITY"), 1, 0},
    {"cast to fp8 with a scale", CONVOLUTION BINARY("3", "=k", SHAPE ":FP8_E4M3:last", "MUL"), 1,
     0},
    {"norm of inference, relu",
     CONVOLUTION "| " NORM_INFERENCE("@3", CHANNELS, VIRTUAL) UNARY("8", OUTPUT, "RELU_FWD"), 1, 0},
    {"norm of inference, residual, relu",
     CONVOLUTION "| " NORM_INFERENCE("@3", CHANNELS, VIRTUAL)
         BINARY("8", "=" OUTPUT, VIRTUAL, "ADD") UNARY("10", OUTPUT, "RELU_FWD"),
     1, 0},
    {"data gradient, bias", DATA_GRADIENT BINARY("3", "=" CHANNELS, OUTPUT, "ADD"), 1, 0},
    {"data gradient, bias, relu, residual",
     DATA_GRADIENT BINARY("3", "=" CHANNELS, VIRTUAL, "ADD") UNARY("5", VIRTUAL, "RELU_FWD")
         BINARY("6", "=" OUTPUT, OUTPUT, "ADD"),
     1, 0},
    {"strided data gradient, bias", STRIDED_GRADIENT BINARY("3", "=" CHANNELS, OUTPUT, "ADD"), 1,
     0},
    {"strided data gradient, bias, silu, two outputs",
     STRIDED_GRADIENT BINARY("3", "=" CHANNELS, OUTPUT, "ADD") UNARY("5", OUTPUT, "SWISH_FWD"), 1,
     0},
    {"norm of inference, relu, convolution",
     NORM_INFERENCE("=" IMAGE, "1,64,1,1", "64,64,56,56:HALF:virtual:last")
         UNARY("6", "64,64,56,56:HALF:virtual:last", "RELU_FWD") "| ConvolutionFwd x@7 w=" FILTERS
                                                                 " y=" OUTPUT SAME,
     1, 0},
    {"norm of inference with a variance, relu, convolution",
     "BatchnormInferenceAttributesVarianceExt x=" IMAGE
     " mean=1,64,1,1 variance=1,64,1,1 scale=1,64,1,1 bias=1,64,1,1 "
     "y=64,64,56,56:HALF:virtual:last epsilon=k " UNARY(
         "6", "64,64,56,56:HALF:virtual:last", "RELU_FWD") "| ConvolutionFwd x@8 w=" FILTERS
                                                           " y=" OUTPUT SAME,
     1, 0},
    {"norm, relu, convolution, bias, relu",
     NORM_INFERENCE("=" IMAGE, "1,64,1,1", "64,64,56,56:HALF:virtual:last")
         UNARY("6", "64,64,56,56:HALF:virtual:last",
               "RELU_FWD") "| ConvolutionFwd x@7 w=" FILTERS
                           " y=" VIRTUAL SAME BINARY("9", "=" CHANNELS, VIRTUAL, "ADD")
                               UNARY("11", OUTPUT, "RELU_FWD"),
     1, 0},
    {"dequantised filters",
     "Pointwise in_0=128,64,3,3:INT8:last in_1=128,1,1,1 out_0=128,64,3,3:HALF:virtual:last "
     "!operation='MUL' "
     "| ConvolutionFwd x=" IMAGE " w@3 y=" OUTPUT SAME,
     1, 0},
    {"int8, scaled",
     "ConvolutionFwd x=64,64,56,56:INT8:last w=128,64,3,3:INT8:last y=" SHAPE
     ":INT32:virtual:last" SAME BINARY("3", "=" CHANNELS, SHAPE ":virtual:last", "MUL")
         BINARY("5", "=" CHANNELS, OUTPUT, "ADD"),
     1, 0},
    {"relu's gradient, data gradient",
     "Pointwise in_0=64,64,56,56:HALF:last in_1=64,64,56,56:HALF:last "
     "out_0=64,64,56,56:HALF:virtual:last !operation='RELU_BWD' "
     "| ConvolutionBwd dy@3 w=64,128,3,3:HALF:last dx=" OUTPUT SAME,
     1, 0},
    {"relu's gradient, weight gradient",
     "Pointwise in_0=64,64,56,56:HALF:last in_1=64,64,56,56:HALF:last "
     "out_0=64,64,56,56:HALF:virtual:last !operation='RELU_BWD' "
     "| ConvolutionWrw x=64,128,56,56:HALF:last dy@3 dw=64,128,3,3:HALF:last" SAME,
     1, 2},
    {"depthwise, bias, relu",
     "ConvolutionFwd x=" OUTPUT " w=128,1,3,3:HALF:last y=" VIRTUAL SAME BINARY(
         "3", "=" CHANNELS, VIRTUAL, "ADD") UNARY("5", OUTPUT, "RELU_FWD"),
     1, 0},
    {"groups, bias, relu",
     "ConvolutionFwd x=" OUTPUT " w=128,32,3,3:HALF:last y=" VIRTUAL SAME BINARY(
         "3", "=" CHANNELS, VIRTUAL, "ADD") UNARY("5", OUTPUT, "RELU_FWD"),
     1, 0},
    {"sum of channels",
     "ConvolutionFwd x=" IMAGE " w=" FILTERS " y=" OUTPUT SAME "| Reduction in@3 out=" CHANNELS
     " !mode='ADD'",
     2, 0},
    {"sums of channels and of their squares",
     "ConvolutionFwd x=" IMAGE " w=" FILTERS " y=" OUTPUT SAME "| Reduction in@3 out=" CHANNELS
     " !mode='ADD' "
     "| Pointwise in_0@3 in_1@3 out_0=" SHAPE ":virtual:last !operation='MUL' "
     "| Reduction in@5 out=" CHANNELS " !mode='ADD' ",
     2, 0},
    {"norm of training",
     CONVOLUTION "| Batchnorm x@3 scale=" CHANNELS " bias=" CHANNELS " epsilon=k y=" OUTPUT
                 " mean=" CHANNELS " inv_variance=" CHANNELS,
     3, 0},
    {"norm of training, relu",
     CONVOLUTION "| Batchnorm x@3 scale=" CHANNELS " bias=" CHANNELS " epsilon=k y=" VIRTUAL
                 " mean=" CHANNELS " inv_variance=" CHANNELS " " UNARY("7", OUTPUT, "RELU_FWD"),
     3, 0},
    {"norm of training of an output, relu",
     "ConvolutionFwd x=" IMAGE " w=" FILTERS " y=" OUTPUT SAME "| Batchnorm x@3 scale=" CHANNELS
     " bias=" CHANNELS " epsilon=k y=" VIRTUAL " mean=" CHANNELS " inv_variance=" CHANNELS
     " " UNARY("7", OUTPUT, "RELU_FWD"),
     3, 0},
    {"two convolutions",
     CONVOLUTION BINARY("3", "=" CHANNELS, VIRTUAL, "ADD")
         UNARY("5", VIRTUAL, "RELU_FWD") "| ConvolutionFwd x@6 w=64,128,1,1:HALF:last "
                                         "y=64,64,56,56:HALF:virtual:last" ATTRIBUTES("0,0", "1,1")
                                             BINARY("8", "=1,64,1,1",
                                                    "64,64,56,56:HALF:virtual:last", "ADD")
                                                 UNARY("10", "64,64,56,56:HALF:last", "RELU_FWD"),
     2, 0},
    {"two of one image with the same window, gated",
     CONVOLUTION
     "| ConvolutionFwd x@1 w=128,64,3,3:HALF:last y=" VIRTUAL SAME BINARY("3", "@5", OUTPUT, "MUL"),
     1, 0},
    {"two of one image, added",
     CONVOLUTION "| ConvolutionFwd x@1 w=128,64,1,1:HALF:last y=" VIRTUAL ATTRIBUTES("0,0", "1,1")
         BINARY("3", "@5", OUTPUT, "ADD"),
     2, 0},
    {"weight gradient",
     "ConvolutionWrw x=64,128,56,56:HALF:last dy=64,64,56,56:HALF:last "
     "dw=64,128,3,3:HALF:last" SAME,
     1, 2},
    {"weight and bias gradient",
     "ConvolutionWrw x=64,128,56,56:HALF:last dy=64,64,56,56:HALF:last dw=64,128,3,3:HALF:last" SAME
     "| Reduction in@2 out=1,64,1,1 !mode='ADD'",
     1, 3},
    {"relu's gradient, weight and bias gradient",
     "Pointwise in_0=64,64,56,56:HALF:last in_1=64,64,56,56:HALF:last "
     "out_0=64,64,56,56:HALF:virtual:last !operation='RELU_BWD' "
     "| ConvolutionWrw x=64,128,56,56:HALF:last dy@3 dw=64,128,3,3:HALF:last" SAME
     "| Reduction in@3 out=1,64,1,1:HALF !mode='ADD'",
     1, 3},
    {"weight, bias and data gradient",
     "ConvolutionWrw x=64,128,56,56:HALF:last dy=64,64,56,56:HALF:last dw=64,128,3,3:HALF:last" SAME
     "| Reduction in@2 out=1,64,1,1 !mode='ADD' "
     "| ConvolutionBwd dy@2 w=64,128,3,3:HALF:last dx=" OUTPUT SAME,
     2, 4},
    {"weight gradient, scaled to float",
     "ConvolutionWrw x=64,128,56,56:HALF:last dy=64,64,56,56:HALF:last "
     "dw=64,128,3,3:virtual:last" SAME BINARY("3", "=k", "64,128,3,3:last", "MUL"),
     1, 2},
    {"data gradient, relu's gradient", DATA_GRADIENT BINARY("3", "=" OUTPUT, OUTPUT, "RELU_BWD"), 1,
     0},
    {"data gradient, sum of channels",
     "ConvolutionBwd dy=64,64,56,56:HALF:last w=64,128,3,3:HALF:last dx=" OUTPUT SAME
     "| Reduction in@3 out=" CHANNELS " !mode='ADD'",
     2, 0},
    {"strided data gradient, sum of channels",
     "ConvolutionBwd dy=64,64,28,28:HALF:last w=64,128,3,3:HALF:last dx=" OUTPUT HALF
     "| Reduction in@3 out=" CHANNELS " !mode='ADD'",
     2, 0},
};

static const char *const targets[] = {"gfx942", "sm_90", "host"};

/* Without ":last" where the graph is to be in the layout that tensors have without it. */
static void remove_layout(char *sketch)
{
    static const char flag[] = ":last";
    for (char *at; (at = strstr(sketch, flag)) != NULL;)
        memmove(at, at + sizeof flag - 1, strlen(at + sizeof flag - 1) + 1);
}

Test(convolution_plan, what_goes_with_a_convolution_is_one_kernel)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *sketch = strdup(rows[i].sketch);
        for (int is_packed = 0; is_packed < 2; is_packed++) {
            struct json_graph read;
            if (is_packed != 0)
                remove_layout(sketch);
            graph_sketch_accept(&read, sketch, NULL);
            for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
                const struct kiln_lower_options options = {0};
                struct kiln_kernel_plan plan;
                struct kiln_target target;
                cr_assert_eq(kiln_target_parse(targets[t], &target, &error), KILN_OK);
                cr_assert_eq(
                    kiln_kernel_plan_make(&read.graph, &target, &options, &arena, &plan, &error),
                    KILN_OK, "%s: %s", rows[i].name, error.text);
                uint32_t kernels = plan.partition.group_count;
                uint32_t most = rows[i].most != 0 ? rows[i].most : rows[i].kernels;
                cr_expect(kernels >= rows[i].kernels && kernels <= most,
                          "%s, %s, for %s: %u kernels", rows[i].name,
                          is_packed != 0 ? "NCHW" : "NHWC", targets[t], kernels);
                bool sums = strstr(rows[i].name, "sum") != NULL ||
                            strstr(rows[i].name, "of training") != NULL;
                cr_expect_eq((plan.partition.choices & KILN_CHOICE_NO_TILE_STATISTICS) != 0, sums,
                             "%s, %s, for %s", rows[i].name, is_packed != 0 ? "NCHW" : "NHWC",
                             targets[t]);
            }
            json_graph_fini(&read);
        }
        free(sketch);
    }
}

Test(convolution_plan, explanations_tell_of_windows_and_phases)
{
    static const struct {
        const char *sketch, *words;
    } explained[] = {
        {CONVOLUTION UNARY("3", OUTPUT, "RELU_FWD"),
         "k 576, 2 windows over the left operand, tile"},
        {STRIDED_GRADIENT UNARY("3", OUTPUT, "RELU_FWD"),
         ", batch 4, 2 windows over the left operand, batches of 4 phases of a stride, tile"},
    };
    for (size_t i = 0; i < sizeof explained / sizeof *explained; i++) {
        struct kiln_buffer text;
        const struct kiln_dump dump = {.stages = KILN_DUMP_SCHEDULE, .text = &text};
        kiln_buffer_init(&text);
        (void)sketch_lower(&arena, explained[i].sketch, "gfx942", &dump);
        cr_expect_not_null(strstr(kiln_buffer_text(&text), explained[i].words), "%s",
                           kiln_buffer_text(&text));
        kiln_buffer_fini(&text);
    }
}

/* All elements of a row of the image lie together, and all taps of a channel do not: so the sums
 * of segments, of which columns take their order, lie as the gradient does. */
Test(convolution_plan, weight_gradients_in_segments_read_in_vectors)
{
    static const char *const gpus[] = {"gfx942", "sm_90"};
    for (size_t t = 0; t < sizeof gpus / sizeof *gpus; t++) {
        const struct kiln_lower_options options = {0};
        struct kiln_kernel_plan plan;
        struct kiln_target target;
        struct json_graph read;
        graph_sketch_accept(&read,
                            "ConvolutionWrw x=64,64,56,56:HALF:last dy=64,64,56,56:HALF:last "
                            "dw=64,64,3,3:HALF:last" SAME,
                            NULL);
        cr_assert_eq(kiln_target_parse(gpus[t], &target, &error), KILN_OK);
        cr_assert_eq(kiln_kernel_plan_make(&read.graph, &target, &options, &arena, &plan, &error),
                     KILN_OK, "%s", error.text);
        cr_assert_eq(plan.partition.group_count, 2, "%s", gpus[t]);
        for (uint32_t i = 0; i < plan.partition.groups[0].access_count; i++)
            cr_expect_eq(plan.schedules[0].accesses[i].mode, KILN_ACCESS_VECTOR, "%s: %u", gpus[t],
                         i);
        json_graph_fini(&read);
    }
}

/* Of channels that are groups, whose pixels are shared out to as many segments as fill a GPU. */
Test(convolution_plan, depthwise_weight_gradients_have_no_tiles)
{
    static const char *const gpus[] = {"gfx942", "gfx1100", "sm_90"};
    for (size_t t = 0; t < sizeof gpus / sizeof *gpus; t++) {
        const struct kiln_lower_options options = {0};
        struct kiln_kernel_plan plan;
        struct kiln_target target;
        struct json_graph read;
        graph_sketch_accept(&read,
                            "ConvolutionWrw x=8,144,56,56:HALF:last dy=8,144,56,56:HALF:last "
                            "dw=144,1,3,3:HALF:last" SAME,
                            NULL);
        cr_assert_eq(kiln_target_parse(gpus[t], &target, &error), KILN_OK);
        cr_assert_eq(kiln_kernel_plan_make(&read.graph, &target, &options, &arena, &plan, &error),
                     KILN_OK, "%s", error.text);
        cr_assert_eq(plan.partition.group_count, 2, "%s", gpus[t]);
        const struct kiln_contraction_schedule *contraction =
            kiln_contraction_schedule_of(&plan.schedules[0]);
        cr_expect(kiln_pipeline_is_direct(&contraction->pipeline) &&
                      contraction->pipeline.kind == KILN_PIPELINE_GRADIENT,
                  "%s", gpus[t]);
        cr_expect_eq(contraction->pipeline.strips.taps, 0, "%s", gpus[t]);
        cr_expect_gt(kiln_ending_segments(&contraction->ending), 64, "%s", gpus[t]);
        cr_expect_eq(contraction->result_vector, 8, "%s", gpus[t]);
        json_graph_fini(&read);
    }
}

/* 256 x 2304 weights are 36 tiles: too few for a GPU, although 12544 pixels are fewer than a
 * product needs to be cut. */
Test(convolution_plan, gradients_of_many_weights_are_cut_into_segments)
{
    static const struct {
        const char *sketch;
        uint32_t groups;
    } plans[] = {
        {"ConvolutionWrw x=64,256,14,14:HALF:last dy=64,256,14,14:HALF:last "
         "dw=256,256,3,3:HALF:last" SAME,
         2},
        {"ConvolutionWrw x=4,256,14,14:HALF:last dy=4,256,14,14:HALF:last "
         "dw=256,256,3,3:HALF:last" SAME,
         1},
    };
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        const struct kiln_lower_options options = {0};
        struct kiln_kernel_plan plan;
        struct kiln_target target;
        struct json_graph read;
        graph_sketch_accept(&read, plans[i].sketch, NULL);
        cr_assert_eq(kiln_target_parse("gfx942", &target, &error), KILN_OK);
        cr_assert_eq(kiln_kernel_plan_make(&read.graph, &target, &options, &arena, &plan, &error),
                     KILN_OK, "%s", error.text);
        cr_expect_eq(plan.partition.group_count, plans[i].groups, "%zu", i);
        json_graph_fini(&read);
    }
}

/* On Hopper, whatever of their indices is taken apart: images, filters and gradients. */
Test(convolution_plan, what_lies_in_packs_is_copied_to_local_memory)
{
    static const char *const sketches[] = {
        "ConvolutionFwd x=" IMAGE " w=" FILTERS " y=" OUTPUT SAME,
        "ConvolutionFwd x=" IMAGE " w=" FILTERS " y=64,128,28,28:HALF:last" HALF,
        "ConvolutionBwd dy=64,64,56,56:HALF:last w=64,128,3,3:HALF:last dx=" OUTPUT SAME,
        "ConvolutionBwd dy=64,64,28,28:HALF:last w=64,128,3,3:HALF:last dx=" OUTPUT HALF,
        "ConvolutionWrw x=64,128,56,56:HALF:last dy=64,64,56,56:HALF:last "
        "dw=64,128,3,3:HALF:last" SAME,
    };
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        const struct kiln_program program = sketch_lower(&arena, sketches[i], "sm_90", NULL);
        const char *source = program.kernels[0].source;
        cr_expect_not_null(strstr(source, "#define KILN_LEFT_IS_COPIED 1"), "%s", sketches[i]);
        cr_expect_not_null(strstr(source, "#define KILN_RIGHT_IS_COPIED 1"), "%s", sketches[i]);
    }
}

static struct kiln_kernel_plan make_for(const char *gpu, const char *sketch,
                                        const struct kiln_contraction_options *forced)
{
    struct kiln_lower_options options = {0};
    if (forced != NULL)
        options.contraction = *forced;
    struct kiln_kernel_plan plan;
    struct kiln_target target;
    struct json_graph read;
    graph_sketch_accept(&read, sketch, NULL);
    cr_assert_eq(kiln_target_parse(gpu, &target, &error), KILN_OK);
    cr_assert_eq(kiln_kernel_plan_make(&read.graph, &target, &options, &arena, &plan, &error),
                 KILN_OK, "%s: %s", sketch, error.text);
    json_graph_fini(&read);
    return plan;
}

static struct kiln_kernel_plan make_forced(const char *sketch,
                                           const struct kiln_contraction_options *forced)
{
    return make_for("gfx942", sketch, forced);
}

/* Tiles of few channels have fewer fragments than these waves need. */
Test(convolution_plan, forced_waves_are_kept_whatever_tiles_are_preferred)
{
    static const char *const sketches[] = {
        "ConvolutionFwd x=64,3,56,56:HALF w=64,3,3,3:HALF y=64,64,56,56:HALF" SAME,
        "ConvolutionBwd dy=64,32,56,56:HALF:last w=32,16,3,3:HALF:last "
        "dx=64,16,56,56:HALF:last" SAME,
        "ConvolutionWrw x=64,3,56,56:HALF:last dy=64,64,56,56:HALF:last "
        "dw=64,3,3,3:HALF:last" SAME,
    };
    const struct kiln_contraction_options forced = {.waves_m = 2, .waves_n = 4, .waves_k = 1};
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        const struct kiln_kernel_plan plan = make_forced(sketches[i], &forced);
        const struct kiln_tile *tile = &kiln_contraction_schedule_of(&plan.schedules[0])->tile;
        cr_expect(tile->waves_m == 2 && tile->waves_n == 4 && tile->waves_k == 1, "%s",
                  sketches[i]);
    }
}

/* A table of k is where tiles leave room for it: 64 x 64 floats do, 256 x 256 take all. It
 * lies beside tiles only, so sums that take all, as of 64 x 256, leave room too. */
Test(convolution_plan, tables_of_k_fit_into_local_memory)
{
    static const struct {
        uint32_t tile_m, tile_n;
        bool has_table;
    } cases[] = {{64, 64, true}, {64, 256, true}, {256, 256, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct kiln_contraction_options forced = {
            .form = KILN_CONTRACTION_PLAIN,
            .tile_m = cases[i].tile_m,
            .tile_n = cases[i].tile_n,
            .tile_k = 32,
            .waves_m = 2,
            .waves_n = 2,
            .waves_k = 1,
        };
        const struct kiln_kernel_plan plan =
            make_forced("ConvolutionWrw x=64,32,28,28:FLOAT:last dy=64,128,28,28:FLOAT:last "
                        "dw=128,32,3,3:FLOAT:last" SAME,
                        &forced);
        cr_expect_eq(kiln_pipeline_table_bytes(
                         &kiln_contraction_schedule_of(&plan.schedules[0])->pipeline) != 0,
                     cases[i].has_table, "%zu", i);
        cr_expect_leq(plan.schedules[0].launch.lds_bytes, 65536, "%zu", i);
    }
}

/* The taps of few channels are found one by one, by a table that the work-group shares. One kernel
 * serves all numbers of filters, and a compute unit of gfx942 has two work-groups. */
Test(convolution_plan, single_taps_of_any_filters_are_found_in_a_table)
{
    static const char *const sketches[] = {
        "ConvolutionWrw x=64,3,112,112:HALF:last dy=64,16,56,56:HALF:last "
        "dw=16,3,3,3:HALF:last" HALF,
        "ConvolutionWrw x=64,3,112,112:HALF:last dy=64,32,56,56:HALF:last "
        "dw=32,3,3,3:HALF:last" HALF,
        "ConvolutionWrw x=64,3,112,112:HALF:last dy=64,96,56,56:HALF:last "
        "dw=96,3,3,3:HALF:last" HALF,
    };
    static const char *const gpus[] = {"gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_80"};
    for (size_t t = 0; t < sizeof gpus / sizeof *gpus; t++) {
        for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
            const struct kiln_kernel_plan plan = make_for(gpus[t], sketches[i], NULL);
            const struct kiln_contraction_schedule *contraction =
                kiln_contraction_schedule_of(&plan.schedules[0]);
            cr_expect_eq(contraction->tile.m, 64, "%s: %zu", gpus[t], i);
            cr_expect_eq(contraction->tile.n, 32, "%s: %zu", gpus[t], i);
            cr_expect_neq(kiln_pipeline_table_bytes(&contraction->pipeline), 0, "%s: %zu", gpus[t],
                          i);
            cr_expect_leq(plan.schedules[0].launch.lds_bytes, 32768, "%s: %zu", gpus[t], i);
        }
    }
}

/* Where the table lies, the sums of a tile come to lie later: 64 x 128 of them are half of the
 * local memory. On Hopper copies find whole packs, and one work-group keeps a compute unit busy. */
Test(convolution_plan, weights_of_few_filters_leave_room_for_a_second_work_group)
{
    static const char whole[] = "ConvolutionWrw x=64,64,56,56:HALF:last dy=64,64,56,56:HALF:last "
                                "dw=64,64,3,3:HALF:last" SAME;
    static const char single[] = "ConvolutionWrw x=64,3,112,112:HALF:last dy=64,64,56,56:HALF:last "
                                 "dw=64,3,3,3:HALF:last" HALF;
    const struct kiln_kernel_plan plan = make_for("gfx942", whole, NULL);
    const struct kiln_schedule *schedule = &plan.schedules[0];
    cr_expect_neq(kiln_pipeline_table_bytes(&kiln_contraction_schedule_of(schedule)->pipeline), 0);
    cr_expect_eq(schedule->launch.lds_bytes, 32768);
    cr_expect_geq(schedule->launch.grid, 2 * 280);
    cr_expect_leq(make_for("sm_90", whole, NULL).partition.groups[0].segment_count, 132 / 5);
    cr_expect_gt(make_for("sm_90", single, NULL).partition.groups[0].segment_count, 132);
}

/* Three channels of an image's gradient are columns of the narrowest tile. */
Test(convolution_plan, few_columns_have_a_narrow_tile)
{
    static const struct {
        const char *sketch;
        uint32_t columns;
    } cases[] = {
        {"ConvolutionBwd dy=8,64,56,56:HALF:last w=64,3,3,3:HALF:last "
         "dx=8,3,112,112:HALF:last" HALF,
         16},
        {"ConvolutionBwd dy=8,64,56,56:HALF:last w=64,24,3,3:HALF:last "
         "dx=8,24,112,112:HALF:last" HALF,
         32},
    };
    static const char *const gpus[] = {"gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_80"};
    for (size_t t = 0; t < sizeof gpus / sizeof *gpus; t++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const struct kiln_kernel_plan plan = make_for(gpus[t], cases[i].sketch, NULL);
            const struct kiln_tile *tile = &kiln_contraction_schedule_of(&plan.schedules[0])->tile;
            cr_expect_eq(tile->m, 128, "%s: %zu", gpus[t], i);
            cr_expect_eq(tile->n, cases[i].columns, "%s: %zu", gpus[t], i);
        }
    }
}
