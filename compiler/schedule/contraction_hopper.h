/*
 * Tiles of NVIDIA's Hopper, whose fastest instruction multiplies from LDS while the warp goes on:
 * some warps only multiply and some only stage (device/contraction/specialized.h).
 */
#ifndef KILN_COMPILER_SCHEDULE_CONTRACTION_HOPPER_H
#define KILN_COMPILER_SCHEDULE_CONTRACTION_HOPPER_H

#include "compiler/schedule/contraction_tile.h"

/*
 * Chooses the cheapest of a short list by kiln_hopper_time_ns, which it notes in time_ns. False,
 * and nothing is changed: the target or the type has no such instruction, or no such tile is what
 * is forced.
 */
bool kiln_choose_hopper_tile(const struct kiln_tile_problem *problem,
                             struct kiln_contraction_schedule *contraction);

/* In nanoseconds without the launch: of a tile as above, and of a streamed one of 16 x 16. */
double kiln_hopper_time_ns(const struct kiln_tile_problem *problem,
                           const struct kiln_contraction_schedule *contraction);
double kiln_hopper_stream_time_ns(const struct kiln_tile_problem *problem,
                                  const struct kiln_contraction_schedule *contraction);

#endif
