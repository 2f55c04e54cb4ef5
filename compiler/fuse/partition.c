#include "compiler/fuse/partition.h"

#include "compiler/fuse/register_pressure.h"
#include "compiler/fuse/workspace.h"

#include <stdlib.h>
#include <string.h>

/*
 * The plan of this file:
 *   1. mark_cuts        which broadcasts read their operand from memory instead of computing it again
 *   2. collect_items    everything that must be stored: outputs and cut values
 *   3. form_groups      one group per domain and level; small domains ride along in larger ones
 *   4. split_group      until each fits the target's registers and the kernel limits
 *   5. finish           accesses, workspace
 * A level counts the cuts below a value: groups of one level never read what another of that level writes.
 */

enum {
    /* A broadcast value is computed again unless its expression costs more than this many simple operations
     * and is repeated that often over a domain that large: below, a kernel launch costs more. */
    RECOMPUTE_MAX_COST = 64,
    RECOMPUTE_MIN_REPEATS = 8,
    RECOMPUTE_MIN_ELEMENTS = 65536,
    TRANSCENDENTAL_COST = 8,
};

/* A value that has to be in memory. */
struct item {
    uint32_t value;
    uint32_t level;
    bool is_cut; /* read by another group */
    enum kiln_boundary boundary;
};

struct group_draft {
    uint32_t domain;
    uint32_t level;
    uint32_t item_count;
    uint32_t *items; /* indices into context.items */
    enum kiln_boundary boundary;
};

struct context {
    const struct kiln_ir *ir;
    const struct kiln_graph *graph;
    const struct kiln_target *target;
    const struct kiln_lower_options *options;
    struct kiln_arena *arena;
    bool *reads_memory;   /* per op: a BROADCAST whose operand is read from memory */
    bool *cut;            /* per op: read from memory by whoever is not its own group */
    uint32_t *level;      /* per op */
    uint32_t *store_op;   /* per op: the first STORE of this value, or KILN_NONE */
    uint32_t *stamp;      /* per op: visited marks */
    uint32_t stamp_now;
    uint32_t *stack;
    uint32_t *scratch;
    uint32_t *live;
    bool *is_load;
    struct item *items;
    uint32_t item_count;
    struct kiln_fusion_group *groups;
    uint32_t group_count;
    uint32_t group_capacity;
};

const char *kiln_boundary_text(enum kiln_boundary boundary)
{
    static const char *const texts[] = {
#define KILN_BOUNDARY(name, text) text,
#include "compiler/fuse/boundary.def"
    };
    return texts[boundary];
}

static bool is_source(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_SOURCE;
}

/* A value that may be written to memory and read back without loss. */
static bool can_cut(const struct kiln_op *op)
{
    return op->tensor != KILN_NONE && !is_source(op) && op->opcode != KILN_OP_STORE;
}

static uint32_t op_cost(const struct kiln_op *op)
{
    switch (op->opcode) {
    case KILN_OP_EXP:
    case KILN_OP_EXPM1:
    case KILN_OP_LOG:
    case KILN_OP_LOG1P:
    case KILN_OP_SIN:
    case KILN_OP_COS:
    case KILN_OP_TAN:
    case KILN_OP_TANH:
    case KILN_OP_ERF:
    case KILN_OP_ERFC:
    case KILN_OP_DIV:
        return TRANSCENDENTAL_COST;
    default:
        return 1;
    }
}

/* Cost of computing a value from loads, counted up to RECOMPUTE_MAX_COST + 1. */
static uint32_t recompute_cost(struct context *context, uint32_t value)
{
    uint32_t cost = 0;
    uint32_t depth = 0;
    uint32_t mark = ++context->stamp_now;
    context->stack[depth++] = value;
    context->stamp[value] = mark;
    while (depth > 0 && cost <= RECOMPUTE_MAX_COST) {
        const struct kiln_op *op = &context->ir->ops[context->stack[--depth]];
        if (is_source(op))
            continue;
        cost += op_cost(op);
        for (uint32_t i = 0; i < kiln_opcode_info(op->opcode)->arity; i++) {
            uint32_t operand = op->operands[i];
            if (context->stamp[operand] != mark) {
                context->stamp[operand] = mark;
                context->stack[depth++] = operand;
            }
        }
    }
    return cost;
}

