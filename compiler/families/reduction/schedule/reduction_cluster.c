#include "compiler/families/reduction/schedule/reduction_cluster.h"

#include "compiler/families/reduction/schedule/reduction_registers.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_WITH_CLUSTERS = 90,  /* sm_90 */
    MAX_GROUPS = 8,            /* the largest portable cluster size */
    LONG_ROW_BYTES = 64 << 10, /* of all operands; rows up to this size stay in one work-group */
    MIN_WAVES = 4, /* of a work-group; their merge in local memory comes before the cluster's */
    /* Registers that hold a row, if a step needs few others; fewer, if there are moments or values
     * that are costly to compute twice. On an H100 RMSNorm of x + residual of 100003 halves reaches
     * 0.76 of a copy with 104 of them, and 0.50 with 56. A layer norm of 32767 floats reaches 0.64
     * with 64, and 0.74 with 32. */
    HELD_REGISTERS = 104,
    FEW_HELD_REGISTERS = 60,
    GROUP_BYTES = 32 << 10, /* of a row, for each work-group */
};

static bool has_clusters(const struct kiln_target *target)
{
    return strncmp(target->processor, "sm_", 3) == 0 &&
           strtoul(target->processor + 3, NULL, 10) >= FIRST_WITH_CLUSTERS;
}

uint32_t kiln_choose_groups_of_row(const struct kiln_reduction_problem *problem,
                                   const struct kiln_schedule *schedule)
{
    const struct kiln_walk *walk = &schedule->walk;
    uint64_t bytes = 0;
    uint32_t groups = 1;
    if (!has_clusters(problem->target) || !problem->may_unroll ||
        problem->sizes != KILN_LAYOUT_OF_SIZES || problem->group->role != KILN_ROLE_WHOLE ||
        walk->reduced_axes != 1u << (walk->rank - 1) || !kiln_gains_from_holding(problem))
        return 1;
    for (uint32_t i = 0; i < problem->group->load_count; i++) {
        if (problem->reads[i] > 1 && schedule->accesses[i].strides[walk->rank - 1] != 0)
            bytes += walk->cols * kiln_dtype_info(problem->group->accesses[i].dtype)->bytes;
    }
    uint64_t steps = walk->cols / walk->vector_elems;
    uint64_t fewest_steps = MIN_WAVES * problem->target->wave_size;
    while (bytes > LONG_ROW_BYTES && groups < MAX_GROUPS && bytes / groups > GROUP_BYTES &&
           steps / (2 * groups) >= fewest_steps)
        groups *= 2;
    return groups;
}

uint32_t kiln_items_of_cluster(const struct kiln_reduction_problem *problem,
                               const struct kiln_schedule *schedule)
{
    uint32_t items = MIN_WAVES * problem->target->wave_size;
    uint32_t most = problem->has_costly_shared_values || kiln_has_moments(problem->passes)
                        ? FEW_HELD_REGISTERS
                        : HELD_REGISTERS;
    while (items < KILN_LARGE_BLOCK && kiln_registers_of_rows(problem, schedule, items) > most)
        items *= 2;
    return items;
}
