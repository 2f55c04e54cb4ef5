/* Schedules of the template reduction. */
#include "compiler/families/reduction/schedule/pass_work.h"
#include "compiler/families/reduction/schedule/reduction_layout.h"
#include "compiler/families/reduction/schedule/reduction_problem.h"
#include "compiler/families/reduction/schedule/reduction_schedule.h"
#include "compiler/fuse/target_rates.h"
#include "compiler/schedule/vector_access.h"
#include "compiler/schedule/walk.h"

#include <inttypes.h>
#include <math.h>

enum {
    /* Of a core's own cache, so much of a row is still there when it is read again. */
    HOST_CACHE_BYTES = 256 << 10,
    CACHE_LINE_BYTES = 64,
    /* A compute unit can draw so many times its share of the bandwidth: sums of 4096 columns of
     * halves take no longer with 64 of an H100's 132 multiprocessors than with 128. Unaligned
     * vectors of 4097 columns take 1.3 times as long. */
    MAX_UNIT_SHARES = 2,
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
        if (kiln_reduction_is_columns(kiln_reduction_schedule_of(schedule))) {
            bytes *= access->mode == KILN_ACCESS_SPLAT ? 1 : schedule->walk.vector_elems;
            bytes = bytes < CACHE_LINE_BYTES ? CACHE_LINE_BYTES : bytes;
        }
        for (uint32_t axis = 0; axis < schedule->walk.rank; axis++) {
            if ((schedule->walk.reduced_axes >> axis & 1u) != 0 && access->strides[axis] != 0)
                bytes *= (uint64_t)schedule->walk.dims[axis];
        }
        total += bytes;
    }
    return total;
}

/* True if numbers of steps, up to the end of the last turn, need 64 bits. */
static bool steps_need_64_bits(const struct kiln_schedule *schedule)
{
    const struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_of(schedule);
    return (reduction->steps_per_segment +
            (uint64_t)reduction->steps_per_item * schedule->launch.block) *
               reduction->segment_count >
           KILN_WALK_INDEX_LIMIT;
}

/* kiln_reduction_schedule.busy_items. In columns each load counts: with several in flight, a few
 * work-groups keep the target busy. Unaligned stores, which only CUDA has, take twice the time: a
 * batch norm of 4097 channels of halves takes 84 us on an H100, one of 4096 takes 40. */
static double count_busy_items(const struct kiln_schedule_task *task,
                               const struct kiln_schedule *schedule)
{
    const struct kiln_fusion_group *group = task->group;
    const struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_of(schedule);
    double groups = (double)schedule->launch.chunk_count;
    double items = groups * schedule->launch.block;
    double full = (double)kiln_target_full_items(task->target);
    uint32_t shares = MAX_UNIT_SHARES;
    bool stores_unaligned = false;
    if (!kiln_reduction_is_columns(reduction) || task->target->wave_size == 1)
        return items;
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (group->accesses[i].place == KILN_PLACE_ROW ||
            !kiln_access_is_unaligned(group, task->target, schedule, i))
            continue;
        shares = 1;
        stores_unaligned |= i >= group->load_count;
    }
    double loads = (double)(reduction->steps_per_item * kiln_step_bytes(group, schedule)) /
                   (double)KILN_ACCESS_BYTES;
    double most = groups * shares * full / task->target->compute_units;
    double busy = fmin(full, fmin(items * fmax(1, loads), most));
    return stores_unaligned ? busy / 2 : busy;
}

