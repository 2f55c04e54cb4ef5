#include "compiler/families/reduction/emit/emit_reduction_arguments.h"

#include "compiler/emit/emit_coordinates.h"
#include "compiler/emit/emit_counts.h"
#include "compiler/emit/emit_sizes.h"
#include "compiler/families/reduction/emit/emit_reduction_sizes.h"

#include <inttypes.h>

/* Axes of a set that an index is taken apart by: neither the inner one nor the slowest. */
static void visit_axes(struct kiln_integer_walk *walk, uint32_t axes)
{
    uint32_t inner = walk->emission->schedule->walk.rank - 1;
    axes &= (1u << inner) - 1;
    axes &= axes - 1;
    for (uint32_t axis = 0; axis < inner; axis++) {
        if ((axes >> axis) & 1u)
            kiln_visit_axis(walk, axis);
    }
}

static void visit_segments(struct kiln_integer_walk *walk)
{
    const struct kiln_schedule *schedule = walk->emission->schedule;
    const struct kiln_fusion_group *group = walk->emission->group;
    const struct kiln_reduction_sizes sizes = kiln_reduction_sizes(walk->emission);
    uint64_t segments = kiln_reduction_schedule_of(schedule)->segment_count;
    if (kiln_reduction_is_columns(kiln_reduction_schedule_of(schedule)))
        kiln_visit_split_size(walk, schedule->launch.chunk_count / segments, "tiles");
    else
        kiln_visit_split_size(walk, segments, "segments");
    if (kiln_reduction_schedule_of(schedule)->segments_take_turns) {
        kiln_visit_split_size(walk, sizes.stride, "stride");
    } else {
        kiln_visit_integer(walk, (int64_t)sizes.segment_steps, "segment_steps");
        kiln_visit_integer(walk, (int64_t)sizes.segment_tails, "segment_tails");
    }
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (group->accesses[i].is_accumulator)
            kiln_visit_integer(walk, group->accesses[i].segment_stride, "segment_stride%" PRIu32,
                               i);
    }
}

/* The walk over a row, or over a vector of rows. */
static void visit_steps(struct kiln_integer_walk *walk)
{
    const struct kiln_schedule *schedule = walk->emission->schedule;
    const struct kiln_reduction_sizes sizes = kiln_reduction_sizes(walk->emission);
    uint32_t inner = 1u << (schedule->walk.rank - 1);
    bool is_inner_alone = (schedule->walk.reduced_axes & inner) != 0
                              ? schedule->walk.reduced_axes == inner
                              : (schedule->walk.reduced_axes | inner) == 2 * inner - 1;
    kiln_visit_integer(walk, (int64_t)sizes.steps, "steps");
    kiln_visit_integer(walk, (int64_t)sizes.chains, "chains");
    kiln_visit_integer(walk, (int64_t)sizes.chain_steps, "chain_steps");
    if (kiln_reduction_is_columns(kiln_reduction_schedule_of(schedule))) {
        if (!is_inner_alone)
            kiln_visit_split_size(walk, (uint64_t)kiln_vectors_of_rows(schedule), "vectors");
        kiln_visit_integer(walk, kiln_last_vector_of_rows(schedule), "last_vector");
    } else if (!is_inner_alone) {
        kiln_visit_split_size(walk, kiln_steps_of_line(schedule), "line_steps");
    }
    if (kiln_rows_have_tails(walk->emission)) {
        uint64_t line_tails =
            (uint64_t)schedule->walk.dims[schedule->walk.rank - 1] % schedule->walk.vector_elems;
        kiln_visit_integer(walk, (int64_t)sizes.tails, "tails");
        kiln_visit_split_size(walk, line_tails == 0 ? 1 : line_tails, "line_tails");
        kiln_visit_integer(walk, schedule->walk.dims[schedule->walk.rank - 1] - (int64_t)line_tails,
                           "line_whole");
    }
}

void kiln_visit_reduction_integers(struct kiln_integer_walk *walk)
{
    const struct kiln_schedule *schedule = walk->emission->schedule;
    if (!kiln_sizes_are_arguments(walk->emission))
        return;
    kiln_visit_integer(walk, (int64_t)schedule->launch.chunk_count, "chunks");
    kiln_visit_integer(walk, (int64_t)kiln_reduction_schedule_of(schedule)->kept_count, "kept");
    visit_steps(walk);
    if (walk->emission->group->role == KILN_ROLE_PARTIAL)
        visit_segments(walk);
    visit_axes(walk, ~schedule->walk.reduced_axes);
    visit_axes(walk, schedule->walk.reduced_axes);
    kiln_visit_strides(walk);
    kiln_visit_counts(walk);
}
