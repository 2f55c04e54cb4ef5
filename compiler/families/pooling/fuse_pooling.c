/*
 * A group has REDUCEs of the same elements through one map, such as the largest number and its
 * position. It walks over the results. Values after the REDUCEs are computed there; values before
 * them once per tap, unless that costs more than reading them.
 */
#include "compiler/families/pooling/pooling_group.h"

#include "compiler/fuse/cluster.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/op_cost.h"

enum {
    MAX_LOADS = 4,   /* per tap and operand */
    MAX_VALUES = 64, /* computed per tap and operand */
    /* Arithmetic on an element of the image, over all windows that have it. Beyond this a kernel of
     * its own, which moves the image twice, takes about as long. */
    MAX_REPEATED_COST = 48,
    /* Clusters that are asked whether they reduce the same elements: the latest ones. */
    MAX_CLUSTERS_ASKED = 4,
};

const struct kiln_op *kiln_pooling_op(const struct kiln_ir *ir,
                                      const struct kiln_fusion_group *group)
{
    return &ir->ops[group->anchors[0]];
}

const struct kiln_map *kiln_pooling_map(const struct kiln_ir *ir,
                                        const struct kiln_fusion_group *group)
{
    return &ir->maps[kiln_pooling_op(ir, group)->map];
}

/* ---- before the REDUCE ---- */

/* The average number of windows that contain an element of the operand, rounded up. */
static int64_t windows_per_element(const struct kiln_ir *ir, const struct kiln_op *op)
{
    const struct kiln_map *map = &ir->maps[op->map];
    int64_t taps = kiln_domain_elements(&ir->domains[op->iteration]);
    int64_t elements = kiln_domain_elements(&ir->domains[ir->ops[op->operands[0]].domain]);
    for (uint32_t i = 0; i < map->window_count; i++)
        taps = (taps - 1) / map->windows[i].divisor.value + 1;
    return taps / elements + (taps % elements != 0);
}

/* The values that an operand is computed from, ascending, if a kernel may compute it per tap. */
struct operand_values {
    uint32_t count;
    uint32_t values[MAX_VALUES];
    bool varies[MAX_VALUES]; /* computed from loads: others are the same for a whole vector */
    uint32_t load_count;
};

/* True if a kernel knows the index at a tap: along an axis that a window moves along. */
static bool counts_along_window(const struct kiln_ir *ir, const struct kiln_op *index,
                                const struct kiln_map *map)
{
    uint32_t rank = ir->domains[index->domain].rank;
    return kiln_map_window_over(map, (uint8_t)(rank - 1 - index->axis)) != NULL;
}

/* False if it is no elementwise work on few loads. */
static bool collect_values(struct kiln_group_builder *builder, const struct kiln_map *map,
                           uint32_t operand, struct operand_values *ret_values)
{
    const struct kiln_ir *ir = builder->ir;
    uint32_t mark = ++builder->stamp_now;
    uint32_t depth = 0;
    *ret_values = (struct operand_values){.count = 0};
    builder->stack[depth++] = operand;
    while (depth > 0) {
        uint32_t value = builder->stack[--depth];
        const struct kiln_op *op = &ir->ops[value];
        if (builder->stamp[value] == mark)
            continue;
        builder->stamp[value] = mark;
        builder->steps++;
        if (ret_values->count == MAX_VALUES ||
            (op->opcode == KILN_OP_INDEX && !counts_along_window(ir, op, map)))
            return false;
        uint32_t place = ret_values->count++;
        for (; place > 0 && ret_values->values[place - 1] > value; place--)
            ret_values->values[place] = ret_values->values[place - 1];
        ret_values->values[place] = value;
        if (op->opcode == KILN_OP_LOAD || kiln_op_is_core(op)) { /* read from memory, both */
            if (++ret_values->load_count > MAX_LOADS)
                return false;
            continue;
        }
        if (!kiln_op_is_source(op) && !kiln_opcode_is_elementwise(op->opcode))
            return false;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            if (builder->stamp[op->operands[k]] != mark)
                builder->stack[depth++] = op->operands[k];
        }
    }
    return true;
}

static bool varies(const struct operand_values *values, uint32_t value)
{
    bool varies = false;
    for (uint32_t i = 0; i < values->count; i++)
        varies = varies || (values->values[i] == value && values->varies[i]);
    return varies;
}

/* True if a kernel may compute the operand per tap. Work that all channels share costs nothing.
 * General kernels compute any operand there, since the cost follows from sizes. */
