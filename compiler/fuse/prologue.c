#include "compiler/fuse/prologue.h"

#include "compiler/fuse/cluster.h"
#include "compiler/fuse/op_cost.h"
#include "compiler/fuse/target_rates.h"

#include <inttypes.h>

enum {
    MAX_LOADS = 6,
    /* An exponential and what goes with it; a longer expression is computed once and read. */
    MAX_COST = 16,
    MAX_VALUES = 64, /* between two products: with broadcasts, which cost nothing */
    TILE = 128,      /* rows and columns of a product that a work-group makes, about */
};

/* Values between an operand and what it is computed from. */
struct walk {
    uint32_t values[MAX_VALUES];
    uint32_t count;
    uint32_t cost;
};

static bool is_computed(const struct kiln_op *op)
{
    enum kiln_op_class op_class = kiln_opcode_info(op->opcode)->op_class;
    return op_class == KILN_OP_CLASS_ELEMENTWISE || op_class == KILN_OP_CLASS_BROADCAST;
}

/*
 * Whether the kernel of a contraction may compute this operand element by element from what it
 * loads, `stored` (or KILN_NONE) among it: no reduction, no index, few loads, little arithmetic.
 */
static bool can_be_prologue(struct kiln_group_builder *builder, uint32_t operand, uint32_t stored,
                            struct walk *ret_walk)
{
    const struct kiln_ir *ir = builder->ir;
    uint32_t mark = ++builder->stamp_now;
    uint32_t depth = 0;
    uint32_t loads = 0;
    *ret_walk = (struct walk){.count = 0};
    builder->stack[depth++] = operand;
    builder->stamp[operand] = mark;
    while (depth > 0) {
        uint32_t value = builder->stack[--depth];
        const struct kiln_op *op = &ir->ops[value];
        bool is_load = op->opcode == KILN_OP_LOAD || value == stored;
        builder->steps++;
        loads += is_load;
        if (loads > MAX_LOADS)
            return false;
        if (is_load || op->opcode == KILN_OP_CONSTANT)
            continue;
        ret_walk->cost += kiln_op_cost(op);
        if (!is_computed(op) || ret_walk->cost > MAX_COST || ret_walk->count == MAX_VALUES)
            return false;
        ret_walk->values[ret_walk->count++] = value;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            if (builder->stamp[op->operands[k]] == mark)
                continue;
            builder->stamp[op->operands[k]] = mark;
            builder->stack[depth++] = op->operands[k];
        }
    }
    return true;
}

/* What a value moves when one kernel writes and another one reads it; an output is written anyway.
 */
static uint64_t crossing_bytes(const struct kiln_group_builder *builder, uint32_t value)
{
    const struct kiln_ir *ir = builder->ir;
    uint32_t store = builder->store_op[value];
    enum kiln_dtype dtype = store == KILN_NONE
                                ? kiln_value_dtype(builder, value)
                                : builder->graph->tensors[ir->ops[store].tensor].dtype;
    return (uint64_t)kiln_domain_elements(&ir->domains[ir->ops[value].domain]) *
           kiln_dtype_info(dtype)->bytes * (store == KILN_NONE ? 2 : 1);
}

/* Lists what lies between an operand and the product behind which it is, as far as a prologue could
 * compute it, and that product. */
static void list_candidates(struct kiln_group_builder *builder, uint32_t operand,
                            struct walk *ret_walk)
{
    const struct kiln_ir *ir = builder->ir;
    uint32_t mark = ++builder->stamp_now;
    *ret_walk = (struct walk){.values = {operand}, .count = 1};
    builder->stamp[operand] = mark;
    for (uint32_t i = 0; i < ret_walk->count; i++) {
        const struct kiln_op *op = &ir->ops[ret_walk->values[i]];
        uint32_t arity = is_computed(op) ? kiln_opcode_info(op->opcode)->arity : 0;
        builder->steps++;
        for (uint32_t k = 0; k < arity && ret_walk->count < MAX_VALUES; k++) {
            uint32_t value = op->operands[k];
            if (builder->stamp[value] == mark || !builder->is_behind_product[value])
                continue;
            builder->stamp[value] = mark;
            ret_walk->values[ret_walk->count++] = value;
        }
    }
}

