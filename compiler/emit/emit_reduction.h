/*
 * The generated part of reduction.hip, for REDUCTION, PARTIAL and COMBINE groups. What the template
 * wants is written at its top. Four files: this one (sizes, the walk), emit_accumulators.h,
 * emit_accumulation.h, emit_reduction_pass.h.
 */
#ifndef KILN_COMPILER_EMIT_EMIT_REDUCTION_H
#define KILN_COMPILER_EMIT_EMIT_REDUCTION_H

#include "compiler/emit/emit_values.h"

/* Everything that the parts of a reduction's emission know. */
struct kiln_reduction_emission {
    const struct kiln_emission *emission;
    const struct kiln_reduction_passes *passes;
    const struct kiln_reduction_schedule *reduction;
    struct kiln_value_table values;
    uint32_t *pass;       /* by value: the first pass in which it is known */
    uint32_t *first_pass; /* by load: the first pass that needs it; KILN_NONE: none does */
    bool *is_needed;      /* by position in group->ops: scratch */
    bool *selected;       /* by access: scratch */
    uint32_t vector;      /* elements of a step */
    uint32_t row_lanes;   /* rows of a work-item: the vector, in the form `rows` 1 */
    uint32_t lds_entries; /* kiln_reduction_lds_entries */
    /* Of a row: whole vectors (rows, elements in the form `columns`), and elements that are not in
     * one. Of a segment: the most of them. */
    uint64_t steps;
    uint64_t tails;
    uint64_t segment_steps;
    uint64_t segment_tails;
    uint32_t steps_per_item;
    uint32_t resident_tails; /* 0: loaded one by one */
    /* How many chains of accumulation a work-item's steps are cut into, and of how many steps (or
     * tails): 1 where it has few. */
    uint64_t chains;
    uint64_t chain_steps;
    /* Every work-item has the same number of elements, in one chain. */
    bool is_even;
};

/* Whether the first pass loads all that any pass needs. */
bool kiln_loads_ahead(const struct kiln_reduction_emission *reduction);

/* How many of them that is for a kernel (chains, above). */
int64_t kiln_chain_count(const struct kiln_emission *emission);

#endif