static bool may_evaluate_operand(struct kiln_group_builder *builder, uint32_t index,
                                 uint32_t operand)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_op *pooling = &ir->ops[index];
    int64_t most = MAX_REPEATED_COST / windows_per_element(ir, pooling);
    struct operand_values values;
    int64_t cost = 0;
    if (!collect_values(builder, &ir->maps[pooling->map], pooling->operands[operand], &values))
        return false;
    for (uint32_t i = 0; i < values.count; i++) {
        const struct kiln_op *op = &ir->ops[values.values[i]];
        bool is_read = op->opcode == KILN_OP_LOAD || kiln_op_is_core(op);
        values.varies[i] = is_read;
        for (uint32_t k = 0; !is_read && k < kiln_opcode_info(op->opcode)->arity; k++)
            values.varies[i] = values.varies[i] || varies(&values, op->operands[k]);
        if (!is_read && values.varies[i] && op->opcode != KILN_OP_BROADCAST)
            cost += kiln_op_cost(op);
    }
    return ir->is_general || cost <= most;
}

/* ---- clusters ---- */

/* True if a value is the same everywhere, such as the ones that a count sums. */
static bool is_constant(const struct kiln_ir *ir, uint32_t value)
{
    const struct kiln_op *op = &ir->ops[value];
    return op->opcode == KILN_OP_CONSTANT ||
           (op->opcode == KILN_OP_BROADCAST && ir->ops[op->operands[0]].opcode == KILN_OP_CONSTANT);
}

/* A cluster that reduces the same elements, and may run where the operation may; or KILN_NONE. */
static uint32_t find_cluster_to_share(const struct kiln_group_builder *builder, uint32_t index,
                                      uint32_t level)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_op *op = &ir->ops[index];
    for (uint32_t i = 0; i < MAX_CLUSTERS_ASKED && i < builder->cluster_count; i++) {
        uint32_t number = builder->cluster_count - 1 - i;
        const struct kiln_cluster *cluster = &builder->clusters[number];
        if (cluster->family != KILN_FAMILY_POOLING ||
            cluster->anchor_count >= KILN_GROUP_MAX_ANCHORS)
            continue;
        const struct kiln_op *other = &ir->ops[cluster->anchors[0]];
        if (other->map == op->map && other->iteration == op->iteration &&
            other->domain == op->domain &&
            (other->operands[0] == op->operands[0] || is_constant(ir, op->operands[0])) &&
            kiln_cluster_may_share(builder, cluster, op->node) &&
            kiln_cluster_can_be_at(cluster, level))
            return number;
    }
    return KILN_NONE;
}

static void place_pooling(struct kiln_group_builder *builder, uint32_t index)
{
    uint32_t level = kiln_level_needed(builder, index, KILN_NONE);
    uint32_t found =
        builder->bare[index] ? KILN_NONE : find_cluster_to_share(builder, index, level);
    if (found == KILN_NONE) {
        found = kiln_cluster_begin(builder, KILN_FAMILY_POOLING, KILN_ROLE_WHOLE, index, level);
    } else {
        struct kiln_cluster *cluster = &builder->clusters[found];
        kiln_cluster_raise_to(cluster, level);
        cluster->core_count++;
        cluster->anchors[cluster->anchor_count++] = index;
        builder->accumulated_in[index] = builder->cluster[index] = found;
    }
    kiln_require_operands(builder, index, found, builder->clusters[found].level);
}

static bool may_compute(const struct kiln_group_builder *builder,
                        const struct kiln_cluster *cluster, uint32_t index)
{
    return builder->ir->ops[index].domain == cluster->domain;
}

/* ---- groups ---- */

static bool find_places(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                        const uint32_t *items, uint32_t item_count)
{
    const struct kiln_ir *ir = builder->ir;
    const uint16_t element = 1u << KILN_PLACE_ELEMENT;
    group->places = kiln_arena_calloc(ir->arena, group->op_count, sizeof *group->places);
    if (group->places == NULL)
        return false;
    for (uint32_t i = 0; i < item_count; i++)
        group->places[kiln_group_position(group, builder->items[items[i]].value)] |= element;
    for (uint32_t i = group->op_count; i-- > 0;) {
        uint32_t value = group->ops[i];
        const struct kiln_op *op = &ir->ops[value];
        if (builder->is_load[value])
            continue;
        bool is_pooling = kiln_op_is_core(op);
        if (is_pooling) {
            for (uint32_t k = group->anchor_count++; k > 0; k--) /* ascending */
                group->anchors[k] = group->anchors[k - 1];
            group->anchors[0] = value;
            group->places[i] |= element; /* stored or not */
        }
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
            group->places[kiln_group_position(group, op->operands[k])] |=
                is_pooling ? (uint16_t)(1u << KILN_PLACE_IMAGE) : group->places[i];
    }
    return true;
}

static uint32_t place_domain(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                             enum kiln_place place)
{
    return place == KILN_PLACE_IMAGE ? ir->ops[kiln_pooling_op(ir, group)->operands[0]].domain
                                     : group->domain;
}

const struct kiln_fuse_family kiln_fuse_pooling = {
    .place = place_pooling,
    .may_evaluate_operand = may_evaluate_operand,
    .may_compute = may_compute,
    .max_accesses = KILN_GROUP_MAX_ACCESSES,
    .find_places = find_places,
    .place_domain = place_domain,
};
