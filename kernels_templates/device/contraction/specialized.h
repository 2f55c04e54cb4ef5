/*
 * The pipeline of producers and consumers: the last KILN_PRODUCERS work-items stage tiles into a ring of KILN_BUFFERS in LDS, the
 * first KILN_CONSUMERS multiply them (device/mma/wgmma.h).
 *
 * kiln_multiply(arguments, task, wave, shared, sums) sets a consumer's sums. From the prelude: both operands (stage.h; the facts of operand_copy.h
 * too), KILN_<SIDE>_IS_COPIED, KILN_<SIDE>_IS_TRANSPOSED, KILN_STAGE_GROUPS (of producers, which take turns at tiles), KILN_K_END.
 */
#ifndef KILN_DEVICE_CONTRACTION_SPECIALIZED_H
#define KILN_DEVICE_CONTRACTION_SPECIALIZED_H

#include "device/contraction/tile.h"
#include "device/contraction/stage.h"
#include "device/contraction/operand_copy.h"

/*
 * KILN_<SIDE>_HAS_END_APART: true if the tile with the end of k has code of its own. Single-element loads need this: a branch per
 * pack made its loads wait for the loads of the pack before. Operands with windows use so many registers that two copies spill.
 */
KILN_OPERAND_COPY(left, LEFT)
KILN_OPERAND_COPY(right, RIGHT)
#if KILN_LEFT_IS_SPLIT
#define KILN_LEFT_HAS_END_APART false
#else
#define KILN_LEFT_HAS_END_APART (KILN_LEFT_IS_ALONG_K && KILN_LEFT_VECTOR == 1)
#endif
#if KILN_RIGHT_IS_SPLIT
#define KILN_RIGHT_HAS_END_APART false
#else
#define KILN_RIGHT_HAS_END_APART (KILN_RIGHT_IS_ALONG_K && KILN_RIGHT_VECTOR == 1)
#endif

#define KILN_STAGE_ITEM  ((kiln_work_item() - KILN_CONSUMERS) % KILN_STAGE_ITEMS)
#define KILN_STAGE_ITEMS (KILN_PRODUCERS / KILN_STAGE_GROUPS)

/* Neighbouring rows of a fragment are neighbours in the tile. */
#define KILN_LEFT_SPREAD  1
#define KILN_RIGHT_SPREAD 1

/* Barriers of the ring, after its tiles. */
#define KILN_RING_PACKS KILN_BUFFERS

KILN_DEVICE bool kiln_has_sums(const kiln_wave &wave)
{
    return wave.number < KILN_CONSUMERS / KILN_WAVE_SIZE;
}

KILN_STAGE(left, LEFT, KILN_TILE_M, KILN_TILE_SHAPE(KILN_ROW_PACKS, 7), 1, KILN_ROW_AS_IS)
KILN_STAGE(right, RIGHT, KILN_TILE_COLUMNS, KILN_TILE_SHAPE(KILN_ROW_PACKS, 7), KILN_PRODUCTS,
           KILN_ROW_AS_IS)

/*
 * An operand of which nothing is computed goes from global memory to LDS without passing registers, as it lies: its packs are
 * along k, or, where it is transposed, along its rows. Rows beyond the end are left as they are: they make rows of the result
 * that are not stored. There is no branch for them: with one, a tile with few rows took longer than a full one.
 */
#define KILN_STAGE_AT_ONCE(side, SIDE, rows, parts)                                                \
    KILN_DEVICE void kiln_##side##_copy_tile(const kiln_arguments &arguments,                      \
                                             const kiln_##side##_stage &stage, unsigned last,      \
                                             unsigned rest, kiln_pack *tile)                       \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (unsigned part = 0; part < parts; part++)                                              \
            KILN_UNROLL                                                                            \
        for (unsigned turn = 0; turn < rows * KILN_ROW_PACKS / KILN_STAGE_ITEMS; turn++) {         \
            const kiln_copied_pack pack = kiln_locate_copy(                                        \
                KILN_STAGE_ITEM + turn * KILN_STAGE_ITEMS, KILN_##SIDE##_IS_TRANSPOSED, rows);     \
            kiln_##side##_copy(arguments, stage.source, part, pack.row, pack.k, rest,              \
                               pack.row <= last,                                                   \
                               tile + part * rows * KILN_ROW_PACKS + pack.place);                  \
        }                                                                                          \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_stage_tile(const kiln_arguments &arguments,                     \
                                              kiln_##side##_stage &stage, unsigned last,           \
                                              unsigned rest, kiln_pack *tile)                      \
    {                                                                                              \
        if (KILN_##SIDE##_IS_COPIED) {                                                             \
            kiln_##side##_copy_tile(arguments, stage, last, rest, tile);                           \
        } else if (KILN_##SIDE##_HAS_END_APART && rest == KILN_WHOLE_K) {                            \
            kiln_##side##_fetch(arguments, stage, last, KILN_WHOLE_K);                             \
            kiln_##side##_store(arguments, stage, KILN_WHOLE_K, tile);                             \
        } else {                                                                                   \
            kiln_##side##_fetch(arguments, stage, last, rest);                                     \
            kiln_##side##_store(arguments, stage, rest, tile);                                     \
        }                                                                                          \
    }

