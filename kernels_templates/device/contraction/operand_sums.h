/*
 * Sums of an operand's rows over k, such as a bias gradient next to a weight gradient. Work-groups of their own compute them,
 * after the first arguments.tiles, which multiply: K loops stay as they are, and the sums' reads hit a cache. (The other choice:
 * operand_sums_none.h.)
 *
 * A work-group has KILN_SUM_ROWS rows of all of k, or of one segment. Each work-item adds up packs of a run of rows, always in the
 * same order, and partial sums meet in local memory.
 *
 * From the prelude: KILN_SUM_ROWS; KILN_SUMS_HAVE_SEGMENTS, 1 if each work-group sums one segment of k; KILN_IS_RIGHT_SUMMED, 1
 * if the right operand is summed; KILN_SUM_DECODE(element); the facts of operand.h about the operand `summed`;
 * KILN_SUMMED_BATCHES, a bit for each axis of batches along which it varies; and facts about the sums, whose rows are the operand's:
 *   KILN_SUM_LOADS(use), KILN_SUM_STORES(use)   accesses, kiln_result_<number>, as in result.h
 *   kiln_sum_element                            computes what is stored for a row, from its sum and operands
 */
#ifndef KILN_DEVICE_CONTRACTION_OPERAND_SUMS_H
#define KILN_DEVICE_CONTRACTION_OPERAND_SUMS_H

#include "device/contraction/last_row.h"
#include "device/contraction/k_range.h"
#include "device/contraction/k_end.h"
#include "device/contraction/operand.h"

KILN_OPERAND(summed, SUMMED, KILN_AS_IT_IS)

KILN_DEVICE long long kiln_offset_of_sum(const kiln_arguments &arguments,
                                         const kiln_result_access &access, const kiln_batch &batch,
                                         unsigned row)
{
    long long offset = kiln_offset_of_batch(arguments, access.map, batch) +
                       kiln_offset_along(arguments, access.map.row, row);
#if KILN_HAS_SEGMENTS
    if (!kiln_is_zero(access.segment_stride))
        offset += kiln_offset_along(arguments, access.segment_stride, batch.segment);
#endif
    return offset;
}

#define KILN_SUM_PLACE(n)                                                                          \
    arguments.a##n[kiln_offset_of_sum(arguments, kiln_result_##n, batch, row)]
#define KILN_SUM_X(n, type, form) KILN_SUM_X_##form(n)
#define KILN_SUM_X_PLAIN(n) , KILN_SUM_PLACE(n)
#define KILN_SUM_X_SCALAR(n) , arguments.a##n
#define KILN_SUM_Y(n, type, form) , y##n
#define KILN_SUM_OUTPUT(n, type, form) kiln_storage_##type y##n;
#define KILN_SUM_STORE(n, type, form) KILN_SUM_PLACE(n) = y##n;

KILN_DEVICE void kiln_finish_sum(const kiln_arguments &arguments, const kiln_batch &batch,
                                 unsigned row, kiln_sum sum)
{
    (void)batch, (void)row;
    KILN_SUM_STORES(KILN_SUM_OUTPUT)
    kiln_sum_element(arguments, sum KILN_SUM_LOADS(KILN_SUM_X) KILN_SUM_STORES(KILN_SUM_Y));
    KILN_SUM_STORES(KILN_SUM_STORE)
}

enum {
    KILN_SUM_RUNS = KILN_SUM_ROWS / KILN_SUMMED_RUN,
    /* Packs of a tile of k, of each run of rows, and as many tiles as there are work-items for. */
    KILN_SUM_TILES = KILN_BLOCK > KILN_SUM_RUNS * KILN_ROW_PACKS
                         ? KILN_BLOCK / (KILN_SUM_RUNS * KILN_ROW_PACKS)
                         : 1,
    KILN_SUM_LANES = KILN_ROW_PACKS * KILN_SUM_TILES,
    /* Tiles that are on their way together. Along rows one is a pack for each of them: more would
     * take registers that the K loop beside has no use for, and leave it fewer waves. */
    KILN_SUM_AHEAD = KILN_SUMMED_IS_ALONG_K ? 8 : 1,
    /* Work-items that merge the lanes of one row. */
    KILN_SUM_PARTS = KILN_BLOCK / KILN_SUM_ROWS > KILN_SUM_LANES ? (int)KILN_SUM_LANES
                     : KILN_BLOCK < 2 * KILN_SUM_ROWS            ? 1
                                                                 : KILN_BLOCK / KILN_SUM_ROWS
};