/* Arithmetic that the tiles of a product do more than once, in bytes that are moved meanwhile. */
static uint64_t repeated_bytes(const struct kiln_group_builder *builder, uint32_t index,
                               uint32_t side, uint32_t cost)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_op *product = &ir->ops[index];
    const struct kiln_op *operand = &ir->ops[product->operands[side]];
    int64_t across = kiln_contraction_size(&ir->contractions[product->contraction],
                                           side == 0 ? KILN_AXIS_N : KILN_AXIS_M);
    double elements = (double)kiln_domain_elements(&ir->domains[operand->domain]);
    double again = (double)((across + TILE - 1) / TILE - 1);
    return (uint64_t)kiln_target_vector_bytes(builder->target, cost * elements * again);
}

/* The value before a product's operand that moves the fewest bytes through memory, of equal ones
 * the latest; KILN_NONE where the operand cannot be computed from any. */
static uint32_t find_stored(struct kiln_group_builder *builder, uint32_t operand)
{
    struct walk candidates;
    struct walk walk;
    uint32_t found = KILN_NONE;
    uint64_t fewest = 0;
    list_candidates(builder, operand, &candidates);
    for (uint32_t i = 1; i < candidates.count; i++) {
        uint32_t value = candidates.values[i];
        uint64_t bytes = crossing_bytes(builder, value);
        bool is_better = found == KILN_NONE || bytes < fewest || (bytes == fewest && value > found);
        if (builder->ir->ops[value].opcode == KILN_OP_BROADCAST || !is_better ||
            !can_be_prologue(builder, operand, value, &walk))
            continue;
        found = value;
        fewest = bytes;
    }
    return found;
}

static bool may_share_kernel(const struct kiln_group_builder *builder, uint32_t index)
{
    return !builder->options->no_fusion && !builder->is_plain && !builder->bare[index];
}

bool kiln_prologue_may_evaluate(struct kiln_group_builder *builder, uint32_t index, uint32_t side)
{
    uint32_t operand = builder->ir->ops[index].operands[side];
    struct walk walk;
    if (!builder->is_behind_product[operand])
        return can_be_prologue(builder, operand, KILN_NONE, &walk);
    if (kiln_op_is_contraction(&builder->ir->ops[operand]) || !may_share_kernel(builder, index))
        return false;
    uint32_t stored = find_stored(builder, operand);
    if (stored == KILN_NONE || !can_be_prologue(builder, operand, stored, &walk))
        return false;
    struct kiln_between between = {
        .product = index,
        .operand = operand,
        .bytes_first = crossing_bytes(builder, operand),
        .bytes_second = crossing_bytes(builder, stored),
        .repeated = repeated_bytes(builder, index, side, walk.cost),
    };
    between.is_second = between.bytes_second + between.repeated < between.bytes_first;
    builder->betweens[builder->between_count++] = between;
    for (uint32_t i = 0; between.is_second && i < walk.count; i++)
        builder->is_deferred[walk.values[i]] = true;
    /* The product before it may be unable to compute the stored value: another kernel does then. */
    if (between.is_second)
        builder->always_cut[stored] = true;
    return between.is_second;
}

static void print_between(const struct kiln_ir *ir, const struct kiln_between *between,
                          struct kiln_buffer *buffer)
{
    uint32_t tensor = ir->ops[between->operand].tensor;
    bool is_second = between->is_second;
    bool is_dearer = !is_second && between->bytes_second < between->bytes_first;
    kiln_buffer_printf(
        buffer, "  %s%" PRIu32 " is computed %s: ", tensor != KILN_NONE ? "tensor " : "value %",
        tensor != KILN_NONE ? tensor : between->operand,
        is_second ? "here, where it is staged, and not behind the product before it"
                  : "behind the product before it, and not here, where it is staged");
    kiln_buffer_printf(buffer, "%" PRIu64 " bytes go through memory instead of %" PRIu64 "%s\n",
                       is_second ? between->bytes_second : between->bytes_first,
                       is_second ? between->bytes_first : between->bytes_second,
                       is_dearer ? ", but each tile would compute it again" : "");
}

void kiln_print_betweens(const struct kiln_ir *ir, const struct kiln_partition *partition,
                         const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    for (uint32_t i = 0; i < partition->between_count; i++) {
        for (uint32_t p = 0; p < group->contract_count; p++) {
            if (group->contracts[p] == partition->betweens[i].product)
                print_between(ir, &partition->betweens[i], buffer);
        }
    }
}
