#include "tests/compiler/fuse/partition_invariants.h"

#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/ir/operand_sums.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* Memory as the groups leave it: which value lies in each output, and in each stretch of the
 * workspace. */
struct stretch {
    uint64_t begin;
    uint64_t end;
    uint32_t value;
    bool is_accumulator;
    uint32_t component;
    uint32_t segment_count;
};

struct memory {
    uint32_t *outputs; /* per tensor: the value written, or KILN_NONE */
    struct stretch *stretches;
    uint32_t stretch_count;
};

static bool is_load(const struct kiln_fusion_group *group, uint32_t value)
{
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (group->accesses[i].value == value && !group->accesses[i].is_accumulator)
            return true;
    }
    return false;
}

static bool holds(const struct kiln_ir *ir, uint32_t written, uint32_t loaded)
{
    return written != KILN_NONE &&
           (written == loaded ||
            (kiln_opcode_info(ir->ops[loaded].opcode)->op_class == KILN_OP_CLASS_BROADCAST &&
             ir->ops[loaded].operands[0] == written));
}

static bool is_reduction(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_REDUCE;
}

static bool is_contraction(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_CONTRACT;
}

static bool is_wanted(const struct kiln_fusion_group *group, uint32_t value, enum kiln_place place)
{
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (group->ops[i] == value)
            return (group->places[i] >> place & 1) != 0;
    }
    return false;
}

/* The sum of an operand of the group's product, which is done beside it. */
static bool is_operand_sum(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                           uint32_t value)
{
    uint32_t side;
    return group->family == KILN_FAMILY_CONTRACTION && group->anchor_count == 1 &&
           is_reduction(&ir->ops[value]) && is_wanted(group, value, KILN_PLACE_SUM) &&
           kiln_ir_is_operand_sum(ir, value, group->anchors[0], &side);
}

/* Where a value is wanted whose load is made here: what is the same in all of a row is loaded once
 * for its elements. */
static enum kiln_place wanting_place(const struct kiln_access *load)
{
    return load->place == KILN_PLACE_ROW ? KILN_PLACE_ELEMENT : load->place;
}

/* One load of a value in each place that wants it, and none elsewhere. */
static void check_loads_of_places(const struct kiln_fusion_group *group, uint32_t value,
                                  const char *name, uint32_t index)
{
    for (int place = 0; place < KILN_PLACE_COUNT; place++) {
        uint32_t loads = 0;
        for (uint32_t i = 0; i < group->load_count; i++)
            loads += group->accesses[i].value == value &&
                     (int)wanting_place(&group->accesses[i]) == place;
        cr_assert_eq(loads, is_wanted(group, value, (enum kiln_place)place),
                     "%s: group %u loads value %u %u times in place %d", name, index, value, loads,
                     place);
    }
}

/* A value is wanted in every place that evaluates one of its readers, over a domain that broadcasts
 * to the place's. */
static void check_places_of_value(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                  uint32_t value, const char *name, uint32_t index)
{
    const struct kiln_op *op = &ir->ops[value];
    const struct kiln_op *contract = &ir->ops[group->anchors[0]];
    const struct kiln_op *last = &ir->ops[group->anchors[group->anchor_count - 1]];
    bool shares_left = contract->operands[0] == last->operands[0];
    const uint32_t domains[KILN_PLACE_COUNT] = {
        [KILN_PLACE_ELEMENT] = group->domain,
        [KILN_PLACE_LEFT] = ir->ops[contract->operands[0]].domain,
        [KILN_PLACE_RIGHT] = ir->ops[contract->operands[1]].domain,
        [KILN_PLACE_SECOND] = ir->ops[last->operands[shares_left]].domain,
        [KILN_PLACE_SUM] = ir->ops[kiln_group_operand(group, KILN_PLACE_SUM) == KILN_NONE
                                       ? value
                                       : kiln_group_operand(group, KILN_PLACE_SUM)]
                               .domain,
        [KILN_PLACE_ROW] = group->domain};
    for (int place = 0; place < KILN_PLACE_COUNT; place++) {
        if (!is_wanted(group, value, (enum kiln_place)place))
            continue;
        cr_assert(kiln_domain_broadcasts_to(&ir->domains[op->domain], &ir->domains[domains[place]]),
                  "%s: group %u evaluates value %u in place %d, of another shape", name, index,
                  value, place);
        cr_assert(place == KILN_PLACE_ELEMENT || !is_contraction(op) || is_load(group, value),
                  "%s: group %u", name, index);
        for (uint32_t k = 0;
             !is_load(group, value) && !is_contraction(op) && !is_operand_sum(ir, group, value) &&
             k < kiln_opcode_info(op->opcode)->arity;
             k++)
            cr_assert(is_wanted(group, op->operands[k], (enum kiln_place)place),
                      "%s: group %u: value %u is not in place %d", name, index, op->operands[k],
                      place);
    }
}

