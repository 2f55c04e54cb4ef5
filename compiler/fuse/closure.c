#include "compiler/fuse/closure.h"

#include "compiler/fuse/cluster.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/op_cost.h"
#include "compiler/fuse/register_pressure.h"

#include <stdlib.h>

static bool is_load(const struct kiln_group_builder *builder, uint32_t value)
{
    uint32_t cluster = builder->closure_cluster;
    /* COMBINE loads accumulators. */
    if (builder->accumulated_in[value] != KILN_NONE)
        return !kiln_cluster_has_core(builder, cluster, value) ||
               builder->clusters[cluster].role == KILN_ROLE_COMBINE;
    return kiln_op_is_load(&builder->ir->ops[value]) || builder->reads_memory[value] ||
           (builder->cut[value] && builder->own[value] != builder->stamp_now);
}

/* Puts a value into the closure; what it is computed from follows. */
static void reach(struct kiln_group_builder *builder, uint32_t value)
{
    if (builder->stamp[value] == builder->stamp_now)
        return;
    builder->stamp[value] = builder->stamp_now;
    builder->ops[builder->op_count++] = value;
    builder->stack[builder->stack_count++] = value;
}

/* Follows the values on the stack down to what is loaded; false when that is more than `most`
 * values. */
static bool follow(struct kiln_group_builder *builder, uint32_t most)
{
    while (builder->stack_count != 0 && builder->op_count <= most) {
        uint32_t value = builder->stack[--builder->stack_count];
        const struct kiln_op *op = &builder->ir->ops[value];
        builder->steps++;
        builder->is_load[value] = is_load(builder, value);
        uint32_t arity = builder->is_load[value] ? 0 : kiln_opcode_info(op->opcode)->arity;
        for (uint32_t k = 0; k < arity; k++)
            reach(builder, op->operands[k]);
    }
    builder->stack_count = 0;
    return builder->op_count <= most;
}

static void reach_item(struct kiln_group_builder *builder, const struct kiln_group_item *item)
{
    if (kiln_item_is_home(builder, item))
        builder->own[item->value] = builder->stamp_now;
    reach(builder, item->value);
}

bool kiln_closure_begin(struct kiln_group_builder *builder, uint32_t cluster, const uint32_t *items,
                        uint32_t item_count, uint32_t most)
{
    builder->stamp_now++;
    builder->closure_cluster = cluster;
    builder->op_count = builder->stack_count = 0;
    builder->steps += item_count;
    for (uint32_t i = 0; i < item_count; i++)
        reach_item(builder, &builder->items[items[i]]);
    for (uint32_t value = cluster == KILN_NONE ? KILN_NONE : builder->clusters[cluster].first_core;
         value != KILN_NONE; value = builder->next_core[value]) {
        /* A COMBINE cluster has only some of the core operations that its PARTIAL cluster lists. */
        if (kiln_cluster_has_core(builder, cluster, value))
            reach(builder, value);
    }
    return follow(builder, most);
}

bool kiln_closure_add(struct kiln_group_builder *builder, const struct kiln_group_item *item,
                      uint32_t most)
{
    bool was_loaded = kiln_closure_loads(builder, item->value);
    reach_item(builder, item);
    if (was_loaded) /* from where this kernel stores it, perhaps */
        builder->stack[builder->stack_count++] = item->value;
    return follow(builder, most);
}

static int compare_values(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void sort_values(struct kiln_group_builder *builder)
{
    enum { SCANNED_INSTEAD = 16 }; /* values that are looked at in the time of sorting one */
    uint32_t first = KILN_NONE;
    uint32_t last = 0;
    for (uint32_t i = 0; i < builder->op_count; i++) {
        first = builder->ops[i] < first ? builder->ops[i] : first;
        last = builder->ops[i] > last ? builder->ops[i] : last;
    }
    if (builder->op_count == 0 || (last - first) / SCANNED_INSTEAD >= builder->op_count) {
        qsort(builder->ops, builder->op_count, sizeof *builder->ops, compare_values);
        return;
    }
    uint32_t count = 0;
    for (uint32_t value = first; value <= last; value++) {
        if (builder->stamp[value] == builder->stamp_now)
            builder->ops[count++] = value;
    }
}

void kiln_closure_finish(struct kiln_group_builder *builder)
{
    const struct kiln_ir *ir = builder->ir;
    sort_values(builder);
    builder->cost = 0;
    for (uint32_t i = 0; i < builder->op_count; i++) {
        if (!builder->is_load[builder->ops[i]])
            builder->cost += kiln_op_cost(&ir->ops[builder->ops[i]]);
    }
    builder->live_registers = kiln_register_pressure(
        ir, builder->ops, builder->op_count, builder->is_load, builder->scratch, builder->live);
}

void kiln_group_closure(struct kiln_group_builder *builder, uint32_t cluster, const uint32_t *items,
                        uint32_t item_count)
{
    (void)kiln_closure_begin(builder, cluster, items, item_count, UINT32_MAX);
    kiln_closure_finish(builder);
}

bool kiln_group_computes(const struct kiln_group_builder *builder, uint32_t value)
{
    return builder->stamp[value] == builder->stamp_now && !builder->is_load[value];
}

bool kiln_closure_loads(const struct kiln_group_builder *builder, uint32_t value)
{
    return builder->stamp[value] == builder->stamp_now && builder->is_load[value];
}

bool kiln_group_exceeds_limits(const struct kiln_group_builder *builder, uint32_t item_count,
                               enum kiln_boundary *ret_boundary)
{
    uint32_t cluster = builder->closure_cluster;
    enum kiln_kernel_family family =
        cluster == KILN_NONE ? KILN_FAMILY_FIRST : builder->clusters[cluster].family;
    uint32_t loads = 0;
    for (uint32_t i = 0; i < builder->op_count; i++)
        loads += builder->is_load[builder->ops[i]];
    *ret_boundary = KILN_BOUNDARY_SIZE;
    if (builder->op_count > KILN_GROUP_MAX_OPS || builder->cost > KILN_GROUP_MAX_COST ||
        loads + item_count > kiln_fuse_family(family)->max_accesses)
        return true;
    *ret_boundary = KILN_BOUNDARY_REGISTERS;
    return builder->live_registers > kiln_register_budget(builder->target);
}
