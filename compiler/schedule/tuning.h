/*
 * Choices that differ from target to target: tuning.def.
 */
#ifndef KILN_COMPILER_SCHEDULE_TUNING_H
#define KILN_COMPILER_SCHEDULE_TUNING_H

#include "compiler/codegen/target.h"

/* Columns of tuning.def. */
struct kiln_tuning {
    uint32_t bytes_in_flight;
    uint32_t row_bytes_in_flight;
    uint32_t sector_bytes;
    uint32_t access_bytes;
    uint32_t busy_cost;
    uint32_t full_items;
    uint32_t comfortable_cost;
    uint32_t caches;
};

/* Never NULL. */
const struct kiln_tuning *kiln_tuning_of(const struct kiln_target *target);

#endif
