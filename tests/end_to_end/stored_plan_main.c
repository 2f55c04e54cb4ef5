/*
 * A plan that one process stores and another one restores and executes; stored_plan_test.sh.
 *
 * usage: stored_plan store|restore GRAPH PLAN CACHE
 *
 * Both print the outputs of an execution on the host device as hexadecimal digits.
 */
#include "cli/graph_input.h"
#include "runtime/engine/engine.h"
#include "runtime/support/file.h"
#include "tests/end_to_end/checked_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xa5, SEED = 7, MAX_BINDINGS = 64, MOST_BYTES = 1 << 28 };

static enum kiln_status execute(const struct kiln_plan *plan, const struct kiln_graph *graph,
                                struct kiln_error *error)
{
    struct kiln_random_graph_options fill;
    struct kiln_buffer_binding bindings[MAX_BINDINGS];
    uint32_t count = 0;
    kiln_random_graph_options_init(&fill);
    void **memory = make_tensor_memory(graph, SEED, &fill, POISON);
    void *workspace = malloc(kiln_plan_workspace_bytes(plan) + 1);
    for (uint32_t i = 0; i < graph->tensor_count && count < MAX_BINDINGS; i++)
        if (memory[i])
            bindings[count++] = (struct kiln_buffer_binding){graph->tensors[i].uid, memory[i]};
    enum kiln_status status = kiln_plan_execute(plan, NULL, workspace, bindings, count, error);
    for (uint32_t i = 0; status == KILN_OK && i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->role != KILN_TENSOR_OUTPUT)
            continue;
        const unsigned char *bytes = memory[i];
        for (int64_t k = 0; k < kiln_tensor_footprint_bytes(tensor); k++)
            (void)printf("%02x", bytes[k]);
        (void)printf("\n");
    }
    free(workspace);
    free_tensor_memory(graph, memory);
    return status;
}

static enum kiln_status store(const struct kiln_plan *plan, const char *path,
                              struct kiln_error *error)
{
    struct kiln_buffer bytes;
    kiln_buffer_init(&bytes);
    enum kiln_status status = kiln_plan_store(plan, "", 0, &bytes, error);
    if (status == KILN_OK)
        status = kiln_file_write(path, bytes.data, bytes.size, 0, error);
    kiln_buffer_fini(&bytes);
    return status;
}

static enum kiln_status restore(struct kiln_engine *engine, const char *path,
                                struct kiln_plan **ret_plan, struct kiln_error *error)
{
    struct kiln_buffer bytes;
    kiln_buffer_init(&bytes);
    enum kiln_status status = kiln_file_read(path, MOST_BYTES, &bytes, error);
    if (status == KILN_OK)
        status = kiln_plan_restore(engine, bytes.data, bytes.size, NULL, ret_plan, error);
    kiln_buffer_fini(&bytes);
    return status;
}

static enum kiln_status run(struct kiln_engine *engine, bool is_stored, const char *graph_path,
                            const char *plan_path, struct kiln_error *error)
{
    struct kiln_graph_input input;
    struct kiln_plan *plan = NULL;
    enum kiln_status status = kiln_graph_input_read(graph_path, &input, error);
    if (status == KILN_OK && is_stored)
        status = restore(engine, plan_path, &plan, error);
    else if (status == KILN_OK)
        status = kiln_plan_create(engine, input.bytes.data, input.bytes.size, &plan, error);
    if (status == KILN_OK && !is_stored)
        status = store(plan, plan_path, error);
    if (status == KILN_OK)
        status = execute(plan, &input.graph, error);
    kiln_plan_unref(plan);
    kiln_graph_input_fini(&input);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        (void)fprintf(stderr, "usage: stored_plan store|restore GRAPH PLAN CACHE\n");
        return 2;
    }
    const struct kiln_engine_options options = {
        .device = "host", .cache_directory = argv[4], .is_cache_isolated = true};
    struct kiln_engine *engine = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = kiln_engine_create(&options, &engine, &error);
    if (status == KILN_OK)
        status = run(engine, strcmp(argv[1], "restore") == 0, argv[2], argv[3], &error);
    if (status != KILN_OK)
        (void)fprintf(stderr, "error: %s\n", error.text);
    kiln_engine_unref(engine);
    return status == KILN_OK ? 0 : 1;
}
