#include "compiler/families/contraction/fuse/prologue.h"

#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/fuse/contraction_grouping.h"
#include "compiler/fuse/cluster.h"
#include "compiler/fuse/op_cost.h"
#include "compiler/fuse/target_rates.h"

#include <inttypes.h>
#include <string.h>

enum {
    MAX_LOADS = 6,
    /* An exponential and what goes with it; a longer expression is computed once and read. */
    MAX_COST = 16,
    MAX_VALUES = 64, /* between two products: with broadcasts, which cost nothing */
};

/* Values between an operand and what it is computed from. */
struct walk {
    uint32_t values[MAX_VALUES];
    uint32_t count;
    uint32_t cost;
};

/* The loads that the prologue of an operand may have. */
struct prologue_loads {
    uint8_t kinds;
    uint32_t uncut_axes; /* of the operand, from the right: no block of a REPEAT is along them */
};

/* True if the kernel counts along the axis. It does along a single image too, so that kernels of
 * one image and of many are the same. */
static bool is_counted(const struct kiln_contraction *contraction, uint32_t axis)
{
    const struct kiln_map *image = kiln_contraction_image(contraction);
    uint8_t along = image->axes[axis].along;
    bool is_outermost = along != KILN_NO_AXIS;
    for (uint32_t i = 0; i < image->axis_count; i++)
        is_outermost &= image->axes[i].along == KILN_NO_AXIS || image->axes[i].along <= along;
    return contraction->sizes[axis] != 1 || is_outermost;
}

/* True if an axis of batches counts groups of a convolution's channels, which may be columns of
 * work-items that do without tiles. */
static bool counts_channel_groups(const struct kiln_contraction *contraction, uint32_t batch)
{
    const struct kiln_map_axis *result = contraction->maps[KILN_CONTRACT_RESULT].axes;
    bool is_found = false;
    for (uint32_t i = 0; i < contraction->axis_count; i++)
        is_found |= i != batch && result[batch].along != KILN_NO_AXIS &&
                    result[i].along == result[batch].along;
    return is_found;
}

/*
 * Packed elements and blocks are found by one index of rows and one of k, counted from the first of
 * a batch: no window or further axis decomposes the indices, and data gives neither.
 */
static struct prologue_loads allowed_loads(const struct kiln_ir *ir, uint32_t index, uint32_t side)
{
    const struct kiln_op *product = &ir->ops[index];
    if (kiln_opcode_info(product->opcode)->op_class != KILN_OP_CLASS_CONTRACT)
        return (struct prologue_loads){0};
    const struct kiln_contraction *contraction = &ir->contractions[product->contraction];
    enum kiln_axis_role rows = side == 0 ? KILN_AXIS_M : KILN_AXIS_N;
    struct prologue_loads loads = {.kinds = KILN_LOAD_PACKED | KILN_LOAD_REPEATED};
    uint32_t row_axes = 0, k_axes = 0;
    if (kiln_contraction_image(contraction)->window_count != 0 ||
        contraction->routing == KILN_ROUTING_SUMS ||
        (contraction->routing == KILN_ROUTING_GATHER && side == KILN_CONTRACT_LEFT))
        return (struct prologue_loads){0};
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis axis = kiln_contraction_axis_at(contraction, i);
        uint8_t along = axis.of[side].along;
        row_axes += axis.role == rows;
        k_axes += axis.role == KILN_AXIS_K && is_counted(contraction, i);
        bool is_batch = axis.role == KILN_AXIS_BATCH || axis.role == KILN_AXIS_GROUP;
        if (is_batch && axis.size != 1 && along != KILN_NO_AXIS)
            loads.uncut_axes |= UINT32_C(1) << along;
        if (is_batch && axis.size != 1 && counts_channel_groups(contraction, i))
            return (struct prologue_loads){0};
    }
    return row_axes <= 1 && k_axes <= 1 ? loads : (struct prologue_loads){0};
}

