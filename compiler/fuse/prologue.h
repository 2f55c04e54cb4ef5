/*
 * What a contraction's kernel computes of an operand where it stages it, and what it reads from
 * memory instead. Internal to the partitioner.
 *
 * An operand that is loaded, or computed from few loads by little arithmetic, is computed there, by
 * every work-group that needs it. What lies between two products could be computed by the first
 * one's kernel, once, or by the second one's: it goes to the side that moves fewer bytes, unless
 * the arithmetic that all tiles of the second one would do again takes longer than these.
 */
#ifndef KILN_COMPILER_FUSE_PROLOGUE_H
#define KILN_COMPILER_FUSE_PROLOGUE_H

#include "compiler/fuse/group_builder.h"

/* Whether the kernel of the CONTRACT `index` computes its operand number `side` itself. Where that
 * lies behind another product, decides from which value on (builder->is_deferred), and notes it in
 * builder->betweens. */
bool kiln_prologue_may_evaluate(struct kiln_group_builder *builder, uint32_t index, uint32_t side);

#endif