static enum kiln_status schedule_reduction(const struct kiln_schedule_task *task,
                                           struct kiln_schedule *schedule, struct kiln_error *error)
{
    struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_in(schedule);
    struct kiln_pass_work work;
    bool *is_dense;
    schedule->template_name = "reduction";
    enum kiln_status status = kiln_walk_begin(task, schedule, &is_dense, error);
    if (status == KILN_OK)
        status = kiln_reduction_passes(task->ir, task->group, task->ir->arena, &reduction->passes,
                                       error);
    if (status != KILN_OK)
        return status;
    bool is_one = schedule->options->is_general ? task->ir->domains[task->group->domain].rank == 0
                                                : schedule->walk.dims[0] == 1;
    if (schedule->walk.rank == 1 && is_one) /* one element: a row of one */
        schedule->walk.reduced_axes = 1;
    schedule->places = reduction->passes.place;
    if (!kiln_measure_passes(task->ir, task->group, &reduction->passes, &work))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    kiln_lay_out_reduction(task, &work, is_dense, schedule);
    schedule->walk.index_is_64bit = steps_need_64_bits(schedule);
    reduction->busy_items = count_busy_items(task, schedule);
    bool stays_on_chip = kiln_reduction_is_held(reduction) ||
                         (task->target->wave_size == 1 &&
                          row_bytes(task->group, schedule, work.reads) <= HOST_CACHE_BYTES);
    kiln_walk_finish(task, work.reads, stays_on_chip, work.cost, schedule);
    /* What segments have left is in a cache, and how large it is beside the rest is not to show in
     * the text. */
    for (uint32_t i = 0; reduction->form == KILN_REDUCTION_SEGMENTS && i < task->group->load_count;
         i++)
        schedule->accesses[i].is_streamed = false;
    return KILN_OK;
}

/* First more work-items for a row, so that each holds less of it; then the row read again in each
 * pass; then fewer loads at once; then shorter vectors. */
static bool relax_reduction(const struct kiln_schedule *schedule,
                            struct kiln_register_limits *limits)
{
    const struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_of(schedule);
    uint64_t held = (uint64_t)reduction->steps_per_item * schedule->walk.vector_elems;
    if (kiln_reduction_is_held(reduction) && limits->held_elems >= held)
        limits->held_elems = held * 3 / 4;
    else if (reduction->steps_per_item > 1 && limits->steps > 1)
        limits->steps = 1;
    else
        return kiln_halve_limit(&limits->vector_elems, schedule->walk.vector_elems, 1);
    return true;
}

static bool is_same(const struct kiln_schedule *a, const struct kiln_schedule *b)
{
    const struct kiln_reduction_schedule *x = kiln_reduction_schedule_of(a);
    const struct kiln_reduction_schedule *y = kiln_reduction_schedule_of(b);
    return x->held == y->held && x->items_along_reduced == y->items_along_reduced &&
           x->steps_per_item == y->steps_per_item;
}

static bool walks_in_order(const struct kiln_schedule *schedule)
{
    return !kiln_reduction_is_columns(kiln_reduction_schedule_of(schedule)) &&
           kiln_reduction_schedule_of(schedule)->segment_count == 1;
}

static double reduction_time(const struct kiln_schedule *schedule, const struct kiln_target *target)
{
    return kiln_walk_time_with(schedule, target, kiln_reduction_schedule_of(schedule)->busy_items);
}

static void print_reduction(const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    const struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_of(schedule);
    (void)group;
    kiln_buffer_append_text(buffer,
                            kiln_reduction_is_columns(reduction) ? " (columns)" : " (rows)");
    kiln_walk_print_axes(schedule, buffer);
    kiln_buffer_printf(buffer,
                       ", %" PRIu32 " work-items along the reduced axes x %" PRIu32
                       " along the kept ones, steps %" PRIu64 ", %" PRIu32 " at once, ",
                       reduction->items_along_reduced, reduction->items_along_kept,
                       reduction->steps_per_segment, reduction->steps_per_item);
    if (reduction->held == KILN_HELD_LOCAL)
        kiln_buffer_append_text(buffer, "staged in local memory");
    else if (kiln_reduction_is_held(reduction))
        kiln_buffer_append_text(buffer, "read once and held");
    else
        kiln_buffer_printf(buffer, "%" PRIu32 " pass%s over memory", reduction->passes.pass_count,
                           reduction->passes.pass_count == 1 ? "" : "es");
    if (reduction->groups_of_row > 1)
        kiln_buffer_printf(buffer, ", cluster of %" PRIu32, reduction->groups_of_row);
    else if (reduction->segment_count > 1)
        kiln_buffer_printf(buffer, ", %" PRIu32 " segments", reduction->segment_count);
    if (schedule->launch.lds_bytes != 0)
        kiln_buffer_printf(buffer, ", lds %" PRIu32 " bytes", schedule->launch.lds_bytes);
    kiln_buffer_printf(buffer, ", vector %" PRIu32, schedule->walk.vector_elems);
    if (schedule->walk.skew_elems != 0)
        kiln_buffer_printf(buffer, " skewed by %" PRIu32, schedule->walk.skew_elems);
}

