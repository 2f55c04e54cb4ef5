/*
 * Every answer of the ABI that does not need a compiler, above all the unwelcome ones. The plugin
 * is a build of the same sources with the compiler of tests/runtime/engine/fake_pipeline.c inside,
 * on the HIP stand-in.
 */
#include "tests/plugin_api/plugin_host.h"
#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/engine/sample_graph.h"
#include "tests/stand_ins/stand_in.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct stand_in hip;
static struct plugin_host host;
static struct fake_pipeline *pipeline;
static hipdnnEnginePluginHandle_t handle;
static struct kiln_buffer graph_bytes;
static hipdnnPluginConstData_t graph;
static struct plugin_host_config config_bytes;
static hipdnnPluginConstData_t config;
static char text[PLUGIN_HOST_TEXT_BYTES];

static char log_lines[16][512];
static hipdnnSeverity_t log_levels[16];
static int log_count;

static void log_line(hipdnnSeverity_t severity, const char *line)
{
    if (log_count == 16)
        return;
    log_levels[log_count] = severity;
    snprintf(log_lines[log_count++], sizeof(log_lines[0]), "%s", line);
}

static void load(void)
{
    cr_assert(plugin_host_load(&host, KILN_FAKE_PLUGIN, log_line, text), "%s", text);
    pipeline = dlsym(host.library, "fake_pipeline");
    cr_assert_not_null(pipeline);
}

static void set_up(void)
{
    hip = stand_in_open();
    unsetenv("KILN_LOG_LEVEL");
    unsetenv("HIPDNN_LOG_LEVEL");
    unsetenv("KILN_CAPTURE_DIR");
    setenv("KILN_DEVICE", "hip", 1);
    setenv("KILN_CACHE_DIR", "", 1);
    load();
    cr_assert_eq(host.hipdnnEnginePluginCreate(&handle), 0);
    kiln_buffer_init(&graph_bytes);
    sample_graph_write_add(&graph_bytes);
    graph = (hipdnnPluginConstData_t){graph_bytes.data, graph_bytes.size};
    config_bytes = plugin_host_config(host.engine_id);
    config = (hipdnnPluginConstData_t){config_bytes.bytes, sizeof(config_bytes.bytes)};
}

static void tear_down(void)
{
    kiln_buffer_fini(&graph_bytes);
    if (handle)
        cr_expect_eq(host.hipdnnEnginePluginDestroy(handle), 0);
    cr_expect_eq(hip.live_modules(), 0);
    plugin_host_unload(&host);
}

TestSuite(plugin_abi, .init = set_up, .fini = tear_down);

static void expect_status(hipdnnPluginStatus_t status, hipdnnPluginStatus_t expected,
                          const char *sentence)
{
    cr_expect_eq(status, expected, "status %d instead of %d: %s", (int)status, (int)expected,
                 sentence);
    if (expected)
        cr_expect_not_null(strstr(plugin_host_error(&host), sentence), "'%s' lacks '%s'",
                           plugin_host_error(&host), sentence);
}

#define BAD(call, sentence) expect_status(call, HIPDNN_PLUGIN_STATUS_BAD_PARAM, sentence)

static hipdnnEnginePluginExecutionContext_t make_context(void)
{
    hipdnnEnginePluginExecutionContext_t context = NULL;
    hipdnnPluginStatus_t status =
        host.hipdnnEnginePluginCreateExecutionContext(handle, &config, &graph, &context);
    cr_assert_eq(status, 0, "%s", plugin_host_error(&host));
    return context;
}

Test(plugin_abi, identity)
{
    const char *value = NULL;
    cr_expect_eq(host.hipdnnPluginGetName(&value), 0);
    cr_expect_str_eq(value, "kiln");
    cr_expect_eq(host.hipdnnPluginGetVersion(&value), 0);
    cr_expect_str_eq(value, KILN_VERSION);
    cr_expect_eq(host.hipdnnPluginGetApiVersion(&value), 0);
    cr_expect_str_eq(value, "1.4.0");
    cr_expect_eq(host.hipdnnEnginePluginGetEngineName(host.engine_id, &value), 0);
    cr_expect_str_eq(value, "KILN_FUSION_ENGINE");
    BAD(host.hipdnnPluginGetName(NULL), "'name'");
    BAD(host.hipdnnPluginGetVersion(NULL), "'version'");
    BAD(host.hipdnnPluginGetApiVersion(NULL), "'API version'");
    BAD(host.hipdnnPluginGetType(NULL), "'type'");
    BAD(host.hipdnnEnginePluginGetEngineName(host.engine_id, NULL), "'engine_name' is NULL");
    BAD(host.hipdnnEnginePluginGetEngineName(1, NULL), "'engine_name' is NULL");
    value = "untouched";
    cr_expect_eq(host.hipdnnEnginePluginGetEngineName(1, &value),
                 HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE);
    cr_expect_str_eq(value, "untouched");
    host.hipdnnPluginGetLastErrorString(&value);
    cr_expect_str_eq(value, "engine id 1 is not of this plugin");
}

