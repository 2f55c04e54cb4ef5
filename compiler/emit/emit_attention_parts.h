/*
 * What the files of the attention template's generated part share. Names are those of
 * emit_contraction_parts.h: a row of scores is at_row of source.row, a column `column`.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_ATTENTION_PARTS_H
#define KILN_COMPILER_EMIT_EMIT_ATTENTION_PARTS_H

#include "compiler/emit/emit_contraction_parts.h"

static inline const struct kiln_attention_schedule *
kiln_attention_of(const struct kiln_emission *emission)
{
    return &emission->schedule->attention;
}

/* Whether an access is loaded for elements of scores; and those that are the same in all of a row.
 */
bool kiln_is_score_access(const struct kiln_emission *emission, uint32_t access);
bool kiln_is_score_row_access(const struct kiln_emission *emission, uint32_t access);

/* Whether scores may be finite and yet too large to be multiplied by the exponent's factor before
 * the difference to their maximum is taken: masks of -1e9, or of the lowest number there is, are
 * usual. From 2^24 on roundings of that product are as large as the exponents themselves. */
bool kiln_may_scores_be_huge(const struct kiln_emission *emission);

/* kiln_score_source to kiln_row_start. */
void kiln_emit_attention_scores(const struct kiln_emission *emission, struct kiln_buffer *source);

/* emit_attention_limits.c: the numbers that limits compare with; kiln_is_visible, where there are
 * limits; kiln_column_range and kiln_find_columns. */
void kiln_visit_limit_arguments(struct kiln_integer_walk *walk);
void kiln_emit_visibility(const struct kiln_emission *emission, struct kiln_buffer *source);
void kiln_emit_columns(const struct kiln_emission *emission, struct kiln_buffer *source);

#endif
