#include "compiler/ir/ir.h"

#include "compiler/graph/ragged.h"

#include <string.h>

uint32_t kiln_ir_iteration(const struct kiln_ir *ir, const struct kiln_op *op)
{
    return op->map != KILN_NONE ? op->iteration : ir->ops[op->operands[0]].domain;
}

void kiln_ir_init(struct kiln_ir *ir, struct kiln_arena *arena)
{
    *ir = (struct kiln_ir){.arena = arena};
}

/* A copy of `count` items without spare capacity. NULL when memory is out. */
static void *copy_items(struct kiln_arena *arena, const void *items, uint32_t count, size_t bytes)
{
    void *copy = kiln_arena_calloc(arena, count, bytes);
    if (copy != NULL && count != 0)
        memcpy(copy, items, count * bytes);
    return copy;
}

bool kiln_ir_copy(const struct kiln_ir *ir, struct kiln_arena *arena, struct kiln_ir *ret_copy)
{
    struct kiln_ir copy = *ir;
    copy.arena = arena;
    copy.ops = copy_items(arena, ir->ops, ir->op_count, sizeof *ir->ops);
    copy.domains = copy_items(arena, ir->domains, ir->domain_count, sizeof *ir->domains);
    copy.contractions =
        copy_items(arena, ir->contractions, ir->contraction_count, sizeof *ir->contractions);
    copy.maps = copy_items(arena, ir->maps, ir->map_count, sizeof *ir->maps);
    copy.results = copy_items(arena, ir->results, ir->result_count, sizeof *ir->results);
    copy.op_capacity = ir->op_count;
    copy.domain_capacity = ir->domain_count;
    copy.contraction_capacity = ir->contraction_count;
    copy.map_capacity = ir->map_count;
    copy.domain_slots = NULL; /* made when a domain is looked up */
    if (ir->exact_dtypes != NULL)
        copy.exact_dtypes =
            copy_items(arena, ir->exact_dtypes, ir->op_count, sizeof *ir->exact_dtypes);
    copy.domain_slot_count = copy.domain_slots_used = 0;
    if (copy.ops == NULL || copy.domains == NULL || copy.contractions == NULL ||
        copy.maps == NULL || copy.results == NULL ||
        (ir->exact_dtypes != NULL && copy.exact_dtypes == NULL))
        return false;
    *ret_copy = copy;
    return true;
}

/* Makes room for one more item; the old array stays in the arena. False when memory is out. */
static bool reserve(struct kiln_ir *ir, void **items, uint32_t count, uint32_t *capacity,
                    size_t bytes)
{
    if (count < *capacity)
        return true;
    uint32_t grown = *capacity == 0 ? 32 : *capacity * 2;
    void *memory = *capacity < UINT32_MAX / 4 ? kiln_arena_calloc(ir->arena, grown, bytes) : NULL;
    if (memory == NULL) {
        ir->failed = true;
        return false;
    }
    if (count != 0)
        memcpy(memory, *items, count * bytes);
    *items = memory;
    *capacity = grown;
    return true;
}

bool kiln_domain_is_equal(const struct kiln_domain *a, const struct kiln_domain *b)
{
    return a->rank == b->rank && a->kept == b->kept &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0 && a->end == b->end &&
           a->block_axis == b->block_axis;
}

