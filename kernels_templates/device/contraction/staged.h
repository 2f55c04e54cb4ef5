/*
 * From LDS into matrix instructions.
 */
#ifndef KILN_DEVICE_CONTRACTION_STAGED_H
#define KILN_DEVICE_CONTRACTION_STAGED_H

KILN_DEVICE void kiln_load_fragments(const kiln_pack *tile, unsigned wave_row, unsigned wave_column,
                                     unsigned step, kiln_fragment (&left)[KILN_FRAGMENTS_M],
                                     kiln_fragment (&right)[KILN_FRAGMENTS_N])
{
    const kiln_pack *right_tile = tile + KILN_TILE_M * KILN_ROW_PACKS;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        kiln_load_left(left[i], tile, wave_row + i * KILN_MMA_M, step, KILN_TILE_SHAPE(KILN_ROW_PACKS, 7));
    KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
        kiln_load_right(right[j], right_tile, wave_column + j * KILN_MMA_N, step, KILN_TILE_SHAPE(KILN_ROW_PACKS, 7));
}

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

#if !KILN_IS_PINGPONG
KILN_DEVICE void kiln_core(const kiln_pack *tile, unsigned wave_row, unsigned wave_column,
                           unsigned wave_k,
                           kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
#if KILN_MMA_READS_AHEAD
    kiln_fragment left[2][KILN_FRAGMENTS_M], right[2][KILN_FRAGMENTS_N];
    kiln_load_fragments(tile, wave_row, wave_column, wave_k, left[0], right[0]);
    KILN_UNROLL
    for (unsigned turn = 0; turn < KILN_STEPS / KILN_WAVES_K; turn++) {
        if (turn + 1 < KILN_STEPS / KILN_WAVES_K)
            kiln_load_fragments(tile, wave_row, wave_column, (turn + 1) * KILN_WAVES_K + wave_k,
                                left[(turn + 1) % 2], right[(turn + 1) % 2]);
        kiln_schedule_fence();
        kiln_multiply_fragments(left[turn % 2], right[turn % 2], sums);
        kiln_schedule_fence();
    }
#else
    KILN_MMA_STEPS
    for (unsigned step = 0; step < KILN_STEPS; step += KILN_WAVES_K) {
        kiln_fragment left[KILN_FRAGMENTS_M], right[KILN_FRAGMENTS_N];
        kiln_load_fragments(tile, wave_row, wave_column, step + wave_k, left, right);
        kiln_multiply_fragments(left, right, sums);
    }
#endif
}
#endif

#endif
