/* Tuning on the host device: a choice is kept, found by other processes, part of the key, and
 * dropped with another compiler. No test compares times. */
#include "cache/cache_inventory.h"
#include "compiler/graph/wire_messages.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/plan_knobs.h"
#include "runtime/engine/stale_entry.h"
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/end_to_end/checked_graph.h"
#include "tests/runtime/support/captured_log.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char product[] = "Matmul a=40,1200:HALF b=1200,48:HALF c=40,48:HALF";
static const char addition[] = "Pointwise in_0=8,16 in_1=8,16 out_0=8,16 !operation='ADD'";

static struct json_graph read;

static void set_up(void)
{
    cr_assert_not_null(temporary_directory_make());
    (void)unsetenv("HIPDNN_FORCE_BENCHMARKING");
    graph_sketch_accept(&read, product, NULL);
}

static void tear_down(void)
{
    json_graph_fini(&read);
    temporary_directory_remove();
}

TestSuite(tuning_run, .init = set_up, .fini = tear_down, .timeout = 300);

/* As another process: nothing but the cache is shared. */
static struct kiln_engine *make_engine(void)
{
    const struct kiln_engine_options options = {.device = "host",
                                                .cache_directory = temporary_path("cache"),
                                                .is_cache_isolated = true,
                                                .codegen = {.max_workers = 1},
                                                .lower.shapes = KILN_SHAPES_AUTO};
    struct kiln_engine *engine = NULL;
    cr_assert_eq(kiln_engine_create(&options, &engine, &read.error), KILN_OK, "%s",
                 read.error.text);
    return engine;
}

static struct kiln_plan *make_plan(struct kiln_engine *engine, bool is_benchmarking)
{
    struct kiln_plan_knobs knobs;
    struct kiln_plan *plan = NULL;
    kiln_plan_knobs_init(&knobs);
    knobs.values[KILN_KNOB_BENCHMARKING] = is_benchmarking;
    cr_assert_eq(kiln_plan_create_with_knobs(engine, read.bytes.data, read.bytes.size, &knobs,
                                             &plan, &read.error),
                 KILN_OK, "%s", read.error.text);
    return plan;
}

static struct kiln_tuning_result tune(struct kiln_engine *engine)
{
    struct kiln_tuning_result result = {0};
    cr_assert_eq(kiln_engine_tune(engine, read.bytes.data, read.bytes.size, &result, &read.error),
                 KILN_OK, "%s", read.error.text);
    return result;
}

static enum kiln_status count_stale(void *context, const struct kiln_entry_view *view,
                                    bool *ret_remove, struct kiln_error *error)
{
    const char *reason = NULL;
    enum kiln_status status = kiln_entry_judge_stale(view, &reason, error);
    *(unsigned *)context += reason != NULL;
    *ret_remove = false;
    return status;
}

static void expect_nothing_stale(struct kiln_engine *engine)
{
    struct kiln_cache_store *store = NULL;
    struct kiln_cache_cleared cleared;
    unsigned stale = 0;
    const bool is_dry = true;
    cr_assert_eq(kiln_engine_cache(engine, &store, &read.error), KILN_OK);
    cr_assert_eq(
        kiln_cache_store_remove_if(store, count_stale, &stale, is_dry, &cleared, &read.error),
        KILN_OK);
    cr_expect_eq(stale, 0);
}

static bool is_known(struct kiln_engine *engine)
{
    struct kiln_tuning_result result = {0};
    cr_assert_eq(
        kiln_engine_find_tuned(engine, read.bytes.data, read.bytes.size, &result, &read.error),
        KILN_OK, "%s", read.error.text);
    return result.candidates != 0;
}

/* A script in place of the host's compiler makes it another one. */
static void change_compiler(void)
{
    char path[4096], command[8300];
    (void)snprintf(path, sizeof path, "%s", temporary_path("other-compiler"));
    (void)snprintf(command, sizeof command,
                   "printf '#!/bin/sh\\nexec c++ \"$@\"\\n' > '%s' && chmod +x '%s'", path, path);
    cr_assert_eq(system(command), 0);
    cr_assert_eq(setenv("KILN_HOST_CXX", path, 1), 0);
}

