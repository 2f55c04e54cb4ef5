#include "tests/compiler/fuse/partition_invariants.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* Memory as the groups leave it: which value lies in each output, and in each stretch of the
 * workspace. */
struct stretch {
    uint64_t begin;
    uint64_t end;
    uint32_t value;
};

struct memory {
    uint32_t *outputs; /* per tensor: the value written, or KILN_NONE */
    struct stretch *stretches;
    uint32_t stretch_count;
};

static bool is_load(const struct kiln_fusion_group *group, uint32_t value)
{
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (group->accesses[i].value == value)
            return true;
    }
    return false;
}

static bool holds(const struct kiln_ir *ir, uint32_t written, uint32_t loaded)
{
    return written != KILN_NONE &&
           (written == loaded || (ir->ops[loaded].opcode == KILN_OP_BROADCAST &&
                                  ir->ops[loaded].operands[0] == written));
}

static void check_load(const struct kiln_ir *ir, const struct memory *memory,
                       const struct kiln_access *access, const char *name, uint32_t group)
{
    if (ir->ops[access->value].opcode == KILN_OP_LOAD)
        return;
    uint32_t written = KILN_NONE;
    if (access->kind != KILN_ARGUMENT_WORKSPACE)
        written = memory->outputs[access->tensor];
    for (uint32_t i = 0; i < memory->stretch_count; i++) {
        if (access->kind == KILN_ARGUMENT_WORKSPACE &&
            memory->stretches[i].begin == access->workspace_offset_bytes)
            written = memory->stretches[i].value;
    }
    cr_assert(holds(ir, written, access->value),
              "%s: group %u loads value %u, which is not in memory", name, group, access->value);
}

static void store(const struct kiln_ir *ir, struct memory *memory, const struct kiln_access *access)
{
    if (access->kind != KILN_ARGUMENT_WORKSPACE) {
        memory->outputs[access->tensor] = access->value;
        return;
    }
    uint64_t bytes = (uint64_t)kiln_domain_elements(&ir->domains[ir->ops[access->value].domain]) *
                     kiln_dtype_info(access->dtype)->bytes;
    struct stretch stretch = {access->workspace_offset_bytes,
                              access->workspace_offset_bytes + bytes, access->value};
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
        for (uint32_t k = 0; !is_load(group, value) && k < kiln_opcode_info(op->opcode)->arity; k++)
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
        for (uint32_t i = 0; i < group->load_count; i++)
            check_load(ir, &memory, &group->accesses[i], name, g);
        for (uint32_t i = group->load_count; i < group->access_count; i++)
            store(ir, &memory, &group->accesses[i]);
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
