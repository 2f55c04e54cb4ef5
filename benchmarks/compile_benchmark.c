/*
 * Compile time of one fused kernel: Kiln's worker, and the same source text through
 * hipRTC.
 */
#include "benchmarks/benchmark.h"
#include "benchmarks/hiprtc_library.h"
#include "compiler/codegen/codegen.h"
#include "compiler/graph/graph_reader.h"
#include "compiler/program.h"

#include <stdio.h>
#include <stdlib.h>

const struct kiln_compile_graph kiln_compile_graphs[] = {
    {"residual_add_relu_fp32", "samples/current/residual_add_relu_fp32.json", "at least 6x"},
    {"bias_gelu_fp16", "samples/current/bias_gelu_fp16.json", "at least 6x"},
    {"layernorm_swish_fp16", "benchmarks/graphs/layernorm_swish_fp16.json", "at least 2.5x"},
    {"rmsnorm_residual_relu_fp16", "benchmarks/graphs/rmsnorm_residual_relu_fp16.json",
     "at least 2.5x"},
};
const unsigned kiln_compile_graph_count =
    sizeof(kiln_compile_graphs) / sizeof(kiln_compile_graphs[0]);

static const char target_name[] = "gfx90a";

/* A kernel, its target, and the arena that it lives in. */
struct subject {
    struct kiln_arena arena;
    struct kiln_target target;
    struct kiln_kernel kernel;
};

static enum kiln_status subject_init(struct subject *subject, const char *path,
                                     struct kiln_error *error)
{
    kiln_arena_init(&subject->arena);
    struct kiln_buffer bytes;
    struct kiln_graph graph;
    struct kiln_program program = {0};
    const struct kiln_lower_options options = {0};
    enum kiln_status status = kiln_benchmark_graph(path, &bytes, error);
    if (!status)
        status = kiln_target_parse(target_name, &subject->target, error);
    if (!status)
        status = kiln_graph_read(bytes.data, bytes.size, &subject->arena, &graph, error);
    if (!status)
        status =
            kiln_lower(&graph, &subject->target, &options, &subject->arena, &program, NULL, error);
    if (!status)
        subject->kernel = program.kernels[0];
    kiln_buffer_fini(&bytes);
    return status;
}

/* One way to compile: samples, and what went wrong with it. */
struct contestant {
    char row[KILN_ROW_TEXT_BYTES];
    enum kiln_status status;
    struct kiln_error error;
    double *samples_ns;
};

static void report_contestant(struct kiln_report *report, struct contestant *contestant,
                              uint64_t count)
{
    if (contestant->status)
        kiln_report_note(report, contestant->row, "", "not measured: %s", contestant->error.text);
    else
        kiln_report_samples(report, contestant->row, "", contestant->samples_ns, count);
    free(contestant->samples_ns);
}

static void compile_by_worker(struct contestant *contestant, struct kiln_codegen *codegen,
                              const struct subject *subject, double *ret_ns)
{
    struct kiln_code_object object;
    if (contestant->status)
        return;
    uint64_t start = kiln_clock_ns();
    contestant->status = kiln_codegen_compile(codegen, &subject->target, &subject->kernel, &object,
                                              &contestant->error);
    *ret_ns = (double)(kiln_clock_ns() - start);
    if (!contestant->status)
        kiln_code_object_fini(&object);
}

static void compile_by_hiprtc(struct contestant *contestant, const struct kiln_hiprtc *hiprtc,
                              const struct subject *subject, double *ret_ns)
{
    if (contestant->status)
        return;
    uint64_t start = kiln_clock_ns();
    contestant->status =
        kiln_hiprtc_compile(hiprtc, subject->kernel.source, target_name, &contestant->error);
    *ret_ns = (double)(kiln_clock_ns() - start);
}

/* The two take turns, so that whatever else the machine does slows both. */
static void compare(struct kiln_report *report, const struct kiln_compile_graph *graph,
                    struct kiln_codegen *codegen, const struct kiln_hiprtc *hiprtc,
                    const struct contestant *worker_start, const struct contestant *hiprtc_start)
{
    struct contestant worker = *worker_start;
    struct contestant other = *hiprtc_start;
    snprintf(worker.row, sizeof(worker.row), KILN_ROW_COMPILE_WORKER, graph->name);
    snprintf(other.row, sizeof(other.row), KILN_ROW_COMPILE_HIPRTC, graph->name);
    uint64_t count;
    worker.samples_ns = kiln_samples_new(report, 30, &count);
    other.samples_ns = kiln_samples_new(report, 30, &count);
    struct subject subject;
    struct kiln_error error;
    kiln_error_init(&error);
    if (subject_init(&subject, graph->path, &error)) {
        worker.status = other.status = error.status;
        worker.error = other.error = error;
    }
    double first_ns; /* starts the worker, loads libraries: not counted */
    compile_by_worker(&worker, codegen, &subject, &first_ns);
    compile_by_hiprtc(&other, hiprtc, &subject, &first_ns);
    for (uint64_t i = 0; i < count; i++) {
        compile_by_worker(&worker, codegen, &subject, &worker.samples_ns[i]);
        compile_by_hiprtc(&other, hiprtc, &subject, &other.samples_ns[i]);
    }
    report_contestant(report, &worker, count);
    report_contestant(report, &other, count);
    kiln_arena_fini(&subject.arena);
}

void kiln_benchmark_compile(struct kiln_report *report)
{
    static struct contestant worker;
    static struct contestant other;
    kiln_error_init(&worker.error);
    kiln_error_init(&other.error);
    struct kiln_codegen *codegen = NULL;
    struct kiln_hiprtc hiprtc;
    const struct kiln_codegen_options options = {.worker_path = KILN_BENCHMARK_WORKER,
                                                 .max_workers = 1};
    worker.status = kiln_codegen_create(&options, &codegen, &worker.error);
    other.status = kiln_hiprtc_open(&hiprtc, &other.error);
    for (unsigned i = 0; i < kiln_compile_graph_count; i++)
        compare(report, &kiln_compile_graphs[i], codegen, &hiprtc, &worker, &other);
    kiln_codegen_unref(codegen);
}
