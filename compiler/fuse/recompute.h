/*
 * What computing a value again in another kernel costs. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_RECOMPUTE_H
#define KILN_COMPILER_FUSE_RECOMPUTE_H

#include "compiler/fuse/group_builder.h"

/* True if the operation reads its operand from memory: a VIEW, and a BROADCAST if computing the
 * operand again for every element would cost too much. */
bool kiln_broadcast_reads_memory(struct kiln_group_builder *builder, uint32_t index);

#endif