Test(plugin_abi, engine_ids)
{
    uint32_t count = 9;
    int64_t ids[3] = {5, 6, 7};
    cr_expect_eq(host.hipdnnEnginePluginGetAllEngineIds(NULL, 0, &count), 0);
    cr_expect_eq(count, 1);
    cr_expect_eq(host.hipdnnEnginePluginGetAllEngineIds(ids, 0, &count), 0);
    cr_expect_eq(ids[0], 5, "nothing is stored with max 0");
    cr_expect_eq(host.hipdnnEnginePluginGetAllEngineIds(ids, 3, &count), 0);
    cr_expect_eq(count, 1);
    cr_expect_eq(ids[0], host.engine_id);
    cr_expect_eq(ids[1], 6);
    BAD(host.hipdnnEnginePluginGetAllEngineIds(NULL, 1, &count), "'engine_ids' is NULL");
    BAD(host.hipdnnEnginePluginGetAllEngineIds(ids, 1, NULL), "'num_engines' is NULL");
}

Test(plugin_abi, error_text_is_never_null_and_per_thread)
{
    host.hipdnnPluginGetLastErrorString(NULL);
    BAD(host.hipdnnPluginGetName(NULL), "'name'");
    const char *mine = plugin_host_error(&host);
    cr_expect_str_not_empty(mine);
    cr_expect_eq(host.hipdnnPluginGetName(&(const char *){NULL}), 0);
    cr_expect_str_not_empty(mine, "success does not touch it");
}

static void *read_error(void *unused)
{
    (void)unused;
    const char *value = NULL;
    host.hipdnnPluginGetLastErrorString(&value);
    return (void *)(uintptr_t)(value && value[0] == '\0');
}

Test(plugin_abi, error_text_of_another_thread_is_empty)
{
    BAD(host.hipdnnPluginGetName(NULL), "'name'");
    pthread_t thread;
    void *empty = NULL;
    cr_assert_eq(pthread_create(&thread, NULL, read_error, NULL), 0);
    pthread_join(thread, &empty);
    cr_expect_not_null(empty);
}

static void expect_handle_refused(hipdnnEnginePluginHandle_t bad)
{
    hipdnnEnginePluginExecutionContext_t context = make_context();
    hipdnnEnginePluginExecutionContext_t untouched = (void *)&context;
    const char sentence[] = "is not a live one of this plugin";
    uint32_t count = 5;
    int64_t id = 0;
    size_t size = 5;
    hipdnnPluginConstData_t details = {&id, 3};
    BAD(host.hipdnnEnginePluginDestroy(bad), sentence);
    BAD(host.hipdnnEnginePluginSetStream(bad, NULL), sentence);
    BAD(host.hipdnnEnginePluginGetApplicableEngineIds(bad, &graph, &id, 1, &count), sentence);
    cr_expect_eq(count, 0);
    BAD(host.hipdnnEnginePluginGetEngineDetails(bad, host.engine_id, &graph, &details), sentence);
    BAD(host.hipdnnEnginePluginDestroyEngineDetails(bad, &details), sentence);
    BAD(host.hipdnnEnginePluginGetWorkspaceSize(bad, &config, &graph, &size), sentence);
    BAD(host.hipdnnEnginePluginCreateExecutionContext(bad, &config, &graph, &untouched), sentence);
    cr_expect_eq((void *)untouched, (void *)&context);
    BAD(host.hipdnnEnginePluginDestroyExecutionContext(bad, context), sentence);
    BAD(host.hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(bad, context, &size), sentence);
    BAD(host.hipdnnEnginePluginExecuteOpGraph(bad, context, NULL, NULL, 0), sentence);
    cr_expect_eq(size, 5);
    cr_expect_eq(host.hipdnnEnginePluginDestroyExecutionContext(handle, context), 0);
}

