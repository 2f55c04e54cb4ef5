/*
 * Sums of products of two operands, with what is computed of the operands before and of the result
 * after it. A work-group makes a tile of KILN_TILE_M x KILN_TILE_N of the result, in four parts
 * (device/contraction/):
 *
 *   place    which tile, so that neighbours in time share operands in a cache
 *   stage    KILN_TILE_K of both operands from global memory, through what is computed of them, into LDS
 *   core     from LDS into matrix instructions (device/mma/)
 *   finish   sums through LDS into rows, through what is computed of them, to global memory
 *
 * Sizes and strides are arguments. Rows beyond the end are read again from the last one and not stored; what is
 * beyond the end of k is staged as zero.
 *
 * Where one operand has few rows, an element of the other one is wanted by a single wave: there is nothing to share in LDS.
 * Then the kernel is streamed (KILN_IS_STREAMED): each lane loads its part of the fragments itself, several steps
 * ahead, and stage and core are one. KILN_WAVES_K waves take turns along k and finish adds up their sums, in order.
 *
 * The prelude defines KILN_SYMBOL, KILN_BLOCK, KILN_TILE_M, _N, _K, KILN_WAVES_M, _N (of the tile), KILN_BUFFERS (tiles in LDS, 1
 * or 2), KILN_K_END (whether k ends within a tile: enum kiln_k_end), KILN_CHIPLETS and KILN_CHIPLET_RUN (neighbouring tiles for one chiplet),
 * KILN_IS_PINGPONG (the second schedule, of 8 waves: see the kernel), or KILN_CONSUMERS and KILN_PRODUCERS (the third one: work-items
 * that multiply and work-items that stage, with a ring of KILN_BUFFERS tiles between them; device/mma/wgmma.h),
 * KILN_WAVES_K (waves that share the k of a tile), KILN_GROUPS_K (neighbouring work-groups that do so; 1 but on Hopper, where they
 * read each other's LDS: device/contraction/cluster.h), KILN_IS_STREAMED,
 * KILN_HAS_SEGMENTS (whether work-groups do segments of k and store sums for another kernel that adds them up),
 * KILN_HAS_PHASES (defined where rows are sorted by phase, device/contraction/divide.h, each with a k of its own),
 * KILN_PRODUCTS (1, or 2 that have the left operand in common and share the columns of a tile), KILN_ROW_PARTS (in how many
 * parts rows of sums are finished),
 * KILN_SUPER_ROWS (tiles that are walked down before the next column), kiln_element (as staged), kiln_sum, KILN_RESULT_VECTOR, a
 * header of device/mma/, kiln_arguments, kiln_batch and kiln_locate_batch, and for both operands, `left` standing for
 * either,
 *   KILN_LEFT_RUN             rows that are loaded at once, where memory runs along them; 1 where it runs along k, or neither
 *   KILN_LEFT_IS_ALONG_K      which of these
 *   KILN_LEFT_PIECES          1; 2 or 4 where a work-item loads half or a quarter of a pack of each row of the run, and all of them have one
 *   KILN_LEFT_WORK            what packs are: 0 as they were loaded, 1 put together from several loads, 2 computed
 *   kiln_left_source          where the operand's tile is; start(), advance()
 *   kiln_left_lane            offsets that stay the same in all tiles of k; locate(), and keep() once a tile
 *   kiln_left_inputs          loads of one pack of KILN_LEFT_RUN rows, of all parts; kiln_left_load
 *   kiln_left_pack            the pack of one of the rows of a part
 * and kiln_result_source, kiln_result_inputs, kiln_result_load and kiln_finish, which a work-item calls for KILN_FINISHED_TOGETHER
 * vectors at once. Where values are reduced along rows, whole rows are in a tile, KILN_ROW_LANES
 * neighbouring lanes share one (else that is 0), and there are kiln_row (values of a row), kiln_row_start, KILN_ROW_PASSES(run),
 * run(0) run(1) ..., and for each pass kiln_row_pass_<n>, a structure of functions, in place of kiln_finish:
 *   totals, start             what a lane accumulates
 *   update                    evaluates a vector of the row's elements, accumulates and stores
 *   exchange                  merges totals of two lanes
 *   finish                    what is known of the row now
 * KILN_STATISTICS says that the elements of the tile are reduced and the accumulators stored, for another kernel to merge: those of
 * each of its rows (1; then KILN_ROW_LANES share a row, and finish stores), of each of its columns (2), or of all of it (3). There is one
 * pass then, and it has store and meet too, for columns store_column; KILN_STATISTICS_PACKS of LDS are for meet.
 * Where rows of an operand are added up over k too, by work-groups behind the first arguments.tiles, KILN_SUM_ROWS is defined (how
 * many rows one of them does), KILN_SUMS_HAVE_SEGMENTS (whether of a segment of k each), KILN_IS_RIGHT_SUMMED (of which operand), KILN_SUM_DECODE, KILN_SUMMED_RUN and _IS_ALONG_K,
 * kiln_summed_ source, start, advance, inputs, load and pack, which are that operand's in other vectors, kiln_locate_sum_batch, and
 * kiln_finish_sum, which takes the sum of a row.
 */