Test(tuning_run, a_choice_is_kept_until_the_compiler_changes)
{
    struct kiln_engine *engine = make_engine();
    cr_expect_not(is_known(engine));
    cr_expect_gt(tune(engine).candidates, 1);
    cr_expect(is_known(engine));
    expect_nothing_stale(engine);
    kiln_plan_unref(make_plan(engine, false));
    kiln_engine_unref(engine);

    engine = make_engine();
    cr_expect(is_known(engine));
    struct kiln_plan *plan = make_plan(engine, false);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_DISK);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);

    change_compiler();
    captured_log_start(KILN_LOG_WARN);
    engine = make_engine();
    cr_expect_not(is_known(engine));
    cr_expect_not_null(strstr(captured_log_last(), "the tuned choice in"), "%s",
                       captured_log_last());
    cr_expect_not_null(strstr(captured_log_last(), "has another compiler"), "%s",
                       captured_log_last());
    kiln_engine_unref(engine);
}

/* Executes a plan and compares the outputs with the interpreter. */
static void run(const struct kiln_plan *plan)
{
    struct kiln_random_graph_options fill;
    struct kiln_buffer_binding bindings[8];
    struct checked_elements elements;
    uint32_t count = 0;
    kiln_random_graph_options_init(&fill);
    void **memory = make_tensor_memory(&read.graph, 1, &fill, 0xa5);
    void *workspace = malloc(kiln_plan_workspace_bytes(plan) + 1);
    cr_assert(memory != NULL && workspace != NULL);
    for (uint32_t i = 0; i < read.graph.tensor_count; i++) {
        if (memory[i] != NULL)
            bindings[count++] = (struct kiln_buffer_binding){.uid = read.graph.tensors[i].uid,
                                                             .pointer = memory[i]};
    }
    cr_assert_eq(kiln_plan_execute(plan, NULL, workspace, bindings, count, &read.error), KILN_OK);
    cr_expect_eq(check_outputs(&read.graph, memory, 0xa5, &read.arena, &elements, &read.error),
                 KILN_OK, "%s", read.error.text);
    free(workspace);
    free_tensor_memory(&read.graph, memory);
}

Test(tuning_run, the_knob_tunes_once_unless_the_environment_forbids_it)
{
    struct kiln_engine *engine = make_engine();
    kiln_plan_unref(make_plan(engine, false));
    cr_expect_not(is_known(engine));
    cr_assert_eq(setenv("HIPDNN_FORCE_BENCHMARKING", "0", 1), 0);
    kiln_plan_unref(make_plan(engine, true));
    cr_expect_not(is_known(engine));
    cr_assert_eq(setenv("HIPDNN_FORCE_BENCHMARKING", "on", 1), 0);
    kiln_plan_unref(make_plan(engine, false));
    cr_expect(is_known(engine));
    cr_assert_eq(unsetenv("HIPDNN_FORCE_BENCHMARKING"), 0);

    struct kiln_codegen_counters before, after;
    kiln_engine_codegen_counters(engine, &before);
    struct kiln_plan *plan = make_plan(engine, true);
    kiln_engine_codegen_counters(engine, &after);
    cr_expect_eq(before.kernels_compiled, after.kernels_compiled);
    run(plan);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(tuning_run, graphs_without_products_have_nothing_to_tune)
{
    json_graph_fini(&read);
    graph_sketch_accept(&read, addition, NULL);
    struct kiln_engine *engine = make_engine();
    cr_expect_eq(tune(engine).candidates, 0);
    kiln_plan_unref(make_plan(engine, true));
    kiln_engine_unref(engine);
}

Test(tuning_run, override_graphs_have_nothing_to_tune)
{
    struct kiln_buffer bytes;
    kiln_buffer_init(&bytes);
    read.graph.takes_overrides = true;
    cr_assert_eq(kiln_graph_write(&read.graph, KILN_WIRE_ERA_CURRENT, &bytes, &read.error),
                 KILN_OK);
    struct kiln_engine *engine = make_engine();
    struct kiln_tuning_result result = {0};
    cr_assert_eq(kiln_engine_tune(engine, bytes.data, bytes.size, &result, &read.error), KILN_OK,
                 "%s", read.error.text);
    cr_expect_eq(result.candidates, 0);
    kiln_engine_unref(engine);
    kiln_buffer_fini(&bytes);
}
