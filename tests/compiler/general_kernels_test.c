/*
 * General kernels: those that a plan makes beforehand, of its samples, are all that random smaller
 * shapes need. Nothing is compiled here.
 */
#include "compiler/codegen/target.h"
#include "compiler/graph/shape_samples.h"
#include "compiler/graph/wire_messages.h"
#include "compiler/program.h"
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/support/random_overrides.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SHAPES = 60, LEAST_SHAPES = 15, MAX_SYMBOLS = 64, SYMBOL_BYTES = 64 };

TestSuite(general_kernels, .timeout = 300);

static const char *const targets[] = {"gfx942", "gfx1100", "gfx1201", "sm_90", "host"};

#define ATTRIBUTES(padding, stride, dilation)                                                      \
    " !pre_padding=[" padding "] !post_padding=[" padding "] !stride=[" stride                     \
    "] !dilation=[" dilation "] !conv_mode='CROSS_CORRELATION'"
#define POOLING(mode, padding, pads, stride, window)                                               \
    " !resample_mode='" mode "' !padding_mode='" padding "' !pre_padding=[" pads                   \
    "] !post_padding=[" pads "] !stride=[" stride "] !window=[" window "]"
#define HEADS " q=2,4,37,32:HALF k=2,2,67,32:HALF v=2,2,67,32:HALF"

/* Samples have one kernel, or two, for each kernel of the declared shape. */
static const char *const sketches[] = {
    "Pointwise in_0=8,64,24:HALF in_1=1,64,1 out_0=8,64,24:HALF !operation='ADD'",
    "Pointwise in_0=8,6,10,12:last out_0=8,6,10,12 !operation='EXP'",
    "Reduction in=9,48,20:HALF out=9,1,20 !mode='ADD'",
    "Reduction in=9,48,20 out=9,48,1:virtual !mode='MAX_OP' | "
    "Pointwise in_0@1 in_1@2 out_0=9,48,20 !operation='SUB'",
    "Layernorm x=64,256 scale=256 bias=256 epsilon=k y=64,256 !normalized_dim_count=1",
    "Matmul a=3,40,72:HALF b=3,72,56:HALF c=3,40,56:HALF",
    "Matmul a=40,72:BFLOAT16 b=72,56:BFLOAT16:turned c=40,56:virtual | "
    "Pointwise in_0@3 in_1=1,56 out_0=40,56:BFLOAT16 !operation='ADD'",
    "ConvolutionFwd x=3,8,11,12:HALF:last w=16,8,3,3:HALF:last y=3,16,11,12:HALF:last" ATTRIBUTES(
        "1,1", "1,1", "1,1"),
    "ConvolutionBwd dy=3,8,6,6 w=8,12,3,3 dx=3,12,11,11" ATTRIBUTES("1,1", "2,2", "1,1"),
    "ConvolutionWrw x=3,8,11,12 dy=3,16,11,12 dw=16,8,3,3" ATTRIBUTES("1,1", "1,1", "1,1"),
    "Matmul a=40,72:HALF b=72,56:HALF c=40,56:virtual | Reduction in@3 out=40,1 !mode='ADD'",
    "ResampleFwd x=3,8,11,12:HALF:last y=3,8,6,6:HALF:last" POOLING("MAXPOOL", "NEG_INF_PAD", "1,1",
                                                                    "2,2", "3,3"),
    "Pointwise in_0=3,8,12,10 out_0=3,8,12,10:virtual !operation='RELU_FWD' | "
    "ResampleFwd x@2 y=3,8,6,5 index=3,8,6,5:INT32" POOLING("MAXPOOL", "NEG_INF_PAD", "0,0", "2,2",
                                                            "2,2"),
    "ResampleFwd x=3,8,11,12 y=3,8,11,12" POOLING("AVGPOOL_EXCLUDE_PADDING", "ZERO_PAD", "1,1",
                                                  "1,1", "3,3"),
    "ResampleFwd x=3,8,11:HALF y=3,8,6:HALF" POOLING("AVGPOOL_INCLUDE_PADDING", "ZERO_PAD", "1",
                                                     "2", "3"),
    "ResampleFwd x=9,48,7,7:HALF y=9,48,1,1:HALF" POOLING("AVGPOOL_INCLUDE_PADDING", "ZERO_PAD",
                                                          "0,0", "7,7", "7,7"),
    "ResampleFwd x=9,48,7,7:HALF y=9,48,1,1:HALF" POOLING("AVGPOOL_EXCLUDE_PADDING", "ZERO_PAD",
                                                          "0,0", "7,7", "7,7"),
    "ResampleFwd x=9,48,7,7 y=9,48,1,1" POOLING("MAXPOOL", "ZERO_PAD", "0,0", "7,7", "7,7"),
    "ResampleBwd dy=3,8,6,5 index=3,8,6,5:INT32 dx=3,8,12,10" POOLING("MAXPOOL", "NEG_INF_PAD",
                                                                      "0,0", "2,2", "2,2"),
    "ResampleBwd dy=3,8,6,6 dx=3,8,11,12" POOLING("AVGPOOL_EXCLUDE_PADDING", "ZERO_PAD", "1,1",
                                                  "2,2", "3,3"),
    "Sdpa" HEADS " o=2,4,37,32:HALF !causal_mask=true",
    "Sdpa" HEADS " o=2,4,37,32:HALF stats=2,4,37,1 !generate_stats=true !left_bound=16 "
    "!right_bound=3",
};

