/*
 * What computing a value again in another kernel costs: arithmetic, and loads of the size of the
 * value. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_RECOMPUTE_H
#define KILN_COMPILER_FUSE_RECOMPUTE_H

#include "compiler/fuse/group_builder.h"

/* Whether a BROADCAST reads its operand from memory because computing that again for every element
 * would cost too much; false for other operations. */
bool kiln_broadcast_reads_memory(struct kiln_group_builder *builder, uint32_t index);

/* How many loads of as many elements as the value has it is computed from. */
uint32_t kiln_full_load_count(struct kiln_group_builder *builder, uint32_t value);

/* Marks those loads, for kiln_reaches_marked_load: whether another value is computed from one of
 * them too. */
void kiln_mark_full_loads(struct kiln_group_builder *builder, uint32_t value);
bool kiln_reaches_marked_load(struct kiln_group_builder *builder, uint32_t value);

#endif
