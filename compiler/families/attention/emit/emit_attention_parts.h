/*
 * The files of the attention template's generated part share this. Names are those of
 * emit_contraction_parts.h. The `row` and the `column` of an element count from the scores' first
 * ones.
 */
#ifndef KILN_COMPILER_FAMILIES_ATTENTION_EMIT_ATTENTION_PARTS_H
#define KILN_COMPILER_FAMILIES_ATTENTION_EMIT_ATTENTION_PARTS_H

#include "compiler/families/attention/schedule/attention_schedule.h"
#include "compiler/families/contraction/emit/emit_contraction_parts.h"

static inline const struct kiln_attention_schedule *
kiln_attention_of(const struct kiln_emission *emission)
{
    return kiln_attention_schedule_of(emission->schedule);
}

/* True if an access is loaded for elements of scores; and those that are the same in all of a row.
 */
bool kiln_is_score_access(const struct kiln_emission *emission, uint32_t access);
bool kiln_is_score_row_access(const struct kiln_emission *emission, uint32_t access);

/* True if scores may be finite and yet too large to be multiplied by the exponent's factor before
 * the difference to their maximum is taken: masks of -1e9, or of the lowest number there is, are
 * usual. From 2^24 on roundings of that product are as large as the exponents themselves. */
bool kiln_may_scores_be_huge(const struct kiln_emission *emission);

/* Maps and lists of what is loaded for scores, and the functions of an element that compute scores
 * and weights. */
void kiln_emit_attention_scores(const struct kiln_emission *emission, struct kiln_buffer *source);
/* ", kiln_storage_f16 x3": what an access loads, as a parameter. */
void kiln_emit_score_parameter(const struct kiln_emission *emission, uint32_t access,
                               struct kiln_buffer *source);

/* emit_attention_spans.c: numbers and facts about where ragged operands lie. */
void kiln_visit_span_arguments(struct kiln_integer_walk *walk);
void kiln_emit_span_defines(const struct kiln_emission *emission, struct kiln_buffer *source);

/* emit_attention_limits.c: the numbers that limits compare with; facts about limits, and what is
 * computed of lengths. */
void kiln_visit_limit_arguments(struct kiln_integer_walk *walk);
void kiln_emit_attention_limits(const struct kiln_emission *emission, struct kiln_buffer *source);

#endif
