/*
 * What of a score need not be computed for each element of its tile, since it can be part of the
 * exponential's factor, or done where columns are hidden.
 */
#ifndef KILN_COMPILER_FAMILIES_ATTENTION_EMIT_ATTENTION_EXPONENT_H
#define KILN_COMPILER_FAMILIES_ATTENTION_EMIT_ATTENTION_EXPONENT_H

#include "compiler/emit/emit_values.h"

/*
 * hidden(scale * of(value) + offset - shift), hidden being -infinity where `condition` does not
 * hold, of(value) the value, or kiln_tanh_part_f32(value * part_factor) where that is not 0
 * (device/math/tanh_part_f32.h).
 */
struct kiln_exponent {
    uint32_t value; /* KILN_NONE: there is no exponential */
    double scale;   /* positive and finite */
    double offset;
    double part_factor;
    uint32_t condition; /* KILN_NONE: holds everywhere */
    uint32_t shift;     /* KILN_NONE: 0 */
};

/* What an online softmax exponentiates. Never shifted: the template does that. A soft cap's tangent
 * is taken apart where all that the kernel stores has 16 bits and the cap is at most 64: its error
 * in the exponent is less than 2^-14 then. */
struct kiln_exponent kiln_find_score_exponent(const struct kiln_emission *emission);

/* True if kiln_score computes only what is seen, and columns are hidden by the template. */
bool kiln_hides_scores_last(const struct kiln_emission *emission);

/* "const float v7 = kiln_fma_f32(...);" of a score times a constant plus something; false where a
 * value is nothing of that kind. */
bool kiln_emit_scaled_sum(const struct kiln_emission *emission,
                          const struct kiln_value_table *table, uint32_t value,
                          struct kiln_buffer *source) KILN_NODISCARD;

/* True if an operation is an exponential that is rounded to 16 bits before it is multiplied, so
 * that the instruction for 2^x and one rounding of its argument are precise enough; and what of. */
bool kiln_is_weight_exponential(const struct kiln_emission *emission, uint32_t value);
struct kiln_exponent kiln_find_weight_exponent(const struct kiln_emission *emission,
                                               uint32_t value);

/* "const float v7 = KILN_EXPONENTIAL(...);" of the latter. */
void kiln_emit_weight_exponential(const struct kiln_emission *emission,
                                  const struct kiln_value_table *table, uint32_t value,
                                  struct kiln_buffer *source);

#endif
