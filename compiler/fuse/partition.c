#include "compiler/fuse/partition.h"

#include "compiler/fuse/accumulator.h"
#include "compiler/fuse/boundaries.h"
#include "compiler/fuse/closure.h"
#include "compiler/fuse/cluster.h"
#include "compiler/fuse/drafts.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/split_group.h"
#include "compiler/fuse/workspace.h"

#include <stdlib.h>
#include <string.h>

/*
 * The plan of this file:
 *   1. kiln_assign_clusters (cluster.h) decides the core operations that share a kernel, the
 *      values read from memory instead of computed again, and the order of kernels.
 *   2. kiln_draft_groups (drafts.h) drafts a group per cluster, and one per domain and level for
 *      the rest. They store all outputs and all values that others read. A value that a group
 *      computes anyway rides along.
 *   3. check_clusters breaks up each cluster that is too much for one kernel. Its core operations
 *      get kernels of their own, and everything starts over, at most MAX_ROUNDS times.
 *   4. append_drafts splits groups without a cluster until they fit the target's registers and
 *      the kernel limits.
 *   5. place_workspace assigns offsets to the values that live between kernels.
 *
 * All of this counts its steps. When they run out, kernels are formed without fusion: each core
 * operation gets its own. A kernel then evaluates one node, so the work is proportional to the
 * graph's size.
 */

/* What did not fit into one cluster may turn up in the next one, each time: with thousands of
 * clusters that would take minutes. */
enum { MAX_ROUNDS = 16 };

