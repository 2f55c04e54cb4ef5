#include "tests/hardware/gpu_lane.h"

#include "compiler/graph/graph_json.h"
#include "tests/runtime/engine/sample_graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Neither a multiple of a vector nor of a wave; sums stay below 2^24, where floats are exact. */
enum { ROWS = 1021, COLUMNS = 67, ELEMENTS = ROWS * COLUMNS, ADDITIONS = 6 };
enum { X_UID = 1, B_UID = 2, OUT_UID = 3, BYTES = ELEMENTS * (int)sizeof(float) };

/* out = x + (sum of x over the rows) */
static const char column_sums_json[] =
    "{\"name\": \"column_sums\", \"compute_data_type\": \"FLOAT\","
    " \"intermediate_data_type\": \"FLOAT\", \"io_data_type\": \"FLOAT\","
    " \"tensors\": ["
    "  {\"uid\": 1, \"name\": \"x\", \"data_type\": \"FLOAT\", \"dims\": [%d, %d], \"strides\": "
    "[%d, 1]},"
    "  {\"uid\": 2, \"name\": \"sum\", \"data_type\": \"FLOAT\", \"dims\": [1, %d], \"strides\": "
    "[%d, 1],"
    "   \"virtual\": true},"
    "  {\"uid\": 3, \"name\": \"y\", \"data_type\": \"FLOAT\", \"dims\": [%d, %d], \"strides\": "
    "[%d, 1]}],"
    " \"nodes\": ["
    "  {\"name\": \"sum\", \"compute_data_type\": \"FLOAT\","
    "   \"attributes_type\": \"ReductionAttributes\","
    "   \"attributes\": {\"mode\": \"ADD\", \"in_tensor_uid\": 1, \"out_tensor_uid\": 2}},"
    "  {\"name\": \"add\", \"compute_data_type\": \"FLOAT\","
    "   \"attributes_type\": \"PointwiseAttributes\","
    "   \"attributes\": {\"operation\": \"ADD\", \"in_0_tensor_uid\": 1, \"in_1_tensor_uid\": 2,"
    "    \"out_0_tensor_uid\": 3}}]}";

void gpu_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("FAILED: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    /* Other threads may still use what atexit would drop. */
    _Exit(1);
}

void gpu_check(const struct gpu_bench *bench, int code, const char *what)
{
    if (code != 0)
        gpu_fail("%s: HIP error %d: %s", what, code, bench->hip.library.hipGetErrorString(code));
}

static void write_graphs(struct gpu_bench *bench)
{
    const struct sample_graph addition = {.era = KILN_WIRE_ERA_CURRENT,
                                          .dtype = KILN_DTYPE_F32,
                                          .elements = ELEMENTS,
                                          .input_count = 2,
                                          .output_uid = OUT_UID};
    sample_graph_write(&addition, &bench->addition);
    char text[sizeof(column_sums_json) + 64];
    int length = snprintf(text, sizeof(text), column_sums_json, ROWS, COLUMNS, COLUMNS, COLUMNS,
                          COLUMNS, ROWS, COLUMNS, COLUMNS);
    const enum kiln_wire_era era = KILN_WIRE_ERA_CURRENT;
    enum kiln_wire_era ignored;
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_graph_json_to_bytes(text, (size_t)length, &era, &bench->column_sums, &ignored, &error))
        gpu_fail("%s", error.text);
}

static void print_log(hipdnnSeverity_t severity, const char *line)
{
    (void)severity;
    fprintf(stderr, "%s\n", line);
}

bool gpu_bench_open(struct gpu_bench *bench, const char *plugin_path)
{
    *bench = (struct gpu_bench){0};
    kiln_buffer_init(&bench->addition);
    kiln_buffer_init(&bench->column_sums);
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = hip_runtime_open(&bench->hip, &error);
    if (status == KILN_UNSUPPORTED) {
        printf("skipped: %s\n", error.text);
        return false;
    }
    char text[PLUGIN_HOST_TEXT_BYTES];
    if (status)
        gpu_fail("%s", error.text);
    if (!plugin_host_load(&bench->host, plugin_path, print_log, text))
        gpu_fail("%s", text);
    write_graphs(bench);
    return true;
}

void gpu_bench_close(struct gpu_bench *bench)
{
    kiln_buffer_fini(&bench->addition);
    kiln_buffer_fini(&bench->column_sums);
    plugin_host_unload(&bench->host);
    kiln_gpu_library_close(&bench->hip.library.base);
}

hipdnnEnginePluginHandle_t gpu_handle_make(const struct gpu_bench *bench, void *stream)
{
    hipdnnEnginePluginHandle_t handle = NULL;
    if (bench->host.hipdnnEnginePluginCreate(&handle) ||
        (stream && bench->host.hipdnnEnginePluginSetStream(handle, stream)))
        gpu_fail("making a handle: %s", plugin_host_error(&bench->host));
    return handle;
}

static void prepare(struct plugin_host *host, hipdnnEnginePluginHandle_t handle,
                    const struct kiln_buffer *graph, struct plugin_host_plan *ret_plan)
{
    char text[PLUGIN_HOST_TEXT_BYTES] = "the graph is not applicable";
    if (plugin_host_prepare(host, handle, graph->data, graph->size, ret_plan, text))
        gpu_fail("preparing a graph: %s", text);
}

void gpu_plans_make(const struct gpu_bench *bench, struct kiln_device *device,
                    hipdnnEnginePluginHandle_t handle, struct gpu_plans *ret_plans)
{
    struct plugin_host host = bench->host;
    host.device = device;
    prepare(&host, handle, &bench->addition, &ret_plans->addition);
    prepare(&host, handle, &bench->column_sums, &ret_plans->column_sums);
}