static bool may_load(const struct kiln_group_builder *builder, uint32_t value,
                     const struct prologue_loads *loads)
{
    const struct kiln_op *op = &builder->ir->ops[value];
    if ((builder->load_kinds[value] & ~loads->kinds) != 0)
        return false;
    for (uint32_t axis = 0; op->opcode == KILN_OP_REPEAT && axis < KILN_MAX_RANK; axis++) {
        const struct kiln_map *map = &builder->ir->maps[op->map];
        if ((loads->uncut_axes >> axis & 1) != 0 && axis < map->axis_count &&
            map->axes[axis].repeat.value > 1)
            return false;
    }
    return true;
}

/*
 * True if the kernel of a contraction may compute this operand element by element from what it
 * loads, `stored` (or KILN_NONE) among it: no reduction, no index, few loads, little arithmetic.
 */
static bool can_be_prologue(struct kiln_group_builder *builder, uint32_t operand, uint32_t stored,
                            const struct prologue_loads *allowed, struct walk *ret_walk)
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
        bool is_load =
            op->opcode == KILN_OP_LOAD || op->opcode == KILN_OP_REPEAT || value == stored;
        builder->steps++;
        loads += is_load;
        if (loads > MAX_LOADS || (is_load && value != stored && !may_load(builder, value, allowed)))
            return false;
        if (is_load || op->opcode == KILN_OP_CONSTANT)
            continue;
        ret_walk->cost += kiln_op_cost(op);
        if (!kiln_opcode_is_elementwise(op->opcode) || ret_walk->cost > MAX_COST ||
            ret_walk->count == MAX_VALUES)
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
    const struct kiln_contraction_grouping *grouping = kiln_contraction_grouping(builder);
    uint32_t mark = ++builder->stamp_now;
    *ret_walk = (struct walk){.values = {operand}, .count = 1};
    builder->stamp[operand] = mark;
    for (uint32_t i = 0; i < ret_walk->count; i++) {
        const struct kiln_op *op = &ir->ops[ret_walk->values[i]];
        uint32_t arity =
            kiln_opcode_is_elementwise(op->opcode) ? kiln_opcode_info(op->opcode)->arity : 0;
        builder->steps++;
        for (uint32_t k = 0; k < arity && ret_walk->count < MAX_VALUES; k++) {
            uint32_t value = op->operands[k];
            if (builder->stamp[value] == mark || !grouping->is_behind_product[value])
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
    double again = (double)((across + KILN_USUAL_TILE - 1) / KILN_USUAL_TILE - 1);
    return (uint64_t)kiln_target_vector_bytes(builder->target, cost * elements * again);
}

/* The value before a product's operand that moves the fewest bytes through memory, of equal ones
 * the latest; KILN_NONE where the operand cannot be computed from any. */
static uint32_t find_stored(struct kiln_group_builder *builder, uint32_t operand,
                            const struct prologue_loads *allowed)
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
            !can_be_prologue(builder, operand, value, allowed, &walk))
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

/* An operand that is only converted from packed elements: their COPY takes less memory. */
static bool cut_copy(struct kiln_group_builder *builder, uint32_t operand)
{
    const struct kiln_op *op = &builder->ir->ops[operand];
    if (op->opcode != KILN_OP_CONVERT || builder->ir->ops[op->operands[0]].opcode != KILN_OP_COPY)
        return false;
    builder->always_cut[op->operands[0]] = true;
    builder->why_cut[op->operands[0]] = KILN_BOUNDARY_OPERAND;
    return true;
}