static int compare_drafts(const void *left, const void *right)
{
    const struct kiln_group_draft *a = left;
    const struct kiln_group_draft *b = right;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    if (a->first_value != b->first_value)
        return a->first_value < b->first_value ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* Components of the accumulators that a cluster's kernel stores or loads besides its items. */
static uint32_t accumulator_accesses(const struct kiln_cluster *cluster)
{
    return cluster->role == KILN_ROLE_WHOLE ? 0
                                            : KILN_ACCUMULATOR_MAX_COMPONENTS * cluster->core_count;
}

/* True if one kernel cannot do the work of this draft; sets the reason. */
static bool is_too_much(struct kiln_group_builder *builder, const struct kiln_drafting *drafting,
                        const struct kiln_group_draft *draft, enum kiln_boundary *ret_reason)
{
    const uint32_t *items = kiln_draft_items(drafting, draft->number);
    uint32_t stores = draft->item_count + accumulator_accesses(&builder->clusters[draft->cluster]);
    *ret_reason = KILN_BOUNDARY_SIZE;
    if (!kiln_closure_begin(builder, draft->cluster, items, draft->item_count, KILN_GROUP_MAX_OPS))
        return true;
    kiln_closure_finish(builder);
    return kiln_group_exceeds_limits(builder, stores, ret_reason);
}

static void set_all_bare(struct kiln_group_builder *builder)
{
    for (uint32_t i = 0; i < builder->ir->op_count; i++) {
        if (builder->bare[i] || !kiln_op_is_core(&builder->ir->ops[i]))
            continue;
        builder->bare[i] = true;
        builder->why_bare[i] = KILN_BOUNDARY_PLAIN;
    }
}

/* Breaks up clusters that are too much for one kernel: each of their core operations gets its own.
 * In the last round, one such cluster breaks up all. Returns false if there was none. */
static bool check_clusters(struct kiln_group_builder *builder, const struct kiln_drafting *drafting,
                           bool is_last_round)
{
    bool any = false;
    enum kiln_boundary reason;
    for (uint32_t i = 0; i < drafting->count && kiln_may_go_on(builder); i++) {
        const struct kiln_group_draft *draft = &drafting->drafts[i];
        if (draft->cluster == KILN_NONE || builder->clusters[draft->cluster].is_closed ||
            !is_too_much(builder, drafting, draft, &reason))
            continue;
        any = true;
        for (uint32_t value = builder->clusters[draft->cluster].first_core; value != KILN_NONE;
             value = builder->next_core[value]) {
            builder->bare[value] = true;
            builder->why_bare[value] = reason;
        }
    }
    if (any && is_last_round)
        set_all_bare(builder);
    return any;
}

/* Appends the groups of all drafts, level by level. */
static bool append_drafts(struct kiln_group_builder *builder, struct kiln_drafting *drafting)
{
    struct kiln_splitter splitter;
    if (!kiln_splitter_init(&splitter, builder))
        return false;
    qsort(drafting->drafts, drafting->count, sizeof *drafting->drafts, compare_drafts);
    if (!kiln_find_boundaries(builder, drafting))
        return false;
    for (uint32_t i = 0; i < drafting->count; i++) {
        const struct kiln_group_draft *draft = &drafting->drafts[i];
        const uint32_t *items = kiln_draft_items(drafting, draft->number);
        bool good = kiln_may_go_on(builder);
        if (draft->cluster != KILN_NONE)
            good = good && kiln_group_append_with_copies(&splitter, draft->cluster, draft->boundary,
                                                         items, draft->item_count);
        else if (draft->item_count != 0)
            good = good && kiln_group_split_append(&splitter, draft->domain, draft->boundary, items,
                                                   draft->item_count);
        if (!good)
            return false;
    }
    if (builder->group_count != 0)
        builder->groups[0].boundary = KILN_BOUNDARY_FIRST;
    return true;
}

/* False: memory is out, or kiln_may_go_on. */
static bool form_groups(struct kiln_group_builder *builder)
{
    struct kiln_drafting drafting;
    if (!kiln_drafting_init(&drafting, builder))
        return false;
    uint32_t round = 0;
    do {
        round++;
        if (!kiln_assign_clusters(builder))
            return false;
        kiln_draft_groups(builder, &drafting);
    } while (check_clusters(builder, &drafting, round == MAX_ROUNDS));
    return append_drafts(builder, &drafting);
}

/* A value itself, and the components of its accumulator. */
enum { CONTENTS_PER_VALUE = 1 + KILN_ACCUMULATOR_MAX_COMPONENTS };

/* Which content of the workspace an access means: a value, or a component of its accumulator. */
static uint32_t content_of(const struct kiln_group_builder *builder,
                           const struct kiln_access *access)
{
    if (access->is_accumulator)
        return access->value * CONTENTS_PER_VALUE + 1 + access->component;
    uint32_t value =
        access->is_store ? access->value : kiln_value_in_memory(builder, access->value);
    return value * CONTENTS_PER_VALUE;
}

static void name_contents(const struct kiln_group_builder *builder,
                          struct kiln_partition *partition)
{
    for (uint32_t g = 0; g < partition->group_count; g++) {
        for (uint32_t i = 0; i < partition->groups[g].access_count; i++) {
            struct kiln_access *access = &partition->groups[g].accesses[i];
            if (access->kind == KILN_ARGUMENT_WORKSPACE)
                access->workspace_content = content_of(builder, access);
        }
    }
}

static uint64_t content_bytes(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                              const struct kiln_access *access)
{
    uint64_t elements = (uint64_t)kiln_domain_elements(&ir->domains[ir->ops[access->value].domain]);
    if (access->is_accumulator)
        elements *= group->segment_count;
    return (uint64_t)kiln_dtype_memory_bytes(access->dtype, (int64_t)elements);
}

/* Workspace for every value that a group writes there, alive until the last group that reads it.
 * False when memory is out. */
static bool place_workspace_with(const struct kiln_ir *ir, struct kiln_arena *scratch,
                                 struct kiln_partition *partition)
{
    uint32_t store_count = 0;
    for (uint32_t g = 0; g < partition->group_count; g++)
        store_count += partition->groups[g].access_count - partition->groups[g].load_count;
    uint32_t *latest =
        kiln_arena_calloc(scratch, CONTENTS_PER_VALUE * (size_t)ir->op_count, sizeof *latest);
    struct kiln_workspace_value *values =
        kiln_arena_calloc(scratch, (size_t)store_count + 1, sizeof *values);
    if (latest == NULL || values == NULL)
        return false;
    /* Until the offsets are known the accesses hold the index of their content. */
    uint32_t count = 0;
    for (uint32_t g = 0; g < partition->group_count; g++) {
        for (uint32_t i = 0; i < partition->groups[g].access_count; i++) {
            struct kiln_access *access = &partition->groups[g].accesses[i];
            if (access->kind != KILN_ARGUMENT_WORKSPACE)
                continue;
            uint32_t content = access->workspace_content;
            if (access->is_store) {
                latest[content] = count;
                values[count++] = (struct kiln_workspace_value){
                    .bytes = content_bytes(ir, &partition->groups[g], access), .first_group = g};
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

static bool place_workspace(const struct kiln_ir *ir, struct kiln_partition *partition)
{
    struct kiln_arena scratch;
    kiln_arena_init(&scratch);
    bool good = place_workspace_with(ir, &scratch, partition);
    kiln_arena_fini(&scratch);
    return good;
}

enum kiln_status kiln_partition_place(const struct kiln_ir *ir, struct kiln_partition *partition,
                                      struct kiln_error *error)
{
    if (!place_workspace(ir, partition))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while placing the workspace");
    return KILN_OK;
}

void kiln_partition_set_segments(struct kiln_partition *partition, uint32_t index,
                                 uint32_t segment_count)
{
    struct kiln_fusion_group *group = &partition->groups[index];
    group->segment_count = segment_count;
    uint32_t content = KILN_NONE;
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (group->accesses[i].is_accumulator)
            content = group->accesses[i].workspace_content;
    }
    for (uint32_t g = index + 1; g < partition->group_count; g++) {
        struct kiln_fusion_group *other = &partition->groups[g];
        for (uint32_t i = 0; i < other->load_count; i++) {
            if (other->accesses[i].is_accumulator &&
                other->accesses[i].workspace_content == content)
                other->segment_count = segment_count;
        }
    }
}

/* Copies what the partition keeps of a builder's arrays; NULL when memory is out. */
static void *keep(const struct kiln_group_builder *builder, const void *items, uint32_t count,
                  size_t bytes)
{
    void *kept = kiln_arena_calloc(builder->ir->arena, count, bytes);
    if (kept != NULL && count != 0)
        memcpy(kept, items, count * bytes);
    return kept;
}

static bool finish(const struct kiln_group_builder *builder, struct kiln_partition *ret_partition)
{
    *ret_partition = (struct kiln_partition){
        .groups = keep(builder, builder->groups, builder->group_count, sizeof *builder->groups),
        .group_count = builder->group_count,
        .choices = builder->choices,
        .broken = builder->broken,
        .is_plain = builder->is_plain,
        .steps = builder->steps,
    };
    if (ret_partition->groups == NULL)
        return false;
    name_contents(builder, ret_partition);
    return place_workspace(builder->ir, ret_partition);
}

/* Lets each family allocate what it keeps, and look at the program. */
static bool begin_families(struct kiln_group_builder *builder)
{
    for (uint32_t f = 0; f < KILN_FAMILY_COUNT; f++) {
        const struct kiln_fuse_family *family = kiln_fuse_family((enum kiln_kernel_family)f);
        if (family->begin != NULL && !family->begin(builder))
            return false;
    }
    return true;
}

/* Forms the groups with one builder, in so many steps; false when memory or the steps run out. */
static bool partition_with(struct kiln_group_builder *builder, struct kiln_partition *ret_partition)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    builder->arena = &arena;
    bool good = kiln_group_builder_init(builder) && begin_families(builder);
    if (good && builder->is_plain)
        set_all_bare(builder);
    good = good && form_groups(builder) && finish(builder, ret_partition);
    kiln_arena_fini(&arena);
    builder->arena = NULL;
    return good;
}

enum kiln_status kiln_partition(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                const struct kiln_target *target,
                                const struct kiln_lower_options *options,
                                const struct kiln_partition_strategy *strategy,
                                struct kiln_partition *ret_partition, struct kiln_error *error)
{
    struct kiln_group_builder builder = {
        .ir = ir,
        .graph = graph,
        .target = target,
        .options = options,
        .strategy = strategy,
        .max_steps = strategy->max_steps != 0 ? strategy->max_steps : KILN_PARTITION_MAX_STEPS};
    struct kiln_lower_options plain_options = *options;
    plain_options.no_fusion = true;
    struct kiln_group_builder plain = builder;
    plain.options = &plain_options;
    plain.is_plain = true;
    plain.max_steps = UINT64_MAX;
    bool good = partition_with(&builder, ret_partition);
    if (!good && builder.steps > builder.max_steps) {
        plain.steps = builder.steps;
        good = partition_with(&plain, ret_partition);
    }
    if (!good)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while partitioning the graph");
    return KILN_OK;
}
