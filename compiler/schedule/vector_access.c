#include "compiler/schedule/vector_access.h"

/* Size of every axis where sizes are arguments, so that weights follow from strides alone. */
enum { NOMINAL_SIZE = 64 };

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

uint32_t kiln_vector_within_end(const struct kiln_schedule *schedule, uint32_t vector)
{
    const struct kiln_walk *walk = &schedule->walk;
    const uint32_t inner = walk->rank - 1;
    /* Only some of the blocks of a vector have the step. Vectors of a packed store never lie along
     * blocks: it leads the walk, and elements of a block are closer to each other in it. */
    if (walk->end != 0 && walk->end_blocks == inner)
        return 1;
    if (walk->end == 0 || walk->end_elements != inner)
        return vector;
    while (walk->end % vector != 0 || walk->end_block % vector != 0)
        vector /= 2;
    return vector;
}

/* Distinct elements of an access along a collapsed axis of so many points. */
static int64_t elements_along(const struct kiln_schedule *schedule, uint32_t access, uint32_t axis,
                              int64_t size)
{
    const struct kiln_access_schedule *layout = &schedule->accesses[access];
    if (layout->strides[axis] == 0)
        return 1;
    return layout->repeats[axis] != 0 ? (size - 1) / layout->repeats[axis] + 1 : size;
}

uint64_t kiln_scheduled_access_bytes(const struct kiln_fusion_group *group,
                                     const struct kiln_schedule *schedule, uint32_t access)
{
    enum kiln_dtype dtype = group->accesses[access].dtype;
    uint64_t elements = 1;
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++)
        elements *= (uint64_t)elements_along(schedule, access, axis, schedule->walk.dims[axis]);
    const struct kiln_walk *walk = &schedule->walk;
    const int64_t *strides = schedule->accesses[access].strides;
    if (walk->end != 0 && strides[walk->end_blocks] != 0 && strides[walk->end_elements] != 0)
        elements = elements / (uint64_t)(walk->dims[walk->end_blocks] * walk->end_block) *
                   (uint64_t)walk->end;
    if (group->role == KILN_ROLE_PARTIAL && group->accesses[access].is_accumulator)
        elements *= group->segment_count;
    return (uint64_t)kiln_dtype_memory_bytes(dtype, (int64_t)elements);
}

uint64_t kiln_access_weight(const struct kiln_fusion_group *group,
                            const struct kiln_schedule *schedule, uint32_t access)
{
    uint64_t elements = 1;
    if (schedule->options->shapes == KILN_SHAPES_CONSTANT)
        return kiln_scheduled_access_bytes(group, schedule, access);
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++)
        elements *= (uint64_t)elements_along(schedule, access, axis, NOMINAL_SIZE);
    return (uint64_t)kiln_dtype_memory_bytes(group->accesses[access].dtype, (int64_t)elements);
}

uint64_t kiln_heaviest_access(const struct kiln_fusion_group *group,
                              const struct kiln_schedule *schedule)
{
    uint64_t heaviest = 0;
    for (uint32_t i = 0; i < group->access_count; i++) {
        uint64_t weight = kiln_access_weight(group, schedule, i);
        if (weight > heaviest)
            heaviest = weight;
    }
    return heaviest;
}

bool kiln_access_is_heavy(const struct kiln_fusion_group *group,
                          const struct kiln_schedule *schedule, uint32_t access, uint64_t heaviest)
{
    return 4 * kiln_access_weight(group, schedule, access) >= heaviest;
}

