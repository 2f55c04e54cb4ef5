/*
 * Kernels of reductions as they are emitted, compiled and run on the host device, where every
 * work-item is a fiber, in layouts that no schedule for a CPU has; against the IR's interpreter.
 */
#include "compiler/codegen/codegen.h"
#include "compiler/emit/emit.h"
#include "compiler/families/reduction/schedule/reduction_lds.h"
#include "compiler/families/reduction/schedule/reduction_local.h"
#include "compiler/families/reduction/schedule/reduction_schedule.h"
#include "runtime/device/host_device.h"
#include "tests/compiler/families/reduction/reduction_fixture.h"
#include "tests/compiler/ir/ir_interpreter.h"
#include "tests/runtime/support/test_share.h"

#include "compiler/reference/convert.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is forced upon a schedule. */
struct layout {
    uint32_t wave_size;
    uint32_t items_along_reduced;
    uint32_t items_along_kept;
    uint32_t vector; /* the longest */
    uint32_t steps;  /* loaded together; 0: all, and held */
    bool grid_is_short;
    bool index_is_64bit;
    bool segments_take_turns;
    bool walks_back;
    bool is_skewed; /* long rows that vectors do not divide */
};

enum { MAX_COMPONENTS = 3, MAX_INTEGERS = 32 };

struct memory {
    void *tensors[FIXTURE_MAX_TENSORS];
    void *components[MAX_COMPONENTS];
};

static struct kiln_codegen *codegen;
static struct kiln_device *device;
static struct kiln_error error;

