/*
 * Drafts of groups: everything that has to be stored, and which kernel stores it. Internal to the
 * partitioner.
 */
#ifndef KILN_COMPILER_FUSE_DRAFTS_H
#define KILN_COMPILER_FUSE_DRAFTS_H

#include "compiler/fuse/group_builder.h"

/* A group to be: a cluster with its items, or items of one domain and level. */
struct kiln_group_draft {
    uint32_t cluster; /* KILN_NONE: none */
    uint32_t domain;
    uint32_t level;
    uint32_t number;      /* as in draft_of, whatever the order */
    uint32_t first_value; /* decides the order within a level */
    uint32_t item_count;
    uint32_t
        packed_tensor; /* a packed tensor that it stores, or KILN_NONE; others lie as it does */
    enum kiln_boundary boundary; /* boundaries.h */
};

/* Items are indices into builder->items. */
struct kiln_drafting {
    struct kiln_group_draft *drafts;
    uint32_t count;
    uint32_t *draft_of;   /* per item */
    uint32_t *items;      /* of all drafts, one after the other, ascending in each */
    uint32_t *first_item; /* per draft: where in items its own begin */
    /* For searches: */
    uint32_t *draft_of_cluster;
    uint32_t *slots; /* hash table of drafts without a cluster, by domain and level */
    uint32_t slot_mask;
    uint32_t *first_of; /* per domain or level: the first of a list, or KILN_NONE */
    uint32_t *next;     /* per item */
    uint32_t *head;     /* per draft: the first of its items while they move */
    uint32_t *sibling;  /* per draft: the next one without a cluster of the same level */
};

/* Allocates the arrays; false when memory is out. */
bool kiln_drafting_init(struct kiln_drafting *drafting, const struct kiln_group_builder *builder);

/* One draft per cluster, and one per domain and level for the rest; then items ride along in
 * kernels that compute them anyway. The clusters have been assigned. */
void kiln_draft_groups(struct kiln_group_builder *builder, struct kiln_drafting *drafting);

/* The items of a draft, as many as its item_count, ascending. */
const uint32_t *kiln_draft_items(const struct kiln_drafting *drafting, uint32_t number);

#endif
