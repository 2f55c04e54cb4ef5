/*
 * Plans that travel, on the host device: stored by one engine and restored by another one that has
 * neither compiler nor cache; other targets; damaged bytes.
 *
 * DAMAGED_PLANS in the environment is the number of damaged plans, in place of a few thousand.
 */
#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/plan_format.h"
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/end_to_end/checked_graph.h"
#include "tests/runtime/support/temporary_directory.h"
#include "tests/support/random_numbers.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xa5, MAX_BINDINGS = 16, CONFIG_BYTES = 24, DAMAGED = 3000 };

static const char softmax[] =
    "Reduction in=8,64 out=8,1:virtual !mode='MAX_OP' | Pointwise in_0@1 in_1@2 out_0=8,64:virtual "
    "!operation='SUB' | Pointwise in_0@3 out_0=8,64:virtual !operation='EXP' | "
    "Reduction in@4 out=8,1:virtual !mode='ADD' | Pointwise in_0@4 in_1@5 out_0=8,64 "
    "!operation='DIV'";

static const unsigned char config[CONFIG_BYTES] = {1, 2, 3};

static struct json_graph graph;

static int damaged_count(void)
{
    const char *text = getenv("DAMAGED_PLANS");
    return text != NULL ? atoi(text) : DAMAGED;
}

static struct kiln_engine *create(const char *cache)
{
    const struct kiln_engine_options options = {.device = "host",
                                                .cache_directory = temporary_path(cache),
                                                .is_cache_isolated = true,
                                                .codegen = {.max_workers = 1}};
    struct kiln_engine *engine = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_engine_create(&options, &engine, &error), KILN_OK, "%s", error.text);
    return engine;
}

static unsigned compiled(struct kiln_engine *engine)
{
    struct kiln_codegen_counters counters;
    kiln_engine_codegen_counters(engine, &counters);
    return (unsigned)counters.kernels_compiled;
}

static void forbid_compiling(void)
{
    cr_assert_eq(setenv("KILN_ENFORCE_PRECOMPILED", "1", 1), 0);
}

/* The bytes of a plan that an engine of its own has made. */
static void store(struct kiln_buffer *bytes)
{
    struct kiln_engine *engine = create("maker");
    struct kiln_plan *plan = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_plan_create(engine, graph.bytes.data, graph.bytes.size, &plan, &error),
                 KILN_OK, "%s", error.text);
    kiln_buffer_init(bytes);
    cr_assert_eq(kiln_plan_store(plan, config, sizeof config, bytes, &error), KILN_OK, "%s",
                 error.text);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

static void make_graph(void)
{
    cr_assert_not_null(temporary_directory_make());
    graph_sketch_accept(&graph, softmax, NULL);
}

static void drop_graph(void)
{
    json_graph_fini(&graph);
    temporary_directory_remove();
}

TestSuite(plan_restore_run, .init = make_graph, .fini = drop_graph, .timeout = 3000);

/* Outputs of an execution, checked and owned by the caller. */
static void **run(const struct kiln_plan *plan)
{
    struct kiln_random_graph_options fill;
    struct kiln_buffer_binding bindings[MAX_BINDINGS];
    struct checked_elements elements;
    uint32_t count = 0;
    kiln_random_graph_options_init(&fill);
    fill.special_values = false;
    void **memory = make_tensor_memory(&graph.graph, 7, &fill, POISON);
    for (uint32_t i = 0; i < graph.graph.tensor_count; i++) {
        if (memory[i])
            bindings[count++] = (struct kiln_buffer_binding){graph.graph.tensors[i].uid, memory[i]};
    }
    void *workspace = malloc(kiln_plan_workspace_bytes(plan) + 1);
    cr_assert_eq(kiln_plan_execute(plan, NULL, workspace, bindings, count, &graph.error), KILN_OK,
                 "%s", graph.error.text);
    cr_expect_eq(check_outputs(&graph.graph, memory, POISON, &graph.arena, &elements, &graph.error),
                 KILN_OK, "%s", graph.error.text);
    free(workspace);
    return memory;
}

