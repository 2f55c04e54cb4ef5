/*
 * Both operands' tiles in LDS, staged by all work-items or by each wave for itself, and a wave's fragments of them.
 */
#ifndef KILN_DEVICE_CONTRACTION_FRAGMENTS_H
#define KILN_DEVICE_CONTRACTION_FRAGMENTS_H

#include "device/contraction/tile.h"

/*
 * Waves that share nothing but k stage what they multiply: a slice of each row. They do not wait for each other until all of k is
 * multiplied.
 */
#define KILN_WAVES_ARE_APART                                                                       \
    (KILN_WAVES_M * KILN_WAVES_N == 1 && KILN_WAVES_K > 1 && KILN_LEFT_IS_ALONG_K &&               \
     KILN_RIGHT_IS_ALONG_K && KILN_TABLES_PACKS == 0)
#if KILN_WAVES_ARE_APART
#define KILN_STAGE_ITEM       (kiln_work_item() % KILN_WAVE_SIZE)
#define KILN_STAGE_ITEMS      KILN_WAVE_SIZE
#define KILN_STAGE_PACKS      (KILN_ROW_PACKS / KILN_WAVES_K)
#define KILN_STAGE_FIRST_PACK (kiln_work_item() / KILN_WAVE_SIZE * KILN_STAGE_PACKS)
#define kiln_tile_barrier()   kiln_wave_fence()
#else
#define KILN_STAGE_ITEM       kiln_work_item()
#define KILN_STAGE_ITEMS      KILN_BLOCK
#define KILN_STAGE_PACKS      KILN_ROW_PACKS
#define KILN_STAGE_FIRST_PACK 0
#define kiln_tile_barrier()   kiln_barrier()
#endif

#include "device/contraction/stage_ahead.h"

/* Neighbouring rows of a fragment are neighbours in the tile. */
#define KILN_LEFT_SPREAD  1
#define KILN_RIGHT_SPREAD 1

#define KILN_RING_PACKS 0

/* All waves multiply. */
#define kiln_has_sums(wave) true

/* Where a wave's fragments of a tile start. */
enum {
    KILN_LEFT_STARTS = KILN_ARE_ROWS_APART(KILN_WAVE_M) && !KILN_LEFT_IS_TRANSPOSED ? 1 : KILN_FRAGMENTS_M,
    KILN_RIGHT_STARTS = KILN_ARE_ROWS_APART(KILN_WAVE_N) && !KILN_RIGHT_IS_TRANSPOSED ? 1 : KILN_FRAGMENTS_N
};
struct kiln_starts {
    unsigned left[KILN_LEFT_STARTS];
    unsigned right[KILN_RIGHT_STARTS];
};

KILN_DEVICE kiln_starts kiln_locate_fragments(unsigned wave_row, unsigned wave_column)
{
    kiln_starts starts;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_LEFT_STARTS; i++)
        starts.left[i] = KILN_LEFT_IS_TRANSPOSED
                             ? kiln_start_transposed(wave_row + i * KILN_MMA_M, KILN_TILE_M)
                             : kiln_start_left(wave_row + i * KILN_MMA_M, KILN_STAGED_SHAPE);
    KILN_UNROLL
    for (unsigned j = 0; j < KILN_RIGHT_STARTS; j++)
        starts.right[j] = KILN_RIGHT_IS_TRANSPOSED
                              ? kiln_start_transposed(wave_column + j * KILN_MMA_N, KILN_TILE_N)
                              : kiln_start_right(wave_column + j * KILN_MMA_N, KILN_STAGED_SHAPE);
    return starts;
}

/* Fragments of one step along k: of ROWS left ones those from number `first` on, and all right ones. */
template <unsigned ROWS>
KILN_DEVICE void kiln_load_left_fragments(const kiln_pack *tile, const kiln_starts &starts,
                                          unsigned step, unsigned first, kiln_fragment (&left)[ROWS])
{
    KILN_UNROLL
    for (unsigned i = 0; i < ROWS; i++) {
        if (KILN_LEFT_IS_TRANSPOSED)
            kiln_load_transposed(left[i], tile, starts.left[first + i], step, KILN_TILE_M);
        else if (KILN_ARE_ROWS_APART(KILN_WAVE_M))
            kiln_load_left_from(left[i], tile, starts.left[0], (first + i) * KILN_MMA_M, step, KILN_STAGED_SHAPE);
        else
            kiln_load_left_from(left[i], tile, starts.left[first + i], 0, step, KILN_STAGED_SHAPE);
    }
}

KILN_DEVICE void kiln_load_right_fragments(const kiln_pack *tile, const kiln_starts &starts,
                                           unsigned step, kiln_fragment (&right)[KILN_FRAGMENTS_N])
{
    const kiln_pack *right_tile = tile + KILN_TILE_M * KILN_ROW_PACKS;
    KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++) {
        if (KILN_RIGHT_IS_TRANSPOSED)
            kiln_load_transposed(right[j], right_tile, starts.right[j], step, KILN_TILE_N);
        else if (KILN_ARE_ROWS_APART(KILN_WAVE_N))
            kiln_load_right_from(right[j], right_tile, starts.right[0], j * KILN_MMA_N, step, KILN_STAGED_SHAPE);
        else
            kiln_load_right_from(right[j], right_tile, starts.right[j], 0, step, KILN_STAGED_SHAPE);
    }
}

KILN_DEVICE void kiln_load_fragments(const kiln_pack *tile, const kiln_starts &starts,
                                     unsigned step, kiln_fragment (&left)[KILN_FRAGMENTS_M],
                                     kiln_fragment (&right)[KILN_FRAGMENTS_N])
{
    kiln_load_left_fragments(tile, starts, step, 0, left);
    kiln_load_right_fragments(tile, starts, step, right);
}

#endif
