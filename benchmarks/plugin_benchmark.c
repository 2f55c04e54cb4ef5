/*
 * What hipDNN waits for: the applicability question, a warm plan, and what executing adds to a
 * launch.
 */
#include "benchmarks/benchmark.h"
#include "benchmarks/plugin_host.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char graph_path[] = "benchmarks/graphs/ten_nodes_fp32.json";
static const char plan_row[] = "CreateExecutionContext, 10 nodes, from memory";

/* A graph of the applicability question. */
struct question {
    const char *path;
    const char *row;
    bool is_declined;
};

static const struct question questions[] = {
    {graph_path, "10 nodes", false},
    {"samples/current/attention_causal_gqa_bf16.json", "attention", false},
    {"samples/current/attention_backward_causal_gqa_bf16.json", "attention backward", false},
    {"benchmarks/graphs/attention_dropout_bf16.json", "attention, declined", true},
};

/* The graph's name among its bytes, which is also the stem of its file's name. */
static char *find_name(const struct kiln_buffer *graph, const char *path)
{
    const char *stem = strrchr(path, '/') + 1;
    return memmem(graph->data, graph->size, stem, strcspn(stem, "."));
}

/* Writes a number over the first letters of a name, so that the plugin has never seen the graph. */
static void renumber(char *name, uint64_t number)
{
    for (int i = 0; i < 8; i++, number >>= 4)
        name[i] = (char)('a' + (number & 15));
}

static enum kiln_status ask(const struct kiln_plugin_host *host, const struct question *question,
                            const struct kiln_buffer *bytes, double *ret_ns,
                            struct kiln_error *error)
{
    const hipdnnPluginConstData_t graph = {bytes->data, bytes->size};
    int64_t id = 0;
    uint32_t engines = 0;
    uint64_t start = kiln_clock_ns();
    hipdnnPluginStatus_t code =
        host->hipdnnEnginePluginGetApplicableEngineIds(host->handle, &graph, &id, 1, &engines);
    *ret_ns = (double)(kiln_clock_ns() - start);
    enum kiln_status status = kiln_plugin_host_check(host, code, "GetApplicableEngineIds", error);
    if (!status && engines != (question->is_declined ? 0 : 1))
        return kiln_error_set(error, KILN_INTERNAL, "the plugin %s the graph",
                              engines ? "takes" : "declines");
    return status;
}

static void measure_question(struct kiln_report *report, const struct kiln_plugin_host *host,
                             const struct question *question, bool is_new)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_buffer bytes;
    enum kiln_status status = kiln_benchmark_graph(question->path, &bytes, &error);
    char *name = status ? NULL : find_name(&bytes, question->path);
    uint64_t count;
    double *samples = kiln_samples_new(report, 20000, &count);
    double ignored;
    for (uint64_t i = 0; i < 100 && !status; i++)
        status = ask(host, question, &bytes, &ignored, &error);
    for (uint64_t i = 0; i < count && !status; i++) {
        if (is_new)
            renumber(name, i);
        status = ask(host, question, &bytes, &samples[i], &error);
    }
    char row[sizeof((struct kiln_row *)0)->name];
    snprintf(row, sizeof row, "GetApplicableEngineIds, %s, %s", question->row,
             is_new ? "new" : "seen before");
    if (status)
        kiln_report_note(report, row, "", "not measured: %s", error.text);
    else
        kiln_report_samples(report, row, is_new ? "below 10 us" : "below 1 us", samples, count);
    free(samples);
    kiln_buffer_fini(&bytes);
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
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        measure_question(report, &host, &questions[i], false);
        measure_question(report, &host, &questions[i], true);
    }
    if (measure_plan(report, &host, &error))
        kiln_report_note(report, plan_row, "", "not measured: %s", error.text);
}

/* Calls per sample: one call is shorter than reading the clock is exact. */
enum { BATCH = 1000 };

/* With overrides each tensor has a smaller shape, which the plan has seen before. */
struct execution {
    const char *row;
    const int64_t *uids;
    uint32_t tensor_count;
    bool has_overrides;
};

