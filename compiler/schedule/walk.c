#include "compiler/schedule/walk.h"

#include "compiler/fuse/target_rates.h"
#include "compiler/schedule/collapse.h"
#include "compiler/schedule/traffic.h"
#include "compiler/schedule/vector_access.h"
#include "runtime/support/limited_sum.h"

#include <inttypes.h>

static int64_t repeat_of(const struct kiln_access_schedule *access, uint32_t axis)
{
    return access->repeats[axis] != 0 ? access->repeats[axis] : 1;
}

static bool needs_64bit_index(const struct kiln_fusion_group *group,
                              const struct kiln_schedule *schedule)
{
    uint64_t elements = 1;
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++)
        elements *= (uint64_t)schedule->walk.dims[axis];
    if (elements > KILN_WALK_INDEX_LIMIT ||
        schedule->launch.chunk_count * schedule->launch.block > KILN_WALK_INDEX_LIMIT)
        return true;
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        uint64_t last = 0;
        for (uint32_t axis = 0; axis < schedule->walk.rank; axis++)
            last += (uint64_t)(schedule->walk.dims[axis] - 1) /
                    (uint64_t)repeat_of(&schedule->accesses[i], axis) *
                    (uint64_t)schedule->accesses[i].strides[axis];
        if (group->role == KILN_ROLE_PARTIAL && access->is_accumulator)
            last += (uint64_t)access->segment_stride * (group->segment_count - 1);
        if (last > KILN_WALK_INDEX_LIMIT)
            return true;
    }
    return false;
}

static void find_streams(const struct kiln_fusion_group *group, struct kiln_schedule *schedule)
{
    uint64_t heaviest = kiln_heaviest_access(group, schedule);
    for (uint32_t i = 0; i < group->load_count; i++)
        schedule->accesses[i].is_streamed = schedule->accesses[i].mode == KILN_ACCESS_VECTOR &&
                                            kiln_access_is_heavy(group, schedule, i, heaviest);
}

enum kiln_status kiln_walk_begin(const struct kiln_schedule_task *task,
                                 struct kiln_schedule *schedule, bool **ret_is_dense,
                                 struct kiln_error *error)
{
    const struct kiln_fusion_group *group = task->group;
    bool *is_dense = kiln_arena_calloc(task->ir->arena, group->access_count, sizeof *is_dense);
    if (is_dense == NULL || !kiln_collapse_domain(task->ir, group, schedule))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    for (uint32_t i = 0; i < group->access_count; i++)
        schedule->accesses[i].alignment_bytes = kiln_dtype_info(group->accesses[i].dtype)->bytes;
    *ret_is_dense = is_dense;
    return KILN_OK;
}

void kiln_walk_finish(const struct kiln_schedule_task *task, const uint32_t *reads,
                      bool stays_on_chip, uint32_t cost, struct kiln_schedule *schedule)
{
    find_streams(task->group, schedule);
    schedule->walk.index_is_64bit =
        schedule->walk.index_is_64bit || needs_64bit_index(task->group, schedule);
    kiln_measure_traffic(task->group, reads, stays_on_chip, schedule);
    schedule->traffic.operations = cost;
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++)
        schedule->traffic.operations =
            kiln_limited_product(schedule->traffic.operations, (uint64_t)schedule->walk.dims[axis]);
}

double kiln_walk_time_with(const struct kiln_schedule *schedule, const struct kiln_target *target,
                           double items)
{
    double full = (double)kiln_target_full_items(target);
    double slowdown = items < full ? full / items : 1;
    double traffic = (double)schedule->traffic.bytes_moved;
    double arithmetic = kiln_target_vector_bytes(target, (double)schedule->traffic.operations);
    return (traffic > arithmetic ? traffic : arithmetic) * slowdown;
}

double kiln_walk_time(const struct kiln_schedule *schedule, const struct kiln_target *target)
{
    return kiln_walk_time_with(schedule, target,
                               (double)schedule->launch.grid * schedule->launch.block);
}

void kiln_walk_print_axes(const struct kiln_schedule *schedule, struct kiln_buffer *buffer)
{
    kiln_buffer_append_text(buffer, ", axes");
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++) {
        bool is_reduced = (schedule->walk.reduced_axes >> axis) & 1u;
        kiln_buffer_printf(buffer, " %s%" PRId64, is_reduced ? "reduced " : "",
                           schedule->walk.dims[axis]);
    }
    if (schedule->walk.form == KILN_WALK_FLATTENED)
        kiln_buffer_append_text(buffer, " walked as one line");
    if (schedule->walk.sizes != KILN_SIZES_CONSTANT)
        kiln_buffer_append_text(buffer, " (arguments)");
}
