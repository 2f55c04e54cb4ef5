/*
 * Contractions where one operand has few rows per group, without tiles. Each work-item computes elements of the result by itself:
 * KILN_ITEM_ROWS rows of a vector of KILN_RESULT_VECTOR columns. An example is a depthwise convolution. Its rows are pixels and
 * its columns channels (or the other way round), k runs over taps, and each channel is a group. In the gradient of its weights
 * the rows are taps, and k runs over pixels, in segments.
 *
 * The work-group shares `weights`, the operand with few rows per group: LDS holds their computed values for KILN_TAPS of k at a
 * time. Each work-item loads its own part of the other operand, `image`. Elements that a neighbour has loaded come from the
 * nearest cache.
 *
 * A work-group has `slots` x `vectors` active work-items; both are arguments. Neighbours take neighbouring vectors of columns, or
 * (KILN_ARE_ROWS_FAST) neighbouring rows. The rows of one work-item are `slots` apart. Sizes and strides are arguments too. For
 * rows beyond the end a work-item reads the last row again and does not store.
 *
 * The prelude defines these constants:
 *   KILN_SYMBOL, KILN_BLOCK, KILN_ITEM_ROWS, KILN_RESULT_VECTOR, KILN_ARE_ROWS_FAST
 *   KILN_ARE_WEIGHTS_LEFT     weights are rows of the result, not columns
 *   KILN_ARE_WEIGHTS_ALONG_K  their memory runs along k
 *   KILN_WEIGHTS              most rows of weights in LDS
 *   KILN_TAPS, KILN_TILE_K    number of indices of k in LDS; both are equal
 *   KILN_PRODUCTS             1
 *   KILN_CHIPLETS, KILN_CHIPLET_RUN, KILN_SUPER_ROWS  device/contraction/place.h
 * It includes the choices of contraction.hip for turns, the part of k (k_whole.h, k_segments.h) and phases, and one of
 * padding_of_items.h, padding_of_items_none.h. It has the facts of device/contraction/direct_operand.h about `image` and `weights`, and
 * defines
 *   kiln_sum, KILN_MMA_ADD(a, b, sum), kiln_arguments
 * and the result's facts, for device/contraction/finish.h.
 */
#ifndef KILN_SYMBOL
#include "default/contraction_direct_prelude.h"
#endif

#include "device/contraction/batch.h"
/* place.h counts tiles, whose sizes are arguments. */
#define KILN_TILE_M       1
#define KILN_TILE_COLUMNS 1

#include "device/contraction/place.h"
#include "device/contraction/direct_operand.h"
#include "device/contraction/shared_weights.h"

KILN_DIRECT_OPERAND(image, IMAGE, !KILN_ARE_WEIGHTS_LEFT, KILN_RESULT_VECTOR)
KILN_DIRECT_OPERAND(weights, WEIGHTS, KILN_ARE_WEIGHTS_LEFT, 1)

/* Indices of k that are loaded together, of a window of 3 x 3 a line, and weights that are. Where k is pixels, there are few
 * work-items to wait for memory and many indices. */
#define KILN_AHEAD       (KILN_CUTS_K ? 8 : 3)
#define KILN_STAGE_TURNS (KILN_CUTS_K ? 16 : 4)

/* What a work-item computes: clamped to what there is. */
struct kiln_item {
    unsigned row[KILN_ITEM_ROWS];
    unsigned column;
    unsigned at_row, at_column; /* of the first one, within the work-group's */
    unsigned weights[KILN_ITEM_ROWS]; /* where those are in LDS, of each row or of the columns */
};