Test(plugin_abi, garbage_handles_are_refused_everywhere)
{
    char on_stack[64] = "not a handle at all";
    hipdnnEnginePluginHandle_t destroyed = NULL;
    cr_assert_eq(host.hipdnnEnginePluginCreate(&destroyed), 0);
    cr_assert_eq(host.hipdnnEnginePluginDestroy(destroyed), 0);
    expect_handle_refused(NULL);
    expect_handle_refused((void *)(uintptr_t)1);
    expect_handle_refused((void *)UINTPTR_MAX);
    expect_handle_refused((void *)on_stack);
    expect_handle_refused((void *)((char *)handle + 8));
    expect_handle_refused(destroyed);
    BAD(host.hipdnnEnginePluginCreate(NULL), "'handle' is NULL");
}

Test(plugin_abi, applicability_never_fails_for_what_a_graph_is)
{
    static const char noise[64] = "this is not a FlatBuffer";
    const hipdnnPluginConstData_t odd[] = {
        {NULL, 0},
        {NULL, 100},
        {noise, 0},
        {noise, 1},
        {noise, sizeof(noise)},
        {graph.ptr, 4},
        {graph.ptr, graph.size / 2},
    };
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        uint32_t count = 7;
        int64_t id = 3;
        cr_expect_eq(host.hipdnnEnginePluginGetApplicableEngineIds(handle, &odd[i], &id, 1, &count),
                     0, "%zu: %s", i, plugin_host_error(&host));
        cr_expect_eq(count, 0);
        cr_expect_eq(id, 3);
    }
    uint32_t count = 7;
    int64_t id = 3;
    cr_expect_eq(host.hipdnnEnginePluginGetApplicableEngineIds(handle, &graph, NULL, 0, &count), 0);
    cr_expect_eq(count, 1);
    cr_expect_eq(host.hipdnnEnginePluginGetApplicableEngineIds(handle, &graph, &id, 1, &count), 0);
    cr_expect_eq(id, host.engine_id);
    BAD(host.hipdnnEnginePluginGetApplicableEngineIds(handle, NULL, &id, 1, &count),
        "'op_graph' is NULL");
    cr_expect_eq(count, 0);
    BAD(host.hipdnnEnginePluginGetApplicableEngineIds(handle, &graph, NULL, 1, &count),
        "'engine_ids' is NULL");
    BAD(host.hipdnnEnginePluginGetApplicableEngineIds(handle, &graph, &id, 1, NULL),
        "'num_engines' is NULL");
    cr_expect_eq(atomic_load(&pipeline->lowered), 0, "nothing is lowered, let alone compiled");
}

Test(plugin_abi, a_machine_that_can_run_nothing_declines)
{
    hip.set_device_count(0);
    uint32_t count = 7;
    int64_t id = 3;
    cr_expect_eq(host.hipdnnEnginePluginGetApplicableEngineIds(handle, &graph, &id, 1, &count), 0);
    cr_expect_eq(count, 0);
    hipdnnEnginePluginExecutionContext_t context = NULL;
    expect_status(host.hipdnnEnginePluginCreateExecutionContext(handle, &config, &graph, &context),
                  HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR, "no AMD GPU");
}

Test(plugin_abi, a_machine_without_a_compiler_declines_and_is_not_the_hosts_fault)
{
    pipeline->query_status = KILN_UNSUPPORTED;
    uint32_t count = 7;
    int64_t id = 3;
    cr_expect_eq(host.hipdnnEnginePluginGetApplicableEngineIds(handle, &graph, &id, 1, &count), 0);
    cr_expect_eq(count, 0);
    pipeline->identity = NULL;
    setenv("KILN_DEVICE", "no-such-device", 1);
    hipdnnEnginePluginHandle_t first = handle;
    cr_assert_eq(host.hipdnnEnginePluginDestroy(first), 0);
    cr_assert_eq(host.hipdnnEnginePluginCreate(&handle), 0);
    hipdnnEnginePluginExecutionContext_t context = NULL;
    size_t size = 0;
    expect_status(host.hipdnnEnginePluginCreateExecutionContext(handle, &config, &graph, &context),
                  HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR, "'no-such-device'");
    expect_status(host.hipdnnEnginePluginGetWorkspaceSize(handle, &config, &graph, &size),
                  HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR, "'no-such-device'");
}

