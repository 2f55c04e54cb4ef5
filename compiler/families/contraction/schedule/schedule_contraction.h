/*
 * Schedules of contractions: the instruction that multiplies, the tiles, the operands' loads and
 * the order of the tiles. The main template is kernels_templates/contraction.hip.
 *
 * The kernel sees one axis m, one n, one k and some batch axes. Their sizes and strides are
 * arguments, so equal schedules of different sizes share a kernel.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_SCHEDULE_CONTRACTION_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_SCHEDULE_CONTRACTION_H

#include "compiler/families/contraction/schedule/contraction_schedule.h"

/* Each chiplet of an MI300X or MI325X has its own second-level cache. HipKittens measured runs of
 * 16 and columns of 8 tiles as best on an MI325X. Kiln has no measurements of its own. */
struct kiln_tile_order kiln_choose_tile_order(const struct kiln_target *target);

#endif