/* KILN_TAPS of k from `first` on, `count` of which there are. */
KILN_DEVICE void kiln_stage_weights(const kiln_arguments &arguments,
                                    const kiln_weights_source &source, unsigned start, unsigned rows,
                                    unsigned first, unsigned count, kiln_weights_line *lines)
{
    const unsigned units = KILN_ARE_WEIGHTS_ALONG_K ? rows * KILN_TAPS : count * KILN_WEIGHTS;
    KILN_NO_UNROLL
    for (unsigned base = kiln_work_item(); base < units; base += KILN_STAGE_TURNS * KILN_BLOCK) {
        kiln_weights_inputs inputs[KILN_STAGE_TURNS];
        KILN_UNROLL
        for (unsigned turn = 0; turn < KILN_STAGE_TURNS; turn++) {
            const unsigned unit = base + turn * KILN_BLOCK;
            unsigned at = KILN_ARE_WEIGHTS_ALONG_K ? unit / KILN_TAPS : unit % KILN_WEIGHTS;
            unsigned tap = KILN_ARE_WEIGHTS_ALONG_K ? unit % KILN_TAPS : unit / KILN_WEIGHTS;
            at = start + (at < rows ? at : rows - 1);
            tap = first + (tap < count ? tap : count - 1);
            kiln_weights_load(arguments, source, at, at, tap, inputs[turn]);
        }
        KILN_UNROLL
        for (unsigned turn = 0; turn < KILN_STAGE_TURNS; turn++) {
            const unsigned unit = base + turn * KILN_BLOCK;
            const unsigned at = KILN_ARE_WEIGHTS_ALONG_K ? unit / KILN_TAPS : unit % KILN_WEIGHTS;
            const unsigned tap = KILN_ARE_WEIGHTS_ALONG_K ? unit % KILN_TAPS : unit / KILN_WEIGHTS;
            kiln_sum values[1];
            kiln_weights_values(inputs[turn], values);
            if (at < rows && tap < count)
                lines[tap].at[at] = values[0];
        }
    }
}

/* Of one index of k, what a work-item's columns, or its rows, are multiplied by. */
#if KILN_ARE_WEIGHTS_LEFT
#define KILN_ITEM_WEIGHTS KILN_ITEM_ROWS
#else
#define KILN_ITEM_WEIGHTS KILN_RESULT_VECTOR
#endif

KILN_DEVICE void kiln_read_weights(const kiln_weights_line &line, const kiln_item &item,
                                   kiln_sum (&weights)[KILN_ITEM_WEIGHTS])
{
#if KILN_ARE_WEIGHTS_LEFT
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++)
        weights[r] = line.at[item.weights[r]];
#else
    kiln_read_shared(line, item.weights[0], weights);
#endif
}

/* So many indices of k from `first + tap` on: all loads before the first product. */
template <unsigned Taps>
KILN_DEVICE void kiln_add_taps(const kiln_arguments &arguments, const kiln_image_source &source,
                               const kiln_item &item, const kiln_weights_line *lines,
                               unsigned first, unsigned tap,
                               kiln_sum (&sums)[KILN_ITEM_ROWS][KILN_RESULT_VECTOR])
{
    kiln_image_inputs inputs[Taps][KILN_ITEM_ROWS];
    KILN_UNROLL
    for (unsigned t = 0; t < Taps; t++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++)
        kiln_image_load(arguments, source, item.row[r], item.column, first + tap + t, inputs[t][r]);
    KILN_UNROLL
    for (unsigned t = 0; t < Taps; t++) {
        kiln_sum weights[KILN_ITEM_WEIGHTS];
        kiln_read_weights(lines[tap + t], item, weights);
        KILN_UNROLL
        for (unsigned r = 0; r < KILN_ITEM_ROWS; r++) {
            kiln_sum values[KILN_RESULT_VECTOR];
            kiln_image_values(inputs[t][r], values);
            KILN_UNROLL
            for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
                sums[r][e] =
                    KILN_MMA_ADD(values[e], weights[KILN_ARE_WEIGHTS_LEFT ? r : e], sums[r][e]);
        }
    }
}

KILN_DEVICE bool kiln_has_row(const kiln_arguments &arguments, const kiln_batch &batch,
                              unsigned row)
{
    (void)batch;
    return kiln_is_row_of_phase(arguments, batch, row) && row < (unsigned)arguments.m;
}

