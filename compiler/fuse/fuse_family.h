/*
 * What the partitioner asks a family of kernels. One struct per row of compiler/kernel_family.def,
 * defined in the family's file: pointwise_group.c, reduction_group.c, contraction_group.c. Internal
 * to the partitioner, but for kiln_group_place_domain.
 */
#ifndef KILN_COMPILER_FUSE_FUSE_FAMILY_H
#define KILN_COMPILER_FUSE_FUSE_FAMILY_H

#include "compiler/fuse/group_builder.h"

struct kiln_fuse_family {
    /* ---- operations of the family's class ---- */

    /* Decides in which kernel such an operation is done: gives it a cluster, old or new, and tells
     * what it reads from memory. NULL: any kernel can do it as often as needed, so the family has
     * no clusters. */
    void (*place)(struct kiln_group_builder *builder, uint32_t index);
    /* Whether the kernel of operation `index` may evaluate its operand number `operand` itself;
     * else that is read from memory. NULL: any operand. */
    bool (*may_evaluate_operand)(struct kiln_group_builder *builder, uint32_t index,
                                 uint32_t operand);

    /* ---- clusters; not asked where `place` is NULL ---- */

    /* Whether the cluster's kernel walks over the points that an elementwise operation is defined
     * at. */
    bool (*may_compute)(const struct kiln_cluster *cluster, const struct kiln_op *op);
    /* Whether it may do this REDUCE over these axes too, if its level allows it. NULL: never. */
    bool (*may_reduce)(const struct kiln_group_builder *builder, const struct kiln_cluster *cluster,
                       uint32_t index, uint32_t axes);
    /* A REDUCE over these axes, which may_reduce has allowed, is about to join: decides how the
     * cluster's kernel does it. NULL: nothing is to be decided. */
    void (*begin_reduce)(struct kiln_group_builder *builder, uint32_t cluster, uint32_t index,
                         uint32_t axes);
    /* Whether two clusters of the family may be done by one kernel, if their levels allow it. NULL:
     * never. */
    bool (*may_merge)(const struct kiln_group_builder *builder, const struct kiln_cluster *a,
                      const struct kiln_cluster *b);
    /* Whether other kernels read its element values rather than compute them again from values of
     * rows. */
    bool stores_elements;
    /* Whether its kernel may store values that no operation of its cluster needs. */
    bool may_ride_along;
    /* Why the kernel begins where it does. */
    enum kiln_boundary (*boundary)(const struct kiln_cluster *cluster);

    /* ---- groups ---- */

    /* Operands that a kernel may load and store, up to KILN_GROUP_MAX_ACCESSES. */
    uint32_t max_accesses;
    /* Fills group->places, and what else the family has in a group, from what the last closure
     * found; false when memory is out. NULL: nothing to do. */
    bool (*find_places)(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                        const uint32_t *items, uint32_t item_count);
    /* Where an access is made in a group without group->places. NULL: at the elements. */
    enum kiln_place (*access_place)(const struct kiln_fusion_group *group,
                                    const struct kiln_access *access);
    /* The domain that accesses of a place count their strides over. NULL: the group's. */
    uint32_t (*place_domain)(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                             enum kiln_place place);
};

/* The functions of a family. Static. */
const struct kiln_fuse_family *kiln_fuse_family(enum kiln_kernel_family family);

/* The family whose class an operation is of; elementwise for what is of none. */
const struct kiln_fuse_family *kiln_fuse_family_of_op(const struct kiln_op *op);

/* The domain that accesses of a place count their strides over. */
uint32_t kiln_group_place_domain(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                 enum kiln_place place);

#endif
