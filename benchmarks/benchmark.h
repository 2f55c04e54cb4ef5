/*
 * Benchmarks: each group measures a few figures in a process of its own and reports rows; main
 * prints one table.
 *
 * Nothing here asserts on time: a row shows the median, the spread and the budget that the project
 * gave itself.
 */
#ifndef KILN_BENCHMARKS_BENCHMARK_H
#define KILN_BENCHMARKS_BENCHMARK_H

#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

#include <stdint.h>

enum { KILN_ROW_TEXT_BYTES = 96, KILN_ROW_NOTE_BYTES = 512 };

/* One line of the table, plain data: it travels through a pipe. */
struct kiln_row {
    char name[KILN_ROW_TEXT_BYTES];
    char budget[KILN_ROW_TEXT_BYTES]; /* what the project wants, in words; "" for comparison rows */
    char note[KILN_ROW_NOTE_BYTES];   /* instead of figures, when samples is 0 */
    uint64_t samples;
    double median_ns;
    double low_ns;  /* 10th percentile */
    double high_ns; /* 90th percentile */
    double p99_ns;
};

/* Where a group puts its rows. */
struct kiln_report {
    int pipe;
    uint32_t divider; /* fewer samples: 1 normally, 10 with --quick */
};

struct kiln_benchmark_group {
    const char *name;
    void (*run)(struct kiln_report *report);
};

/* Groups, one per file. */
void kiln_benchmark_compile(struct kiln_report *report);
void kiln_benchmark_cache(struct kiln_report *report);
void kiln_benchmark_plugin(struct kiln_report *report);
void kiln_benchmark_execute(struct kiln_report *report);
void kiln_benchmark_load(struct kiln_report *report);
void kiln_benchmark_precompile(struct kiln_report *report);
void kiln_benchmark_warm(struct kiln_report *report);

/* Names of rows that main compares. */
#define KILN_ROW_COMPILE_WORKER "compile %s: warm worker"
#define KILN_ROW_COMPILE_HIPRTC "compile %s: hipRTC, same source"
#define KILN_ROW_PRECOMPILE     "precompile 24 graphs for gfx90a, workers: %u"
#define KILN_ROW_COLD           "100 plans on %s, empty cache"
#define KILN_ROW_WARM           "100 plans on %s, all on disk"
#define KILN_ROW_EXECUTE        "ExecuteOpGraph, launch is a no-op"
#define KILN_ROW_LAUNCH         "the no-op launch alone"
#define KILN_ROW_DECLARED       "ExecuteOpGraph, 10 tensors"
#define KILN_ROW_OVERRIDES      "ExecuteOpGraphWithOverrides, 10 tensors"

/* Graphs whose one kernel the compile group measures. */
struct kiln_compile_graph {
    const char *name;
    const char *path;   /* from the project's top folder */
    const char *budget; /* how much faster than hipRTC the project wants to be */
};
extern const struct kiln_compile_graph kiln_compile_graphs[];
extern const unsigned kiln_compile_graph_count;

/* Devices of the warm group. */
extern const char *const kiln_benchmark_devices[];
extern const unsigned kiln_benchmark_device_count;

/* Nanoseconds of the monotonic clock. */
uint64_t kiln_clock_ns(void);

/* A path for mkstemp and mkdtemp in the directory for temporary files. */
enum { KILN_TEMPORARY_BYTES = 1024 };
void kiln_temporary_template(char ret_path[KILN_TEMPORARY_BYTES]);

/* Reports a row from `count` samples in nanoseconds; sorts them in place. */
void kiln_report_samples(struct kiln_report *report, const char *name, const char *budget,
                         double *samples_ns, uint64_t count);
/* Reports a row of words. */
void kiln_report_note(struct kiln_report *report, const char *name, const char *budget,
                      const char *format, ...) KILN_PRINTF(4, 5);

/* Memory for that many samples, divided as the report says, at least 5; never NULL (ends the
 * process). */
double *kiln_samples_new(const struct kiln_report *report, uint64_t wanted, uint64_t *ret_count);

/* Reads a JSON graph of the project, a path from its top folder, into FlatBuffer bytes. Buffer is
 * initialised here. */
enum kiln_status kiln_benchmark_graph(const char *path, struct kiln_buffer *ret_bytes,
                                      struct kiln_error *error) KILN_NODISCARD;

#endif
