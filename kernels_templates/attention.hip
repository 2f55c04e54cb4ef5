/*
 * Two products in one kernel: of rows m and columns n scores are made, of those weights, which are multiplied by values.
 *
 *   score_i[m, n]  = sum over c of left_i[m, c] * right_i[n, c]
 *   weight_v[m, n] = of the scores; online, of the exponential of one, relative to its row's largest
 *   result_v[m, d] = sum over n of weight_v[m, n] * value_v[n, d]
 *
 * A work-group has KILN_TILE_M rows of a batch, a wave a part of them; all of c and d are in a tile. It walks over n in tiles
 * of KILN_TILE_N. Weights are never in memory: sums of the first products are the left operand of the second ones,
 * in registers where the core can (device/mma/: kiln_chain_*). The parts (device/attention/, device/contraction/):
 *
 *   place     which rows
 *   tiles     right operands and values into LDS, the next ones while these are multiplied
 *   products  both, from LDS into matrix instructions
 *   scores    from sums to weights: the score function and the online softmax
 *   finish    results through LDS into rows, through what is computed of them, to global memory
 *
 * Sizes and strides are arguments. default/attention_prelude.h has all that a prelude defines, for the plain case. Beyond that:
 *   KILN_SCORES 2, KILN_VALUES 2   left_1, right_1, value_1 with KILN_LEFT_1_RUN and so on, c_1, d_1
 *   KILN_VALUES 0, KILN_RESULTS 1  no second product: a tile of weights itself is the result, d is n. They are summed over
 *                                  arguments.outer batches: kiln_locate_batch(arguments, rest, outer, batch). device/attention/fold.h
 *   KILN_HAS_OUTER                 kiln_outer_count(arguments, batch): n is walked so often, with batch.outer = 0, 1, ...
 *   KILN_VALUE_SHARES, KILN_VALUE_1_SHARES   1 + i where the value is in the memory of right_i: where the core can read
 *                                  a tile both ways it is not staged again
 *   KILN_HAS_SEGMENTS              n is cut into arguments.segments, of which a batch has the one that kiln_locate_batch calls
 *                                  batch.segment; what kiln_finish stores of each, with the row's totals, is for another kernel
 *                                  to merge
 *   KILN_WAVES_D                   waves that share the same rows: each makes all of their scores, and has its part of the
 *                                  result's columns
 *   KILN_TILES_ARE_LATE            tiles are loaded where they are stored, a few packs at a time, so that no registers hold
 *                                  them in between
 * Where the first products' core is rolled (KILN_MMA_STEPS), KILN_IS_LEFT_KEPT has to be 0.
 */
#ifndef KILN_SYMBOL
#include "default/attention_prelude.h"
#endif

#ifndef KILN_WAVES_D
#define KILN_WAVES_D 1
#endif
#ifndef KILN_TILES_ARE_LATE
#define KILN_TILES_ARE_LATE 0
#endif
#define KILN_WAVE_M      (KILN_TILE_M / KILN_WAVES_M)
#define KILN_FRAGMENTS_M (KILN_WAVE_M / KILN_MMA_M)
#define KILN_FRAGMENTS_N (KILN_TILE_N / KILN_MMA_N)
#define KILN_WAVE_D      (KILN_TILE_D / KILN_WAVES_D)
#define KILN_FRAGMENTS_D (KILN_WAVE_D / KILN_MMA_N)
#define KILN_C_PACKS     (KILN_TILE_C / KILN_PACK_ELEMENTS)
#define KILN_N_PACKS     (KILN_TILE_N / KILN_PACK_ELEMENTS)
#define KILN_D_PACKS     (KILN_TILE_D / KILN_PACK_ELEMENTS)
#define KILN_C_STEPS     (KILN_C_PACKS / KILN_MMA_GROUPS)
#define KILN_N_STEPS     (KILN_N_PACKS / KILN_MMA_GROUPS)
/* Of operands that run along their rows neighbouring lanes store rows a run apart. */
#define KILN_CROSSING(is_along_k, run) ((is_along_k) || (run) == 1 ? 0u : (run) <= 4 ? 3u : 7u)
#define KILN_LEFT_SHAPE   KILN_TILE_SHAPE(KILN_C_PACKS, 0u) /* the same wherever a wave's rows begin */
#define KILN_RIGHT_SHAPE  KILN_TILE_SHAPE(KILN_C_PACKS, KILN_CROSSING(KILN_RIGHT_IS_ALONG_K, KILN_RIGHT_RUN))
#define KILN_WEIGHT_SHAPE KILN_TILE_SHAPE(KILN_N_PACKS, 0u)
#define KILN_VALUE_CROSSING KILN_CROSSING(KILN_VALUE_IS_ALONG_K, KILN_VALUE_RUN)
#if KILN_VALUE_IS_TRANSPOSED
#define KILN_VALUE_SHAPE KILN_TILE_SHAPE(KILN_D_PACKS, 0u)
#else
#define KILN_VALUE_SHAPE KILN_TILE_SHAPE(KILN_N_PACKS, KILN_VALUE_CROSSING)
#endif
/* Of a lane, in each of its rows. */
#define KILN_CHAIN_RUNS                                                                            \
    (KILN_FRAGMENTS_N * KILN_MMA_SLOTS / (KILN_CHAIN_ROWS * KILN_CHAIN_RUN))