KILN_DEVICE kiln_sum kiln_sum_of_pack(const kiln_pack &pack)
{
    kiln_element elements[KILN_PACK_ELEMENTS];
    kiln_sum sums[KILN_PACK_ELEMENTS];
    __builtin_memcpy(elements, &pack, sizeof pack);
    KILN_UNROLL
    for (int e = 0; e < KILN_PACK_ELEMENTS; e++)
        sums[e] = KILN_SUM_DECODE(elements[e]);
    KILN_UNROLL
    for (int step = 1; step < KILN_PACK_ELEMENTS; step *= 2)
        KILN_UNROLL
    for (int e = 0; e < KILN_PACK_ELEMENTS; e += 2 * step)
        sums[e] += sums[e + step];
    return sums[0];
}

KILN_DEVICE void kiln_add_inputs(const kiln_arguments &arguments, const kiln_summed_inputs &inputs,
                                 unsigned k, unsigned rest, kiln_sum (&sums)[KILN_SUMMED_RUN])
{
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_SUMMED_RUN; r++)
        sums[r] += kiln_sum_of_pack(kiln_summed_pack(arguments, inputs, 0, r, k, rest));
}

/* What a lane has of a run of rows: the same pack of every KILN_SUM_TILES-th tile of k. */
KILN_DEVICE void kiln_sum_run(const kiln_arguments &arguments, kiln_summed_source source,
                              unsigned row, unsigned lane, unsigned size,
                              kiln_sum (&sums)[KILN_SUMMED_RUN])
{
    const unsigned k = lane % KILN_ROW_PACKS * KILN_PACK_ELEMENTS, tiles = size / KILN_TILE_K;
    unsigned tile = lane / KILN_ROW_PACKS;
    kiln_summed_advance(arguments, tile * KILN_TILE_K, source);
    KILN_NO_UNROLL
    for (; tile + (KILN_SUM_AHEAD - 1) * KILN_SUM_TILES < tiles;
         tile += KILN_SUM_AHEAD * KILN_SUM_TILES) {
        kiln_summed_inputs inputs[KILN_SUM_AHEAD];
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_SUM_AHEAD; i++) {
            kiln_summed_load(arguments, source, row, k, KILN_WHOLE_K, inputs[i]);
            kiln_summed_advance(arguments, KILN_SUM_TILES * KILN_TILE_K, source);
        }
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_SUM_AHEAD; i++)
            kiln_add_inputs(arguments, inputs[i], k, KILN_WHOLE_K, sums);
    }
    KILN_NO_UNROLL
    for (; KILN_SUM_AHEAD > 1 && tile < tiles; tile += KILN_SUM_TILES) {
        kiln_summed_inputs inputs;
        kiln_summed_load(arguments, source, row, k, KILN_WHOLE_K, inputs);
        kiln_summed_advance(arguments, KILN_SUM_TILES * KILN_TILE_K, source);
        kiln_add_inputs(arguments, inputs, k, KILN_WHOLE_K, sums);
    }
    const unsigned rest = size - tiles * KILN_TILE_K;
    if (KILN_K_END != KILN_K_END_NONE && tile == tiles && rest != 0) {
        kiln_summed_inputs inputs;
        kiln_summed_load(arguments, source, row, k, rest, inputs);
        kiln_add_inputs(arguments, inputs, k, rest, sums);
    }
}

/* The operand does not vary along the other axes of batches: the first batch's work-groups do the sums of all. */
KILN_DEVICE void kiln_locate_sum_batch(const kiln_arguments &arguments, unsigned rest,
                                       kiln_batch &batch)
{
#if KILN_BATCH_RANK > 0
    KILN_UNROLL
    for (unsigned axis = 0; axis < KILN_BATCH_RANK; axis++)
        batch.c[axis] = 0;
#endif
    kiln_split_batch(arguments, rest, KILN_SUMMED_BATCHES, batch);
}

