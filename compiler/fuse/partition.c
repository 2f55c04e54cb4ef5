#include "compiler/fuse/partition.h"

#include "compiler/fuse/cluster.h"
#include "compiler/fuse/group_builder.h"
#include "compiler/fuse/recompute.h"
#include "compiler/fuse/split_group.h"
#include "compiler/fuse/workspace.h"

#include <stdlib.h>
#include <string.h>

/*
 * The plan of this file:
 *   1. kiln_assign_clusters (cluster.h): which reductions share a kernel, which values are read
 * from memory and not computed again, and in which order kernels can run
 *   2. collect_items    everything that must be stored: outputs and values that others read
 *   3. draft_groups     one group per cluster, and one per domain and level for the rest
 *   4. absorb           items ride along in groups that compute them anyway
 *   5. check_clusters   a cluster that is too much for one kernel: its reductions get kernels of
 * their own, and all begins again, MAX_ROUNDS times at most
 *   6. append_drafts    pointwise groups are split until they fit the target's registers and the
 * kernel limits
 *   7. place_workspace  offsets of what lives between kernels
 */

/* What did not fit into one cluster may turn up in the next one, each time: with thousands of
 * clusters that would take minutes. */
enum { MAX_ROUNDS = 16 };

const char *kiln_boundary_text(enum kiln_boundary boundary)
{
    static const char *const texts[] = {
#define KILN_BOUNDARY(name, text) text,
#include "compiler/fuse/boundary.def"
    };
    return texts[boundary];
}

uint32_t kiln_group_position(const struct kiln_fusion_group *group, uint32_t value)
{
    uint32_t low = 0; /* they ascend */
    uint32_t high = group->op_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (group->ops[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < group->op_count && group->ops[low] == value ? low : KILN_NONE;
}

static void collect_items(struct kiln_group_builder *builder)
{
    const struct kiln_ir *ir = builder->ir;
    builder->item_count = 0;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        struct kiln_group_item item = {
            .value = i,
            .store = builder->store_op[i],
            .boundary = builder->options->no_fusion ? KILN_BOUNDARY_NO_FUSION
                        : builder->needed[i]        ? KILN_BOUNDARY_RECOMPUTE
                                                    : KILN_BOUNDARY_DOMAIN,
        };
        if (builder->needed[i] && item.store == KILN_NONE)
            builder->items[builder->item_count++] = item;
        for (; item.store != KILN_NONE; item.store = builder->next_store[item.store])
            builder->items[builder->item_count++] = item;
    }
}

/* A group to be: a cluster with its items, or items of one domain and level. */
struct group_draft {
    uint32_t cluster; /* KILN_NONE: pointwise */
    uint32_t domain;
    uint32_t level;
    uint32_t number;      /* as in draft_of, whatever the order */
    uint32_t first_value; /* decides the order within a level */
    uint32_t item_count;
    enum kiln_boundary boundary;
};

struct drafting {
    struct group_draft *drafts;
    uint32_t count;
    uint32_t *draft_of; /* per item */
    uint32_t *items;    /* of one draft, ascending */
};

/* An item's draft: of its cluster; else of its domain and level; without fusion, of its value
 * alone.
 */
static uint32_t find_draft(const struct kiln_group_builder *builder,
                           const struct drafting *drafting, uint32_t index)
{
    const struct kiln_group_item *item = &builder->items[index];
    uint32_t cluster = kiln_cluster_of(builder, item->value);
    uint32_t level = kiln_value_level(builder, item->value);
    if (builder->options->no_fusion && cluster == KILN_NONE)
        return index != 0 && item[-1].value == item->value ? drafting->draft_of[index - 1]
                                                           : KILN_NONE;
    for (uint32_t i = 0; i < drafting->count; i++) {
        const struct group_draft *draft = &drafting->drafts[i];
        if (draft->cluster == cluster &&
            (cluster != KILN_NONE ||
             (draft->domain == builder->ir->ops[item->value].domain && draft->level == level)))
            return i;
    }
    return KILN_NONE;
}

static void draft_clusters(const struct kiln_group_builder *builder, struct drafting *drafting)
{
    for (uint32_t i = 0; i < builder->cluster_count; i++) {
        const struct kiln_cluster *cluster = &builder->clusters[i];
        if (cluster->merged_into != KILN_NONE)
            continue;
        uint32_t first = 0;
        while (!kiln_cluster_has_reduction(builder, i, first))
            first++;
        bool is_combine = cluster->kind == KILN_GROUP_COMBINE;
        drafting->drafts[drafting->count] = (struct group_draft){
            .cluster = i,
            .domain = cluster->domain,
            .level = cluster->level,
            .number = drafting->count,
            .first_value = first,
            .boundary = builder->options->no_fusion ? KILN_BOUNDARY_NO_FUSION
                        : is_combine                ? KILN_BOUNDARY_SEGMENTS
                                                    : KILN_BOUNDARY_REDUCTION,
        };
        drafting->count++;
    }
}

static void draft_groups(const struct kiln_group_builder *builder, struct drafting *drafting)
{
    draft_clusters(builder, drafting);
    for (uint32_t i = 0; i < builder->item_count; i++) {
        const struct kiln_group_item *item = &builder->items[i];
        uint32_t found = find_draft(builder, drafting, i);
        if (found == KILN_NONE) {
            found = drafting->count;
            drafting->drafts[drafting->count++] =
                (struct group_draft){.cluster = KILN_NONE,
                                     .number = found,
                                     .domain = builder->ir->ops[item->value].domain,
                                     .level = kiln_value_level(builder, item->value),
                                     .first_value = item->value,
                                     .boundary = item->boundary};
        }
        drafting->draft_of[i] = found;
        drafting->drafts[found].item_count++;
    }
}

/* Fills drafting->items. */
static void list_items(const struct kiln_group_builder *builder, struct drafting *drafting,
                       uint32_t draft)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < builder->item_count; i++) {
        if (drafting->draft_of[i] == draft)
            drafting->items[count++] = i;
    }
}

