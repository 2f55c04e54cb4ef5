/*
 * Batches of products that are far smaller than a tile: a work-item computes KILN_ITEM_ROWS x KILN_ITEM_COLUMNS elements of one
 * product by itself. KILN_PRODUCT_ITEMS neighbours make a product, and the next ones the next product, so a work-group makes
 * several. LDS is not used: neighbours share operands in the nearest cache.
 *
 * Sizes of a product and strides within it are in the text, so that neighbouring elements are loaded and stored together; batches
 * and their strides are arguments.
 *
 * The prelude defines
 *   KILN_SYMBOL, KILN_BLOCK, device/turns.h or device/turns_none.h
 *   KILN_PRODUCTS             1, or 2 that share the left operand
 *   KILN_ITEM_ROWS, KILN_ITEM_COLUMNS, KILN_RESULT_VECTOR, a divisor of the latter
 *   KILN_PRODUCT_ITEMS        work-items of a product, and KILN_COLUMN_ITEMS of them along its columns
 *   KILN_K, KILN_STEP         all of k, and what is loaded together
 *   kiln_sum, KILN_MMA_ADD(a, b, sum), kiln_arguments, kiln_offset, kiln_batch_sizes
 * and for each operand (left, right, and second, the right one of the second product) the facts of device/contraction/element_operand.h.
 * The result has the facts of device/contraction/finish.h. If values are reduced along rows, an item has whole rows, and those of
 * row_passes.h instead.
 */
#ifndef KILN_SYMBOL
#include "default/contraction_small_prelude.h"
#endif

#include "device/contraction/batch.h"
#include "device/contraction/element_operand.h"

KILN_ELEMENT_OPERAND(left, LEFT)
KILN_ELEMENT_OPERAND(right, RIGHT)
#if KILN_PRODUCTS > 1
KILN_ELEMENT_OPERAND(second, SECOND)
#endif

/* The sums of a work-item. */
struct kiln_block {
    kiln_sum of[KILN_PRODUCTS][KILN_ITEM_ROWS][KILN_ITEM_COLUMNS];
};

/* Loads `count` of k of the operand's rows, and computes their values. */
#define KILN_TAKE(side, rows, count, values)                                                       \
    kiln_##side##_inputs inputs_of_##side[rows][count];                                            \
    kiln_sum values[rows][count];                                                                  \
    KILN_UNROLL                                                                                    \
    for (unsigned r = 0; r < rows; r++)                                                            \
        KILN_UNROLL                                                                                \
    for (unsigned k = 0; k < count; k++)                                                           \
        kiln_##side##_load(arguments, side, r, k, inputs_of_##side[r][k]);
#define KILN_COMPUTE(side, rows, count, values)                                                    \
    KILN_UNROLL                                                                                    \
    for (unsigned r = 0; r < rows; r++)                                                            \
        KILN_UNROLL                                                                                \
    for (unsigned k = 0; k < count; k++)                                                           \
        values[r][k] = kiln_##side##_value(inputs_of_##side[r][k]);

template <unsigned Count>
KILN_DEVICE void kiln_multiply_block(const kiln_sum (&left)[KILN_ITEM_ROWS][Count],
                                     const kiln_sum (&right)[KILN_ITEM_COLUMNS][Count],
                                     kiln_sum (&sums)[KILN_ITEM_ROWS][KILN_ITEM_COLUMNS])
{
    KILN_UNROLL
    for (unsigned k = 0; k < Count; k++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++)
        KILN_UNROLL
    for (unsigned c = 0; c < KILN_ITEM_COLUMNS; c++)
        sums[r][c] = KILN_MMA_ADD(left[r][k], right[c][k], sums[r][c]);
}

/* All loads before the first product. */
template <unsigned Count>
KILN_DEVICE void kiln_add_products(const kiln_arguments &arguments, const kiln_left_source &left,
                                   const kiln_right_source &right,
#if KILN_PRODUCTS > 1
                                   const kiln_second_source &second,
#endif
                                   kiln_block &sums)
{
    KILN_TAKE(left, KILN_ITEM_ROWS, Count, left_values)
    KILN_TAKE(right, KILN_ITEM_COLUMNS, Count, right_values)
#if KILN_PRODUCTS > 1
    KILN_TAKE(second, KILN_ITEM_COLUMNS, Count, second_values)
#endif
    KILN_COMPUTE(left, KILN_ITEM_ROWS, Count, left_values)
    KILN_COMPUTE(right, KILN_ITEM_COLUMNS, Count, right_values)
    kiln_multiply_block(left_values, right_values, sums.of[0]);
#if KILN_PRODUCTS > 1
    KILN_COMPUTE(second, KILN_ITEM_COLUMNS, Count, second_values)
    kiln_multiply_block(left_values, second_values, sums.of[1]);
#endif
}

#if KILN_PRODUCTS > 1
#define KILN_OPERANDS left, right, second
#else
#define KILN_OPERANDS left, right
#endif