enum { MAX_TENSORS = 10 };

static enum kiln_status measure_execution(struct kiln_report *report,
                                          const struct kiln_plugin_host *host,
                                          hipdnnEnginePluginExecutionContext_t context,
                                          void *workspace, const struct execution *execution,
                                          struct kiln_error *error)
{
    /* The launch does nothing, so these are neither read nor written. */
    static _Alignas(256) char memory[256];
    static const int64_t dims[] = {7, 1024}, strides[] = {1024, 1};
    hipdnnPluginDeviceBuffer_t buffers[MAX_TENSORS];
    uint32_t ranks[MAX_TENSORS];
    const int64_t *dims_of[MAX_TENSORS], *strides_of[MAX_TENSORS];
    for (uint32_t i = 0; i < execution->tensor_count; i++) {
        buffers[i] = (hipdnnPluginDeviceBuffer_t){execution->uids[i], memory};
        ranks[i] = 2;
        dims_of[i] = dims;
        strides_of[i] = strides;
    }
    const uint32_t count = execution->tensor_count;
    uint64_t sample_count;
    double *samples = kiln_samples_new(report, 500, &sample_count);
    enum kiln_status status = KILN_OK;
    for (uint64_t i = 0; i < sample_count && !status; i++) {
        hipdnnPluginStatus_t code = HIPDNN_PLUGIN_STATUS_SUCCESS;
        uint64_t start = kiln_clock_ns();
        for (int call = 0; call < BATCH && !code; call++)
            code = execution->has_overrides
                       ? host->hipdnnEnginePluginExecuteOpGraphWithOverrides(
                             host->handle, context, workspace, buffers, count, count,
                             execution->uids, ranks, dims_of, strides_of)
                       : host->hipdnnEnginePluginExecuteOpGraph(host->handle, context, workspace,
                                                                buffers, count);
        samples[i] = (double)(kiln_clock_ns() - start) / (double)BATCH;
        status = kiln_plugin_host_check(host, code, execution->row, error);
    }
    if (!status)
        kiln_report_samples(report, execution->row, "", samples, sample_count);
    free(samples);
    return status;
}

static enum kiln_status measure_executions(struct kiln_report *report, const char *path,
                                           const struct execution *executions, uint32_t count,
                                           struct kiln_error *error)
{
    struct kiln_plugin_host *host = calloc(1, sizeof *host); /* the process keeps it */
    if (!host)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a host");
    hipdnnEnginePluginExecutionContext_t context = NULL;
    size_t workspace_bytes = 0;
    enum kiln_status status = kiln_plugin_host_open(host, path, error);
    if (!status)
        status = create_context(host, &context, error);
    if (!status)
        status =
            kiln_plugin_host_check(host,
                                   host->hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(
                                       host->handle, context, &workspace_bytes),
                                   "GetWorkspaceSizeFromExecutionContext", error);
    void *workspace = NULL;
    if (!status && workspace_bytes)
        workspace = aligned_alloc(256, (workspace_bytes + 255) / 256 * 256);
    for (uint32_t i = 0; i < count && !status; i++)
        status = measure_execution(report, host, context, workspace, &executions[i], error);
    free(workspace);
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
    static const int64_t uids[MAX_TENSORS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    static const int64_t uids_of_ten_nodes[] = {1, 2, 3, 14};
    static const struct execution ten_nodes[] = {{KILN_ROW_EXECUTE, uids_of_ten_nodes, 4, false}};
    static const struct execution ten_tensors[] = {
        {KILN_ROW_DECLARED, uids, MAX_TENSORS, false},
        {KILN_ROW_OVERRIDES, uids, MAX_TENSORS, true},
    };
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = measure_executions(report, graph_path, ten_nodes, 1, &error);
    if (!status)
        status = measure_launch(report, &error);
    if (!status)
        status = measure_executions(report, "benchmarks/graphs/sum_of_nine_fp32.json", ten_tensors,
                                    2, &error);
    if (status)
        kiln_report_note(report, KILN_ROW_EXECUTE, "", "not measured: %s", error.text);
}
