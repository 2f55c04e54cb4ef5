/*
 * Rows in groups where row r of the result comes from the left operand's row of number kiln_row_index(arguments, r). A number that is
 * none makes a row of zeros. (Other choices: group_rows.h, group_scatter.h.)
 *
 * From the prelude: kiln_row_index and arguments.tokens, the rows of the left operand.
 */
#ifndef KILN_DEVICE_CONTRACTION_GROUP_GATHER_H
#define KILN_DEVICE_CONTRACTION_GROUP_GATHER_H

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

KILN_DEVICE bool kiln_is_row_zero(const kiln_arguments &arguments, const kiln_group_rows &rows,
                                  unsigned row)
{
    return rows.is_fill ||
           (unsigned)kiln_row_index(arguments, rows.first + row) >= (unsigned)arguments.tokens;
}

#endif