Test(plugin_abi, details)
{
    hipdnnPluginConstData_t details = {(void *)(uintptr_t)0x1234, 99};
    cr_assert_eq(host.hipdnnEnginePluginGetEngineDetails(handle, host.engine_id, &graph, &details),
                 0);
    cr_expect_gt(details.size, 23);
    hipdnnPluginConstData_t copy = details;
    cr_expect_eq(host.hipdnnEnginePluginDestroyEngineDetails(handle, &details), 0);
    cr_expect_null(details.ptr);
    cr_expect_eq(details.size, 0);
    BAD(host.hipdnnEnginePluginDestroyEngineDetails(handle, &details), "are not of this plugin");
    BAD(host.hipdnnEnginePluginDestroyEngineDetails(handle, NULL), "'engine_details' is NULL");
    hipdnnPluginConstData_t foreign = {"foreign", 7};
    BAD(host.hipdnnEnginePluginDestroyEngineDetails(handle, &foreign), "are not of this plugin");
    BAD(host.hipdnnEnginePluginGetEngineDetails(handle, 1, &graph, &copy), "engine id 1");
    BAD(host.hipdnnEnginePluginGetEngineDetails(handle, host.engine_id, NULL, &copy),
        "'op_graph' is NULL");
    BAD(host.hipdnnEnginePluginGetEngineDetails(handle, host.engine_id, &graph, NULL),
        "'engine_details' is NULL");
}

static void expect_request_refused(const hipdnnPluginConstData_t *bad_config,
                                   const hipdnnPluginConstData_t *bad_graph, const char *sentence)
{
    size_t size = 5;
    hipdnnEnginePluginExecutionContext_t context = (void *)&size;
    BAD(host.hipdnnEnginePluginGetWorkspaceSize(handle, bad_config, bad_graph, &size), sentence);
    BAD(host.hipdnnEnginePluginCreateExecutionContext(handle, bad_config, bad_graph, &context),
        sentence);
    cr_expect_eq(size, 5);
    cr_expect_eq((void *)context, (void *)&size);
}

Test(plugin_abi, configs_and_missing_bytes)
{
    const hipdnnPluginConstData_t empty = {NULL, 0};
    expect_request_refused(NULL, &graph, "'engine_config' is NULL");
    expect_request_refused(&empty, &graph, "'engine_config' holds no bytes");
    expect_request_refused(&config, NULL, "'op_graph' is NULL");
    expect_request_refused(&config, &empty, "'op_graph' holds no bytes");
    const struct plugin_host_config other = plugin_host_config(1);
    const hipdnnPluginConstData_t foreign = {other.bytes, sizeof(other.bytes)};
    expect_request_refused(&foreign, &graph, "engine id 1 of the config");
    for (size_t size = 1; size < sizeof(config_bytes.bytes); size++) {
        const hipdnnPluginConstData_t cut = {config_bytes.bytes, size};
        expect_request_refused(&cut, &graph, "");
    }
    BAD(host.hipdnnEnginePluginGetWorkspaceSize(handle, &config, &graph, NULL),
        "'workspace_size' is NULL");
    BAD(host.hipdnnEnginePluginCreateExecutionContext(handle, &config, &graph, NULL),
        "'execution_context' is NULL");
}

Test(plugin_abi, declined_graphs_and_failures_have_their_statuses)
{
    size_t size = 5;
    hipdnnEnginePluginExecutionContext_t context = NULL;
    const hipdnnPluginConstData_t half = {graph.ptr, graph.size / 2};
    expect_status(host.hipdnnEnginePluginGetWorkspaceSize(handle, &config, &half, &size),
                  HIPDNN_PLUGIN_STATUS_INVALID_VALUE, "");
    expect_status(host.hipdnnEnginePluginCreateExecutionContext(handle, &config, &half, &context),
                  HIPDNN_PLUGIN_STATUS_INVALID_VALUE, "");
    pipeline->failing_kernel = 1;
    expect_status(host.hipdnnEnginePluginCreateExecutionContext(handle, &config, &graph, &context),
                  HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR, "kernel 'kernel_1' does not compile");
    pipeline->failing_kernel = 0;
    hip.fail("hipModuleLoadData", KILN_STAND_IN_OUT_OF_MEMORY, 0);
    expect_status(host.hipdnnEnginePluginCreateExecutionContext(handle, &config, &graph, &context),
                  HIPDNN_PLUGIN_STATUS_ALLOC_FAILED, "out of memory (HIP error 2)");
    cr_expect_null(context);
}

