/*
 * The plugin on graphs written as JSON, such as the samples: each goes through a test host with
 * random inputs, and every output element is compared with the interpreter.
 *
 * usage: plugin_graphs_test DEVICE PLUGIN GRAPH.json...
 *
 * It links no compiler and starts none itself, so it also shows that the plugin runs precompiled
 * kernels. Exits with 77, which CTest counts as skipped, when there is no such device.
 */
#include "compiler/graph/graph_json.h"
#include "compiler/graph/graph_reader.h"
#include "runtime/support/file.h"
#include "tests/end_to_end/checked_graph.h"
#include "tests/plugin_api/plugin_host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { POISON = 0xa5, SEED = 20261126, SKIPPED = 77, MAX_GRAPH_BYTES = 1 << 20 };

/* A graph with memory for its tensors, here and on the device; arrays by tensor. */
struct graph_run {
    struct kiln_buffer text;
    struct kiln_buffer bytes;
    struct kiln_arena arena;
    struct kiln_graph graph;
    void **memory;
    void **on_device;
    hipdnnPluginDeviceBuffer_t *buffers;
};

static void run_init(struct graph_run *run)
{
    *run = (struct graph_run){0};
    kiln_buffer_init(&run->text);
    kiln_buffer_init(&run->bytes);
    kiln_arena_init(&run->arena);
}

static void run_fini(struct graph_run *run, struct kiln_device *device)
{
    for (uint32_t i = 0; run->on_device != NULL && i < run->graph.tensor_count; i++)
        device->ops->release(device, run->on_device[i]);
    free(run->on_device);
    free(run->buffers);
    free_tensor_memory(&run->graph, run->memory);
    kiln_arena_fini(&run->arena);
    kiln_buffer_fini(&run->bytes);
    kiln_buffer_fini(&run->text);
}

static enum kiln_status read_graph(struct graph_run *run, const char *path,
                                   struct kiln_error *error)
{
    enum kiln_wire_era era;
    enum kiln_status status = kiln_file_read(path, MAX_GRAPH_BYTES, &run->text, error);
    if (status == KILN_OK)
        status = kiln_graph_json_to_bytes((const char *)run->text.data, run->text.size, NULL,
                                          &run->bytes, &era, error);
    if (status == KILN_OK)
        status = kiln_graph_read(run->bytes.data, run->bytes.size, &run->arena, &run->graph, error);
    return status;
}

/* Device memory with the inputs' content; host scalars stay where they are. */
static enum kiln_status make_memory(struct graph_run *run, struct kiln_device *device,
                                    struct kiln_error *error)
{
    struct kiln_random_graph_options options;
    kiln_random_graph_options_init(&options);
    options.special_values = false;
    uint32_t count = run->graph.tensor_count;
    run->memory = make_tensor_memory(&run->graph, SEED, &options, POISON);
    run->on_device = calloc(count, sizeof *run->on_device);
    run->buffers = calloc(count, sizeof *run->buffers);
    if (run->memory == NULL || run->on_device == NULL || run->buffers == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for the tensors");
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; status == KILN_OK && i < count; i++) {
        const struct kiln_tensor *tensor = &run->graph.tensors[i];
        if (run->memory[i] == NULL || tensor->role == KILN_TENSOR_HOST_SCALAR)
            continue;
        size_t bytes = (size_t)kiln_tensor_footprint_bytes(tensor);
        status = device->ops->allocate(device, bytes, &run->on_device[i], error);
        if (status == KILN_OK)
            status = device->ops->copy_in(device, run->on_device[i], run->memory[i], bytes, error);
    }
    return status;
}

static uint32_t fill_buffers(const struct graph_run *run)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->graph.tensor_count; i++) {
        void *pointer = run->on_device[i] != NULL ? run->on_device[i] : run->memory[i];
        if (pointer != NULL)
            run->buffers[count++] =
                (hipdnnPluginDeviceBuffer_t){run->graph.tensors[i].uid, pointer};
    }
    return count;
}

