/*
 * uid -> wire tensor, by sorting: no hash that chosen uids could degrade, and for the usual dozen
 * of tensors, mostly in order already, an insertion sort costs next to nothing.
 */
#include "compiler/graph/graph_builder.h"

#include <stdlib.h>

enum { INSERTION_SORT_LIMIT = 32 };

static int compare_entries(const void *left, const void *right)
{
    const struct kiln_uid_entry *a = left;
    const struct kiln_uid_entry *b = right;
    return (a->uid > b->uid) - (a->uid < b->uid);
}

static void sort_entries(struct kiln_uid_entry *entries, uint32_t count)
{
    if (count > INSERTION_SORT_LIMIT) {
        qsort(entries, count, sizeof *entries, compare_entries);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        struct kiln_uid_entry entry = entries[i];
        uint32_t hole = i;
        for (; hole > 0 && entries[hole - 1].uid > entry.uid; hole--)
            entries[hole] = entries[hole - 1];
        entries[hole] = entry;
    }
}

enum kiln_status kiln_uid_index_build(struct kiln_graph_builder *builder)
{
    const struct kiln_wire_graph *wire = builder->wire;
    struct kiln_uid_entry *entries =
        kiln_arena_calloc(builder->scratch, wire->tensor_count, sizeof *entries);
    if (entries == NULL)
        return kiln_graph_no_memory(builder->error);
    for (uint32_t i = 0; i < wire->tensor_count; i++)
        entries[i] = (struct kiln_uid_entry){.uid = wire->tensors[i].uid, .tensor = i};
    sort_entries(entries, wire->tensor_count);
    for (uint32_t i = 1; i < wire->tensor_count; i++) {
        if (entries[i].uid == entries[i - 1].uid)
            return kiln_reject(builder->error, KILN_REJECT_DUPLICATE_UID,
                               "tensors %u and %u of the list have the same uid %lld",
                               entries[i - 1].tensor, entries[i].tensor, (long long)entries[i].uid);
    }
    builder->uids = entries;
    return KILN_OK;
}

/* The first entry whose uid is not below. */
static uint32_t lower_bound(const struct kiln_graph_builder *builder, int64_t uid)
{
    uint32_t low = 0;
    uint32_t high = builder->wire->tensor_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (builder->uids[middle].uid < uid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t kiln_uid_find(const struct kiln_graph_builder *builder, int64_t uid)
{
    uint32_t entry = lower_bound(builder, uid);
    bool is_known = entry != builder->wire->tensor_count && builder->uids[entry].uid == uid;
    return is_known ? builder->uids[entry].tensor : KILN_NONE;
}

enum kiln_status kiln_uid_resolve(struct kiln_graph_builder *builder, const struct kiln_node *node,
                                  const char *operand, int64_t uid, uint32_t *ret_tensor)
{
    uint32_t tensor = kiln_uid_find(builder, uid);
    if (tensor == KILN_NONE)
        return kiln_reject_node(builder->error, KILN_REJECT_UNKNOWN_UID, &builder->graph, node,
                                "operand %s has uid %lld, and no tensor has this uid", operand,
                                (long long)uid);
    *ret_tensor = tensor;
    return KILN_OK;
}