void kiln_dense_element_bytes(const struct kiln_fusion_group *group,
                              const struct kiln_schedule *schedule, const bool *is_dense,
                              uint32_t *ret_narrowest, uint32_t *ret_widest)
{
    uint64_t heaviest = kiln_heaviest_access(group, schedule);
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

uint32_t kiln_packed_access_bytes(enum kiln_dtype dtype, uint32_t vector_elems)
{
    uint32_t bytes = kiln_dtype_info(dtype)->bits * vector_elems / 8;
    uint32_t step = KILN_ACCESS_BYTES;
    while (bytes % step != 0)
        step /= 2;
    return step;
}

uint32_t kiln_vector_alignment(const struct kiln_target *target, enum kiln_dtype dtype,
                               uint32_t vector_elems)
{
    uint32_t bytes = kiln_dtype_info(dtype)->bytes;
    if (target->kind != KILN_TARGET_CUDA || kiln_dtype_is_packed(dtype))
        return bytes;
    return bytes * vector_elems < KILN_ACCESS_BYTES ? bytes * vector_elems : KILN_ACCESS_BYTES;
}

/* True if every vector along `axis` starts at a multiple of `vector` elements of the operand.
 * Skewed vectors do where row r starts at r times the stride. */
static bool keeps_alignment(const struct kiln_schedule *schedule, const struct kiln_access *access,
                            const struct kiln_access_schedule *layout, uint32_t axis,
                            int64_t vector)
{
    const int64_t skew = schedule->walk.skew_elems;
    if (skew == 0 && !kiln_vectors_keep_multiples(schedule, axis))
        return false;
    for (uint32_t i = 0; i < schedule->walk.rank; i++) {
        if (i != axis &&
            ((layout->strides[i] - skew) % vector != 0 || (skew != 0 && layout->repeats[i] != 0)))
            return false;
    }
    return access->segment_stride % vector == 0 || layout->strides[axis] == access->segment_stride;
}

/* A flattened walk takes the vectors of a dense operand one after the other, across the ends of
 * lines. */
static bool starts_at_multiples(const struct kiln_schedule *schedule,
                                const struct kiln_access *access, uint32_t index, uint32_t axis,
                                uint32_t elements)
{
    return schedule->walk.form == KILN_WALK_FLATTENED ||
           keeps_alignment(schedule, access, &schedule->accesses[index], axis, elements);
}

bool kiln_vector_is_possible(const struct kiln_schedule *schedule,
                             const struct kiln_fusion_group *group, uint32_t access, uint32_t axis)
{
    const struct kiln_access *memory = &group->accesses[access];
    return !kiln_dtype_is_packed(memory->dtype) ||
           starts_at_multiples(schedule, memory, access, axis, kiln_dtype_unit(memory->dtype));
}

bool kiln_vector_is_aligned(const struct kiln_graph *graph, const struct kiln_target *target,
                            const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, uint32_t access, uint32_t axis)
{
    const struct kiln_access *memory = &group->accesses[access];
    uint32_t vector = schedule->walk.vector_elems;
    uint32_t needed = kiln_vector_alignment(target, memory->dtype, vector);
    return needed == kiln_dtype_info(memory->dtype)->bytes ||
           (starts_at_multiples(schedule, memory, access, axis, vector) &&
            (memory->kind == KILN_ARGUMENT_WORKSPACE ||
             graph->tensors[memory->tensor].alignment_bytes >= needed));
}

static uint32_t packed_alignment(const struct kiln_graph *graph, const struct kiln_target *target,
                                 const struct kiln_schedule *schedule,
                                 const struct kiln_access *memory, uint32_t access, uint32_t axis)
{
    uint32_t vector = schedule->walk.vector_elems;
    if (target->kind != KILN_TARGET_CUDA ||
        !starts_at_multiples(schedule, memory, access, axis, vector))
        return 1;
    uint32_t step = kiln_packed_access_bytes(memory->dtype, vector);
    uint32_t promised = graph->tensors[memory->tensor].alignment_bytes;
    return step < promised ? step : promised;
}

void kiln_set_vector_access(const struct kiln_graph *graph, const struct kiln_target *target,
                            struct kiln_schedule *schedule, const struct kiln_fusion_group *group,
                            uint32_t access, uint32_t axis)
{
    const struct kiln_access *memory = &group->accesses[access];
    struct kiln_access_schedule *scheduled = &schedule->accesses[access];
    scheduled->mode = KILN_ACCESS_VECTOR;
    if (kiln_dtype_is_packed(memory->dtype))
        scheduled->alignment_bytes =
            packed_alignment(graph, target, schedule, memory, access, axis);
    else if (kiln_vector_is_aligned(graph, target, schedule, group, access, axis))
        scheduled->alignment_bytes =
            kiln_vector_alignment(target, memory->dtype, schedule->walk.vector_elems);
}

bool kiln_access_is_unaligned(const struct kiln_fusion_group *group,
                              const struct kiln_target *target,
                              const struct kiln_schedule *schedule, uint32_t access)
{
    const struct kiln_access_schedule *scheduled = &schedule->accesses[access];
    return (scheduled->mode == KILN_ACCESS_VECTOR || scheduled->mode == KILN_ACCESS_TRANSPOSED) &&
           scheduled->alignment_bytes < kiln_vector_alignment(target, group->accesses[access].dtype,
                                                              schedule->walk.vector_elems);
}
