#include "compiler/families/reduction/fuse/reduction_passes.h"

#include <string.h>

enum kiln_place kiln_reduction_access_place(const struct kiln_fusion_group *group,
                                            const struct kiln_access *access)
{
    if (access->is_accumulator)
        return group->role == KILN_ROLE_PARTIAL ? KILN_PLACE_ROW : KILN_PLACE_ELEMENT;
    for (uint32_t axis = 0; axis < KILN_MAX_RANK; axis++) {
        if (((group->reduced_axes >> axis) & 1u) != 0 && access->strides[axis] != 0)
            return KILN_PLACE_ELEMENT;
    }
    return KILN_PLACE_ROW;
}

/* To COMBINE every core operation is a sum of what its segments have given. */
static bool is_reduction(const struct kiln_fusion_group *group, const struct kiln_op *op)
{
    bool is_combined = group->role == KILN_ROLE_COMBINE && kiln_op_is_core(op);
    return kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_REDUCE || is_combined;
}

/* True if the kernel of another family reduces the value. Its operands are not values of the
 * group's elements. */
static bool is_anchor(const struct kiln_fusion_group *group, uint32_t value)
{
    bool is_found = false;
    for (uint32_t i = 0; i < group->anchor_count; i++)
        is_found = is_found || group->anchors[i] == value;
    return is_found;
}

/* The load of the value at a position, NULL when it is computed. */
static const struct kiln_access *find_load(const struct kiln_fusion_group *group, uint32_t value)
{
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (group->accesses[i].value == value && !group->accesses[i].is_accumulator)
            return &group->accesses[i];
    }
    return NULL;
}

/* True if an INDEX counts along an axis that the group reduces. */
static bool index_varies(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                         const struct kiln_op *op)
{
    const struct kiln_domain *own = &ir->domains[op->domain];
    uint32_t axis = op->axis + ir->domains[group->domain].rank - own->rank;
    return !kiln_domain_is_one(own, op->axis) && ((group->reduced_axes >> axis) & 1u) != 0;
}

static void place_value(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                        uint32_t position, struct kiln_reduction_passes *passes)
{
    const struct kiln_op *op = &ir->ops[group->ops[position]];
    const struct kiln_access *load = find_load(group, group->ops[position]);
    uint32_t pass = 0;
    bool is_row = true;
    if (load != NULL) {
        is_row = load->place == KILN_PLACE_ROW;
    } else if (group->role == KILN_ROLE_COMBINE && is_reduction(group, op)) {
        pass = 1;
    } else if (is_anchor(group, group->ops[position])) {
        is_row = false;
    } else if (group->role == KILN_ROLE_PARTIAL && group->anchor_count != 0) {
        pass = is_reduction(group, op); /* nothing here is computed from what is reduced here */
        is_row = is_reduction(group, op);
    } else if (op->opcode == KILN_OP_INDEX) {
        is_row = !index_varies(ir, group, op);
    } else {
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            uint32_t operand = kiln_group_position(group, op->operands[k]);
            if (passes->pass[operand] > pass)
                pass = passes->pass[operand];
            is_row = is_row && passes->place[operand] == KILN_PLACE_ROW;
        }
        if (is_reduction(group, op)) {
            pass++;
            is_row = true;
        }
    }
    passes->pass[position] = pass;
    passes->place[position] = is_row ? KILN_PLACE_ROW : KILN_PLACE_ELEMENT;
}

/* The accumulator that yields an operation: of the moments of one value there is one only. */
static struct kiln_accumulator *find_accumulator(struct kiln_reduction_passes *passes,
                                                 const struct kiln_op *op)
{
    enum kiln_accumulator_kind kind = kiln_accumulator_of(op->opcode);
    for (uint32_t i = 0; i < passes->accumulator_count; i++) {
        if (kind == KILN_ACCUMULATOR_MOMENTS && passes->accumulators[i].kind == kind &&
            passes->accumulators[i].operand == op->operands[0])
            return &passes->accumulators[i];
    }
    struct kiln_accumulator *added = &passes->accumulators[passes->accumulator_count++];
    *added = (struct kiln_accumulator){
        .kind = kind,
        .scalar = op->scalar,
        .operand = op->operands[0],
        .results = {KILN_NONE, KILN_NONE},
    };
    return added;
}

