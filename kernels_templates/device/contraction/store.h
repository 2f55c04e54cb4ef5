/*
 * The ending that stores elements: each vector of the result is finished by itself. (Other choices: rows.h,
 * column_statistics.h, tile_statistics.h.)
 *
 * From the prelude:
 *   device/contraction/finish.h   kiln_result_load, and kiln_finish, which does the elementwise work on a vector and stores it
 *   KILN_FINISHED_TOGETHER        number of vectors that are loaded before the first is finished
 */
#ifndef KILN_DEVICE_CONTRACTION_STORE_H
#define KILN_DEVICE_CONTRACTION_STORE_H

#include "device/contraction/strip.h"

/* Empty: this ending keeps no state from strip to strip. */
struct kiln_tile_totals {};
#define kiln_tile_totals_start(totals)                                           ((void)(totals))
#define kiln_tile_totals_end(arguments, result, columns, shared, totals)

/* Further arguments of kiln_finish that describe a row, each followed by a comma. */
#ifndef KILN_ROW_TOTALS
#define KILN_ROW_TOTALS(strip, row)
#endif

/* A vector of the strip. */
struct kiln_strip_vector {
    unsigned strip_row;
    unsigned row;
    unsigned column;
    bool is_inside;
};

/* All global loads of KILN_FINISHED_TOGETHER vectors are in flight before the first of them is finished. */
KILN_DEVICE void kiln_finish_strip(const kiln_arguments &arguments,
                                   const kiln_result_source &result, const kiln_sum *strip,
                                   unsigned i, unsigned part, unsigned rows, unsigned columns,
                                   kiln_tile_totals &)
{
    const unsigned abreast = KILN_TILE_COLUMNS / KILN_RESULT_VECTOR;
    const unsigned step = KILN_GROUPS_K * KILN_BLOCK;
    KILN_NO_UNROLL
    for (unsigned first = kiln_work_item() + kiln_cluster_rank() * KILN_BLOCK;
         first < KILN_STRIP_ROWS * abreast; first += KILN_FINISHED_TOGETHER * step) {
        kiln_strip_vector vectors[KILN_FINISHED_TOGETHER];
        kiln_result_inputs inputs[KILN_FINISHED_TOGETHER];
        KILN_UNROLL
        for (unsigned v = 0; v < KILN_FINISHED_TOGETHER; v++) {
            const unsigned vector = first + v * step;
            vectors[v].strip_row = vector / abreast;
            vectors[v].column = vector % abreast * KILN_RESULT_VECTOR;
            vectors[v].row = kiln_row_of_strip(vectors[v].strip_row, i, part);
            const bool is_of_strip = v == 0 || vector < KILN_STRIP_ROWS * abreast;
            vectors[v].is_inside = is_of_strip && vectors[v].column < columns &&
                                   kiln_has_row(arguments, result, vectors[v].row, rows);
            if (vectors[v].is_inside)
                kiln_result_load(arguments, result, vectors[v].row, vectors[v].column, inputs[v]);
        }
        KILN_UNROLL
        for (unsigned v = 0; v < KILN_FINISHED_TOGETHER; v++) {
            if (!vectors[v].is_inside)
                continue;
            kiln_sum values[KILN_PRODUCTS][KILN_RESULT_VECTOR];
            kiln_read_products(strip, vectors[v].strip_row, vectors[v].column, values);
            kiln_take_padding_out(arguments, result, vectors[v].row, vectors[v].column, values);
            kiln_finish(arguments, result, vectors[v].row, vectors[v].column, inputs[v],
                        KILN_ROW_TOTALS(strip, vectors[v].row) values);
        }
    }
}

#endif