void gpu_plans_drop(const struct gpu_bench *bench, struct kiln_device *device,
                    hipdnnEnginePluginHandle_t handle, struct gpu_plans *plans)
{
    struct plugin_host host = bench->host;
    host.device = device;
    char text[PLUGIN_HOST_TEXT_BYTES];
    if (!plugin_host_release(&host, handle, &plans->addition, text) ||
        !plugin_host_release(&host, handle, &plans->column_sums, text))
        gpu_fail("dropping a plan: %s", text);
}

static void *allocate(struct kiln_device *device, size_t bytes)
{
    struct kiln_error error;
    kiln_error_init(&error);
    void *pointer = NULL;
    if (device->ops->allocate(device, bytes, &pointer, &error))
        gpu_fail("%s", error.text);
    return pointer;
}

static float *allocate_on_host(void)
{
    float *memory = malloc(BYTES);
    if (!memory)
        gpu_fail("no memory");
    return memory;
}

void gpu_lane_open(struct gpu_lane *lane, const struct gpu_bench *bench, struct kiln_device *device,
                   hipdnnEnginePluginHandle_t handle, const struct gpu_plans *plans, void *stream,
                   unsigned seed)
{
    *lane = (struct gpu_lane){
        .bench = bench,
        .device = device,
        .handle = handle,
        .plans = plans,
        .stream = stream,
        .x = allocate(device, BYTES),
        .b = allocate(device, BYTES),
        .steps = {allocate(device, BYTES), allocate(device, BYTES)},
        .result = allocate(device, BYTES),
        .workspaces = {allocate(device, plans->addition.workspace_bytes),
                       allocate(device, plans->column_sums.workspace_bytes)},
        .host_x = allocate_on_host(),
        .host_b = allocate_on_host(),
        .host_result = allocate_on_host(),
    };
    gpu_lane_choose_numbers(lane, seed);
}

void gpu_lane_close(struct gpu_lane *lane)
{
    void *const memory[] = {lane->x,
                            lane->b,
                            lane->steps[0],
                            lane->steps[1],
                            lane->result,
                            lane->workspaces[0],
                            lane->workspaces[1]};
    for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
        lane->device->ops->release(lane->device, memory[i]);
    free(lane->host_x);
    free(lane->host_b);
    free(lane->host_result);
}

void gpu_lane_choose_numbers(struct gpu_lane *lane, unsigned seed)
{
    for (unsigned i = 0; i < ELEMENTS; i++) {
        unsigned bits = (i + seed * 7919u) * 2654435761u;
        lane->host_x[i] = (float)(bits >> 30);
        lane->host_b[i] = (float)(bits >> 29 & 1);
        lane->host_result[i] = -1.0f;
    }
}

static void copy(const struct gpu_lane *lane, void *to, const void *from, int kind)
{
    gpu_check(lane->bench, lane->bench->hip.hipMemcpyAsync(to, from, BYTES, kind, lane->stream),
              "hipMemcpyAsync");
}

void gpu_lane_upload(struct gpu_lane *lane)
{
    copy(lane, lane->x, lane->host_x, KILN_HIP_MEMCPY_TO_DEVICE);
    copy(lane, lane->b, lane->host_b, KILN_HIP_MEMCPY_TO_DEVICE);
    copy(lane, lane->result, lane->host_result, KILN_HIP_MEMCPY_TO_DEVICE);
}

static void execute(const struct gpu_lane *lane, const struct plugin_host_plan *plan,
                    void *workspace, const hipdnnPluginDeviceBuffer_t *buffers, uint32_t count)
{
    struct plugin_host_plan own = *plan;
    own.workspace = own.workspace_bytes ? workspace : NULL;
    char text[PLUGIN_HOST_TEXT_BYTES];
    if (plugin_host_execute(&lane->bench->host, lane->handle, &own, buffers, count, text))
        gpu_fail("executing: %s", text);
}

void gpu_lane_execute(struct gpu_lane *lane)
{
    void *v = lane->x;
    for (int i = 0; i < ADDITIONS; i++) {
        void *next = lane->steps[i % 2];
        const hipdnnPluginDeviceBuffer_t buffers[] = {
            {X_UID, v}, {B_UID, lane->b}, {OUT_UID, next}};
        execute(lane, &lane->plans->addition, lane->workspaces[0], buffers, 3);
        v = next;
    }
    const hipdnnPluginDeviceBuffer_t buffers[] = {{X_UID, v}, {OUT_UID, lane->result}};
    execute(lane, &lane->plans->column_sums, lane->workspaces[1], buffers, 2);
}

void gpu_lane_download(struct gpu_lane *lane)
{
    copy(lane, lane->host_result, lane->result, KILN_HIP_MEMCPY_FROM_DEVICE);
}

void gpu_lane_check(const struct gpu_lane *lane, const char *what)
{
    float sums[COLUMNS] = {0};
    const float additions = ADDITIONS;
    for (int i = 0; i < ELEMENTS; i++)
        sums[i % COLUMNS] += lane->host_x[i] + additions * lane->host_b[i];
    for (int i = 0; i < ELEMENTS; i++) {
        float expected = lane->host_x[i] + additions * lane->host_b[i] + sums[i % COLUMNS];
        if (lane->host_result[i] != expected)
            gpu_fail("%s: element %d is %g instead of %g", what, i, (double)lane->host_result[i],
                     (double)expected);
    }
}
