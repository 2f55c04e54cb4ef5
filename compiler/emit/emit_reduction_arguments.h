/*
 * The integers that a COMBINE group's kernel is launched with: sizes and strides, so that one
 * kernel combines any number of segments of any size (struct kiln_reduction_schedule). In the other
 * groups of the family sizes stand in the text.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_REDUCTION_ARGUMENTS_H
#define KILN_COMPILER_EMIT_EMIT_REDUCTION_ARGUMENTS_H

#include "compiler/emit/emit.h"

/* How many there are, and number `index`: what a family is asked for (emit_family.h). */
uint32_t kiln_reduction_integer_count(const struct kiln_emission *emission);
int64_t kiln_reduction_integer(const struct kiln_emission *emission, uint32_t index);
/* Their members of kiln_arguments. */
void kiln_emit_reduction_arguments(const struct kiln_emission *emission,
                                   struct kiln_buffer *source);

#endif
