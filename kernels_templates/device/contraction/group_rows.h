/*
 * Rows in groups where row r of the left operand makes row r of the result. (Other choices: group_gather.h, group_scatter.h.)
 *
 * Each choice defines
 *   KILN_FILLS_BEFORE       whether rows before the first group are tiles of zeros
 *   kiln_find_group_rows    the rows of a tile
 *   kiln_first_result_row   the row that the result's pointers start at
 *   kiln_result_row         the row of the result, counted from there, that a row of a tile makes
 *   kiln_is_row_zero        whether a row is zero
 */
#ifndef KILN_DEVICE_CONTRACTION_GROUP_ROWS_H
#define KILN_DEVICE_CONTRACTION_GROUP_ROWS_H

#define KILN_FILLS_BEFORE true

#include "device/contraction/groups.h"

KILN_DEVICE kiln_group_rows kiln_find_group_rows(const kiln_arguments &arguments, unsigned tile,
                                                 kiln_pack *shared)
{
    return kiln_find_rows(arguments, tile, shared);
}

KILN_DEVICE unsigned kiln_first_result_row(const kiln_group_rows &rows)
{
    return rows.first;
}

KILN_DEVICE unsigned kiln_result_row(const kiln_arguments &, const kiln_group_rows &, const kiln_pack *,
                                     unsigned row)
{
    return row;
}

KILN_DEVICE bool kiln_is_row_zero(const kiln_arguments &, const kiln_group_rows &rows, unsigned)
{
    return rows.is_fill;
}

#endif