static void collect_accumulators(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                 struct kiln_reduction_passes *passes)
{
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        if (!is_reduction(group, op) || find_load(group, group->ops[i]) != NULL)
            continue;
        struct kiln_accumulator *accumulator = find_accumulator(passes, op);
        accumulator->results[op->opcode == KILN_OP_REDUCE_SQUARES] = group->ops[i];
        accumulator->pass = passes->pass[i] - 1;
    }
    /* Insertion sort: few, and almost in order. */
    for (uint32_t i = 1; i < passes->accumulator_count; i++) {
        struct kiln_accumulator moved = passes->accumulators[i];
        uint32_t place = i;
        for (; place > 0; place--) {
            const struct kiln_accumulator *before = &passes->accumulators[place - 1];
            if (before->pass < moved.pass ||
                (before->pass == moved.pass && before->operand <= moved.operand))
                break;
            passes->accumulators[place] = *before;
        }
        passes->accumulators[place] = moved;
    }
}

static uint32_t count_passes(const struct kiln_fusion_group *group,
                             const struct kiln_reduction_passes *passes)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < passes->accumulator_count; i++)
        last = passes->accumulators[i].pass > last ? passes->accumulators[i].pass : last;
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        const struct kiln_access *store = &group->accesses[i];
        if (store->place == KILN_PLACE_ROW)
            continue;
        uint32_t pass = passes->pass[kiln_group_position(group, store->value)];
        last = pass > last ? pass : last;
    }
    return last + 1;
}

enum kiln_status kiln_reduction_passes(const struct kiln_ir *ir,
                                       const struct kiln_fusion_group *group,
                                       struct kiln_arena *arena,
                                       struct kiln_reduction_passes *ret_passes,
                                       struct kiln_error *error)
{
    uint32_t reduction_count = 0;
    for (uint32_t i = 0; i < group->op_count; i++)
        reduction_count += is_reduction(group, &ir->ops[group->ops[i]]);
    struct kiln_reduction_passes passes = {
        .accumulators = kiln_arena_calloc(arena, reduction_count + 1, sizeof *passes.accumulators),
        .pass = kiln_arena_calloc(arena, group->op_count, sizeof *passes.pass),
        .place = kiln_arena_calloc(arena, group->op_count, sizeof *passes.place),
    };
    if (passes.accumulators == NULL || passes.pass == NULL || passes.place == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while ordering a reduction");
    for (uint32_t i = 0; i < group->op_count; i++)
        place_value(ir, group, i, &passes);
    collect_accumulators(ir, group, &passes);
    passes.pass_count = count_passes(group, &passes);
    *ret_passes = passes;
    return KILN_OK;
}

void kiln_reduction_pass_values(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                const struct kiln_reduction_passes *passes, uint32_t pass,
                                bool *ret_needed)
{
    memset(ret_needed, 0, group->op_count * sizeof *ret_needed);
    for (uint32_t i = 0; group->role != KILN_ROLE_COMBINE && i < passes->accumulator_count; i++) {
        if (passes->accumulators[i].pass == pass)
            ret_needed[kiln_group_position(group, passes->accumulators[i].operand)] = true;
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        const struct kiln_access *store = &group->accesses[i];
        uint32_t position = kiln_group_position(group, store->value);
        if (store->place != KILN_PLACE_ROW && passes->pass[position] == pass)
            ret_needed[position] = true;
    }
    for (uint32_t i = group->op_count; i-- > 0;) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        ret_needed[i] = ret_needed[i] && passes->place[i] != KILN_PLACE_ROW;
        if (!ret_needed[i] || find_load(group, group->ops[i]) != NULL ||
            is_anchor(group, group->ops[i]))
            continue;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
            ret_needed[kiln_group_position(group, op->operands[k])] = true;
    }
}
