#include "compiler/fuse/partition.h"

#include "compiler/fuse/group_builder.h"
#include "compiler/fuse/split_group.h"
#include "compiler/fuse/workspace.h"

#include <stdlib.h>
#include <string.h>

/*
 * The plan of this file:
 *   1. mark_cuts        which broadcasts read their operand from memory instead of computing it again
 *   2. collect_items    everything that must be stored: outputs and cut values
 *   3. form_groups      one group per domain and level; small domains ride along in larger ones
 *   4. kiln_group_split_append, until each fits the target's registers and the kernel limits
 *   5. place_workspace  offsets of what lives between kernels
 * A level counts the cuts below a value: groups of one level never read what another of that level writes.
 */

enum {
    /* A broadcast value is computed again unless its expression costs more than this many simple operations
     * and is repeated that often over a domain that large: below, a kernel launch costs more. */
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
            builder->cut[i] = kiln_value_can_be_cut(op);
        if (op->opcode != KILN_OP_BROADCAST || builder->options->no_fusion)
            continue;
        const struct kiln_op *operand = &ir->ops[op->operands[0]];
        if (!kiln_value_can_be_cut(operand))
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
        if (op->opcode == KILN_OP_STORE && builder->store_op[op->operands[0]] == KILN_NONE)
            builder->store_op[op->operands[0]] = i;
    }
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (!needed[i] && builder->store_op[i] == KILN_NONE)
            continue;
        builder->items[builder->item_count++] = (struct kiln_group_item){
            .value = i,
            .level = builder->level[i],
            .boundary = builder->options->no_fusion ? KILN_BOUNDARY_NO_FUSION
                        : needed[i]                 ? KILN_BOUNDARY_RECOMPUTE
                                                    : KILN_BOUNDARY_DOMAIN,
        };
        needed[i] = false;
    }
    memset(needed, 0, ir->op_count * sizeof *needed);
}

/* A group to be: the items that one kernel, or several after a split, will store. */
struct group_draft {
    uint32_t domain;
    uint32_t level;
    uint32_t item_count;
    uint32_t *items; /* indices into builder->items */
    enum kiln_boundary boundary;
};

static uint32_t find_draft(struct group_draft *drafts, uint32_t count, uint32_t domain,
                           uint32_t level)
{
    for (uint32_t i = 0; i < count; i++) {
        if (drafts[i].domain == domain && drafts[i].level == level)
            return i;
    }
    return KILN_NONE;
}

/* Moves items of smaller domains into a larger group of the same level that computes them anyway. */
static void absorb_small_domains(struct kiln_group_builder *builder, struct group_draft *drafts,
                                 uint32_t draft_count, uint32_t *ops)
{
    const struct kiln_ir *ir = builder->ir;
    for (uint32_t large = 0; large < draft_count; large++) {
        const struct kiln_domain *large_domain = &ir->domains[drafts[large].domain];
        bool computed = false;
        uint32_t op_count = 0;
        for (uint32_t small = 0; small < draft_count; small++) {
            const struct kiln_domain *small_domain = &ir->domains[drafts[small].domain];
            if (small == large || drafts[small].level != drafts[large].level ||
                drafts[large].item_count == 0 ||
                kiln_domain_elements(small_domain) >= kiln_domain_elements(large_domain) ||
                !kiln_domain_broadcasts_to(small_domain, large_domain))
                continue;
            if (!computed) {
                op_count = kiln_group_closure(builder, drafts[large].items, drafts[large].item_count, ops);
                computed = true;
            }
            uint32_t kept = 0;
            for (uint32_t i = 0; i < drafts[small].item_count; i++) {
                uint32_t item = drafts[small].items[i];
                uint32_t value = builder->items[item].value;
                bool inside = bsearch(&value, ops, op_count, sizeof *ops, kiln_compare_values) != NULL &&
                              !builder->is_load[value];
                if (inside)
                    drafts[large].items[drafts[large].item_count++] = item;
                else
                    drafts[small].items[kept++] = item;
            }
            drafts[small].item_count = kept;
        }
    }
}

static int compare_drafts(const void *left, const void *right)
{
    const struct group_draft *a = left;
    const struct group_draft *b = right;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    uint32_t first_a = a->item_count != 0 ? a->items[0] : UINT32_MAX;
    uint32_t first_b = b->item_count != 0 ? b->items[0] : UINT32_MAX;
    return (first_a > first_b) - (first_a < first_b);
}

static bool form_groups(struct kiln_group_builder *builder)
{
    const struct kiln_ir *ir = builder->ir;
    struct group_draft *drafts =
        kiln_arena_calloc(builder->arena, builder->item_count, sizeof *drafts);
    uint32_t *ops = kiln_arena_calloc(builder->arena, ir->op_count, sizeof *ops);
    if (drafts == NULL || ops == NULL)
        return false;
    uint32_t draft_count = 0;
    for (uint32_t i = 0; i < builder->item_count; i++) {
        const struct kiln_group_item *item = &builder->items[i];
        uint32_t domain = ir->ops[item->value].domain;
        uint32_t found = builder->options->no_fusion
                             ? KILN_NONE
                             : find_draft(drafts, draft_count, domain, item->level);
        if (found == KILN_NONE) {
            found = draft_count++;
            drafts[found] = (struct group_draft){
                .domain = domain, .level = item->level, .boundary = item->boundary};
            drafts[found].items =
                kiln_arena_calloc(builder->arena, builder->item_count, sizeof *drafts->items);
            if (drafts[found].items == NULL)
                return false;
        }
        drafts[found].items[drafts[found].item_count++] = i;
    }
    if (!builder->options->no_fusion)
        absorb_small_domains(builder, drafts, draft_count, ops);
    qsort(drafts, draft_count, sizeof *drafts, compare_drafts);
    for (uint32_t i = 0; i < draft_count; i++) {
        if (drafts[i].item_count != 0 && !kiln_group_split_append(builder, drafts[i].domain, drafts[i].boundary,
                                     drafts[i].items, drafts[i].item_count))
            return false;
    }
    if (builder->group_count != 0)
        builder->groups[0].boundary = KILN_BOUNDARY_FIRST;
    return true;
}

/* Workspace for every value that a group writes there, alive until the last group that reads it. */
static bool place_workspace(struct kiln_group_builder *builder, struct kiln_partition *partition)
{
    const struct kiln_ir *ir = builder->ir;
    uint32_t store_count = 0;
    for (uint32_t g = 0; g < partition->group_count; g++)
        store_count += partition->groups[g].access_count - partition->groups[g].load_count;
    uint32_t *latest =
        kiln_arena_calloc(builder->arena, builder->graph->tensor_count, sizeof *latest);
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
            if (access->is_store) {
                const struct kiln_domain *shape = &ir->domains[ir->ops[access->value].domain];
                latest[access->tensor] = count;
                values[count++] = (struct kiln_workspace_value){
                    .bytes = (uint64_t)kiln_domain_elements(shape) *
                             kiln_dtype_info(access->dtype)->bytes,
                    .first_group = g};
            }
            access->workspace_offset_bytes = latest[access->tensor];
            values[latest[access->tensor]].last_group = g;
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
        partition.groups = builder.groups;
        partition.group_count = builder.group_count;
    }
    if (!good || !place_workspace(&builder, &partition))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while partitioning the graph");
    *ret_partition = partition;
    return KILN_OK;
}
