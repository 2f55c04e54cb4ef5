/*
 * Tiles of NVIDIA's Hopper, whose fastest instruction multiplies from LDS while the warp goes on:
 * some warps only multiply and some only stage (device/contraction/specialized.h).
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_HOPPER_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_HOPPER_H

#include "compiler/families/contraction/schedule/contraction_schedule.h"
#include "compiler/families/contraction/schedule/contraction_tile_problem.h"

/*
 * Chooses the cheapest of a short list by a model of its time, which it notes in time_ns.
 * Returns false and changes nothing if the target or the type has no such instruction, or if
 * another kind of tile is forced.
 */
bool kiln_choose_hopper_tile(const struct kiln_tile_problem *problem,
                             struct kiln_contraction_schedule *contraction);

/* In nanoseconds without the launch: of a streamed tile of 16 x 16. */
double kiln_hopper_stream_time_ns(const struct kiln_tile_problem *problem,
                                  const struct kiln_contraction_schedule *contraction);

#endif
