/*
 * One kernel as emission sees it.
 */
#ifndef KILN_COMPILER_EMIT_EMISSION_H
#define KILN_COMPILER_EMIT_EMISSION_H

#include "compiler/emit/source_table.h"
#include "compiler/schedule/schedule.h"

/* Everything an emitter needs to know about one kernel. */
struct kiln_emission {
    const struct kiln_ir *ir;
    const struct kiln_graph *graph;
    const struct kiln_fusion_group *group;
    const struct kiln_schedule *schedule;
    /* schedule->details, or the part of it that functions of another family emit.
     * kiln_emit_kernel sets it. */
    const void *details;
    const struct kiln_target *target;
    struct kiln_source_table *sources; /* of the program; NULL: each kernel has its own text */
};

#endif
