/*
 * Counts of the questions, declines, plans and kernels of this process, for all engines together.
 * They are counted where KILN_STATS is on or the log takes info, and written to standard error when
 * the process exits.
 */
#ifndef KILN_RUNTIME_ENGINE_ENGINE_STATISTICS_H
#define KILN_RUNTIME_ENGINE_ENGINE_STATISTICS_H

#include "runtime/support/error.h"
#include "runtime/support/hash.h"

#include <stdbool.h>
#include <stdint.h>

/* Where the kernel of a plan came from. */
enum kiln_kernel_source {
    KILN_FROM_MEMORY, /* this process had it */
    KILN_FROM_DIRECTORY,
    KILN_FROM_LAYER,
    KILN_FROM_SHARED_TIER,
    KILN_FROM_COMPILER,
    KILN_KERNEL_SOURCES
};

/* A plan that was made. */
struct kiln_plan_facts {
    struct kiln_hash128 graph;
    uint32_t kernels[KILN_KERNEL_SOURCES];
    uint64_t compile_ns; /* CPU time of the compilers */
    uint64_t plan_ns;    /* wall time of making it */
};

/* For the plugin, before its first question: counting may begin. The library stays loaded once
 * something was counted, so that a host that loads it many times gets one summary. */
void kiln_statistics_start(void);
/* True while something is counted. */
bool kiln_statistics_are_on(void);

void kiln_statistics_count_taken(struct kiln_hash128 graph);
/* True when the process has not declined the graph for this reason before. More graphs than there
 * is room for are counted and not told of. */
bool kiln_statistics_count_decline(struct kiln_hash128 graph, const struct kiln_error *reason);
void kiln_statistics_count_plan(const struct kiln_plan_facts *facts);

#endif
