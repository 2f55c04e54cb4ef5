/*
 * Large and odd shapes on a device, compared with the interpreter: lengths around vectors, waves
 * and tiles, primes, single rows and columns, rows too long for registers, few long and many short
 * ones; for each of them pointwise operations, reductions of both directions, softmax, layer norm
 * and a transposed operand.
 *
 * usage: shapes_test [--device NAME] [--share I/N] [--large] [--huge]
 *   --device  hip (the default), host or cuda
 *   --share   only every N-th graph, from the I-th on; I counts from 1
 *   --large   shapes of up to 16 million elements in the place of the odd ones
 *   --huge    one tensor of more than 2^31 elements instead, checked on the host
 *
 * Exits with 77, which CTest counts as skipped, when there is no such device or too little memory.
 */
#include "cli/bench/bench_builder.h"
#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"
#include "runtime/engine/engine.h"
#include "tests/end_to_end/checked_graph.h"
#include "tests/end_to_end/execute_on_device.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, POISON = 0xa5, SEED = 4711 };
static const struct kiln_shape_overrides no_overrides;
enum { ALL = KILN_BENCH_ALL_AXES, ROW = KILN_BENCH_ROW_AXIS, COLUMN = KILN_BENCH_COLUMN_AXIS };

struct shape {
    int64_t rows;
    int64_t columns;
};

static const struct shape odd_shapes[] = {
    {1, 1},     {1, 2},    {2, 1},     {3, 5},     {1, 257},   {257, 1},
    {7, 63},    {5, 64},   {5, 65},    {127, 129}, {1, 65537}, {65537, 1},
    {2, 50001}, {3, 8191}, {31, 1023}, {1021, 33}, {9, 4097},  {4099, 9},
};
static const struct shape large_shapes[] = {
    {2, 65024},   {3, 131071},  {1, 4194301}, {4194301, 1},
    {2047, 2049}, {4093, 4093}, {65537, 255}, {16, 1048573},
};

static struct {
    const char *device;
    int share;
    int shares;
    bool large;
    bool huge;
} settings = {.device = "hip", .share = 1, .shares = 1};

/* ---- graphs ---- */

static void add_relu(struct kiln_bench_builder *builder)
{
    uint32_t a = kiln_bench_input(builder, "a");
    uint32_t b = kiln_bench_vector(builder, "b", COLUMN);
    uint32_t sum = kiln_bench_pointwise(builder, KILN_POINTWISE_ADD, a, b);
    kiln_bench_output(builder, "y", kiln_bench_unary(builder, KILN_POINTWISE_RELU_FWD, sum));
}

static void transpose_add(struct kiln_bench_builder *builder)
{
    uint32_t a = kiln_bench_input(builder, "a");
    uint32_t b = kiln_bench_input_transposed(builder, "b");
    kiln_bench_output(builder, "y", kiln_bench_pointwise(builder, KILN_POINTWISE_ADD, a, b));
}

static void row_max(struct kiln_bench_builder *builder)
{
    uint32_t x = kiln_bench_input(builder, "x");
    kiln_bench_output(builder, "y", kiln_bench_reduce(builder, KILN_REDUCTION_MAX, x, COLUMN));
}

static void column_sum(struct kiln_bench_builder *builder)
{
    uint32_t x = kiln_bench_input(builder, "x");
    kiln_bench_output(builder, "y", kiln_bench_reduce(builder, KILN_REDUCTION_ADD, x, ROW));
}

static void softmax(struct kiln_bench_builder *builder)
{
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t max = kiln_bench_reduce(builder, KILN_REDUCTION_MAX, x, COLUMN);
    uint32_t shifted = kiln_bench_pointwise(builder, KILN_POINTWISE_SUB, x, max);
    uint32_t e = kiln_bench_unary(builder, KILN_POINTWISE_EXP, shifted);
    uint32_t sum = kiln_bench_reduce(builder, KILN_REDUCTION_ADD, e, COLUMN);
    kiln_bench_output(builder, "y", kiln_bench_pointwise(builder, KILN_POINTWISE_DIV, e, sum));
}