/* One product or two that share an operand, what is computed of the operands before and of the
 * results after. */
static void check_contraction_group(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                    const char *name, uint32_t index)
{
    uint32_t contractions = 0;
    for (uint32_t i = 0; i < group->op_count; i++)
        contractions += is_contraction(&ir->ops[group->ops[i]]) && !is_load(group, group->ops[i]) &&
                        group->role != KILN_ROLE_COMBINE;
    bool is_of_products = group->family == KILN_FAMILY_CONTRACTION;
    cr_assert(contractions == group->anchor_count && contractions >= is_of_products &&
                  contractions <= (is_of_products ? KILN_GROUP_MAX_PRODUCTS : 0),
              "%s: group %u has %u products", name, index, contractions);
    if (!is_of_products) {
        cr_assert_null(group->places, "%s: group %u", name, index);
        return;
    }
    const struct kiln_op *contract = &ir->ops[group->anchors[0]];
    const struct kiln_op *last = &ir->ops[group->anchors[contractions - 1]];
    bool shares_left = contract->operands[0] == last->operands[0];
    cr_assert(shares_left || contract->operands[1] == last->operands[1], "%s: group %u", name,
              index);
    cr_assert_eq(contract->contraction, last->contraction, "%s: group %u", name, index);
    cr_assert(contractions == 1 || is_wanted(group, last->operands[shares_left], KILN_PLACE_SECOND),
              "%s: group %u", name, index);
    cr_assert(is_contraction(contract), "%s: group %u", name, index);
    cr_assert_eq(contract->domain, group->domain, "%s: group %u", name, index);
    cr_assert(is_wanted(group, contract->operands[0], KILN_PLACE_LEFT), "%s: group %u", name,
              index);
    cr_assert(is_wanted(group, contract->operands[1], KILN_PLACE_RIGHT), "%s: group %u", name,
              index);
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (is_load(group, group->ops[i]))
            check_loads_of_places(group, group->ops[i], name, index);
        check_places_of_value(ir, group, group->ops[i], name, index);
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        bool is_of_result = access->place == KILN_PLACE_ELEMENT ||
                            (access->place == KILN_PLACE_ROW && group->reduced_axes != 0);
        bool is_of_sum = access->place == KILN_PLACE_SUM && group->reduced_axes == 0;
        cr_assert((is_of_result && is_wanted(group, access->value, KILN_PLACE_ELEMENT)) ||
                      (is_of_sum && is_wanted(group, access->value, KILN_PLACE_SUM)),
                  "%s: group %u stores value %u, which it has not", name, index, access->value);
    }
}

/* Every component of an accumulator lies where its group of segments stored it. */
static void check_accumulator(const struct memory *memory, const struct kiln_fusion_group *group,
                              const struct kiln_access *access, const char *name)
{
    bool found = false;
    for (uint32_t i = 0; i < memory->stretch_count; i++) {
        const struct stretch *stretch = &memory->stretches[i];
        found =
            found || (stretch->begin == access->workspace_offset_bytes && stretch->is_accumulator &&
                      stretch->value == access->value && stretch->component == access->component &&
                      stretch->segment_count == group->segment_count);
    }
    cr_assert(found, "%s: component %u of value %u is not in memory", name, access->component,
              access->value);
}

