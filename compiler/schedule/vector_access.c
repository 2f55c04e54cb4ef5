#include "compiler/schedule/vector_access.h"

uint32_t kiln_floor_power_of_two(uint64_t value)
{
    uint32_t power = 1;
    while (2 * (uint64_t)power <= value && power < (1u << 30))
        power *= 2;
    return power;
}

uint32_t kiln_ceil_power_of_two(uint64_t value)
{
    uint32_t power = 1;
    while (power < value && power < (1u << 30))
        power *= 2;
    return power;
}

uint64_t kiln_scheduled_access_bytes(const struct kiln_fusion_group *group,
                                     const struct kiln_schedule *schedule, uint32_t access)
{
    uint64_t bytes = kiln_dtype_info(group->accesses[access].dtype)->bytes;
    for (uint32_t axis = 0; axis < schedule->rank; axis++) {
        if (schedule->accesses[access].strides[axis] != 0)
            bytes *= (uint64_t)schedule->dims[axis];
    }
    if (group->role == KILN_ROLE_PARTIAL && group->accesses[access].is_accumulator)
        bytes *= group->segment_count;
    return bytes;
}

uint64_t kiln_heaviest_access_bytes(const struct kiln_fusion_group *group,
                                    const struct kiln_schedule *schedule)
{
    uint64_t heaviest = 0;
    for (uint32_t i = 0; i < group->access_count; i++) {
        uint64_t bytes = kiln_scheduled_access_bytes(group, schedule, i);
        if (bytes > heaviest)
            heaviest = bytes;
    }
    return heaviest;
}

bool kiln_access_is_heavy(const struct kiln_fusion_group *group,
                          const struct kiln_schedule *schedule, uint32_t access,
                          uint64_t heaviest_bytes)
{
    return 4 * kiln_scheduled_access_bytes(group, schedule, access) >= heaviest_bytes;
}

void kiln_dense_element_bytes(const struct kiln_fusion_group *group,
                              const struct kiln_schedule *schedule, const bool *is_dense,
                              uint32_t *ret_narrowest, uint32_t *ret_widest)
{
    uint64_t heaviest = kiln_heaviest_access_bytes(group, schedule);
    uint32_t narrowest = 0;
    uint32_t widest = 0;
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (!is_dense[i] || !kiln_access_is_heavy(group, schedule, i, heaviest))
            continue;
        uint32_t bytes = kiln_dtype_info(group->accesses[i].dtype)->bytes;
        narrowest = narrowest == 0 || bytes < narrowest ? bytes : narrowest;
        widest = bytes > widest ? bytes : widest;
    }
    *ret_narrowest = narrowest;
    *ret_widest = widest;
}

uint32_t kiln_vector_alignment(const struct kiln_target *target, enum kiln_dtype dtype,
                               uint32_t vector_elems)
{
    uint32_t bytes = kiln_dtype_info(dtype)->bytes;
    if (target->kind != KILN_TARGET_CUDA)
        return bytes;
    return bytes * vector_elems < KILN_ACCESS_BYTES ? bytes * vector_elems : KILN_ACCESS_BYTES;
}

/* Whether a vector along `axis` of this length starts aligned wherever the other coordinates are:
 * not where the last vector of rows is moved back to where it is whole. */
static bool keeps_alignment(const struct kiln_schedule *schedule, const struct kiln_access *access,
                            const struct kiln_access_schedule *layout, uint32_t axis)
{
    int64_t vector = schedule->vector_elems;
    bool has_columns =
        schedule->reduced_axes != 0 && !((schedule->reduced_axes >> (schedule->rank - 1)) & 1u);
    if (has_columns && schedule->dims[axis] % vector != 0)
        return false;
    for (uint32_t i = 0; i < schedule->rank; i++) {
        if (i != axis && layout->strides[i] % vector != 0)
            return false;
    }
    return access->segment_stride % vector == 0 || layout->strides[axis] == access->segment_stride;
}

/* Only CUDA traps on a vector that is aligned to its elements alone; AMDGPU and the host do not. */
bool kiln_vector_is_possible(const struct kiln_graph *graph, const struct kiln_target *target,
                             const struct kiln_schedule *schedule,
                             const struct kiln_fusion_group *group, uint32_t access, uint32_t axis)
{
    if (target->kind != KILN_TARGET_CUDA)
        return true;
    const struct kiln_access *memory = &group->accesses[access];
    uint32_t needed = kiln_vector_alignment(target, memory->dtype, schedule->vector_elems);
    return keeps_alignment(schedule, memory, &schedule->accesses[access], axis) &&
           (memory->kind == KILN_ARGUMENT_WORKSPACE ||
            graph->tensors[memory->tensor].alignment_bytes >= needed);
}
