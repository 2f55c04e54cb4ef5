#include "compiler/fuse/target_rates.h"

enum {
    ITEMS_PER_COMPUTE_UNIT = 1024,
    /* 5 us at 10 GB/s for each compute unit. */
    LAUNCH_BYTES_PER_COMPUTE_UNIT = 50000,
};

uint64_t kiln_target_full_items(const struct kiln_target *target)
{
    /* On a CPU one work-item keeps a core busy. */
    return (uint64_t)target->compute_units * (target->wave_size == 1 ? 1 : ITEMS_PER_COMPUTE_UNIT);
}

uint64_t kiln_target_launch_bytes(const struct kiln_target *target)
{
    return (uint64_t)target->compute_units * LAUNCH_BYTES_PER_COMPUTE_UNIT;
}
