/*
 * Partition: which operations share a kernel, and what lives in memory between kernels.
 *
 * Elementwise operations can be recomputed anywhere, so a group is described by what it stores. Per
 * element of its domain it evaluates everything its stores need, back to loads. A value is cut
 * (written to memory by one group, read by another) only for a stated reason, a row of
 * boundary.def. A cut never changes a result: the value is written in the type of the graph tensor
 * whose content it is (ir.h), or in its register type's own.
 *
 * A core operation belongs to exactly one cluster: core operations that one kernel computes, with
 * the elementwise work before, between and after them (cluster.h). A group evaluates element
 * values, over the group's domain, and row values, which do not vary along the reduced axes. Values
 * of a cluster that other kernels need are cut. The cut is at row values if that moves fewer bytes
 * than element values would.
 *
 * If too little work is independent to fill the target, the elements of each sum are cut into
 * segments. A PARTIAL group accumulates every segment by itself, and stores the accumulators in the
 * workspace. A COMBINE group merges them, and evaluates the work after the sum in the domain of
 * rows. It reads nothing else of the elements. The README of each family in compiler/families says
 * how.
 *
 * Requirements on whoever adds another class of operations with another domain than its operands':
 *   1. such an operation belongs to exactly one group, whose template it decides;
 *   2. its operands' producers may be pulled into the group (prologue), its users' too (epilogue),
 * as long as every value of the group can be evaluated at the template's iteration points;
 *   3. a value needed at other points is cut, with a row of its own in boundary.def.
 */
#ifndef KILN_COMPILER_FUSE_PARTITION_H
#define KILN_COMPILER_FUSE_PARTITION_H

#include "compiler/codegen/target.h"
#include "compiler/fuse/choice.h"
#include "compiler/fuse/fusion_group.h"
#include "compiler/lower_options.h"
#include "runtime/support/error.h"

struct kiln_partition {
    uint32_t group_count;
    struct kiln_fusion_group *groups; /* in an order in which they can run */
    uint64_t workspace_bytes;
    uint32_t choices; /* set of enum kiln_choice that would make another partition */
    /* A sentence that says why the partition is unusable: operations that must share a kernel were
     * too much for one. NULL: it is usable. Static. */
    const char *broken;
    bool is_plain;  /* the steps did not suffice: every node has kernels of its own */
    uint64_t steps; /* work that finding it took, the same on every machine */
};

#define KILN_PARTITION_MAX_STEPS (UINT64_C(1) << 27)

/* Memory belongs to the arena of `ir`. */
enum kiln_status kiln_partition(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                const struct kiln_target *target,
                                const struct kiln_lower_options *options,
                                const struct kiln_partition_strategy *strategy,
                                struct kiln_partition *ret_partition,
                                struct kiln_error *error) KILN_NODISCARD;

/* Sets the segments of a PARTIAL group, and of the COMBINE group that reads what it stores. The
 * workspace has to be placed again then. */
void kiln_partition_set_segments(struct kiln_partition *partition, uint32_t group,
                                 uint32_t segment_count);

/* Places everything in the workspace again, once groups have got other segments. */
enum kiln_status kiln_partition_place(const struct kiln_ir *ir, struct kiln_partition *partition,
                                      struct kiln_error *error) KILN_NODISCARD;

#endif
