/*
 * What hipDNN waits for: the applicability question, a warm plan, and what executing adds to a
 * launch.
 */
#include "benchmarks/benchmark.h"
#include "benchmarks/plugin_host.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char graph_path[] = "benchmarks/graphs/ten_nodes_fp32.json";
static const char applicable_row[] = "GetApplicableEngineIds, 10 nodes";
static const char plan_row[] = "CreateExecutionContext, 10 nodes, from memory";

static enum kiln_status measure_applicable(struct kiln_report *report,
                                           const struct kiln_plugin_host *host,
                                           struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    uint64_t count;
    double *samples = kiln_samples_new(report, 20000, &count);
    for (uint64_t i = 0; i < count && !status; i++) {
        int64_t id = 0;
        uint32_t engines = 0;
        uint64_t start = kiln_clock_ns();
        hipdnnPluginStatus_t code = host->hipdnnEnginePluginGetApplicableEngineIds(
            host->handle, &host->graph, &id, 1, &engines);
        samples[i] = (double)(kiln_clock_ns() - start);
        status = kiln_plugin_host_check(host, code, "GetApplicableEngineIds", error);
        if (!status && engines != 1)
            status = kiln_error_set(error, KILN_INTERNAL, "the plugin declines the graph");
    }
    if (!status)
        kiln_report_samples(report, applicable_row, "below 10 us", samples, count);
    free(samples);
    return status;
}

static enum kiln_status create_context(const struct kiln_plugin_host *host,
                                       hipdnnEnginePluginExecutionContext_t *ret_context,
                                       struct kiln_error *error)
{
    return kiln_plugin_host_check(host,
                                  host->hipdnnEnginePluginCreateExecutionContext(
                                      host->handle, &host->config, &host->graph, ret_context),
                                  "CreateExecutionContext", error);
}

static enum kiln_status measure_plan(struct kiln_report *report,
                                     const struct kiln_plugin_host *host, struct kiln_error *error)
{
    /* Held, so that what the plan shares stays loaded: a warm plugin, as after the first plan. */
    hipdnnEnginePluginExecutionContext_t first = NULL;
    uint64_t start = kiln_clock_ns();
    enum kiln_status status = create_context(host, &first, error);
    double cold_ns = (double)(kiln_clock_ns() - start);
    if (status)
        return status;
    kiln_report_samples(report, "the first one, compiled for the host", "", &cold_ns, 1);
    uint64_t count;
    double *samples = kiln_samples_new(report, 5000, &count);
    for (uint64_t i = 0; i < count && !status; i++) {
        hipdnnEnginePluginExecutionContext_t context = NULL;
        start = kiln_clock_ns();
        status = create_context(host, &context, error);
        samples[i] = (double)(kiln_clock_ns() - start);
        if (!status)
            status = kiln_plugin_host_check(
                host, host->hipdnnEnginePluginDestroyExecutionContext(host->handle, context),
                "DestroyExecutionContext", error);
    }
    if (!status)
        kiln_report_samples(report, plan_row, "below 20 us", samples, count);
    free(samples);
    return status;
}

void kiln_benchmark_plugin(struct kiln_report *report)
{
    setenv("KILN_DEVICE", "host", 1);
    setenv("KILN_CACHE_DIR", "", 1);
    setenv("KILN_COMPILE_WORKER", KILN_BENCHMARK_WORKER, 0);
    static struct kiln_plugin_host host;
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_plugin_host_open(&host, graph_path, &error)) {
        kiln_report_note(report, "plugin", "", "not measured: %s", error.text);
        return;
    }
    if (measure_applicable(report, &host, &error))
        kiln_report_note(report, applicable_row, "", "not measured: %s", error.text);
    if (measure_plan(report, &host, &error))
        kiln_report_note(report, plan_row, "", "not measured: %s", error.text);
}

/* Calls per sample: one call is shorter than reading the clock is exact. */
enum { BATCH = 1000 };

static enum kiln_status measure_execute(struct kiln_report *report,
                                        const struct kiln_plugin_host *host,
                                        struct kiln_error *error)
{
    hipdnnEnginePluginExecutionContext_t context = NULL;
    enum kiln_status status = create_context(host, &context, error);
    if (status)
        return status;
    size_t workspace_bytes = 0;
    status = kiln_plugin_host_check(host,
                                    host->hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(
                                        host->handle, context, &workspace_bytes),
                                    "GetWorkspaceSizeFromExecutionContext", error);
    if (status)
        return status;
    /* Nothing reads or writes these: the launch does nothing. uids of the graph's inputs and its
     * output. */
    static _Alignas(256) char memory[256];
    const hipdnnPluginDeviceBuffer_t buffers[] = {
        {1, memory}, {2, memory}, {3, memory}, {14, memory}};
    void *workspace = workspace_bytes ? memory : NULL;

    uint64_t count;
    double *samples = kiln_samples_new(report, 500, &count);
    for (uint64_t i = 0; i < count && !status; i++) {
        hipdnnPluginStatus_t code = HIPDNN_PLUGIN_STATUS_SUCCESS;
        uint64_t start = kiln_clock_ns();
        for (int call = 0; call < BATCH && !code; call++)
            code = host->hipdnnEnginePluginExecuteOpGraph(host->handle, context, workspace, buffers,
                                                          sizeof(buffers) / sizeof(buffers[0]));
        samples[i] = (double)(kiln_clock_ns() - start) / (double)BATCH;
        status = kiln_plugin_host_check(host, code, "ExecuteOpGraph", error);
    }
    if (!status)
        kiln_report_samples(report, KILN_ROW_EXECUTE, "", samples, count);
    free(samples);
    return status;
}

/* The same number of launches without Kiln. */
static enum kiln_status measure_launch(struct kiln_report *report, struct kiln_error *error)
{
    void *library = dlopen(KILN_BENCHMARK_NULL_HIP, RTLD_NOW | RTLD_LOCAL);
    void *address = library ? dlsym(library, "hipModuleLaunchKernel") : NULL;
    if (!address)
        return kiln_error_set(error, KILN_NOT_FOUND, "the no-op HIP library cannot be loaded");
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    memcpy(&launch, &address, sizeof(address));
    uint64_t count;
    double *samples = kiln_samples_new(report, 500, &count);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t start = kiln_clock_ns();
        for (int call = 0; call < BATCH; call++)
            launch(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
        samples[i] = (double)(kiln_clock_ns() - start) / (double)BATCH;
    }
    kiln_report_samples(report, KILN_ROW_LAUNCH, "", samples, count);
    free(samples);
    return KILN_OK;
}

void kiln_benchmark_execute(struct kiln_report *report)
{
    setenv("KILN_DEVICE", "hip", 1);
    setenv("KILN_HIP_LIBRARY", KILN_BENCHMARK_NULL_HIP, 1);
    setenv("KILN_CACHE_DIR", "", 1);
    setenv("KILN_COMPILE_WORKER", KILN_BENCHMARK_WORKER, 0);
    static struct kiln_plugin_host host;
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = kiln_plugin_host_open(&host, graph_path, &error);
    if (!status)
        status = measure_execute(report, &host, &error);
    if (!status)
        status = measure_launch(report, &error);
    if (status)
        kiln_report_note(report, KILN_ROW_EXECUTE, "", "not measured: %s", error.text);
}
