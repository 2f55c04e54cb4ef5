/*
 * What a kernel evaluates and loads, from what it has to store. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_CLOSURE_H
#define KILN_COMPILER_FUSE_CLOSURE_H

#include "compiler/fuse/group_builder.h"

/*
 * Finds all values that a kernel storing these items (indices into builder->items) evaluates or
 * loads: ops, op_count, is_load, cost, live and live_registers of the builder. It is the kernel of
 * this cluster, and does its core operations too; KILN_NONE: it does none.
 */
void kiln_group_closure(struct kiln_group_builder *builder, uint32_t cluster, const uint32_t *items,
                        uint32_t item_count);

/* The same without order, cost and registers, which kiln_closure_finish finds. Ends early, false,
 * when there are more than `most` values. */
bool kiln_closure_begin(struct kiln_group_builder *builder, uint32_t cluster, const uint32_t *items,
                        uint32_t item_count, uint32_t most);
void kiln_closure_finish(struct kiln_group_builder *builder);

/* Lets the kernel of a closure that is not finished store an item more; false as
 * kiln_closure_begin. */
bool kiln_closure_add(struct kiln_group_builder *builder, const struct kiln_group_item *item,
                      uint32_t most);

/* True if the last closure evaluates this value. */
bool kiln_group_computes(const struct kiln_group_builder *builder, uint32_t value);

/* True if the last closure reads this value from memory. */
bool kiln_closure_loads(const struct kiln_group_builder *builder, uint32_t value);

/* True if the last closure, finished, is too much for one kernel that stores this many items. */
bool kiln_group_exceeds_limits(const struct kiln_group_builder *builder, uint32_t item_count,
                               enum kiln_boundary *ret_boundary);

#endif