static void mark_cuts(struct context *context)
{
    const struct kiln_ir *ir = context->ir;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        if (context->options->no_fusion)
            context->cut[i] = can_cut(op);
        if (op->opcode != KILN_OP_BROADCAST || context->options->no_fusion)
            continue;
        const struct kiln_op *operand = &ir->ops[op->operands[0]];
        if (!can_cut(operand))
            continue;
        int64_t elements = kiln_domain_elements(&ir->domains[op->domain]);
        int64_t repeats = elements / kiln_domain_elements(&ir->domains[operand->domain]);
        if (elements >= RECOMPUTE_MIN_ELEMENTS && repeats >= RECOMPUTE_MIN_REPEATS &&
            recompute_cost(context, op->operands[0]) > RECOMPUTE_MAX_COST)
            context->reads_memory[i] = true;
    }
}

static void collect_items(struct context *context)
{
    const struct kiln_ir *ir = context->ir;
    bool *needed = context->is_load; /* borrowed: not in use yet */
    memset(needed, 0, ir->op_count * sizeof *needed);
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        context->level[i] = 0;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            uint32_t operand = op->operands[k];
            bool from_memory = context->reads_memory[i] || context->cut[operand];
            uint32_t level = context->level[operand] + (from_memory && op->opcode != KILN_OP_STORE);
            if (level > context->level[i])
                context->level[i] = level;
            if (from_memory && op->opcode != KILN_OP_STORE)
                needed[operand] = true;
        }
        if (op->opcode == KILN_OP_STORE && context->store_op[op->operands[0]] == KILN_NONE)
            context->store_op[op->operands[0]] = i;
    }
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (!needed[i] && context->store_op[i] == KILN_NONE)
            continue;
        context->items[context->item_count++] = (struct item){
            .value = i,
            .level = context->level[i],
            .is_cut = needed[i],
            .boundary = context->options->no_fusion ? KILN_BOUNDARY_NO_FUSION
                        : needed[i]                 ? KILN_BOUNDARY_RECOMPUTE
                                                    : KILN_BOUNDARY_DOMAIN,
        };
        needed[i] = false;
    }
    memset(needed, 0, ir->op_count * sizeof *needed);
}

/* Whether a group reads this value from memory rather than computing it. Its own items it computes. */
static bool reads_value(const struct context *context, uint32_t value, uint32_t own_mark)
{
    const struct kiln_op *op = &context->ir->ops[value];
    return op->opcode == KILN_OP_LOAD || context->reads_memory[value] ||
           (context->cut[value] && context->scratch[value] != own_mark);
}

static int compare_indices(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/*
 * All values that a kernel storing these items evaluates or loads, ascending, into ret_ops (room for op_count).
 * is_load[v] says for each of them whether it is read from memory.
 */
static uint32_t closure(struct context *context, const uint32_t *items, uint32_t item_count,
                        uint32_t *ret_ops)
{
    uint32_t mark = ++context->stamp_now;
    uint32_t depth = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < item_count; i++)
        context->scratch[context->items[items[i]].value] = mark;
    for (uint32_t i = 0; i < item_count; i++) {
        uint32_t value = context->items[items[i]].value;
        if (context->stamp[value] != mark) {
            context->stamp[value] = mark;
            context->stack[depth++] = value;
        }
    }
    while (depth > 0) {
        uint32_t value = context->stack[--depth];
        const struct kiln_op *op = &context->ir->ops[value];
        ret_ops[count++] = value;
        context->is_load[value] = reads_value(context, value, mark);
        if (context->is_load[value])
            continue;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            uint32_t operand = op->operands[k];
            if (context->stamp[operand] != mark) {
                context->stamp[operand] = mark;
                context->stack[depth++] = operand;
            }
        }
    }
    qsort(ret_ops, count, sizeof *ret_ops, compare_indices);
    return count;
}

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
static void absorb_small_domains(struct context *context, struct group_draft *drafts,
                                 uint32_t draft_count, uint32_t *ops)
{
    const struct kiln_ir *ir = context->ir;
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
                op_count = closure(context, drafts[large].items, drafts[large].item_count, ops);
                computed = true;
            }
            uint32_t kept = 0;
            for (uint32_t i = 0; i < drafts[small].item_count; i++) {
                uint32_t item = drafts[small].items[i];
                uint32_t value = context->items[item].value;
                bool inside = bsearch(&value, ops, op_count, sizeof *ops, compare_indices) != NULL &&
                              !context->is_load[value];
                if (inside)
                    drafts[large].items[drafts[large].item_count++] = item;
                else
                    drafts[small].items[kept++] = item;
            }
            drafts[small].item_count = kept;
        }
    }
}

