/*
 * Plans that execute shapes given at execution, on the host device: values, calls that are refused,
 * shapes that need no compilation, and threads.
 */
#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"
#include "runtime/engine/engine.h"
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/end_to_end/checked_graph.h"
#include "tests/runtime/support/temporary_directory.h"
#include "tests/support/random_overrides.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xa5, MAX_BINDINGS = 16, THREADS = 4, ROWS = 64, COLUMNS = 256 };

static void make_directory(void)
{
    cr_assert_not_null(temporary_directory_make());
}

TestSuite(override_shapes_run, .init = make_directory, .fini = temporary_directory_remove,
          .timeout = 300);

static const char layernorm[] =
    "Layernorm x=64,256 scale=256 bias=256 epsilon=k y=64,256 !normalized_dim_count=1";

/* A plan of a sketch that takes override shapes. */
struct subject {
    struct kiln_engine *engine;
    struct kiln_plan *plan;
    struct json_graph declared;
    struct kiln_buffer bytes;
};

static void set_up(struct subject *subject, const char *sketch)
{
    const struct kiln_engine_options options = {.device = "host",
                                                .cache_directory = temporary_path("cache"),
                                                .is_cache_isolated = true,
                                                .codegen = {.max_workers = 1},
                                                .lower.shapes = KILN_SHAPES_AUTO};
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_engine_create(&options, &subject->engine, &error), KILN_OK, "%s", error.text);
    graph_sketch_accept(&subject->declared, sketch, NULL);
    subject->declared.graph.takes_overrides = true;
    kiln_buffer_init(&subject->bytes);
    cr_assert_eq(
        kiln_graph_write(&subject->declared.graph, KILN_WIRE_ERA_CURRENT, &subject->bytes, &error),
        KILN_OK);
    cr_assert_eq(
        kiln_engine_check(subject->engine, subject->bytes.data, subject->bytes.size, &error),
        KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_plan_create(subject->engine, subject->bytes.data, subject->bytes.size,
                                  &subject->plan, &error),
                 KILN_OK, "%s", error.text);
}

static void tear_down(struct subject *subject)
{
    kiln_plan_unref(subject->plan);
    kiln_engine_unref(subject->engine);
    kiln_buffer_fini(&subject->bytes);
    json_graph_fini(&subject->declared);
}

static unsigned compiled(const struct subject *subject)
{
    struct kiln_codegen_counters counters;
    kiln_engine_codegen_counters(subject->engine, &counters);
    return (unsigned)counters.kernels_compiled;
}

/* Executes with memory for `graph`, which has the sizes of the overrides. */
static enum kiln_status execute(const struct subject *subject, const struct kiln_graph *graph,
                                const struct kiln_shape_overrides *overrides, void *const *memory,
                                struct kiln_error *error)
{
    struct kiln_buffer_binding bindings[MAX_BINDINGS];
    uint32_t count = 0;
    uint64_t bytes = kiln_plan_workspace_bytes(subject->plan);
    void *workspace = malloc(bytes + 1);
    memset(workspace, POISON, bytes + 1);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        if (memory[i])
            bindings[count++] = (struct kiln_buffer_binding){graph->tensors[i].uid, memory[i]};
    }
    kiln_error_init(error);
    enum kiln_status status = kiln_plan_execute_with_overrides(subject->plan, NULL, workspace,
                                                               bindings, count, overrides, error);
    free(workspace);
    return status;
}

/* Executes and compares with the interpreter. */
static void run(const struct subject *subject, const struct kiln_shape_overrides *overrides)
{
    struct kiln_random_graph_options fill;
    struct checked_elements elements;
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    enum kiln_status status =
        overrides->count == 0
            ? kiln_graph_read(subject->bytes.data, subject->bytes.size, &arena, &graph, &error)
            : kiln_graph_read_with_overrides(subject->bytes.data, subject->bytes.size, overrides,
                                             &arena, &graph, &error);
    cr_assert_eq(status, KILN_OK, "%s", error.text);
    kiln_random_graph_options_init(&fill);
    fill.infinite_factors = fill.special_values = false;
    void **memory = make_tensor_memory(&graph, 7, &fill, POISON);
    cr_assert_eq(execute(subject, &graph, overrides, memory, &error), KILN_OK, "%s", error.text);
    cr_expect_eq(check_outputs(&graph, memory, POISON, &arena, &elements, &error), KILN_OK, "%s",
                 error.text);
    free_tensor_memory(&graph, memory);
    kiln_arena_fini(&arena);
}

