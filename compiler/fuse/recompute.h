/*
 * What computing a value again in another kernel costs. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_RECOMPUTE_H
#define KILN_COMPILER_FUSE_RECOMPUTE_H

#include "compiler/fuse/group_builder.h"

/* Whether a BROADCAST reads its operand from memory because computing that again for every element
 * would cost too much; false for other operations. */
bool kiln_broadcast_reads_memory(struct kiln_group_builder *builder, uint32_t index);

#endif
