/*
 * The steps of a reduction's work-items, and the type that they accumulate in.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_EMIT_REDUCTION_SIZES_H
#define KILN_COMPILER_FAMILIES_REDUCTION_EMIT_REDUCTION_SIZES_H

#include "compiler/emit/emission.h"
#include "compiler/families/reduction/schedule/reduction_schedule.h"

/* The type of a work-item's own accumulators. On the host, one takes in all of a column, so moments
 * of floats are double until they are merged. */
enum kiln_scalar kiln_lanes_scalar(const struct kiln_emission *emission,
                                   const struct kiln_accumulator *accumulator);
/* Sizes of the walk over a row. */
struct kiln_reduction_sizes {
    /* A row has `steps` whole vectors (in the form `columns` elements), and `tails` elements
     * outside of vectors. The segment_ fields are upper bounds for a segment. */
    uint64_t steps;
    uint64_t tails;
    uint64_t segment_steps;
    uint64_t segment_tails;
    uint32_t steps_per_item;
    uint32_t resident_tails; /* 0: loaded one by one */
    /* Chains of accumulation that a work-item's steps are cut into, and the steps (or tails) of
     * each. A work-item with few steps has one chain. */
    uint64_t chains;
    uint64_t chain_steps;
    uint64_t stride; /* from a work-item's step to its next */
    /* Every work-item has the same number of elements, in one chain. */
    bool is_even;
    /* The kernel checks at run time if rows have all the steps that work-items hold. */
    bool checks_full;
};

struct kiln_reduction_sizes kiln_reduction_sizes(const struct kiln_emission *emission);

#endif
