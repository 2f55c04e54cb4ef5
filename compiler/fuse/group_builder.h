/*
 * The state of one partitioning, and what it says about a value. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_GROUP_BUILDER_H
#define KILN_COMPILER_FUSE_GROUP_BUILDER_H

#include "compiler/codegen/target.h"
#include "compiler/fuse/choice.h"
#include "compiler/fuse/fusion_group.h"
#include "compiler/fuse/load_sets.h"
#include "compiler/lower_options.h"

/* Loads that not all kernels can do. */
enum kiln_load_kind {
    KILN_LOAD_PACKED = 1,   /* elements smaller than a byte */
    KILN_LOAD_REPEATED = 2, /* a REPEAT: neighbouring points share an element */
};

/* One store: a value that has to be in memory, and where. */
struct kiln_group_item {
    uint32_t value;
    uint32_t store; /* the STORE that names the output; KILN_NONE: the workspace */
};

/* Core operations that one kernel computes: cluster.h. */
struct kiln_cluster {
    enum kiln_kernel_family family;
    enum kiln_group_role role;
    enum kiln_boundary boundary; /* why its kernel begins where it does */
    uint32_t domain;     /* that its kernel walks over: of what is reduced, or of the results */
    uint32_t row_domain; /* of the results */
    uint32_t axes;       /* reduced axes of `domain` */
    uint32_t map;        /* of its REDUCEs, index into kiln_ir.maps; KILN_NONE: they have none */
    uint32_t level;
    uint32_t
        first_reader; /* lowest level of another kernel that reads its values; KILN_NONE: none */
    uint32_t merged_into;  /* KILN_NONE: it stands for itself */
    uint32_t node;         /* graph node of its first core operation */
    uint32_t packed_store; /* the STORE to a packed tensor that its kernel does, or KILN_NONE */
    uint32_t core_count;
    uint32_t anchor_count; /* as in struct kiln_fusion_group */
    uint32_t anchors[KILN_GROUP_MAX_ANCHORS];
    uint32_t segment_count; /* PARTIAL, COMBINE */
    uint32_t combine;       /* PARTIAL: the cluster that yields what it accumulates */
    uint32_t first_core;    /* once all are assigned; the others: next_core of the builder */
    bool is_closed;         /* takes no elementwise work but what its core operations need */
};

/*
 * The state of one partitioning. A STORE to a packed tensor is nobody's home. A cluster does it
 * whose family can (may_store_packed). Otherwise a kernel without a cluster does it, at a level of
 * its own. Arrays have one entry per operation of the IR.
 * Their memory belongs to an arena of the partitioning, what groups point to belongs to the arena
 * of the IR.
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
    bool *reads_memory;     /* a VIEW, or a BROADCAST whose operand is read from memory */
    bool *is_viewed;        /* the operand of a VIEW, and no tensor: it lies row-major in memory */
    bool *cut;              /* read from memory by whoever does not store it to its home */
    bool *always_cut;       /* cut whatever reads it: of another node, or bare */
    bool *needed;           /* some kernel reads it from memory */
    uint32_t *why_cut;      /* of a value without a cluster that is needed: enum kiln_boundary */
    uint32_t *why_bare;     /* of an operation that is bare: the same */
    bool *bare;             /* a core operation that shares its kernel with nothing */
    uint32_t *level;        /* kernels that must have run before; of values without a cluster */
    uint32_t *first_reader; /* lowest level of a kernel that reads the value from memory */
    uint32_t *cluster;      /* whose kernel must compute the value, or KILN_NONE */
    uint32_t *accumulated_in; /* of a core operation: the cluster that walks over its elements */
    struct kiln_cluster *clusters;
    uint32_t cluster_count;
    uint32_t choices;       /* struct kiln_partition */
    uint32_t *store_op;     /* the first STORE of this value, or KILN_NONE; not to packed tensors */
    uint32_t *next_store;   /* of a STORE: the next one of the same value and kind, or KILN_NONE */
    uint32_t *packed_store; /* the first STORE of this value to a packed tensor, or KILN_NONE */
    /* Kinds of loads that evaluate a value if nothing of it is in memory. */
    uint8_t *load_kinds;
    uint32_t *stamp; /* mark of the last walk that visited the value */
    uint32_t stamp_now;
    uint32_t *own;       /* mark of the last closure that stores the value to its home */
    uint32_t *next_core; /* of the same cluster, or KILN_NONE */
    struct kiln_load_sets load_sets;
    uint32_t
        *enclosed_in;  /* the operation whose kernel alone may compute the value, or KILN_NONE */
    bool *is_deferred; /* readers compute it, from what is stored before it */
    void *family_data[KILN_FAMILY_COUNT]; /* fuse_family.h */
    bool *is_required;              /* others need the value: what they read instead of it is cut */
    struct kiln_value_queue wanted; /* empty between uses */
    bool *knows_layout;             /* layout_tensor.h */
    uint32_t *layout;
    /* Work done so far, in steps of a few nanoseconds: of the order of the time, and the same on
     * every machine. Beyond max_steps it ends. */
    uint64_t steps;
    uint64_t max_steps;
    const char *broken; /* struct kiln_partition */
    bool is_plain;      /* no core operation shares its kernel, and no node (options->no_fusion) */
    bool failed;        /* memory ran out */
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

/* In which type a computed value waits in the workspace: its tensor's, or its scalar type's own. */
enum kiln_dtype kiln_value_dtype(const struct kiln_group_builder *builder, uint32_t value);
/* The value whose memory a load that is no LOAD reads: the value itself, or what it repeats or is a
 * view of. */
uint32_t kiln_value_in_memory(const struct kiln_group_builder *builder, uint32_t value);
bool kiln_item_is_home(const struct kiln_group_builder *builder,
                       const struct kiln_group_item *item);

/* Registers that one element's values may take: half of what the target has, for addresses and
 * vectors need the rest. */
uint32_t kiln_register_budget(const struct kiln_target *target);

/* True if an item is stored to a packed tensor. */
bool kiln_item_is_packed(const struct kiln_group_builder *builder,
                         const struct kiln_group_item *item);

/* True if partitioning goes on: memory has not run out, and the steps have not. */
bool kiln_may_go_on(const struct kiln_group_builder *builder);

#endif