static enum kiln_status fetch_outputs(const struct graph_run *run, struct kiln_device *device,
                                      struct kiln_error *error)
{
    enum kiln_status status = device->ops->synchronize(device, NULL, error);
    for (uint32_t i = 0; status == KILN_OK && i < run->graph.tensor_count; i++) {
        const struct kiln_tensor *tensor = &run->graph.tensors[i];
        if (tensor->role == KILN_TENSOR_OUTPUT)
            status = device->ops->copy_out(device, run->memory[i], run->on_device[i],
                                           (size_t)kiln_tensor_footprint_bytes(tensor), error);
    }
    return status;
}

static enum kiln_status run_in_plugin(const struct graph_run *run, const struct plugin_host *host,
                                      hipdnnEnginePluginHandle_t handle, struct kiln_error *error)
{
    char text[PLUGIN_HOST_TEXT_BYTES] = "";
    struct plugin_host_plan plan;
    enum plugin_host_outcome outcome =
        plugin_host_prepare(host, handle, run->bytes.data, run->bytes.size, &plan, text);
    if (outcome == PLUGIN_HOST_NOT_APPLICABLE)
        return kiln_error_set(error, KILN_REJECTED, "the plugin declined it");
    if (outcome != PLUGIN_HOST_DONE)
        return kiln_error_set(error, KILN_INTERNAL, "%s", text);
    outcome = plugin_host_execute(host, handle, &plan, run->buffers, fill_buffers(run), text);
    enum kiln_status status = outcome == PLUGIN_HOST_DONE
                                  ? fetch_outputs(run, host->device, error)
                                  : kiln_error_set(error, KILN_INTERNAL, "%s", text);
    if (!plugin_host_release(host, handle, &plan, text) && status == KILN_OK)
        status = kiln_error_set(error, KILN_INTERNAL, "%s", text);
    return status;
}

static bool test_graph(const char *path, const struct plugin_host *host,
                       hipdnnEnginePluginHandle_t handle, uint64_t *checked_elements)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct graph_run run;
    run_init(&run);
    struct checked_elements elements = {0, 0};
    enum kiln_status status = read_graph(&run, path, &error);
    if (status == KILN_OK)
        status = make_memory(&run, host->device, &error);
    if (status == KILN_OK)
        status = run_in_plugin(&run, host, handle, &error);
    if (status == KILN_OK)
        status = check_outputs(&run.graph, run.memory, POISON, &run.arena, &elements, &error);
    if (status != KILN_OK)
        printf("FAILED %s: %s\n", path, error.text);
    *checked_elements += elements.checked;
    run_fini(&run, host->device);
    return status == KILN_OK;
}

static void print_log(hipdnnSeverity_t severity, const char *line)
{
    (void)severity;
    fprintf(stderr, "%s\n", line);
}

static int test_graphs(const struct plugin_host *host, char *const *paths)
{
    hipdnnEnginePluginHandle_t handle = NULL;
    if (host->hipdnnEnginePluginCreate(&handle)) {
        fprintf(stderr, "%s\n", plugin_host_error(host));
        return 1;
    }
    int ran = 0;
    int failed = 0;
    uint64_t elements = 0;
    for (; *paths != NULL; paths++, ran++)
        failed += !test_graph(*paths, host, handle, &elements);
    host->hipdnnEnginePluginDestroy(handle);
    printf("%d graphs through the plugin, %" PRIu64 " elements compared, %d failed\n", ran,
           elements, failed);
    return failed != 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: %s DEVICE PLUGIN GRAPH.json...\n", argv[0]);
        return 2;
    }
    setenv("KILN_DEVICE", argv[1], 1);
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_device *device = NULL;
    enum kiln_status status = kiln_device_open(argv[1], &device, &error);
    if (status != KILN_OK) {
        printf("%s%s\n", status == KILN_UNSUPPORTED ? "skipped: " : "", error.text);
        return status == KILN_UNSUPPORTED ? SKIPPED : 1;
    }
    struct plugin_host host;
    char text[PLUGIN_HOST_TEXT_BYTES];
    int result = 1;
    if (plugin_host_load(&host, argv[2], print_log, text)) {
        host.device = device;
        result = test_graphs(&host, argv + 3);
        plugin_host_unload(&host);
    } else {
        fprintf(stderr, "%s\n", text);
    }
    kiln_device_close(device);
    return result;
}
