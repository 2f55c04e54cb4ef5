#include "compiler/fuse/partition.h"

#include "compiler/fuse/group_builder.h"
#include "compiler/fuse/split_group.h"
#include "compiler/fuse/workspace.h"

#include <stdlib.h>
#include <string.h>

/*
 * The plan of this file:
 *   1. mark_cuts        which broadcasts read their operand from memory, not computing it again
 *   2. collect_items    everything that must be stored: outputs and cut values
 *   3. draft_groups     one group per domain and level
 *   4. absorb_small_domains: small domains ride along in larger ones
 *   5. append_drafts    each split until it fits the target's registers and the kernel limits
 *   6. place_workspace  offsets of what lives between kernels
 * A level counts the cuts below a value: groups of one level never read what another of that level
 * writes.
 */

enum {
    /* A broadcast value is computed again unless its expression costs more than this many simple
     * operations and is repeated that often over a domain that large: below, a kernel launch costs
     * more. */
    RECOMPUTE_MAX_COST = 64,
    RECOMPUTE_MIN_REPEATS = 8,
    RECOMPUTE_MIN_ELEMENTS = 65536,
};

const char *kiln_boundary_text(enum kiln_boundary boundary)
{
    static const char *const texts[] = {
#define KILN_BOUNDARY(name, text) text,
#include "compiler/fuse/boundary.def"
    };
    return texts[boundary];
}

/* Cost of computing a value from loads, counted up to RECOMPUTE_MAX_COST + 1. */
static uint32_t recompute_cost(struct kiln_group_builder *builder, uint32_t value)
{
    uint32_t cost = 0;
    uint32_t depth = 0;
    uint32_t mark = ++builder->stamp_now;
    builder->stack[depth++] = value;
    builder->stamp[value] = mark;
    while (depth > 0 && cost <= RECOMPUTE_MAX_COST) {
        const struct kiln_op *op = &builder->ir->ops[builder->stack[--depth]];
        if (kiln_op_is_source(op))
            continue;
        cost += kiln_op_cost(op);
        for (uint32_t i = 0; i < kiln_opcode_info(op->opcode)->arity; i++) {
            uint32_t operand = op->operands[i];
            if (builder->stamp[operand] != mark) {
                builder->stamp[operand] = mark;
                builder->stack[depth++] = operand;
            }
        }
    }
    return cost;
}

static void mark_cuts(struct kiln_group_builder *builder)
{
    const struct kiln_ir *ir = builder->ir;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        if (builder->options->no_fusion)
            builder->cut[i] = kiln_op_is_result(op);
        if (op->opcode != KILN_OP_BROADCAST || builder->options->no_fusion)
            continue;
        const struct kiln_op *operand = &ir->ops[op->operands[0]];
        if (!kiln_op_is_result(operand))
            continue;
        int64_t elements = kiln_domain_elements(&ir->domains[op->domain]);
        int64_t repeats = elements / kiln_domain_elements(&ir->domains[operand->domain]);
        if (elements >= RECOMPUTE_MIN_ELEMENTS && repeats >= RECOMPUTE_MIN_REPEATS &&
            recompute_cost(builder, op->operands[0]) > RECOMPUTE_MAX_COST)
            builder->reads_memory[i] = true;
    }
}

static void collect_items(struct kiln_group_builder *builder)
{
    const struct kiln_ir *ir = builder->ir;
    bool *needed = builder->is_load; /* borrowed: not in use yet */
    memset(needed, 0, ir->op_count * sizeof *needed);
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        builder->level[i] = 0;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            uint32_t operand = op->operands[k];
            bool from_memory = builder->reads_memory[i] || builder->cut[operand];
            uint32_t level = builder->level[operand] + (from_memory && op->opcode != KILN_OP_STORE);
            if (level > builder->level[i])
                builder->level[i] = level;
            if (from_memory && op->opcode != KILN_OP_STORE)
                needed[operand] = true;
        }
    }
    for (uint32_t i = 0; i < ir->op_count; i++) {
        struct kiln_group_item item = {
            .value = i,
            .store = builder->store_op[i],
            .level = builder->level[i],
            .boundary = builder->options->no_fusion ? KILN_BOUNDARY_NO_FUSION
                        : needed[i]                 ? KILN_BOUNDARY_RECOMPUTE
                                                    : KILN_BOUNDARY_DOMAIN,
        };
        if (needed[i] && item.store == KILN_NONE)
            builder->items[builder->item_count++] = item;
        for (; item.store != KILN_NONE; item.store = builder->next_store[item.store])
            builder->items[builder->item_count++] = item;
    }
}

/* A group to be: items of one domain and level. */
struct group_draft {
    uint32_t domain;
    uint32_t level;
    uint32_t number;     /* as in draft_of, whatever the order */
    uint32_t first_item; /* decides the order within a level */
    uint32_t item_count;
    enum kiln_boundary boundary;
};

struct drafting {
    struct group_draft *drafts;
    uint32_t count;
    uint32_t *draft_of; /* per item */
    uint32_t *items;    /* of one draft, ascending */
};

