/*
 * Packs of the next tile are made when they are written to LDS, after the products of this one. (The other choice: make_between.h.)
 */
#ifndef KILN_DEVICE_CONTRACTION_MAKE_AFTER_H
#define KILN_DEVICE_CONTRACTION_MAKE_AFTER_H

#include "device/contraction/fragments.h"
#include "device/contraction/multiply.h"

enum { KILN_MAKES_LEFT = 0, KILN_MAKES_RIGHT = 0, KILN_IS_COMPUTED = 0 };

struct kiln_packs {};

template <bool LEFT, bool RIGHT, unsigned PHASE, unsigned PHASES, unsigned ROWS>
KILN_DEVICE void kiln_multiply_and_make(const kiln_arguments &,
                                        const kiln_fragment (&left)[ROWS],
                                        const kiln_fragment (&right)[KILN_FRAGMENTS_N],
                                        kiln_mma_sums (&sums)[ROWS][KILN_FRAGMENTS_N],
                                        const kiln_left_stage &, const kiln_right_stage &,
                                        kiln_packs &)
{
    kiln_multiply_fragments(left, right, sums);
}

/* Writes the next tile to LDS, if there is one. */
KILN_DEVICE void kiln_put_next(const kiln_arguments &arguments, const kiln_left_stage &left,
                               const kiln_right_stage &right, const kiln_packs &, bool is_next,
                               kiln_pack *tile)
{
    if (!is_next)
        return;
    kiln_left_store_ahead(arguments, left, KILN_WHOLE_K, tile);
    kiln_right_store_ahead(arguments, right, KILN_WHOLE_K, tile + KILN_TILE_M * KILN_ROW_PACKS);
}

#endif
