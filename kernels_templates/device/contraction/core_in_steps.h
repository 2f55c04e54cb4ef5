/*
 * The core of a tile of k: each step reads its fragments from LDS and multiplies them. (The other choice: core_ahead.h.)
 */
#ifndef KILN_DEVICE_CONTRACTION_CORE_IN_STEPS_H
#define KILN_DEVICE_CONTRACTION_CORE_IN_STEPS_H

#include "device/contraction/fragments.h"

template <bool LEFT, bool RIGHT, bool IS_COMPUTED>
KILN_DEVICE void kiln_core(const kiln_arguments &arguments, const kiln_pack *tile,
                           const kiln_starts &starts, unsigned wave_k,
                           const kiln_left_stage &left_stage, const kiln_right_stage &right_stage,
                           kiln_packs &packs,
                           kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    (void)arguments, (void)left_stage, (void)right_stage, (void)packs;
    KILN_MMA_STEPS
    for (unsigned turn = 0; turn < KILN_STEPS / KILN_WAVES_K; turn++) {
        kiln_fragment left[KILN_FRAGMENTS_M], right[KILN_FRAGMENTS_N];
        kiln_load_fragments(tile, starts, wave_k * (KILN_STEPS / KILN_WAVES_K) + turn, left, right);
        kiln_multiply_fragments(left, right, sums);
    }
}

#endif