/* 0, or 1 + the number of the right tile that the value is read from. */
#if defined(KILN_MMA_READS_TRANSPOSED) && defined(KILN_VALUE_SHARES)
#define KILN_VALUE_OF KILN_VALUE_SHARES
#else
#define KILN_VALUE_OF 0
#endif
#if defined(KILN_MMA_READS_TRANSPOSED) && defined(KILN_VALUE_1_SHARES)
#define KILN_VALUE_1_OF KILN_VALUE_1_SHARES
#else
#define KILN_VALUE_1_OF 0
#endif
#define KILN_OWN_VALUES ((KILN_VALUES > 0 && KILN_VALUE_OF == 0) + (KILN_VALUES > 1 && KILN_VALUE_1_OF == 0))

/* LDS: left operands that are not kept in registers, then rights and values of KILN_BUFFERS steps, then weights where lanes
 * exchange them there. Before and after all that it is for left operands on their way and for the strip. */
#define KILN_LEFT_TILE_PACKS   (KILN_TILE_M * KILN_C_PACKS)
#define KILN_RIGHT_TILE_PACKS  (KILN_TILE_N * KILN_C_PACKS)
#define KILN_VALUE_TILE_PACKS  (KILN_TILE_D * KILN_N_PACKS)
#define KILN_WEIGHT_TILE_PACKS (KILN_TILE_M * KILN_N_PACKS)
#define KILN_LEFT_PACKS        (KILN_SCORES * KILN_LEFT_TILE_PACKS)
#define KILN_RIGHT_PACKS       (KILN_SCORES * KILN_RIGHT_TILE_PACKS)
#define KILN_STEP_PACKS        (KILN_RIGHT_PACKS + KILN_OWN_VALUES * KILN_VALUE_TILE_PACKS)
#define KILN_RESIDENT_PACKS    (KILN_IS_LEFT_KEPT ? 0 : KILN_LEFT_PACKS)
#define KILN_LOOP_PACKS                                                                            \
    (KILN_RESIDENT_PACKS + KILN_BUFFERS * KILN_STEP_PACKS +                                        \
     (KILN_CHAIN_IS_LOCAL ? KILN_VALUES * KILN_WEIGHT_TILE_PACKS : 0))
#define KILN_PART_ROWS       (KILN_MMA_M / KILN_ROW_PARTS)
#define KILN_STRIP_ROWS      (KILN_WAVES_M * KILN_PART_ROWS)
#define KILN_STRIP_COLUMNS   (KILN_RESULTS * KILN_TILE_D)
#define KILN_STRIP_FRAGMENTS (KILN_RESULTS * KILN_FRAGMENTS_D) /* of a wave */
#define KILN_STRIP_SUMS      (KILN_STRIP_ROWS * KILN_STRIP_COLUMNS)
#define KILN_TOTALS_PACKS    ((KILN_TILE_M * (int)sizeof(kiln_row) + 15) / 16)
#define KILN_STRIP_PACKS     (KILN_STRIP_SUMS * (int)sizeof(kiln_sum) / 16 + KILN_TOTALS_PACKS)
#define KILN_END_PACKS                                                                             \
    (KILN_STRIP_PACKS > KILN_LEFT_TILE_PACKS ? KILN_STRIP_PACKS : KILN_LEFT_TILE_PACKS)
