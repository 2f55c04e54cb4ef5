#include "compiler/families/contraction/schedule/contraction_direct.h"

#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_direct_tile.h"
#include "compiler/families/contraction/schedule/contraction_loads.h"
#include "compiler/families/contraction/schedule/contraction_modes.h"
#include "compiler/families/contraction/schedule/contraction_strips.h"
#include "compiler/schedule/vector_access.h"

/* Products of an input channel and an output channel, of each tap and group. Below, a matrix
 * instruction of 16 x 16 has use for a sixteenth of its columns, or a quarter. */
enum { MOST_PAIRS = 16 };

/* ---- where it is taken ---- */

/* Input channels times output channels of a group; 0 if there are no groups. Above MOST_PAIRS the
 * number is not exact. */
static int64_t count_pairs(const struct kiln_contraction *contraction)
{
    int64_t pairs = 1;
    const struct kiln_map_axis *left = contraction->maps[KILN_CONTRACT_LEFT].axes;
    uint8_t groups = KILN_NO_AXIS; /* axis of the left operand */
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (kiln_is_group_axis(contraction, i))
            groups = left[i].along;
    }
    if (groups == KILN_NO_AXIS)
        return 0;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        enum kiln_axis_role role = contraction->roles[i];
        int64_t size = contraction->sizes[i];
        if (role != KILN_AXIS_N && (role != KILN_AXIS_K || left[i].along != groups))
            continue;
        if (size > MOST_PAIRS)
            return INT64_MAX;
        pairs = pairs > MOST_PAIRS ? pairs : pairs * size;
    }
    return pairs;
}

bool kiln_is_contraction_direct(const struct kiln_contraction_problem *problem)
{
    const struct kiln_fusion_group *group = problem->group;
    const struct kiln_contraction_options *forced = &problem->schedule->options->contraction;
    if (group->anchor_count != 1 || problem->axes->routing != KILN_ROUTING_NONE ||
        kiln_group_has_whole_rows(group) || kiln_group_has_statistics(group) ||
        (kiln_group_cuts_k(group) && !kiln_contraction_is_depthwise_gradient(problem->axes)) ||
        kiln_group_operand_sum(problem->ir, group) != KILN_NONE ||
        problem->axes->image == KILN_CONTRACT_RIGHT)
        return false;
    if (forced->form != KILN_CONTRACTION_ANY)
        return forced->form == KILN_CONTRACTION_DIRECT;
    int64_t pairs = count_pairs(problem->axes);
    return forced->tile_m == 0 && forced->tile_k == 0 && forced->waves_m == 0 && pairs != 0 &&
           pairs <= MOST_PAIRS;
}

/* ---- the pipeline ---- */

/* True if the image's memory runs along the result's columns. */
static bool is_image_across(const struct kiln_contraction_problem *problem)
{
    uint32_t image = kiln_contraction_heaviest(problem, KILN_PLACE_LEFT, false);
    return image != KILN_NONE &&
           problem->schedule->accesses[image].strides[KILN_STRIDE_ACROSS] == 1;
}

/* Channels of a work-item: as many as a load of the image brings, whatever the sums' type is. */
static uint32_t gradient_vector(const struct kiln_contraction_problem *problem, uint32_t limit)
{
    enum { PACK_BYTES = 16, WIDEST = 8 };
    uint32_t vector = (uint32_t)PACK_BYTES / kiln_heaviest_bytes(problem, KILN_PLACE_LEFT, false);
    vector = kiln_min_u32(kiln_floor_power_of_two(kiln_min_u32(vector, limit)), WIDEST);
    bool is_whole = kiln_are_accesses_whole(problem, KILN_PLACE_ELEMENT, KILN_STRIDE_COLUMN,
                                            problem->contraction->problem.n, vector);
    return is_whole ? vector : 1;
}

/* Elements that are loaded one by one have an offset each, and are decoded one by one. A single
 * line of them is enough to wait for, and enough text. */
static uint32_t strip_lines(const struct kiln_contraction_problem *problem)
{
    enum { STRIP_LINES = 3 };
    uint32_t image = kiln_contraction_heaviest(problem, KILN_PLACE_LEFT, false);
    bool is_vector =
        image != KILN_NONE && problem->schedule->accesses[image].mode == KILN_ACCESS_VECTOR;
    return is_vector ? STRIP_LINES : 1;
}

void kiln_choose_direct(struct kiln_contraction_problem *problem)
{
    struct kiln_contraction_schedule *contraction = problem->contraction;
    uint32_t store = kiln_contraction_heaviest(problem, KILN_PLACE_ELEMENT, true);
    bool is_gradient = contraction->pipeline.kind == KILN_PIPELINE_GRADIENT;
    bool are_rows_fast =
        is_gradient ? !is_image_across(problem)
                    : store != KILN_NONE && contraction->problem.n > 1 &&
                          problem->schedule->accesses[store].strides[KILN_STRIDE_COLUMN] != 1;
    bool is_swapped = contraction->left.places[0] == KILN_PLACE_RIGHT;
    uint32_t limit = problem->schedule->limits.vector_elems;
    contraction->pipeline.direct.are_rows_fast = are_rows_fast;
    uint32_t most = kiln_direct_vector_limit(problem->target, is_swapped, are_rows_fast);
    contraction->result_vector =
        kiln_result_vector(problem, contraction->problem.n, kiln_min_u32(most, limit));
    if (is_gradient && !are_rows_fast)
        contraction->result_vector = gradient_vector(problem, limit);
    struct kiln_operand_schedule *shared = is_swapped ? &contraction->left : &contraction->right;
    shared->is_along_k = !kiln_runs_along_rows(problem, shared);
    if (!is_gradient && kiln_find_strips(is_swapped, contraction)) {
        problem->schedule->template_name = "contraction_strips";
        kiln_choose_strip_tile(problem->target, &problem->schedule->limits, contraction);
    } else {
        kiln_choose_direct_tile(problem->target, &problem->schedule->limits, is_swapped,
                                contraction);
    }
    problem->schedule->launch.block = kiln_direct_block(problem->target);
    kiln_set_direct_modes(problem);
    if (contraction->pipeline.kind == KILN_PIPELINE_STRIPS)
        contraction->pipeline.strips.lines = strip_lines(problem);
}
