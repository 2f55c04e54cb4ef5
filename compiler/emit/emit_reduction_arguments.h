/*
 * The integers that a COMBINE group's kernel is launched with: sizes and strides, so that one
 * kernel combines any number of segments of any size (struct kiln_reduction_schedule). In the other
 * groups of the family sizes stand in the text.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_REDUCTION_ARGUMENTS_H
#define KILN_COMPILER_EMIT_EMIT_REDUCTION_ARGUMENTS_H

#include "compiler/emit/emit.h"

/* Counts and writes them (struct kiln_emit_family). */
uint32_t kiln_reduction_integers(const struct kiln_emission *emission, int64_t *ret_values);
/* Their members of kiln_arguments. */
void kiln_emit_reduction_arguments(const struct kiln_emission *emission,
                                   struct kiln_buffer *source);

#endif
