#include "tests/end_to_end/checked_sketch.h"

#include "tests/compiler/graph/graph_sketch.h"
#include "tests/end_to_end/checked_graph.h"
#include "tests/runtime/support/test_share.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xa5, MAX_BINDINGS = 32 };

/* Against the oracle. */
static void check(const char *sketch, struct json_graph *read, void **memory)
{
    struct checked_elements elements;
    cr_expect_eq(check_outputs(&read->graph, memory, POISON, &read->arena, &elements, &read->error),
                 KILN_OK, "%s: %s", sketch, read->error.text);
    cr_expect_eq(elements.unchecked, 0, "%s", sketch);
}

void run_checked_sketch(const char *sketch, const struct kiln_lower_options *lower)
{
    run_sketch(sketch, lower, NULL, NULL);
}

void run_prepared_sketch(const char *sketch, const struct kiln_lower_options *lower,
                         void (*prepare)(const struct kiln_graph *graph, void *const *memory))
{
    run_sketch(sketch, lower, prepare, NULL);
}

void run_sketch(const char *sketch, const struct kiln_lower_options *lower,
                void (*prepare)(const struct kiln_graph *graph, void *const *memory),
                void (*expect)(const struct kiln_graph *graph, void *const *memory))
{
    static unsigned long number; /* each test is a process of its own */
    if (!test_share_has(number++))
        return;
    const struct kiln_engine_options options = {
        .device = "host", .codegen = {.max_workers = 1}, .lower = *lower};
    struct kiln_engine *engine = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_engine_create(&options, &engine, &error), KILN_OK, "%s", error.text);
    run_sketch_on(engine, sketch, prepare, expect);
    kiln_engine_unref(engine);
}

void run_sketch_on(struct kiln_engine *engine, const char *sketch,
                   void (*prepare)(const struct kiln_graph *graph, void *const *memory),
                   void (*expect)(const struct kiln_graph *graph, void *const *memory))
{
    struct kiln_random_graph_options fill;
    struct kiln_buffer_binding bindings[MAX_BINDINGS];
    struct kiln_plan *plan = NULL;
    struct json_graph read;
    uint32_t count = 0;
    graph_sketch_accept(&read, sketch, NULL);
    kiln_random_graph_options_init(&fill);
    fill.infinite_factors = false; /* norms of infinities cannot be judged */
    void **memory = make_tensor_memory(&read.graph, 1, &fill, POISON);
    cr_assert_not_null(memory);
    if (prepare != NULL)
        prepare(&read.graph, memory);
    cr_assert_eq(kiln_plan_create(engine, read.bytes.data, read.bytes.size, &plan, &read.error),
                 KILN_OK, "%s: %s", sketch, read.error.text);
    void *workspace = malloc(kiln_plan_workspace_bytes(plan) + 1);
    memset(workspace, POISON, kiln_plan_workspace_bytes(plan) + 1);
    for (uint32_t i = 0; i < read.graph.tensor_count; i++) {
        if (memory[i] != NULL)
            bindings[count++] = (struct kiln_buffer_binding){.uid = read.graph.tensors[i].uid,
                                                             .pointer = memory[i]};
    }
    cr_assert_eq(kiln_plan_execute(plan, NULL, workspace, bindings, count, &read.error), KILN_OK,
                 "%s: %s", sketch, read.error.text);
    if (expect != NULL)
        expect(&read.graph, memory);
    else
        check(sketch, &read, memory);
    free(workspace);
    free_tensor_memory(&read.graph, memory);
    kiln_plan_unref(plan);
    json_graph_fini(&read);
}
