/*
 * Matrix products whose rows are in groups, each with an expert's matrix: mixtures of experts.
 *
 *   C[to(r), n] = finish(sum over k of A[from(r), k] * B[expert of r's group, k, n])
 *
 * The offsets of the groups are data. A work-group finds the rows of its tile when it runs, and ends where there are none: the grid is
 * as large as groups of any sizes need. Tiles never have rows of two groups. Otherwise the kernel is that of contraction.hip, whose
 * headers and names it has, in the same order. Its own choices:
 *
 *   rows     group_rows.h, group_gather.h (with gathered_operand.h), group_scatter.h: which rows are read and made
 *   ending   store_groups.h
 *
 * Batches have one axis, which counts experts.
 */
#ifndef KILN_SYMBOL
#include "default/contraction_groups_prelude.h"
#endif

KILN_TURN_KERNEL(kiln_pack, shared, KILN_LDS_PACKS + KILN_RING_PACKS)
{
    KILN_TURN(group, kiln_pack, shared, KILN_LDS_PACKS + KILN_RING_PACKS)
    const unsigned columns = (unsigned)arguments.n;
    const unsigned column_tiles = (columns + KILN_TILE_COLUMNS - 1) / KILN_TILE_COLUMNS;
    const kiln_wave wave = kiln_find_wave();

    /* Place: neighbours in time share a group's rows or its matrix. */
    kiln_task task;
    task.place = kiln_place_group(group, (unsigned)arguments.row_tiles, column_tiles);
    const kiln_group_rows rows =
        kiln_find_group_rows(arguments, task.place.row / KILN_TILE_M, shared);
    if (rows.count == 0)
        return;
    task.place.row = rows.first;
    task.batch.c[0] = rows.expert;
    task.range =
        kiln_range_of_group(arguments, task.batch, kiln_k_of_batch(arguments, task.batch));
    task.last_left = rows.count - 1;
    task.last_right = kiln_last_row(columns, task.place.column, KILN_RIGHT_RUN);

    /* Pipeline: operands to matrix instructions. */
    kiln_mma_sums sums[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N];
    if (!rows.is_fill)
        kiln_multiply(arguments, task, wave, shared, sums);

    /* Ending: strips of sums through LDS to memory. */
    kiln_sum *strip = (kiln_sum *)shared;
    kiln_result_source result;
    kiln_result_start(arguments, task.batch, kiln_first_result_row(rows), task.place.column,
                      result);
    KILN_NO_UNROLL
    for (unsigned pass = 0; pass < KILN_FRAGMENTS_M * KILN_ROW_PARTS; pass++) {
        const unsigned fragment = pass / KILN_ROW_PARTS, part = pass % KILN_ROW_PARTS;
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
            if (i == fragment && !rows.is_fill && kiln_has_sums(wave))
                kiln_write_strip(strip + wave.k * KILN_STRIP_SUMS,
                                 wave.of_tile / KILN_WAVES_N * KILN_PART_ROWS, wave.column, part,
                                 sums[i]);
        kiln_barrier();
        kiln_finish_strip(arguments, rows, result, shared, fragment, part,
                          columns - task.place.column);
        kiln_barrier();
    }
}
