/*
 * What `kiln run` says about a finished run.
 */
#ifndef KILN_CLI_RUN_REPORT_H
#define KILN_CLI_RUN_REPORT_H

#include "cli/tensor_memory.h"
#include "compiler/reference/reference.h"
#include "runtime/engine/engine.h"

#include <stdbool.h>

struct kiln_run_report {
    const char *path;
    const struct kiln_graph *graph;
    const struct kiln_device *device;
    const struct kiln_tensor_memory *memories;     /* one per tensor, downloaded */
    const struct kiln_reference_tensor *reference; /* one per tensor; NULL without --verify */
    enum kiln_program_origin origin;
    uint32_t kernels;
    uint64_t workspace_bytes;
    uint64_t duration_ns;
    uint64_t seed;
};

/* Prints a table, or JSON; true when nothing is wrong: no element outside its bound, no stray byte.
 */
bool kiln_run_report_print(const struct kiln_run_report *report, bool json);

#endif
