/*
 * The ending that reduces the columns of a tile: each work-item accumulates while it finishes strips, and accumulators are merged and
 * stored at the end, always in the same order. Another kernel merges tiles. (Other choices: store.h, rows.h, tile_statistics.h.)
 *
 * From the prelude: KILN_STATISTICS_PACKS of LDS, for KILN_STATISTICS_ENTRIES accumulators each; row_passes.h, one pass;
 * and KILN_VECTORS_ABREAST, KILN_ROWS_ABREAST: vectors of a row, and rows, that are finished side by side.
 */
#ifndef KILN_DEVICE_CONTRACTION_COLUMN_STATISTICS_H
#define KILN_DEVICE_CONTRACTION_COLUMN_STATISTICS_H

#include "device/contraction/strip.h"

/* KILN_VECTORS_ABREAST vectors of a row are finished side by side, by neighbouring work-items: all of them, where there are as
 * many work-items. So many rows are done at once then, and a work-item has the same columns in all strips. */
#define KILN_ROW_VECTORS  (KILN_TILE_COLUMNS / KILN_RESULT_VECTOR)
#define KILN_ITEM_VECTORS ((KILN_ROW_VECTORS + KILN_VECTORS_ABREAST - 1) / KILN_VECTORS_ABREAST)
#define KILN_SHARED_ITEMS (KILN_ROWS_ABREAST * KILN_VECTORS_ABREAST)

struct kiln_tile_totals {
    kiln_row_pass_0::totals of[KILN_ITEM_VECTORS];
};

KILN_DEVICE void kiln_tile_totals_start(kiln_tile_totals &totals)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_ITEM_VECTORS; i++)
        kiln_row_pass_0::start(totals.of[i]);
}

KILN_DEVICE void kiln_finish_strip(const kiln_arguments &arguments,
                                   const kiln_result_source &result, const kiln_sum *strip,
                                   unsigned i, unsigned part, unsigned rows, unsigned columns,
                                   kiln_tile_totals &totals)
{
    const unsigned item = kiln_work_item();
    const kiln_row none = {};
    KILN_UNROLL
    for (unsigned v = 0; v < KILN_ITEM_VECTORS; v++) {
        const unsigned vector = item % KILN_VECTORS_ABREAST + v * KILN_VECTORS_ABREAST;
        const unsigned column = vector * KILN_RESULT_VECTOR;
        if (item >= KILN_SHARED_ITEMS || vector >= KILN_ROW_VECTORS || column >= columns)
            continue;
        KILN_NO_UNROLL
        for (unsigned strip_row = item / KILN_VECTORS_ABREAST; strip_row < KILN_STRIP_ROWS;
             strip_row += KILN_ROWS_ABREAST) {
            const unsigned row = kiln_row_of_strip(strip_row, i, part);
            if (!kiln_has_row(arguments, result, row, rows))
                continue;
            kiln_sum values[KILN_PRODUCTS][KILN_RESULT_VECTOR];
            kiln_read_products(strip, strip_row, column, values);
            kiln_take_padding_out(arguments, result, row, column, values);
            kiln_row_pass_0::update(arguments, result, row, column, true, none, values,
                                    totals.of[v]);
        }
    }
}

#define KILN_COLUMN_TOTAL(i, operation, scalar, type, form, neutral)                               \
    kiln_##operation##_lanes_##scalar<1> a##i;
struct kiln_column_totals {
    KILN_PASS_0_ACCUMULATORS(KILN_COLUMN_TOTAL)
};

/* Totals of all work-items go to LDS, one accumulator after the other. A work-item merges lane `lane` of every
 * KILN_VECTORS_ABREAST-th of them, from `first` on. */
#define KILN_MEET_COLUMN(i, operation, scalar, type, form, neutral)                                \
    {                                                                                              \
        auto &entries = *(kiln_##operation##_entries_##scalar<KILN_PASS_LANES, KILN_STATISTICS_ENTRIES> \
                              *)shared;                                                            \
        kiln_##operation##_lanes_##scalar<1> second;                                               \
        kiln_put(totals.a##i, kiln_work_item(), entries);                                          \
        kiln_barrier();                                                                            \
        if (merges)                                                                                \
            kiln_get_lane(entries, lane, first, merged.a##i);                                      \
        for (unsigned row = 1; merges && row < KILN_ROWS_ABREAST; row++) {                         \
            kiln_get_lane(entries, lane, first + row * KILN_VECTORS_ABREAST, second);              \
            kiln_merge<false>(second, merged.a##i);                                                \
        }                                                                                          \
        kiln_barrier();                                                                            \
    }
KILN_DEVICE void kiln_meet_columns(kiln_pack *shared, const kiln_row_pass_0::totals &totals,
                                   bool merges, unsigned lane, unsigned first,
                                   kiln_column_totals &merged)
{
    KILN_PASS_0_ACCUMULATORS(KILN_MEET_COLUMN)
}

/* A work-item merges what the rows have of one column, all columns at once: of lane i of all vectors, then of the next one. */
KILN_DEVICE void kiln_tile_totals_end(const kiln_arguments &arguments,
                                     const kiln_result_source &result, unsigned columns,
                                     kiln_pack *shared, kiln_tile_totals &totals)
{
    const unsigned item = kiln_work_item();
    if constexpr (KILN_ROWS_ABREAST > 1) {
        KILN_UNROLL
        for (unsigned n = 0; n < KILN_TILE_COLUMNS; n += KILN_BLOCK) {
            const unsigned nth = item + n, lane = nth / KILN_VECTORS_ABREAST;
            const unsigned vector = nth % KILN_VECTORS_ABREAST;
            const unsigned column = vector * KILN_RESULT_VECTOR + lane;
            const bool is_inside = nth < KILN_TILE_COLUMNS && column < columns;
            kiln_column_totals of_column;
            kiln_meet_columns(shared, totals.of[0], is_inside, lane, vector, of_column);
            if (is_inside)
                kiln_store_statistics(arguments, result, 0, column, 1, of_column);
        }
    } else {
        KILN_UNROLL
        for (unsigned v = 0; v < KILN_ITEM_VECTORS; v++) {
            const unsigned vector = item + v * KILN_VECTORS_ABREAST;
            const unsigned column = vector * KILN_RESULT_VECTOR;
            if (vector < KILN_ROW_VECTORS && column < columns)
                kiln_store_statistics(arguments, result, 0, column, KILN_RESULT_VECTOR,
                                      totals.of[v]);
        }
    }
}

#endif
