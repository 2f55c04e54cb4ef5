/*
 * Results as if graphs of the suite had been measured: their bytes, kernels and operations are
 * real, times follow from the bytes and a rate.
 */
#ifndef KILN_TESTS_CLI_BENCH_FAKE_RESULTS_H
#define KILN_TESTS_CLI_BENCH_FAKE_RESULTS_H

#include "cli/bench/bench_result.h"

/* Appends the case with this name, "softmax_fp16", of so many elements, planned for gfx942; fini
 * the results with kiln_bench_results_fini. Fused kernels move their bytes at `share` of the copy's
 * rate. */
void fake_results_append(struct kiln_bench_results *results, const char *name, int64_t elements,
                         double share);
/* Appends a result that stands for a graph file. */
struct kiln_bench_result *fake_results_append_named(struct kiln_bench_results *results,
                                                    const char *name);

#endif