bool kiln_prologue_may_evaluate(struct kiln_group_builder *builder, uint32_t index, uint32_t side)
{
    struct kiln_contraction_grouping *grouping = kiln_contraction_grouping(builder);
    uint32_t operand = builder->ir->ops[index].operands[side];
    struct walk walk;
    if (side >= KILN_CONTRACT_RESULT)
        return builder->ir->ops[operand].opcode == KILN_OP_LOAD;
    const struct prologue_loads allowed = allowed_loads(builder->ir, index, side);
    if (!grouping->is_behind_product[operand] &&
        can_be_prologue(builder, operand, KILN_NONE, &allowed, &walk))
        return true;
    if (!grouping->is_behind_product[operand])
        return cut_copy(builder, operand);
    if (kiln_op_is_contraction(&builder->ir->ops[operand]) || !may_share_kernel(builder, index))
        return false;
    uint32_t stored = find_stored(builder, operand, &allowed);
    if (stored == KILN_NONE || !can_be_prologue(builder, operand, stored, &allowed, &walk))
        return false;
    struct kiln_between between = {
        .product = index,
        .operand = operand,
        .bytes_first = crossing_bytes(builder, operand),
        .bytes_second = crossing_bytes(builder, stored),
        .repeated = repeated_bytes(builder, index, side, walk.cost),
    };
    between.is_second = between.bytes_second + between.repeated < between.bytes_first;
    grouping->betweens[grouping->between_count++] = between;
    for (uint32_t i = 0; between.is_second && i < walk.count; i++)
        builder->is_deferred[walk.values[i]] = true;
    /* The product before it may be unable to compute the stored value: another kernel does then. */
    if (between.is_second) {
        builder->always_cut[stored] = true;
        builder->why_cut[stored] = KILN_BOUNDARY_OPERAND;
    }
    return between.is_second;
}

static void print_between(const struct kiln_ir *ir, const struct kiln_graph *graph,
                          const struct kiln_between *between, struct kiln_buffer *buffer)
{
    const struct kiln_op *operand = &ir->ops[between->operand];
    bool is_second = between->is_second;
    bool is_dearer = !is_second && between->bytes_second < between->bytes_first;
    kiln_buffer_append_text(buffer, "  ");
    if (operand->tensor != KILN_NONE) {
        kiln_tensor_print_name(&graph->tensors[operand->tensor], buffer);
    } else {
        kiln_buffer_append_text(buffer, "a value of ");
        kiln_node_print_name(graph, operand->node, buffer);
    }
    kiln_buffer_printf(buffer, " is computed %s: ",
                       is_second ? "here, where it is staged, and not after the product before it"
                                 : "after the product before it, and not here, where it is staged");
    kiln_buffer_printf(buffer, "%" PRIu64 " bytes go through memory instead of %" PRIu64 "%s\n",
                       is_second ? between->bytes_second : between->bytes_first,
                       is_second ? between->bytes_first : between->bytes_second,
                       is_dearer ? ", but each tile would compute it again" : "");
}

static bool is_of_group(const struct kiln_fusion_group *group, const struct kiln_between *between)
{
    bool is_found = false;
    for (uint32_t i = 0; i < group->anchor_count; i++)
        is_found = is_found || group->anchors[i] == between->product;
    return is_found;
}

bool kiln_keep_betweens(const struct kiln_group_builder *builder,
                        const struct kiln_fusion_group *group, struct kiln_product_group *data)
{
    const struct kiln_contraction_grouping *grouping = kiln_contraction_grouping(builder);
    struct kiln_between kept[2 * KILN_GROUP_MAX_ANCHORS]; /* both operands of each */
    uint32_t count = 0;
    for (uint32_t i = 0; i < grouping->between_count; i++) {
        if (is_of_group(group, &grouping->betweens[i]))
            kept[count++] = grouping->betweens[i];
    }
    if (count == 0)
        return true;
    struct kiln_between *betweens = kiln_arena_calloc(builder->ir->arena, count, sizeof *betweens);
    if (betweens == NULL)
        return false;
    memcpy(betweens, kept, count * sizeof *betweens);
    data->betweens = betweens;
    data->between_count = count;
    return true;
}

void kiln_explain_betweens(const struct kiln_ir *ir, const struct kiln_graph *graph,
                           const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    const struct kiln_product_group *data = group->family_data;
    for (uint32_t i = 0; i < data->between_count; i++)
        print_between(ir, graph, &data->betweens[i], buffer);
}
