#include "compiler/families/reduction/schedule/row_ends.h"

#include "compiler/schedule/vector_access.h"

static bool has_packed_elements(const struct kiln_fusion_group *group)
{
    bool any = false;
    for (uint32_t i = 0; i < group->access_count; i++)
        any = any || kiln_dtype_is_packed(group->accesses[i].dtype);
    return any;
}

/* A tail of elements is a walk of its own; one more vector costs less. There are two
 * exceptions on CUDA. In short rows most vectors are ends of what lanes store together, which are
 * stored in pieces (device/unaligned.h), and this adds two. Moments with a count for each lane take
 * registers. On an H100 softmax of 17 and 127 halves would take 1.4 and 1.1 times as long, layer
 * norm 1.2 to 1.5 times.
 */
bool kiln_may_move_back(const struct kiln_reduction_problem *problem,
                        const struct kiln_schedule *schedule)
{
    const struct kiln_fusion_group *group = problem->group;
    uint32_t inner = schedule->walk.rank - 1;
    bool is_cuda = problem->target->kind == KILN_TARGET_CUDA;
    if (problem->is_host || problem->sizes != KILN_LAYOUT_OF_SIZES ||
        schedule->walk.reduced_axes != 1u << inner || schedule->walk.end != 0 ||
        group->role == KILN_ROLE_COMBINE ||
        (is_cuda && (problem->has_short_lines || kiln_has_moments(problem->passes))))
        return false;
    return !has_packed_elements(group);
}

/* kiln_walk.moved_elems. Long rows keep their tail, which is little of them: a loop would look for
 * the last vector in each turn, and held rows need their registers. So do rows that take waves and
 * whose whole vectors are whole turns: one vector more would take as long as a turn. */
static uint32_t choose_moved_elems(const struct kiln_target *target,
                                   const struct kiln_schedule *schedule)
{
    const struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_of(schedule);
    uint32_t vector = schedule->walk.vector_elems;
    uint32_t cut = (uint32_t)(schedule->walk.cols % vector);
    uint64_t turn = (uint64_t)reduction->items_along_reduced * reduction->segment_count;
    bool is_even = turn >= target->wave_size && schedule->walk.cols / vector % turn == 0;
    bool is_long =
        !kiln_reduction_is_held(reduction) || reduction->steps_per_item > KILN_STEPS_PER_ITEM;
    return cut == 0 || is_even || is_long ? 0 : vector - cut;
}

/* kiln_walk.skew_elems. A vector that is not aligned takes 15 instructions to load on CUDA, and 50
 * to store (device/unaligned.h). So rows of the last result decide where vectors begin, if its
 * pointer is promised to be aligned. */
static void choose_skew(const struct kiln_graph *graph,
                        const struct kiln_reduction_problem *problem, const bool *is_dense,
                        struct kiln_schedule *schedule)
{
    const struct kiln_fusion_group *group = problem->group;
    uint32_t vector = schedule->walk.vector_elems;
    bool is_aligned = false;
    if (problem->target->kind != KILN_TARGET_CUDA || problem->has_short_lines ||
        problem->sizes != KILN_LAYOUT_OF_SIZES || schedule->walk.rank != 2 ||
        schedule->walk.reduced_axes != 2 || schedule->walk.end != 0 ||
        group->role == KILN_ROLE_COMBINE || has_packed_elements(group) ||
        schedule->walk.cols < 2 * (uint64_t)vector)
        return;
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access_schedule *access = &schedule->accesses[i];
        if (!is_dense[i] || access->strides[0] == 0 || access->repeats[0] != 0)
            continue;
        schedule->walk.skew_elems = (uint32_t)access->strides[0] % vector;
        is_aligned = kiln_vector_is_aligned(graph, problem->target, schedule, group, i, 1);
    }
    if (!is_aligned)
        schedule->walk.skew_elems = 0;
}

void kiln_choose_row_ends(const struct kiln_graph *graph,
                          const struct kiln_reduction_problem *problem, const bool *is_dense,
                          struct kiln_schedule *schedule)
{
    choose_skew(graph, problem, is_dense, schedule);
    if (problem->moves_back && schedule->walk.skew_elems == 0)
        schedule->walk.moved_elems = choose_moved_elems(problem->target, schedule);
}