Test(plan_restore_run, restored_plan_needs_neither_compiler_nor_cache)
{
    struct kiln_buffer bytes;
    struct kiln_plan *plans[2] = {NULL, NULL};
    struct kiln_error error;
    kiln_error_init(&error);
    store(&bytes);
    struct kiln_engine *maker = create("maker");
    cr_assert_eq(kiln_plan_create(maker, graph.bytes.data, graph.bytes.size, &plans[0], &error),
                 KILN_OK);
    forbid_compiling();
    struct kiln_engine *engine = create("empty");
    cr_assert_eq(kiln_plan_restore(engine, bytes.data, bytes.size, NULL, &plans[1], &error),
                 KILN_OK, "%s", error.text);
    kiln_buffer_fini(&bytes);
    cr_expect_eq(kiln_plan_workspace_bytes(plans[0]), kiln_plan_workspace_bytes(plans[1]));
    cr_expect_eq(kiln_plan_kernel_count(plans[0]), kiln_plan_kernel_count(plans[1]));
    void **expected = run(plans[0]);
    void **got = run(plans[1]);
    for (uint32_t i = 0; i < graph.graph.tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph.graph.tensors[i];
        if (tensor->role == KILN_TENSOR_OUTPUT)
            cr_expect_arr_eq(expected[i], got[i], (size_t)kiln_tensor_footprint_bytes(tensor));
    }
    cr_expect_eq(compiled(engine), 0);
    free_tensor_memory(&graph.graph, expected);
    free_tensor_memory(&graph.graph, got);
    for (int i = 0; i < 2; i++)
        kiln_plan_unref(plans[i]);
    kiln_engine_unref(maker);
    kiln_engine_unref(engine);
}

Test(plan_restore_run, a_restored_plan_can_be_stored)
{
    struct kiln_buffer bytes;
    struct kiln_buffer again;
    struct kiln_plan *plan = NULL;
    struct kiln_error error;
    const void *stored = NULL;
    size_t stored_bytes = 0;
    kiln_error_init(&error);
    store(&bytes);
    kiln_buffer_init(&again);
    struct kiln_engine *engine = create("empty");
    cr_assert_eq(kiln_plan_restore(engine, bytes.data, bytes.size, NULL, &plan, &error), KILN_OK);
    cr_assert_eq(kiln_plan_stored_config(bytes.data, bytes.size, &stored, &stored_bytes, &error),
                 KILN_OK);
    cr_assert_eq(stored_bytes, sizeof config);
    cr_expect_arr_eq(stored, config, sizeof config);
    cr_assert_eq(kiln_plan_store(plan, stored, stored_bytes, &again, &error), KILN_OK);
    cr_assert_eq(bytes.size, again.size);
    cr_expect_arr_eq(bytes.data, again.data, bytes.size);
    kiln_buffer_fini(&bytes);
    kiln_buffer_fini(&again);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

/* Kernels of the shapes that a plan has executed travel with it. */
Test(plan_restore_run, override_shapes_travel)
{
    static const int64_t uids[] = {1, 6};
    static const uint32_t ranks[] = {2, 2};
    static const int64_t dims[] = {1, 33};
    static const int64_t strides[] = {33, 1};
    static const int64_t *const all_dims[] = {dims, dims};
    static const int64_t *const all_strides[] = {strides, strides};
    const struct kiln_shape_overrides overrides = {2, uids, ranks, all_dims, all_strides};
    struct kiln_buffer bytes;
    struct kiln_plan *plan = NULL;
    struct kiln_error error;
    float x[8 * 64] = {0};
    float y[2][8 * 64];
    kiln_error_init(&error);
    graph.graph.takes_overrides = true;
    kiln_buffer_clear(&graph.bytes);
    cr_assert_eq(kiln_graph_write(&graph.graph, KILN_WIRE_ERA_CURRENT, &graph.bytes, &error),
                 KILN_OK);
    for (int i = 0; i < 33; i++)
        x[i] = (float)(i % 7);
    kiln_buffer_init(&bytes);
    for (int i = 0; i < 2; i++) {
        struct kiln_buffer_binding bindings[] = {{1, x}, {6, y[i]}};
        struct kiln_engine *engine = create(i == 0 ? "maker" : "empty");
        enum kiln_status status =
            i == 0 ? kiln_plan_create(engine, graph.bytes.data, graph.bytes.size, &plan, &error)
                   : kiln_plan_restore(engine, bytes.data, bytes.size, NULL, &plan, &error);
        cr_assert_eq(status, KILN_OK, "%s", error.text);
        memset(y[i], POISON, sizeof y[i]);
        void *workspace = malloc(kiln_plan_workspace_bytes(plan) + 1);
        cr_assert_eq(kiln_plan_execute_with_overrides(plan, NULL, workspace, bindings, 2,
                                                      &overrides, &error),
                     KILN_OK, "%s", error.text);
        free(workspace);
        if (i == 0)
            cr_assert_eq(kiln_plan_store(plan, config, sizeof config, &bytes, &error), KILN_OK);
        else
            cr_expect_eq(compiled(engine), 0);
        kiln_plan_unref(plan);
        kiln_engine_unref(engine);
        forbid_compiling();
    }
    cr_expect_arr_eq(y[0], y[1], sizeof y[0]);
    kiln_buffer_fini(&bytes);
}

/* The stored plan, for a target that this machine does not have. */
static void change_target(const struct kiln_buffer *bytes, struct kiln_buffer *ret_bytes)
{
    struct kiln_plan_record record;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_plan_decode(bytes->data, bytes->size, &record, &error), KILN_OK);
    record.target = (struct kiln_plan_field){"gfx942", 6};
    kiln_buffer_init(ret_bytes);
    cr_assert_eq(kiln_plan_encode(&record, NULL, 0, ret_bytes, &error), KILN_OK);
}

