/* The integers that a contraction's kernel is launched with: their names and values, in order. */
#include "compiler/emit/emit_integers.h"
#include "compiler/families/contraction/emit/emit_contraction.h"
#include "compiler/families/contraction/emit/emit_contraction_parts.h"
#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/families/contraction/schedule/contraction_runs.h"
#include "compiler/families/contraction/schedule/contraction_small.h"
#include "compiler/families/contraction/schedule/contraction_strips.h"
#include "compiler/schedule/divisor.h"

#include <inttypes.h>

static bool is_argument(int64_t stride)
{
    return stride != 0 && stride != 1;
}

void kiln_visit_chunks(struct kiln_integer_walk *walk)
{
    const struct kiln_schedule *schedule = walk->emission->schedule;
    if (kiln_schedule_has_turns(schedule))
        kiln_visit_integer(walk, (int64_t)schedule->launch.chunk_count, "chunks");
}

void kiln_visit_batch_arguments(struct kiln_integer_walk *walk)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(walk->emission);
    for (uint32_t b = 0; b < contraction->problem.batches.rank; b++)
        kiln_visit_integer(walk, contraction->problem.batches.sizes[b], "batch%" PRIu32, b);
    for (uint32_t b = 0; b < contraction->problem.batches.rank; b++)
        kiln_visit_integer(walk, contraction->problem.batches.left_repeats[b],
                           "left_repeat%" PRIu32, b);
    for (uint32_t b = 0; b < contraction->problem.batches.rank; b++)
        kiln_visit_integer(walk, contraction->problem.batches.right_repeats[b],
                           "right_repeat%" PRIu32, b);
}

/* What an index of a role is taken apart with. */
static void visit_role(struct kiln_integer_walk *walk, const struct kiln_role_axes *role, char name)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(walk->emission);
    bool is_k = role == &contraction->problem.sums;
    /* How long k is, is counted where phases have some of it. */
    for (uint32_t i = is_k && contraction->problem.windows.phase_count != 0 ? 0 : 1;
         i < role->count; i++) {
        if (is_k && kiln_phase_of_k_axis(walk->emission, i) != KILN_NONE)
            continue;
        kiln_visit_integer(walk, role->sizes[i], "%c_size%" PRIu32, name, i);
        kiln_visit_integer(walk, kiln_divisor_argument(role->sizes[i]), "%c_divisor%" PRIu32, name,
                           i);
    }
}

static void visit_steps(struct kiln_integer_walk *walk, const int64_t *steps, uint32_t count,
                        uint32_t window, char name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (steps[i] != 0)
            kiln_visit_integer(walk, steps[i], "w%" PRIu32 "_%c%" PRIu32, window, name, i);
    }
}

static void visit_windows(struct kiln_integer_walk *walk)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(walk->emission);
    for (uint32_t w = 0; w < contraction->problem.windows.count; w++) {
        const struct kiln_window_schedule *window = &contraction->problem.windows.windows[w];
        kiln_visit_integer(walk, window->size, "w%" PRIu32 "_size", w);
        kiln_visit_integer(walk, window->offset, "w%" PRIu32 "_offset", w);
        visit_steps(walk, window->row_steps, KILN_MAX_ROLE_AXES, w, 'r');
        visit_steps(walk, window->k_steps, KILN_MAX_ROLE_AXES, w, 'k');
        visit_steps(walk, window->batch_steps, KILN_MAX_BATCH_AXES, w, 'b');
    }
    for (uint32_t p = 0; p < contraction->problem.windows.phase_count; p++) {
        const struct kiln_phase *phase = &contraction->problem.windows.phases[p];
        kiln_visit_integer(walk, phase->offset, "phase%" PRIu32 "_offset", p);
        kiln_visit_integer(walk, phase->step, "phase%" PRIu32 "_step", p);
        kiln_visit_integer(walk, phase->divisor, "phase%" PRIu32 "_divisor", p);
        kiln_visit_integer(walk, phase->taps, "phase%" PRIu32 "_taps", p);
        kiln_visit_integer(walk, phase->spread, "phase%" PRIu32 "_spread", p);
        kiln_visit_integer(walk, phase->row_count, "phase%" PRIu32 "_rows", p);
    }
}

/* The distance of segments in the workspace: of all accumulators of the result the same, and of
 * sums of an operand another one. */
static int64_t segment_stride(const struct kiln_fusion_group *group, bool is_of_sums)
{
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        if (group->accesses[i].is_accumulator &&
            (group->accesses[i].place == KILN_PLACE_SUM) == is_of_sums)
            return group->accesses[i].segment_stride;
    }
    return 0;
}

void kiln_visit_stride_arguments(struct kiln_integer_walk *walk)
{
    const struct kiln_fusion_group *group = walk->emission->group;
    for (uint32_t i = 0; i < group->access_count; i++) {
        const int64_t *strides = walk->emission->schedule->accesses[i].strides;
        for (uint32_t s = 0; s < KILN_STRIDE_COUNT; s++) {
            if (kiln_is_stride_argument(walk->emission, i, s))
                kiln_visit_integer(walk, strides[s], "s%" PRIu32 "_%" PRIu32, i, s);
        }
    }
}

