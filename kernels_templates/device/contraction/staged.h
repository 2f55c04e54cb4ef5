/*
 * The plain pipeline: while a tile of k in LDS is multiplied, the next one is on its way from global memory, or the next two. KILN_BUFFERS
 * tiles are in LDS: with 2, one is written while the other is read; with 1, a kiln_tile_barrier (fragments.h) lies between.
 *
 * kiln_multiply(arguments, task, wave, shared, sums) sets a wave's sums. From the prelude: both operands (stage_ahead.h), a core of
 * device/mma/, KILN_BUFFERS, KILN_K_END, and one each of make_between.h, make_after.h and of core_ahead.h, core_in_steps.h.
 */
#ifndef KILN_DEVICE_CONTRACTION_STAGED_H
#define KILN_DEVICE_CONTRACTION_STAGED_H

#include "device/contraction/staged_tiles.h"

/* Tiles that are on their way. Where waves share the steps of a tile, it is multiplied in less time than memory takes. */
enum { KILN_TILES_AHEAD = KILN_WAVES_K > 1 ? 2 : 1 };

KILN_DEVICE void kiln_multiply(const kiln_arguments &arguments, const kiln_task &task,
                               const kiln_wave &wave, kiln_pack *shared,
                               kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    kiln_staging staging;
    kiln_clear_sums(sums);
    kiln_stage_first(arguments, task, staging, shared);
    const kiln_starts starts = kiln_locate_fragments(wave.row, wave.column);
    kiln_packs packs;
    kiln_left_stage left[KILN_TILES_AHEAD];
    kiln_right_stage right[KILN_TILES_AHEAD];
    unsigned offset = 0; /* of the tile that is multiplied */
    KILN_UNROLL
    for (unsigned ahead = 1; ahead < KILN_TILES_AHEAD; ahead++)
        kiln_fetch_ahead(arguments, staging, ahead - 1, left[ahead - 1], right[ahead - 1]);
    KILN_NO_UNROLL
    for (unsigned first = 0; first < staging.steps; first += KILN_TILES_AHEAD) {
        KILN_UNROLL
        for (unsigned n = 0; n < KILN_TILES_AHEAD; n++) {
            const unsigned before = KILN_TILES_AHEAD - 1;
            const unsigned step = first + n, last = (n + before) % KILN_TILES_AHEAD;
            if (n > 0 && step >= staging.steps)
                break;
            kiln_fetch_ahead(arguments, staging, step + before, left[last], right[last]);
            kiln_schedule_fence();
            kiln_core<KILN_MAKES_LEFT, KILN_MAKES_RIGHT, KILN_IS_COMPUTED>(
                arguments, shared + offset, starts, wave.k, left[n], right[n], packs, sums);
            kiln_schedule_fence();
            if (KILN_BUFFERS == 1)
                kiln_tile_barrier();
            else
                offset = KILN_TILE_PACKS - offset;
            kiln_put_next(arguments, left[n], right[n], packs,
                          kiln_fetches_next(step, staging.steps), shared + offset);
            kiln_tile_barrier();
        }
    }
    if (KILN_WAVES_ARE_APART)
        kiln_barrier();
}

#endif
