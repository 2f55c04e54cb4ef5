/*
 * The plain pipeline: while a tile of k in LDS is multiplied, the next one is on its way from global memory. KILN_BUFFERS tiles are
 * in LDS: with 2, one is written while the other is read; with 1, a barrier lies between.
 *
 * kiln_multiply(arguments, task, wave, shared, sums) sets a wave's sums. From the prelude: both operands (stage_ahead.h), a core of
 * device/mma/, KILN_BUFFERS, KILN_K_END, and one each of make_between.h, make_after.h and of core_ahead.h, core_in_steps.h.
 */
#ifndef KILN_DEVICE_CONTRACTION_STAGED_H
#define KILN_DEVICE_CONTRACTION_STAGED_H

#include "device/contraction/staged_tiles.h"

KILN_DEVICE void kiln_multiply(const kiln_arguments &arguments, const kiln_task &task,
                               const kiln_wave &wave, kiln_pack *shared,
                               kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    kiln_staging staging;
    kiln_clear_sums(sums);
    kiln_stage_first(arguments, task, staging, shared);
    const kiln_starts starts = kiln_locate_fragments(wave.row, wave.column);
    kiln_packs packs;
    unsigned offset = 0; /* of the tile that is multiplied */
    KILN_NO_UNROLL
    for (unsigned step = 0; step < staging.steps; step++) {
        const bool is_next = kiln_fetches_next(step, staging.steps);
        if (is_next) {
            kiln_fetch_left(arguments, staging, KILN_WHOLE_K);
            kiln_fetch_right(arguments, staging, KILN_WHOLE_K);
            kiln_advance_both(arguments, staging, step);
        }
        kiln_schedule_fence();
        kiln_core<KILN_MAKES_LEFT, KILN_MAKES_RIGHT, KILN_IS_COMPUTED>(
            arguments, shared + offset, starts, wave.k, staging.left, staging.right, packs, sums);
        kiln_schedule_fence();
        if (KILN_BUFFERS == 1)
            kiln_barrier();
        else
            offset = KILN_TILE_PACKS - offset;
        kiln_put_next(arguments, staging.left, staging.right, packs, is_next, shared + offset);
        kiln_barrier();
    }
}

#endif