/* The sums of a vector of the result. */
KILN_DEVICE void kiln_read_block(const kiln_block &sums, unsigned row, unsigned column,
                                 kiln_sum (&values)[KILN_PRODUCTS][KILN_RESULT_VECTOR])
{
    KILN_UNROLL
    for (unsigned p = 0; p < KILN_PRODUCTS; p++)
        KILN_UNROLL
    for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
        values[p][e] = sums.of[p][row][column + e];
}

#ifdef KILN_ROW_PASSES

template <class Pass>
KILN_DEVICE void kiln_walk_row(const kiln_arguments &arguments, const kiln_result_source &result,
                               const kiln_block &sums, unsigned at_row, kiln_row &row)
{
    typename Pass::totals totals;
    Pass::start(totals);
    KILN_UNROLL
    for (unsigned column = 0; column < KILN_ITEM_COLUMNS; column += KILN_RESULT_VECTOR) {
        kiln_sum values[KILN_PRODUCTS][KILN_RESULT_VECTOR];
        kiln_read_block(sums, at_row, column, values);
        Pass::update(arguments, result, at_row, column, true, row, values, totals);
    }
    Pass::finish(arguments, result, at_row, 0, true, totals, row);
}

KILN_DEVICE void kiln_finish_block(const kiln_arguments &arguments,
                                   const kiln_result_source &result, const kiln_block &sums)
{
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++) {
        kiln_row row;
        kiln_row_start(arguments, result, r, 0, true, row);
#define KILN_WALK_ROW(pass) kiln_walk_row<kiln_row_pass_##pass>(arguments, result, sums, r, row);
        KILN_ROW_PASSES(KILN_WALK_ROW)
#undef KILN_WALK_ROW
    }
}

#else

KILN_DEVICE void kiln_finish_block(const kiln_arguments &arguments,
                                   const kiln_result_source &result, const kiln_block &sums)
{
    enum { VECTORS = KILN_ITEM_COLUMNS / KILN_RESULT_VECTOR };
    kiln_result_inputs inputs[KILN_ITEM_ROWS][VECTORS];
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++)
        KILN_UNROLL
    for (unsigned v = 0; v < VECTORS; v++)
        kiln_result_load(arguments, result, r, v * KILN_RESULT_VECTOR, inputs[r][v]);
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++)
        KILN_UNROLL
    for (unsigned v = 0; v < VECTORS; v++) {
        kiln_sum values[KILN_PRODUCTS][KILN_RESULT_VECTOR];
        kiln_read_block(sums, r, v * KILN_RESULT_VECTOR, values);
        kiln_finish(arguments, result, r, v * KILN_RESULT_VECTOR, inputs[r][v], values);
    }
}

#endif

/* Item number `index` of all. */
KILN_DEVICE void kiln_make_block(const kiln_arguments &arguments, unsigned index)
{
    const unsigned within = index % KILN_PRODUCT_ITEMS;
    const unsigned row = within / KILN_COLUMN_ITEMS * KILN_ITEM_ROWS;
    const unsigned column = within % KILN_COLUMN_ITEMS * KILN_ITEM_COLUMNS;
    kiln_batch batch;
    kiln_locate_batch(arguments, index / KILN_PRODUCT_ITEMS, batch);
    kiln_left_source left;
    kiln_right_source right;
    kiln_left_start(arguments, batch, row, left);
    kiln_right_start(arguments, batch, column, right);
#if KILN_PRODUCTS > 1
    kiln_second_source second;
    kiln_second_start(arguments, batch, column, second);
#endif
    kiln_block sums;
    KILN_UNROLL
    for (unsigned p = 0; p < KILN_PRODUCTS; p++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++)
        KILN_UNROLL
    for (unsigned c = 0; c < KILN_ITEM_COLUMNS; c++)
        sums.of[p][r][c] = 0;
    KILN_NO_UNROLL
    for (unsigned step = 0; step < KILN_K / KILN_STEP; step++) {
        kiln_add_products<KILN_STEP>(arguments, KILN_OPERANDS, sums);
        kiln_left_advance(arguments, KILN_STEP, left);
        kiln_right_advance(arguments, KILN_STEP, right);
#if KILN_PRODUCTS > 1
        kiln_second_advance(arguments, KILN_STEP, second);
#endif
    }
#if KILN_K % KILN_STEP != 0
    kiln_add_products<KILN_K % KILN_STEP>(arguments, KILN_OPERANDS, sums);
#endif
    kiln_result_source result;
    kiln_result_start(arguments, batch, row, column, result);
    kiln_finish_block(arguments, result, sums);
}

KILN_KERNEL(KILN_SYMBOL, KILN_BLOCK, kiln_arguments)
{
    KILN_EACH_TURN(turn)
    {
        const unsigned index = turn * KILN_BLOCK + kiln_work_item();
        if (index < (unsigned)arguments.items)
            kiln_make_block(arguments, index);
    }
}