#define KILN_LDS_PACKS (KILN_LOOP_PACKS > KILN_END_PACKS ? KILN_LOOP_PACKS : KILN_END_PACKS)

/* What finish.h knows of products. */
#define KILN_TILE_COLUMNS KILN_TILE_D
#define KILN_PRODUCTS     KILN_RESULTS
#define KILN_WAVES_K      1
#define KILN_GROUPS_K     1
#define KILN_STATISTICS   0
#define KILN_ROW_LANES    0
#define KILN_STRIP_COLUMN(j) ((j) / KILN_FRAGMENTS_D * KILN_TILE_D + (j) % KILN_FRAGMENTS_D * KILN_MMA_N)
#define KILN_LEFT_SPREAD  1
#define KILN_RIGHT_SPREAD 1
#if KILN_VALUES == 0
#define KILN_ROW_TOTALS(strip, row) kiln_row{},
#else
#define KILN_ROW_TOTALS(strip, row) ((const kiln_row *)((strip) + KILN_STRIP_SUMS))[row],
#endif

/* Strides times what a lane has of a tile are not computed before the first batch for all of them. */
#if KILN_HAS_OUTER
#define KILN_ARGUMENTS_OF_OUTER KILN_ARGUMENTS_AGAIN
#else
#define KILN_ARGUMENTS_OF_OUTER(type, arguments, name) const type &name = arguments
#endif
#define KILN_OF_SUM_SCALAR(name, scalar)  name##scalar
#define KILN_OF_SCALAR(name, scalar)      KILN_OF_SUM_SCALAR(name, scalar)
#define KILN_FMA_SUM(a, b, c)             KILN_OF_SCALAR(kiln_fma_, KILN_SUM_SCALAR)(a, b, c)
#define KILN_EXCHANGE_SUM(value, mask)    KILN_OF_SCALAR(kiln_shuffle_xor_, KILN_SUM_SCALAR)(value, mask)
#ifndef KILN_HIDES_SCORES_LAST
#define KILN_HIDES_SCORES_LAST 0
#endif
#ifndef KILN_HAS_SEGMENTS
#define KILN_HAS_SEGMENTS 0
#endif
#ifndef KILN_SCORE_LOADS_ARE_LATE
#define KILN_SCORE_LOADS_ARE_LATE 0 /* or 1: after the first products */
#endif
#ifndef KILN_LEFT_IS_COPIED
#define KILN_LEFT_IS_COPIED 0
#endif
#ifndef KILN_MMA_SUM
#define KILN_MMA_SUM(sum) (sum)
#endif

#include "device/turns.h"
#include "device/attention/place.h"
#include "device/contraction/stage.h"
#ifdef KILN_MMA_LOADS_OF_LANE
#define KILN_HAS_FEW_REGISTERS 1
#else
#define KILN_HAS_FEW_REGISTERS 0
#endif
#include "device/attention/tiles.h"
#include "device/attention/products.h"
#include "device/attention/scores.h"
#include "device/contraction/cluster.h"
#include "device/contraction/finish.h"

#if KILN_VALUES == 0
#include "device/attention/fold.h"
#else

/* A left operand by way of LDS to where the wave has it. What is copied and stays in LDS is awaited with the first tiles. */
#if KILN_LEFT_IS_COPIED
#define KILN_STAGE_LEFT(side, SIDE)                                                                \
    KILN_UNROLL                                                                                    \
    for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS; turn++) {                                  \
        const unsigned index = kiln_work_item() + turn * KILN_BLOCK;                               \
        if (KILN_##SIDE##_UNITS % KILN_BLOCK != 0 && index >= KILN_##SIDE##_UNITS)                 \
            break;                                                                                 \
        const unsigned row = index / KILN_C_PACKS, pack = index % KILN_C_PACKS;                    \
        kiln_##side##_copy(arguments, stage.source, 0, row, pack * KILN_PACK_ELEMENTS, rest,       \
                           row < rows_left, tile + kiln_pack_place(row, pack, KILN_LEFT_SHAPE));   \
    }                                                                                              \
    if (KILN_IS_LEFT_KEPT) {                                                                       \
        KILN_AWAIT_COPIES();                                                                       \
        kiln_barrier();                                                                            \
    }
