/*
 * The kernel with second products: a work-group has rows of a batch, and walks over columns of scores. (The other choice: fold.h.)
 */
#ifndef KILN_DEVICE_ATTENTION_WALK_H
#define KILN_DEVICE_ATTENTION_WALK_H

#include "device/attention/place.h"
#include "device/attention/scores.h"
#include "device/attention/second_products.h"
#include "device/attention/value_tiles.h"

#define KILN_ROW_TOTALS(strip, row) ((const kiln_row *)((strip) + KILN_STRIP_SUMS))[row],
#include "device/contraction/alone.h"
#include "device/contraction/padding_none.h"
#ifdef KILN_RESULT_STORES /* otherwise the prelude has the functions themselves */
#include "device/contraction/finish.h"
#endif
#include "device/contraction/store.h"

/* Strides times what a lane has of a tile are not computed before the first batch for all of them. */
#if KILN_HAS_OUTER
#define KILN_ARGUMENTS_OF_OUTER KILN_ARGUMENTS_AGAIN
#else
#define KILN_ARGUMENTS_OF_OUTER(type, arguments, name) const type &name = arguments
#endif

/* A left operand by way of LDS to where the wave has it. */
#define KILN_TAKE_LEFT(nth, side, SIDE, right, RIGHT, size_c)                                      \
    KILN_IF_ROWS                                                                                   \
    {                                                                                              \
        const unsigned rest = KILN_C_END ? (unsigned)arguments.size_c : KILN_WHOLE_K;              \
        kiln_pack *tile = shared + (KILN_IS_LEFT_KEPT ? 0 : nth * KILN_LEFT_TILE_PACKS);           \
        kiln_##side##_stage stage;                                                                 \
        kiln_##side##_start(arguments, batch, place.row, stage.source);                            \
        const unsigned last = kiln_last_row(left_rows, place.row, KILN_##SIDE##_RUN);              \
        KILN_FETCH(side, arguments, stage, last, rest);                                            \
        KILN_STORE(side, arguments, stage, last, rest, tile);                                      \
        kiln_barrier();                                                                            \
        kiln_keep_left(tile + wave_row * KILN_C_PACKS, nth, lefts);                                \
    }
/* A batch of ragged operands may have no row of the tile: it has none to load. */
#ifdef KILN_SPANS
#define KILN_IF_ROWS if (place.row < left_rows)
#else
#define KILN_IF_ROWS
#endif

/* Work-group number `group`. */
KILN_DEVICE void kiln_attend(const kiln_arguments &arguments, unsigned group, kiln_pack *shared)
{
    const unsigned rows = (unsigned)arguments.m;
    const unsigned wave = kiln_uniform(kiln_work_item() / KILN_WAVE_SIZE);
    const unsigned wave_row = wave / KILN_WAVES_D * KILN_WAVE_M;
    const unsigned wave_column = wave % KILN_WAVES_D * KILN_WAVE_D;
    const kiln_place place =
        kiln_place_group(group, (rows + KILN_TILE_M - 1) / KILN_TILE_M,
                         (unsigned)arguments.batches);
    const unsigned rows_left = rows - place.row, last_row = rows_left - 1;
    kiln_batch batch;
    kiln_locate_batch(arguments, place.batch, batch);
    batch.outer = 0;
#if KILN_HAS_SEGMENTS
    batch.segment = batch.c[KILN_BATCH_RANK - 1];
#endif
#ifdef KILN_SPANS
    kiln_find_spans(arguments, batch);
    const unsigned left_rows = kiln_span_rows(arguments, batch);
    if (place.row >= kiln_stored_rows(arguments, batch))
        return;
#else
    const unsigned left_rows = rows;
#endif
    kiln_column_range range;
    kiln_find_columns(arguments, batch, place.row,
                      rows_left < KILN_TILE_M ? rows : place.row + KILN_TILE_M, range);
#ifdef KILN_SPANS
    kiln_cut_to_spans(batch, place.row < left_rows, range);
#endif
#if KILN_HAS_SEGMENTS
    kiln_cut_columns((unsigned)arguments.segments, batch.segment, range);
#endif

    kiln_lefts lefts;
    kiln_lefts_start(shared + wave_row * KILN_C_PACKS, lefts);
    KILN_FIRST_PRODUCTS(KILN_TAKE_LEFT)

    kiln_results results;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned j = 0; j < KILN_STRIP_FRAGMENTS; j++)
        KILN_UNROLL
    for (int slot = 0; slot < KILN_MMA_SLOTS; slot++)
        results[i][j][slot] = 0;
    kiln_score_source scores;
    kiln_rows lane_rows;
    kiln_rights rights;
    kiln_values values;
    kiln_weights weights;
    kiln_pack *const tiles = shared + KILN_RESIDENT_PACKS;
#if KILN_CHAIN_IS_LOCAL
    weights.tiles = tiles + KILN_BUFFERS * KILN_STEP_PACKS;
    weights.wave_row = wave_row;
#endif

#if KILN_HAS_OUTER
    /* Hidden from LLVM, these stay inside of the loop over batches. Moved out, they drive results into scratch memory. */
    range.first = kiln_uniform(range.first);
    range.end = kiln_uniform(range.end);
    kiln_keep_uniform(range.first);
    kiln_keep_uniform(range.end);
#endif
    const unsigned first_column = range.first / KILN_TILE_N * KILN_TILE_N;
#if KILN_HAS_OUTER
    const unsigned outer_count = kiln_outer_count(arguments, batch);
#else
    const unsigned outer_count = 1;
#endif
    KILN_NO_UNROLL
    for (unsigned outer = 0; outer < outer_count; outer++) {
        KILN_ARGUMENTS_OF_OUTER(kiln_arguments, arguments, own);
        batch.outer = outer;
        kiln_score_start(own, batch, place.row, scores);
        kiln_rows_start(own, scores, wave_row, last_row, outer == 0, lane_rows);
        if (range.first >= range.end) {
            kiln_barrier();
            continue;
        }
        kiln_rights_start(own, batch, first_column, rights);
        kiln_values_start(own, batch, first_column, values);
        kiln_rights_begin(own, rights, range.end - first_column, tiles);
        kiln_values_begin(own, values, range.end - first_column, tiles + KILN_RIGHT_PACKS);
        kiln_rights_end(own, rights, range.end - first_column, tiles);
        if (KILN_BUFFERS > 1)
            kiln_values_end(own, values, range.end - first_column, tiles + KILN_RIGHT_PACKS);
        KILN_AWAIT_COPIES();
        kiln_barrier();
        unsigned offset = 0; /* of the tiles that are multiplied */
        KILN_NO_UNROLL
        for (unsigned column = first_column; column < range.end; column += KILN_TILE_N) {
            /* After the last tiles they are fetched once more, so that there is no other form of the loop. They are not copied
             * again. */
            const bool has_next = column + KILN_TILE_N < range.end;
            const unsigned ahead = has_next ? KILN_TILE_N : 0;
            const unsigned next_columns = range.end - column - ahead;
            const bool is_edge = column < range.whole_first ||
                                 column + KILN_TILE_N > range.whole_end ||
                                 column + KILN_TILE_N > range.end;
            kiln_pack *const now = tiles + offset;
            kiln_pack *const next = tiles + (KILN_BUFFERS > 1 ? KILN_STEP_PACKS - offset : 0);
            kiln_scores sums;
            kiln_tile_inputs inputs;
            if (!KILN_SCORE_LOADS_ARE_LATE)
                kiln_load_scores(own, scores, wave_row, last_row, column, range.end, inputs);
            if (!KILN_RIGHT_IS_COPIED || (KILN_BUFFERS > 1 && has_next)) {
                kiln_rights_advance(own, ahead, rights);
                kiln_rights_begin(own, rights, next_columns, next);
            }
            if (KILN_BUFFERS > 1 && (!KILN_VALUE_IS_COPIED || has_next)) {
                kiln_values_advance(own, ahead, values);
                kiln_values_begin(own, values, next_columns, next + KILN_RIGHT_PACKS);
            }
            kiln_schedule_fence();
            kiln_multiply_scores(lefts, now, sums);
            if (KILN_BUFFERS == 1) {
                kiln_schedule_fence();
                kiln_values_end(own, values, range.end - column, now + KILN_RIGHT_PACKS);
                KILN_AWAIT_COPIES();
                if (KILN_OWN_VALUES > 0)
                    kiln_barrier();
                if (KILN_RIGHT_IS_COPIED && has_next) {
                    kiln_rights_advance(own, ahead, rights);
                    kiln_rights_begin(own, rights, next_columns, now);
                }
            }
            if (KILN_SCORE_LOADS_ARE_LATE)
                kiln_load_scores(own, scores, wave_row, last_row, column, range.end, inputs);
            kiln_make_weights(own, scores, inputs, sums, wave_row, column, range.end,
                              is_edge, lane_rows, results, weights);
            if (KILN_BUFFERS == 1 && !KILN_VALUE_IS_COPIED) {
                kiln_values_advance(own, ahead, values);
                kiln_values_begin(own, values, next_columns, now + KILN_RIGHT_PACKS);
            }
            if (KILN_CHAIN_IS_LOCAL)
                kiln_barrier();
            kiln_schedule_fence();
            kiln_multiply_values(weights, now, now + KILN_RIGHT_PACKS, wave_column, results);
            kiln_schedule_fence();
            if (KILN_BUFFERS == 1 && KILN_RIGHTS_ARE_VALUES)
                kiln_barrier();
            kiln_rights_end(own, rights, next_columns, next);
            if (KILN_BUFFERS > 1)
                kiln_values_end(own, values, next_columns, next + KILN_RIGHT_PACKS);
            KILN_AWAIT_COPIES();
            kiln_barrier();
            if (KILN_BUFFERS == 1 && KILN_VALUE_IS_COPIED && has_next) {
                kiln_values_advance(own, ahead, values);
                kiln_values_begin(own, values, next_columns, now + KILN_RIGHT_PACKS);
            }
            if (KILN_BUFFERS > 1)
                offset = KILN_STEP_PACKS - offset;
        }
    }

    KILN_ARGUMENTS_AGAIN(kiln_arguments, arguments, late);
    kiln_sum *strip = (kiln_sum *)shared;
    kiln_result_source result;
    kiln_result_start(late, batch, place.row, 0, result);
    kiln_rows_end(wave_row, lane_rows, results, (kiln_row *)(strip + KILN_STRIP_SUMS));
    unsigned columns = 0;
#define KILN_WIDEN(nth, side, SIDE, size)                                                          \
    columns = columns > (unsigned)late.size ? columns : (unsigned)late.size;
    KILN_SECOND_PRODUCTS(KILN_WIDEN)
    /* Rolled: what is computed of the result is in the text once. */
    KILN_NO_UNROLL
    for (unsigned pass = 0; pass < KILN_FRAGMENTS_M * KILN_ROW_PARTS; pass++) {
        const unsigned fragment = pass / KILN_ROW_PARTS, part = pass % KILN_ROW_PARTS;
        unsigned strip_row = wave / KILN_WAVES_D * KILN_PART_ROWS;
        kiln_keep_uniform(strip_row); /* no addresses of all passes next to the results */
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
            if (i == fragment)
                kiln_write_strip(strip, strip_row, wave_column, part, results[i]);
        kiln_barrier();
        kiln_tile_totals none;
        kiln_finish_strip(late, result, strip, fragment, part, rows_left, columns, none);
        kiln_barrier();
    }
}

#endif
