/*
 * What a step does to the accumulators of a pass, as generated text.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_EMIT_ACCUMULATION_H
#define KILN_COMPILER_FAMILIES_REDUCTION_EMIT_ACCUMULATION_H

#include "compiler/families/reduction/emit/emit_reduction_parts.h"

/*
 * Accumulating a vector into `lanes`, or (is_tail) one element into `merged`: statements in front
 * of the loop over its elements, in it, and behind it.
 */
void kiln_emit_accumulation_head(const struct kiln_reduction_emission *reduction, uint32_t pass,
                                 bool is_tail, struct kiln_buffer *source);
void kiln_emit_accumulation(const struct kiln_reduction_emission *reduction, uint32_t pass,
                            bool is_tail, struct kiln_buffer *source);
void kiln_emit_accumulation_end(const struct kiln_reduction_emission *reduction, uint32_t pass,
                                bool is_tail, struct kiln_buffer *source);

#endif
