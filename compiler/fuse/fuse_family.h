/*
 * Hooks of a kernel family for the partitioner. One struct per row of compiler/kernel_family.def,
 * defined in the family's room: compiler/families/<name>/fuse_<name>.c. Internal to the
 * partitioner, except what is asked of a group.
 */
#ifndef KILN_COMPILER_FUSE_FUSE_FAMILY_H
#define KILN_COMPILER_FUSE_FUSE_FAMILY_H

#include "compiler/fuse/group_builder.h"

struct kiln_fuse_family {
    /* ---- what the family keeps of a partitioning: builder->family_data[family] ---- */

    /* Once, before everything else: allocates it in builder->arena, and may fill enclosed_in.
     * False when memory is out. NULL: it keeps nothing. */
    bool (*begin)(struct kiln_group_builder *builder);
    /* Before each round of placing: forgets what the last one has left there. NULL: nothing. */
    void (*forget)(struct kiln_group_builder *builder);
    /* After that, once always_cut is known: finds what placing needs. NULL: nothing. */
    void (*prepare)(struct kiln_group_builder *builder);

    /* ---- operations of the family's class ---- */

    /* Decides in which kernel such an operation is done: gives it a cluster, old or new, and tells
     * what it reads from memory. NULL: any kernel can do it as often as needed, so the family has
     * no clusters. */
    void (*place)(struct kiln_group_builder *builder, uint32_t index);
    /* Takes an operation of another family's class into a cluster of this one, where its own
     * kernels would take longer; false if it is for its own family to place. NULL: never. */
    bool (*adopt)(struct kiln_group_builder *builder, uint32_t index);
    /* True if the kernel of operation `index` may evaluate its operand number `operand` itself.
     * Otherwise the operand is read from memory. NULL: any operand. */
    bool (*may_evaluate_operand)(struct kiln_group_builder *builder, uint32_t index,
                                 uint32_t operand);
    /* The reason to reject a partition that computes values outside of their enclosing kernel
     * (builder->enclosed_in). NULL: the family encloses none. */
    const char *broken;

    /* ---- clusters; not asked where `place` is NULL ---- */

    /* True if the cluster's kernel walks over the points that an elementwise operation is defined
     * at. */
    bool (*may_compute)(const struct kiln_group_builder *builder,
                        const struct kiln_cluster *cluster, uint32_t index);
    /* True if it may do this REDUCE over these axes too, if its level allows it. NULL: never. */
    bool (*may_reduce)(const struct kiln_group_builder *builder, const struct kiln_cluster *cluster,
                       uint32_t index, uint32_t axes);
    /* A REDUCE over these axes, which may_reduce has allowed, is about to join: decides how the
     * cluster's kernel does it. NULL: nothing is to be decided. */
    void (*begin_reduce)(struct kiln_group_builder *builder, uint32_t cluster, uint32_t index,
                         uint32_t axes);
    /* True if two clusters of the family may be done by one kernel, if their levels allow it. NULL:
     * never. */
    bool (*may_merge)(const struct kiln_group_builder *builder, const struct kiln_cluster *a,
                      const struct kiln_cluster *b);
    /* True if other kernels read its element values rather than compute them again from values of
     * rows. */
    bool stores_elements;
    /* True if its kernel may store values that no operation of its cluster needs. */
    bool may_ride_along;

    /* ---- groups ---- */

    /* True if the cluster's kernel may store a value of the cluster, the operand of the STORE, to a
     * packed tensor: every byte must belong to one work-item. A cluster has one such store at most.
     * NULL: a kernel without a cluster stores it. */
    bool (*may_store_packed)(const struct kiln_group_builder *builder,
                             const struct kiln_cluster *cluster, uint32_t store);
    /* The kinds of loads that its kernels can do, a set of enum kiln_load_kind. */
    uint8_t load_kinds;
    /* Kinds of loads in operands of core operations that its kernels evaluate. */
    uint8_t operand_load_kinds;
    /* Operands that a kernel may load and store, up to KILN_GROUP_MAX_ACCESSES. */
    uint32_t max_accesses;
    /* Fills anchors, places and family_data of a group from what the last closure found; false when
     * memory is out. NULL: nothing to do. */
    bool (*find_places)(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                        const uint32_t *items, uint32_t item_count);
    /* Where the value at a position of the group is stored, if it has group->places. NULL: at the
     * elements. */
    enum kiln_place (*store_place)(const struct kiln_fusion_group *group, uint32_t position);
    /* Where an access is made that is at the elements so far. NULL: there. */
    enum kiln_place (*access_place)(const struct kiln_fusion_group *group,
                                    const struct kiln_access *access);
    /* The domain that accesses of a place count their strides over. NULL: the group's. */
    uint32_t (*place_domain)(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                             enum kiln_place place);
    /* True if the first axis of a result of the family's class counts segments. Another kernel
     * merges them; there are at most KILN_MAX_SEGMENT_AXIS. NULL: never. */
    bool (*has_segment_axis)(const struct kiln_ir *ir, uint32_t value);
    /* kiln_group_explain. NULL: the family has nothing to tell. */
    void (*explain)(const struct kiln_ir *ir, const struct kiln_graph *graph,
                    const struct kiln_fusion_group *group, struct kiln_buffer *buffer);
};

enum { KILN_MAX_SEGMENT_AXIS = 64 };

/* True if the first axis of a value counts segments. */
bool kiln_value_has_segment_axis(const struct kiln_ir *ir, uint32_t value);

/* The functions of a family. Static. */
const struct kiln_fuse_family *kiln_fuse_family(enum kiln_kernel_family family);

/* The family that an operation's class belongs to; the first family if there is none. */
const struct kiln_fuse_family *kiln_fuse_family_of_op(const struct kiln_op *op);

/* The domain that accesses of a place count their strides over. */
uint32_t kiln_group_place_domain(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                 enum kiln_place place);

/* Lines about choices that the group's family made for it, and why; nothing where it had none. */
void kiln_group_explain(const struct kiln_ir *ir, const struct kiln_graph *graph,
                        const struct kiln_fusion_group *group, struct kiln_buffer *buffer);

#endif
