/*
 * Clusters: core operations (kernel_family.h) that one kernel computes, with the elementwise work
 * before, between and after them. Internal to the partitioner.
 *
 * Every value has a level: the number of kernels that must run before it can be computed. If a
 * value has a cluster, only that cluster's kernel can compute it without reading memory that the
 * same kernel writes. A value without a cluster can be computed by any kernel of its level or a
 * later one. A group never reads what another group of its level writes, so levels order the
 * kernels.
 *
 * A kernel reads the values of lower clusters from memory. These are the values on the border
 * between rows and elements; the kernel computes element values from them again. If it moves fewer
 * bytes, the kernel reads an element value instead.
 */
#ifndef KILN_COMPILER_FUSE_CLUSTER_H
#define KILN_COMPILER_FUSE_CLUSTER_H

#include "compiler/fuse/group_builder.h"

/* More core operations than this make a kernel of their own: each holds registers, and LDS, for its
 * accumulator. */
enum { KILN_CLUSTER_MAX_CORES = 16 };

/* The cluster that stands for this one now. */
uint32_t kiln_cluster_find(const struct kiln_group_builder *builder, uint32_t cluster);

/* The cluster whose kernel must compute a value, or KILN_NONE. */
uint32_t kiln_cluster_of(const struct kiln_group_builder *builder, uint32_t value);

/* The level of a value: its cluster's, if it has one. */
uint32_t kiln_value_level(const struct kiln_group_builder *builder, uint32_t value);

/* True if the cluster's kernel computes this core operation (PARTIAL: accumulates it). */
bool kiln_cluster_has_core(const struct kiln_group_builder *builder, uint32_t cluster,
                           uint32_t value);

/* ---- for families that place their operations ---- */

/* Adds a cluster for an operation: with one of its kind in it, so far none counted. */
uint32_t kiln_cluster_add(struct kiln_group_builder *builder, enum kiln_kernel_family family,
                          enum kiln_group_role role, uint32_t index, uint32_t domain,
                          uint32_t level);

/* Adds a cluster whose first anchor an operation is, and gives it to the operation. */
uint32_t kiln_cluster_begin(struct kiln_group_builder *builder, enum kiln_kernel_family family,
                            enum kiln_group_role role, uint32_t index, uint32_t level);

/* Adds the cluster, of `family`, that combines what a PARTIAL one has left of operation `index` in
 * so many segments: the first kernel that reads it. */
uint32_t kiln_cluster_add_combine(struct kiln_group_builder *builder,
                                  enum kiln_kernel_family family, uint32_t index, uint32_t partial,
                                  uint32_t segments);

/* True if operation `index` reads its operand from memory wherever it is computed. */
bool kiln_reads_from_memory(const struct kiln_group_builder *builder, uint32_t index,
                            uint32_t operand);

/* The level that the operands of an operation allow when it is computed in the kernel of a cluster
 * (KILN_NONE: in none); operands of clusters that could be merged with that one are left out. */
uint32_t kiln_level_needed(const struct kiln_group_builder *builder, uint32_t index,
                           uint32_t cluster);

/* True if the cluster's kernel may run at this level instead, if that is a later one than now; and
 * lets it. */
bool kiln_cluster_can_be_at(const struct kiln_cluster *cluster, uint32_t level);
void kiln_cluster_raise_to(struct kiln_cluster *cluster, uint32_t level);

/* True if the cluster takes operations of this node at all. */
bool kiln_cluster_may_share(const struct kiln_group_builder *builder,
                            const struct kiln_cluster *cluster, uint32_t node);

/* True if the cluster's kernel may do this REDUCE too, if its level allows it. */
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
 * Gives every value its level and cluster. Fills level, cluster, accumulated_in, cut, needed,
 * reads_memory, first_reader, load_sets and next_core of the builder. The caller may change bare[]
 * and call it again. Returns kiln_may_go_on.
 */
bool kiln_assign_clusters(struct kiln_group_builder *builder);

#endif
