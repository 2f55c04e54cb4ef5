/*
 * What the files share that lay out a reduction: the group and its target, and the counts that
 * follow from a layout. Internal to the stage.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_PROBLEM_H
#define KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_PROBLEM_H

#include "compiler/families/reduction/schedule/reduction_schedule.h"
#include "compiler/schedule/integer_math.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/tuning.h"

enum {
    KILN_SMALL_BLOCK = 64,  /* fewest work-items of a work-group that is shrunk for others */
    KILN_LARGE_BLOCK = 512, /* most work-items of which each has all registers */
    KILN_MAX_STEPS_IN_FLIGHT = 8,
    KILN_STEPS_PER_ITEM = 4, /* of a row, as a rule; a longer one's tail is little of it */
};

/* The sizes that one layout serves. */
enum kiln_layout_sizes {
    KILN_LAYOUT_OF_SIZES,    /* these: they are constants */
    KILN_LAYOUT_OF_CLASS,    /* a class of them: they are arguments */
    KILN_LAYOUT_OF_SEGMENTS, /* any: what segments have left is combined, in the form `columns` */
};

/* Input of the layout: it does not change with what is chosen. */
struct kiln_reduction_problem {
    const struct kiln_fusion_group *group;
    const struct kiln_target *target;
    const struct kiln_tuning *tuning;
    const struct kiln_reduction_passes *passes;
    const uint32_t *reads, *first_pass; /* struct kiln_pass_work */
    uint32_t cost; /* arithmetic of one element in all passes together, at least 1 */
    bool is_host;
    bool has_costly_shared_values; /* struct kiln_pass_work */
    enum kiln_layout_sizes sizes;
    bool may_unroll; /* several steps, and so arrays, in a work-item */
    /* A few work-items read a row side by side, the widest elements in one access each: wider
     * vectors would leave gaps between them. Not where the widest elements are stored. */
    bool has_short_lines;
    /* Of the narrowest dense access that carries real traffic, or 1; of the widest in short rows.
     */
    uint32_t element_bytes;
    uint32_t accumulator_registers; /* for one lane of a vector, at the worst pass */
    /* Elements that fill whole bytes of a packed tensor that is stored: vectors are multiples of
     * it, and divide lines, since no two work-items may store to one byte. Otherwise 1. */
    uint32_t packed_unit;
    /* The last vector of a row is moved back to where it is whole (kiln_walk.moved_elems). */
    bool moves_back;
    uint32_t groups_of_row; /* struct kiln_reduction_schedule */
    uint32_t max_block;     /* work-items of a work-group; halved where local memory is short */
};

static inline bool kiln_has_moments(const struct kiln_reduction_passes *passes)
{
    bool any = false;
    for (uint32_t i = 0; i < passes->accumulator_count; i++)
        any = any || passes->accumulators[i].kind == KILN_ACCUMULATOR_MOMENTS;
    return any;
}

/* Elements of an access in one step, as they lie in registers. */
static inline uint32_t kiln_step_elements(const struct kiln_schedule *schedule, uint32_t access)
{
    return schedule->accesses[access].strides[schedule->walk.rank - 1] == 0
               ? 1
               : schedule->walk.vector_elems;
}

/* Bytes that a work-item loads in a step. */
static inline uint32_t kiln_step_bytes(const struct kiln_fusion_group *group,
                                       const struct kiln_schedule *schedule)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (group->accesses[i].place != KILN_PLACE_ROW)
            bytes +=
                kiln_step_elements(schedule, i) * kiln_dtype_info(group->accesses[i].dtype)->bytes;
    }
    return bytes;
}

/* Steps of a work-item along the reduced axes. */
static inline uint64_t kiln_steps_of_item(const struct kiln_schedule *schedule,
                                          uint32_t items_along_reduced)
{
    return kiln_ceil_div(kiln_reduction_schedule_of(schedule)->steps_per_segment,
                         items_along_reduced);
}

/* Work-groups, of which each takes items_along_kept rows, or vectors of columns, of a segment. */
static inline uint64_t kiln_reduction_work_groups(const struct kiln_schedule *schedule,
                                                  uint32_t items_along_kept)
{
    const struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_of(schedule);
    return kiln_ceil_div(reduction->kept_count, items_along_kept) * reduction->segment_count;
}

#endif