static void open_device(void)
{
    struct kiln_codegen_options options = {.max_workers = 1};
    kiln_error_init(&error);
    cr_assert_eq(kiln_codegen_create(&options, &codegen, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(kiln_host_device_ops.open(&kiln_host_device_ops, &device, &error), KILN_OK, "%s",
                 error.text);
}

static void close_device(void)
{
    kiln_host_device_ops.close(device);
    kiln_codegen_unref(codegen);
}

TestSuite(reduction_run, .init = open_device, .fini = close_device, .timeout = 250);

enum { FEWEST_LOCAL_ITEMS = 16 }; /* reduction_local.c */

/* The schedule that the layout makes of the target's own. */
static struct kiln_schedule force(struct ir_fixture *fixture, const struct kiln_fusion_group *group,
                                  const struct layout *layout)
{
    fixture->target.wave_size = layout->wave_size;
    fixture->options.max_vector_elements = layout->vector;
    struct kiln_schedule schedule = reduction_fixture_schedule(fixture, group);
    struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_in(&schedule);
    uint64_t items = layout->items_along_reduced;
    reduction->items_along_reduced = layout->items_along_reduced;
    reduction->items_along_kept = layout->items_along_kept;
    bool is_local = reduction->held == KILN_HELD_LOCAL;
    if (is_local) {
        while (reduction->items_along_kept * items < FEWEST_LOCAL_ITEMS)
            reduction->items_along_kept *= 2;
        reduction->row_spacing = 1 + (reduction->items_along_kept > 1);
    } else if (layout->steps != 0)
        reduction->held = KILN_HELD_NOTHING;
    else if (!kiln_reduction_is_held(reduction))
        reduction->held = KILN_HELD_CONVERTED;
    reduction->steps_per_item = layout->steps == 0 || is_local
                                    ? (uint32_t)((reduction->steps_per_segment + items - 1) / items)
                                    : layout->steps;
    schedule.launch.block = reduction->items_along_reduced * reduction->items_along_kept;
    schedule.launch.chunk_count = (reduction->kept_count + reduction->items_along_kept - 1) /
                                  reduction->items_along_kept * reduction->segment_count;
    schedule.launch.grid = (uint32_t)(layout->grid_is_short ? (schedule.launch.chunk_count + 2) / 3
                                                            : schedule.launch.chunk_count);
    schedule.launch.lds_bytes =
        is_local ? kiln_local_bytes(group, &schedule, layout->wave_size)
                 : kiln_reduction_lds_bytes(&reduction->passes, reduction,
                                            schedule.walk.vector_elems, layout->wave_size);
    schedule.walk.index_is_64bit |= layout->index_is_64bit;
    reduction->segments_take_turns = layout->segments_take_turns;
    schedule.walk.is_backward = layout->walks_back;
    if (layout->is_skewed && !is_local && schedule.walk.rank == 2 &&
        schedule.walk.reduced_axes == 2 && schedule.walk.cols >= 2 * schedule.walk.vector_elems) {
        schedule.walk.moved_elems = 0;
        schedule.walk.skew_elems = (uint32_t)(schedule.walk.cols % schedule.walk.vector_elems);
    }
    return schedule;
}

static struct kiln_kernel emit(struct ir_fixture *fixture, const struct kiln_fusion_group *group,
                               const struct kiln_schedule *schedule)
{
    struct kiln_kernel kernel;
    struct kiln_emission emission = {.ir = &fixture->ir,
                                     .graph = &fixture->graph,
                                     .group = group,
                                     .schedule = schedule,
                                     .target = &fixture->target};
    cr_assert_eq(kiln_emit_kernel(&emission, &kernel, &error), KILN_OK, "%s", error.text);
    return kernel;
}

static void run(struct ir_fixture *fixture, const struct kiln_fusion_group *group,
                const struct layout *layout, const struct memory *memory)
{
    struct kiln_schedule schedule = force(fixture, group, layout);
    struct kiln_kernel kernel = emit(fixture, group, &schedule);
    struct kiln_code_object object;
    cr_assert_eq(kiln_codegen_compile(codegen, &fixture->target, &kernel, &object, &error), KILN_OK,
                 "%s", error.text);
    struct kiln_device_module *module;
    struct kiln_device_function *function;
    cr_assert_eq(device->ops->load(device, object.bytes, object.size, kernel.symbol,
                                   kernel.lds_bytes, kernel.uses_barrier, &module, &function,
                                   &error),
                 KILN_OK, "%s", error.text);
    uint64_t arguments[KILN_GROUP_MAX_ACCESSES + MAX_INTEGERS];
    cr_assert_leq(kernel.argument_count, KILN_GROUP_MAX_ACCESSES + MAX_INTEGERS);
    for (uint32_t i = 0; i < group->access_count; i++)
        arguments[i] = (uintptr_t)(group->accesses[i].is_accumulator
                                       ? memory->components[group->accesses[i].component]
                                       : memory->tensors[group->accesses[i].tensor]);
    for (uint32_t i = group->access_count; i < kernel.argument_count; i++) {
        cr_assert_eq(kernel.arguments[i].kind, KILN_ARGUMENT_INTEGER);
        arguments[i] = kernel.arguments[i].offset_bytes;
    }
    struct kiln_launch launch = {.function = function,
                                 .grid = {schedule.launch.grid, 1, 1},
                                 .block = {schedule.launch.block, 1, 1},
                                 .kernarg = arguments,
                                 .kernarg_bytes = kernel.argument_count * 8};
    cr_assert_eq(device->ops->launch(device, NULL, &launch, &error), KILN_OK, "%s", error.text);
    device->ops->unload(device, module);
    kiln_code_object_fini(&object);
}

static size_t tensor_elements(const struct kiln_tensor *tensor)
{
    size_t elements = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        elements *= (size_t)tensor->dims[i];
    return elements;
}

/* Inputs rise from the first element to the last, instead of at random. */
static bool inputs_rise;
static double inputs_level = 3; /* the least of others */
/* The first of every 1000 elements that may be infinite. */
static uint32_t infinite_inputs;

/* Inputs far from zero, so that variances cancel where they are computed the wrong way. */
static void fill(const struct kiln_tensor *tensor, void *memory)
{
    uint64_t state = 12345 + (uint64_t)tensor->uid;
    size_t count = tensor_elements(tensor);
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double value = inputs_rise ? (double)i / (double)count
                                   : (double)(state >> 40) / (double)(1 << 24) + inputs_level;
        if (state >> 33 & 1 && i % 1000 < infinite_inputs)
            value = (double)INFINITY;
        struct kiln_constant constant = {.real = value, .integer = (int64_t)(state >> 45) - 200000};
        kiln_element_store(tensor->dtype, constant,
                           (char *)memory + i * kiln_dtype_info(tensor->dtype)->bytes);
    }
}

/* Memory of every tensor: inputs filled, all else of bytes that are no plausible result. */
static struct memory allocate(const struct ir_fixture *fixture, uint64_t component_elements)
{
    struct memory memory = {0};
    for (uint32_t i = 0; i < fixture->graph.tensor_count; i++) {
        const struct kiln_tensor *tensor = &fixture->tensors[i];
        size_t bytes = tensor_elements(tensor) * kiln_dtype_info(tensor->dtype)->bytes;
        memory.tensors[i] = malloc(bytes);
        memset(memory.tensors[i], 0x7b, bytes);
        if (tensor->role == KILN_TENSOR_INPUT)
            fill(tensor, memory.tensors[i]);
    }
    for (uint32_t i = 0; i < MAX_COMPONENTS; i++) {
        memory.components[i] = malloc(component_elements * 8);
        memset(memory.components[i], 0xff, component_elements * 8);
    }
    return memory;
}

static void release(const struct ir_fixture *fixture, struct memory *memory)
{
    for (uint32_t i = 0; i < fixture->graph.tensor_count; i++)
        free(memory->tensors[i]);
    for (uint32_t i = 0; i < MAX_COMPONENTS; i++)
        free(memory->components[i]);
}

static double element(const struct kiln_tensor *tensor, const void *memory, size_t i)
{
    const struct kiln_dtype_info *info = kiln_dtype_info(tensor->dtype);
    return kiln_element_load(tensor->dtype, (const char *)memory + i * info->bytes).real;
}

/* Of sums of some thousand elements. Integers are exact. */
static double tolerance(enum kiln_dtype dtype)
{
    switch (dtype) {
    case KILN_DTYPE_I64:
    case KILN_DTYPE_I32:
        return 0;
    case KILN_DTYPE_F64:
        return 1e-12;
    case KILN_DTYPE_F16:
        return 2e-3;
    default:
        return 2e-5;
    }
}

static void expect_interpreted(const struct ir_fixture *fixture, const struct memory *memory,
                               const char *name)
{
    struct memory expected = allocate(fixture, 1);
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    cr_assert_eq(kiln_ir_interpret(&fixture->ir, &fixture->graph, expected.tensors,
                                   KILN_MATH_ROUNDED, &arena, &error),
                 KILN_OK);
    for (uint32_t i = 0; i < fixture->graph.tensor_count; i++) {
        const struct kiln_tensor *tensor = &fixture->tensors[i];
        if (tensor->role != KILN_TENSOR_OUTPUT)
            continue;
        double most = tolerance(tensor->dtype);
        for (size_t k = 0; k < tensor_elements(tensor); k++) {
            double got = element(tensor, memory->tensors[i], k);
            double want = element(tensor, expected.tensors[i], k);
            cr_assert(fabs(got - want) <= most * fabs(want) + most * (most > 0),
                      "%s: tensor %u element %zu: %.17g, not %.17g", name, i, k, got, want);
        }
    }
    kiln_arena_fini(&arena);
    release(fixture, &expected);
}

static void check(const struct reduction_case *reduction, const struct layout *layout)
{
    char name[200];
    (void)snprintf(name, sizeof name,
                   "content %d %s, %ux%u items, wave %u, vector %u, %u steps%s%s",
                   (int)reduction->content, kiln_dtype_info(reduction->dtype)->text,
                   layout->items_along_reduced, layout->items_along_kept, layout->wave_size,
                   layout->vector, layout->steps, layout->grid_is_short ? ", short grid" : "",
                   layout->index_is_64bit ? ", 64 bits" : "");
    struct ir_fixture *fixture = reduction_fixture_create("host");
    struct kiln_fusion_group group = reduction_fixture_group(fixture, reduction);
    struct memory memory = allocate(fixture, 1);
    run(fixture, &group, layout, &memory);
    expect_interpreted(fixture, &memory, name);
    release(fixture, &memory);
    ir_fixture_destroy(fixture);
}

/* All numbers of work-items that share a row, the other choices changing with them. */
static void check_layouts(const struct reduction_case *cases, uint32_t case_count,
                          uint32_t wave_size)
{
    static const enum kiln_dtype dtypes[] = {KILN_DTYPE_F32, KILN_DTYPE_F16, KILN_DTYPE_F64};
    uint32_t number = wave_size / 32;
    for (uint32_t items = 1; items <= 1024; items *= 2) {
        for (uint32_t kept = 1; kept <= 64 && items * kept <= 1024; kept *= 8) {
            struct reduction_case reduction = cases[number % case_count];
            reduction.content = (enum reduction_content)(number % REDUCTION_CONTENT_COUNT);
            reduction.role = KILN_ROLE_WHOLE;
            reduction.dtype = dtypes[number % 3];
            struct layout layout = {.wave_size = wave_size,
                                    .items_along_reduced = items,
                                    .items_along_kept = kept,
                                    .vector = 1u << number % 4,
                                    .steps = items < 16 ? 1 + number % 4 : number % 3,
                                    .grid_is_short = number % 4 == 1,
                                    .walks_back = number % 8 < 4,
                                    .is_skewed = number % 3 < 2,
                                    .index_is_64bit = number % 5 == 2};
            if (test_share_has(number))
                check(&reduction, &layout);
            number++;
        }
    }
}

/* Lengths that vectors divide and that they do not, one line and several. */
static const struct reduction_case row_cases[] = {
    {.rank = 2, .dims = {13, 1003}, .reduced_axes = 2},
    {.rank = 2, .dims = {16, 2048}, .reduced_axes = 2},
    {.rank = 4, .dims = {3, 5, 7, 11}, .reduced_axes = 13},
    {.rank = 2, .dims = {70, 9}, .reduced_axes = 2},
};

static const struct reduction_case column_cases[] = {
    {.rank = 2, .dims = {301, 45}, .reduced_axes = 1},
    {.rank = 4, .dims = {3, 50, 7, 16}, .reduced_axes = 2},
    {.rank = 2, .dims = {1024, 64}, .reduced_axes = 1},
    {.rank = 3, .dims = {17, 9, 11}, .reduced_axes = 2},
};

Test(reduction_run, rows_in_waves_of_32)
{
    check_layouts(row_cases, 4, 32);
}

Test(reduction_run, rows_in_waves_of_64)
{
    check_layouts(row_cases, 4, 64);
}

Test(reduction_run, columns_in_waves_of_32)
{
    check_layouts(column_cases, 4, 32);
}

Test(reduction_run, columns_in_waves_of_64)
{
    check_layouts(column_cases, 4, 64);
}

/* Element n of those of x[][k][]. */
static double moment_input(const struct ir_fixture *fixture, const struct memory *memory,
                           const struct reduction_case *reduction, int64_t k, int64_t n)
{
    const int64_t *dims = reduction->dims;
    return element(&fixture->tensors[0], memory->tensors[0],
                   (size_t)((n / dims[2] * dims[1] + k) * dims[2] + n % dims[2]));
}

/* Mean and squared deviations of x[][k][] against sums in double. */
static void expect_moments_within(const struct ir_fixture *fixture, const struct memory *memory,
                                  const struct reduction_case *reduction, int64_t k,
                                  double mean_error, double squares_error)
{
    int64_t count = reduction->dims[0] * reduction->dims[2];
    double mean = 0;
    double squares = 0;
    for (int64_t i = 0; i < count; i++)
        mean += moment_input(fixture, memory, reduction, k, i);
    mean /= (double)count;
    for (int64_t i = 0; i < count; i++) {
        double value = moment_input(fixture, memory, reduction, k, i);
        squares += (value - mean) * (value - mean);
    }
    double got_mean = element(&fixture->tensors[1], memory->tensors[1], (size_t)k);
    double got_squares = element(&fixture->tensors[2], memory->tensors[2], (size_t)k);
    cr_assert(fabs(got_mean - mean) <= mean_error * mean, "mean %.9g, not %.9g", got_mean, mean);
    cr_assert(fabs(got_squares - squares) <= squares_error * squares, "squares %.9g, not %.9g",
              got_squares, squares);
}

static void expect_moments(const struct ir_fixture *fixture, const struct memory *memory,
                           const struct reduction_case *reduction, int64_t k)
{
    expect_moments_within(fixture, memory, reduction, k, 2e-5, 2e-4);
}

/* Where every element moves the mean the same way, so does the rounding of each update. */
Test(reduction_run, moments_of_long_rows_do_not_drift)
{
    static const struct reduction_case cases[] = {
        {.dims = {1, 1, 150000}},
        {.dims = {25000, 2, 7}},
        {.dims = {50000, 3, 1}},
    };
    inputs_rise = true;
    for (uint32_t i = 0; i < 6; i++) {
        struct reduction_case reduction = cases[i % 3];
        reduction.content = REDUCTION_STATISTICS;
        reduction.role = KILN_ROLE_WHOLE;
        reduction.rank = 3;
        reduction.reduced_axes = 5;
        reduction.dtype = KILN_DTYPE_F32;
        struct layout layout = {.wave_size = 32,
                                .items_along_reduced = i < 3 ? 1 : 2,
                                .items_along_kept = 2,
                                .vector = 4,
                                .steps = 1 + i % 3};
        struct ir_fixture *fixture = reduction_fixture_create("host");
        struct kiln_fusion_group group = reduction_fixture_group(fixture, &reduction);
        struct memory memory = allocate(fixture, 1);
        run(fixture, &group, &layout, &memory);
        for (int64_t k = 0; k < reduction.dims[1]; k++)
            expect_moments(fixture, &memory, &reduction, k);
        release(fixture, &memory);
        ir_fixture_destroy(fixture);
    }
}

/* One work-item has all of a column, or of a row. */
static struct memory run_moments(struct ir_fixture *fixture, struct reduction_case *reduction)
{
    const struct layout layout = {
        .wave_size = 1, .items_along_reduced = 1, .items_along_kept = 1, .vector = 8, .steps = 2};
    reduction->content = REDUCTION_STATISTICS;
    reduction->role = KILN_ROLE_WHOLE;
    reduction->rank = 3;
    reduction->reduced_axes = 5;
    reduction->dtype = KILN_DTYPE_F32;
    struct kiln_fusion_group group = reduction_fixture_group(fixture, reduction);
    struct memory memory = allocate(fixture, 1);
    run(fixture, &group, &layout, &memory);
    return memory;
}

/* As batch norm of channels that lie last has them: no work-items share a column. */
Test(reduction_run, moments_far_from_zero_are_as_exact_as_the_mean_is_rounded)
{
    struct reduction_case cases[] = {{.dims = {3136, 16, 1}}, {.dims = {1, 2, 80000}}};
    inputs_level = 10000;
    for (uint32_t i = 0; i < 2; i++) {
        struct ir_fixture *fixture = reduction_fixture_create("host");
        struct memory memory = run_moments(fixture, &cases[i]);
        for (int64_t k = 0; k < cases[i].dims[1]; k++)
            expect_moments_within(fixture, &memory, &cases[i], k, 1e-7, 1e-5);
        release(fixture, &memory);
        ir_fixture_destroy(fixture);
    }
}

Test(reduction_run, the_mean_of_infinities_is_infinite)
{
    struct reduction_case cases[] = {
        {.dims = {500, 4, 1}}, {.dims = {1, 4, 2000}}, {.dims = {30, 4, 67}}, {.dims = {1, 4, 3}}};
    for (uint32_t i = 0; i < 8; i++) {
        struct reduction_case *reduction = &cases[i % 4];
        struct ir_fixture *fixture = reduction_fixture_create("host");
        infinite_inputs = i < 4 ? 1000 : 20;
        struct memory memory = run_moments(fixture, reduction);
        for (int64_t k = 0; k < reduction->dims[1]; k++) {
            bool has_infinity = false;
            for (int64_t n = 0; n < reduction->dims[0] * reduction->dims[2]; n++)
                has_infinity |= isinf(moment_input(fixture, &memory, reduction, k, n)) != 0;
            double mean = element(&fixture->tensors[1], memory.tensors[1], (size_t)k);
            cr_expect(has_infinity ? mean == (double)INFINITY : isfinite(mean), "case %u: %g", i,
                      mean);
        }
        release(fixture, &memory);
        ir_fixture_destroy(fixture);
    }
}

/* Segments by one kernel, the rows that they belong to by another. Some segments are empty. */
static void check_segments(struct reduction_case reduction, const struct layout *layout,
                           uint32_t segment_count)
{
    struct ir_fixture *first = reduction_fixture_create("host");
    struct ir_fixture *second = reduction_fixture_create("host");
    reduction.segment_count = segment_count;
    reduction.role = KILN_ROLE_PARTIAL;
    struct kiln_fusion_group partial = reduction_fixture_group(first, &reduction);
    reduction.role = KILN_ROLE_COMBINE;
    struct kiln_fusion_group combine = reduction_fixture_group(second, &reduction);
    struct memory memory = allocate(second, (uint64_t)segment_count * 10000);
    run(first, &partial, layout, &memory);
    run(second, &combine, layout, &memory);
    expect_interpreted(second, &memory, reduction.content == REDUCTION_SUM ? "sum" : "moments");
    release(second, &memory);
    ir_fixture_destroy(first);
    ir_fixture_destroy(second);
}

Test(reduction_run, segments_are_combined)
{
    static const struct reduction_case cases[] = {
        {.rank = 2, .dims = {1, 4099}, .reduced_axes = 2},
        {.rank = 2, .dims = {3, 5000}, .reduced_axes = 2},
        {.rank = 2, .dims = {2000, 19}, .reduced_axes = 1},
        {.rank = 4, .dims = {9, 5, 7, 16}, .reduced_axes = 13},
        {.rank = 2, .dims = {40, 33}, .reduced_axes = 3},
    };
    static const enum kiln_dtype dtypes[] = {KILN_DTYPE_F32, KILN_DTYPE_F64, KILN_DTYPE_F16};
    for (uint32_t i = 0; i < 20; i++) {
        if (!test_share_has(i))
            continue;
        struct reduction_case reduction = cases[i % 5];
        reduction.content = i / 5 % 2 == 0 ? REDUCTION_STATISTICS : REDUCTION_SUM;
        reduction.dtype = dtypes[i % 3];
        struct layout layout = {.wave_size = i % 2 == 0 ? 32 : 64,
                                .items_along_reduced = 1u << i % 9,
                                .items_along_kept = 1u << i % 3,
                                .vector = 1u << i % 4,
                                .steps = 1 + i % 3,
                                .grid_is_short = i % 3 == 0,
                                .index_is_64bit = i % 4 == 0,
                                .segments_take_turns = i / 2 % 2 == 0,
                                .walks_back = i % 3 != 1};
        check_segments(reduction, &layout, i % 2 == 0 ? 7 : 64);
    }
}

/* x and what is made of it as integers: sum, product of few, smallest, largest and the sum of
 * x times its place in the row; and the place of a row. */
static void check_integers(enum kiln_dtype dtype, const struct layout *layout, bool columns)
{
    struct ir_fixture *fixture = reduction_fixture_create("host");
    struct kiln_ir *ir = &fixture->ir;
    int64_t rows = columns ? 77 : 21;
    int64_t cols = columns ? 21 : 77;
    uint32_t tensor = ir_fixture_tensor(fixture, KILN_TENSOR_INPUT, rows, cols);
    fixture->tensors[tensor].dtype = dtype;
    uint32_t x = kiln_ir_load(ir, &fixture->graph, tensor);
    enum kiln_scalar scalar = ir->ops[x].scalar;
    uint32_t whole = ir->ops[x].domain;
    uint32_t row = ir_fixture_domain(fixture, columns ? 1 : rows, columns ? cols : 1);
    uint32_t place = kiln_ir_index(ir, scalar, whole, columns ? 0 : 1);
    uint32_t number = kiln_ir_index(ir, scalar, whole, columns ? 1 : 0);
    const enum kiln_opcode opcodes[] = {KILN_OP_REDUCE_SUM, KILN_OP_REDUCE_PRODUCT,
                                        KILN_OP_REDUCE_MIN, KILN_OP_REDUCE_MAX};
    uint32_t sum = kiln_ir_integer(ir, scalar, 0);
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++) {
        uint32_t result = kiln_ir_reduce(ir, opcodes[i], x, row);
        fixture->tensors[ir_fixture_store(fixture, result)].dtype = dtype;
        sum = i == 0 ? result : sum;
    }
    uint32_t product = kiln_ir_binary(ir, KILN_OP_MUL, x, place);
    uint32_t weighted = kiln_ir_reduce(ir, KILN_OP_REDUCE_SUM, product, row);
    fixture->tensors[ir_fixture_store(fixture, weighted)].dtype = dtype;
    uint32_t y = kiln_ir_binary(ir, KILN_OP_SUB, product, kiln_ir_broadcast(ir, sum, whole));
    y = kiln_ir_binary(ir, KILN_OP_ADD, y, number);
    fixture->tensors[ir_fixture_store(fixture, y)].dtype = dtype;
    cr_assert_not(ir->failed);

    struct kiln_partition partition = ir_fixture_partition(fixture);
    cr_assert_eq(partition.group_count, 1);
    struct memory memory = allocate(fixture, 1);
    run(fixture, &partition.groups[0], layout, &memory);
    expect_interpreted(fixture, &memory, "integers");
    release(fixture, &memory);
    ir_fixture_destroy(fixture);
}

