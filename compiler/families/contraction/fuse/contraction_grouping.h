/*
 * The family's data during partitioning: builder->family_data[KILN_FAMILY_CONTRACTION]. Arrays have
 * one entry per operation of the IR.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_GROUPING_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_GROUPING_H

#include "compiler/fuse/group_builder.h"

/* A product's operand that is computed element by element from another product's result. Either
 * product's kernel can compute it. */
struct kiln_between {
    uint32_t product; /* the second one */
    uint32_t operand;
    /* Bytes that go through memory if the first, or the second, product's kernel computes the
     * operand. `repeated` is the arithmetic that the second one's tiles repeat. It is counted as
     * the bytes that could move in that time. */
    uint64_t bytes_first, bytes_second, repeated;
    bool is_second;
};

/* Rows and columns of a product that a work-group makes, about: the schedule chooses later. */
enum { KILN_USUAL_TILE = 128 };

struct kiln_contraction_grouping {
    uint32_t *summed_with;   /* of a REDUCE: the CONTRACT whose operand it sums, or KILN_NONE */
    uint32_t *operand_sum;   /* of a CONTRACT: that REDUCE, or KILN_NONE */
    bool *is_behind_product; /* a CONTRACT, or computed from one element by element */
    struct kiln_between *betweens; /* of this round */
    uint32_t between_count;
};

static inline struct kiln_contraction_grouping *
kiln_contraction_grouping(const struct kiln_group_builder *builder)
{
    return builder->family_data[KILN_FAMILY_CONTRACTION];
}

#endif
