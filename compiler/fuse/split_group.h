/*
 * Splitting a group that is too much for one kernel. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_SPLIT_GROUP_H
#define KILN_COMPILER_FUSE_SPLIT_GROUP_H

#include "compiler/fuse/group_builder.h"

/* Who needs a value of the closure; positions in the builder's ops. */
struct kiln_value_uses {
    uint32_t first;  /* KILN_NONE when nobody */
    uint32_t last;   /* also through broadcasts; 0 when nobody */
    uint32_t stores; /* items that store it */
    bool has_home;   /* one of them stores it to its home */
};

/* Memory for splitting, reused from group to group; arrays have one entry per operation of the IR.
 */
struct kiln_splitter {
    struct kiln_group_builder *builder;
    struct kiln_value_uses *uses;
    /* Per position of the closure: what the group that ends there has more than the one that ends
     * before. */
    int32_t *accesses; /* loads, stores, and values stored because a later operation uses them */
    int32_t
        *bytes; /* of an element, that cross to the next group; a smaller domain's hardly count */
    uint32_t *items; /* what is left to be stored */
    uint32_t item_count;
    uint32_t *front;
    uint32_t *copies;
    uint32_t copy_count;
    uint32_t *cut; /* values cut for this group only */
    uint32_t cut_count;
};

/* False when memory is out. */
bool kiln_splitter_init(struct kiln_splitter *splitter, struct kiln_group_builder *builder);

/*
 * Appends the group that stores these items (all items of a value next to each other), or several
 * one after the other when it would need more registers than half of the target's (the other half
 * is for addresses and vectors) or exceed KILN_GROUP_MAX_*: each time the front part is cut off,
 * stores what the rest needs, and the rest goes round again. Cuts made here hold for these items
 * only. False when memory is out.
 */
bool kiln_group_split_append(struct kiln_splitter *splitter, uint32_t domain,
                             enum kiln_boundary boundary, const uint32_t *items,
                             uint32_t item_count);

/*
 * Appends the group of a cluster, which cannot be split, that stores these items (all items of a
 * value next to each other), and behind it groups that copy a value with more stores than a kernel
 * has room for. False when memory is out.
 */
bool kiln_group_append_with_copies(struct kiln_splitter *splitter, uint32_t cluster,
                                   enum kiln_boundary boundary, const uint32_t *items,
                                   uint32_t item_count);

#endif