Test(reduction_run, integers_are_exact_and_know_their_place)
{
    for (uint32_t i = 0; i < 8; i++) {
        struct layout layout = {.wave_size = 32,
                                .items_along_reduced = 1u << i,
                                .items_along_kept = 1u << i % 3,
                                .vector = 1u << i % 3,
                                .steps = i % 3};
        check_integers(i % 2 == 0 ? KILN_DTYPE_I64 : KILN_DTYPE_I32, &layout, i >= 4);
    }
}

static void check_integer_sum(enum kiln_dtype dtype, int64_t length, const struct layout *layout)
{
    struct ir_fixture *fixture = reduction_fixture_create("host");
    uint32_t tensor = ir_fixture_tensor(fixture, KILN_TENSOR_INPUT, 1, length);
    fixture->tensors[tensor].dtype = dtype;
    uint32_t x = kiln_ir_load(&fixture->ir, &fixture->graph, tensor);
    uint32_t sum =
        kiln_ir_reduce(&fixture->ir, KILN_OP_REDUCE_SUM, x, ir_fixture_domain(fixture, 1, 1));
    fixture->tensors[ir_fixture_store(fixture, sum)].dtype = dtype;
    struct kiln_partition partition = ir_fixture_partition(fixture);
    struct memory memory = allocate(fixture, 1);
    run(fixture, &partition.groups[0], layout, &memory);
    expect_interpreted(fixture, &memory, "integer sum");
    release(fixture, &memory);
    ir_fixture_destroy(fixture);
}

/* gcc 12 lost elements of short vectors of integers where it saw that they are all added up. */
Test(reduction_run, integers_in_short_vectors_are_all_added)
{
    static const int64_t lengths[] = {4, 8, 12, 20, 33, 96};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (uint32_t vector = 2; vector <= 8; vector *= 2) {
            struct layout layout = {.wave_size = 1,
                                    .items_along_reduced = 1,
                                    .items_along_kept = 1,
                                    .vector = vector,
                                    .steps = 1};
            check_integer_sum(KILN_DTYPE_I32, lengths[i], &layout);
        }
    }
}
