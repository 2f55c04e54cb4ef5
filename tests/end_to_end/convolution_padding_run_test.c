/*
 * Padding contributes nothing, also where the other factor is infinite or NaN: convolutions with
 * some such elements in both factors, on the host device, against the interpreter, which judges
 * every element.
 */
#include "compiler/reference/convert.h"
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SKETCH = 512, LONGEST_GAP = 150 };

#define ATTRIBUTES(padding, stride, dilation)                                                      \
    " !pre_padding=[" padding "] !post_padding=[" padding "] !stride=[" stride                     \
    "] !dilation=[" dilation "] !conv_mode='CROSS_CORRELATION' "

struct geometry {
    const char *image, *filter, *result, *attributes;
};

static const struct geometry geometries[] = {
    {"2,16,7,9", "20,16,3,3", "2,20,7,9", ATTRIBUTES("1,1", "1,1", "1,1")},
    {"2,5,11", "4,5,3", "2,4,7", ATTRIBUTES("2", "2", "1")},
    {"1,3,4,5,6", "4,3,3,2,3", "1,4,4,6,6", ATTRIBUTES("1,1,1", "1,1,1", "1,1,1")},
    {"2,12,6,7", "16,6,3,3", "2,16,6,7", ATTRIBUTES("1,1", "1,1", "1,1")},
    {"2,8,9,8", "12,8,3,3", "2,12,5,4", ATTRIBUTES("1,1", "2,2", "1,1")},
    {"1,8,9,9", "8,8,3,3", "1,8,9,9", ATTRIBUTES("2,2", "1,1", "2,2")},
    {"2,3,10,10", "20,3,7,7", "2,20,5,5", ATTRIBUTES("3,3", "2,2", "1,1")},
    /* Each channel a group, with one filter and with two. */
    {"2,24,9,8", "24,1,3,3", "2,24,9,8", ATTRIBUTES("1,1", "1,1", "1,1")},
    {"2,6,8,7", "12,1,3,3", "2,12,4,4", ATTRIBUTES("1,1", "2,2", "1,1")},
    {"2,16,9,11", "16,1,3,3", "2,16,9,11", ATTRIBUTES("2,2", "1,1", "2,2")},
    {"2,5,13", "5,1,4", "2,5,16", ATTRIBUTES("3", "1", "1")},
};

static const char *const directions[] = {
    "ConvolutionFwd x=%s%s w=%s%s y=%s%s%s",
    "ConvolutionBwd dy=%s%s w=%s%s dx=%s%s%s",
    "ConvolutionWrw x=%s%s dy=%s%s dw=%s%s%s",
};

static const char *const types[] = {
    "FLOAT", "HALF", "BFLOAT16", "DOUBLE", "FP8_E4M3", "FP8_E5M2", "FP8_E4M3_FNUZ", "FP8_E5M2_FNUZ",
};

/* Convolutions fused with a prologue that changes zero or makes an infinity, an epilogue that would
 * hide a NaN, reductions of columns and rows, a second convolution, and sums of an operand. */
static const char *const fused[] = {
    "Pointwise in_0=2,8,6,5:HALF:last in_1=1,8,1,1:HALF out_0=2,8,6,5:HALF:virtual:last "
    "!operation='ADD' | ConvolutionFwd x@3 w=12,8,3,3:HALF:last y=2,12,6,5:HALF:last" ATTRIBUTES(
        "1,1", "1,1", "1,1"),
    "Pointwise in_0=2,8,6,5 in_1=1,8,1,1 out_0=2,8,6,5:virtual !operation='MUL' | "
    "ConvolutionFwd x@3 w=8,1,3,3 y=2,8,6,5" ATTRIBUTES("1,1", "1,1", "1,1"),
    "ConvolutionFwd x=2,8,6,5:HALF:last w=12,8,3,3:HALF:last y=2,12,6,5:virtual:last" ATTRIBUTES(
        "1,1", "1,1", "1,1") "| Pointwise in_0@3 out_0=2,12,6,5:HALF:last !operation='RELU_FWD'",
    "ConvolutionBwd dy=2,8,3,3:last w=8,12,3,3:last dx=2,12,6,6:virtual:last" ATTRIBUTES(
        "1,1", "2,2", "1,1") "| Pointwise in_0@3 in_1=1,12,1,1 out_0=2,12,6,6:last "
                             "!operation='ADD'",
    "ConvolutionFwd x=2,8,6,5:HALF:last w=12,8,3,3:HALF:last y=2,12,6,5:last" ATTRIBUTES(
        "1,1", "1,1", "1,1") "| Reduction in@3 out=1,12,1,1 !mode='ADD'",
    "ConvolutionFwd x=2,8,6,5:HALF:last w=12,8,3,3:HALF:last y=2,12,6,5:last" ATTRIBUTES(
        "1,1", "1,1", "1,1") "| Reduction in@3 out=2,1,6,5 !mode='ADD'",
    "ConvolutionFwd x=2,8,6,5:HALF:last w=12,8,3,3:HALF:last y=2,12,6,5:virtual:last" ATTRIBUTES(
        "1,1", "1,1", "1,1") "| ConvolutionFwd x@1 w=12,8,3,3:HALF:last "
                             "y=2,12,6,5:virtual:last" ATTRIBUTES(
                                 "1,1", "1,1", "1,1") "| Pointwise in_0@3 in_1@5 "
                                                      "out_0=2,12,6,5:last !operation='ADD'",
    "ConvolutionWrw x=2,8,9,7:HALF:last dy=2,24,9,7:HALF:last dw=24,8,3,3:HALF:last" ATTRIBUTES(
        "1,1", "1,1", "1,1") "| Reduction in@2 out=1,24,1,1:HALF !mode='ADD'",
};