Test(plugin_abi, bad_contexts_are_refused)
{
    hipdnnEnginePluginExecutionContext_t context = make_context();
    const char sentence[] = "is not a live one of this plugin";
    size_t size = 5;
    BAD(host.hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(handle, context, NULL),
        "'workspace_size' is NULL");
    cr_expect_eq(host.hipdnnEnginePluginDestroyExecutionContext(handle, context), 0);
    BAD(host.hipdnnEnginePluginDestroyExecutionContext(handle, context), sentence);
    BAD(host.hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(handle, context, &size),
        sentence);
    BAD(host.hipdnnEnginePluginDestroyExecutionContext(handle, NULL), sentence);
    BAD(host.hipdnnEnginePluginExecuteOpGraph(handle, (void *)&size, NULL, NULL, 0), sentence);
    cr_expect_eq(size, 5);
}

static float memory[3][1000];
static const hipdnnPluginDeviceBuffer_t all_buffers[] = {
    {1, memory[0]}, {2, memory[1]}, {3, memory[2]}};

static hipdnnPluginStatus_t execute(hipdnnEnginePluginHandle_t with,
                                    hipdnnEnginePluginExecutionContext_t context)
{
    return host.hipdnnEnginePluginExecuteOpGraph(with, context, NULL, all_buffers, 3);
}

Test(plugin_abi, serialized_contexts)
{
    hipdnnEnginePluginExecutionContext_t context = make_context();
    hipdnnEnginePluginExecutionContext_t restored = NULL;
    hipdnnPluginConstData_t data = {&data, 7};
    char byte = 0;
    BAD(host.hipdnnEnginePluginSerializeExecutionContext(NULL, context, &data), "is not a live");
    BAD(host.hipdnnEnginePluginSerializeExecutionContext(handle, NULL, &data), "is not a live");
    BAD(host.hipdnnEnginePluginSerializeExecutionContext(handle, context, NULL),
        "'serialized_context' is NULL");
    cr_expect_eq(data.size, 7);
    cr_assert_eq(host.hipdnnEnginePluginSerializeExecutionContext(handle, context, &data), 0, "%s",
                 plugin_host_error(&host));
    BAD(host.hipdnnEnginePluginCreateExecutionContextFromSerialized(NULL, &data, &restored),
        "is not a live");
    BAD(host.hipdnnEnginePluginCreateExecutionContextFromSerialized(handle, NULL, &restored),
        "'serialized_context' is NULL");
    BAD(host.hipdnnEnginePluginCreateExecutionContextFromSerialized(handle, &data, NULL),
        "'execution_context' is NULL");
    hipdnnPluginConstData_t part = {data.ptr, 0};
    BAD(host.hipdnnEnginePluginCreateExecutionContextFromSerialized(handle, &part, &restored),
        "'serialized_context' holds no bytes");
    part.size = 1;
    BAD(host.hipdnnEnginePluginCreateExecutionContextFromSerialized(handle, &part, &restored),
        "the 1 bytes are not a plan of Kiln");
    part.size = data.size - 1;
    BAD(host.hipdnnEnginePluginCreateExecutionContextFromSerialized(handle, &part, &restored),
        "bytes, and");
    cr_expect_null(restored);
    cr_assert_eq(
        host.hipdnnEnginePluginCreateExecutionContextFromSerialized(handle, &data, &restored), 0,
        "%s", plugin_host_error(&host));
    cr_expect_eq(host.hipdnnEnginePluginDestroyExecutionContext(handle, context), 0);
    cr_expect_eq(execute(handle, restored), 0, "%s", plugin_host_error(&host));
    cr_expect_eq(host.hipdnnEnginePluginDestroyExecutionContext(handle, restored), 0);
    BAD(host.hipdnnEnginePluginDestroySerializedExecutionContext(NULL, &data), "is not a live");
    BAD(host.hipdnnEnginePluginDestroySerializedExecutionContext(handle, NULL),
        "'serialized_context' is NULL");
    hipdnnPluginConstData_t other = {&byte, 1};
    BAD(host.hipdnnEnginePluginDestroySerializedExecutionContext(handle, &other),
        "is not of this plugin");
    cr_expect_eq(host.hipdnnEnginePluginDestroySerializedExecutionContext(handle, &data), 0);
    cr_expect_null(data.ptr);
    cr_expect_eq(data.size, 0);
    BAD(host.hipdnnEnginePluginDestroySerializedExecutionContext(handle, &data),
        "is not of this plugin");
}