/* In elements along the axes of `domain`, right-aligned; 0 where the tensor does not vary. */
static void align_strides(const struct kiln_domain *domain, const int64_t *dims,
                          const int64_t *strides, uint32_t rank, int64_t *ret_strides)
{
    memset(ret_strides, 0, KILN_MAX_RANK * sizeof *ret_strides);
    for (uint32_t i = 0; i < domain->rank && i < rank; i++) {
        uint32_t from = rank - 1 - i;
        if (dims[from] != 1)
            ret_strides[domain->rank - 1 - i] = strides[from];
    }
}

static uint32_t guard_axes(const struct kiln_domain *group, const struct kiln_domain *value)
{
    uint32_t guard = 0;
    for (uint32_t i = 0; i < group->rank; i++) {
        bool present = i < value->rank && value->dims[value->rank - 1 - i] != 1;
        if (!present && group->dims[group->rank - 1 - i] != 1)
            guard |= 1u << (group->rank - 1 - i);
    }
    return guard;
}

/* The memory of a graph tensor as seen from the group's domain. */
static struct kiln_access tensor_access(const struct context *context, uint32_t domain,
                                        uint32_t value, uint32_t tensor_ordinal)
{
    const struct kiln_tensor *tensor = &context->graph->tensors[tensor_ordinal];
    struct kiln_access access = {
        .value = value,
        .kind = tensor->role == KILN_TENSOR_HOST_SCALAR ? KILN_ARGUMENT_HOST_SCALAR
                                                        : KILN_ARGUMENT_TENSOR,
        .tensor = tensor_ordinal,
        .dtype = tensor->dtype,
    };
    align_strides(&context->ir->domains[domain], tensor->dims, tensor->strides, tensor->rank,
                  access.strides);
    return access;
}

/* The memory of a cut value: an output that holds it, or packed in the workspace. */
static struct kiln_access cut_access(const struct context *context, uint32_t domain, uint32_t value,
                                     uint32_t cut_value)
{
    if (context->store_op[cut_value] != KILN_NONE)
        return tensor_access(context, domain, value,
                             context->ir->ops[context->store_op[cut_value]].tensor);
    const struct kiln_op *op = &context->ir->ops[cut_value];
    const struct kiln_domain *shape = &context->ir->domains[op->domain];
    int64_t packed[KILN_MAX_RANK];
    int64_t stride = 1;
    for (uint32_t i = shape->rank; i-- > 0;) {
        packed[i] = stride;
        stride *= shape->dims[i];
    }
    struct kiln_access access = {
        .value = value,
        .kind = KILN_ARGUMENT_WORKSPACE,
        .tensor = op->tensor,
        .dtype = context->graph->tensors[op->tensor].dtype,
    };
    align_strides(&context->ir->domains[domain], shape->dims, packed, shape->rank, access.strides);
    return access;
}

static bool build_accesses(struct context *context, struct kiln_fusion_group *group,
                           const uint32_t *items, uint32_t item_count)
{
    const struct kiln_ir *ir = context->ir;
    const struct kiln_domain *domain = &ir->domains[group->domain];
    uint32_t loads = 0;
    uint32_t stores = 0;
    for (uint32_t i = 0; i < group->op_count; i++)
        loads += context->is_load[group->ops[i]];
    for (uint32_t i = 0; i < item_count; i++) {
        uint32_t value = context->items[items[i]].value;
        stores += context->store_op[value] == KILN_NONE;
        for (uint32_t k = context->store_op[value]; k < ir->op_count; k++)
            stores += ir->ops[k].opcode == KILN_OP_STORE && ir->ops[k].operands[0] == value;
    }
    group->accesses = kiln_arena_calloc(context->arena, loads + stores, sizeof *group->accesses);
    if (group->accesses == NULL)
        return false;
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        const struct kiln_op *op = &ir->ops[value];
        if (!context->is_load[value])
            continue;
        group->accesses[group->access_count++] =
            op->opcode == KILN_OP_LOAD ? tensor_access(context, group->domain, value, op->tensor)
            : context->reads_memory[value]
                ? cut_access(context, group->domain, value, op->operands[0])
                : cut_access(context, group->domain, value, value);
    }
    group->load_count = group->access_count;
    for (uint32_t i = 0; i < item_count; i++) {
        uint32_t value = context->items[items[i]].value;
        uint32_t guard = guard_axes(domain, &ir->domains[ir->ops[value].domain]);
        uint32_t first = group->access_count;
        if (context->store_op[value] == KILN_NONE)
            group->accesses[group->access_count++] =
                cut_access(context, group->domain, value, value);
        for (uint32_t k = context->store_op[value]; k < ir->op_count; k++) {
            if (ir->ops[k].opcode == KILN_OP_STORE && ir->ops[k].operands[0] == value)
                group->accesses[group->access_count++] =
                    tensor_access(context, group->domain, value, ir->ops[k].tensor);
        }
        for (uint32_t k = first; k < group->access_count; k++) {
            group->accesses[k].is_store = true;
            group->accesses[k].guard_axes = guard;
        }
    }
    return true;
}

