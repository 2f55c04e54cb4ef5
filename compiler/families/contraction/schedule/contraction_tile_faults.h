/*
 * Tiles that a template cannot have, each with its reason.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_TILE_FAULTS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_TILE_FAULTS_H

#include "compiler/families/contraction/schedule/contraction_tile_problem.h"

/* gfx942 and gfx950: several chiplets, and the only targets of the ping-pong schedule. */
bool kiln_is_cdna3_or_later(const struct kiln_target *target);

/* Steps of k that a streamed kernel loads ahead, at most. */
enum { KILN_MAX_STREAM_STEPS = 8 };

/* Why the template cannot have this tile and pipeline, a static sentence; NULL if it can. */
const char *kiln_find_tile_fault(const struct kiln_tile_problem *problem,
                                 const struct kiln_contraction_schedule *contraction);

#endif