static void layernorm(struct kiln_bench_builder *builder)
{
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t scale = kiln_bench_vector(builder, "scale", COLUMN);
    uint32_t bias = kiln_bench_vector(builder, "bias", COLUMN);
    uint32_t epsilon = kiln_bench_constant(builder, 1e-5);
    struct kiln_node *node = kiln_bench_norm(builder, KILN_NODE_LAYERNORM, COLUMN);
    kiln_bench_connect(node, KILN_OPERAND_X, x);
    kiln_bench_connect(node, KILN_OPERAND_SCALE, scale);
    kiln_bench_connect(node, KILN_OPERAND_BIAS, bias);
    kiln_bench_connect(node, KILN_OPERAND_EPSILON, epsilon);
    kiln_bench_output(builder, "y", kiln_bench_result(builder, node, KILN_OPERAND_Y, ALL));
}

static const struct {
    const char *name;
    void (*build)(struct kiln_bench_builder *builder);
} kinds[] = {
    {"add_relu", add_relu}, {"transpose_add", transpose_add},
    {"row_max", row_max},   {"column_sum", column_sum},
    {"softmax", softmax},   {"layernorm", layernorm},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const enum kiln_dtype dtypes[] = {KILN_DTYPE_F32, KILN_DTYPE_F16, KILN_DTYPE_BF16};
enum { DTYPES = sizeof(dtypes) / sizeof(dtypes[0]) };

/* The graph and its bytes; memory belongs to the arena and the buffer. */
static enum kiln_status make_graph(size_t kind, enum kiln_dtype dtype, const struct shape *shape,
                                   struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                   struct kiln_buffer *bytes, struct kiln_error *error)
{
    struct kiln_bench_builder builder;
    enum kiln_status status =
        kiln_bench_builder_init(&builder, kinds[kind].name, dtype, arena, error);
    if (status)
        return status;
    builder.rank = 2;
    builder.dims[0] = shape->rows;
    builder.dims[1] = shape->columns;
    kinds[kind].build(&builder);
    status = kiln_graph_write(&builder.graph, KILN_WIRE_ERA_CURRENT, bytes, error);
    if (status == KILN_OK)
        status = kiln_graph_read(bytes->data, bytes->size, arena, ret_graph, error);
    return status;
}

/* ---- a graph against the interpreter ---- */

static enum kiln_status execute(struct kiln_engine *engine, struct kiln_device *device,
                                const struct kiln_graph *graph, const struct kiln_buffer *bytes,
                                void *const *memory, struct kiln_error *error)
{
    struct kiln_plan *plan = NULL;
    enum kiln_status status = kiln_plan_create(engine, bytes->data, bytes->size, &plan, error);
    if (status == KILN_OK)
        status = execute_on_device(device, plan, graph, &no_overrides, memory, POISON, error);
    kiln_plan_unref(plan);
    return status;
}

static bool test_shape(struct kiln_engine *engine, struct kiln_device *device, size_t kind,
                       enum kiln_dtype dtype, const struct shape *shape)
{
    struct kiln_error error;
    struct kiln_arena arena;
    struct kiln_buffer bytes;
    struct kiln_graph graph;
    struct kiln_random_graph_options options;
    struct checked_elements elements;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    kiln_buffer_init(&bytes);
    kiln_random_graph_options_init(&options);
    options.special_values = false;
    options.infinite_factors = false;
    void **memory = NULL;
    enum kiln_status status = make_graph(kind, dtype, shape, &arena, &graph, &bytes, &error);
    if (status == KILN_OK) {
        memory = make_tensor_memory(&graph, SEED, &options, POISON);
        if (memory == NULL)
            status = kiln_error_set(&error, KILN_NO_MEMORY, "no memory for the tensors");
    }
    if (status == KILN_OK)
        status = execute(engine, device, &graph, &bytes, memory, &error);
    if (status == KILN_OK)
        status = check_outputs(&graph, memory, POISON, &arena, &elements, &error);
    if (status != KILN_OK)
        printf("FAILED: %s of %s, %" PRId64 " x %" PRId64 ": %s\n", kinds[kind].name,
               kiln_dtype_info(dtype)->text, shape->rows, shape->columns, error.text);
    if (memory != NULL)
        free_tensor_memory(&graph, memory);
    kiln_buffer_fini(&bytes);
    kiln_arena_fini(&arena);
    return status == KILN_OK;
}

static int test_shapes(struct kiln_engine *engine, struct kiln_device *device)
{
    const struct shape *shapes = settings.large ? large_shapes : odd_shapes;
    size_t count = settings.large ? sizeof(large_shapes) / sizeof(large_shapes[0])
                                  : sizeof(odd_shapes) / sizeof(odd_shapes[0]);
    size_t done = 0;
    size_t failed = 0;
    for (size_t i = 0; i < count * KINDS; i++) {
        if (i % (size_t)settings.shares != (size_t)settings.share - 1)
            continue;
        size_t kind = i % KINDS;
        const struct shape *shape = &shapes[i / KINDS];
        /* Every kind meets every type. */
        enum kiln_dtype dtype = dtypes[(i / KINDS + kind) % DTYPES];
        failed += !test_shape(engine, device, kind, dtype, shape);
        done++;
    }
    printf("%zu graphs of %s shapes: %zu failed\n", done, settings.large ? "large" : "odd", failed);
    return failed != 0 || done == 0;
}

/* ---- more elements than 32 bits can count ---- */

enum { HUGE_CHUNK = 1 << 26 };
static const int64_t huge_elements = ((int64_t)1 << 31) + 5;

static signed char huge_input(int64_t index)
{
    return (signed char)((uint64_t)index * 0x9e3779b97f4a7c15u >> 56);
}

static enum kiln_status copy_huge(struct kiln_device *device, signed char *on_device, bool in,
                                  int64_t *ret_wrong, struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    signed char *chunk = malloc(HUGE_CHUNK);
    if (chunk == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a chunk");
    for (int64_t start = 0; status == KILN_OK && start < huge_elements; start += HUGE_CHUNK) {
        int64_t left = huge_elements - start;
        int64_t length = left < HUGE_CHUNK ? left : HUGE_CHUNK;
        for (int64_t i = 0; in && i < length; i++)
            chunk[i] = huge_input(start + i);
        status =
            in ? device->ops->copy_in(device, on_device + start, chunk, (size_t)length, error)
               : device->ops->copy_out(device, chunk, on_device + start, (size_t)length, error);
        for (int64_t i = 0; !in && i < length; i++) {
            signed char x = huge_input(start + i);
            *ret_wrong += chunk[i] != (x > 0 ? x : 0);
        }
    }
    free(chunk);
    return status;
}

static enum kiln_status execute_huge(struct kiln_engine *engine, struct kiln_device *device,
                                     int64_t *ret_wrong, struct kiln_error *error)
{
    struct kiln_arena arena;
    struct kiln_buffer bytes;
    struct kiln_bench_builder builder;
    struct kiln_plan *plan = NULL;
    void *x = NULL;
    void *y = NULL;
    kiln_arena_init(&arena);
    kiln_buffer_init(&bytes);
    enum kiln_status status =
        kiln_bench_builder_init(&builder, "huge_relu", KILN_DTYPE_I8, &arena, error);
    if (status == KILN_OK) {
        builder.rank = 1;
        builder.dims[0] = huge_elements;
        uint32_t input = kiln_bench_input(&builder, "x");
        kiln_bench_output(&builder, "y",
                          kiln_bench_unary(&builder, KILN_POINTWISE_RELU_FWD, input));
        status = kiln_graph_write(&builder.graph, KILN_WIRE_ERA_CURRENT, &bytes, error);
    }
    if (status == KILN_OK)
        status = kiln_plan_create(engine, bytes.data, bytes.size, &plan, error);
    if (status == KILN_OK)
        status = device->ops->allocate(device, (size_t)huge_elements, &x, error);
    if (status == KILN_OK)
        status = device->ops->allocate(device, (size_t)huge_elements, &y, error);
    if (status == KILN_OK)
        status = copy_huge(device, x, true, ret_wrong, error);
    if (status == KILN_OK) {
        struct kiln_buffer_binding bindings[2] = {{0, NULL}};
        for (uint32_t i = 0; i < builder.graph.tensor_count; i++) {
            const struct kiln_tensor *tensor = &builder.graph.tensors[i];
            bindings[i == 0 ? 0 : 1] = (struct kiln_buffer_binding){tensor->uid, i == 0 ? x : y};
        }
        status = kiln_plan_execute(plan, NULL, NULL, bindings, 2, error);
    }
    if (status == KILN_OK)
        status = device->ops->synchronize(device, NULL, error);
    if (status == KILN_OK)
        status = copy_huge(device, y, false, ret_wrong, error);
    device->ops->release(device, x);
    device->ops->release(device, y);
    kiln_plan_unref(plan);
    kiln_buffer_fini(&bytes);
    kiln_arena_fini(&arena);
    return status;
}

static int test_huge(struct kiln_engine *engine, struct kiln_device *device)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_device_memory memory;
    if (device->ops->describe_memory(device, &memory, &error) != KILN_OK) {
        printf("FAILED: %s\n", error.text);
        return 1;
    }
    if (memory.free_bytes < 3 * (uint64_t)huge_elements) {
        printf("skipped: 6 GiB of device memory are not free\n");
        return SKIPPED;
    }
    int64_t wrong = 0;
    if (execute_huge(engine, device, &wrong, &error) != KILN_OK) {
        printf("FAILED: %s\n", error.text);
        return 1;
    }
    printf("%" PRId64 " elements: %" PRId64 " wrong\n", huge_elements, wrong);
    return wrong != 0;
}

static bool parse(int argc, char **argv)
{
    static const struct option options[] = {{"device", required_argument, NULL, 'd'},
                                            {"share", required_argument, NULL, 's'},
                                            {"large", no_argument, NULL, 'l'},
                                            {"huge", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        char rest;
        if (option == 'd')
            settings.device = optarg;
        else if (option == 'l')
            settings.large = true;
        else if (option == 'h')
            settings.huge = true;
        else if (option != 's' ||
                 sscanf(optarg, "%d/%d%c", &settings.share, &settings.shares, &rest) != 2)
            return false;
    }
    return argc == optind && settings.share >= 1 && settings.share <= settings.shares;
}

int main(int argc, char **argv)
{
    if (!parse(argc, argv)) {
        fprintf(stderr, "usage: %s [--device NAME] [--share I/N] [--large] [--huge]\n", argv[0]);
        return 2;
    }
    struct kiln_error error;
    struct kiln_device *device = NULL;
    struct kiln_engine *engine = NULL;
    kiln_error_init(&error);
    enum kiln_status status = kiln_device_open(settings.device, &device, &error);
    if (status != KILN_OK) {
        printf("%s%s\n", status == KILN_UNSUPPORTED ? "skipped: " : "", error.text);
        return status == KILN_UNSUPPORTED ? SKIPPED : 1;
    }
    const struct kiln_engine_options options = {.device = settings.device};
    if (kiln_engine_create(&options, &engine, &error) != KILN_OK) {
        printf("FAILED: %s\n", error.text);
        return 1;
    }
    int result = settings.huge ? test_huge(engine, device) : test_shapes(engine, device);
    kiln_engine_unref(engine);
    kiln_device_close(device);
    return result;
}
