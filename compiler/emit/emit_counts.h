/*
 * Numbers of elements that means are of: constants of the IR that follow from sizes. Where sizes
 * are arguments they are, too, since kernels of other sizes would have other texts: count<k> is
 * value k of the group.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_COUNTS_H
#define KILN_COMPILER_EMIT_EMIT_COUNTS_H

#include "compiler/emit/emit_integers.h"

/* True if a value of the group is such a constant. Its only users divide what a REDUCE returns, or
 * multiply it by the reciprocal of a power of two. */
bool kiln_value_is_count(const struct kiln_emission *emission, uint32_t value);
/* The operand (0 or 1) of an operation that is a sum over such a count: the operation is a division
 * in the text. KILN_NONE for other operations. */
uint32_t kiln_sum_over_count(const struct kiln_emission *emission, const struct kiln_op *op);

void kiln_visit_counts(struct kiln_integer_walk *walk);

#endif
