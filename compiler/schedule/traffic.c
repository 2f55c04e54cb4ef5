#include "compiler/schedule/traffic.h"

#include "compiler/fuse/fuse_family.h"
#include "compiler/schedule/vector_access.h"
#include "runtime/support/limited_sum.h"

enum {
    /* Elements that all rows share stay in some cache up to this size. */
    SHARED_CACHE_BYTES = 1 << 20,
};

static bool is_reduced(const struct kiln_schedule *schedule, uint32_t axis)
{
    return (schedule->walk.reduced_axes >> axis) & 1u;
}

/* True if what an access reads is the same for several rows, and little. */
static bool is_small_and_shared(const struct kiln_schedule *schedule, uint32_t access,
                                uint64_t bytes)
{
    for (uint32_t axis = 0; axis < schedule->walk.rank && bytes < SHARED_CACHE_BYTES; axis++) {
        if (!is_reduced(schedule, axis) && schedule->walk.dims[axis] > 1 &&
            schedule->accesses[access].strides[axis] == 0)
            return true;
    }
    return false;
}

void kiln_measure_traffic(const struct kiln_fusion_group *group, const uint32_t *reads,
                          bool stays_on_chip, struct kiln_schedule *schedule)
{
    schedule->traffic.bytes_moved = 0;
    schedule->traffic.bytes_fewest = 0;
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR)
            continue;
        uint64_t bytes = kiln_scheduled_access_bytes(group, schedule, i);
        bool once = stays_on_chip || reads[i] == 0 || is_small_and_shared(schedule, i, bytes);
        schedule->traffic.bytes_fewest = kiln_limited_sum(schedule->traffic.bytes_fewest, bytes);
        schedule->traffic.bytes_moved = kiln_limited_sum(
            schedule->traffic.bytes_moved, once ? bytes : kiln_limited_product(bytes, reads[i]));
    }
}

void kiln_measure_places(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                         struct kiln_schedule *schedule)
{
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        const struct kiln_domain *domain =
            &ir->domains[kiln_group_place_domain(ir, group, access->place)];
        uint64_t bits = kiln_dtype_info(access->dtype)->bits *
                        (access->is_accumulator ? (uint64_t)schedule->segment_count : 1);
        for (uint32_t axis = 0; axis < domain->rank; axis++) {
            bits = kiln_limited_product(
                bits, (uint64_t)kiln_access_elements_along(access, axis, domain->dims[axis]));
        }
        uint64_t bytes = bits / 8 + (bits % 8 != 0);
        schedule->traffic.bytes_fewest = kiln_limited_sum(schedule->traffic.bytes_fewest, bytes);
    }
    schedule->traffic.bytes_moved = schedule->traffic.bytes_fewest;
}
