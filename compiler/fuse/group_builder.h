/*
 * Building fusion groups: from the values that a kernel has to store, what it evaluates and what it
 * reads. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_GROUP_BUILDER_H
#define KILN_COMPILER_FUSE_GROUP_BUILDER_H

#include "compiler/fuse/load_sets.h"
#include "compiler/fuse/partition.h"

struct kiln_cluster;

/* One store: a value that has to be in memory, and where. */
struct kiln_group_item {
    uint32_t value;
    uint32_t store; /* the STORE that names the output; KILN_NONE: the workspace */
    enum kiln_boundary boundary;
};

/*
 * The state of one partitioning. Arrays have one entry per operation of the IR. Their memory
 * belongs to an arena of the partitioning, what groups point to belongs to the arena of the IR.
 *
 * A value that is read from memory has one home there: the output of its first STORE, or the
 * workspace when there is none. The group that stores it to its home computes it; everybody else
 * may read it.
 */
struct kiln_group_builder {
    const struct kiln_ir *ir;
    const struct kiln_graph *graph;
    const struct kiln_target *target;
    const struct kiln_lower_options *options;
    const struct kiln_partition_strategy *strategy;
    struct kiln_arena *arena;
    bool *reads_memory;       /* a BROADCAST whose operand is read from memory */
    bool *cut;                /* read from memory by whoever does not store it to its home */
    bool *always_cut;         /* cut whatever reads it: of another node, or a bare reduction */
    bool *needed;             /* some kernel reads it from memory */
    bool *bare;               /* a REDUCE that shares its kernel with nothing */
    uint32_t *level;          /* kernels that must have run before; of values without a cluster */
    uint32_t *first_reader;   /* lowest level of a kernel that reads the value from memory */
    uint32_t *cluster;        /* whose kernel must compute the value, or KILN_NONE */
    uint32_t *accumulated_in; /* of a REDUCE: the cluster that walks over its elements */
    uint32_t *summed_with; /* of a REDUCE: the CONTRACT of which it sums an operand, or KILN_NONE */
    uint32_t *operand_sum; /* of a CONTRACT: that REDUCE */
    struct kiln_cluster *clusters;
    uint32_t cluster_count;
    bool has_segments;      /* a choice of the strategy was taken: rows were cut into segments */
    bool has_statistics;    /* and: tiles of a product reduce what they can of its result */
    bool has_operand_sums;  /* and: a product's kernel sums an operand */
    bool has_shared_values; /* another one: element values of a cluster are needed elsewhere */
    uint32_t *store_op;     /* the first STORE of this value, or KILN_NONE */
    uint32_t *next_store;   /* of a STORE: the next one of the same value, or KILN_NONE */
    uint32_t *stamp;        /* mark of the last walk that visited the value */
    uint32_t stamp_now;
    uint32_t *own;            /* mark of the last closure that stores the value to its home */
    uint32_t *next_reduction; /* of the same cluster, or KILN_NONE */
    struct kiln_load_sets load_sets;
    uint32_t
        *enclosed_in; /* the operation whose kernel alone may compute the value, or KILN_NONE */
    bool *is_behind_product;       /* a CONTRACT, or computed from one element by element */
    bool *is_deferred;             /* readers compute it: prologue.h */
    struct kiln_between *betweens; /* of this round */
    uint32_t between_count;
    bool *is_required;              /* others need the value: what they read instead of it is cut */
    struct kiln_value_queue wanted; /* empty between uses */
    bool *knows_layout;             /* layout_tensor.h */
    uint32_t *layout;
    /* Work done so far, in steps of a few nanoseconds: of the order of the time, and the same on
     * every machine. Beyond max_steps it ends. */
    uint64_t steps;
    uint64_t max_steps;
    bool is_attention_cut; /* struct kiln_partition */
    bool is_plain;         /* no reduction shares its kernel, and no node (options->no_fusion) */
    bool failed;           /* memory ran out */
    /* Of the last closure (closure.h): */
    uint32_t closure_cluster;
    bool *is_load; /* read from memory there */
    uint32_t *ops; /* the values, ascending */
    uint32_t op_count;
    uint32_t cost;
    uint32_t live_registers;
    uint32_t *live; /* registers live behind ops[i] */
    uint32_t *stack;
    uint32_t stack_count;
    uint32_t *scratch;
    struct kiln_group_item *items;
    uint32_t item_count;
    struct kiln_fusion_group *groups;
    uint32_t group_count;
    uint32_t group_capacity;
};

/* Allocates the arrays; false when memory is out. ir, graph, target, options and arena must be set.
 */
bool kiln_group_builder_init(struct kiln_group_builder *builder);

bool kiln_op_is_source(const struct kiln_op *op);
bool kiln_op_is_reduction(const struct kiln_op *op);
bool kiln_op_is_contraction(const struct kiln_op *op);
/* Done once, in the kernel of its cluster: a reduction, a contraction. */
bool kiln_op_has_cluster(const struct kiln_op *op);
/* The result of a node, which may be written to memory in its tensor's type and read back without
 * loss. */
bool kiln_op_is_result(const struct kiln_op *op);
/* In which type a computed value waits in the workspace: its tensor's, or its scalar type's own. */
enum kiln_dtype kiln_value_dtype(const struct kiln_group_builder *builder, uint32_t value);
/* The value whose memory a load that is no LOAD reads: the value itself, or what it broadcasts. */
uint32_t kiln_value_in_memory(const struct kiln_group_builder *builder, uint32_t value);
bool kiln_item_is_home(const struct kiln_group_builder *builder,
                       const struct kiln_group_item *item);

/* Registers that one element's values may take: half of what the target has, for addresses and
 * vectors need the rest. */
uint32_t kiln_register_budget(const struct kiln_target *target);

/* Whether partitioning goes on: memory has not run out, and the steps have not. */
bool kiln_may_go_on(const struct kiln_group_builder *builder);

/* Appends the pointwise group that stores these items; false when memory is out. */
bool kiln_group_append(struct kiln_group_builder *builder, uint32_t domain,
                       enum kiln_boundary boundary, const uint32_t *items, uint32_t item_count);

/* Appends the group of a cluster that stores these items besides its accumulators; false when
 * memory is out. */
bool kiln_group_append_cluster(struct kiln_group_builder *builder, uint32_t cluster,
                               enum kiln_boundary boundary, const uint32_t *items,
                               uint32_t item_count);

#endif
