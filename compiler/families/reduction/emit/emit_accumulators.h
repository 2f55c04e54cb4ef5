/*
 * Accumulators of a pass in the generated text: the structures `lanes` (of a work-item, for each
 * element of the vector) and `merged` (the elements of a vector folded; in the form `columns` each
 * is a row of its own) and what happens to them. Accumulator i is the member a<i>, with the members
 * count, mean and squares, or value. What work-items exchange and merge are types of
 * device/accumulators.h.
 *
 * Moments: all elements of a vector have been counted as often, so the count is the number of steps
 * and is not part of `lanes`. `lanes` has a count in two cases: in COMBINE, which loads it (one for
 * each element in the form `rows`, one in all in `columns`), and where the last vector of a row is
 * moved back (one for each element).
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_EMIT_ACCUMULATORS_H
#define KILN_COMPILER_FAMILIES_REDUCTION_EMIT_ACCUMULATORS_H

#include "compiler/families/reduction/emit/emit_reduction_parts.h"

/* Repeats what follows for each accumulator of a pass, with its index. */
#define KILN_FOR_EACH_ACCUMULATOR(i, accumulator, reduction, number)                               \
    for (uint32_t i = 0; i < (reduction)->passes->accumulator_count; i++)                          \
        for (const struct kiln_accumulator *accumulator = &(reduction)->passes->accumulators[i];   \
             accumulator != NULL && accumulator->pass == (number); accumulator = NULL)

bool kiln_accumulator_is_moments(const struct kiln_accumulator *accumulator);
/* "add": what merges all but moments. Static. */
const char *kiln_accumulator_operation(const struct kiln_accumulator *accumulator);
/* What changes nothing, as a literal: "-__builtin_inff()". Static. */
const char *kiln_accumulator_neutral(const struct kiln_accumulator *accumulator);
/* True if the lanes' accumulator is a number for each lane, lanes.a0.value[e], and one flag for NaN
 * in any of them, lanes.a0.nan. In a loop, or with a flag for each lane as the form `columns` would
 * need, flags cost more than they save. */
bool kiln_accumulator_has_flag(const struct kiln_reduction_emission *reduction,
                               const struct kiln_accumulator *accumulator);
/* True if the elements are accumulators, of segments. */
bool kiln_emission_is_combine(const struct kiln_reduction_emission *reduction);
/* True if moments in `lanes` have a count for each element. */
bool kiln_lanes_have_counts(const struct kiln_reduction_emission *reduction);
bool kiln_pass_has_accumulators(const struct kiln_reduction_emission *reduction, uint32_t pass);

/* KILN_ACCUMULATOR(max, f32, float): the types of all accumulators, each once. */
void kiln_emit_accumulator_types(const struct kiln_reduction_passes *passes,
                                 struct kiln_buffer *source);
/* kiln_shared: local memory where waves meet. */
void kiln_emit_shared(const struct kiln_reduction_emission *reduction, struct kiln_buffer *source);
/* lanes, merged, start, fold, merge, shuffle, put and get of a pass. */
void kiln_emit_accumulators(const struct kiln_reduction_emission *reduction, uint32_t pass,
                            struct kiln_buffer *source);

/* "merged.a0.mean[e]" for result 0 (the mean) or 1 (the squares) of an accumulator; with
 * `component` counted as kiln_access.component does. */
void kiln_emit_merged_component(const struct kiln_accumulator *accumulator, uint32_t index,
                                uint32_t component, struct kiln_buffer *source);
/* The access of a PARTIAL or COMBINE group that moves a component; KILN_NONE when there is none. */
uint32_t kiln_component_access(const struct kiln_reduction_emission *reduction, uint32_t index,
                               uint32_t component);

#endif