/* What one element may keep in registers: half of what the target has, for addresses and vectors need the rest. */
static uint32_t register_budget(const struct kiln_target *target)
{
    return target->vgprs / 2;
}

static bool exceeds_limits(const struct context *context, const uint32_t *ops, uint32_t count,
                           uint32_t item_count, uint32_t live, enum kiln_boundary *ret_boundary)
{
    uint32_t loads = 0;
    for (uint32_t i = 0; i < count; i++)
        loads += context->is_load[ops[i]];
    *ret_boundary = KILN_BOUNDARY_SIZE;
    if (count > KILN_GROUP_MAX_OPS || loads + item_count > KILN_GROUP_MAX_ACCESSES)
        return true;
    *ret_boundary = KILN_BOUNDARY_REGISTERS;
    return live > register_budget(context->target);
}

/*
 * Where to cut a list of operations that is too much for one kernel: among the positions in the second half of
 * the longest prefix that fits, the one that the fewest bytes cross; a crossing value that cannot be stored is
 * computed again behind the cut and weighs heavily. Marks the crossing values in context->cut.
 */
static uint32_t choose_cut(struct context *context, const uint32_t *ops, uint32_t count)
{
    const struct kiln_ir *ir = context->ir;
    uint32_t *last_use = context->scratch;
    uint32_t *new_loads = context->stack; /* loads that operation i is the first to use */
    for (uint32_t i = 0; i < count; i++) {
        last_use[ops[i]] = KILN_NONE;
        new_loads[i] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct kiln_op *op = &ir->ops[ops[i]];
        if (context->is_load[ops[i]])
            continue;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            new_loads[i] += context->is_load[op->operands[k]] && last_use[op->operands[k]] == KILN_NONE;
            last_use[op->operands[k]] = i;
        }
    }
    uint32_t loads = 0;
    uint32_t longest = 0;
    while (longest < count && context->live[longest] <= register_budget(context->target) &&
           longest < KILN_GROUP_MAX_OPS && loads + new_loads[longest] < KILN_GROUP_MAX_ACCESSES / 2)
        loads += new_loads[longest++];
    if (longest >= count)
        longest = count - 1;
    /* The window starts behind half of what the prefix computes; loads at its start are no progress. */
    uint32_t computed = 0;
    for (uint32_t i = 0; i < longest; i++)
        computed += !context->is_load[ops[i]];
    while (computed < 2 && longest < count - 1)
        computed += !context->is_load[ops[longest++]];
    uint32_t start = 0;
    for (uint32_t seen = 0; start < longest - 1 && seen < (computed + 1) / 2; start++)
        seen += !context->is_load[ops[start]];
    uint32_t best = longest - 1;
    uint64_t best_weight = UINT64_MAX;
    for (uint32_t position = start; position < longest; position++) {
        uint64_t weight = 0;
        for (uint32_t i = 0; i <= position; i++) {
            uint32_t value = ops[i];
            if (context->is_load[value] || is_source(&ir->ops[value]) ||
                last_use[value] == KILN_NONE || last_use[value] <= position)
                continue;
            weight += can_cut(&ir->ops[value])
                          ? kiln_dtype_info(context->graph->tensors[ir->ops[value].tensor].dtype)->bytes
                          : 1024;
        }
        if (weight <= best_weight) {
            best_weight = weight;
            best = position;
        }
    }
    for (uint32_t i = 0; i <= best; i++) {
        uint32_t value = ops[i];
        if (!context->is_load[value] && can_cut(&ir->ops[value]) &&
            last_use[value] != KILN_NONE && last_use[value] > best)
            context->cut[value] = true;
    }
    return best;
}

