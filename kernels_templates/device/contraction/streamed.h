/*
 * The pipeline for an operand with few rows. Each element of the other operand is wanted by a single wave, so LDS has nothing to
 * share: each lane loads its part of the fragments itself, several steps ahead. KILN_WAVES_K waves take turns along k, and the ending
 * adds up their sums, in order.
 *
 * kiln_multiply(arguments, task, wave, shared, sums) sets a wave's sums. From the prelude: both operands (kiln_<side>_source, _start,
 * _advance, _inputs, _load, _pack) and a core of device/mma/ with lane fragments.
 */
#ifndef KILN_DEVICE_CONTRACTION_STREAMED_H
#define KILN_DEVICE_CONTRACTION_STREAMED_H

#include "device/contraction/tile.h"

/* Rows that are loaded at once belong to as many fragments: neighbouring rows of a fragment are so many apart. */
#define KILN_LEFT_SPREAD  KILN_LEFT_RUN
#define KILN_RIGHT_SPREAD KILN_RIGHT_RUN

#define KILN_RING_PACKS 0

/* All waves multiply. */
#define kiln_has_sums(wave) true

/* A lane has KILN_LANE_RUN neighbouring packs of a step, of either operand. */
#define KILN_LANE_RUN KILN_LEFT_LANE_RUN
#define KILN_STEP_K  (KILN_LANE_GROUPS * KILN_LANE_RUN * KILN_PACK_ELEMENTS)
#define KILN_SLOTS   (KILN_TILE_K / KILN_STEP_K) /* steps that are loaded ahead */
/* Of the right operand of each product: of two, a wave has all columns of the tile. */
#define KILN_FRAGMENTS_COLUMNS (KILN_FRAGMENTS_N / KILN_PRODUCTS)

/* What a lane has loaded for one step along k. */
struct kiln_slot {
    kiln_left_inputs left[KILN_FRAGMENTS_M / KILN_LEFT_RUN][KILN_LANE_PACKS];
    kiln_right_inputs right[KILN_FRAGMENTS_COLUMNS / KILN_RIGHT_RUN][KILN_LANE_PACKS];
};

/* Where a wave's tile is: both operands, at the k that its next tile starts with. */
struct kiln_stream {
    kiln_left_source left;
    kiln_right_source right;
    unsigned wave_row, wave_column;
    unsigned last_left, last_right;
};

KILN_DEVICE void kiln_advance(const kiln_arguments &arguments, kiln_stream &stream, unsigned k)
{
    kiln_left_advance(arguments, k, stream.left);
    kiln_right_advance(arguments, k, stream.right);
}

/* Where the packs of a lane begin. */
KILN_DEVICE unsigned kiln_k_of_lane(unsigned step, unsigned i)
{
    (void)i; /* with some instructions it does not matter */
    return (step * KILN_LANE_GROUPS + kiln_lane_pack(i)) * KILN_LANE_RUN * KILN_PACK_ELEMENTS;
}

KILN_DEVICE void kiln_fetch_slot(const kiln_arguments &arguments, const kiln_stream &stream,
                                 unsigned step, unsigned rest, kiln_slot &slot)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_LANE_PACKS; i++) {
        const unsigned k = kiln_k_of_lane(step, i);
        KILN_UNROLL
        for (unsigned u = 0; u < KILN_FRAGMENTS_M / KILN_LEFT_RUN; u++) {
            const unsigned row =
                stream.wave_row + (u * KILN_MMA_M + kiln_lane_row_of_left(i)) * KILN_LEFT_RUN;
            kiln_left_load(arguments, stream.left, row < stream.last_left ? row : stream.last_left,
                           k, rest, slot.left[u][i]);
        }
        KILN_UNROLL
        for (unsigned u = 0; u < KILN_FRAGMENTS_COLUMNS / KILN_RIGHT_RUN; u++) {
            const unsigned row =
                stream.wave_column + (u * KILN_MMA_N + kiln_lane_row_of_right(i)) * KILN_RIGHT_RUN;
            kiln_right_load(arguments, stream.right,
                            row < stream.last_right ? row : stream.last_right, k, rest,
                            slot.right[u][i]);
        }
    }
}

