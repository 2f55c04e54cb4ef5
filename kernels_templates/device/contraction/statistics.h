/*
 * Statistics of a tile's columns, or of all of it: what each work-item accumulates while it finishes strips, merged and
 * stored at the end, always in the same order. (Those of rows are complete with a row: finish.h.)
 */
#ifndef KILN_DEVICE_CONTRACTION_STATISTICS_H
#define KILN_DEVICE_CONTRACTION_STATISTICS_H

#if KILN_STATISTICS == 2

/* KILN_VECTORS_ABREAST vectors of a row are finished side by side, by neighbouring work-items: all of them, where there are as
 * many work-items. So many rows are done at once then, and a work-item has the same columns in all strips. */
#define KILN_ROW_VECTORS  (KILN_TILE_COLUMNS / KILN_RESULT_VECTOR)
#define KILN_ITEM_VECTORS ((KILN_ROW_VECTORS + KILN_VECTORS_ABREAST - 1) / KILN_VECTORS_ABREAST)
#define KILN_SHARED_ITEMS (KILN_ROWS_ABREAST * KILN_VECTORS_ABREAST)

struct kiln_tile_totals {
    kiln_row_pass_0::totals of[KILN_ITEM_VECTORS];
};

KILN_DEVICE void kiln_statistics_start(kiln_tile_totals &totals)
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

/* A work-item merges what the rows have of one column, all columns at once: of lane i of all vectors, then of the next one. */
KILN_DEVICE void kiln_statistics_end(const kiln_arguments &arguments,
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
            kiln_row_pass_0::column_totals of_column;
            kiln_row_pass_0::meet(shared, totals.of[0], is_inside, lane, vector,
                                  of_column);
            if (is_inside)
                kiln_row_pass_0::store_column(arguments, result, 0, column, of_column);
        }
    } else {
        KILN_UNROLL
        for (unsigned v = 0; v < KILN_ITEM_VECTORS; v++) {
            const unsigned vector = item + v * KILN_VECTORS_ABREAST;
            const unsigned column = vector * KILN_RESULT_VECTOR;
            if (vector < KILN_ROW_VECTORS && column < columns)
                kiln_row_pass_0::store(arguments, result, 0, column, totals.of[v]);
        }
    }
}

#elif KILN_STATISTICS == 3

struct kiln_tile_totals {
    kiln_row_pass_0::totals of;
};

KILN_DEVICE void kiln_statistics_start(kiln_tile_totals &totals)
{
    kiln_row_pass_0::start(totals.of);
}

KILN_DEVICE void kiln_finish_strip(const kiln_arguments &arguments,
                                   const kiln_result_source &result, const kiln_sum *strip,
                                   unsigned i, unsigned part, unsigned rows, unsigned columns,
                                   kiln_tile_totals &totals)
{
    const kiln_row none = {};
    KILN_NO_UNROLL
    for (unsigned vector = kiln_work_item();
         vector < KILN_STRIP_ROWS * (KILN_TILE_COLUMNS / KILN_RESULT_VECTOR);
         vector += KILN_BLOCK) {
        const unsigned strip_row = vector / (KILN_TILE_COLUMNS / KILN_RESULT_VECTOR);
        const unsigned column =
            vector % (KILN_TILE_COLUMNS / KILN_RESULT_VECTOR) * KILN_RESULT_VECTOR;
        const unsigned row = kiln_row_of_strip(strip_row, i, part);
        if (!kiln_has_row(arguments, result, row, rows) || column >= columns)
            continue;
        kiln_sum values[KILN_PRODUCTS][KILN_RESULT_VECTOR];
        kiln_read_products(strip, strip_row, column, values);
        kiln_take_padding_out(arguments, result, row, column, values);
        kiln_row_pass_0::update(arguments, result, row, column, true, none, values, totals.of);
    }
}

/* Lanes of a wave merge first, then the first work-item what the waves have. */
KILN_DEVICE void kiln_statistics_end(const kiln_arguments &arguments,
                                     const kiln_result_source &result, unsigned,
                                     kiln_pack *shared, kiln_tile_totals &totals)
{
    const unsigned item = kiln_work_item(), waves = KILN_BLOCK / KILN_WAVE_SIZE;
    KILN_UNROLL
    for (unsigned mask = 1; mask < KILN_WAVE_SIZE; mask *= 2)
        kiln_row_pass_0::exchange(mask, totals.of);
    if constexpr (KILN_BLOCK > KILN_WAVE_SIZE)
        kiln_row_pass_0::meet(shared, item / KILN_WAVE_SIZE, item % KILN_WAVE_SIZE == 0,
                              item == 0 ? 1 : waves, waves, totals.of);
    if (item == 0)
        kiln_row_pass_0::store(arguments, result, 0, 0, totals.of);
}

#endif

#endif
