#include "compiler/families/reduction/schedule/pass_work.h"

#include "compiler/fuse/op_cost.h"

static bool is_element_load(const struct kiln_fusion_group *group, uint32_t access)
{
    return access < group->load_count && !group->accesses[access].is_accumulator &&
           group->accesses[access].place != KILN_PLACE_ROW;
}

static void add_pass(const struct kiln_ir *ir, const struct kiln_fusion_group *group, uint32_t pass,
                     const bool *needed, bool *was_needed, struct kiln_pass_work *work)
{
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (!needed[i])
            continue;
        uint32_t cost = kiln_op_cost(&ir->ops[group->ops[i]]);
        work->cost += cost;
        work->has_costly_shared_values |= was_needed[i] && cost > 1;
        was_needed[i] = true;
    }
    for (uint32_t i = 0; i < group->load_count; i++) {
        uint32_t position = kiln_group_position(group, group->accesses[i].value);
        if (is_element_load(group, i) && position < group->op_count && needed[position])
            work->first_pass[i] = work->reads[i]++ == 0 ? pass : work->first_pass[i];
    }
}

bool kiln_measure_passes(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                         const struct kiln_reduction_passes *passes,
                         struct kiln_pass_work *ret_work)
{
    struct kiln_pass_work work = {
        .reads = kiln_arena_calloc(ir->arena, group->access_count, sizeof *work.reads),
        .first_pass = kiln_arena_calloc(ir->arena, group->access_count, sizeof *work.first_pass),
    };
    bool *needed = kiln_arena_calloc(ir->arena, group->op_count, sizeof *needed);
    bool *was_needed = kiln_arena_calloc(ir->arena, group->op_count, sizeof *was_needed);
    if (work.reads == NULL || work.first_pass == NULL || needed == NULL || was_needed == NULL)
        return false;
    for (uint32_t i = 0; i < group->access_count; i++)
        work.reads[i] = !is_element_load(group, i);
    for (uint32_t pass = 0; pass < passes->pass_count; pass++) {
        kiln_reduction_pass_values(ir, group, passes, pass, needed);
        add_pass(ir, group, pass, needed, was_needed, &work);
    }
    for (uint32_t i = 0; i < passes->accumulator_count; i++)
        work.cost += kiln_accumulator_info(passes->accumulators[i].kind)->cost;
    *ret_work = work;
    return true;
}
