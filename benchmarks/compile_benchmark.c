/*
 * Compile time of one fused pointwise kernel: Kiln's worker, and the same source text through
 * hipRTC.
 */
#include "benchmarks/benchmark.h"
#include "benchmarks/hiprtc_library.h"
#include "compiler/codegen/codegen.h"
#include "compiler/graph/graph_reader.h"
#include "compiler/program.h"

#include <stdio.h>
#include <stdlib.h>

const char *const kiln_compile_graphs[] = {"residual_add_relu_fp32", "bias_gelu_fp16"};
const unsigned kiln_compile_graph_count =
    sizeof(kiln_compile_graphs) / sizeof(kiln_compile_graphs[0]);

static const char target_name[] = "gfx90a";

/* A kernel, its target, and the arena that it lives in. */
struct subject {
    struct kiln_arena arena;
    struct kiln_target target;
    struct kiln_kernel kernel;
};

static enum kiln_status subject_init(struct subject *subject, const char *graph_name,
                                     struct kiln_error *error)
{
    kiln_arena_init(&subject->arena);
    char path[KILN_ROW_TEXT_BYTES];
    snprintf(path, sizeof(path), "samples/current/%s.json", graph_name);
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

static enum kiln_status compile_once(struct kiln_codegen *codegen, const struct subject *subject,
                                     double *ret_ns, struct kiln_error *error)
{
    struct kiln_code_object object;
    uint64_t start = kiln_clock_ns();
    enum kiln_status status =
        kiln_codegen_compile(codegen, &subject->target, &subject->kernel, &object, error);
    if (status)
        return status;
    *ret_ns = (double)(kiln_clock_ns() - start);
    kiln_code_object_fini(&object);
    return KILN_OK;
}

static enum kiln_status measure_worker(struct kiln_report *report, const char *graph_name,
                                       const char *row, struct kiln_codegen *codegen,
                                       struct kiln_error *error)
{
    struct subject subject;
    double first_ns = 0;
    uint64_t count;
    double *samples = kiln_samples_new(report, 50, &count);
    enum kiln_status status = subject_init(&subject, graph_name, error);
    /* The first one starts the worker and loads comgr. */
    if (!status)
        status = compile_once(codegen, &subject, &first_ns, error);
    for (uint64_t i = 0; i < count && !status; i++)
        status = compile_once(codegen, &subject, &samples[i], error);
    if (!status)
        kiln_report_samples(report, row, "", samples, count);
    free(samples);
    kiln_arena_fini(&subject.arena);
    return status;
}

void kiln_benchmark_compile_worker(struct kiln_report *report)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_codegen *codegen = NULL;
    const struct kiln_codegen_options options = {.worker_path = KILN_BENCHMARK_WORKER,
                                                 .max_workers = 1};
    enum kiln_status created = kiln_codegen_create(&options, &codegen, &error);
    for (unsigned i = 0; i < kiln_compile_graph_count; i++) {
        char row[KILN_ROW_TEXT_BYTES];
        snprintf(row, sizeof(row), KILN_ROW_COMPILE_WORKER, kiln_compile_graphs[i]);
        if (created || measure_worker(report, kiln_compile_graphs[i], row, codegen, &error))
            kiln_report_note(report, row, "", "not measured: %s", error.text);
    }
    kiln_codegen_unref(codegen);
}

static enum kiln_status measure_hiprtc(struct kiln_report *report, const char *graph_name,
                                       const char *row, const struct kiln_hiprtc *hiprtc,
                                       struct kiln_error *error)
{
    struct subject subject;
    uint64_t count;
    double *samples = kiln_samples_new(report, 20, &count);
    enum kiln_status status = subject_init(&subject, graph_name, error);
    /* As with the worker, the first one is not counted. */
    if (!status)
        status = kiln_hiprtc_compile(hiprtc, subject.kernel.source, target_name, error);
    for (uint64_t i = 0; i < count && !status; i++) {
        uint64_t start = kiln_clock_ns();
        status = kiln_hiprtc_compile(hiprtc, subject.kernel.source, target_name, error);
        samples[i] = (double)(kiln_clock_ns() - start);
    }
    if (!status)
        kiln_report_samples(report, row, "", samples, count);
    free(samples);
    kiln_arena_fini(&subject.arena);
    return status;
}

void kiln_benchmark_compile_hiprtc(struct kiln_report *report)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_hiprtc hiprtc;
    enum kiln_status opened = kiln_hiprtc_open(&hiprtc, &error);
    for (unsigned i = 0; i < kiln_compile_graph_count; i++) {
        char row[KILN_ROW_TEXT_BYTES];
        snprintf(row, sizeof(row), KILN_ROW_COMPILE_HIPRTC, kiln_compile_graphs[i]);
        if (opened || measure_hiprtc(report, kiln_compile_graphs[i], row, &hiprtc, &error))
            kiln_report_note(report, row, "", "not measured: %s", error.text);
    }
}