static hipdnnPluginStatus_t execute_shape(hipdnnEnginePluginHandle_t with,
                                          hipdnnEnginePluginExecutionContext_t context,
                                          uint32_t count, const int64_t *size)
{
    static const int64_t uid = 1;
    static const int64_t stride = 1;
    static const uint32_t rank = 1;
    const int64_t *const strides = &stride;
    return host.hipdnnEnginePluginExecuteOpGraphWithOverrides(with, context, NULL, all_buffers, 3,
                                                              count, &uid, &rank, &size, &strides);
}

Test(plugin_abi, override_shapes)
{
    int64_t size = 10;
    hipdnnEnginePluginExecutionContext_t context = make_context();
    BAD(execute_shape(NULL, context, 1, &size), "is not a live one of this plugin");
    BAD(execute_shape(handle, NULL, 1, &size), "is not a live one of this plugin");
    BAD(host.hipdnnEnginePluginExecuteOpGraphWithOverrides(handle, context, NULL, NULL, 1, 0, NULL,
                                                           NULL, NULL, NULL),
        "'device_buffers' is NULL");
    BAD(execute_shape(handle, context, 1, &size),
        "override shapes for a graph that was not built for them");
    cr_expect_eq(execute_shape(handle, context, 0, &size), 0, "%s", plugin_host_error(&host));
    cr_expect_eq(host.hipdnnEnginePluginDestroyExecutionContext(handle, context), 0);
}

Test(plugin_abi, a_context_works_with_every_handle)
{
    int stream = 0;
    hipdnnEnginePluginHandle_t other = NULL;
    cr_assert_eq(host.hipdnnEnginePluginCreate(&other), 0);
    cr_assert_eq(host.hipdnnEnginePluginSetStream(other, &stream), 0);
    hipdnnEnginePluginExecutionContext_t context = make_context();
    hipdnnEnginePluginExecutionContext_t left = make_context();
    cr_expect_eq(execute(handle, context), 0, "%s", plugin_host_error(&host));
    cr_expect_eq(execute(other, context), 0, "%s", plugin_host_error(&host));
    cr_assert_not_null(stand_in_find(&hip, "hipModuleLaunchKernel", 1));
    cr_expect_eq(stand_in_find(&hip, "hipModuleLaunchKernel", 0)->arguments[8], 0);
    cr_expect_eq(stand_in_find(&hip, "hipModuleLaunchKernel", 1)->arguments[8],
                 (uint64_t)(uintptr_t)&stream, "the stream is that of the call's handle");

    /* It outlives the handle that it was made with. */
    cr_expect_eq(host.hipdnnEnginePluginDestroy(handle), 0);
    handle = other;
    size_t size = 5;
    cr_expect_eq(host.hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(other, context, &size),
                 0);
    cr_expect_eq(size, 0);
    cr_expect_eq(execute(other, context), 0, "%s", plugin_host_error(&host));
    cr_expect_eq(host.hipdnnEnginePluginDestroyExecutionContext(other, context), 0);
    cr_expect_eq(hip.live_modules(), 1);
    cr_expect_neq((void *)left, NULL, "goes with the last handle");
}

static size_t stream_questions(void)
{
    size_t count = 0;
    while (stand_in_find(&hip, "hipGetStreamDeviceId", count))
        count++;
    return count;
}

Test(plugin_abi, a_stream_of_another_device_is_refused)
{
    int stream = 0;
    hipdnnEnginePluginExecutionContext_t context = make_context();
    cr_assert_eq(host.hipdnnEnginePluginSetStream(handle, &stream), 0);
    hip.set_stream_device(1);
    for (int i = 0; i < 2; i++)
        BAD(execute(handle, context), "the stream of the handle belongs to device 1, and the "
                                      "execution context was made for device 0");
    cr_expect_null(stand_in_find(&hip, "hipModuleLaunchKernel", 0));

    hip.set_stream_device(0);
    size_t asked = stream_questions();
    for (int i = 0; i < 3; i++)
        cr_expect_eq(execute(handle, context), 0, "%s", plugin_host_error(&host));
    cr_expect_eq(stream_questions(), asked + 1, "asked once per stream");

    /* A default stream is the plan's device's, whatever is current. */
    cr_assert_eq(host.hipdnnEnginePluginSetStream(handle, NULL), 0);
    cr_assert_eq(hip.set_device(1), 0);
    cr_expect_eq(execute(handle, context), 0, "%s", plugin_host_error(&host));
    cr_expect_eq(stream_questions(), asked + 1);
}