Test(plan_restore_run, on_another_target_the_graph_is_compiled)
{
    struct kiln_buffer bytes;
    struct kiln_buffer other;
    struct kiln_plan *plan = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    store(&bytes);
    change_target(&bytes, &other);
    struct kiln_engine *engine = create("empty");
    cr_assert_eq(kiln_plan_restore(engine, other.data, other.size, NULL, &plan, &error), KILN_OK,
                 "%s", error.text);
    cr_expect_gt(compiled(engine), 0);
    free_tensor_memory(&graph.graph, run(plan));
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
    forbid_compiling();
    engine = create("none");
    plan = NULL;
    cr_expect_eq(kiln_plan_restore(engine, other.data, other.size, NULL, &plan, &error),
                 KILN_UNSUPPORTED);
    cr_expect_null(plan);
    cr_expect_not_null(strstr(error.text, "it is for target 'gfx942', and the device is 'host"),
                       "%s", error.text);
    cr_expect_not_null(strstr(error.text, "KILN_ENFORCE_PRECOMPILED forbids"), "%s", error.text);
    kiln_buffer_fini(&bytes);
    kiln_buffer_fini(&other);
    kiln_engine_unref(engine);
}

static void refuse(struct kiln_engine *engine, const void *bytes, size_t size)
{
    struct kiln_plan *plan = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = kiln_plan_restore(engine, bytes, size, NULL, &plan, &error);
    cr_assert_neq(status, KILN_OK);
    cr_assert_null(plan);
    cr_assert_neq(error.text[0], '\0');
}

Test(plan_restore_run, truncated_and_flipped_bytes_are_refused)
{
    struct kiln_random random = {1};
    struct kiln_buffer bytes;
    store(&bytes);
    forbid_compiling();
    struct kiln_engine *engine = create("empty");
    for (size_t size = 0; size < bytes.size; size += size < 512 ? 1 : 997)
        refuse(engine, bytes.data, size);
    for (int i = 0; i < damaged_count(); i++) {
        size_t at = i < 64 ? (size_t)i : kiln_random_below(&random, (uint32_t)bytes.size);
        char before = bytes.data[at];
        bytes.data[at] = (char)(before ^ 1 << kiln_random_below(&random, 8));
        refuse(engine, bytes.data, bytes.size);
        bytes.data[at] = before;
    }
    kiln_buffer_fini(&bytes);
    kiln_engine_unref(engine);
}

/* Gives damaged bytes the checksum that they need. */
static void seal(struct kiln_buffer *bytes)
{
    size_t covered = bytes->size - KILN_PLAN_CHECKSUM_BYTES;
    const struct kiln_hash128 hash = kiln_hash128(bytes->data, covered);
    for (int i = 0; i < 8; i++) {
        bytes->data[covered + (size_t)i] = (char)(hash.low >> (8 * i));
        bytes->data[covered + 8 + (size_t)i] = (char)(hash.high >> (8 * i));
    }
}

/* Nobody but an attacker makes these; none may crash. Some are sound: names of graphs change. */
Test(plan_restore_run, damage_under_a_valid_checksum)
{
    struct kiln_random random = {2};
    struct kiln_buffer bytes;
    store(&bytes);
    forbid_compiling();
    struct kiln_engine *engine = create("empty");
    struct kiln_plan_record record;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_plan_decode(bytes.data, bytes.size, &record, &error), KILN_OK);
    /* All before the kernels, and a part of those. */
    uint32_t front = (uint32_t)record.kernels.position;
    for (int i = 0; i < damaged_count(); i++) {
        uint32_t limit = kiln_random_chance(&random, 80) ? front + 64 : (uint32_t)bytes.size;
        size_t at = kiln_random_below(&random, limit);
        char before = bytes.data[at];
        bytes.data[at] = (char)kiln_random_next(&random);
        seal(&bytes);
        struct kiln_plan *plan = NULL;
        kiln_error_init(&error);
        enum kiln_status status =
            kiln_plan_restore(engine, bytes.data, bytes.size, NULL, &plan, &error);
        cr_assert_eq(status == KILN_OK, plan != NULL);
        cr_assert(status == KILN_OK || error.text[0] != '\0');
        kiln_plan_unref(plan);
        bytes.data[at] = before;
    }
    kiln_buffer_fini(&bytes);
    kiln_engine_unref(engine);
}
