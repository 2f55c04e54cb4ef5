/*
 * The integers that a COMBINE group's kernel is launched with: sizes and strides, so that one
 * kernel combines any number of segments of any size (struct kiln_reduction_schedule). In the other
 * groups of the family sizes stand in the text.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_EMIT_REDUCTION_ARGUMENTS_H
#define KILN_COMPILER_FAMILIES_REDUCTION_EMIT_REDUCTION_ARGUMENTS_H

#include "compiler/emit/emit_integers.h"

void kiln_visit_reduction_integers(struct kiln_integer_walk *walk);

#endif
