/* Schedules of the template reduction. */
#include "compiler/schedule/pass_work.h"
#include "compiler/schedule/reduction_layout.h"
#include "compiler/schedule/walk.h"

#include <inttypes.h>

enum {
    /* Of a core's own cache, so much of a row is still there when it is read again. */
    HOST_CACHE_BYTES = 256 << 10,
    CACHE_LINE_BYTES = 64,
};

/* Bytes that one work-item's row (or vector of rows) touches of what is read in several passes. */
static uint64_t row_bytes(const struct kiln_fusion_group *group,
                          const struct kiln_schedule *schedule, const uint32_t *reads)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < group->load_count; i++) {
        const struct kiln_access_schedule *access = &schedule->accesses[i];
        uint64_t bytes = kiln_dtype_info(group->accesses[i].dtype)->bytes;
        if (reads[i] < 2)
            continue;
        if (schedule->reduction.is_columns) {
            bytes *= access->mode == KILN_ACCESS_SPLAT ? 1 : schedule->vector_elems;
            bytes = bytes < CACHE_LINE_BYTES ? CACHE_LINE_BYTES : bytes;
        }
        for (uint32_t axis = 0; axis < schedule->rank; axis++) {
            if ((schedule->reduced_axes >> axis & 1u) != 0 && access->strides[axis] != 0)
                bytes *= (uint64_t)schedule->dims[axis];
        }
        total += bytes;
    }
    return total;
}

/* Whether numbers of steps, up to the end of the last turn, need 64 bits. */
static bool steps_need_64_bits(const struct kiln_schedule *schedule)
{
    const struct kiln_reduction_schedule *reduction = &schedule->reduction;
    return (reduction->steps_per_segment + (uint64_t)reduction->steps_per_item * schedule->block) *
               reduction->segment_count >
           KILN_WALK_INDEX_LIMIT;
}

static enum kiln_status schedule_reduction(const struct kiln_schedule_task *task,
                                           struct kiln_schedule *schedule, struct kiln_error *error)
{
    struct kiln_reduction_schedule *reduction = &schedule->reduction;
    struct kiln_pass_work work;
    bool *is_dense;
    schedule->template_name = "reduction";
    enum kiln_status status = kiln_walk_begin(task, schedule, &is_dense, error);
    if (status == KILN_OK)
        status = kiln_reduction_passes(task->ir, task->group, task->ir->arena, &reduction->passes,
                                       error);
    if (status != KILN_OK)
        return status;
    if (schedule->rank == 1 && schedule->dims[0] == 1) /* one element: a row of one */
        schedule->reduced_axes = 1;
    schedule->places = reduction->passes.place;
    if (!kiln_measure_passes(task->ir, task->group, &reduction->passes, &work))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    kiln_lay_out_reduction(task, &work, is_dense, schedule);
    schedule->index_is_64bit = steps_need_64_bits(schedule);
    bool stays_on_chip = reduction->is_resident ||
                         (task->target->wave_size == 1 &&
                          row_bytes(task->group, schedule, work.reads) <= HOST_CACHE_BYTES);
    kiln_walk_finish(task, work.reads, stays_on_chip, work.cost, schedule);
    /* What segments have left is in a cache, and how large it is beside the rest is not to show in
     * the text. */
    for (uint32_t i = 0; reduction->merges_attention && i < task->group->load_count; i++)
        schedule->accesses[i].is_streamed = false;
    return KILN_OK;
}

/* First more work-items for a row, so that each holds less of it; then the row read again in each
 * pass; then fewer loads at once; then shorter vectors. */
static bool relax_reduction(const struct kiln_schedule *schedule,
                            struct kiln_register_limits *limits)
{
    const struct kiln_reduction_schedule *reduction = &schedule->reduction;
    uint64_t held = (uint64_t)reduction->steps_per_item * schedule->vector_elems;
    if (reduction->is_resident && limits->held_elems >= held)
        limits->held_elems = held * 3 / 4;
    else if (reduction->steps_per_item > 1 && limits->steps > 1)
        limits->steps = 1;
    else
        return kiln_halve_limit(&limits->vector_elems, schedule->vector_elems, 1);
    return true;
}

static bool is_same(const struct kiln_schedule *a, const struct kiln_schedule *b)
{
    return a->reduction.decodes_again == b->reduction.decodes_again &&
           a->reduction.items_along_reduced == b->reduction.items_along_reduced &&
           a->reduction.steps_per_item == b->reduction.steps_per_item &&
           a->reduction.is_resident == b->reduction.is_resident;
}

static bool walks_in_order(const struct kiln_schedule *schedule)
{
    return !schedule->reduction.is_columns && schedule->reduction.segment_count == 1;
}

static void print_reduction(const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    const struct kiln_reduction_schedule *reduction = &schedule->reduction;
    (void)group;
    kiln_buffer_append_text(buffer, reduction->is_columns ? " (columns)" : " (rows)");
    kiln_walk_print_axes(schedule, buffer);
    kiln_buffer_printf(buffer,
                       ", %" PRIu32 " work-items along the reduced axes x %" PRIu32
                       " along the kept ones, steps %" PRIu64 ", %" PRIu32 " at once, ",
                       reduction->items_along_reduced, reduction->items_along_kept,
                       reduction->steps_per_segment, reduction->steps_per_item);
    if (reduction->is_resident)
        kiln_buffer_append_text(buffer, "read once and held");
    else
        kiln_buffer_printf(buffer, "%" PRIu32 " pass%s over memory", reduction->passes.pass_count,
                           reduction->passes.pass_count == 1 ? "" : "es");
    if (reduction->segment_count > 1)
        kiln_buffer_printf(buffer, ", %" PRIu32 " segments", reduction->segment_count);
    if (schedule->lds_bytes != 0)
        kiln_buffer_printf(buffer, ", lds %" PRIu32 " bytes", schedule->lds_bytes);
    kiln_buffer_printf(buffer, ", vector %" PRIu32, schedule->vector_elems);
}

const struct kiln_schedule_family kiln_schedule_family_reduction = {
    .schedule = schedule_reduction,
    .relax = relax_reduction,
    .is_same = is_same,
    .walks_in_order = walks_in_order,
    .time = kiln_walk_time,
    .print = print_reduction,
};
