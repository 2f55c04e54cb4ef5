#include "compiler/plan/walk_directions.h"

#include "compiler/schedule/schedule_group.h"
#include "compiler/schedule/vector_access.h"

enum kiln_status kiln_choose_walk_directions(struct kiln_kernel_plan *plan,
                                             const struct kiln_graph *graph,
                                             struct kiln_error *error)
{
    uint32_t *last_user =
        kiln_arena_calloc(plan->ir.arena, graph->tensor_count + 1, sizeof *last_user);
    if (last_user == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling the graph");
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        last_user[i] = KILN_NONE;
    for (uint32_t i = 0; i < plan->partition.group_count; i++) {
        const struct kiln_fusion_group *group = &plan->partition.groups[i];
        struct kiln_schedule *schedule = &plan->schedules[i];
        uint64_t heaviest = kiln_heaviest_access(group, schedule);
        uint32_t previous = KILN_NONE;
        for (uint32_t k = 0; k < group->access_count; k++) {
            uint32_t tensor = group->accesses[k].tensor;
            if (tensor == KILN_NONE || !kiln_access_is_heavy(group, schedule, k, heaviest))
                continue;
            if (last_user[tensor] != KILN_NONE && last_user[tensor] != i &&
                (previous == KILN_NONE || last_user[tensor] > previous))
                previous = last_user[tensor];
            last_user[tensor] = i;
        }
        schedule->walk.is_backward = previous != KILN_NONE && !schedule->options->is_general &&
                                     kiln_schedule_walks_in_order(schedule) &&
                                     !plan->schedules[previous].walk.is_backward;
    }
    return KILN_OK;
}
