/*
 * How long a contraction takes with a tile, by what its loads, its operations and the busiest
 * compute unit take; but for tiles of NVIDIA's Hopper (contraction_hopper.h).
 */
#ifndef KILN_COMPILER_SCHEDULE_CONTRACTION_TIME_H
#define KILN_COMPILER_SCHEDULE_CONTRACTION_TIME_H

#include "compiler/schedule/contraction_tile.h"

/* Nanoseconds, without the launch. `efficiency`: what share of a compute unit's operations a loop
 * over tiles of this size reaches where nothing else holds it back. */
double kiln_model_contraction_time(const struct kiln_tile_problem *problem,
                                   const struct kiln_contraction_schedule *contraction,
                                   double efficiency);

#endif
