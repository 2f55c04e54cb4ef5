#include "compiler/families/reduction/schedule/reduction_lds.h"

#include "compiler/schedule/integer_math.h"

uint32_t kiln_reduction_waves_per_row(const struct kiln_reduction_schedule *reduction,
                                      uint32_t wave_size)
{
    /* Work-items of a row that are in one wave, and so exchange without local memory. */
    uint32_t together = wave_size;
    if (kiln_reduction_is_columns(reduction))
        together =
            wave_size > reduction->items_along_kept ? wave_size / reduction->items_along_kept : 1;
    return reduction->items_along_reduced > together ? reduction->items_along_reduced / together
                                                     : 1;
}

uint32_t kiln_reduction_lds_entries(const struct kiln_reduction_schedule *reduction,
                                    uint32_t wave_size)
{
    uint32_t waves = kiln_reduction_waves_per_row(reduction, wave_size);
    if (waves == 1)
        return 0;
    /* The other work-groups of a cluster read one more. */
    return (kiln_reduction_is_columns(reduction) ? waves / 2 : waves) *
               reduction->items_along_kept +
           (reduction->groups_of_row > 1);
}

uint32_t kiln_reduction_lds_bytes(const struct kiln_reduction_passes *passes,
                                  const struct kiln_reduction_schedule *reduction,
                                  uint32_t vector_elems, uint32_t wave_size)
{
    uint32_t entries = kiln_reduction_lds_entries(reduction, wave_size);
    uint32_t lanes = kiln_reduction_is_columns(reduction) ? vector_elems : 1;
    uint32_t largest = 0;
    uint32_t alignment = 1;
    for (uint32_t pass = 0; pass < passes->pass_count && entries != 0; pass++) {
        uint32_t bytes = 0;
        for (uint32_t i = 0; i < passes->accumulator_count; i++) {
            const struct kiln_accumulator *accumulator = &passes->accumulators[i];
            if (accumulator->pass != pass)
                continue;
            uint32_t size = kiln_dtype_info(kiln_scalar_dtype(accumulator->scalar))->bytes;
            /* The count of elements is the same for all rows of a vector. */
            uint32_t elements =
                accumulator->kind == KILN_ACCUMULATOR_MOMENTS ? 1 + 2 * lanes : lanes;
            bytes = kiln_round_up_u32(bytes, size) + elements * entries * size;
            alignment = size > alignment ? size : alignment;
        }
        largest = bytes > largest ? bytes : largest;
    }
    return kiln_round_up_u32(largest, alignment);
}