#else
#define KILN_STAGE_LEFT(side, SIDE)                                                                \
    const unsigned last = kiln_last_row(rows, place.row, KILN_##SIDE##_RUN);                       \
    KILN_FETCH(side, arguments, stage, last, rest);                                                \
    KILN_STORE(side, arguments, stage, last, rest, tile);                                          \
    kiln_barrier();
#endif
#define KILN_TAKE_LEFT(side, SIDE, nth, size_c)                                                    \
    {                                                                                              \
        const unsigned rest = KILN_C_END ? (unsigned)arguments.size_c : KILN_WHOLE_K;              \
        kiln_pack *tile = shared + (KILN_IS_LEFT_KEPT ? 0 : nth * KILN_LEFT_TILE_PACKS);           \
        kiln_##side##_stage stage;                                                                 \
        kiln_##side##_start(arguments, batch, place.row, stage.source);                            \
        KILN_STAGE_LEFT(side, SIDE)                                                                \
        KILN_KEEP_LEFT(nth)                                                                        \
    }
#if KILN_IS_LEFT_KEPT
#define KILN_KEEP_LEFT(nth)                                                                        \
    KILN_UNROLL                                                                                    \
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)                                                \
        KILN_UNROLL                                                                                \
    for (unsigned step = 0; step < KILN_C_STEPS; step++)                                           \
        kiln_load_left(lefts.fragments[nth][i][step], tile + wave_row * KILN_C_PACKS,              \
                       i * KILN_MMA_M, step, KILN_LEFT_SHAPE);                                     \
    kiln_barrier();
#else
#define KILN_KEEP_LEFT(nth)
#endif

KILN_TURN_KERNEL(kiln_pack, shared, KILN_LDS_PACKS)
{
    KILN_TURN(group, kiln_pack, shared, KILN_LDS_PACKS)
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
    kiln_column_range range;
    kiln_find_columns(arguments, batch, place.row,
                      rows_left < KILN_TILE_M ? rows : place.row + KILN_TILE_M, range);
#if KILN_HAS_SEGMENTS
    const bool is_first_segment = batch.segment == 0;
    kiln_cut_columns((unsigned)arguments.segments, batch.segment, range);
#else
    const bool is_first_segment = true;
#endif

    kiln_lefts lefts;
#if !KILN_IS_LEFT_KEPT
    lefts.tiles = shared + wave_row * KILN_C_PACKS;
#endif
    KILN_TAKE_LEFT(left, LEFT, 0, c)
#if KILN_SCORES > 1
    KILN_TAKE_LEFT(left_1, LEFT_1, 1, c_1)
#endif

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
    /* What LLVM does not know it does not move out of the loop over batches, where results would be in scratch memory then. */
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
        kiln_rows_start(own, scores, wave_row, last_row, outer == 0, is_first_segment,
                        lane_rows);
        if (range.first >= range.end) {
            KILN_AWAIT_COPIES(); /* of left operands, where the strip will be */
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
                                 (KILN_N_END && column + KILN_TILE_N > range.end);
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
    kiln_rows_end(late, scores, wave_row, lane_rows, results,
                  (kiln_row *)(strip + KILN_STRIP_SUMS));
#if KILN_VALUES > 1
    const unsigned columns =
        (unsigned)(late.d > late.d_1 ? late.d : late.d_1);
#else
    const unsigned columns = (unsigned)late.d;
#endif
    /* Rolled: what is computed of the result is in the text once. */
    KILN_NO_UNROLL
    for (unsigned pass = 0; pass < KILN_FRAGMENTS_M * KILN_ROW_PARTS; pass++) {
        const unsigned fragment = pass / KILN_ROW_PARTS, part = pass % KILN_ROW_PARTS;
        unsigned strip_row = wave / KILN_WAVES_D * KILN_PART_ROWS;
        kiln_keep_uniform(strip_row); /* no addresses of all passes beside the results */
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
            if (i == fragment)
                kiln_write_strip(strip, strip_row, wave_column, part, results[i]);
        kiln_barrier();
        kiln_finish_strip(late, result, strip, fragment, part, rows_left, columns);
        kiln_barrier();
    }
}
#endif
