/*
 * Rows in groups where row r makes the result's row of number kiln_row_index(arguments, r) * top_k + kiln_row_ks(arguments, r), or none
 * where that is no such row. Rows of the result that none makes are zero: tiles after those of groups look for them.
 * (Other choices: group_rows.h, group_gather.h.)
 *
 * From the prelude: kiln_row_index, kiln_row_ks, arguments.top_k and arguments.group_tiles, the tiles that groups have at most.
 */
#ifndef KILN_DEVICE_CONTRACTION_GROUP_SCATTER_H
#define KILN_DEVICE_CONTRACTION_GROUP_SCATTER_H

#define KILN_FILLS_BEFORE false

#include "device/contraction/groups.h"

KILN_DEVICE unsigned kiln_destination(const kiln_arguments &arguments, unsigned row)
{
    const long long index = kiln_row_index(arguments, row), ks = kiln_row_ks(arguments, row);
    const long long to = index * arguments.top_k + ks;
    const bool is_row =
        index >= 0 && ks >= 0 && ks < arguments.top_k && to >= 0 && to < arguments.m;
    return is_row ? (unsigned)to : KILN_NO_ROW;
}

/* Marks the rows of a tile of the result that some row makes; false if all are. */
KILN_DEVICE bool kiln_mark_rows(const kiln_arguments &arguments, const kiln_group_rows &rows,
                                unsigned *marks)
{
    KILN_NO_UNROLL
    for (unsigned i = kiln_work_item(); i < KILN_TILE_M; i += KILN_BLOCK)
        marks[i] = 0;
    kiln_barrier();
    const unsigned size = (unsigned)arguments.m;
    const unsigned start = kiln_next_start(kiln_group_offset(arguments, 0), 0, size);
    KILN_NO_UNROLL
    for (unsigned row = start + kiln_work_item(); row < size; row += KILN_BLOCK) {
        const unsigned at = kiln_destination(arguments, row) - rows.first;
        if (at < rows.count)
            marks[at] = 1;
    }
    kiln_barrier();
    bool are_all = true;
    KILN_NO_UNROLL
    for (unsigned i = 0; i < rows.count; i++)
        are_all = are_all && marks[i] != 0;
    return !are_all;
}

KILN_DEVICE kiln_group_rows kiln_find_group_rows(const kiln_arguments &arguments, unsigned tile,
                                                 kiln_pack *shared)
{
    const unsigned group_tiles = (unsigned)arguments.group_tiles;
    if (tile < group_tiles)
        return kiln_find_rows(arguments, tile, shared);
    kiln_group_rows rows = {(tile - group_tiles) * KILN_TILE_M, 0, 0, true};
    const unsigned left = (unsigned)arguments.m - rows.first;
    rows.count = left < KILN_TILE_M ? left : KILN_TILE_M;
    if (!kiln_mark_rows(arguments, rows, (unsigned *)shared))
        rows.count = 0;
    rows.count = kiln_uniform(rows.count);
    return rows;
}

KILN_DEVICE unsigned kiln_first_result_row(const kiln_group_rows &)
{
    return 0;
}

KILN_DEVICE unsigned kiln_result_row(const kiln_arguments &arguments, const kiln_group_rows &rows,
                                     const kiln_pack *shared, unsigned row)
{
    if (rows.is_fill)
        return ((const unsigned *)shared)[row] != 0 ? KILN_NO_ROW : rows.first + row;
    return kiln_destination(arguments, rows.first + row);
}

KILN_DEVICE bool kiln_is_row_zero(const kiln_arguments &, const kiln_group_rows &rows, unsigned)
{
    return rows.is_fill;
}

#endif
