/*
 * From LDS into matrix instructions.
 */
#ifndef KILN_DEVICE_CONTRACTION_STAGED_H
#define KILN_DEVICE_CONTRACTION_STAGED_H

#define KILN_STAGED_SHAPE         KILN_TILE_SHAPE(KILN_ROW_PACKS, 7)
#define KILN_ARE_ROWS_APART(rows) (KILN_IS_APART(rows) && KILN_IS_APART(KILN_ROW_PACKS))
/* Packs that a work-item makes of a tile of k, where all of them make the same number. */
#define KILN_LEFT_PACKS  (KILN_LEFT_TURNS * KILN_LEFT_RUN)
#define KILN_RIGHT_PACKS (KILN_RIGHT_TURNS * KILN_PRODUCTS * KILN_RIGHT_RUN)

#include "device/contraction/stage_ahead.h"

/* Where a wave's fragments of a tile start. */
struct kiln_starts {
    unsigned left[KILN_ARE_ROWS_APART(KILN_WAVE_M) ? 1 : KILN_FRAGMENTS_M];
    unsigned right[KILN_ARE_ROWS_APART(KILN_WAVE_N) ? 1 : KILN_FRAGMENTS_N];
};

KILN_DEVICE kiln_starts kiln_locate_fragments(unsigned wave_row, unsigned wave_column)
{
    enum { LEFT = KILN_ARE_ROWS_APART(KILN_WAVE_M), RIGHT = KILN_ARE_ROWS_APART(KILN_WAVE_N) };
    kiln_starts starts;
    KILN_UNROLL
    for (unsigned i = 0; i < (LEFT ? 1 : KILN_FRAGMENTS_M); i++)
        starts.left[i] = kiln_start_left(wave_row + i * KILN_MMA_M, KILN_STAGED_SHAPE);
    KILN_UNROLL
    for (unsigned j = 0; j < (RIGHT ? 1 : KILN_FRAGMENTS_N); j++)
        starts.right[j] = kiln_start_right(wave_column + j * KILN_MMA_N, KILN_STAGED_SHAPE);
    return starts;
}

KILN_DEVICE void kiln_load_fragments(const kiln_pack *tile, const kiln_starts &starts,
                                     unsigned step, kiln_fragment (&left)[KILN_FRAGMENTS_M],
                                     kiln_fragment (&right)[KILN_FRAGMENTS_N])
{
    const kiln_pack *right_tile = tile + KILN_TILE_M * KILN_ROW_PACKS;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++) {
        if (KILN_ARE_ROWS_APART(KILN_WAVE_M))
            kiln_load_left_from(left[i], tile, starts.left[0], i * KILN_MMA_M, step, KILN_STAGED_SHAPE);
        else
            kiln_load_left_from(left[i], tile, starts.left[i], 0, step, KILN_STAGED_SHAPE);
    }
    KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++) {
        if (KILN_ARE_ROWS_APART(KILN_WAVE_N))
            kiln_load_right_from(right[j], right_tile, starts.right[0], j * KILN_MMA_N, step, KILN_STAGED_SHAPE);
        else
            kiln_load_right_from(right[j], right_tile, starts.right[j], 0, step, KILN_STAGED_SHAPE);
    }
}

#include "device/contraction/overlap.h"

#if !KILN_IS_PINGPONG
/* The packs of the next tile are made in the last steps: those of the left operand, the right one, both or none. */
template <bool LEFT, bool RIGHT, bool IS_COMPUTED>
KILN_DEVICE void kiln_core(const kiln_arguments &arguments, const kiln_pack *tile,
                           const kiln_starts &starts, unsigned wave_k,
                           const kiln_left_stage &left_stage, const kiln_right_stage &right_stage,
                           kiln_packs &packs,
                           kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
#if KILN_MMA_READS_AHEAD
    enum { TURNS = KILN_STEPS / KILN_WAVES_K, PHASES = IS_COMPUTED && TURNS >= 4 ? 2 : 1 };
    kiln_fragment left[2][KILN_FRAGMENTS_M], right[2][KILN_FRAGMENTS_N];
    kiln_load_fragments(tile, starts, wave_k, left[0], right[0]);
    KILN_UNROLL
    for (unsigned turn = 0; turn < TURNS; turn++) {
        if (turn + 1 < TURNS)
            kiln_load_fragments(tile, starts, (turn + 1) * KILN_WAVES_K + wave_k,
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
#else
    (void)arguments, (void)left_stage, (void)right_stage, (void)packs;
    KILN_MMA_STEPS
    for (unsigned step = 0; step < KILN_STEPS; step += KILN_WAVES_K) {
        kiln_fragment left[KILN_FRAGMENTS_M], right[KILN_FRAGMENTS_N];
        kiln_load_fragments(tile, starts, step + wave_k, left, right);
        kiln_multiply_fragments(left, right, sums);
    }
#endif
}
#endif

#endif
