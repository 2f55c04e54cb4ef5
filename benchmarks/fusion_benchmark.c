/*
 * What fusing is worth on the host device: each graph as the fused program and as one kernel per
 * node, and beside them a copy, which is how fast memory can be read and written here. The three
 * take turns.
 */
#include "benchmarks/benchmark.h"
#include "benchmarks/fusion_graphs.h"
#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"
#include "compiler/kernel_plan.h"
#include "runtime/engine/engine.h"

#include <stdlib.h>
#include <string.h>

enum { FUSION_SAMPLES = 15 };

/* A graph compiled one way. */
struct contestant {
    struct kiln_plan *plan;
    uint64_t bytes_moved; /* by its kernels, as their schedules count */
    double *samples_ns;
};

/* A graph, memory for its tensors, and the ways to compute it. */
struct subject {
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_buffer bytes;
    struct kiln_buffer_binding *buffers;
    uint32_t buffer_count;
    void *workspace;
    struct contestant fused;
    struct contestant unfused;
};

/* Engines that differ in their options. */
struct engines {
    struct kiln_engine *fused;
    struct kiln_engine *unfused;
};

static const struct kiln_lower_options fused_options = {.no_fusion = false};
static const struct kiln_lower_options unfused_options = {.no_fusion = true};

static enum kiln_status make_engine(const struct kiln_lower_options *lower,
                                    struct kiln_engine **ret_engine, struct kiln_error *error)
{
    const struct kiln_engine_options options = {
        .device = "host", .codegen = {.worker_path = KILN_BENCHMARK_WORKER}, .lower = *lower};
    return kiln_engine_create(&options, ret_engine, error);
}

static enum kiln_status allocate_buffers(struct subject *subject, struct kiln_error *error)
{
    const struct kiln_graph *graph = &subject->graph;
    subject->buffers = calloc(graph->tensor_count, sizeof(*subject->buffers));
    if (!subject->buffers)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for the list of buffers");
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->role != KILN_TENSOR_INPUT && tensor->role != KILN_TENSOR_OUTPUT)
            continue;
        size_t bytes = (size_t)kiln_tensor_footprint_bytes(tensor);
        struct kiln_buffer_binding *buffer = &subject->buffers[subject->buffer_count++];
        buffer->uid = tensor->uid;
        buffer->pointer = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        if (!buffer->pointer)
            return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a tensor of %zu bytes",
                                  bytes);
        if (tensor->role == KILN_TENSOR_INPUT)
            kiln_fusion_graph_fill(tensor, buffer->pointer);
        else
            memset(buffer->pointer, 0, bytes);
    }
    return KILN_OK;
}

static enum kiln_status make_contestant(struct subject *subject, struct kiln_engine *engine,
                                        const struct kiln_lower_options *options,
                                        struct contestant *contestant, struct kiln_error *error)
{
    struct kiln_program program = {0};
    const struct kiln_device *device;
    enum kiln_status status = kiln_plan_create(engine, subject->bytes.data, subject->bytes.size,
                                               &contestant->plan, error);
    if (status)
        return status;
    device = kiln_plan_device(contestant->plan);
    status = kiln_lower(&subject->graph, &device->target, options, &subject->arena, &program, NULL,
                        error);
    for (uint32_t i = 0; !status && i < program.kernel_count; i++)
        contestant->bytes_moved += program.kernels[i].bytes_moved;
    return status;
}

static enum kiln_status allocate_workspace(struct subject *subject, struct kiln_error *error)
{
    uint64_t fused = kiln_plan_workspace_bytes(subject->fused.plan);
    uint64_t unfused = kiln_plan_workspace_bytes(subject->unfused.plan);
    size_t bytes = (size_t)(fused > unfused ? fused : unfused) + 1;
    subject->workspace = malloc(bytes);
    if (!subject->workspace)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a workspace of %zu bytes",
                              bytes);
    return KILN_OK;
}

static enum kiln_status subject_init(struct subject *subject, const struct kiln_fusion_graph *which,
                                     const struct engines *engines, int64_t tensor_bytes,
                                     struct kiln_error *error)
{
    *subject = (struct subject){.workspace = NULL};
    kiln_arena_init(&subject->arena);
    kiln_buffer_init(&subject->bytes);
    struct kiln_graph graph;
    enum kiln_status status =
        kiln_fusion_graph_make(which, tensor_bytes, &subject->arena, &graph, error);
    if (!status)
        status = kiln_graph_write(&graph, KILN_WIRE_ERA_CURRENT, &subject->bytes, error);
    if (!status)
        status = kiln_graph_read(subject->bytes.data, subject->bytes.size, &subject->arena,
                                 &subject->graph, error);
    if (!status)
        status = allocate_buffers(subject, error);
    if (!status)
        status = make_contestant(subject, engines->fused, &fused_options, &subject->fused, error);
    if (!status)
        status =
            make_contestant(subject, engines->unfused, &unfused_options, &subject->unfused, error);
    return status ? status : allocate_workspace(subject, error);
}

static void subject_fini(struct subject *subject)
{
    for (uint32_t i = 0; i < subject->buffer_count; i++)
        free(subject->buffers[i].pointer);
    free(subject->buffers);
    free(subject->workspace);
    free(subject->fused.samples_ns);
    free(subject->unfused.samples_ns);
    kiln_plan_unref(subject->fused.plan);
    kiln_plan_unref(subject->unfused.plan);
    kiln_buffer_fini(&subject->bytes);
    kiln_arena_fini(&subject->arena);
}

