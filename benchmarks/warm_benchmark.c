/*
 * The plans of 100 different graphs: in a process that finds an empty cache, and in processes after
 * it that find everything on disk. Each run is a process of its own, which opens the device, makes
 * the plans one after the other and ends. On the host device loading is what it is; the HIP runtime
 * is one whose functions do nothing.
 */
#include "benchmarks/benchmark.h"
#include "benchmarks/graph_set.h"
#include "runtime/engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRAPHS = 100 };

/* What a process reports: plain data, through a pipe. */
struct outcome {
    enum kiln_status status;
    double ns;
    uint64_t compilers; /* workers started and kernels compiled */
    char sentence[256];
};

static enum kiln_status make_plans(const char *device, const char *directory,
                                   const struct kiln_buffer *graphs, struct outcome *outcome,
                                   struct kiln_error *error)
{
    const struct kiln_engine_options options = {.cache_directory = directory,
                                                .device = device,
                                                .codegen = {.worker_path = KILN_BENCHMARK_WORKER}};
    struct kiln_engine *engine = NULL;
    uint64_t start = kiln_clock_ns();
    enum kiln_status status = kiln_engine_create(&options, &engine, error);
    for (unsigned i = 0; i < GRAPHS && !status; i++) {
        struct kiln_plan *plan = NULL;
        status = kiln_plan_create(engine, graphs[i].data, graphs[i].size, &plan, error);
        kiln_plan_unref(plan);
    }
    outcome->ns = (double)(kiln_clock_ns() - start);
    if (!status) {
        struct kiln_codegen_counters counters;
        kiln_engine_codegen_counters(engine, &counters);
        outcome->compilers = counters.workers_started + counters.kernels_compiled;
    }
    kiln_engine_unref(engine);
    return status;
}

/* In a fresh process: this one has never opened a device, a library or a cache. */
static void run(const char *device, const char *directory, const struct kiln_buffer *graphs,
                struct outcome *ret_outcome)
{
    int ends[2];
    *ret_outcome = (struct outcome){.status = KILN_INTERNAL, .sentence = "the process ended early"};
    if (pipe(ends) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        struct outcome outcome = {0};
        struct kiln_error error;
        kiln_error_init(&error);
        outcome.status = make_plans(device, directory, graphs, &outcome, &error);
        (void)snprintf(outcome.sentence, sizeof(outcome.sentence), "%.200s", error.text);
        _exit(write(ends[1], &outcome, sizeof(outcome)) != (ssize_t)sizeof(outcome));
    }
    (void)close(ends[1]);
    struct outcome outcome;
    if (child > 0 && read(ends[0], &outcome, sizeof(outcome)) == (ssize_t)sizeof(outcome))
        *ret_outcome = outcome;
    (void)close(ends[0]);
    if (child > 0)
        (void)waitpid(child, NULL, 0);
}

static void remove_tree(const char *path)
{
    char command[KILN_TEMPORARY_BYTES + 16];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", path);
    if (system(command) != 0)
        fprintf(stderr, "left behind: %s\n", path);
}

static void measure(struct kiln_report *report, const char *device,
                    const struct kiln_buffer *graphs)
{
    char directory[KILN_TEMPORARY_BYTES];
    char row[KILN_ROW_TEXT_BYTES];
    double cold_ns;
    struct outcome outcome;
    uint64_t count;
    double *warm_ns = kiln_samples_new(report, 20, &count);
    kiln_temporary_template(directory);
    (void)snprintf(row, sizeof(row), KILN_ROW_COLD, device);
    if (!mkdtemp(directory)) {
        kiln_report_note(report, row, "", "no temporary directory");
        free(warm_ns);
        return;
    }
    run(device, directory, graphs, &outcome);
    cold_ns = outcome.ns;
    uint64_t compilers = 0;
    for (uint64_t i = 0; i < count && !outcome.status; i++) {
        run(device, directory, graphs, &outcome);
        warm_ns[i] = outcome.ns;
        compilers += outcome.compilers;
    }
    if (outcome.status) {
        kiln_report_note(report, row, "", "not measured: %s", outcome.sentence);
    } else {
        kiln_report_samples(report, row, "", &cold_ns, 1);
        (void)snprintf(row, sizeof(row), KILN_ROW_WARM, device);
        kiln_report_samples(report, row, "", warm_ns, count);
        (void)snprintf(row, sizeof(row), "compilers in the warm runs on %s", device);
        kiln_report_note(report, row, "none", "%llu", (unsigned long long)compilers);
    }
    remove_tree(directory);
    free(warm_ns);
}

void kiln_benchmark_warm(struct kiln_report *report)
{
    static struct kiln_buffer graphs[GRAPHS];
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = KILN_OK;
    for (unsigned i = 0; i < GRAPHS && !status; i++)
        status = kiln_graph_set_at(i, &graphs[i], &error);
    setenv("KILN_HIP_LIBRARY", KILN_BENCHMARK_NULL_HIP, 1);
    setenv("KILN_CACHE_LAYERS", "", 1);
    setenv("KILN_CACHE_REMOTE", "", 1);
    if (status)
        kiln_report_note(report, "warm", "", "not measured: %s", error.text);
    for (unsigned i = 0; i < kiln_benchmark_device_count && !status; i++)
        measure(report, kiln_benchmark_devices[i], graphs);
    for (unsigned i = 0; i < GRAPHS; i++)
        kiln_buffer_fini(&graphs[i]);
}

const char *const kiln_benchmark_devices[] = {"hip", "host"};
const unsigned kiln_benchmark_device_count =
    sizeof(kiln_benchmark_devices) / sizeof(*kiln_benchmark_devices);
