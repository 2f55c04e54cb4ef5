#include "compiler/fuse/boundaries.h"

#include "compiler/fuse/closure.h"
#include "compiler/fuse/cluster.h"
#include "compiler/fuse/fuse_family.h"

enum {
    MOST_LOOKED_AT = 32, /* drafts of one domain that one of them is compared with */
    MOST_CLOSURES = 64,  /* of one partition: they are for words alone */
};

/* A draft's place in the list of a domain that its kernel walks over: of elements, or of rows. */
struct entry {
    uint32_t draft;
    bool is_row;
    uint32_t next; /* KILN_NONE at the end */
};

struct search {
    struct kiln_group_builder *builder;
    struct kiln_drafting *drafting;
    uint32_t *first_of; /* per domain */
    struct entry *entries;
    uint32_t entry_count;
    bool *has_kernel; /* per node: an earlier draft does work of it */
    uint32_t closures;
};

static const struct kiln_cluster *cluster_of(const struct search *search,
                                             const struct kiln_group_draft *draft)
{
    return draft->cluster == KILN_NONE ? NULL : &search->builder->clusters[draft->cluster];
}

static void add_entry(struct search *search, uint32_t domain, uint32_t draft, bool is_row)
{
    search->entries[search->entry_count] =
        (struct entry){.draft = draft, .is_row = is_row, .next = search->first_of[domain]};
    search->first_of[domain] = search->entry_count++;
}

/* Lists the kernels that walk over each domain, in the order of groups. */
static bool list_by_domain(struct search *search)
{
    const struct kiln_drafting *drafting = search->drafting;
    struct kiln_arena *arena = search->builder->arena;
    uint32_t domains = search->builder->ir->domain_count;
    search->first_of = kiln_arena_calloc(arena, (size_t)domains + 1, sizeof *search->first_of);
    search->entries =
        kiln_arena_calloc(arena, 2 * (size_t)drafting->count + 1, sizeof *search->entries);
    search->has_kernel = kiln_arena_calloc(arena, (size_t)search->builder->graph->node_count + 1,
                                           sizeof *search->has_kernel);
    if (search->first_of == NULL || search->entries == NULL || search->has_kernel == NULL)
        return false;
    for (uint32_t i = 0; i < domains; i++)
        search->first_of[i] = KILN_NONE;
    for (uint32_t i = drafting->count; i-- > 0;) {
        const struct kiln_group_draft *draft = &drafting->drafts[i];
        const struct kiln_cluster *cluster = cluster_of(search, draft);
        if (cluster == NULL && draft->item_count == 0)
            continue;
        add_entry(search, draft->domain, i, false);
        if (cluster != NULL && cluster->row_domain != cluster->domain &&
            cluster->role != KILN_ROLE_PARTIAL)
            add_entry(search, cluster->row_domain, i, true);
    }
    return true;
}

static bool shares_load(const struct kiln_group_builder *builder, uint32_t value)
{
    struct kiln_load_set set = kiln_load_set_of(&builder->load_sets, value);
    for (uint32_t i = 0; set.loads != NULL && i < set.count; i++) {
        if (kiln_closure_loads(builder, set.loads[i]))
            return true;
    }
    return false;
}

/* Why a cluster's kernel, late and early enough, does not store an item too. */
static enum kiln_boundary why_no_ride(struct search *search, const struct kiln_group_draft *other,
                                      uint32_t value, bool is_row)
{
    struct kiln_group_builder *builder = search->builder;
    const uint32_t *items = kiln_draft_items(search->drafting, other->number);
    if (search->closures++ >= MOST_CLOSURES)
        return KILN_BOUNDARY_OWN_WORK;
    if (!kiln_closure_begin(builder, other->cluster, items, other->item_count, KILN_GROUP_MAX_OPS))
        return KILN_BOUNDARY_SIZE;
    if (kiln_group_computes(builder, value))
        return KILN_BOUNDARY_SIZE;
    if (!shares_load(builder, value))
        return KILN_BOUNDARY_UNRELATED;
    return is_row ? KILN_BOUNDARY_OWN_WORK : KILN_BOUNDARY_SIZE;
}

/* Why another kernel of its shape does not do the work of a draft without a cluster. */
static enum kiln_boundary why_not_there(struct search *search, const struct kiln_group_draft *draft,
                                        const struct kiln_group_draft *other, bool is_row)
{
    const struct kiln_group_builder *builder = search->builder;
    const struct kiln_cluster *cluster = cluster_of(search, other);
    if (other->level < draft->level)
        return KILN_BOUNDARY_NEEDS;
    if (cluster == NULL && other->level == draft->level) /* else they were one draft */
        return KILN_BOUNDARY_NO_FUSION;
    if (cluster == NULL || builder->first_reader[draft->first_value] <= other->level)
        return KILN_BOUNDARY_EARLIER;
    if (cluster->is_closed)
        return (enum kiln_boundary)builder->why_bare[cluster->first_core];
    if (!kiln_fuse_family(cluster->family)->may_ride_along)
        return KILN_BOUNDARY_OWN_WORK;
    return why_no_ride(search, other, draft->first_value, is_row);
}

/* Several kernels could have taken the work in. The reason comes from the one that failed at the
 * last check. */