static enum kiln_status execute(const struct subject *subject, const struct contestant *contestant,
                                double *ret_ns, struct kiln_error *error)
{
    uint64_t start = kiln_clock_ns();
    enum kiln_status status = kiln_plan_execute(contestant->plan, NULL, subject->workspace,
                                                subject->buffers, subject->buffer_count, error);
    *ret_ns = (double)(kiln_clock_ns() - start);
    return status;
}

/* Fused, unfused and the copy in turns, so that whatever else the machine does slows all. The first
 * round touches the memory and does not count. */
static enum kiln_status measure(struct subject *subject, struct subject *copy, uint64_t count,
                                struct kiln_error *error)
{
    double first_ns;
    enum kiln_status status = execute(subject, &subject->fused, &first_ns, error);
    if (!status)
        status = execute(subject, &subject->unfused, &first_ns, error);
    if (!status)
        status = execute(copy, &copy->fused, &first_ns, error);
    for (uint64_t i = 0; i < count && !status; i++) {
        status = execute(subject, &subject->fused, &subject->fused.samples_ns[i], error);
        if (!status)
            status = execute(subject, &subject->unfused, &subject->unfused.samples_ns[i], error);
        if (!status)
            status = execute(copy, &copy->fused, &copy->fused.samples_ns[i], error);
    }
    return status;
}

static void report_header(struct kiln_report *report)
{
    kiln_report_note(report, "", "", "%7s | %17s %7s | %7s %7s | %8s %8s %7s | %5s %7s", "kernels",
                     "fused MB / fewest", "unfused", "ms fused", "unfused", "speed-up", "promised",
                     "reached", "GB/s", "of copy");
}

static void report_result(struct kiln_report *report, const char *name,
                          const struct subject *subject, const struct subject *copy, uint64_t count)
{
    const struct contestant *fused = &subject->fused, *unfused = &subject->unfused;
    double fused_ns = kiln_median(fused->samples_ns, count);
    double unfused_ns = kiln_median(unfused->samples_ns, count);
    double copy_ns = kiln_median(copy->fused.samples_ns, count);
    double speed_up = unfused_ns / fused_ns;
    double promised = (double)unfused->bytes_moved / (double)fused->bytes_moved;
    double rate = (double)fused->bytes_moved / fused_ns;
    double copy_rate = (double)copy->fused.bytes_moved / copy_ns;
    kiln_report_note(report, name, "",
                     "%3u /%2u | %8.0f /%7.0f %7.0f | %7.1f %7.1f | %7.2fx %7.2fx %6.0f%% | %5.1f "
                     "%6.0f%%",
                     kiln_plan_kernel_count(fused->plan), kiln_plan_kernel_count(unfused->plan),
                     (double)fused->bytes_moved / 1e6,
                     (double)kiln_graph_fewest_bytes(&subject->graph) / 1e6,
                     (double)unfused->bytes_moved / 1e6, fused_ns / 1e6, unfused_ns / 1e6, speed_up,
                     promised, 100 * speed_up / promised, rate, 100 * rate / copy_rate);
}

static void measure_graph(struct kiln_report *report, const struct kiln_fusion_graph *graph,
                          const struct engines *engines, struct subject *copy)
{
    struct subject subject;
    struct kiln_error error;
    kiln_error_init(&error);
    uint64_t count = 0;
    enum kiln_status status = subject_init(&subject, graph, engines, report->tensor_bytes, &error);
    subject.fused.samples_ns = kiln_samples_new(report, FUSION_SAMPLES, &count);
    subject.unfused.samples_ns = kiln_samples_new(report, FUSION_SAMPLES, &count);
    if (!status)
        status = measure(&subject, copy, count, &error);
    if (status)
        kiln_report_note(report, graph->name, "", "not measured: %s", error.text);
    else
        report_result(report, graph->name, &subject, copy, count);
    subject_fini(&subject);
}

void kiln_benchmark_fusion(struct kiln_report *report)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct engines engines = {NULL, NULL};
    struct subject copy;
    uint64_t count;
    setenv("KILN_CACHE_DIR", "", 1); /* nobody else wants these programs */
    enum kiln_status status = make_engine(&fused_options, &engines.fused, &error);
    if (!status)
        status = make_engine(&unfused_options, &engines.unfused, &error);
    if (!status)
        status = subject_init(&copy, &kiln_copy_graph, &engines, report->tensor_bytes, &error);
    if (status) {
        kiln_report_note(report, "fusion", "", "not measured: %s", error.text);
        return; /* the process ends */
    }
    copy.fused.samples_ns = kiln_samples_new(report, FUSION_SAMPLES, &count);
    report_header(report);
    for (unsigned i = 0; i < kiln_fusion_graph_count; i++)
        measure_graph(report, &kiln_fusion_graphs[i], &engines, &copy);
    double copy_ns = kiln_median(copy.fused.samples_ns, count);
    kiln_report_note(report, "copy, the last rounds", "", "%.1f GB/s, %.0f MB read and written",
                     (double)copy.fused.bytes_moved / copy_ns,
                     (double)copy.fused.bytes_moved / 1e6);
    subject_fini(&copy);
    kiln_engine_unref(engines.fused);
    kiln_engine_unref(engines.unfused);
}
