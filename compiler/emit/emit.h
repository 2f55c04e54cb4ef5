/*
 * Emission: a scheduled fusion group becomes the complete source text of one kernel.
 *
 * The text is, in this order: defines, the device header of the target, the math and conversion
 * headers that the group needs, generated types and functions, the template. Generated functions
 * are flat: one statement per operation.
 *
 * Nothing of the graph is in it but what the kernel computes: no name, no number of a tensor, no
 * place of the kernel in its program. Equal kernels of different graphs are the same text.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_H
#define KILN_COMPILER_EMIT_EMIT_H

#include "compiler/emit/source_table.h"
#include "compiler/fuse/partition.h"
#include "compiler/program.h"
#include "compiler/schedule/schedule.h"

/* Everything an emitter needs to know about one kernel. */
struct kiln_emission {
    const struct kiln_ir *ir;
    const struct kiln_graph *graph;
    const struct kiln_fusion_group *group;
    const struct kiln_schedule *schedule;
    const struct kiln_target *target;
    struct kiln_source_table *sources; /* of the program; NULL: each kernel has its own text */
};

/* Fills a kernel; its memory belongs to the arena of the IR. */
enum kiln_status kiln_emit_kernel(const struct kiln_emission *emission,
                                  struct kiln_kernel *ret_kernel,
                                  struct kiln_error *error) KILN_NODISCARD;

#endif
