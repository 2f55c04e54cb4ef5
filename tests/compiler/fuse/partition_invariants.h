/*
 * What holds for every partition, whatever the graph, the target and the options.
 */
#ifndef KILN_TESTS_COMPILER_FUSE_PARTITION_INVARIANTS_H
#define KILN_TESTS_COMPILER_FUSE_PARTITION_INVARIANTS_H

#include "compiler/fuse/partition.h"

/*
 * Fails the running test unless, with the groups run in order: whatever a group loads is an input,
 * or the very value was written there by an earlier group and not overwritten since; every operand
 * that a group computes with is evaluated or loaded in it; every output is written; no group is
 * empty or exceeds KILN_GROUP_MAX_*.
 */
void partition_check(const struct kiln_ir *ir, const struct kiln_graph *graph,
                     const struct kiln_partition *partition, const char *name);

#endif
