/*
 * Matrix products and convolutions, with the elementwise work on the operands and on the result.
 *
 *   left    A, m x k        right   B, k x n, of each of KILN_PRODUCTS products        result   C, m x n
 *
 *   sum_p[m, n] = sum over k of left[m, k] * right_p[k, n]        C[m, n] = finish(sum_0[m, n], sum_1[m, n])
 *
 * Batches come before these indices. Sizes and strides are arguments: arguments.m, .n, .k and, for each access, strides. A
 * work-group makes a tile of KILN_TILE_M x KILN_TILE_N sums. Rows beyond the end are read again from the last one and not stored; past
 * the end of k, tiles hold zero.
 *
 * The kernel is put together from headers of device/contraction/, one for each choice. The prelude includes them, in this order:
 *
 *   turns           device/turns.h, turns_none.h: whether a work-group takes several pieces of work
 *   result          finish.h, row_passes.h: whether rows, columns or tiles of the result are reduced
 *   part of k       k_whole.h, k_segments.h, k_cluster.h
 *   phases          phases_none.h, phases.h: whether rows of a strided gradient have a k of their own
 *   runs of k       run.h, or none: padding.h and the insides ask it which elements count
 *   padding         padding_none.h, padding.h: whether a NaN may come from padding
 *   insides         inside_points.h, _rows.h, _walk.h, _table.h, _runs.h: how packs know what is inside, if an index is decomposed
 *   operand sums    operand_sums_none.h, operand_sums.h: whether more work-groups add up rows of an operand
 *   operands        operands.h
 *   pipeline        staged.h, pingpong.h (with make_between.h or make_after.h, and a core), streamed.h, specialized.h
 *   ending          store.h, rows.h, column_statistics.h, tile_statistics.h
 *
 * Each header says what it expects. All expect these from the prelude:
 *
 *   KILN_SYMBOL, KILN_BLOCK, KILN_WAVE_SIZE        the kernel's name, and work-items of a work-group and of a wave
 *   KILN_TILE_M, _N, _K; KILN_WAVES_M, _N, _K      the tile, and the waves that share it (tile.h)
 *   KILN_PRODUCTS                                  1, or 2 that have the left operand in common
 *   KILN_BUFFERS                                   tiles of k in LDS
 *   KILN_K_END                                     of enum kiln_k_end (k_end.h)
 *   KILN_CHIPLETS, KILN_CHIPLET_RUN, KILN_SUPER_ROWS    the order of tiles (place.h)
 *   kiln_element, kiln_sum, KILN_PACK_ELEMENTS, KILN_ROW_PACKS, and a core of device/mma/
 *   kiln_arguments; facts about batches (map.h, batch.h) and about the operands left and right (operand.h)
 *   KILN_RESULT_VECTOR, and facts about the result (result.h)
 */
#ifndef KILN_SYMBOL
#include "default/contraction_prelude.h"
#endif

KILN_TURN_KERNEL(kiln_pack, shared, KILN_LDS_PACKS + KILN_RING_PACKS)
{
    KILN_TURN(group, kiln_pack, shared, KILN_LDS_PACKS + KILN_RING_PACKS)
    const unsigned rows = (unsigned)arguments.m, columns = (unsigned)arguments.n;
    if (kiln_does_sums(arguments, group, shared))
        return;
    const kiln_wave wave = kiln_find_wave();

    /* Place: a tile, so that neighbours in time share operands in a cache, and a part of k. */
    kiln_task task;
    kiln_take_segment(arguments, group, task.batch);
    task.place = kiln_place_group(group, (rows + KILN_TILE_M - 1) / KILN_TILE_M,
                                  (columns + KILN_TILE_COLUMNS - 1) / KILN_TILE_COLUMNS);
    kiln_locate_batch(arguments, task.place.batch, task.batch);
    task.range =
        kiln_range_of_group(arguments, task.batch, kiln_k_of_batch(arguments, task.batch));
    task.last_left = kiln_last_row(rows, task.place.row, KILN_LEFT_RUN);
    task.last_right = kiln_last_row(columns, task.place.column, KILN_RIGHT_RUN);

    /* Pipeline: operands to matrix instructions. */
    kiln_mma_sums sums[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N];
    if (task.range.is_empty)
        kiln_clear_sums(sums);
    else
        kiln_multiply(arguments, task, wave, shared, sums);

    /* Ending: strips of sums through LDS to memory. Rolled, as is the loop over rows: the work on the result is in the text once. */
    KILN_ARGUMENTS_AGAIN(kiln_arguments, arguments, late);
    kiln_sum *strip = (kiln_sum *)shared;
    const unsigned rows_left = rows - task.place.row, columns_left = columns - task.place.column;
    kiln_result_source result;
    kiln_tile_totals totals;
    kiln_result_start(late, task.batch, task.place.row, task.place.column, result);
    kiln_tile_totals_start(totals);
    KILN_NO_UNROLL
    for (unsigned pass = 0; pass < KILN_FRAGMENTS_M * KILN_ROW_PARTS; pass++) {
        const unsigned fragment = pass / KILN_ROW_PARTS, part = pass % KILN_ROW_PARTS;
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
            if (i == fragment && kiln_has_sums(wave))
                kiln_write_strip(strip + wave.k * KILN_STRIP_SUMS,
                                 wave.of_tile / KILN_WAVES_N * KILN_PART_ROWS, wave.column, part,
                                 sums[i]);
        kiln_cluster_barrier();
        kiln_finish_strip(late, result, strip, fragment, part, rows_left, columns_left,
                          totals);
        kiln_cluster_barrier();
    }
    kiln_tile_totals_end(late, result, columns_left, shared, totals);
}
