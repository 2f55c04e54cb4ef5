#include "compiler/families/reduction/schedule/reduction_combine.h"

#include "compiler/families/reduction/schedule/reduction_schedule.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/schedule/vector_access.h"

enum {
    COMBINE_ITEMS = 8, /* work-items that share the segments of an element */
    FEW_SEGMENTS = 8,  /* that one work-item merges */
    MERGE_BYTES = 64,  /* neighbours where a wave merges them */
    ACCUMULATOR_BYTES = 4,
};

/* Bytes of a vector, also where no access has neighbours: accumulators are four bytes or more. */
static uint32_t vector_bytes(const struct kiln_reduction_problem *problem,
                             const struct kiln_schedule *schedule)
{
    return schedule->walk.vector_elems * kiln_max_u32(problem->element_bytes, ACCUMULATOR_BYTES);
}

void kiln_lay_out_combine(const struct kiln_reduction_problem *problem,
                          struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_in(schedule);
    uint64_t vectors =
        kiln_ceil_div(problem->tuning->sector_bytes, vector_bytes(problem, schedule));
    uint32_t fewest = kiln_ceil_power_of_two(vectors);
    uint32_t block = kiln_min_u32(KILN_BLOCK, problem->max_block);
    uint32_t items = kiln_min_u32(COMBINE_ITEMS, block);
    uint32_t kept = block / items;
    if (schedule->options->shapes == KILN_SHAPES_ARGUMENT) {
        kept = kiln_min_u32(fewest, block); /* for any number of segments */
        items = block / kept;
    } else if (reduction->step_count > items &&
               kiln_reduction_work_groups(schedule, kept) < problem->target->compute_units) {
        kept = kiln_min_u32(fewest, block);
        if (reduction->step_count > block / kept * KILN_MAX_STEPS_IN_FLIGHT) {
            block = problem->max_block;
            kept = 1; /* half a sector: what is shared by two work-groups is in a cache */
        }
        items = block / kept;
    }
    reduction->items_along_reduced = items;
    reduction->items_along_kept = kept;
}

void kiln_lay_out_merge(const struct kiln_reduction_problem *problem,
                        struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_in(schedule);
    uint32_t wave = problem->target->wave_size;
    bool is_few = reduction->step_count <= FEW_SEGMENTS;
    uint64_t most = is_few ? FEW_SEGMENTS : KILN_MAX_SEGMENT_AXIS;
    uint64_t vectors = kiln_ceil_div(MERGE_BYTES, vector_bytes(problem, schedule));
    uint32_t kept = kiln_ceil_power_of_two(vectors);
    reduction->items_along_kept = is_few ? KILN_SMALL_BLOCK : kiln_min_u32(kept, wave);
    reduction->items_along_reduced = is_few ? 1 : wave / reduction->items_along_kept;
    if (reduction->steps_per_segment < most)
        reduction->steps_per_segment = most;
}