/* So many rows and columns of the layernorm. */
struct shape {
    int64_t dims[2][2];
    int64_t strides[2][2];
    int64_t uids[4];
    uint32_t ranks[4];
    const int64_t *all_dims[4];
    const int64_t *all_strides[4];
};

static struct kiln_shape_overrides shape_of(struct shape *shape, int64_t rows, int64_t columns)
{
    *shape = (struct shape){
        .dims = {{rows, columns}, {columns}},
        .strides = {{columns, 1}, {1}},
        .uids = {1, 2, 3, 5},
        .ranks = {2, 1, 1, 2},
        .all_dims = {shape->dims[0], shape->dims[1], shape->dims[1], shape->dims[0]},
        .all_strides = {shape->strides[0], shape->strides[1], shape->strides[1], shape->strides[0]},
    };
    return (struct kiln_shape_overrides){4, shape->uids, shape->ranks, shape->all_dims,
                                         shape->all_strides};
}

static const struct kiln_shape_overrides no_overrides;

Test(override_shapes_run, plan_executes_declared_and_smaller_shapes)
{
    struct subject subject;
    struct shape shape;
    set_up(&subject, layernorm);
    run(&subject, &no_overrides);
    for (int i = 0; i < 2; i++) {
        struct kiln_shape_overrides overrides = shape_of(&shape, 3, COLUMNS);
        run(&subject, &overrides);
        overrides = shape_of(&shape, ROWS, 17);
        run(&subject, &overrides);
        overrides = shape_of(&shape, 1, 1);
        run(&subject, &overrides);
    }
    run(&subject, &no_overrides);
    tear_down(&subject);
}

/* The kernel takes the number of rows as an argument. One row is a graph of one axis. */
Test(override_shapes_run, shapes_of_one_class_compile_nothing)
{
    struct subject subject;
    struct shape shape;
    set_up(&subject, layernorm);
    unsigned before = compiled(&subject);
    for (int64_t rows = 2; rows <= ROWS; rows++) {
        const struct kiln_shape_overrides overrides = shape_of(&shape, rows, COLUMNS);
        run(&subject, &overrides);
    }
    cr_expect_eq(compiled(&subject), before);
    tear_down(&subject);
}

/* Nothing is compiled for shapes that are new, whatever kernels are fastest for them. */
static void run_random_shapes(const char *sketch)
{
    enum { SHAPES = 24, LEAST_SHAPES = 6 };
    struct subject subject;
    uint32_t shapes = 0;
    set_up(&subject, sketch);
    unsigned before = compiled(&subject);
    for (uint64_t seed = 0; seed < SHAPES; seed++) {
        struct kiln_arena arena;
        struct kiln_graph graph;
        struct kiln_shape_overrides overrides;
        struct kiln_error error;
        kiln_error_init(&error);
        kiln_arena_init(&arena);
        cr_assert(kiln_random_overrides_make(seed, &subject.declared.graph, &arena, &overrides));
        if (kiln_graph_read_with_overrides(subject.bytes.data, subject.bytes.size, &overrides,
                                           &arena, &graph, &error) == KILN_OK) {
            run(&subject, &overrides);
            shapes++;
        }
        kiln_arena_fini(&arena);
    }
    cr_expect_geq(shapes, LEAST_SHAPES, "%s: only %u shapes fit together", sketch, shapes);
    cr_expect_eq(compiled(&subject), before, "%s: %u kernels are compiled at execution", sketch,
                 compiled(&subject) - before);
    tear_down(&subject);
}