Test(plugin_abi, the_last_handle_takes_everything_with_it)
{
    hipdnnEnginePluginHandle_t other = NULL;
    cr_assert_eq(host.hipdnnEnginePluginCreate(&other), 0);
    make_context();
    make_context();
    cr_expect_eq(hip.live_modules(), 1);
    cr_expect_eq(host.hipdnnEnginePluginDestroy(handle), 0);
    handle = NULL;
    cr_expect_eq(hip.live_modules(), 1, "another handle may execute them");
    cr_expect_eq(host.hipdnnEnginePluginDestroy(other), 0);
    cr_expect_eq(hip.live_modules(), 0);
}

Test(plugin_abi, executes_on_the_stream_set_last)
{
    pipeline->workspace_bytes = 100;
    struct plugin_host_plan plan;
    cr_assert_eq(plugin_host_prepare(&host, handle, graph.ptr, graph.size, &plan, text),
                 PLUGIN_HOST_DONE, "%s", text);
    cr_expect_eq(plan.workspace_bytes, 512);
    float a[1000], b[1000], y[1000];
    const hipdnnPluginDeviceBuffer_t buffers[] = {{3, y}, {4, NULL}, {1, a}, {2, b}};
    void *streams[] = {NULL, &a, &b};
    for (size_t i = 0; i < 3; i++) {
        if (i > 0)
            cr_expect_eq(host.hipdnnEnginePluginSetStream(handle, streams[i]), 0);
        cr_assert_eq(plugin_host_execute(&host, handle, &plan, buffers, 4, text), PLUGIN_HOST_DONE,
                     "%s", text);
        const struct kiln_stand_in_call *call = stand_in_find(&hip, "hipModuleLaunchKernel", i);
        cr_expect_eq(call->arguments[8], (uint64_t)(uintptr_t)streams[i]);
        uint64_t words[4];
        memcpy(words, call->kernarg, sizeof(words));
        cr_expect_eq(words[0], (uint64_t)(uintptr_t)a);
        cr_expect_eq(words[1], (uint64_t)(uintptr_t)b);
        cr_expect_eq(words[2], (uint64_t)(uintptr_t)y);
        cr_expect_eq(words[3] % 256, 0);
    }
    BAD(host.hipdnnEnginePluginExecuteOpGraph(handle, plan.context, plan.workspace, buffers, 3),
        "no buffer is given for tensor uid 2");
    BAD(host.hipdnnEnginePluginExecuteOpGraph(handle, plan.context, plan.workspace, NULL, 4),
        "'device_buffers' is NULL");
    BAD(host.hipdnnEnginePluginExecuteOpGraph(handle, plan.context, NULL, buffers, 4),
        "no workspace is given");
    hip.fail("hipModuleLaunchKernel", KILN_STAND_IN_INVALID_VALUE, 0);
    expect_status(
        host.hipdnnEnginePluginExecuteOpGraph(handle, plan.context, plan.workspace, buffers, 4),
        HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR, "invalid argument (HIP error 1)");
    cr_expect(plugin_host_release(&host, handle, &plan, text), "%s", text);
}

/* A graph is told of once, so each time it is another. */
static void make_log_line(void)
{
    static size_t calls;
    log_count = 0;
    uint32_t count = 0;
    const hipdnnPluginConstData_t half = {graph.ptr, graph.size / 2 - 8 * calls++};
    cr_expect_eq(host.hipdnnEnginePluginGetApplicableEngineIds(handle, &half, NULL, 0, &count), 0);
}

Test(plugin_abi, log_lines_look_as_the_host_prints_them)
{
    make_log_line();
    cr_expect_eq(log_count, 0, "off by default");
    cr_expect_eq(host.hipdnnPluginSetLogLevel(HIPDNN_SEV_INFO), 0);
    make_log_line();
    cr_assert_geq(log_count, 1);
    cr_expect_eq(log_levels[0], HIPDNN_SEV_INFO);
    regex_t expected;
    const char pattern[] =
        "^\\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}\\] "
        "\\[tid [0-9]+\\] \\[info\\] \\[kiln\\] graph '.*' [0-9a-f]{32} is declined: .*[^\n]$";
    cr_assert_eq(regcomp(&expected, pattern, REG_EXTENDED | REG_NOSUB), 0);
    cr_expect_eq(regexec(&expected, log_lines[0], 0, NULL, 0), 0, "%s", log_lines[0]);
    regfree(&expected);
    cr_expect_eq(host.hipdnnPluginSetLogLevel(HIPDNN_SEV_WARN), 0);
    make_log_line();
    cr_expect_eq(log_count, 0);
    BAD(host.hipdnnPluginSetLogLevel((hipdnnSeverity_t)5), "log level 5");
    BAD(host.hipdnnPluginSetLogLevel((hipdnnSeverity_t)-1), "log level -1");
    BAD(host.hipdnnPluginSetLoggingCallback(NULL), "'callback' is NULL");
}

