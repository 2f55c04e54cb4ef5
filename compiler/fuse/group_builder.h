/*
 * Building fusion groups: from the values that a kernel has to store, what it evaluates and what it reads.
 * Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_GROUP_BUILDER_H
#define KILN_COMPILER_FUSE_GROUP_BUILDER_H

#include "compiler/fuse/partition.h"

/* A value that has to be in memory. */
struct kiln_group_item {
    uint32_t value;
    uint32_t level;
    enum kiln_boundary boundary;
};

/* The state of one partitioning. Arrays have one entry per operation of the IR; memory belongs to its arena. */
struct kiln_group_builder {
    const struct kiln_ir *ir;
    const struct kiln_graph *graph;
    const struct kiln_target *target;
    const struct kiln_lower_options *options;
    struct kiln_arena *arena;
    bool *reads_memory; /* a BROADCAST whose operand is read from memory */
    bool *cut;          /* read from memory by whoever is not its own group */
    uint32_t *level;    /* cuts below the value */
    uint32_t *store_op; /* the first STORE of this value, or KILN_NONE */
    bool *is_load;      /* of the last closure: read from memory there */
    uint32_t *live;     /* of the last kiln_register_pressure */
    uint32_t *stamp;    /* visited marks */
    uint32_t *stack;
    uint32_t *scratch;
    uint32_t stamp_now;
    struct kiln_group_item *items;
    uint32_t item_count;
    struct kiln_fusion_group *groups;
    uint32_t group_count;
    uint32_t group_capacity;
};

/* Allocates the arrays; false when memory is out. ir, graph, target, options and arena must be set. */
bool kiln_group_builder_init(struct kiln_group_builder *builder);

/* True for a value that may be written to memory and read back without loss. */
bool kiln_value_can_be_cut(const struct kiln_op *op);
/* Arithmetic of one operation, in simple ones. */
uint32_t kiln_op_cost(const struct kiln_op *op);
bool kiln_op_is_source(const struct kiln_op *op);

/*
 * All values that a kernel storing these items (indices into builder->items) evaluates or loads, ascending, into
 * ret_ops (room for all operations of the IR); returns their number. builder->is_load says for each of them
 * whether it is read from memory.
 */
uint32_t kiln_group_closure(struct kiln_group_builder *builder, const uint32_t *items,
                            uint32_t item_count, uint32_t *ret_ops);

/* qsort and bsearch order of value indices. */
int kiln_compare_values(const void *left, const void *right);

/* Appends the group that stores these items; false when memory is out. */
bool kiln_group_append(struct kiln_group_builder *builder, uint32_t domain,
                       enum kiln_boundary boundary, const uint32_t *items, uint32_t item_count);

#endif