static void move_item(struct drafting *drafting, uint32_t item, uint32_t draft)
{
    drafting->drafts[drafting->draft_of[item]].item_count--;
    drafting->drafts[draft].item_count++;
    drafting->draft_of[item] = draft;
}

/* Whether a draft could take in another's items: its domain is larger and reached by repeating the
 * other's. */
static bool could_absorb(const struct kiln_ir *ir, const struct group_draft *large,
                         const struct group_draft *small)
{
    const struct kiln_domain *from = &ir->domains[small->domain];
    const struct kiln_domain *to = &ir->domains[large->domain];
    return large->cluster == KILN_NONE && small->cluster == KILN_NONE &&
           large->level == small->level && large->domain != small->domain &&
           kiln_domain_broadcasts_to(from, to) &&
           kiln_domain_elements(from) < kiln_domain_elements(to);
}

/* Moves items of smaller domains into a larger group that computes them anyway. */
static void absorb_small_domains(struct kiln_group_builder *builder, struct drafting *drafting)
{
    for (uint32_t large = 0; large < drafting->count; large++) {
        if (drafting->drafts[large].item_count == 0)
            continue;
        bool computed = false;
        for (uint32_t i = 0; i < builder->item_count; i++) {
            uint32_t small = drafting->draft_of[i];
            if (!could_absorb(builder->ir, &drafting->drafts[large], &drafting->drafts[small]))
                continue;
            if (!computed) {
                list_items(builder, drafting, large);
                kiln_group_closure(builder, KILN_NONE, drafting->items,
                                   drafting->drafts[large].item_count);
                computed = true;
            }
            if (kiln_group_computes(builder, builder->items[i].value))
                move_item(drafting, i, large);
        }
    }
}

/* Whether a cluster's kernel could store a pointwise draft's item: it walks over the item's
 * elements (or rows), late enough to compute it and early enough for whoever reads it. */
static bool could_ride_along(const struct kiln_group_builder *builder,
                             const struct kiln_cluster *cluster, const struct group_draft *draft,
                             uint32_t value)
{
    if (cluster->is_closed || draft->cluster != KILN_NONE || draft->level > cluster->level ||
        builder->first_reader[value] <= cluster->level)
        return false;
    return draft->domain == cluster->domain ||
           (cluster->kind == KILN_GROUP_REDUCTION && draft->domain == cluster->row_domain);
}

/* Moves pointwise items into the kernel of a cluster that computes them anyway, or loads what they
 * are computed from. */
