/*
 * What `kiln run` says about a finished run.
 */
#ifndef KILN_CLI_RUN_REPORT_H
#define KILN_CLI_RUN_REPORT_H

#include "cli/kernel_profile.h"
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
    const struct kiln_kernel_profile *profiles; /* one per kernel; NULL without --profile */
};

enum kiln_run_verdict {
    KILN_RUN_GOOD,
    KILN_RUN_WRONG,    /* an element is outside its bound, or a stray byte was written */
    KILN_RUN_UNJUDGED, /* no element is known to be wrong, but some bound is infinite */
};

/* Prints a table, or JSON. */
enum kiln_run_verdict kiln_run_report_print(const struct kiln_run_report *report, bool json);

#endif