static bool is_nearer(enum kiln_boundary reason, enum kiln_boundary than)
{
    static const enum kiln_boundary checks[] = {KILN_BOUNDARY_NO_FUSION, KILN_BOUNDARY_NEEDS,
                                                KILN_BOUNDARY_EARLIER,   KILN_BOUNDARY_OWN_WORK,
                                                KILN_BOUNDARY_UNRELATED, KILN_BOUNDARY_PLAIN,
                                                KILN_BOUNDARY_SIZE,      KILN_BOUNDARY_REGISTERS};
    uint32_t of_reason = 0;
    uint32_t of_other = 0;
    for (uint32_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        of_reason = checks[i] == reason ? i + 1 : of_reason;
        of_other = checks[i] == than ? i + 1 : of_other;
    }
    return of_reason > of_other;
}

static enum kiln_boundary find_without_cluster(struct search *search, uint32_t index)
{
    const struct kiln_group_builder *builder = search->builder;
    const struct kiln_group_draft *draft = &search->drafting->drafts[index];
    const uint32_t *items = kiln_draft_items(search->drafting, draft->number);
    for (uint32_t i = 0; i < draft->item_count; i++) {
        uint32_t value = builder->items[items[i]].value;
        if (builder->needed[value])
            return (enum kiln_boundary)builder->why_cut[value];
    }
    enum kiln_boundary reason = kiln_family_boundary(KILN_FAMILY_FIRST);
    uint32_t looked_at = 0;
    for (uint32_t at = search->first_of[draft->domain];
         at != KILN_NONE && looked_at < MOST_LOOKED_AT; at = search->entries[at].next) {
        const struct entry *entry = &search->entries[at];
        if (entry->draft == index)
            continue;
        enum kiln_boundary other =
            why_not_there(search, draft, &search->drafting->drafts[entry->draft], entry->is_row);
        if (is_nearer(other, reason))
            reason = other;
        looked_at++;
    }
    return reason;
}

/* Why an earlier kernel that walks over the same elements and reduces the same axes does not do a
 * cluster's work. */
static enum kiln_boundary why_not_in(const struct search *search, const struct kiln_cluster *own,
                                     const struct kiln_cluster *other)
{
    if (other->level < own->level)
        return KILN_BOUNDARY_NEEDS;
    if (other->is_closed)
        return (enum kiln_boundary)search->builder->why_bare[other->first_core];
    if (other->core_count >= KILN_CLUSTER_MAX_CORES)
        return KILN_BOUNDARY_SIZE;
    return kiln_fuse_family(own->family)->may_ride_along ? KILN_BOUNDARY_UNRELATED : own->boundary;
}

static enum kiln_boundary find_for_cluster(struct search *search, uint32_t index)
{
    const struct kiln_group_draft *draft = &search->drafting->drafts[index];
    const struct kiln_cluster *cluster = cluster_of(search, draft);
    enum kiln_boundary reason = cluster->boundary;
    uint32_t looked_at = 0;
    if (cluster->role == KILN_ROLE_COMBINE)
        return reason;
    if (cluster->is_closed)
        return (enum kiln_boundary)search->builder->why_bare[cluster->first_core];
    for (uint32_t at = search->first_of[draft->domain];
         at != KILN_NONE && looked_at < MOST_LOOKED_AT; at = search->entries[at].next) {
        const struct entry *entry = &search->entries[at];
        const struct kiln_cluster *other =
            cluster_of(search, &search->drafting->drafts[entry->draft]);
        if (entry->draft >= index)
            break;
        if (entry->is_row || other == NULL || other->axes != cluster->axes ||
            other->role == KILN_ROLE_COMBINE)
            continue;
        enum kiln_boundary found = why_not_in(search, cluster, other);
        if (is_nearer(found, reason))
            reason = found;
        looked_at++;
    }
    return reason;
}

/* Without fusion each node has kernels of its own; where a node has several, theirs are the reasons
 * that they would have with fusion. */
static enum kiln_boundary find_boundary(struct search *search, uint32_t index)
{
    const struct kiln_group_builder *builder = search->builder;
    const struct kiln_group_draft *draft = &search->drafting->drafts[index];
    const struct kiln_cluster *cluster = cluster_of(search, draft);
    uint32_t node = cluster != NULL ? cluster->node : builder->ir->ops[draft->first_value].node;
    bool *has_kernel = &search->has_kernel[node];
    bool is_first = !*has_kernel;
    *has_kernel = true;
    if (is_first && builder->is_plain)
        return KILN_BOUNDARY_PLAIN;
    if (is_first && builder->options->no_fusion)
        return KILN_BOUNDARY_NO_FUSION;
    enum kiln_boundary reason = draft->cluster == KILN_NONE ? find_without_cluster(search, index)
                                                            : find_for_cluster(search, index);
    return reason == KILN_BOUNDARY_NO_FUSION && builder->is_plain ? KILN_BOUNDARY_PLAIN : reason;
}

bool kiln_find_boundaries(struct kiln_group_builder *builder, struct kiln_drafting *drafting)
{
    struct search search = {.builder = builder, .drafting = drafting};
    uint64_t steps = builder->steps;
    if (!list_by_domain(&search))
        return false;
    for (uint32_t i = 0; i < drafting->count; i++) {
        struct kiln_group_draft *draft = &drafting->drafts[i];
        if (draft->cluster != KILN_NONE || draft->item_count != 0)
            draft->boundary = find_boundary(&search, i);
    }
    builder->steps = steps;
    return true;
}
