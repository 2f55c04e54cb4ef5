/*
 * The ending of rows in groups: each vector of the result is finished by itself, as store.h does it, in the row that it belongs to.
 *
 * From the prelude: those of store.h, and one of group_rows.h, group_gather.h, group_scatter.h.
 */
#ifndef KILN_DEVICE_CONTRACTION_STORE_GROUPS_H
#define KILN_DEVICE_CONTRACTION_STORE_GROUPS_H

#include "device/contraction/strip.h"

/* A vector of the strip, and its row of the result. */
struct kiln_strip_vector {
    unsigned strip_row;
    unsigned column;
    unsigned at_row;
    bool is_inside, is_zero;
};

KILN_DEVICE kiln_strip_vector kiln_locate_vector(const kiln_arguments &arguments,
                                                 const kiln_group_rows &rows,
                                                 const kiln_pack *shared, unsigned vector,
                                                 unsigned i, unsigned part, unsigned columns)
{
    const unsigned abreast = KILN_TILE_COLUMNS / KILN_RESULT_VECTOR;
    kiln_strip_vector at;
    at.strip_row = vector / abreast;
    at.column = vector % abreast * KILN_RESULT_VECTOR;
    at.is_zero = false;
    at.at_row = 0;
    const unsigned row = kiln_row_of_strip(at.strip_row, i, part);
    at.is_inside = vector < KILN_STRIP_ROWS * abreast && at.column < columns && row < rows.count;
    if (at.is_inside) {
        at.at_row = kiln_result_row(arguments, rows, shared, row);
        at.is_inside = at.at_row != KILN_NO_ROW;
        at.is_zero = kiln_is_row_zero(arguments, rows, row);
    }
    return at;
}

/* The strip lies in `shared`. Rows that are filled have no strip. */
KILN_DEVICE void kiln_finish_strip(const kiln_arguments &arguments, const kiln_group_rows &rows,
                                   const kiln_result_source &result, const kiln_pack *shared,
                                   unsigned i, unsigned part, unsigned columns)
{
    const kiln_sum *strip = (const kiln_sum *)shared;
    const unsigned vectors_of_strip = KILN_STRIP_ROWS * (KILN_TILE_COLUMNS / KILN_RESULT_VECTOR);
    KILN_NO_UNROLL
    for (unsigned first = kiln_work_item(); first < vectors_of_strip;
         first += KILN_FINISHED_TOGETHER * KILN_BLOCK) {
        kiln_strip_vector vectors[KILN_FINISHED_TOGETHER];
        kiln_result_inputs inputs[KILN_FINISHED_TOGETHER];
        KILN_UNROLL
        for (unsigned v = 0; v < KILN_FINISHED_TOGETHER; v++) {
            vectors[v] = kiln_locate_vector(arguments, rows, shared, first + v * KILN_BLOCK, i,
                                            part, columns);
            if (vectors[v].is_inside)
                kiln_result_load(arguments, result, vectors[v].at_row, vectors[v].column,
                                 inputs[v]);
        }
        KILN_UNROLL
        for (unsigned v = 0; v < KILN_FINISHED_TOGETHER; v++) {
            if (!vectors[v].is_inside)
                continue;
            kiln_sum values[KILN_PRODUCTS][KILN_RESULT_VECTOR];
            if (!rows.is_fill)
                kiln_read_products(strip, vectors[v].strip_row, vectors[v].column, values);
            KILN_UNROLL
            for (unsigned p = 0; p < KILN_PRODUCTS; p++)
                KILN_UNROLL
            for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
                values[p][e] = vectors[v].is_zero ? 0 : values[p][e];
            kiln_finish(arguments, result, vectors[v].at_row, vectors[v].column, inputs[v],
                        values);
        }
    }
}

#endif