#ifndef KILN_SYMBOL
#include "default/contraction_prelude.h"
#endif

/* Of the result: each product has as many. */
#define KILN_TILE_COLUMNS (KILN_TILE_N / KILN_PRODUCTS)

#define KILN_WAVE_M      (KILN_TILE_M / KILN_WAVES_M)
#define KILN_WAVE_N      (KILN_TILE_N / KILN_WAVES_N)
#define KILN_FRAGMENTS_M (KILN_WAVE_M / KILN_MMA_M)
#define KILN_FRAGMENTS_N (KILN_WAVE_N / KILN_MMA_N)
#define KILN_STEPS       (KILN_ROW_PACKS / KILN_MMA_GROUPS)

#define KILN_TILE_PACKS  ((KILN_TILE_M + KILN_TILE_N) * KILN_ROW_PACKS)
/* The columns of the strip, and the fragments of them that a wave has. */
#define KILN_STRIP_COLUMNS   KILN_TILE_N
#define KILN_STRIP_FRAGMENTS KILN_FRAGMENTS_N
/* Rows of an instruction's sums that are in the strip together. */
#define KILN_PART_ROWS   (KILN_MMA_M / KILN_ROW_PARTS)
#define KILN_STRIP_ROWS  (KILN_WAVES_M * KILN_PART_ROWS)
#define KILN_STRIP_SUMS  (KILN_STRIP_ROWS * KILN_TILE_N) /* of the waves that share a slice of k */
#define KILN_STRIP_PACKS (KILN_WAVES_K * KILN_STRIP_SUMS * (int)sizeof(kiln_sum) / 16)
#define KILN_SUM_PACKS                                                                             \
    (KILN_BUFFERS * KILN_TILE_PACKS > KILN_STRIP_PACKS ? KILN_BUFFERS * KILN_TILE_PACKS            \
                                                       : KILN_STRIP_PACKS)
#ifdef KILN_SUM_ROWS
#define KILN_ENTRY_PACKS                                                                           \
    (KILN_SUM_ROWS * KILN_SUM_LANES * (int)sizeof(kiln_sum) / 16)
#else
#define KILN_ENTRY_PACKS 0
#endif
#define KILN_END_PACKS                                                                             \
    (KILN_ENTRY_PACKS > KILN_STATISTICS_PACKS ? KILN_ENTRY_PACKS : KILN_STATISTICS_PACKS)
#define KILN_LDS_PACKS (KILN_SUM_PACKS > KILN_END_PACKS ? KILN_SUM_PACKS : KILN_END_PACKS)

/* Streamed, rows that are loaded at once belong to as many fragments: neighbouring rows of a
 * fragment are so many apart. */
#if KILN_IS_STREAMED
#define KILN_LEFT_SPREAD  KILN_LEFT_RUN
#define KILN_RIGHT_SPREAD KILN_RIGHT_RUN
#else
#define KILN_LEFT_SPREAD  1
#define KILN_RIGHT_SPREAD 1
#endif

