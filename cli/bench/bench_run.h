/*
 * Measuring one graph: fused, unfused or with sizes as arguments, and a copy of as many bytes, in
 * turns on one device.
 */
#ifndef KILN_CLI_BENCH_BENCH_RUN_H
#define KILN_CLI_BENCH_BENCH_RUN_H

#include "cli/bench/bench_engines.h"
#include "cli/bench/bench_result.h"
#include "cli/graph_input.h"

struct kiln_bench_settings {
    uint32_t samples;     /* per contestant, at least 1 */
    double limit_s;       /* as in kiln_bench_time_runners */
    bool no_unfused;      /* the unfused contestant is left out */
    bool has_both_shapes; /* the argument form is a contestant, and the unfused one is left out */
    struct kiln_lower_options lower;
};

/* Everything that serves all graphs of a run. */
struct kiln_bench_run {
    struct kiln_bench_settings settings;
    struct kiln_device *device; /* borrowed; the one that the engines open too */
    struct kiln_bench_engines engines;
};

/* Opens the engines on the device. The run is initialised in any case: fini it, before the device
 * is closed. */
enum kiln_status kiln_bench_run_init(struct kiln_bench_run *run, struct kiln_device *device,
                                     const struct kiln_bench_settings *settings,
                                     struct kiln_error *error) KILN_NODISCARD;
void kiln_bench_run_fini(struct kiln_bench_run *run);

/* Measures the graph. What was found out before a failure stays in the result, whose name and
 * failure are the caller's to set. */
enum kiln_status kiln_bench_run_graph(struct kiln_bench_run *run,
                                      const struct kiln_graph_input *input,
                                      struct kiln_bench_result *result,
                                      struct kiln_error *error) KILN_NODISCARD;

/* Elements of the largest tensor that lies in memory. */
uint64_t kiln_bench_largest_tensor(const struct kiln_graph *graph);

#endif