/* Work-group number `group` of those that sum. */
KILN_DEVICE void kiln_sum_operand(const kiln_arguments &arguments, unsigned group,
                                  kiln_pack *shared)
{
    kiln_sum *entries = (kiln_sum *)shared; /* KILN_SUM_ROWS of each lane */
    const unsigned item = kiln_work_item();
    const unsigned rows = (unsigned)(KILN_IS_RIGHT_SUMMED ? arguments.n : arguments.m);
    const unsigned tiles = (rows + KILN_SUM_ROWS - 1) / KILN_SUM_ROWS;
    kiln_batch batch = {};
    kiln_k_range range;
    range.first = 0;
    range.size = (unsigned)arguments.k;
    range.is_empty = false;
    if (KILN_SUMS_HAVE_SEGMENTS) {
        kiln_take_segment(arguments, group, batch);
        range = kiln_range_of_group(arguments, batch, range);
    }
    const unsigned first = kiln_uniform(group % tiles * KILN_SUM_ROWS);
    kiln_locate_sum_batch(arguments, kiln_uniform(group / tiles), batch);
    const unsigned last = kiln_last_row(rows, first, KILN_SUMMED_RUN);
    kiln_summed_source source;
    kiln_summed_start(arguments, batch, first, source);
    kiln_summed_advance(arguments, range.first, source);
    KILN_NO_UNROLL
    for (unsigned unit = item; unit < KILN_SUM_RUNS * KILN_SUM_LANES; unit += KILN_BLOCK) {
        /* Neighbours in memory are neighbouring work-items'. */
        const unsigned run = KILN_SUMMED_IS_ALONG_K ? unit / KILN_SUM_LANES : unit % KILN_SUM_RUNS;
        const unsigned lane = KILN_SUMMED_IS_ALONG_K ? unit % KILN_SUM_LANES : unit / KILN_SUM_RUNS;
        const unsigned row = run * KILN_SUMMED_RUN;
        kiln_sum sums[KILN_SUMMED_RUN];
        KILN_UNROLL
        for (unsigned r = 0; r < KILN_SUMMED_RUN; r++)
            sums[r] = 0;
        if (!range.is_empty)
            kiln_sum_run(arguments, source, row < last ? row : last, lane, range.size, sums);
        KILN_UNROLL
        for (unsigned r = 0; r < KILN_SUMMED_RUN; r++)
            entries[lane * KILN_SUM_ROWS + row + r] = sums[r];
    }
    kiln_barrier();
    if (KILN_SUM_PARTS > 1) {
        const unsigned part = item / KILN_SUM_ROWS;
        kiln_sum sum = 0;
        for (unsigned lane = part; part < KILN_SUM_PARTS && lane < KILN_SUM_LANES; lane += KILN_SUM_PARTS)
            sum += entries[lane * KILN_SUM_ROWS + item % KILN_SUM_ROWS];
        kiln_barrier();
        if (part < KILN_SUM_PARTS)
            entries[item] = sum;
        kiln_barrier();
    }
    KILN_NO_UNROLL
    for (unsigned row = item; row < KILN_SUM_ROWS && first + row < rows; row += KILN_BLOCK) {
        kiln_sum sum = 0;
        for (unsigned lane = 0; lane < (KILN_SUM_PARTS > 1 ? KILN_SUM_PARTS : KILN_SUM_LANES); lane++)
            sum += entries[lane * KILN_SUM_ROWS + row];
        kiln_finish_sum(arguments, batch, first + row, sum);
    }
}

/* LDS for the sums of lanes. */
#define KILN_ENTRY_PACKS (KILN_SUM_ROWS * KILN_SUM_LANES * (int)sizeof(kiln_sum) / 16)

/* True if the work-group sums rows instead of multiplying. */
KILN_DEVICE bool kiln_does_sums(const kiln_arguments &arguments, unsigned group, kiln_pack *shared)
{
    if (group < (unsigned)arguments.tiles)
        return false;
    kiln_sum_operand(arguments, group - (unsigned)arguments.tiles, shared);
    return true;
}

#endif
