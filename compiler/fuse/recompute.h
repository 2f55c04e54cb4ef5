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

/*
 * Fills builder->shares_load: which values are computed from one of the loads that `value` is
 * computed from too, of as many elements as it has. One walk over the program, whatever it looks
 * like: asking for each pair of values would take minutes for the largest graphs.
 */
void kiln_find_sharers_of_loads(struct kiln_group_builder *builder, uint32_t value);

/* The same for the loads of the last closure, of as many elements as the domain has. */
void kiln_find_sharers_with_closure(struct kiln_group_builder *builder, uint32_t domain);

#endif
