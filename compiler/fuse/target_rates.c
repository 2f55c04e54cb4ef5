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

double kiln_target_vector_bytes(const struct kiln_target *target, double operations)
{
    /* Peak figures count a multiply-add as two; of simple operations few come in pairs. */
    double per_second = (double)target->vector_gflops / 2;
    return per_second == 0 ? 0 : operations * (double)target->bandwidth_gbs / per_second;
}

double kiln_target_matrix_bytes(const struct kiln_target *target, double operations,
                                uint32_t operand_bytes)
{
    bool is_narrow = operand_bytes == 1 || operand_bytes == 2;
    double per_second = is_narrow && target->matrix_gflops != 0
                            ? (double)target->matrix_gflops * 2 / operand_bytes
                            : (double)target->vector_gflops;
    return per_second == 0 ? 0 : operations * (double)target->bandwidth_gbs / per_second;
}