KILN_DEVICE void kiln_multiply_slot(const kiln_arguments &arguments, const kiln_slot &slot,
                                    unsigned step, unsigned rest,
                                    kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    KILN_UNROLL
    for (unsigned first = 0; first < KILN_LANE_RUN * KILN_PACK_ELEMENTS;
         first += KILN_PACK_ELEMENTS) {
        kiln_lane_fragment left[KILN_FRAGMENTS_M], right[KILN_FRAGMENTS_N];
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_LANE_PACKS; i++) {
            const unsigned k = kiln_k_of_lane(step, i) + first;
            KILN_UNROLL
            for (unsigned f = 0; f < KILN_FRAGMENTS_M; f++)
                kiln_set_pack(left[f], i,
                              kiln_left_pack_from(arguments, slot.left[f / KILN_LEFT_RUN][i],
                                                  first, 0, f % KILN_LEFT_RUN, k, rest));
            KILN_UNROLL
            for (unsigned f = 0; f < KILN_FRAGMENTS_N; f++)
                kiln_set_pack(right[f], i,
                              kiln_right_pack_from(
                                  arguments,
                                  slot.right[f % KILN_FRAGMENTS_COLUMNS / KILN_RIGHT_RUN][i],
                                  first, f / KILN_FRAGMENTS_COLUMNS, f % KILN_RIGHT_RUN, k, rest));
        }
        KILN_UNROLL
        for (unsigned f = 0; f < KILN_FRAGMENTS_M; f++)
            KILN_UNROLL
        for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
            kiln_multiply_add(sums[f][j], left[f], right[j]);
    }
}

/*
 * Tiles of k go to the waves in turn. A slot is loaded again as soon as it is used, so that there are
 * always almost KILN_SLOTS steps on their way. The end of k, less than a tile, goes to the waves
 * step by step.
 */
KILN_DEVICE void kiln_stream_k(const kiln_arguments &arguments, kiln_stream &stream, unsigned size,
                               unsigned wave_k,
                               kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    const unsigned tiles = size / KILN_TILE_K;
    kiln_stream end = stream;
    kiln_advance(arguments, end, tiles * KILN_TILE_K);
    if (wave_k < tiles) {
        kiln_slot slots[KILN_SLOTS];
        kiln_advance(arguments, stream, wave_k * KILN_TILE_K);
        KILN_UNROLL
        for (unsigned s = 0; s < KILN_SLOTS; s++)
            kiln_fetch_slot(arguments, stream, s, KILN_WHOLE_K, slots[s]);
        KILN_NO_UNROLL
        for (unsigned tile = wave_k + KILN_WAVES_K; tile < tiles; tile += KILN_WAVES_K) {
            kiln_advance(arguments, stream, KILN_WAVES_K * KILN_TILE_K);
            KILN_UNROLL
            for (unsigned s = 0; s < KILN_SLOTS; s++) {
                kiln_multiply_slot(arguments, slots[s], s, KILN_WHOLE_K, sums);
                kiln_schedule_fence();
                kiln_fetch_slot(arguments, stream, s, KILN_WHOLE_K, slots[s]);
                kiln_schedule_fence();
            }
        }
        KILN_UNROLL
        for (unsigned s = 0; s < KILN_SLOTS; s++)
            kiln_multiply_slot(arguments, slots[s], s, KILN_WHOLE_K, sums);
    }
    const unsigned rest = size - tiles * KILN_TILE_K;
    KILN_NO_UNROLL
    for (unsigned step = wave_k; step * KILN_STEP_K < rest; step += KILN_WAVES_K) {
        kiln_slot slot;
        kiln_fetch_slot(arguments, end, step, rest, slot);
        kiln_multiply_slot(arguments, slot, step, rest, sums);
    }
}

KILN_DEVICE void kiln_multiply(const kiln_arguments &arguments, const kiln_task &task,
                               const kiln_wave &wave, kiln_pack *,
                               kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    kiln_stream stream;
    kiln_clear_sums(sums);
    kiln_left_start(arguments, task.batch, task.place.row, stream.left);
    kiln_right_start(arguments, task.batch, task.place.column, stream.right);
    stream.wave_row = wave.row;
    stream.wave_column = wave.column;
    stream.last_left = task.last_left;
    stream.last_right = task.last_right;
    kiln_advance(arguments, stream, task.range.first);
    kiln_stream_k(arguments, stream, task.range.size, wave.k, sums);
}

#endif