/* Some of their shapes are compiled when they are executed (decision 74). All have a program. */
static const char *const unprepared[] = {
    "Pointwise in_0=6,64:HALF out_0=6,64:HALF:virtual !operation='RELU_FWD' | "
    "BlockScaleQuantize x@2 y=6,64:FP8_E4M3 scale=6,2:FP8_E8M0 !block_size=32",
    "BlockScaleQuantize x=2,2,2,2,2,2,2,20:HALF y=2,2,2,2,2,2,2,20:FP8_E4M3 "
    "scale=2,2,2,2,2,2,2,1 !block_size=32",
    "Reduction in=6,64 out=6,1:virtual !mode='ADD' | "
    "Pointwise in_0@1 in_1@2 out_0=6,64:virtual !operation='SUB' | "
    "BlockScaleQuantize x@3 y=6,64:FP8_E4M3 scale=6,4 !block_size=16",
};

struct symbols {
    uint32_t count;
    char symbols[MAX_SYMBOLS][SYMBOL_BYTES];
};

static bool has_symbol(const struct symbols *symbols, const char *symbol)
{
    for (uint32_t i = 0; i < symbols->count; i++) {
        if (strcmp(symbols->symbols[i], symbol) == 0)
            return true;
    }
    return false;
}

/* A graph that takes override shapes, and its bytes. */
struct subject {
    struct json_graph declared;
    struct kiln_buffer bytes;
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_target target;
};

static void set_up(struct subject *subject, const char *sketch, const char *target)
{
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_arena_init(&subject->arena);
    kiln_buffer_init(&subject->bytes);
    graph_sketch_accept(&subject->declared, sketch, NULL);
    subject->declared.graph.takes_overrides = true;
    cr_assert_eq(
        kiln_graph_write(&subject->declared.graph, KILN_WIRE_ERA_CURRENT, &subject->bytes, &error),
        KILN_OK);
    cr_assert_eq(kiln_graph_read(subject->bytes.data, subject->bytes.size, &subject->arena,
                                 &subject->graph, &error),
                 KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_target_parse(target, &subject->target, &error), KILN_OK);
}

static void tear_down(struct subject *subject)
{
    kiln_arena_fini(&subject->arena);
    kiln_buffer_fini(&subject->bytes);
    json_graph_fini(&subject->declared);
}

/* Lowers the graph with these shapes. False if they do not fit together. Kernels that `known` lacks
 * are added to it, or fail the test. */
static bool lower(const struct subject *subject, const struct kiln_shape_overrides *overrides,
                  bool adds, const char *what, struct symbols *known)
{
    const struct kiln_lower_options options = {.shapes = KILN_SHAPES_ARGUMENT, .is_general = true};
    struct kiln_arena arena;
    struct kiln_program program;
    struct kiln_error error;
    struct kiln_graph graph = subject->graph;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    bool fits = overrides->count == 0 ||
                kiln_graph_read_with_overrides(subject->bytes.data, subject->bytes.size, overrides,
                                               &arena, &graph, &error) == KILN_OK;
    if (fits)
        cr_assert_eq(kiln_lower(&graph, &subject->target, &options, &arena, &program, NULL, &error),
                     KILN_OK, "%s: %s", what, error.text);
    for (uint32_t i = 0; fits && i < program.kernel_count; i++) {
        if (has_symbol(known, program.kernels[i].symbol))
            continue;
        cr_assert(adds, "%s on %s: a shape has kernel '%s', which no sample has", what,
                  subject->target.name, program.kernels[i].symbol);
        cr_assert_lt(known->count, MAX_SYMBOLS);
        strncpy(known->symbols[known->count++], program.kernels[i].symbol, SYMBOL_BYTES - 1);
    }
    kiln_arena_fini(&arena);
    return fits;
}