static uint32_t hash_domain(const struct kiln_domain *domain)
{
    uint64_t hash = domain->rank;
    for (uint32_t i = 0; i < domain->rank; i++) {
        hash = (hash ^ (uint64_t)domain->dims[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return (uint32_t)hash;
}

/* Where the index of a domain is, plus 1; 0: where to put it. */
static uint32_t *probe_domain(const struct kiln_ir *ir, const struct kiln_domain *domain)
{
    uint32_t mask = ir->domain_slot_count - 1;
    uint32_t slot = hash_domain(domain) & mask;
    for (; ir->domain_slots[slot] != 0; slot = (slot + 1) & mask) {
        const struct kiln_domain *other = &ir->domains[ir->domain_slots[slot] - 1];
        if (kiln_domain_is_equal(other, domain))
            break;
    }
    return &ir->domain_slots[slot];
}

/* The same with a table that holds all domains and has room for one more; NULL when memory is out.
 */
static uint32_t *find_domain_slot(struct kiln_ir *ir, const struct kiln_domain *domain)
{
    bool has_room = 2 * (ir->domain_count + 1) <= ir->domain_slot_count;
    if (ir->failed)
        return NULL;
    if (!has_room || ir->domain_slots_used != ir->domain_count) {
        uint32_t count = 64;
        while (count < 4 * (ir->domain_count + 1))
            count *= 2;
        uint32_t *slots = kiln_arena_calloc(ir->arena, count, sizeof *slots);
        if (slots == NULL) {
            ir->failed = true;
            return NULL;
        }
        ir->domain_slots = slots;
        ir->domain_slot_count = count;
        ir->domain_slots_used = ir->domain_count;
        for (uint32_t i = 0; i < ir->domain_count; i++)
            *probe_domain(ir, &ir->domains[i]) = i + 1;
    }
    return probe_domain(ir, domain);
}

uint32_t kiln_ir_domain(struct kiln_ir *ir, const int64_t *dims, uint32_t rank)
{
    return kiln_ir_domain_keeping(ir, dims, 0, rank);
}

uint32_t kiln_ir_kept_axes(const struct kiln_ir *ir, const struct kiln_tensor *tensor)
{
    const struct kiln_tensor *declared = tensor->declared != NULL ? tensor->declared : tensor;
    uint32_t kept = 0;
    for (uint32_t i = 0; ir->is_general && i < declared->rank; i++)
        kept |= (uint32_t)(declared->dims[declared->rank - 1 - i] != 1) << i;
    return kept;
}

uint32_t kiln_ir_tensor_domain(struct kiln_ir *ir, const struct kiln_tensor *tensor)
{
    return kiln_ir_domain_keeping(ir, tensor->dims, kiln_ir_kept_axes(ir, tensor), tensor->rank);
}

uint32_t kiln_ir_tensor_rows(struct kiln_ir *ir, const struct kiln_tensor *tensor, uint32_t axes)
{
    struct kiln_domain rows = {.rank = tensor->rank, .kept = kiln_ir_kept_axes(ir, tensor)};
    memcpy(rows.dims, tensor->dims, sizeof rows.dims);
    return kiln_ir_domain_without(ir, &rows, axes);
}

bool kiln_domain_is_one(const struct kiln_domain *domain, uint32_t axis)
{
    return domain->dims[axis] == 1 && (domain->kept >> (domain->rank - 1 - axis) & 1) == 0;
}

uint32_t kiln_ir_domain_keeping(struct kiln_ir *ir, const int64_t *dims, uint32_t kept,
                                uint32_t rank)
{
    struct kiln_domain domain = {.rank = rank, .kept = kept};
    for (uint32_t i = 0; i < rank; i++)
        domain.dims[i] = dims[i];
    return kiln_ir_domain_like(ir, &domain);
}

uint32_t kiln_ir_domain_like(struct kiln_ir *ir, const struct kiln_domain *wanted)
{
    const int64_t *dims = wanted->dims;
    uint32_t rank = wanted->rank, kept = wanted->kept;
    for (uint32_t i = 0; ir->is_general && i < rank; i++)
        kept |= (uint32_t)(dims[rank - 1 - i] != 1) << i;
    while (rank > 0 && dims[0] == 1 && (kept >> (rank - 1) & 1) == 0) {
        dims++;
        rank--;
    }
    struct kiln_domain domain = {
        .rank = rank, .kept = kept, .end = wanted->end, .block_axis = wanted->block_axis};
    for (uint32_t i = 0; i < rank; i++)
        domain.dims[i] = dims[i];
    uint32_t *slot = find_domain_slot(ir, &domain);
    if (slot == NULL)
        return KILN_NONE;
    if (*slot != 0)
        return *slot - 1;
    void *items = ir->domains;
    if (!reserve(ir, &items, ir->domain_count, &ir->domain_capacity, sizeof *ir->domains))
        return KILN_NONE;
    ir->domains = items;
    ir->domains[ir->domain_count] = domain;
    *slot = ++ir->domain_count;
    ir->domain_slots_used = ir->domain_count;
    return ir->domain_count - 1;
}

int64_t kiln_domain_elements(const struct kiln_domain *domain)
{
    int64_t elements = 1;
    for (uint32_t i = 0; i < domain->rank; i++)
        elements *= domain->dims[i];
    return elements;
}

struct kiln_domain kiln_domain_of_segment(const struct kiln_domain *domain, uint32_t rank)
{
    if (domain->rank != rank + 1)
        return *domain;
    struct kiln_domain of = {.rank = rank, .kept = domain->kept & ((1u << rank) - 1)};
    for (uint32_t i = 0; i < rank; i++)
        of.dims[i] = domain->dims[i + 1];
    return of;
}

uint32_t kiln_ir_reduced_domain(struct kiln_ir *ir, const int64_t *dims, uint32_t rank,
                                uint32_t axes)
{
    struct kiln_domain from = {.rank = rank};
    memcpy(from.dims, dims, rank * sizeof *dims);
    return kiln_ir_domain_without(ir, &from, axes);
}

uint32_t kiln_ir_domain_without(struct kiln_ir *ir, const struct kiln_domain *from, uint32_t axes)
{
    struct kiln_domain left = *from;
    for (uint32_t i = 0; i < from->rank; i++) {
        if (((axes >> i) & 1u) == 0)
            continue;
        left.dims[i] = 1;
        left.kept &= ~(1u << (from->rank - 1 - i));
    }
    return kiln_ir_domain_keeping(ir, left.dims, left.kept, left.rank);
}

uint32_t kiln_domain_reduced_axes(const struct kiln_domain *from, const struct kiln_domain *to)
{
    uint32_t axes = 0;
    for (uint32_t i = 0; i < from->rank; i++) {
        uint32_t from_right = from->rank - i;
        int64_t left = from_right <= to->rank ? to->dims[to->rank - from_right] : 1;
        bool is_dropped = ((from->kept & ~to->kept) >> (from_right - 1) & 1) != 0;
        axes |= (uint32_t)(left != from->dims[i] || is_dropped) << i;
    }
    return axes;
}

bool kiln_domain_broadcasts_to(const struct kiln_domain *from, const struct kiln_domain *to)
{
    if (from->rank > to->rank)
        return false;
    uint32_t shift = to->rank - from->rank;
    for (uint32_t i = 0; i < from->rank; i++) {
        if (!kiln_domain_is_one(from, i) && from->dims[i] != to->dims[shift + i])
            return false;
    }
    return true;
}

uint32_t kiln_ir_append(struct kiln_ir *ir, const struct kiln_op *op)
{
    void *items = ir->ops;
    if (ir->failed || op->domain == KILN_NONE ||
        !reserve(ir, &items, ir->op_count, &ir->op_capacity, sizeof *ir->ops))
        return KILN_NONE;
    ir->ops = items;
    ir->ops[ir->op_count] = *op;
    return ir->op_count++;
}

static struct kiln_op make_op(const struct kiln_ir *ir, enum kiln_opcode opcode,
                              enum kiln_scalar scalar, uint32_t domain)
{
    return (struct kiln_op){
        .opcode = opcode,
        .scalar = scalar,
        .domain = domain,
        .operands = {KILN_NONE, KILN_NONE, KILN_NONE, KILN_NONE, KILN_NONE},
        .tensor = KILN_NONE,
        .iteration = KILN_NONE,
        .map = KILN_NONE,
        .node = ir->node,
    };
}

bool kiln_ir_is_constant(const struct kiln_ir *ir, uint32_t value)
{
    const struct kiln_op *op = &ir->ops[value];
    while (op->opcode == KILN_OP_BROADCAST)
        op = &ir->ops[op->operands[0]];
    return op->opcode == KILN_OP_CONSTANT;
}

uint32_t kiln_ir_load(struct kiln_ir *ir, const struct kiln_graph *graph, uint32_t tensor)
{
    const struct kiln_tensor *source = &graph->tensors[tensor];
    struct kiln_op op = make_op(ir, KILN_OP_LOAD, kiln_dtype_info(source->dtype)->scalar,
                                kiln_ir_tensor_domain(ir, source));
    op.tensor = tensor;
    return kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_length(struct kiln_ir *ir, const struct kiln_graph *graph, uint32_t tensor)
{
    const struct kiln_tensor *ragged = &graph->tensors[tensor];
    enum kiln_dtype dtype = graph->tensors[ragged->ragged.offsets].dtype;
    const int64_t batch[] = {ragged->dims[KILN_RAGGED_BATCH], 1, 1, 1};
    struct kiln_op op = make_op(ir, KILN_OP_LENGTH, kiln_dtype_info(dtype)->scalar,
                                kiln_ir_domain(ir, batch, KILN_RAGGED_RANK));
    op.tensor = tensor;
    return kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_store(struct kiln_ir *ir, uint32_t value, uint32_t tensor)
{
    if (ir->failed)
        return KILN_NONE;
    struct kiln_op op = make_op(ir, KILN_OP_STORE, ir->ops[value].scalar, ir->ops[value].domain);
    op.operands[0] = value;
    op.tensor = tensor;
    return kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_real(struct kiln_ir *ir, enum kiln_scalar scalar, double value)
{
    struct kiln_op op = make_op(ir, KILN_OP_CONSTANT, scalar, kiln_ir_domain(ir, NULL, 0));
    op.constant.real = scalar == KILN_SCALAR_F32 ? (double)(float)value : value;
    return kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_integer(struct kiln_ir *ir, enum kiln_scalar scalar, int64_t value)
{
    struct kiln_op op = make_op(ir, KILN_OP_CONSTANT, scalar, kiln_ir_domain(ir, NULL, 0));
    op.constant.integer = value;
    return kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_index(struct kiln_ir *ir, enum kiln_scalar scalar, uint32_t domain, uint32_t axis)
{
    struct kiln_op op = make_op(ir, KILN_OP_INDEX, scalar, domain);
    op.axis = axis;
    return kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_broadcast(struct kiln_ir *ir, uint32_t value, uint32_t domain)
{
    if (ir->failed)
        return KILN_NONE;
    if (ir->ops[value].domain == domain)
        return value;
    struct kiln_op op = make_op(ir, KILN_OP_BROADCAST, ir->ops[value].scalar, domain);
    op.operands[0] = value;
    return kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_view(struct kiln_ir *ir, uint32_t value, uint32_t domain)
{
    if (ir->failed)
        return KILN_NONE;
    if (ir->ops[value].domain == domain)
        return value;
    if (ir->ops[value].opcode == KILN_OP_LOAD) {
        struct kiln_op load = ir->ops[value];
        load.domain = domain;
        return kiln_ir_append(ir, &load);
    }
    struct kiln_op op = make_op(ir, KILN_OP_VIEW, ir->ops[value].scalar, domain);
    op.operands[0] = value;
    return kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_convert(struct kiln_ir *ir, uint32_t value, enum kiln_scalar scalar)
{
    if (ir->failed)
        return KILN_NONE;
    if (ir->ops[value].scalar == scalar)
        return value;
    struct kiln_op op = make_op(ir, KILN_OP_CONVERT, scalar, ir->ops[value].domain);
    op.operands[0] = value;
    return kiln_ir_append(ir, &op);
}

static uint32_t round_through(struct kiln_ir *ir, enum kiln_opcode opcode, uint32_t value,
                              enum kiln_dtype dtype)
{
    if (ir->failed)
        return KILN_NONE;
    struct kiln_op op = make_op(ir, opcode, ir->ops[value].scalar, ir->ops[value].domain);
    op.operands[0] = value;
    op.dtype = dtype;
    return kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_round(struct kiln_ir *ir, uint32_t value, enum kiln_dtype dtype)
{
    return round_through(ir, KILN_OP_ROUND, value, dtype);
}

uint32_t kiln_ir_round_up(struct kiln_ir *ir, uint32_t value, enum kiln_dtype dtype)
{
    return round_through(ir, KILN_OP_ROUND_UP, value, dtype);
}

uint32_t kiln_ir_reduce(struct kiln_ir *ir, enum kiln_opcode opcode, uint32_t value,
                        uint32_t domain)
{
    if (ir->failed)
        return KILN_NONE;
    struct kiln_op op = make_op(ir, opcode, ir->ops[value].scalar, domain);
    op.operands[0] = value;
    return kiln_ir_append(ir, &op);
}

static uint32_t intern_map(struct kiln_ir *ir, const struct kiln_map *map)
{
    for (uint32_t i = 0; i < ir->map_count; i++) {
        if (kiln_map_is_equal(&ir->maps[i], map))
            return i;
    }
    void *items = ir->maps;
    if (!reserve(ir, &items, ir->map_count, &ir->map_capacity, sizeof *ir->maps))
        return KILN_NONE;
    ir->maps = items;
    ir->maps[ir->map_count] = *map;
    return ir->map_count++;
}

uint32_t kiln_ir_repeat(struct kiln_ir *ir, uint32_t value, const struct kiln_map *map,
                        uint32_t domain)
{
    if (ir->failed)
        return KILN_NONE;
    struct kiln_op op = make_op(ir, KILN_OP_REPEAT, ir->ops[value].scalar, domain);
    op.operands[0] = value;
    op.iteration = domain;
    op.map = intern_map(ir, map);
    return op.map == KILN_NONE ? KILN_NONE : kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_reduce_windows(struct kiln_ir *ir, enum kiln_opcode opcode,
                                const uint32_t *operands,
                                const struct kiln_reduced_windows *windows)
{
    const struct kiln_opcode_info *info = kiln_opcode_info(opcode);
    if (ir->failed)
        return KILN_NONE;
    enum kiln_scalar scalar =
        info->rule == KILN_OP_RULE_POSITION ? KILN_SCALAR_I32 : ir->ops[operands[0]].scalar;
    struct kiln_op op = make_op(ir, opcode, scalar, windows->domain);
    for (uint32_t i = 0; i < info->arity; i++)
        op.operands[i] = operands[i];
    op.iteration = windows->iteration;
    op.map = intern_map(ir, windows->map);
    op.constant = windows->padding;
    return op.map == KILN_NONE ? KILN_NONE : kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_intern_contraction(struct kiln_ir *ir, const struct kiln_contraction *contraction)
{
    for (uint32_t i = 0; i < ir->contraction_count; i++) {
        if (kiln_contraction_is_equal(&ir->contractions[i], contraction))
            return i;
    }
    void *items = ir->contractions;
    if (!reserve(ir, &items, ir->contraction_count, &ir->contraction_capacity,
                 sizeof *ir->contractions))
        return KILN_NONE;
    ir->contractions = items;
    ir->contractions[ir->contraction_count] = *contraction;
    return ir->contraction_count++;
}

void kiln_ir_swap_operands(struct kiln_ir *ir, struct kiln_op *op)
{
    struct kiln_contraction swapped = kiln_contraction_swap(&ir->contractions[op->contraction]);
    uint32_t left = op->operands[0];
    op->operands[0] = op->operands[1];
    op->operands[1] = left;
    op->contraction = kiln_ir_intern_contraction(ir, &swapped);
}

uint32_t kiln_ir_contract(struct kiln_ir *ir, uint32_t left, uint32_t right,
                          const struct kiln_contraction *contraction, uint32_t domain)
{
    if (ir->failed)
        return KILN_NONE;
    struct kiln_op op = make_op(ir, KILN_OP_CONTRACT, ir->ops[left].scalar, domain);
    op.operands[0] = left;
    op.operands[1] = right;
    op.contraction = kiln_ir_intern_contraction(ir, contraction);
    return op.contraction == KILN_NONE ? KILN_NONE : kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_contract_groups(struct kiln_ir *ir, const uint32_t *operands,
                                 const struct kiln_contraction *contraction, uint32_t domain)
{
    if (ir->failed)
        return KILN_NONE;
    struct kiln_op op =
        make_op(ir, kiln_routing_opcode(contraction->routing), ir->ops[operands[0]].scalar, domain);
    for (uint32_t i = 0; i < kiln_opcode_info(op.opcode)->arity; i++)
        op.operands[i] = operands[i];
    op.contraction = kiln_ir_intern_contraction(ir, contraction);
    return op.contraction == KILN_NONE ? KILN_NONE : kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_unary(struct kiln_ir *ir, enum kiln_opcode opcode, uint32_t a)
{
    if (ir->failed)
        return KILN_NONE;
    struct kiln_op op = make_op(ir, opcode, ir->ops[a].scalar, ir->ops[a].domain);
    op.operands[0] = a;
    return kiln_ir_append(ir, &op);
}

/* The domain of the first operand that is not uniform; that of `a` when all are. */
static uint32_t common_domain(const struct kiln_ir *ir, uint32_t a, uint32_t b)
{
    uint32_t domain = ir->ops[a].domain;
    return ir->domains[domain].rank == 0 ? ir->ops[b].domain : domain;
}

uint32_t kiln_ir_binary(struct kiln_ir *ir, enum kiln_opcode opcode, uint32_t a, uint32_t b)
{
    if (ir->failed)
        return KILN_NONE;
    bool compares = kiln_opcode_info(opcode)->rule == KILN_OP_RULE_COMPARE;
    struct kiln_op op = make_op(ir, opcode, compares ? KILN_SCALAR_BOOL : ir->ops[a].scalar,
                                common_domain(ir, a, b));
    op.operands[0] = a;
    op.operands[1] = b;
    return kiln_ir_append(ir, &op);
}

uint32_t kiln_ir_select(struct kiln_ir *ir, uint32_t condition, uint32_t a, uint32_t b)
{
    if (ir->failed)
        return KILN_NONE;
    uint32_t domain = ir->ops[condition].domain;
    if (ir->domains[domain].rank == 0)
        domain = common_domain(ir, a, b);
    struct kiln_op op = make_op(ir, KILN_OP_SELECT, ir->ops[a].scalar, domain);
    op.operands[0] = condition;
    op.operands[1] = a;
    op.operands[2] = b;
    return kiln_ir_append(ir, &op);
}