static void visit_strips(struct kiln_integer_walk *walk)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(walk->emission);
    const struct kiln_strips_pipeline *strips = &contraction->pipeline.strips;
    const struct kiln_strip_counts counts = kiln_count_strips(contraction);
    kiln_visit_integer(walk, counts.line, "line");
    kiln_visit_integer(walk, counts.lines, "lines");
    kiln_visit_integer(walk, counts.strips, "strips");
    kiln_visit_integer(walk, counts.tiles, "tiles");
    kiln_visit_integer(walk, counts.tile_lines, "tile_lines");
    kiln_visit_integer(walk, strips->steps, "steps");
    kiln_visit_integer(walk, counts.line_tiles, "line_tiles");
    kiln_visit_integer(walk, counts.column_tiles, "column_tiles");
    kiln_visit_integer(walk, strips->line_slots, "line_slots");
    kiln_visit_integer(walk, kiln_divisor_argument(counts.line_tiles), "line_tiles_divisor");
    kiln_visit_integer(walk, kiln_divisor_argument(counts.column_tiles), "column_tiles_divisor");
    kiln_visit_integer(walk, kiln_divisor_argument(strips->line_slots), "line_slots_divisor");
    kiln_visit_integer(walk, kiln_divisor_argument(strips->direct.vectors), "vectors_divisor");
}

bool kiln_is_stride_argument(const struct kiln_emission *emission, uint32_t access, uint32_t stride)
{
    const struct kiln_access_schedule *scheduled = &emission->schedule->accesses[access];
    /* The text of small products has all strides but the batches'. */
    if (kiln_is_contraction_small(kiln_contraction_of(emission)) &&
        (stride < KILN_STRIDE_BATCH || stride >= KILN_STRIDE_BATCH + KILN_MAX_BATCH_AXES))
        return false;
    if (emission->ir->is_general) /* a stride of 1 is a coincidence */
        return stride == KILN_STRIDE_ORIGIN ? kiln_is_access_windowed(emission, access)
                                            : scheduled->strides[stride] != 0;
    if (!kiln_is_access_windowed(emission, access))
        return is_argument(scheduled->strides[stride]);
    /* An origin of 0 or a stride of 1 is a coincidence of this window. Both are arguments, so that
     * other windows share the kernel. Only a vector access has its stride of 1 as a constant. */
    bool is_origin = stride == KILN_STRIDE_ORIGIN;
    bool is_vector = scheduled->mode == KILN_ACCESS_VECTOR;
    return is_origin ||
           (is_vector ? is_argument(scheduled->strides[stride]) : scheduled->strides[stride] != 0);
}

void kiln_visit_contraction_integers(struct kiln_integer_walk *walk)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_of(walk->emission);
    const struct kiln_fusion_group *group = walk->emission->group;
    if (kiln_is_contraction_small(contraction)) {
        kiln_visit_integer(walk, kiln_count_small_items(contraction), "items");
    } else {
        kiln_visit_integer(walk, contraction->problem.m, "m");
        kiln_visit_integer(walk, contraction->problem.n, "n");
        kiln_visit_integer(walk, contraction->problem.k, "k");
    }
    kiln_visit_chunks(walk);
    if (kiln_pipeline_is_direct(&contraction->pipeline)) {
        kiln_visit_integer(walk, kiln_direct_pipeline(&contraction->pipeline)->slots, "slots");
        kiln_visit_integer(walk, kiln_direct_pipeline(&contraction->pipeline)->vectors, "vectors");
    }
    if (contraction->pipeline.kind == KILN_PIPELINE_STRIPS)
        visit_strips(walk);
    if (kiln_group_cuts_k(group))
        kiln_visit_integer(walk, (int64_t)kiln_ending_segments(&contraction->ending), "segments");
    if (kiln_group_cuts_k(group) || kiln_group_has_statistics(group))
        kiln_visit_integer(walk, segment_stride(group, false), "segment_stride");
    if (contraction->operand_sum.groups != 0)
        kiln_visit_integer(walk,
                           (int64_t)walk->emission->schedule->launch.chunk_count -
                               contraction->operand_sum.groups,
                           "tiles");
    if (contraction->operand_sum.segments > 1)
        kiln_visit_integer(walk, segment_stride(group, true), "sum_segment_stride");
    kiln_visit_batch_arguments(walk);
    kiln_visit_routing_integers(walk);
    visit_role(walk, &contraction->problem.rows, 'm');
    visit_role(walk, &contraction->problem.columns, 'n');
    visit_role(walk, &contraction->problem.sums, 'k');
    visit_windows(walk);
    if (contraction->problem.k_run != 0)
        kiln_visit_integer(walk, contraction->problem.k_run, "k_run");
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (kiln_is_loaded_in_runs(walk->emission, i))
            kiln_visit_integer(
                walk, kiln_last_pack(walk->emission->ir, group, i, kiln_pack_elements(contraction)),
                "last_pack%" PRIu32, i);
    }
    kiln_visit_stride_arguments(walk);
}
