/*
 * The ending that reduces along rows of the result: KILN_ROW_LANES neighbouring lanes share a row, and walk over it once per pass.
 * (Other choices: store.h, column_statistics.h, tile_statistics.h.)
 *
 * From the prelude: row_passes.h, and
 *   KILN_ROW_BLOCK   rows are reduced in blocks of so many columns, which tiles have whole; else a tile's part of a row is one block
 */
#ifndef KILN_DEVICE_CONTRACTION_ROWS_H
#define KILN_DEVICE_CONTRACTION_ROWS_H

#include "device/contraction/strip.h"

#ifndef KILN_ROW_BLOCK
#define KILN_ROW_BLOCK KILN_TILE_COLUMNS
#endif
#define KILN_ROW_BLOCKS (KILN_TILE_COLUMNS / KILN_ROW_BLOCK)

/* Empty: this ending keeps no state from strip to strip. */
struct kiln_tile_totals {};
#define kiln_tile_totals_start(totals)                                           ((void)(totals))
#define kiln_tile_totals_end(arguments, result, columns, shared, totals)

/* A block of a row that a lane shares with its neighbours. */
struct kiln_strip_share {
    unsigned strip_row;
    unsigned row;
    unsigned block;
    unsigned first, end; /* columns */
    bool is_inside;
};

template <class Pass>
KILN_DEVICE void kiln_walk_row(const kiln_arguments &arguments, const kiln_result_source &result,
                               const kiln_sum *strip, const kiln_strip_share &share, kiln_row &row)
{
    const unsigned lane = kiln_work_item() % KILN_ROW_LANES;
    typename Pass::totals totals;
    Pass::start(totals);
    KILN_NO_UNROLL
    for (unsigned column = share.first + lane * KILN_RESULT_VECTOR; column < share.end;
         column += KILN_ROW_LANES * KILN_RESULT_VECTOR) {
        kiln_sum values[KILN_PRODUCTS][KILN_RESULT_VECTOR];
        kiln_read_products(strip, share.strip_row, column, values);
        kiln_take_padding_out(arguments, result, share.row, column, values);
        Pass::update(arguments, result, share.row, column, share.is_inside, row, values, totals);
    }
    KILN_UNROLL
    for (unsigned mask = 1; mask < KILN_ROW_LANES; mask *= 2)
        Pass::exchange(mask, totals);
    Pass::finish(arguments, result, share.row, share.block, lane == 0 && share.is_inside, totals,
                 row);
}

/* Lanes of rows beyond the end walk over the last one, and lanes of blocks beyond it over the first. They store nothing: all take
 * part in exchanges. */
KILN_DEVICE void kiln_finish_strip(const kiln_arguments &arguments,
                                   const kiln_result_source &result, const kiln_sum *strip,
                                   unsigned i, unsigned part, unsigned rows, unsigned columns,
                                   kiln_tile_totals &)
{
    KILN_NO_UNROLL
    for (unsigned number = kiln_work_item() / KILN_ROW_LANES;
         number < KILN_STRIP_ROWS * KILN_ROW_BLOCKS; number += KILN_BLOCK / KILN_ROW_LANES) {
        kiln_strip_share share;
        kiln_row row;
        share.strip_row = number / KILN_ROW_BLOCKS;
        share.row = kiln_row_of_strip(share.strip_row, i, part);
        share.block = number % KILN_ROW_BLOCKS;
        share.is_inside = share.row < rows && share.block * KILN_ROW_BLOCK < columns;
        if (share.row >= rows)
            share.row = rows - 1;
        if (share.block * KILN_ROW_BLOCK >= columns)
            share.block = 0;
        share.first = share.block * KILN_ROW_BLOCK;
        share.end = columns < share.first + KILN_ROW_BLOCK ? columns : share.first + KILN_ROW_BLOCK;
        kiln_row_start(arguments, result, share.row, share.block,
                       kiln_work_item() % KILN_ROW_LANES == 0 && share.is_inside, row);
#define KILN_WALK_ROW(pass) kiln_walk_row<kiln_row_pass_##pass>(arguments, result, strip, share, row);
        KILN_ROW_PASSES(KILN_WALK_ROW)
#undef KILN_WALK_ROW
    }
}

#endif