/* Makes some elements of every input infinite or NaN, one of ten in small ones. */
static void put_infinities(const struct kiln_graph *graph, void *const *memory)
{
    static const double infinities[] = {INFINITY, NAN, -INFINITY};
    uint32_t kind = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->role != KILN_TENSOR_INPUT || kiln_dtype_is_integer(tensor->dtype))
            continue;
        size_t bytes = kiln_dtype_info(tensor->dtype)->bytes;
        int64_t elements = kiln_tensor_footprint_elements(tensor);
        int64_t gap = elements / 10 < LONGEST_GAP ? elements / 10 : LONGEST_GAP;
        for (int64_t n = i; n < elements; n += gap + (int64_t)kind % 7 + 1) {
            const struct kiln_constant value = {.real = infinities[kind++ % 3]};
            kiln_element_store(tensor->dtype, value,
                               (unsigned char *)memory[i] + (size_t)n * bytes);
        }
    }
}

static void run(const char *sketch, const struct kiln_lower_options *options)
{
    run_prepared_sketch(sketch, options, put_infinities);
}

static void use_no_cache(void)
{
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
}

TestSuite(convolution_padding_run, .init = use_no_cache, .timeout = 250);

static void print_sketch(const struct geometry *geometry, uint32_t direction, bool is_last,
                         const char *type, char sketch[MAX_SKETCH])
{
    const char *const tensors[][3] = {
        {geometry->image, geometry->filter, geometry->result},
        {geometry->result, geometry->filter, geometry->image},
        {geometry->image, geometry->result, geometry->filter},
    };
    const char *const *names = tensors[direction];
    char factor[32];
    char result[32];
    bool is_fp8 = strncmp(type, "FP8", 3) == 0;
    (void)snprintf(factor, sizeof factor, ":%s%s", type, is_last ? ":last" : "");
    (void)snprintf(result, sizeof result, ":%s%s", is_fp8 ? "FLOAT" : type, is_last ? ":last" : "");
    (void)snprintf(sketch, MAX_SKETCH, directions[direction], names[0], factor, names[1], factor,
                   names[2], result, geometry->attributes);
}

enum {
    DIRECTIONS = sizeof directions / sizeof *directions,
    VARIANTS = sizeof geometries / sizeof *geometries * DIRECTIONS * 2,
    TYPES = sizeof types / sizeof *types
};

ParameterizedTestParameters(convolution_padding_run, padding_contributes_nothing)
{
    static uint32_t variants[VARIANTS];
    for (uint32_t i = 0; i < VARIANTS; i++)
        variants[i] = i;
    return cr_make_param_array(uint32_t, variants, VARIANTS);
}

/* A variant is a geometry, a direction and a layout. Two of these schedules run it, each with
 * another type: the host's, a GPU's, segments of k, and tiles. */
ParameterizedTest(uint32_t *variant, convolution_padding_run, padding_contributes_nothing)
{
    static const struct kiln_lower_options options[] = {
        {.host_wave_size = 0},
        {.host_wave_size = 32},
        {.host_wave_size = 64, .contraction = {.segments = 3}},
        {.host_wave_size = 32, .contraction = {.form = KILN_CONTRACTION_PLAIN}},
    };
    const struct geometry *geometry = &geometries[*variant / (2 * DIRECTIONS)];
    for (uint32_t i = *variant / 2 % 2; i < sizeof options / sizeof *options; i += 2) {
        char sketch[MAX_SKETCH];
        print_sketch(geometry, *variant / 2 % DIRECTIONS, *variant % 2 != 0,
                     types[(*variant + 3 * i) % TYPES], sketch);
        run(sketch, &options[i]);
    }
}

Test(convolution_padding_run, in_fused_kernels)
{
    for (uint32_t i = 0; i < sizeof fused / sizeof *fused; i++) {
        run(fused[i], &(struct kiln_lower_options){.host_wave_size = 0});
        run(fused[i], &(struct kiln_lower_options){.host_wave_size = 32});
    }
}

/* Each work-group has several pieces of work. */
Test(convolution_padding_run, in_turns)
{
    for (uint32_t i = 0; i < 2 * DIRECTIONS; i++) {
        char sketch[MAX_SKETCH];
        print_sketch(&geometries[i % 2 == 0 ? 0 : 7], i / 2, true, "HALF", sketch);
        run(sketch, &(struct kiln_lower_options){.host_wave_size = 32, .max_groups = 2});
    }
}
