/*
 * The kernel without a second product: a work-group has a tile of rows and columns of the weights, and walks over the batches that
 * are summed, each after the other. So the sum has one order, and nothing of the scores' size is in memory but the result.
 *
 * Both operands change with the batch: all of them are in LDS. Those of the next batch wait in registers while these are
 * multiplied. Batches in which no row of the tile sees any of its columns are passed over.
 */
#ifndef KILN_DEVICE_ATTENTION_FOLD_H
#define KILN_DEVICE_ATTENTION_FOLD_H

#include "device/attention/run_weights.h"
#include "device/attention/tiles.h"

#define KILN_ROW_TOTALS(strip, row) kiln_row{},
#include "device/contraction/alone.h"
#include "device/contraction/padding_none.h"
#ifdef KILN_RESULT_STORES /* otherwise the prelude has the functions themselves */
#include "device/contraction/finish.h"
#endif
#include "device/contraction/store.h"

/* Each lane's own, as it has the scores. */
typedef kiln_sum kiln_totals[KILN_FRAGMENTS_M][KILN_CHAIN_ROWS][KILN_CHAIN_RUNS][KILN_CHAIN_RUN];

struct kiln_fold_place {
    unsigned batch; /* of those that are not summed */
    unsigned row, column;
};

/* Neighbours have the same rows, and all are at one batch at a time. */
KILN_DEVICE kiln_fold_place kiln_place_fold(unsigned id, unsigned rows, unsigned columns)
{
    const unsigned tiles_m = (rows + KILN_TILE_M - 1) / KILN_TILE_M;
    const unsigned tiles_n = (columns + KILN_TILE_N - 1) / KILN_TILE_N;
    kiln_fold_place place;
    place.column = id % tiles_n * KILN_TILE_N;
    place.row = id / tiles_n % tiles_m * KILN_TILE_M;
    place.batch = id / tiles_n / tiles_m;
    return place;
}

/* Number `rest` of the batches that are not summed, and the `outer`th of those that are. */
KILN_DEVICE void kiln_locate_folded(const kiln_arguments &arguments, unsigned rest, unsigned outer,
                                    kiln_batch &batch)
{
    batch.outer = outer;
    kiln_split_batch(arguments, rest, ~KILN_FOLDED_AXES, batch);
    kiln_split_batch(arguments, outer, KILN_FOLDED_AXES, batch);
}

/* The first batch from the `outer`th on in which some rows of the tile see some of its columns. */
KILN_DEVICE bool kiln_find_batch(const kiln_arguments &arguments, const kiln_fold_place &place,
                                 unsigned &outer, kiln_batch &batch, kiln_column_range &range)
{
    const unsigned rows = (unsigned)arguments.m;
    const unsigned end_row = rows - place.row < KILN_TILE_M ? rows : place.row + KILN_TILE_M;
    KILN_NO_UNROLL
    for (; outer < (unsigned)arguments.outer; outer++) {
        kiln_locate_folded(arguments, place.batch, outer, batch);
        kiln_find_columns(arguments, batch, place.row, end_row, range);
        if (range.first < range.end && range.first < place.column + KILN_TILE_N &&
            range.end > place.column)
            return true;
    }
    return false;
}

struct kiln_fold_stages {
#define KILN_FOLD_STAGES(nth, left, LEFT, right, RIGHT, size)                                      \
    kiln_##left##_stage left;                                                                      \
    kiln_##right##_stage right;
    KILN_FIRST_PRODUCTS(KILN_FOLD_STAGES)
};

#define KILN_FOLD_REST(size_c) (KILN_C_END ? (unsigned)arguments.size_c : KILN_WHOLE_K)
#define KILN_BEGIN_PRODUCT(nth, left, LEFT, right, RIGHT, size_c)                                  \
    kiln_##left##_start(arguments, batch, place.row, stages.left.source);                          \
    KILN_FETCH(left, arguments, stages.left,                                                       \
               kiln_last_row((unsigned)arguments.m, place.row, KILN_##LEFT##_RUN),                 \
               KILN_FOLD_REST(size_c));                                                            \
    kiln_##right##_start(arguments, batch, place.column, stages.right.source);                     \
    kiln_##right##_begin(arguments, stages.right, columns, nullptr);
#define KILN_END_PRODUCT(nth, left, LEFT, right, RIGHT, size_c)                                    \
    KILN_STORE(left, arguments, stages.left,                                                       \
               kiln_last_row((unsigned)arguments.m, place.row, KILN_##LEFT##_RUN),                 \
               KILN_FOLD_REST(size_c), tiles + nth * KILN_LEFT_TILE_PACKS);                        \
    kiln_##right##_end(arguments, stages.right, columns,                                           \
                       tiles + KILN_LEFT_PACKS + nth * KILN_RIGHT_TILE_PACKS);

/* `columns`: how many of the batch there are from the tile's first one on. */
KILN_DEVICE void kiln_fold_begin(const kiln_arguments &arguments, const kiln_batch &batch,
                                 const kiln_fold_place &place, unsigned columns,
                                 kiln_fold_stages &stages)
{
    KILN_FIRST_PRODUCTS(KILN_BEGIN_PRODUCT)
}

KILN_DEVICE void kiln_fold_end(const kiln_arguments &arguments, const kiln_fold_place &place,
                               const kiln_fold_stages &stages, unsigned columns,
                               kiln_pack *tiles)
{
    KILN_FIRST_PRODUCTS(KILN_END_PRODUCT)
}

KILN_DEVICE void kiln_add_weights(const kiln_arguments &arguments, const kiln_score_source &source,
                                  const kiln_tile_inputs &inputs, kiln_scores &scores,
                                  unsigned wave_row, unsigned first_column, unsigned end,
                                  bool is_masked, const kiln_rows &rows, kiln_totals &totals)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++)
        KILN_UNROLL
    for (unsigned run = 0; run < KILN_CHAIN_RUNS; run++) {
        kiln_sum made[1][KILN_CHAIN_RUN];
        kiln_make_run(arguments, source, inputs, scores, wave_row, first_column, end, is_masked,
                      rows, i, r, run, made);
        KILN_UNROLL
        for (unsigned e = 0; e < KILN_CHAIN_RUN; e++)
            totals[i][r][run][e] += made[0][e];
    }
}

