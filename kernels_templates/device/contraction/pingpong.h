/*
 * The pipeline where two halves of a work-group's waves take turns. On each SIMD one of two waves multiplies while the other uses
 * memory.
 *
 * A tile of k has eight phases, and each ends with a barrier. A wave uses memory in the even phases and multiplies in the odd ones.
 * The upper half of the waves is one phase late. LDS holds one tile:
 *   - The last reads of it are complete at the end of phase 4. The lower half writes the next tile in its phase 6, when the upper
 *     half is in phase 5; the upper half writes while the lower one is in phase 7.
 *   - Writes are complete at the end of phase 6. The lower half reads first, in its phase 0, when the upper half is in phase 7
 *     already.
 *
 * A wave multiplies a tile in quarters: four steps of k, or half of its rows in each of two long steps.
 *
 * kiln_multiply(arguments, task, wave, shared, sums) sets a wave's sums. From the prelude: both operands (stage_ahead.h), a core of
 * device/mma/ with 4 or 2 steps in a tile, KILN_K_END, and one of make_between.h, make_after.h.
 */
#ifndef KILN_DEVICE_CONTRACTION_PINGPONG_H
#define KILN_DEVICE_CONTRACTION_PINGPONG_H

#include "device/contraction/staged_tiles.h"

enum { KILN_QUARTER_PARTS = 4 / KILN_STEPS, KILN_QUARTER_ROWS = KILN_FRAGMENTS_M / KILN_QUARTER_PARTS };
typedef kiln_mma_sums kiln_quarter_sums[KILN_QUARTER_ROWS][KILN_FRAGMENTS_N];

/* Quarters of one step share the right fragments, which the first one loads. */
KILN_DEVICE void kiln_load_quarter(const kiln_pack *tile, const kiln_starts &starts, unsigned quarter,
                                   kiln_fragment (&left)[KILN_QUARTER_ROWS],
                                   kiln_fragment (&right)[KILN_FRAGMENTS_N])
{
    const unsigned step = quarter / KILN_QUARTER_PARTS, part = quarter % KILN_QUARTER_PARTS;
    kiln_load_left_fragments(tile, starts, step, part * KILN_QUARTER_ROWS, left);
    if (part == 0)
        kiln_load_right_fragments(tile, starts, step, right);
}

KILN_DEVICE kiln_quarter_sums &kiln_sums_of_quarter(
    kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N], unsigned quarter)
{
    return *(kiln_quarter_sums *)&sums[quarter % KILN_QUARTER_PARTS * KILN_QUARTER_ROWS];
}

KILN_DEVICE void kiln_multiply(const kiln_arguments &arguments, const kiln_task &task,
                               const kiln_wave &wave, kiln_pack *shared,
                               kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    /* Phase 5 makes the packs, which gives the loads time to arrive. If packs are computed, phase 3 makes some of them. If LEFT,
     * phase 1 makes some as well. The left operand is then fetched before the loop. */
    enum {
        LEFT = KILN_MAKES_LEFT,
        RIGHT = KILN_MAKES_RIGHT,
        PHASES = !KILN_IS_COMPUTED ? 1 : LEFT ? 3 : 2
    };
    kiln_staging staging;
    kiln_clear_sums(sums);
    kiln_stage_first(arguments, task, staging, shared);
    const kiln_starts starts = kiln_locate_fragments(wave.row, wave.column);
    kiln_packs packs;
    const bool is_behind = wave.of_tile >= KILN_WAVES_M * KILN_WAVES_N / 2;
    if (LEFT)
        kiln_fetch_left(arguments, staging, KILN_WHOLE_K);
    if (is_behind)
        kiln_phase_end();
    KILN_NO_UNROLL
    for (unsigned step = 0; step < staging.steps; step++) {
        const bool is_next = kiln_fetches_next(step, staging.steps);
        kiln_fragment left_now[KILN_QUARTER_ROWS], right_now[KILN_FRAGMENTS_N];
        kiln_fragment left_last[KILN_QUARTER_ROWS], right_other[KILN_FRAGMENTS_N];
        kiln_fragment(&right_last)[KILN_FRAGMENTS_N] =
            KILN_QUARTER_PARTS == 1 ? right_other : right_now;

        kiln_load_quarter(shared, starts, 0, left_now, right_now);
        if (is_next && !LEFT)
            kiln_fetch_left(arguments, staging, KILN_WHOLE_K);
        if (is_next && RIGHT)
            kiln_fetch_right(arguments, staging, KILN_WHOLE_K);
        kiln_phase_end();
        kiln_await_local();
        if (PHASES == 3)
            kiln_multiply_and_make<LEFT, RIGHT, 0, PHASES>(arguments, left_now, right_now,
                                                           kiln_sums_of_quarter(sums, 0),
                                                           staging.left, staging.right, packs);
        else
            kiln_multiply_fragments(left_now, right_now, kiln_sums_of_quarter(sums, 0));
        kiln_phase_end();

        kiln_load_quarter(shared, starts, 1, left_now, right_now);
        if (is_next && !RIGHT)
            kiln_fetch_right(arguments, staging, KILN_WHOLE_K);
        kiln_advance_both(arguments, staging, step);
        kiln_phase_end();
        kiln_await_local();
        if (PHASES >= 2)
            kiln_multiply_and_make<LEFT, RIGHT, PHASES >= 2 ? PHASES - 2 : 0, PHASES>(
                arguments, left_now, right_now, kiln_sums_of_quarter(sums, 1), staging.left,
                staging.right, packs);
        else
            kiln_multiply_fragments(left_now, right_now, kiln_sums_of_quarter(sums, 1));
        kiln_phase_end();

        kiln_load_quarter(shared, starts, 2, left_now, right_now);
        kiln_load_quarter(shared, starts, 3, left_last, right_last);
        kiln_await_local();
        kiln_phase_end();
        kiln_multiply_and_make<LEFT, RIGHT, PHASES - 1, PHASES>(
            arguments, left_now, right_now, kiln_sums_of_quarter(sums, 2), staging.left,
            staging.right, packs);
        kiln_phase_end();

        kiln_put_next(arguments, staging.left, staging.right, packs, is_next, shared);
        if (LEFT)
            kiln_fetch_left(arguments, staging, KILN_WHOLE_K);
        kiln_await_local();
        kiln_phase_end();
        kiln_multiply_fragments(left_last, right_last, kiln_sums_of_quarter(sums, 3));
        kiln_phase_end();
    }
    if (!is_behind)
        kiln_phase_end();
    kiln_barrier();
}

#endif
