/*
 * Packs of the next tile are made between the matrix instructions of this one.
 */
#ifndef KILN_DEVICE_CONTRACTION_OVERLAP_H
#define KILN_DEVICE_CONTRACTION_OVERLAP_H

#include "device/contraction/multiply.h"

/* Packs of the next tile, which are made while this one is multiplied. */
struct kiln_packs {
    kiln_pack left[KILN_LEFT_PACKS];
    kiln_pack right[KILN_RIGHT_PACKS];
};

/*
 * Which packs are made beside product number SHARE of ALL. Where both operands are made, the left one's are in the first half of the products,
 * the right one's in the second half; beside a single product both are. An operand's packs are parts number LEFT_SHARE of OF_LEFT.
 */
template <bool LEFT, bool RIGHT, unsigned SHARE, unsigned ALL>
struct kiln_share {
    enum {
        HALF = ALL / 2,
        OF_LEFT = RIGHT && ALL > 1 ? HALF : ALL,
        BEFORE_RIGHT = LEFT && ALL > 1 ? HALF : 0,
        OF_RIGHT = ALL - BEFORE_RIGHT,
        IS_LEFT = LEFT && SHARE < OF_LEFT,
        IS_RIGHT = RIGHT && SHARE >= BEFORE_RIGHT,
        LEFT_SHARE = IS_LEFT ? SHARE : 0,
        RIGHT_SHARE = IS_RIGHT ? SHARE - BEFORE_RIGHT : 0
    };
};

/* Products N to COUNT, and packs are made between them. There are PHASES such groups of products, of which this one is number
 * PHASE. */
template <bool LEFT, bool RIGHT, unsigned PHASE, unsigned PHASES, unsigned N, unsigned COUNT>
struct kiln_products {
    KILN_DEVICE void multiply_and_make(
        const kiln_arguments &arguments, const kiln_fragment (&left)[COUNT / KILN_FRAGMENTS_N],
        const kiln_fragment (&right)[KILN_FRAGMENTS_N],
        kiln_mma_sums (&sums)[COUNT / KILN_FRAGMENTS_N][KILN_FRAGMENTS_N],
        const kiln_left_stage &left_stage, const kiln_right_stage &right_stage, kiln_packs &packs)
    {
        using share = kiln_share<LEFT, RIGHT, PHASE * COUNT + N, PHASES * COUNT>;
        enum { I = N / KILN_FRAGMENTS_N, J = N % KILN_FRAGMENTS_N };
        kiln_multiply_add(sums[I][J], left[I], right[J]);
        if (share::IS_LEFT)
            kiln_left_make<share::LEFT_SHARE, share::OF_LEFT>(arguments, left_stage, packs.left);
        if (share::IS_RIGHT)
            kiln_right_make<share::RIGHT_SHARE, share::OF_RIGHT>(arguments, right_stage,
                                                                 packs.right);
        kiln_products<LEFT, RIGHT, PHASE, PHASES, N + 1, COUNT>::multiply_and_make(
            arguments, left, right, sums, left_stage, right_stage, packs);
    }
};

template <bool LEFT, bool RIGHT, unsigned PHASE, unsigned PHASES, unsigned COUNT>
struct kiln_products<LEFT, RIGHT, PHASE, PHASES, COUNT, COUNT> {
    KILN_DEVICE void multiply_and_make(const kiln_arguments &,
                                              const kiln_fragment (&)[COUNT / KILN_FRAGMENTS_N],
                                              const kiln_fragment (&)[KILN_FRAGMENTS_N],
                                              kiln_mma_sums (&)[COUNT / KILN_FRAGMENTS_N][KILN_FRAGMENTS_N],
                                              const kiln_left_stage &, const kiln_right_stage &,
                                              kiln_packs &)
    {
        kiln_interleave(COUNT * KILN_MMA_CALLS);
    }
};

template <bool LEFT, bool RIGHT, unsigned PHASE, unsigned PHASES, unsigned ROWS>
KILN_DEVICE void kiln_multiply_and_make(const kiln_arguments &arguments,
                                        const kiln_fragment (&left)[ROWS],
                                        const kiln_fragment (&right)[KILN_FRAGMENTS_N],
                                        kiln_mma_sums (&sums)[ROWS][KILN_FRAGMENTS_N],
                                        const kiln_left_stage &left_stage,
                                        const kiln_right_stage &right_stage, kiln_packs &packs)
{
    if constexpr (LEFT || RIGHT)
        kiln_products<LEFT, RIGHT, PHASE, PHASES, 0, ROWS * KILN_FRAGMENTS_N>::
            multiply_and_make(arguments, left, right, sums, left_stage, right_stage, packs);
    else
        kiln_multiply_fragments(left, right, sums);
    (void)arguments, (void)left_stage, (void)right_stage, (void)packs;
}

#endif