static void describe_reduction(const struct kiln_schedule *schedule, struct kiln_buffer *buffer)
{
    const struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_of(schedule);
    kiln_buffer_printf(
        buffer,
        "%s, %" PRIu32 "x%" PRIu32 " work-items, %" PRIu32 " %s at once, vector %" PRIu32 "%s",
        kiln_reduction_is_columns(reduction) ? "columns" : "rows", reduction->items_along_reduced,
        reduction->items_along_kept, reduction->steps_per_item,
        KILN_NOUN(reduction->steps_per_item, "step"), schedule->walk.vector_elems,
        reduction->held == KILN_HELD_LOCAL  ? ", staged"
        : kiln_reduction_is_held(reduction) ? ", held"
                                            : "");
}

static void explain_reduction(const struct kiln_schedule *schedule,
                              const struct kiln_target *target, struct kiln_buffer *buffer)
{
    static const char *const rules[] = {
        [KILN_ITEMS_ALONE] = "as on a CPU a core does it alone",
        [KILN_ITEMS_STEPS] = "with a few steps for each",
        [KILN_ITEMS_BLOCK] = "as many as neighbouring columns leave of a work-group",
        [KILN_ITEMS_FILL] = "as fewer would not fill the target",
        [KILN_ITEMS_HOLD] = "as each of fewer would have too much of it to hold in registers",
        [KILN_ITEMS_CACHE] = "as registers cannot hold it, and caches should have few at a time",
        [KILN_ITEMS_LOCAL] = "with a few elements for each",
        [KILN_ITEMS_CLUSTER] =
            "as few as can hold a part of it for each of a cluster's work-groups",
        [KILN_ITEMS_ALL_SIZES] = "as for all sizes that the kernel serves",
    };
    const struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_of(schedule);
    const char *line = kiln_reduction_is_columns(reduction) ? "column" : "row";
    uint32_t items = reduction->items_along_reduced * reduction->groups_of_row;
    uint32_t passes = reduction->passes.pass_count;
    kiln_buffer_printf(buffer, "  %s by a rule: the last axis is %s; %" PRIu32 " %s a %s, %s\n",
                       kiln_reduction_is_columns(reduction) ? "columns" : "rows",
                       kiln_reduction_is_columns(reduction) ? "kept" : "reduced", items,
                       items == 1 ? "work-item has" : "work-items share", line,
                       rules[reduction->items_rule]);
    if (passes < 2)
        return;
    if (kiln_reduction_is_held(reduction))
        kiln_buffer_printf(
            buffer,
            "  a %s is read once: a work-item holds %" PRIu64 " elements in registers for %" PRIu32
            " passes\n",
            line,
            (uint64_t)reduction->steps_per_item *
                (kiln_reduction_is_columns(reduction) ? 1 : schedule->walk.vector_elems),
            passes);
    else
        kiln_buffer_printf(buffer, "  a %s is read in each of %" PRIu32 " passes: %s\n", line,
                           passes,
                           target->wave_size != 1 ? "registers have no room for it"
                           : schedule->traffic.bytes_moved == schedule->traffic.bytes_fewest
                               ? "a core's cache has what is read again"
                               : "a core's cache has no room for it");
}

const struct kiln_schedule_family kiln_schedule_family_reduction = {
    .details_bytes = sizeof(struct kiln_reduction_schedule),
    .schedule = schedule_reduction,
    .relax = relax_reduction,
    .is_same = is_same,
    .walks_in_order = walks_in_order,
    .time = reduction_time,
    .describe = describe_reduction,
    .explain = explain_reduction,
    .print = print_reduction,
};