/* An item's draft: of its domain and level; without fusion, of its value alone. */
static uint32_t find_draft(const struct kiln_group_builder *builder,
                           const struct drafting *drafting, uint32_t index)
{
    const struct kiln_group_item *item = &builder->items[index];
    if (builder->options->no_fusion)
        return index != 0 && item[-1].value == item->value ? drafting->draft_of[index - 1]
                                                           : KILN_NONE;
    for (uint32_t i = 0; i < drafting->count; i++) {
        if (drafting->drafts[i].domain == builder->ir->ops[item->value].domain &&
            drafting->drafts[i].level == item->level)
            return i;
    }
    return KILN_NONE;
}

static void draft_groups(const struct kiln_group_builder *builder, struct drafting *drafting)
{
    for (uint32_t i = 0; i < builder->item_count; i++) {
        const struct kiln_group_item *item = &builder->items[i];
        uint32_t found = find_draft(builder, drafting, i);
        if (found == KILN_NONE) {
            found = drafting->count++;
            drafting->drafts[found] =
                (struct group_draft){.number = found,
                                     .domain = builder->ir->ops[item->value].domain,
                                     .level = item->level,
                                     .first_item = i,
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

/* Whether a draft could take in another's items: its domain is larger and reached by repeating the
 * other's. */
static bool could_absorb(const struct kiln_ir *ir, const struct group_draft *large,
                         const struct group_draft *small)
{
    const struct kiln_domain *from = &ir->domains[small->domain];
    const struct kiln_domain *to = &ir->domains[large->domain];
    return large->level == small->level && large->domain != small->domain &&
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
                kiln_group_closure(builder, drafting->items, drafting->drafts[large].item_count);
                computed = true;
            }
            uint32_t value = builder->items[i].value;
            if (!kiln_group_computes(builder, value))
                continue;
            drafting->draft_of[i] = large;
            drafting->drafts[small].item_count--;
            drafting->drafts[large].item_count++;
        }
    }
}

static int compare_drafts(const void *left, const void *right)
{
    const struct group_draft *a = left;
    const struct group_draft *b = right;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    return (a->first_item > b->first_item) - (a->first_item < b->first_item);
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
        if (draft->item_count == 0)
            continue;
        list_items(builder, drafting, draft->number);
        if (!kiln_group_split_append(&splitter, draft->domain, draft->boundary, drafting->items,
                                     draft->item_count))
            return false;
    }
    if (builder->group_count != 0)
        builder->groups[0].boundary = KILN_BOUNDARY_FIRST;
    return true;
}

static bool form_groups(struct kiln_group_builder *builder)
{
    struct drafting drafting = {
        .drafts = kiln_arena_calloc(builder->arena, builder->item_count, sizeof *drafting.drafts),
        .draft_of =
            kiln_arena_calloc(builder->arena, builder->item_count, sizeof *drafting.draft_of),
        .items = kiln_arena_calloc(builder->arena, builder->item_count, sizeof *drafting.items),
    };
    if (drafting.drafts == NULL || drafting.draft_of == NULL || drafting.items == NULL)
        return false;
    draft_groups(builder, &drafting);
    if (!builder->options->no_fusion)
        absorb_small_domains(builder, &drafting);
    return append_drafts(builder, &drafting);
}

/* Workspace for every value that a group writes there, alive until the last group that reads it. */
static bool place_workspace(struct kiln_group_builder *builder, struct kiln_partition *partition)
{
    const struct kiln_ir *ir = builder->ir;
    uint32_t store_count = 0;
    for (uint32_t g = 0; g < partition->group_count; g++)
        store_count += partition->groups[g].access_count - partition->groups[g].load_count;
    uint32_t *latest =
        kiln_arena_calloc(builder->arena, ir->op_count, sizeof *latest); /* per value */
    struct kiln_workspace_value *values =
        kiln_arena_calloc(builder->arena, store_count, sizeof *values);
    if (latest == NULL || values == NULL)
        return false;
    /* Until the offsets are known the accesses hold the index of their value. */
    uint32_t count = 0;
    for (uint32_t g = 0; g < partition->group_count; g++) {
        for (uint32_t i = 0; i < partition->groups[g].access_count; i++) {
            struct kiln_access *access = &partition->groups[g].accesses[i];
            if (access->kind != KILN_ARGUMENT_WORKSPACE)
                continue;
            uint32_t in_memory =
                access->is_store ? access->value : kiln_value_in_memory(builder, access->value);
            if (access->is_store) {
                const struct kiln_domain *shape = &ir->domains[ir->ops[access->value].domain];
                latest[in_memory] = count;
                values[count++] =
                    (struct kiln_workspace_value){.bytes = (uint64_t)kiln_domain_elements(shape) *
                                                           kiln_dtype_info(access->dtype)->bytes,
                                                  .first_group = g};
            }
            access->workspace_offset_bytes = latest[in_memory];
            values[latest[in_memory]].last_group = g;
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
                                struct kiln_partition *ret_partition, struct kiln_error *error)
{
    struct kiln_group_builder builder = {
        .ir = ir, .graph = graph, .target = target, .options = options, .arena = ir->arena};
    struct kiln_partition partition = {0};
    bool good = kiln_group_builder_init(&builder);
    if (good) {
        mark_cuts(&builder);
        collect_items(&builder);
        good = form_groups(&builder);
    }
    partition.groups = builder.groups;
    partition.group_count = builder.group_count;
    if (!good || !place_workspace(&builder, &partition))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while partitioning the graph");
    *ret_partition = partition;
    return KILN_OK;
}
