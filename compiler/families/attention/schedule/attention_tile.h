/*
 * Tiles of attention's kernels: which instruction multiplies, how many rows and columns of scores a
 * work-group has at once, and what of LDS that takes. kernels_templates/attention.hip.
 */
#ifndef KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_TILE_H
#define KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_TILE_H

#include "compiler/families/attention/schedule/attention_schedule.h"
#include "compiler/families/contraction/schedule/contraction_schedule.h"

/* True if attention has kernels of its own on a target. */
bool kiln_attention_is_for(const struct kiln_target *target);

/* Chooses mma, tiles, waves, buffers and where the left operand waits, from staged, m, n, k and d;
 * NULL, or why there is no kernel. Static. */
const char *kiln_choose_attention_tile(const struct kiln_target *target,
                                       const struct kiln_register_limits *limits, bool is_general,
                                       struct kiln_attention_schedule *attention);

#endif