static bool emit_group(struct context *context, uint32_t domain, enum kiln_boundary boundary,
                       const uint32_t *items, uint32_t item_count)
{
    uint32_t *ops = kiln_arena_calloc(context->arena, context->ir->op_count, sizeof *ops);
    if (ops == NULL || context->group_count == context->group_capacity)
        return false;
    struct kiln_fusion_group *group = &context->groups[context->group_count++];
    *group = (struct kiln_fusion_group){.domain = domain, .boundary = boundary, .ops = ops};
    group->op_count = closure(context, items, item_count, ops);
    group->live_registers = kiln_register_pressure(context->ir, ops, group->op_count,
                                                   context->is_load, context->scratch,
                                                   context->live);
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (!context->is_load[ops[i]])
            group->cost += op_cost(&context->ir->ops[ops[i]]);
    }
    return build_accesses(context, group, items, item_count);
}

/*
 * Emits one draft as one group, or as several one after the other: each time the front part is cut off, stores
 * what the rest needs, and the rest goes round again. Cuts made here hold for this draft only.
 */
static bool split_group(struct context *context, const struct group_draft *draft)
{
    const struct kiln_ir *ir = context->ir;
    uint32_t *ops = kiln_arena_calloc(context->arena, ir->op_count, sizeof *ops);
    uint32_t *items = kiln_arena_calloc(context->arena, ir->op_count + 1, sizeof *items);
    uint32_t *front = kiln_arena_calloc(context->arena, ir->op_count + 1, sizeof *front);
    bool *cut_before = kiln_arena_calloc(context->arena, ir->op_count, sizeof *cut_before);
    if (ops == NULL || items == NULL || front == NULL || cut_before == NULL)
        return false;
    memcpy(cut_before, context->cut, ir->op_count * sizeof *cut_before);
    memcpy(items, draft->items, draft->item_count * sizeof *items);
    uint32_t item_count = draft->item_count;
    enum kiln_boundary boundary = draft->boundary;
    bool good = true;
    uint32_t previous_computed = UINT32_MAX; /* each round must leave less to compute */
    while (good) {
        uint32_t count = closure(context, items, item_count, ops);
        uint32_t live = kiln_register_pressure(ir, ops, count, context->is_load, context->scratch,
                                               context->live);
        uint32_t computed = 0;
        for (uint32_t i = 0; i < count; i++)
            computed += !context->is_load[ops[i]];
        enum kiln_boundary reason;
        if (computed < 4 || computed >= previous_computed ||
            !exceeds_limits(context, ops, count, item_count, live, &reason)) {
            good = emit_group(context, draft->domain, boundary, items, item_count);
            break;
        }
        previous_computed = computed;
        uint32_t position = choose_cut(context, ops, count);
        uint32_t front_count = 0;
        uint32_t rest_count = 0;
        for (uint32_t i = 0; i < item_count; i++) {
            if (context->items[items[i]].value <= ops[position])
                front[front_count++] = items[i];
            else
                items[rest_count++] = items[i];
        }
        for (uint32_t i = 0; i <= position; i++) {
            bool known = !context->cut[ops[i]] || context->is_load[ops[i]];
            for (uint32_t k = 0; k < front_count && !known; k++)
                known = context->items[front[k]].value == ops[i];
            if (known)
                continue;
            context->items[context->item_count] = (struct item){.value = ops[i], .is_cut = true};
            front[front_count++] = context->item_count++;
        }
        item_count = rest_count;
        good = emit_group(context, draft->domain, boundary, front, front_count);
        boundary = reason;
        if (item_count == 0)
            break;
    }
    memcpy(context->cut, cut_before, ir->op_count * sizeof *cut_before);
    return good;
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

static bool form_groups(struct context *context)
{
    const struct kiln_ir *ir = context->ir;
    struct group_draft *drafts =
        kiln_arena_calloc(context->arena, context->item_count, sizeof *drafts);
    uint32_t *ops = kiln_arena_calloc(context->arena, ir->op_count, sizeof *ops);
    if (drafts == NULL || ops == NULL)
        return false;
    uint32_t draft_count = 0;
    for (uint32_t i = 0; i < context->item_count; i++) {
        const struct item *item = &context->items[i];
        uint32_t domain = ir->ops[item->value].domain;
        uint32_t found = context->options->no_fusion
                             ? KILN_NONE
                             : find_draft(drafts, draft_count, domain, item->level);
        if (found == KILN_NONE) {
            found = draft_count++;
            drafts[found] = (struct group_draft){
                .domain = domain, .level = item->level, .boundary = item->boundary};
            drafts[found].items =
                kiln_arena_calloc(context->arena, context->item_count, sizeof *drafts->items);
            if (drafts[found].items == NULL)
                return false;
        }
        drafts[found].items[drafts[found].item_count++] = i;
    }
    if (!context->options->no_fusion)
        absorb_small_domains(context, drafts, draft_count, ops);
    qsort(drafts, draft_count, sizeof *drafts, compare_drafts);
    for (uint32_t i = 0; i < draft_count; i++) {
        if (drafts[i].item_count != 0 && !split_group(context, &drafts[i]))
            return false;
    }
    if (context->group_count != 0)
        context->groups[0].boundary = KILN_BOUNDARY_FIRST;
    return true;
}

/* Workspace for every value that a group writes there, alive until the last group that reads it. */
static bool place_workspace(struct context *context, struct kiln_partition *partition)
{
    const struct kiln_ir *ir = context->ir;
    uint32_t store_count = 0;
    for (uint32_t g = 0; g < partition->group_count; g++)
        store_count += partition->groups[g].access_count - partition->groups[g].load_count;
    uint32_t *latest =
        kiln_arena_calloc(context->arena, context->graph->tensor_count, sizeof *latest);
    struct kiln_workspace_value *values =
        kiln_arena_calloc(context->arena, store_count, sizeof *values);
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

static bool init_context(struct context *context)
{
    uint32_t count = context->ir->op_count;
    struct kiln_arena *arena = context->arena;
    context->reads_memory = kiln_arena_calloc(arena, count, sizeof *context->reads_memory);
    context->cut = kiln_arena_calloc(arena, count, sizeof *context->cut);
    context->level = kiln_arena_calloc(arena, count, sizeof *context->level);
    context->store_op = kiln_arena_calloc(arena, count, sizeof *context->store_op);
    context->stamp = kiln_arena_calloc(arena, count, sizeof *context->stamp);
    context->stack = kiln_arena_calloc(arena, count, sizeof *context->stack);
    context->scratch = kiln_arena_calloc(arena, count, sizeof *context->scratch);
    context->live = kiln_arena_calloc(arena, count, sizeof *context->live);
    context->is_load = kiln_arena_calloc(arena, count, sizeof *context->is_load);
    /* A value becomes an item at most once in collect_items and once more when its group is split. */
    context->items = kiln_arena_calloc(arena, 2 * (size_t)count + 1, sizeof *context->items);
    context->group_capacity = count + 1;
    context->groups =
        kiln_arena_calloc(arena, context->group_capacity, sizeof *context->groups);
    if (context->reads_memory == NULL || context->cut == NULL || context->level == NULL ||
        context->store_op == NULL || context->stamp == NULL || context->stack == NULL ||
        context->scratch == NULL || context->live == NULL || context->is_load == NULL ||
        context->items == NULL || context->groups == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++)
        context->store_op[i] = KILN_NONE;
    return true;
}

enum kiln_status kiln_partition(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                const struct kiln_target *target,
                                const struct kiln_lower_options *options,
                                struct kiln_partition *ret_partition, struct kiln_error *error)
{
    struct context context = {
        .ir = ir, .graph = graph, .target = target, .options = options, .arena = ir->arena};
    struct kiln_partition partition = {0};
    bool good = init_context(&context);
    if (good) {
        mark_cuts(&context);
        collect_items(&context);
        good = form_groups(&context);
        partition.groups = context.groups;
        partition.group_count = context.group_count;
    }
    if (!good || !place_workspace(&context, &partition))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while partitioning the graph");
    *ret_partition = partition;
    return KILN_OK;
}
