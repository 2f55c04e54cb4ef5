/* Plans with knobs compute the same as those without, each with a program of its own. */
#include "runtime/engine/engine.h"
#include "runtime/engine/plan_knobs.h"
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/end_to_end/checked_graph.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xa5, MAX_BINDINGS = 32 };

static const char product[] = "Matmul a=70,300:HALF b=300,90:HALF c=70,90:virtual | "
                              "Pointwise in_0@3 in_1=1,90 out_0=70,90 !operation='ADD'";

static struct kiln_engine *engine;
static struct json_graph read;

static void set_up(void)
{
    static const struct kiln_engine_options options = {
        .device = "host", .codegen = {.max_workers = 1}, .lower.host_wave_size = 32};
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
    cr_assert_eq(kiln_engine_create(&options, &engine, &error), KILN_OK, "%s", error.text);
    graph_sketch_accept(&read, product, NULL);
}

static void tear_down(void)
{
    json_graph_fini(&read);
    kiln_engine_unref(engine);
}

TestSuite(knobs_run, .init = set_up, .fini = tear_down, .timeout = 300);

/* Executes a plan on memory of its own and compares the outputs with the interpreter. */
static void run(const struct kiln_plan *plan)
{
    struct kiln_random_graph_options fill;
    struct kiln_buffer_binding bindings[MAX_BINDINGS];
    struct checked_elements elements;
    uint32_t count = 0;
    kiln_random_graph_options_init(&fill);
    void **memory = make_tensor_memory(&read.graph, 1, &fill, POISON);
    void *workspace = malloc(kiln_plan_workspace_bytes(plan) + 1);
    cr_assert(memory != NULL && workspace != NULL);
    for (uint32_t i = 0; i < read.graph.tensor_count; i++) {
        if (memory[i] != NULL)
            bindings[count++] = (struct kiln_buffer_binding){.uid = read.graph.tensors[i].uid,
                                                             .pointer = memory[i]};
    }
    cr_assert_eq(kiln_plan_execute(plan, NULL, workspace, bindings, count, &read.error), KILN_OK,
                 "%s", read.error.text);
    cr_expect_eq(check_outputs(&read.graph, memory, POISON, &read.arena, &elements, &read.error),
                 KILN_OK, "%s", read.error.text);
    free(workspace);
    free_tensor_memory(&read.graph, memory);
}

static struct kiln_plan *make_plan(enum kiln_knob knob, int64_t value)
{
    struct kiln_plan_knobs knobs;
    struct kiln_plan *plan = NULL;
    kiln_plan_knobs_init(&knobs);
    knobs.values[knob] = value;
    cr_assert_eq(kiln_plan_create_with_knobs(engine, read.bytes.data, read.bytes.size, &knobs,
                                             &plan, &read.error),
                 KILN_OK, "knob %d, value %lld: %s", (int)knob, (long long)value, read.error.text);
    return plan;
}

Test(knobs_run, every_value_computes_the_same)
{
    static const struct {
        enum kiln_knob knob;
        int64_t value;
    } cases[] = {{KILN_KNOB_TILE_SIZE, 32}, {KILN_KNOB_TILE_SIZE, 64}, {KILN_KNOB_SPLIT_K, 1},
                 {KILN_KNOB_SPLIT_K, 3},    {KILN_KNOB_STAGES, 1},     {KILN_KNOB_STAGES, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kiln_plan *plan = make_plan(cases[i].knob, cases[i].value);
        run(plan);
        cr_expect_eq(kiln_plan_workspace_bytes(plan) != 0,
                     cases[i].knob == KILN_KNOB_SPLIT_K && cases[i].value == 3);
        kiln_plan_unref(plan);
    }
}

Test(knobs_run, programs_are_not_shared)
{
    struct kiln_plan *plain = make_plan(KILN_KNOB_SPLIT_K, 0);
    struct kiln_plan *tiled = make_plan(KILN_KNOB_TILE_SIZE, 64);
    struct kiln_plan *again = make_plan(KILN_KNOB_TILE_SIZE, 64);
    cr_expect_eq(kiln_plan_origin(plain), KILN_ORIGIN_COMPILED);
    cr_expect_eq(kiln_plan_origin(tiled), KILN_ORIGIN_COMPILED);
    cr_expect_eq(kiln_plan_origin(again), KILN_ORIGIN_MEMORY);
    kiln_plan_unref(plain);
    kiln_plan_unref(tiled);
    kiln_plan_unref(again);
}

/* The plan fails with a sentence; the graph without the knob is still taken. */
Test(knobs_run, a_value_without_a_schedule_fails_alone)
{
    struct kiln_plan_knobs knobs;
    struct kiln_plan *plan = NULL;
    kiln_plan_knobs_init(&knobs);
    knobs.values[KILN_KNOB_STAGES] = 3;
    enum kiln_status status = kiln_plan_create_with_knobs(engine, read.bytes.data, read.bytes.size,
                                                          &knobs, &plan, &read.error);
    cr_expect_eq(status, KILN_BAD_ARGUMENT, "%s", kiln_status_name(status));
    cr_expect_not_null(strstr(read.error.text, "no such schedule"), "%s", read.error.text);
    cr_expect_null(plan);
    kiln_error_init(&read.error);
    cr_expect_eq(kiln_engine_check(engine, read.bytes.data, read.bytes.size, &read.error), KILN_OK,
                 "%s", read.error.text);
}