Test(override_shapes_run, smaller_shapes_of_every_family_compile_nothing)
{
    static const char *const sketches[] = {
        "Pointwise in_0=8,33,24:HALF in_1=1,33,1 out_0=8,33,24:HALF !operation='ADD'",
        "Reduction in=9,48,20 out=9,48,1:virtual !mode='MAX_OP' | "
        "Pointwise in_0@1 in_1@2 out_0=9,48,20 !operation='SUB'",
        layernorm,
        "Matmul a=3,40,72:HALF b=3,72,56:HALF c=3,40,56:HALF",
        "ConvolutionFwd x=3,8,11,12:HALF:last w=16,8,3,3:HALF:last y=3,16,11,12:HALF:last "
        "!pre_padding=[1,1] !post_padding=[1,1] !stride=[1,1] !dilation=[1,1] "
        "!conv_mode='CROSS_CORRELATION'",
        "Sdpa q=2,4,37,32:HALF k=2,2,67,32:HALF v=2,2,67,32:HALF o=2,4,37,32:HALF "
        "!causal_mask=true",
        /* No window reaches the zeros that pad the image. */
        "ResampleFwd x=9,12,1,3 y=9,12,1,1 !resample_mode='MAXPOOL' !padding_mode='ZERO_PAD' "
        "!pre_padding=[0,0] !post_padding=[0,0] !stride=[1,1] !window=[1,3]",
        "ResampleFwd x=3,8,11,12 y=3,8,11,12 !resample_mode='AVGPOOL_EXCLUDE_PADDING' "
        "!padding_mode='ZERO_PAD' !pre_padding=[1,1] !post_padding=[1,1] !stride=[1,1] "
        "!window=[3,3]",
    };
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++)
        run_random_shapes(sketches[i]);
}

/* Blocks are whole: a part of one needs kernels of constant sizes. */
Test(override_shapes_run, whole_blocks_compile_nothing)
{
    struct subject subject;
    set_up(&subject, "BlockScaleQuantize x=16,96 y=16,96:FP8_E4M3 scale=16,3 !block_size=32");
    unsigned before = compiled(&subject);
    for (int64_t rows = 1; rows <= 16; rows += 5) {
        for (int64_t blocks = 1; blocks <= 3; blocks++) {
            const int64_t elements[] = {rows, 32 * blocks}, scales[] = {rows, blocks};
            const int64_t element_strides[] = {32 * blocks, 1}, scale_strides[] = {3, 1};
            const int64_t uids[] = {1, 2, 3};
            const uint32_t ranks[] = {2, 2, 2};
            const int64_t *dims[] = {elements, elements, scales};
            const int64_t *strides[] = {element_strides, element_strides, scale_strides};
            const struct kiln_shape_overrides overrides = {3, uids, ranks, dims, strides};
            run(&subject, &overrides);
            cr_expect_eq(compiled(&subject), before, "%lld rows of %lld blocks", (long long)rows,
                         (long long)blocks);
        }
    }
    tear_down(&subject);
}

/* More shapes than the plan remembers: they are new again. */
Test(override_shapes_run, plan_forgets_shapes)
{
    struct subject subject;
    struct shape shape;
    struct kiln_random_graph_options fill;
    struct kiln_error error;
    set_up(&subject, layernorm);
    kiln_random_graph_options_init(&fill);
    void **memory = make_tensor_memory(&subject.declared.graph, 7, &fill, POISON);
    for (int64_t columns = COLUMNS; columns > COLUMNS - 12; columns--) {
        for (int64_t rows = 2; rows <= ROWS; rows++) {
            const struct kiln_shape_overrides overrides = shape_of(&shape, rows, columns);
            cr_assert_eq(execute(&subject, &subject.declared.graph, &overrides, memory, &error),
                         KILN_OK, "%s", error.text);
        }
    }
    free_tensor_memory(&subject.declared.graph, memory);
    const struct kiln_shape_overrides overrides = shape_of(&shape, 2, COLUMNS);
    run(&subject, &overrides);
    tear_down(&subject);
}

/* Nothing is executed, and nothing of the plan changes. */
static void refuse(const struct subject *subject, const struct kiln_shape_overrides *overrides,
                   enum kiln_status expected, const char *sentence)
{
    const struct kiln_graph *graph = &subject->declared.graph;
    struct kiln_random_graph_options fill;
    struct kiln_error error;
    kiln_random_graph_options_init(&fill);
    void **memory = make_tensor_memory(graph, 7, &fill, POISON);
    enum kiln_status status = execute(subject, graph, overrides, memory, &error);
    cr_expect_eq(status, expected, "%s: %s", sentence, error.text);
    cr_expect_not_null(strstr(error.text, sentence), "'%s' lacks '%s'", error.text, sentence);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        size_t bytes = (size_t)kiln_tensor_footprint_bytes(&graph->tensors[i]);
        for (size_t k = 0; graph->tensors[i].role == KILN_TENSOR_OUTPUT && k < bytes; k++)
            cr_assert_eq(((unsigned char *)memory[i])[k], POISON, "%s", sentence);
    }
    free_tensor_memory(graph, memory);
}

