#include "compiler/schedule/traffic.h"

#include "compiler/schedule/vector_access.h"
#include "runtime/support/limited_sum.h"

enum {
    /* Of a core's own cache, so much of a row is still there when it is read again. */
    HOST_CACHE_BYTES = 256 << 10,
    /* Elements that all rows share stay in some cache up to this size. */
    SHARED_CACHE_BYTES = 1 << 20,
    CACHE_LINE_BYTES = 64,
};

static bool is_reduced(const struct kiln_schedule *schedule, uint32_t axis)
{
    return (schedule->reduction.reduced_axes >> axis) & 1u;
}

/* Whether what an access reads is the same for several rows, and little. */
static bool is_small_and_shared(const struct kiln_schedule *schedule, uint32_t access,
                                uint64_t bytes)
{
    for (uint32_t axis = 0; axis < schedule->rank && bytes < SHARED_CACHE_BYTES; axis++) {
        if (!is_reduced(schedule, axis) && schedule->dims[axis] > 1 &&
            schedule->accesses[access].strides[axis] == 0)
            return true;
    }
    return false;
}

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
            if (is_reduced(schedule, axis) && access->strides[axis] != 0)
                bytes *= (uint64_t)schedule->dims[axis];
        }
        total += bytes;
    }
    return total;
}

void kiln_measure_traffic(const struct kiln_fusion_group *group, const struct kiln_target *target,
                          const uint32_t *reads, struct kiln_schedule *schedule)
{
    bool stays_on_chip =
        schedule->template_kind != KILN_TEMPLATE_REDUCTION || schedule->reduction.is_resident ||
        (target->wave_size == 1 && row_bytes(group, schedule, reads) <= HOST_CACHE_BYTES);
    schedule->bytes_moved = 0;
    schedule->bytes_fewest = 0;
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR)
            continue;
        uint64_t bytes = kiln_scheduled_access_bytes(group, schedule, i);
        bool once = stays_on_chip || reads[i] == 0 || is_small_and_shared(schedule, i, bytes);
        schedule->bytes_fewest = kiln_limited_sum(schedule->bytes_fewest, bytes);
        schedule->bytes_moved = kiln_limited_sum(
            schedule->bytes_moved, once ? bytes : kiln_limited_product(bytes, reads[i]));
    }
}
