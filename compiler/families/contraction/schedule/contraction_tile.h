/*
 * Which tile a contraction's work-groups make, by how many waves, and in which form: the cheapest
 * of a short list by a model of its time. The list is short because each entry is another kernel to
 * compile.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_TILE_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_TILE_H

#include "compiler/families/contraction/schedule/contraction_tile_problem.h"

/*
 * Chooses the tile and the pipeline, and notes their time. m, n, k and the staged type are there
 * already. Returns NULL, or a static sentence that says why no tile with the forced values is
 * possible. Without forced values there is always a tile.
 */
const char *kiln_choose_contraction_tile(const struct kiln_tile_problem *problem,
                                         struct kiln_contraction_schedule *contraction);

/* The model's time of a staged tile that a rule has chosen, in nanoseconds, without the launch. For
 * its own tile the search notes the time (time_ns). */
double kiln_staged_time_ns(const struct kiln_tile_problem *problem,
                           const struct kiln_contraction_schedule *contraction);

#endif