Test(override_shapes_run, wrong_arrays_are_refused)
{
    struct subject subject;
    struct shape shape;
    set_up(&subject, layernorm);
    struct kiln_shape_overrides overrides = shape_of(&shape, 3, COLUMNS);
    overrides.count = UINT32_MAX;
    refuse(&subject, &overrides, KILN_BAD_ARGUMENT,
           "4294967295 override shapes, no graph has more");
    overrides = shape_of(&shape, 3, COLUMNS);
    overrides.uids = NULL;
    refuse(&subject, &overrides, KILN_BAD_ARGUMENT, "4 override shapes, and their array of uids");
    overrides = shape_of(&shape, 3, COLUMNS);
    overrides.ranks = NULL;
    refuse(&subject, &overrides, KILN_BAD_ARGUMENT, "array of ranks is NULL");
    overrides = shape_of(&shape, 3, COLUMNS);
    overrides.dims = NULL;
    refuse(&subject, &overrides, KILN_BAD_ARGUMENT, "array of shapes is NULL");
    overrides = shape_of(&shape, 3, COLUMNS);
    overrides.strides = NULL;
    refuse(&subject, &overrides, KILN_BAD_ARGUMENT, "array of strides is NULL");
    overrides = shape_of(&shape, 3, COLUMNS);
    shape.all_dims[1] = NULL;
    refuse(&subject, &overrides, KILN_BAD_ARGUMENT, "uid 2: its array of dimensions is NULL");
    overrides = shape_of(&shape, 3, COLUMNS);
    shape.all_strides[3] = NULL;
    refuse(&subject, &overrides, KILN_BAD_ARGUMENT, "uid 5: its array of strides is NULL");
    overrides = shape_of(&shape, 3, COLUMNS);
    shape.ranks[0] = 0;
    refuse(&subject, &overrides, KILN_BAD_ARGUMENT, "uid 1: rank 0, must be 1 to 8");
    shape.ranks[0] = 9;
    refuse(&subject, &overrides, KILN_BAD_ARGUMENT, "uid 1: rank 9, must be 1 to 8");
    overrides = shape_of(&shape, ROWS + 1, COLUMNS);
    refuse(&subject, &overrides, KILN_BAD_ARGUMENT, "dimension 0 is 65, above the declared 64");
    overrides = shape_of(&shape, 3, COLUMNS);
    overrides.count = 1;
    refuse(&subject, &overrides, KILN_BAD_ARGUMENT, "the override shapes do not fit together");
    overrides = shape_of(&shape, 3, COLUMNS);
    run(&subject, &overrides);
    tear_down(&subject);
}

Test(override_shapes_run, other_plans_take_none)
{
    struct subject subject;
    struct shape shape;
    struct kiln_plan *plan = NULL;
    struct kiln_error error;
    set_up(&subject, layernorm);
    kiln_error_init(&error);
    cr_assert_eq(kiln_plan_create(subject.engine, subject.declared.bytes.data,
                                  subject.declared.bytes.size, &plan, &error),
                 KILN_OK);
    kiln_plan_unref(subject.plan);
    subject.plan = plan;
    const struct kiln_shape_overrides overrides = shape_of(&shape, 3, COLUMNS);
    refuse(&subject, &overrides, KILN_BAD_ARGUMENT,
           "override shapes for a graph that was not built for them");
    run(&subject, &no_overrides);
    tear_down(&subject);
}

static void *run_shapes(void *context)
{
    struct shape shape;
    for (int64_t rows = 1; rows <= ROWS; rows += 3) {
        const struct kiln_shape_overrides overrides = shape_of(&shape, rows, COLUMNS);
        run(context, &overrides);
    }
    return NULL;
}

Test(override_shapes_run, threads_share_a_plan)
{
    struct subject subject;
    pthread_t threads[THREADS];
    set_up(&subject, layernorm);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, run_shapes, &subject), 0);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    tear_down(&subject);
}