KILN_TURN_KERNEL(kiln_weights_line, lines, KILN_TAPS)
{
    KILN_TURN(group, kiln_weights_line, lines, KILN_TAPS)
    const unsigned rows = (unsigned)arguments.m, columns = (unsigned)arguments.n;
    const unsigned slots = (unsigned)arguments.slots, vectors = (unsigned)arguments.vectors;
    const unsigned tile_rows = slots * KILN_ITEM_ROWS, tile_columns = vectors * KILN_RESULT_VECTOR;
    kiln_batch batch;
    kiln_take_segment(arguments, group, batch);
    kiln_place place =
        kiln_place_group(group, (rows + tile_rows - 1) / tile_rows,
                         (columns + tile_columns - 1) / tile_columns);
    place.row *= tile_rows;
    place.column *= tile_columns;
    kiln_locate_batch(arguments, place.batch, batch);
    const kiln_k_range range =
        kiln_range_of_group(arguments, batch, kiln_k_of_batch(arguments, batch));
    const unsigned end = range.first + range.size;

    const unsigned fast = KILN_ARE_ROWS_FAST ? slots : vectors;
    const unsigned slow_index = kiln_work_item() / fast;
    const unsigned fast_index = kiln_work_item() - slow_index * fast;
    const bool has_work = slow_index < (KILN_ARE_ROWS_FAST ? vectors : slots);
    const unsigned slow = has_work ? slow_index : 0;
    kiln_item item;
    item.at_row = KILN_ARE_ROWS_FAST ? fast_index : slow;
    item.at_column = (KILN_ARE_ROWS_FAST ? slow : fast_index) * KILN_RESULT_VECTOR;
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++) {
        const unsigned row = place.row + item.at_row + r * slots;
        item.row[r] = row < rows ? row : rows - 1;
        item.weights[r] = item.row[r] - place.row;
    }
    const bool is_inside = place.column + item.at_column < columns;
    item.column = place.column + (is_inside ? item.at_column : 0);
    if (!KILN_ARE_WEIGHTS_LEFT)
        item.weights[0] = item.column - place.column;

    kiln_image_source image;
    kiln_weights_source weights;
    kiln_image_start(arguments, batch, image);
    kiln_weights_start(arguments, batch, weights);
    const unsigned start = KILN_ARE_WEIGHTS_LEFT ? place.row : place.column;
    const unsigned tile = KILN_ARE_WEIGHTS_LEFT ? tile_rows : tile_columns;
    const unsigned left_over = (KILN_ARE_WEIGHTS_LEFT ? rows : columns) - start;
    const unsigned shared = tile < left_over ? tile : left_over;
    kiln_sum sums[KILN_ITEM_ROWS][KILN_RESULT_VECTOR];
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++)
        KILN_UNROLL
    for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
        sums[r][e] = 0;
    KILN_NO_UNROLL
    for (unsigned first = range.first; first < end; first += KILN_TAPS) {
        const unsigned count = end - first < KILN_TAPS ? end - first : KILN_TAPS;
        if (first != range.first)
            kiln_barrier();
        kiln_stage_weights(arguments, weights, start, shared, first, count, lines);
        kiln_barrier();
        unsigned tap = 0;
        KILN_NO_UNROLL
        for (; tap + KILN_AHEAD <= count; tap += KILN_AHEAD)
            kiln_add_taps<KILN_AHEAD>(arguments, image, item, lines, first, tap, sums);
        KILN_NO_UNROLL
        for (; tap < count; tap++)
            kiln_add_taps<1>(arguments, image, item, lines, first, tap, sums);
    }

    const bool has_nan = !range.is_empty && kiln_has_any_nan(sums);
    kiln_result_source result;
    kiln_result_start(arguments, batch, place.row, place.column, result);
    const bool has_columns = has_work && is_inside;
    kiln_result_inputs inputs[KILN_ITEM_ROWS];
    bool has_row[KILN_ITEM_ROWS];
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++) {
        const unsigned at_row = item.at_row + r * slots;
        has_row[r] = has_columns && kiln_has_row(arguments, batch, place.row + at_row);
        if (has_row[r])
            kiln_result_load(arguments, result, at_row, item.at_column, inputs[r]);
    }
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++) {
        if (!has_row[r])
            continue;
        kiln_sum values[KILN_PRODUCTS][KILN_RESULT_VECTOR];
        KILN_UNROLL
        for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
            values[0][e] = range.is_empty ? (kiln_sum)0 : sums[r][e];
        kiln_finish(arguments, result, item.at_row + r * slots, item.at_column, inputs[r], values);
    }
    KILN_NO_UNROLL
    for (unsigned r = 0; has_nan && r < KILN_ITEM_ROWS; r++) {
        const unsigned at_row = item.at_row + r * slots;
        if (has_columns && kiln_has_row(arguments, batch, place.row + at_row))
            kiln_finish_inside(arguments, result, at_row, item.at_column);
    }
}