/* Whether a work-group has a part of k only. */
#define KILN_CUTS_K (KILN_HAS_SEGMENTS || KILN_GROUPS_K > 1)

/* Barriers of the ring, behind its tiles. */
#ifdef KILN_CONSUMERS
#define KILN_RING_PACKS KILN_BUFFERS
#else
#define KILN_RING_PACKS 0
#endif

#include "device/turns.h"
#include "device/contraction/place.h"
#include "device/contraction/stage.h"
#if !KILN_IS_STREAMED
KILN_STAGE(left, LEFT, KILN_TILE_M, KILN_TILE_SHAPE(KILN_ROW_PACKS, 7), 1, KILN_ROW_AS_IS)
KILN_STAGE(right, RIGHT, KILN_TILE_COLUMNS, KILN_TILE_SHAPE(KILN_ROW_PACKS, 7), KILN_PRODUCTS,
           KILN_ROW_AS_IS)
#endif
#if defined(KILN_CONSUMERS)
#include "device/contraction/specialized.h"
#elif KILN_IS_STREAMED
#include "device/contraction/streamed.h"
#else
#include "device/contraction/staged.h"
#endif
#include "device/contraction/cluster.h"
#include "device/contraction/finish.h"
#include "device/contraction/statistics.h"
#ifdef KILN_SUM_ROWS
#include "device/contraction/operand_sums.h"
#endif

