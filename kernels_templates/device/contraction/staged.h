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

#ifndef KILN_MMA_OVERLAPS
#define KILN_MMA_OVERLAPS 0
#define KILN_MMA_CALLS    1
#endif

/* Packs of the next tile, which are made while this one is multiplied. */
struct kiln_packs {
    kiln_pack left[KILN_LEFT_PACKS];
    kiln_pack right[KILN_RIGHT_PACKS];
};

KILN_DEVICE void kiln_multiply_fragments(const kiln_fragment (&left)[KILN_FRAGMENTS_M],
                                         const kiln_fragment (&right)[KILN_FRAGMENTS_N],
                                         kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
        kiln_multiply_add(sums[i][j], left[i], right[j]);
}

#if KILN_LEFT_WORK > 0 || KILN_RIGHT_WORK > 0
/*
 * The same for products N to COUNT, and packs are made between them. There are PHASES such groups of products, of which this one is
 * number PHASE; where both operands are made, the left one is in the first half of all products, the right one in the second one.
 */
template <bool LEFT, bool RIGHT, unsigned PHASE, unsigned PHASES, unsigned N, unsigned COUNT>
struct kiln_products {
    KILN_DEVICE void multiply_and_make(
        const kiln_arguments &arguments, const kiln_fragment (&left)[KILN_FRAGMENTS_M],
        const kiln_fragment (&right)[KILN_FRAGMENTS_N],
        kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N],
        const kiln_left_stage &left_stage, const kiln_right_stage &right_stage, kiln_packs &packs)
    {
        enum {
            I = N / KILN_FRAGMENTS_N,
            J = N % KILN_FRAGMENTS_N,
            SHARE = PHASE * COUNT + N,
            ALL = PHASES * COUNT,
            OF_LEFT = !LEFT ? 0 : RIGHT ? ALL / 2 : ALL,
            IS_LEFT = SHARE < OF_LEFT
        };
        kiln_multiply_add(sums[I][J], left[I], right[J]);
        if (IS_LEFT)
            kiln_left_make<IS_LEFT ? SHARE : 0, IS_LEFT ? OF_LEFT : 1>(arguments, left_stage,
                                                                       packs.left);
        else if (RIGHT)
            kiln_right_make<IS_LEFT ? 0 : SHARE - OF_LEFT, IS_LEFT ? 1 : ALL - OF_LEFT>(
                arguments, right_stage, packs.right);
        kiln_products<LEFT, RIGHT, PHASE, PHASES, N + 1, COUNT>::multiply_and_make(
            arguments, left, right, sums, left_stage, right_stage, packs);
    }
};

template <bool LEFT, bool RIGHT, unsigned PHASE, unsigned PHASES, unsigned COUNT>
struct kiln_products<LEFT, RIGHT, PHASE, PHASES, COUNT, COUNT> {
    KILN_DEVICE void multiply_and_make(const kiln_arguments &,
                                              const kiln_fragment (&)[KILN_FRAGMENTS_M],
                                              const kiln_fragment (&)[KILN_FRAGMENTS_N],
                                              kiln_mma_sums (&)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N],
                                              const kiln_left_stage &, const kiln_right_stage &,
                                              kiln_packs &)
    {
        kiln_interleave(COUNT * KILN_MMA_CALLS);
    }
};
#endif

template <bool LEFT, bool RIGHT, unsigned PHASE, unsigned PHASES>
KILN_DEVICE void kiln_multiply_and_make(const kiln_arguments &arguments,
                                        const kiln_fragment (&left)[KILN_FRAGMENTS_M],
                                        const kiln_fragment (&right)[KILN_FRAGMENTS_N],
                                        kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N],
                                        const kiln_left_stage &left_stage,
                                        const kiln_right_stage &right_stage, kiln_packs &packs)
{
#if KILN_LEFT_WORK > 0 || KILN_RIGHT_WORK > 0
    if (LEFT || RIGHT)
        kiln_products<LEFT, RIGHT, PHASE, PHASES, 0, KILN_FRAGMENTS_M * KILN_FRAGMENTS_N>::
            multiply_and_make(arguments, left, right, sums, left_stage, right_stage, packs);
    else
#endif
        kiln_multiply_fragments(left, right, sums);
    (void)arguments, (void)left_stage, (void)right_stage, (void)packs;
}

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
