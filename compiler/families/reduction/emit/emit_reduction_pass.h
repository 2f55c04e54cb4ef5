/*
 * The passes of a reduction as generated text: kiln_row with kiln_start_row, and for each pass the
 * structure kiln_pass_<n> of load, update and finish, next to its accumulators.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_EMIT_REDUCTION_PASS_H
#define KILN_COMPILER_FAMILIES_REDUCTION_EMIT_REDUCTION_PASS_H

#include "compiler/families/reduction/emit/emit_reduction_parts.h"

/* kiln_inputs and, with tails, kiln_inputs_element: what passes load. */
void kiln_emit_reduction_inputs(const struct kiln_reduction_emission *reduction,
                                struct kiln_buffer *source);
/* kiln_row, kiln_start_row. */
void kiln_emit_row(const struct kiln_reduction_emission *reduction, struct kiln_buffer *source);
void kiln_emit_pass(struct kiln_reduction_emission *reduction, uint32_t pass,
                    struct kiln_buffer *source);

#endif