KILN_TURN_KERNEL(kiln_pack, shared, KILN_LDS_PACKS + KILN_RING_PACKS)
{
    KILN_TURN(group, kiln_pack, shared, KILN_LDS_PACKS + KILN_RING_PACKS)
    const unsigned rows = (unsigned)arguments.m, columns = (unsigned)arguments.n;
    const unsigned wave_of_group = kiln_uniform(kiln_work_item() / KILN_WAVE_SIZE);
    const unsigned wave_k = wave_of_group / (KILN_WAVES_M * KILN_WAVES_N);
    const unsigned wave = wave_of_group % (KILN_WAVES_M * KILN_WAVES_N);
    const unsigned wave_row = wave / KILN_WAVES_N * KILN_WAVE_M;
    const unsigned wave_column = wave % KILN_WAVES_N * KILN_WAVE_N;
    kiln_batch batch;
    kiln_k_range range;
    range.first = 0;
    range.size = (unsigned)arguments.k;
    range.is_empty = false;
#ifdef KILN_SUM_ROWS
    if (group >= (unsigned)arguments.tiles) {
        kiln_sum_operand(arguments, group - (unsigned)arguments.tiles, shared);
        return;
    }
#endif
#if KILN_HAS_SEGMENTS
    batch.segment = group % (unsigned)arguments.segments;
    group /= (unsigned)arguments.segments;
#elif KILN_GROUPS_K > 1
    group /= KILN_GROUPS_K;
#endif
    const kiln_place place =
        kiln_place_group(group, (rows + KILN_TILE_M - 1) / KILN_TILE_M,
                         (columns + KILN_TILE_COLUMNS - 1) / KILN_TILE_COLUMNS);
    kiln_locate_batch(arguments, place.batch, batch);
#ifdef KILN_HAS_PHASES
    range.size = kiln_phase_k(arguments, batch);
    range.is_empty = kiln_phase_is_empty(batch);
#endif
#if KILN_CUTS_K
    const bool is_empty = range.is_empty;
#if KILN_HAS_SEGMENTS
    range = kiln_range_of_segment(range.size, (unsigned)arguments.segments, batch.segment);
#else
    range = kiln_range_of_segment(range.size, KILN_GROUPS_K, kiln_cluster_rank());
#endif
    range.is_empty |= is_empty;
#endif
#if defined(KILN_CONSUMERS) && (KILN_CUTS_K || defined(KILN_HAS_PHASES))
    /* There the loops over k may be empty. */
    const unsigned size = range.is_empty ? 0 : range.size;
#else
    const unsigned size = range.size;
#endif

    const unsigned last_left = kiln_last_row(rows, place.row, KILN_LEFT_RUN);
    const unsigned last_right = kiln_last_row(columns, place.column, KILN_RIGHT_RUN);
    kiln_mma_sums sums[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N];
#if !KILN_IS_STREAMED
    kiln_left_stage left;
    kiln_right_stage right;
    kiln_left_start(arguments, batch, place.row, left.source);
    kiln_right_start(arguments, batch, place.column, right.source);
#if KILN_CUTS_K
    kiln_left_advance(arguments, range.first, left.source);
    kiln_right_advance(arguments, range.first, right.source);
#endif
#endif
#ifdef KILN_CONSUMERS
    const kiln_ring ring = kiln_ring_init(shared + KILN_LDS_PACKS);
    const bool is_consumer = wave_of_group < KILN_CONSUMERS / KILN_WAVE_SIZE;
    if (is_consumer)
        kiln_consume(size, ring, shared, wave_row, wave_k, sums[0][0]);
    else
        kiln_produce(arguments, left, right, last_left, last_right, size, ring, shared);
    kiln_barrier();
    kiln_ring_end(ring);
#else
    const bool is_consumer = true;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
        KILN_UNROLL
    for (int slot = 0; slot < KILN_MMA_SLOTS; slot++)
        sums[i][j][slot] = 0;

#if KILN_IS_STREAMED
    kiln_stream stream;
    kiln_left_start(arguments, batch, place.row, stream.left);
    kiln_right_start(arguments, batch, place.column, stream.right);
    stream.wave_row = wave_row;
    stream.wave_column = wave_column;
    stream.last_left = last_left;
    stream.last_right = last_right;
#if KILN_CUTS_K
    kiln_advance(arguments, stream, range.first);
#endif
    kiln_stream_k(arguments, stream, size, wave_k, sums);
#else
    kiln_left_lanes left_lanes;
    kiln_right_lanes right_lanes;
    kiln_left_begin(arguments, last_left, left_lanes);
    kiln_right_begin(arguments, last_right, right_lanes);
    /* The first tile is what whole ones leave over. */
    const unsigned first = KILN_K_END == 0 ? KILN_TILE_K : (size - 1) % KILN_TILE_K + 1;
    const unsigned end = KILN_K_END == 0 ? KILN_WHOLE_K : first;
    kiln_left_fetch_ahead(arguments, left, left_lanes, last_left, end);
    kiln_right_fetch_ahead(arguments, right, right_lanes, last_right, end);
    kiln_left_store_ahead(arguments, left, end, shared);
    kiln_right_store_ahead(arguments, right, end, shared + KILN_TILE_M * KILN_ROW_PACKS);
    kiln_barrier();
    const unsigned steps = KILN_K_END == 2 ? 1 : (size + KILN_TILE_K - 1) / KILN_TILE_K;
    const kiln_starts starts = kiln_locate_fragments(wave_row, wave_column);
    unsigned tile_k = KILN_TILE_K;
    kiln_keep_uniform(tile_k);
    /* Sources are at the tile that is fetched next. */
    if (steps > 1) {
        kiln_left_advance(arguments, first, left.source);
        kiln_right_advance(arguments, first, right.source);
    }
    /* After the last tile it is fetched once more, so that there is no other form of the loop; where
     * it may be the first one too, and not whole, it is not. */
#if KILN_K_END == 3
#define KILN_FETCHES_ALWAYS 0
#define KILN_FETCHES_NEXT   (step + 1 < steps)
#else
#define KILN_FETCHES_ALWAYS (KILN_K_END != 2)
#define KILN_FETCHES_NEXT   KILN_FETCHES_ALWAYS
#endif
    /* Packs of the next tile are made between products, where something is computed and all work-items make as many. */
    enum {
        OVERLAPS = KILN_MMA_OVERLAPS && KILN_FETCHES_ALWAYS,
        MAKES_LEFT = OVERLAPS && KILN_LEFT_WORK > 0 && KILN_LEFT_PARTS % KILN_STAGE_ITEMS == 0,
        MAKES_RIGHT = OVERLAPS && KILN_RIGHT_WORK > 0 && KILN_RIGHT_PARTS % KILN_STAGE_ITEMS == 0,
        IS_COMPUTED = KILN_LEFT_WORK > 1 || KILN_RIGHT_WORK > 1
    };
    kiln_packs packs;
#if KILN_IS_PINGPONG
    /*
     * Eight phases that end with a barrier each: in the even ones a wave uses memory, in the odd
     * ones it multiplies. The upper half of the waves is a phase behind, so that on each SIMD one
     * of two waves multiplies while the other one reads. There is one tile in LDS:
     *   - The last reads of it are complete at the end of phase 4. The lower half writes the next
     * tile in its phase 6, when the upper half is in phase 5; the upper half writes while the lower
     * one is in phase 7.
     *   - Writes are complete at the end of phase 6. The first reads are of the lower half, in its
     *     phase 0, when the upper half is in phase 7 already.
     */
    const bool is_behind = wave >= KILN_WAVES_M * KILN_WAVES_N / 2;
    /* Packs are made in phase 5, so that loads have long; where there is more to compute, in phases 3 and 5, and 1 too if the left
     * operand is, which is fetched before the loop then. */
    enum { PHASES = !IS_COMPUTED ? 1 : MAKES_LEFT ? 3 : 2 };
    if (MAKES_LEFT)
        kiln_left_fetch_ahead(arguments, left, left_lanes, last_left, KILN_WHOLE_K);
    if (is_behind)
        kiln_phase_end();
    KILN_NO_UNROLL
    for (unsigned step = 0; step < steps; step++) {
        kiln_fragment left_now[KILN_FRAGMENTS_M], right_now[KILN_FRAGMENTS_N];
        kiln_fragment left_last[KILN_FRAGMENTS_M], right_last[KILN_FRAGMENTS_N];

        kiln_load_fragments(shared, starts, 0, left_now, right_now);
        if (KILN_FETCHES_NEXT && !MAKES_LEFT)
            kiln_left_fetch_ahead(arguments, left, left_lanes, last_left, KILN_WHOLE_K);
        if (KILN_FETCHES_NEXT && MAKES_RIGHT)
            kiln_right_fetch_ahead(arguments, right, right_lanes, last_right, KILN_WHOLE_K);
        kiln_phase_end();
        kiln_await_local();
        if (PHASES == 3)
            kiln_multiply_and_make<MAKES_LEFT, MAKES_RIGHT, 0, PHASES>(
                arguments, left_now, right_now, sums, left, right, packs);
        else
            kiln_multiply_fragments(left_now, right_now, sums);
        kiln_phase_end();

        kiln_load_fragments(shared, starts, 1, left_now, right_now);
        if (KILN_FETCHES_NEXT && !MAKES_RIGHT)
            kiln_right_fetch_ahead(arguments, right, right_lanes, last_right, KILN_WHOLE_K);
        kiln_left_advance(arguments, step + 2 < steps ? tile_k : 0, left.source);
        kiln_right_advance(arguments, step + 2 < steps ? tile_k : 0, right.source);
        kiln_phase_end();
        kiln_await_local();
        if (PHASES >= 2)
            kiln_multiply_and_make<MAKES_LEFT, MAKES_RIGHT, PHASES >= 2 ? PHASES - 2 : 0, PHASES>(
                arguments, left_now, right_now, sums, left, right, packs);
        else
            kiln_multiply_fragments(left_now, right_now, sums);
        kiln_phase_end();

        kiln_load_fragments(shared, starts, 2, left_now, right_now);
        kiln_load_fragments(shared, starts, 3, left_last, right_last);
        kiln_await_local();
        kiln_phase_end();
        kiln_multiply_and_make<MAKES_LEFT, MAKES_RIGHT, PHASES - 1, PHASES>(arguments, left_now, right_now, sums, left,
                                                   right, packs);
        kiln_phase_end();

        if (MAKES_LEFT)
            kiln_left_write(packs.left, shared);
        else if (KILN_FETCHES_NEXT)
            kiln_left_store_ahead(arguments, left, KILN_WHOLE_K, shared);
        if (MAKES_RIGHT)
            kiln_right_write(packs.right, shared + KILN_TILE_M * KILN_ROW_PACKS);
        else if (KILN_FETCHES_NEXT)
            kiln_right_store_ahead(arguments, right, KILN_WHOLE_K,
                             shared + KILN_TILE_M * KILN_ROW_PACKS);
        if (MAKES_LEFT)
            kiln_left_fetch_ahead(arguments, left, left_lanes, last_left, KILN_WHOLE_K);
        kiln_await_local();
        kiln_phase_end();
        kiln_multiply_fragments(left_last, right_last, sums);
        kiln_phase_end();
    }
    if (!is_behind)
        kiln_phase_end();
    kiln_barrier();
#else
    unsigned offset = 0; /* of the tile that is computed with */
    KILN_NO_UNROLL
    for (unsigned step = 0; step < steps; step++) {
        if (KILN_FETCHES_NEXT) {
            kiln_left_fetch_ahead(arguments, left, left_lanes, last_left, KILN_WHOLE_K);
            kiln_right_fetch_ahead(arguments, right, right_lanes, last_right, KILN_WHOLE_K);
            kiln_left_advance(arguments, step + 2 < steps ? tile_k : 0, left.source);
            kiln_right_advance(arguments, step + 2 < steps ? tile_k : 0, right.source);
        }
        kiln_schedule_fence();
        kiln_core<MAKES_LEFT, MAKES_RIGHT, IS_COMPUTED>(arguments, shared + offset, starts, wave_k, left, right,
                                           packs, sums);
        kiln_schedule_fence();
        if (KILN_BUFFERS == 1)
            kiln_barrier();
        else
            offset = KILN_TILE_PACKS - offset;
        if (MAKES_LEFT)
            kiln_left_write(packs.left, shared + offset);
        else if (KILN_FETCHES_NEXT)
            kiln_left_store_ahead(arguments, left, KILN_WHOLE_K, shared + offset);
        if (MAKES_RIGHT)
            kiln_right_write(packs.right, shared + offset + KILN_TILE_M * KILN_ROW_PACKS);
        else if (KILN_FETCHES_NEXT)
            kiln_right_store_ahead(arguments, right, KILN_WHOLE_K,
                             shared + offset + KILN_TILE_M * KILN_ROW_PACKS);
        kiln_barrier();
    }
#endif
#endif
#endif

#if KILN_CUTS_K || defined(KILN_HAS_PHASES)
    if (range.is_empty) {
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
            KILN_UNROLL
        for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
            KILN_UNROLL
        for (int slot = 0; slot < KILN_MMA_SLOTS; slot++)
            sums[i][j][slot] = 0;
    }
#endif

    kiln_sum *strip = (kiln_sum *)shared;
    kiln_result_source result;
    kiln_result_start(arguments, batch, place.row, place.column, result);
    const unsigned rows_left = rows - place.row, columns_left = columns - place.column;
#if KILN_STATISTICS >= 2
    kiln_tile_totals totals;
    kiln_statistics_start(totals);
#endif
    /* Rolled, as is the loop over rows: what is computed of the result is in the text once. */
    KILN_NO_UNROLL
    for (unsigned pass = 0; pass < KILN_FRAGMENTS_M * KILN_ROW_PARTS; pass++) {
        const unsigned fragment = pass / KILN_ROW_PARTS, part = pass % KILN_ROW_PARTS;
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
            if (i == fragment && is_consumer)
                kiln_write_strip(strip + wave_k * KILN_STRIP_SUMS,
                                 wave / KILN_WAVES_N * KILN_PART_ROWS, wave_column, part, sums[i]);
        kiln_cluster_barrier();
#if KILN_STATISTICS >= 2
        kiln_finish_strip(arguments, result, strip, fragment, part, rows_left, columns_left,
                          totals);
#else
        kiln_finish_strip(arguments, result, strip, fragment, part, rows_left, columns_left);
#endif
        kiln_cluster_barrier();
    }
#if KILN_STATISTICS >= 2
    kiln_statistics_end(arguments, result, columns_left, shared, totals);
#endif
}
