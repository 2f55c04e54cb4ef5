/*
 * Tiles of attention's kernels: which instruction multiplies, how many rows and columns of scores a
 * work-group has at once, and what of LDS that takes. kernels_templates/attention.hip.
 */
#ifndef KILN_COMPILER_SCHEDULE_ATTENTION_TILE_H
#define KILN_COMPILER_SCHEDULE_ATTENTION_TILE_H

#include "compiler/schedule/schedule.h"

/* Whether attention has kernels of its own on a target. */
bool kiln_attention_is_for(const struct kiln_target *target);

/* Chooses mma, tiles, waves, buffers and where the left operand waits, from staged, m, n, k and d;
 * NULL, or why there is no kernel. Static. */
const char *kiln_choose_attention_tile(const struct kiln_target *target,
                                       const struct kiln_register_limits *limits,
                                       struct kiln_attention_schedule *attention);

/* Rows of the left or the right operand that an instruction multiplies, or a wave without. */
uint32_t kiln_attention_fragment_rows(const struct kiln_contraction_schedule *products,
                                      const struct kiln_target *target, bool is_right);

uint32_t kiln_attention_lds_bytes(const struct kiln_attention_schedule *attention,
                                  const struct kiln_target *target);

/* Whether right tiles in LDS can be values too: mma.sync reads elements of 16 bits both ways, and
 * with two buffers the next columns' tiles do not take the place of what is still read. */
bool kiln_attention_may_share_tiles(const struct kiln_attention_schedule *attention);

/* Whether two work-groups of a kernel are to be resident at once: a limit of its registers. */
bool kiln_attention_has_residents(const struct kiln_attention_schedule *attention,
                                  const struct kiln_target *target);

#endif