KILN_STAGE_AT_ONCE(left, LEFT, KILN_TILE_M, 1)
KILN_STAGE_AT_ONCE(right, RIGHT, KILN_TILE_COLUMNS, KILN_PRODUCTS)

/*
 * Packed elements and blocks that are loaded in runs are on their way in registers, for several tiles: codes take few, and a tile
 * of them alone is too few bytes to hide their way behind. The other operand may be copied meanwhile. KILN_UNITS_AHEAD: units of
 * a producer that are on their way.
 */
#ifndef KILN_UNITS_AHEAD
#define KILN_UNITS_AHEAD 1
#endif
enum {
    KILN_LEFT_IS_AHEAD = kiln_left_lane_run > 1 && KILN_K_END == KILN_K_END_NONE,
    KILN_RIGHT_IS_AHEAD = kiln_right_lane_run > 1 && KILN_K_END == KILN_K_END_NONE,
    KILN_TURNS_AHEAD = (KILN_LEFT_IS_AHEAD ? KILN_LEFT_TURNS : 0) +
                       (KILN_RIGHT_IS_AHEAD ? KILN_RIGHT_TURNS : 0),
    KILN_IS_AHEAD = KILN_TURNS_AHEAD != 0,
    KILN_TILES_AHEAD = KILN_IS_AHEAD && KILN_TURNS_AHEAD < KILN_UNITS_AHEAD
                           ? KILN_UNITS_AHEAD / KILN_TURNS_AHEAD
                           : 1
};
static_assert(!KILN_IS_AHEAD || KILN_STAGE_GROUPS == 1, "all producers take every tile");