/* A part of the rows of one row of fragments of every wave. */
KILN_DEVICE void kiln_write_totals(
    kiln_sum *strip, unsigned strip_row, unsigned part,
    const kiln_sum (&totals)[KILN_CHAIN_ROWS][KILN_CHAIN_RUNS][KILN_CHAIN_RUN])
{
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++) {
        const unsigned row = kiln_chain_row(r);
        if (KILN_ROW_PARTS > 1 && row / KILN_PART_ROWS != part)
            continue;
        KILN_UNROLL
        for (unsigned run = 0; run < KILN_CHAIN_RUNS; run++)
            KILN_UNROLL
        for (unsigned e = 0; e < KILN_CHAIN_RUN; e++)
            strip[kiln_strip_place(strip_row + row % KILN_PART_ROWS, kiln_chain_column(run) + e)] =
                totals[r][run][e];
    }
}

/* Work-group number `group`. */
KILN_DEVICE void kiln_attend(const kiln_arguments &arguments, unsigned group, kiln_pack *shared)
{
    const unsigned wave = kiln_uniform(kiln_work_item() / KILN_WAVE_SIZE);
    const unsigned wave_row = wave * KILN_WAVE_M;
    const kiln_fold_place place =
        kiln_place_fold(group, (unsigned)arguments.m, (unsigned)arguments.n);
    const unsigned rows_left = (unsigned)arguments.m - place.row, last_row = rows_left - 1;
    kiln_lefts lefts;
    kiln_lefts_start(shared + wave_row * KILN_C_PACKS, lefts);
    kiln_totals totals;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++)
        KILN_UNROLL
    for (unsigned run = 0; run < KILN_CHAIN_RUNS; run++)
        KILN_UNROLL
    for (unsigned e = 0; e < KILN_CHAIN_RUN; e++)
        totals[i][r][run][e] = 0;
    kiln_batch batch;
    kiln_column_range range;
    kiln_fold_stages stages;
    unsigned outer = 0;
    bool has_batch = kiln_find_batch(arguments, place, outer, batch, range);
    if (has_batch)
        kiln_fold_begin(arguments, batch, place, range.end - place.column, stages);
    KILN_NO_UNROLL
    while (has_batch) {
        KILN_ARGUMENTS_AGAIN(kiln_arguments, arguments, own);
        const kiln_column_range now = range;
        kiln_score_source source;
        kiln_rows lane_rows;
        kiln_tile_inputs inputs;
        kiln_scores sums;
        kiln_score_start(own, batch, place.row, source);
        kiln_rows_start(own, source, wave_row, last_row, false, lane_rows);
        kiln_load_scores(own, source, wave_row, last_row, place.column, now.end, inputs);
        kiln_fold_end(own, place, stages, now.end - place.column, shared);
        kiln_barrier();
        outer++;
        has_batch = kiln_find_batch(own, place, outer, batch, range);
        if (has_batch)
            kiln_fold_begin(own, batch, place, range.end - place.column, stages);
        kiln_schedule_fence();
        kiln_multiply_scores(lefts, shared + KILN_LEFT_PACKS, sums);
        const bool is_edge = place.column < now.whole_first ||
                             place.column + KILN_TILE_N > now.whole_end ||
                             place.column + KILN_TILE_N > now.end;
        if (is_edge)
            kiln_add_weights(own, source, inputs, sums, wave_row, place.column, now.end, true,
                             lane_rows, totals);
        else
            kiln_add_weights(own, source, inputs, sums, wave_row, place.column, now.end, false,
                             lane_rows, totals);
        kiln_barrier();
    }

    KILN_ARGUMENTS_AGAIN(kiln_arguments, arguments, late);
    kiln_sum *strip = (kiln_sum *)shared;
    kiln_result_source result;
    kiln_locate_folded(late, place.batch, 0, batch);
    kiln_result_start(late, batch, place.row, place.column, result);
    KILN_NO_UNROLL
    for (unsigned pass = 0; pass < KILN_FRAGMENTS_M * KILN_ROW_PARTS; pass++) {
        const unsigned fragment = pass / KILN_ROW_PARTS, part = pass % KILN_ROW_PARTS;
        unsigned strip_row = wave * KILN_PART_ROWS;
        kiln_keep_uniform(strip_row);
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
            if (i == fragment)
                kiln_write_totals(strip, strip_row, part, totals[i]);
        kiln_barrier();
        kiln_tile_totals none;
        kiln_finish_strip(late, result, strip, fragment, part, rows_left,
                          (unsigned)late.n - place.column, none);
        kiln_barrier();
    }
}

#endif
