/*
 * The core of a tile of k for MFMA. It reads the next step's fragments from LDS before it multiplies this step's, since there are
 * registers for both. (The other choice: core_in_steps.h.)
 */
#ifndef KILN_DEVICE_CONTRACTION_CORE_AHEAD_H
#define KILN_DEVICE_CONTRACTION_CORE_AHEAD_H

#include "device/contraction/fragments.h"

/* The last steps also make the packs of the next tile, for the left operand (LEFT), the right operand (RIGHT), both or none. */
template <bool LEFT, bool RIGHT, bool IS_COMPUTED>
KILN_DEVICE void kiln_core(const kiln_arguments &arguments, const kiln_pack *tile,
                           const kiln_starts &starts, unsigned wave_k,
                           const kiln_left_stage &left_stage, const kiln_right_stage &right_stage,
                           kiln_packs &packs,
                           kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    enum { TURNS = KILN_STEPS / KILN_WAVES_K, PHASES = IS_COMPUTED && TURNS >= 4 ? 2 : 1 };
    kiln_fragment left[2][KILN_FRAGMENTS_M], right[2][KILN_FRAGMENTS_N];
    kiln_load_fragments(tile, starts, wave_k * TURNS, left[0], right[0]);
    KILN_UNROLL
    for (unsigned turn = 0; turn < TURNS; turn++) {
        if (turn + 1 < TURNS)
            kiln_load_fragments(tile, starts, wave_k * TURNS + turn + 1,
                                left[(turn + 1) % 2], right[(turn + 1) % 2]);
        kiln_schedule_fence();
        if (turn + 1 == TURNS)
            kiln_multiply_and_make<LEFT, RIGHT, PHASES - 1, PHASES>(arguments, left[turn % 2],
                                                                    right[turn % 2], sums, left_stage,
                                                                    right_stage, packs);
        else if (PHASES == 2 && turn + 2 == TURNS)
            kiln_multiply_and_make<LEFT, RIGHT, 0, PHASES>(arguments, left[turn % 2],
                                                           right[turn % 2], sums, left_stage,
                                                           right_stage, packs);
        else
            kiln_multiply_fragments(left[turn % 2], right[turn % 2], sums);
        kiln_schedule_fence();
    }
}

#endif