Test(plugin_abi, log_level_of_the_environment)
{
    setenv("HIPDNN_LOG_LEVEL", "info", 1);
    cr_expect_eq(host.hipdnnPluginSetLoggingCallback(log_line), 0);
    make_log_line();
    cr_expect_geq(log_count, 1, "hosts of Nov 2025 tell no level");
    cr_expect_eq(host.hipdnnPluginSetLogLevel(HIPDNN_SEV_OFF), 0);
    cr_expect_eq(host.hipdnnPluginSetLoggingCallback(log_line), 0);
    make_log_line();
    cr_expect_eq(log_count, 0, "what the host tells wins over its variable");
    setenv("KILN_LOG_LEVEL", "info", 1);
    cr_expect_eq(host.hipdnnPluginSetLoggingCallback(log_line), 0);
    cr_expect_eq(host.hipdnnPluginSetLogLevel(HIPDNN_SEV_OFF), 0);
    make_log_line();
    cr_expect_geq(log_count, 1, "Kiln's own variable wins over both");
}

Test(plugin_abi, many_handles_are_distinct)
{
    enum { COUNT = 200 };
    static hipdnnEnginePluginHandle_t handles[COUNT];
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(host.hipdnnEnginePluginCreate(&handles[i]), 0);
        for (int j = 0; j < i; j++)
            cr_assert_neq((void *)handles[i], (void *)handles[j]);
    }
    for (int i = 0; i < COUNT; i++)
        cr_expect_eq(host.hipdnnEnginePluginDestroy(handles[i]), 0);
}

Test(plugin_abi, unloads_and_loads_again)
{
    for (int i = 0; i < 3; i++) {
        hipdnnEnginePluginExecutionContext_t context = make_context();
        cr_expect_not_null(context);
        cr_expect_eq(host.hipdnnEnginePluginDestroy(handle), 0);
        plugin_host_unload(&host);
        cr_expect_null(dlopen(KILN_FAKE_PLUGIN, RTLD_NOW | RTLD_NOLOAD), "it is really gone");
        load();
        cr_assert_eq(host.hipdnnEnginePluginCreate(&handle), 0);
    }
}

/* Standard error goes to a file until end_capture, which gives its text. */
static int saved_error;
static FILE *captured;

static void begin_capture(void)
{
    captured = tmpfile();
    cr_assert_not_null(captured);
    fflush(stderr);
    saved_error = dup(STDERR_FILENO);
    cr_assert_geq(dup2(fileno(captured), STDERR_FILENO), 0);
}

static const char *end_capture(void)
{
    static char content[8192];
    fflush(stderr);
    cr_assert_geq(dup2(saved_error, STDERR_FILENO), 0);
    close(saved_error);
    rewind(captured);
    content[fread(content, 1, sizeof(content) - 1, captured)] = '\0';
    fclose(captured);
    return content;
}

/* Loads the plugin again, which reads the levels, and makes a plan. */
static const char *stderr_of_a_plan(void)
{
    cr_assert_eq(host.hipdnnEnginePluginDestroy(handle), 0);
    plugin_host_unload(&host);
    begin_capture();
    load();
    bool is_made = host.hipdnnEnginePluginCreate(&handle) == 0;
    hipdnnEnginePluginExecutionContext_t context = NULL;
    is_made = is_made &&
              host.hipdnnEnginePluginCreateExecutionContext(handle, &config, &graph, &context) == 0;
    const char *content = end_capture();
    cr_assert(is_made, "%s", plugin_host_error(&host));
    return content;
}

Test(plugin_abi, kiln_log_level_shows_lines_that_the_host_drops)
{
    cr_expect_str_eq(stderr_of_a_plan(), "");
    setenv("KILN_LOG_LEVEL", "info", 1);
    const char *lines = stderr_of_a_plan();
    cr_expect_not_null(strstr(lines, "plans run on device 'hip' 0, target '"), "%s", lines);
    cr_expect_not_null(strstr(lines, " has a plan of 1 kernel, made in "), "%s", lines);
    setenv("HIPDNN_LOG_LEVEL", "info", 1);
    cr_expect_str_eq(stderr_of_a_plan(), "", "the host shows them");
}