static void check_load(const struct kiln_ir *ir, const struct memory *memory,
                       const struct kiln_access *access, const char *name, uint32_t group)
{
    const struct kiln_op *op = &ir->ops[access->value];
    if (op->opcode == KILN_OP_LOAD ||
        (op->opcode == KILN_OP_REPEAT && ir->ops[op->operands[0]].opcode == KILN_OP_LOAD))
        return;
    uint32_t written = KILN_NONE;
    if (access->kind != KILN_ARGUMENT_WORKSPACE)
        written = memory->outputs[access->tensor];
    for (uint32_t i = 0; i < memory->stretch_count; i++) {
        if (access->kind == KILN_ARGUMENT_WORKSPACE && !memory->stretches[i].is_accumulator &&
            memory->stretches[i].begin == access->workspace_offset_bytes)
            written = memory->stretches[i].value;
    }
    cr_assert(holds(ir, written, access->value),
              "%s: group %u loads value %u, which is not in memory", name, group, access->value);
}

static void store(const struct kiln_ir *ir, struct memory *memory,
                  const struct kiln_fusion_group *group, const struct kiln_access *access)
{
    if (access->kind != KILN_ARGUMENT_WORKSPACE) {
        memory->outputs[access->tensor] = access->value;
        return;
    }
    uint64_t bytes = (uint64_t)kiln_domain_elements(&ir->domains[ir->ops[access->value].domain]) *
                     kiln_dtype_info(access->dtype)->bytes *
                     (access->is_accumulator ? group->segment_count : 1);
    struct stretch stretch = {
        .begin = access->workspace_offset_bytes,
        .end = access->workspace_offset_bytes + bytes,
        .value = access->value,
        .is_accumulator = access->is_accumulator,
        .component = access->component,
        .segment_count = group->segment_count,
    };
    uint32_t kept = 0;
    for (uint32_t i = 0; i < memory->stretch_count; i++) {
        bool apart =
            memory->stretches[i].end <= stretch.begin || stretch.end <= memory->stretches[i].begin;
        if (apart)
            memory->stretches[kept++] = memory->stretches[i];
    }
    memory->stretches[kept++] = stretch;
    memory->stretch_count = kept;
}

/* A kernel of windows has one REDUCE and walks over its results. */
static void check_window_group(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                               const char *name, uint32_t index)
{
    cr_assert(group->anchor_count >= 1 && group->reduced_axes == 0, "%s: group %u", name, index);
    const struct kiln_op *first = &ir->ops[group->anchors[0]];
    uint32_t found = 0;
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        if (!is_reduction(op) || is_load(group, group->ops[i]))
            continue;
        cr_assert(found < group->anchor_count && group->ops[i] == group->anchors[found],
                  "%s: group %u", name, index);
        found++;
        cr_assert(op->map != KILN_NONE && op->domain == group->domain, "%s: group %u", name, index);
        cr_assert(op->map == first->map && op->operands[0] == first->operands[0],
                  "%s: group %u reduces other elements", name, index);
    }
    cr_assert_eq(found, group->anchor_count, "%s: group %u", name, index);
}

