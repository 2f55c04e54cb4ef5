/*
 * How long a contraction takes with a tile, by what its loads, its operations and the busiest
 * compute unit take; but for tiles of NVIDIA's Hopper (contraction_hopper.h).
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_TIME_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_TIME_H

#include "compiler/families/contraction/schedule/contraction_tile_problem.h"

/* Nanoseconds, without the launch. `efficiency`: what share of a compute unit's operations a loop
 * over tiles of this size reaches where nothing else holds it back. */
double kiln_model_contraction_time(const struct kiln_tile_problem *problem,
                                   const struct kiln_contraction_schedule *contraction,
                                   double efficiency);

/* Bytes of a line of the nearest cache. */
double kiln_cache_line_bytes(const struct kiln_target *target);

/* Start and end of so many work-groups with a tile each. The model above leaves them out: it is for
 * a long k. */
double kiln_tile_starts_ns(const struct kiln_target *target, uint64_t groups);

/* Work-items that compute elements by themselves. */
struct kiln_small_work {
    double items;
    uint32_t block;     /* of them in a work-group */
    double bytes;       /* of memory, that all of them move */
    double cache_bytes; /* that the second-level cache delivers */
    /* One work-item's loads and stores, wherever they go, simple operations, vector registers of 32
     * bits, and waits for loads. */
    double item_bytes, item_operations;
    uint32_t item_registers;
    uint32_t steps;
};

/* Nanoseconds, without the launch. */
double kiln_model_small_time(const struct kiln_target *target, const struct kiln_small_work *work);

#endif
