/*
 * Clusters: reductions that one kernel computes, with the elementwise work before, between and
 * after them. Internal to the partitioner.
 *
 * Every value has a level, the number of kernels that must have run before it can be computed, and
 * either a cluster, whose kernel alone can compute it without reading memory that the kernel itself
 * writes, or none: then any kernel of that level or a later one can. Groups of one level never read
 * what another of that level writes; so levels order the kernels.
 *
 * What a kernel needs of a cluster of a lower level it reads from memory: the values on the border
 * between rows and elements, from which it computes element values again, or an element value where
 * that moves fewer bytes.
 */
#ifndef KILN_COMPILER_FUSE_CLUSTER_H
#define KILN_COMPILER_FUSE_CLUSTER_H

#include "compiler/fuse/group_builder.h"

/* More reductions than this make a kernel of their own: each holds registers, and LDS, for its
 * accumulator. */
enum { KILN_CLUSTER_MAX_REDUCTIONS = 16 };

struct kiln_cluster {
    enum kiln_kernel_family family;
    enum kiln_group_role role;
    uint32_t domain;     /* that its kernel walks over: of what is reduced, or of the results */
    uint32_t row_domain; /* of the results */
    uint32_t axes;       /* reduced axes of `domain` */
    uint32_t level;
    uint32_t
        first_reader; /* lowest level of another kernel that reads its values; KILN_NONE: none */
    uint32_t merged_into; /* KILN_NONE: it stands for itself */
    uint32_t node;        /* graph node of its first reduction */
    uint32_t reduction_count;
    uint32_t contract_count; /* of contractions: those that share its tiles */
    uint32_t contracts[KILN_GROUP_MAX_CONTRACTS];
    bool has_result; /* attention: some ATTEND is among them; from then on `domain` is its result's
                      */
    uint32_t segment_count;   /* PARTIAL, COMBINE */
    uint32_t combine;         /* PARTIAL: the cluster that yields what it accumulates */
    bool is_of_tiles;         /* COMBINE: the segments are tiles of a product's result */
    uint32_t operand_sum;     /* of contractions: the REDUCE that sums an operand, or KILN_NONE */
    uint32_t sum_domain;      /* and its domain, where the kernel has the whole sum */
    uint32_t first_reduction; /* once all are assigned; the others: next_reduction of the builder */
    bool is_closed;           /* takes no elementwise work but what its reductions need */
};

/* The cluster that stands for this one now. */
uint32_t kiln_cluster_find(const struct kiln_group_builder *builder, uint32_t cluster);

/* The cluster whose kernel must compute a value, or KILN_NONE. */
uint32_t kiln_cluster_of(const struct kiln_group_builder *builder, uint32_t value);

/* The level of a value: its cluster's, if it has one. */
uint32_t kiln_value_level(const struct kiln_group_builder *builder, uint32_t value);

/* Whether the cluster's kernel computes this REDUCE (PARTIAL: accumulates it). */
bool kiln_cluster_has_reduction(const struct kiln_group_builder *builder, uint32_t cluster,
                                uint32_t value);

/* ---- for families that place their operations ---- */

/* Adds a cluster for an operation: with one of its kind in it, so far none counted. */
uint32_t kiln_cluster_add(struct kiln_group_builder *builder, enum kiln_kernel_family family,
                          enum kiln_group_role role, uint32_t index, uint32_t domain,
                          uint32_t level);

/* Whether operation `index` reads its operand from memory wherever it is computed. */
bool kiln_reads_from_memory(const struct kiln_group_builder *builder, uint32_t index,
                            uint32_t operand);

/* The level that the operands of an operation allow when it is computed in the kernel of a cluster
 * (KILN_NONE: in none); operands of clusters that could be merged with that one are left out. */
uint32_t kiln_level_needed(const struct kiln_group_builder *builder, uint32_t index,
                           uint32_t cluster);

/* Whether the cluster's kernel may run at this level instead, if that is a later one than now; and
 * lets it. */
bool kiln_cluster_can_be_at(const struct kiln_cluster *cluster, uint32_t level);
void kiln_cluster_raise_to(struct kiln_cluster *cluster, uint32_t level);

/* Whether the cluster takes operations of this node at all. */
bool kiln_cluster_may_share(const struct kiln_group_builder *builder,
                            const struct kiln_cluster *cluster, uint32_t node);

/* Whether the cluster's kernel may do this REDUCE too, if its level allows it. */
bool kiln_cluster_may_reduce(const struct kiln_group_builder *builder,
                             const struct kiln_cluster *cluster, uint32_t index, uint32_t axes);

/* Puts an operation into the cluster, with all clusters that can be merged for that; false when the
 * cluster's kernel would have to run after one that reads from it. */
bool kiln_cluster_join(struct kiln_group_builder *builder, uint32_t index, uint32_t cluster);

/* Tells the operands that are read from memory, once it is known where the operation is computed.
 */
void kiln_require_operands(struct kiln_group_builder *builder, uint32_t index, uint32_t cluster,
                           uint32_t level);

/* ---- for the partitioner ---- */

/*
 * Gives every value its level and cluster; fills level, cluster, accumulated_in, cut, needed,
 * reads_memory, first_reader, load_sets and next_reduction of the builder. May be called again
 * after bare[] was changed. False: kiln_may_go_on.
 */
bool kiln_assign_clusters(struct kiln_group_builder *builder);

#endif