static void absorb_into_clusters(struct kiln_group_builder *builder, struct drafting *drafting)
{
    for (uint32_t target = 0; target < drafting->count; target++) {
        if (drafting->drafts[target].cluster == KILN_NONE)
            continue;
        const struct kiln_cluster *cluster = &builder->clusters[drafting->drafts[target].cluster];
        bool is_current = false; /* the closure and what shares loads with it */
        for (uint32_t i = 0; i < builder->item_count; i++) {
            uint32_t value = builder->items[i].value;
            const struct group_draft *source = &drafting->drafts[drafting->draft_of[i]];
            if (!could_ride_along(builder, cluster, source, value))
                continue;
            if (!is_current) {
                list_items(builder, drafting, target);
                kiln_group_closure(builder, drafting->drafts[target].cluster, drafting->items,
                                   drafting->drafts[target].item_count);
                kiln_find_sharers_with_closure(builder, cluster->domain);
                is_current = true;
            }
            if (kiln_group_computes(builder, value) ||
                (source->domain == cluster->domain && builder->shares_load[value])) {
                move_item(drafting, i, target);
                is_current = false;
            }
        }
    }
}

static int compare_drafts(const void *left, const void *right)
{
    const struct group_draft *a = left;
    const struct group_draft *b = right;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    if (a->first_value != b->first_value)
        return a->first_value < b->first_value ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* Components of the accumulators that a cluster's kernel stores or loads besides its items. */
static uint32_t accumulator_accesses(const struct kiln_cluster *cluster)
{
    enum { MOST_COMPONENTS = 3 };
    return cluster->kind == KILN_GROUP_REDUCTION ? 0 : MOST_COMPONENTS * cluster->reduction_count;
}

/* Gives the reductions of clusters that are too much for one kernel kernels of their own, in the
 * last round those of all clusters; false when none is too much. */
static bool check_clusters(struct kiln_group_builder *builder, struct drafting *drafting,
                           bool is_last_round)
{
    bool any = false;
    for (uint32_t i = 0; i < drafting->count; i++) {
        const struct group_draft *draft = &drafting->drafts[i];
        if (draft->cluster == KILN_NONE || builder->clusters[draft->cluster].is_closed)
            continue;
        list_items(builder, drafting, i);
        kiln_group_closure(builder, draft->cluster, drafting->items, draft->item_count);
        enum kiln_boundary reason;
        uint32_t stores =
            draft->item_count + accumulator_accesses(&builder->clusters[draft->cluster]);
        if (!kiln_group_exceeds_limits(builder, stores, &reason))
            continue;
        any = true;
        for (uint32_t value = 0; value < builder->ir->op_count; value++) {
            if (kiln_cluster_has_reduction(builder, draft->cluster, value) ||
                (is_last_round && kiln_op_is_reduction(&builder->ir->ops[value])))
                builder->bare[value] = true;
        }
    }
    return any;
}

/* Appends the groups of all drafts, level by level. */
static bool append_drafts(struct kiln_group_builder *builder, struct drafting *drafting)
{
    struct kiln_splitter splitter;
    if (!kiln_splitter_init(&splitter, builder))
        return false;
    qsort(drafting->drafts, drafting->count, sizeof *drafting->drafts, compare_drafts);
    for (uint32_t i = 0; i < drafting->count; i++) {
        const struct group_draft *draft = &drafting->drafts[i];
        list_items(builder, drafting, draft->number);
        bool good = true;
        if (draft->cluster != KILN_NONE)
            good = kiln_group_append_with_copies(&splitter, draft->cluster, draft->boundary,
                                                 drafting->items, draft->item_count);
        else if (draft->item_count != 0)
            good = kiln_group_split_append(&splitter, draft->domain, draft->boundary,
                                           drafting->items, draft->item_count);
        if (!good)
            return false;
    }
    if (builder->group_count != 0)
        builder->groups[0].boundary = KILN_BOUNDARY_FIRST;
    return true;
}

static bool form_groups(struct kiln_group_builder *builder)
{
    /* At most two clusters per reduction, and items as counted in kiln_group_builder_init. */
    size_t most = 2 * (size_t)builder->ir->op_count + 1;
    struct drafting drafting = {
        .drafts = kiln_arena_calloc(builder->arena, 2 * most, sizeof *drafting.drafts),
        .draft_of = kiln_arena_calloc(builder->arena, most, sizeof *drafting.draft_of),
        .items = kiln_arena_calloc(builder->arena, most, sizeof *drafting.items),
    };
    if (drafting.drafts == NULL || drafting.draft_of == NULL || drafting.items == NULL)
        return false;
    uint32_t round = 0;
    do {
        round++;
        kiln_assign_clusters(builder);
        collect_items(builder);
        drafting.count = 0;
        draft_groups(builder, &drafting);
        if (!builder->options->no_fusion) {
            absorb_into_clusters(builder, &drafting);
            absorb_small_domains(builder, &drafting);
        }
    } while (check_clusters(builder, &drafting, round == MAX_ROUNDS));
    return append_drafts(builder, &drafting);
}

/* Which content of the workspace an access means: a value, or a component of its accumulator. */
static uint32_t content_of(const struct kiln_group_builder *builder,
                           const struct kiln_access *access)
{
    enum { CONTENTS_PER_VALUE = 4 };
    if (access->is_accumulator)
        return access->value * CONTENTS_PER_VALUE + 1 + access->component;
    uint32_t value =
        access->is_store ? access->value : kiln_value_in_memory(builder, access->value);
    return value * CONTENTS_PER_VALUE;
}

static uint64_t content_bytes(const struct kiln_group_builder *builder,
                              const struct kiln_fusion_group *group,
                              const struct kiln_access *access)
{
    const struct kiln_ir *ir = builder->ir;
    uint64_t elements = (uint64_t)kiln_domain_elements(&ir->domains[ir->ops[access->value].domain]);
    if (access->is_accumulator)
        elements *= group->segment_count;
    return elements * kiln_dtype_info(access->dtype)->bytes;
}

/* Workspace for every value that a group writes there, alive until the last group that reads it. */
static bool place_workspace(struct kiln_group_builder *builder, struct kiln_partition *partition)
{
    uint32_t store_count = 0;
    for (uint32_t g = 0; g < partition->group_count; g++)
        store_count += partition->groups[g].access_count - partition->groups[g].load_count;
    uint32_t *latest =
        kiln_arena_calloc(builder->arena, 4 * (size_t)builder->ir->op_count, sizeof *latest);
    struct kiln_workspace_value *values =
        kiln_arena_calloc(builder->arena, (size_t)store_count + 1, sizeof *values);
    if (latest == NULL || values == NULL)
        return false;
    /* Until the offsets are known the accesses hold the index of their content. */
    uint32_t count = 0;
    for (uint32_t g = 0; g < partition->group_count; g++) {
        for (uint32_t i = 0; i < partition->groups[g].access_count; i++) {
            struct kiln_access *access = &partition->groups[g].accesses[i];
            if (access->kind != KILN_ARGUMENT_WORKSPACE)
                continue;
            uint32_t content = content_of(builder, access);
            if (access->is_store) {
                latest[content] = count;
                values[count++] = (struct kiln_workspace_value){
                    .bytes = content_bytes(builder, &partition->groups[g], access),
                    .first_group = g};
            }
            access->workspace_offset_bytes = latest[content];
            values[latest[content]].last_group = g;
        }
    }
    partition->workspace_bytes = kiln_workspace_assign(values, count);
    for (uint32_t g = 0; g < partition->group_count; g++) {
        for (uint32_t i = 0; i < partition->groups[g].access_count; i++) {
            struct kiln_access *access = &partition->groups[g].accesses[i];
            if (access->kind == KILN_ARGUMENT_WORKSPACE)
                access->workspace_offset_bytes =
                    values[access->workspace_offset_bytes].offset_bytes;
        }
    }
    return true;
}

enum kiln_status kiln_partition(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                const struct kiln_target *target,
                                const struct kiln_lower_options *options,
                                const struct kiln_partition_strategy *strategy,
                                struct kiln_partition *ret_partition, struct kiln_error *error)
{
    struct kiln_group_builder builder = {.ir = ir,
                                         .graph = graph,
                                         .target = target,
                                         .options = options,
                                         .strategy = strategy,
                                         .arena = ir->arena};
    bool good = kiln_group_builder_init(&builder) && form_groups(&builder);
    struct kiln_partition partition = {
        .groups = builder.groups,
        .group_count = builder.group_count,
        .has_segments = builder.has_segments,
        .has_shared_values = builder.has_shared_values,
    };
    if (!good || !place_workspace(&builder, &partition))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while partitioning the graph");
    *ret_partition = partition;
    return KILN_OK;
}