#define KILN_TILES_ON_THE_WAY(side, SIDE)                                                          \
    KILN_DEVICE void kiln_##side##_look_ahead(const kiln_arguments &arguments,                     \
                                              kiln_##side##_stage &stage, unsigned last,           \
                                              kiln_##side##_stage &ahead)                          \
    {                                                                                              \
        if (!KILN_##SIDE##_IS_AHEAD)                                                               \
            return;                                                                                \
        kiln_##side##_fetch(arguments, stage, last, KILN_WHOLE_K);                                 \
        ahead = stage;                                                                             \
        kiln_##side##_advance(arguments, KILN_TILE_K, stage.source);                               \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_put_tile(const kiln_arguments &arguments,                       \
                                            kiln_##side##_stage &stage,                            \
                                            const kiln_##side##_stage &ahead, unsigned last,       \
                                            kiln_pack *tile)                                       \
    {                                                                                              \
        if (KILN_##SIDE##_IS_AHEAD) {                                                              \
            kiln_##side##_store(arguments, ahead, KILN_WHOLE_K, tile);                             \
        } else {                                                                                   \
            kiln_##side##_stage_tile(arguments, stage, last, KILN_WHOLE_K, tile);                  \
            kiln_##side##_advance(arguments, KILN_TILE_K, stage.source);                           \
        }                                                                                          \
    }

KILN_TILES_ON_THE_WAY(left, LEFT)
KILN_TILES_ON_THE_WAY(right, RIGHT)

KILN_DEVICE void kiln_produce_ahead(const kiln_arguments &arguments, kiln_left_stage &left,
                                    kiln_right_stage &right, unsigned last_left,
                                    unsigned last_right, unsigned size, const kiln_ring &ring,
                                    kiln_pack *tiles)
{
    const unsigned steps = size / KILN_TILE_K;
    kiln_left_stage left_ahead[KILN_TILES_AHEAD];
    kiln_right_stage right_ahead[KILN_TILES_AHEAD];
    KILN_UNROLL
    for (unsigned s = 0; s < KILN_TILES_AHEAD; s++) {
        if (s < steps) {
            kiln_left_look_ahead(arguments, left, last_left, left_ahead[s]);
            kiln_right_look_ahead(arguments, right, last_right, right_ahead[s]);
        }
    }
    KILN_NO_UNROLL
    for (unsigned first = 0; first < steps; first += KILN_TILES_AHEAD) {
        KILN_UNROLL
        for (unsigned s = 0; s < KILN_TILES_AHEAD; s++) {
            const unsigned step = first + s;
            if (step >= steps)
                break;
            kiln_pack *tile = tiles + kiln_ring_slot(step) * KILN_TILE_PACKS;
            kiln_ring_await_free(ring, step);
            kiln_left_put_tile(arguments, left, left_ahead[s], last_left, tile);
            kiln_right_put_tile(arguments, right, right_ahead[s], last_right,
                                tile + KILN_TILE_M * KILN_ROW_PACKS);
            kiln_ring_publish(ring, step);
            if (step + KILN_TILES_AHEAD < steps) {
                kiln_left_look_ahead(arguments, left, last_left, left_ahead[s]);
                kiln_right_look_ahead(arguments, right, last_right, right_ahead[s]);
            }
        }
    }
}

/* What the producers do: they are as many tiles ahead as the ring has. KILN_STAGE_GROUPS of them take turns at tiles. */
KILN_DEVICE void kiln_produce(const kiln_arguments &arguments, kiln_left_stage &left,
                              kiln_right_stage &right, unsigned last_left, unsigned last_right,
                              unsigned size, const kiln_ring &ring, kiln_pack *tiles)
{
    const unsigned steps = (size + KILN_TILE_K - 1) / KILN_TILE_K;
    const unsigned group = (kiln_work_item() - KILN_CONSUMERS) / KILN_STAGE_ITEMS;
    /* The first tile is what whole ones leave over. */
    const unsigned first = (size - 1) % KILN_TILE_K + 1;
    unsigned rest = KILN_K_END == KILN_K_END_NONE || group > 0 ? KILN_WHOLE_K : first;
    unsigned ahead = group > 0 ? KILN_TILE_K : first; /* to the next tile of all */
    if (group > 0) {
        kiln_left_advance(arguments, first + (group - 1) * KILN_TILE_K, left.source);
        kiln_right_advance(arguments, first + (group - 1) * KILN_TILE_K, right.source);
    }
    KILN_NO_UNROLL
    for (unsigned step = group; step < steps; step += KILN_STAGE_GROUPS) {
        kiln_pack *tile = tiles + kiln_ring_slot(step) * KILN_TILE_PACKS;
        kiln_ring_await_free(ring, step);
        kiln_left_stage_tile(arguments, left, last_left, rest, tile);
        kiln_right_stage_tile(arguments, right, last_right, rest,
                              tile + KILN_TILE_M * KILN_ROW_PACKS);
        kiln_ring_publish(ring, step);
        ahead += (KILN_STAGE_GROUPS - 1) * KILN_TILE_K;
        kiln_left_advance(arguments, ahead, left.source);
        kiln_right_advance(arguments, ahead, right.source);
        ahead = KILN_TILE_K;
        rest = KILN_WHOLE_K;
    }
}

/* What the consumers do, each KILN_WAVES_K-th tile: it is free again when the next one is being multiplied and it is not any
 * more. */
KILN_DEVICE void kiln_consume(unsigned size, const kiln_ring &ring, const kiln_pack *tiles,
                              unsigned wave_row, unsigned wave_k, kiln_mma_sums &sums)
{
    const unsigned steps = (size + KILN_TILE_K - 1) / KILN_TILE_K;
    if (wave_k >= steps) {
        KILN_UNROLL
        for (int slot = 0; slot < KILN_MMA_SLOTS; slot++)
            sums[slot] = 0;
    }
    KILN_NO_UNROLL
    for (unsigned step = wave_k; step < steps; step += KILN_WAVES_K) {
        kiln_ring_await_full(ring, step);
        kiln_begin_products(tiles + kiln_ring_slot(step) * KILN_TILE_PACKS, wave_row,
                            step == wave_k, sums);
        kiln_await_products(1);
        if (step != wave_k)
            kiln_ring_release(ring, step - KILN_WAVES_K);
    }
    kiln_await_products(0);
}

KILN_DEVICE void kiln_multiply(const kiln_arguments &arguments, const kiln_task &task,
                               const kiln_wave &wave, kiln_pack *shared,
                               kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    const unsigned size = task.range.size;
    kiln_left_stage left;
    kiln_right_stage right;
    kiln_left_start(arguments, task.batch, task.place.row, left.source);
    kiln_right_start(arguments, task.batch, task.place.column, right.source);
    kiln_left_advance(arguments, task.range.first, left.source);
    kiln_right_advance(arguments, task.range.first, right.source);
    const kiln_ring ring = kiln_ring_init(shared + KILN_LDS_PACKS);
    if (kiln_has_sums(wave))
        kiln_consume(size, ring, shared, wave.row, wave.k, sums[0][0]);
    else if (KILN_IS_AHEAD)
        kiln_produce_ahead(arguments, left, right, task.last_left, task.last_right, size, ring,
                           shared);
    else
        kiln_produce(arguments, left, right, task.last_left, task.last_right, size, ring, shared);
    kiln_barrier();
    kiln_ring_end(ring);
}

#endif
