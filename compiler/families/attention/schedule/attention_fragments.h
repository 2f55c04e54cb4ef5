/*
 * The fragments of attention's tiles, which an instruction multiplies, and their local memory.
 */
#ifndef KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_FRAGMENTS_H
#define KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_FRAGMENTS_H

#include "compiler/families/attention/schedule/attention_schedule.h"

/* Rows of the left or the right operand that an instruction multiplies, or a wave without. */
uint32_t kiln_attention_fragment_rows(const struct kiln_contraction_schedule *products,
                                      const struct kiln_target *target, bool is_right);

uint32_t kiln_attention_lds_bytes(const struct kiln_attention_schedule *attention,
                                  const struct kiln_target *target);

/* True if right tiles in LDS can be values too: mma.sync and gfx950 read elements of 16 bits both
 * ways. With two buffers the next columns' tiles do not take the place of what is still read. With
 * one they are stored after the second products, which saves a barrier only if all values are
 * shared. */
bool kiln_attention_may_share_tiles(const struct kiln_attention_schedule *attention);
/* Values with tiles of their own. */
uint32_t kiln_attention_own_values(const struct kiln_attention_schedule *attention);

#endif