/* What a group's kernel can evaluate: values over its domain, and over its rows. */
static void check_reduction_group(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                  const char *name, uint32_t index)
{
    uint32_t reductions = 0;
    if (group->family == KILN_FAMILY_POOLING) {
        check_window_group(ir, group, name, index);
        return;
    }
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        bool is_combined = group->role == KILN_ROLE_COMBINE && is_contraction(op);
        if ((!is_reduction(op) && !is_combined) || is_load(group, group->ops[i]) ||
            is_operand_sum(ir, group, group->ops[i]))
            continue;
        reductions++;
        cr_assert(group->family != KILN_FAMILY_POINTWISE, "%s: group %u reduces", name, index);
        uint32_t domain = is_combined ? ir->ops[op->operands[0]].domain : kiln_ir_iteration(ir, op);
        uint32_t axes = kiln_domain_reduced_axes(&ir->domains[domain], &ir->domains[op->domain]);
        if (group->role == KILN_ROLE_COMBINE)
            cr_assert_eq(op->domain, group->domain, "%s: group %u", name, index);
        else
            cr_assert(domain == group->domain && axes == group->reduced_axes,
                      "%s: group %u reduces value %u over other axes", name, index, group->ops[i]);
    }
    bool reduces = group->family == KILN_FAMILY_REDUCTION ||
                   (group->family == KILN_FAMILY_CONTRACTION && group->reduced_axes != 0);
    cr_assert(reduces == (reductions != 0), "%s: group %u", name, index);
    cr_assert((group->segment_count > 1) ==
                  (group->role == KILN_ROLE_PARTIAL || group->role == KILN_ROLE_COMBINE),
              "%s: group %u has %u segments", name, index, group->segment_count);
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        uint32_t domain = ir->ops[access->value].domain;
        if (!reduces || access->is_accumulator || domain == group->domain)
            continue;
        uint32_t axes = kiln_domain_reduced_axes(&ir->domains[group->domain], &ir->domains[domain]);
        cr_assert_eq(axes, group->reduced_axes, "%s: group %u stores value %u of another shape",
                     name, index, access->value);
    }
}

static void check_group(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                        bool *inside, const char *name, uint32_t index)
{
    cr_assert_gt(group->access_count, group->load_count, "%s: group %u stores nothing", name,
                 index);
    cr_assert_leq(group->access_count, KILN_GROUP_MAX_ACCESSES, "%s: group %u has %u accesses",
                  name, index, group->access_count);
    cr_assert_leq(group->op_count, KILN_GROUP_MAX_OPS, "%s: group %u", name, index);
    cr_assert_leq(group->cost, KILN_GROUP_MAX_COST, "%s: group %u", name, index);
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        const struct kiln_op *op = &ir->ops[value];
        inside[value] = true;
        bool is_leaf = is_load(group, value) || (group->role == KILN_ROLE_COMBINE &&
                                                 (is_reduction(op) || is_contraction(op)));
        for (uint32_t k = 0; !is_leaf && k < kiln_opcode_info(op->opcode)->arity; k++)
            cr_assert(inside[op->operands[k]], "%s: group %u lacks value %u", name, index,
                      op->operands[k]);
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++)
        cr_assert(inside[group->accesses[i].value], "%s: group %u stores what it has not", name,
                  index);
    for (uint32_t i = 0; i < group->op_count; i++)
        inside[group->ops[i]] = false;
}

void partition_check(const struct kiln_ir *ir, const struct kiln_graph *graph,
                     const struct kiln_partition *partition, const char *name)
{
    uint32_t store_count = 0;
    for (uint32_t g = 0; g < partition->group_count; g++)
        store_count += partition->groups[g].access_count;
    struct memory memory = {.outputs = calloc(graph->tensor_count + 1, sizeof *memory.outputs),
                            .stretches = calloc(store_count + 1, sizeof *memory.stretches)};
    bool *inside = calloc(ir->op_count + 1, sizeof *inside);
    cr_assert(memory.outputs != NULL && memory.stretches != NULL && inside != NULL);
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        memory.outputs[i] = KILN_NONE;
    for (uint32_t g = 0; g < partition->group_count; g++) {
        const struct kiln_fusion_group *group = &partition->groups[g];
        check_group(ir, group, inside, name, g);
        check_reduction_group(ir, group, name, g);
        if (group->family != KILN_FAMILY_POOLING)
            check_contraction_group(ir, group, name, g);
        for (uint32_t i = 0; i < group->load_count; i++) {
            if (group->accesses[i].is_accumulator)
                check_accumulator(&memory, group, &group->accesses[i], name);
            else
                check_load(ir, &memory, &group->accesses[i], name, g);
        }
        for (uint32_t i = group->load_count; i < group->access_count; i++)
            store(ir, &memory, group, &group->accesses[i]);
    }
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (ir->ops[i].opcode == KILN_OP_STORE)
            cr_assert_eq(memory.outputs[ir->ops[i].tensor], ir->ops[i].operands[0],
                         "%s: tensor %u is not written", name, ir->ops[i].tensor);
    }
    free(inside);
    free(memory.stretches);
    free(memory.outputs);
}
