#include "compiler/families/reduction/emit/emit_reduction_sizes.h"

#include "compiler/emit/emit_coordinates.h"
#include "compiler/emit/emit_sizes.h"

enum {
    /* Limit: elements outside of vectors that a work-item keeps in registers between passes. */
    MAX_RESIDENT_TAILS = 4,
    /* Elements that an accumulator takes in sequence, give or take one turn of the loop. If all n
     * round the same way, a mean of floats is off by about n * 2^-26. In very long rows a chain has
     * as many elements as there are chains, because chains are merged in sequence too. */
    MIN_CHAIN_STEPS = 1024,
    /* The same where work-items accumulate in double, and merge as floats. */
    MIN_WIDE_CHAIN_STEPS = 1 << 20,
};

static uint64_t ceil_divide(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

enum kiln_scalar kiln_lanes_scalar(const struct kiln_emission *emission,
                                   const struct kiln_accumulator *accumulator)
{
    bool is_wide =
        accumulator->kind == KILN_ACCUMULATOR_MOMENTS && emission->target->kind == KILN_TARGET_HOST;
    return is_wide ? KILN_SCALAR_F64 : accumulator->scalar;
}

/* True if all accumulators of a work-item have a wider type than the result. Tails do not. */
static bool has_wide_lanes(const struct kiln_emission *emission)
{
    const struct kiln_reduction_passes *passes =
        &kiln_reduction_schedule_of(emission->schedule)->passes;
    bool is_wide = passes->accumulator_count != 0 && !kiln_rows_have_tails(emission);
    for (uint32_t i = 0; i < passes->accumulator_count; i++)
        is_wide = is_wide && kiln_lanes_scalar(emission, &passes->accumulators[i]) !=
                                 passes->accumulators[i].scalar;
    return is_wide;
}

struct kiln_reduction_sizes kiln_reduction_sizes(const struct kiln_emission *emission)
{
    const struct kiln_schedule *schedule = emission->schedule;
    const struct kiln_reduction_schedule *layout = kiln_reduction_schedule_of(schedule);
    struct kiln_reduction_sizes sizes = {.steps_per_item = layout->steps_per_item};
    uint32_t inner = schedule->walk.rank - 1;
    uint64_t lines = 1;
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++) {
        if (((schedule->walk.reduced_axes >> axis) & 1u) != 0 &&
            (axis != inner || kiln_reduction_is_columns(layout)))
            lines *= (uint64_t)schedule->walk.dims[axis];
    }
    if (kiln_reduction_is_columns(layout)) {
        sizes.steps = lines;
    } else {
        uint64_t cols = (uint64_t)schedule->walk.dims[inner];
        cols += schedule->walk.moved_elems;
        sizes.steps = lines * (cols / schedule->walk.vector_elems);
        sizes.tails = lines * (cols % schedule->walk.vector_elems);
        if (schedule->walk.skew_elems != 0) /* at most */
            sizes.tails = 2 * (uint64_t)schedule->walk.vector_elems - 2;
    }
    uint32_t items = layout->items_along_reduced;
    bool are_constants = !kiln_sizes_are_arguments(emission);
    sizes.stride = layout->segments_take_turns ? (uint64_t)layout->segment_count * items : items;
    sizes.segment_steps = ceil_divide(sizes.steps, layout->segment_count);
    sizes.segment_tails = ceil_divide(sizes.tails, layout->segment_count);
    uint64_t steps_of_item = ceil_divide(sizes.segment_steps, items);
    uint64_t tails_of_item = ceil_divide(sizes.segment_tails, items);
    if (kiln_reduction_is_held(layout) && are_constants) {
        sizes.steps_per_item = (uint32_t)max_u64(steps_of_item, 1);
        if (tails_of_item <= MAX_RESIDENT_TAILS)
            sizes.resident_tails = (uint32_t)tails_of_item;
    }
    uint64_t longest = max_u64(steps_of_item, tails_of_item);
    uint64_t chain = has_wide_lanes(emission) ? MIN_WIDE_CHAIN_STEPS : MIN_CHAIN_STEPS;
    while (longest / chain > chain)
        chain *= 2;
    sizes.chain_steps = ceil_divide(chain, sizes.steps_per_item) * sizes.steps_per_item;
    sizes.chains = kiln_reduction_is_held(layout) ? 1 : ceil_divide(longest, sizes.chain_steps);
    sizes.is_even = emission->group->role != KILN_ROLE_COMBINE && are_constants &&
                    sizes.tails == 0 && schedule->walk.moved_elems == 0 && sizes.chains == 1 &&
                    sizes.segment_steps * layout->segment_count == sizes.steps &&
                    sizes.segment_steps % items == 0;
    sizes.checks_full = !are_constants && emission->group->role == KILN_ROLE_WHOLE &&
                        !kiln_reduction_is_columns(layout) && kiln_reduction_is_held(layout) &&
                        sizes.tails == 0 && !kiln_schedule_has_turns(schedule);
    return sizes;
}