static void lower_sample(const struct subject *subject, uint32_t sample, const char *what,
                         struct symbols *known)
{
    struct kiln_arena arena;
    struct kiln_shape_overrides overrides;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    cr_assert_eq(kiln_shape_sample(&subject->graph, sample, &arena, &overrides, &error), KILN_OK);
    (void)lower(subject, &overrides, true, what, known);
    kiln_arena_fini(&arena);
}

static void check(const char *sketch, const char *target)
{
    struct subject subject;
    struct symbols known = {0};
    uint32_t shapes = 0;
    set_up(&subject, sketch, target);
    lower_sample(&subject, 0, sketch, &known);
    uint32_t declared = known.count;
    for (uint32_t i = 1; i < kiln_shape_sample_count(&subject.graph); i++)
        lower_sample(&subject, i, sketch, &known);
    cr_expect_leq(known.count, 2 * declared, "%s on %s: %u kernels, the declared shape has %u",
                  sketch, target, known.count, declared);
    for (uint64_t seed = 0; seed < SHAPES; seed++) {
        struct kiln_arena arena;
        struct kiln_shape_overrides overrides;
        kiln_arena_init(&arena);
        cr_assert(kiln_random_overrides_make(seed, &subject.graph, &arena, &overrides));
        shapes += overrides.count != 0 && lower(&subject, &overrides, false, sketch, &known);
        kiln_arena_fini(&arena);
    }
    cr_assert_geq(shapes, LEAST_SHAPES, "%s: only %u shapes fit together", sketch, shapes);
    tear_down(&subject);
}

Test(general_kernels, samples_have_the_kernels_of_all_smaller_shapes)
{
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
            check(sketches[i], targets[t]);
    }
}

/* Its kernels would take the stride of the declared axis, beyond the tensor's only element. */
Test(general_kernels, a_tensor_that_broadcasts_in_a_smaller_shape_alone_has_none)
{
    const struct kiln_lower_options options = {.shapes = KILN_SHAPES_ARGUMENT, .is_general = true};
    const int64_t dims[] = {1, 6}, strides[] = {6, 1};
    const int64_t *const dims_of[] = {dims}, *const strides_of[] = {strides};
    struct subject subject;
    struct kiln_program program;
    struct kiln_graph graph;
    struct kiln_error error;
    kiln_error_init(&error);
    set_up(&subject, "Pointwise in_0=4,6 in_1=4,6 out_0=4,6 !operation='ADD'", "gfx942");
    const struct kiln_shape_overrides overrides = {1, &subject.graph.tensors[1].uid,
                                                   (const uint32_t[]){2}, dims_of, strides_of};
    cr_assert_eq(kiln_graph_read_with_overrides(subject.bytes.data, subject.bytes.size, &overrides,
                                                &subject.arena, &graph, &error),
                 KILN_OK, "%s", error.text);
    cr_expect_eq(
        kiln_lower(&graph, &subject.target, &options, &subject.arena, &program, NULL, &error),
        KILN_UNSUPPORTED, "%s", error.text);
    tear_down(&subject);
}

Test(general_kernels, shapes_without_guarantee_have_programs)
{
    for (size_t i = 0; i < sizeof unprepared / sizeof *unprepared; i++) {
        for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
            struct subject subject;
            struct symbols known = {0};
            set_up(&subject, unprepared[i], targets[t]);
            for (uint32_t k = 0; k < kiln_shape_sample_count(&subject.graph); k++)
                lower_sample(&subject, k, unprepared[i], &known);
            for (uint64_t seed = 0; seed < LEAST_SHAPES; seed++) {
                struct kiln_arena arena;
                struct kiln_shape_overrides overrides;
                kiln_arena_init(&arena);
                cr_assert(kiln_random_overrides_make(seed, &subject.graph, &arena, &overrides));
                (void)lower(&subject, &overrides, true, unprepared[i], &known);
                kiln_arena_fini(&arena);
            }
            tear_down(&subject);
        }
    }
}
