/*
 * Elementwise work whose operands disagree on the fastest axis: a work-group takes a tile of KILN_TILE x KILN_TILE
 * elements over the inner axis ("column") and the tile axis ("line"). Operands that are dense along the tile
 * axis pass through LDS (device/tile.h), so that every access to memory is wide and consecutive over the work-items.
 *
 * Operands are transposed in registers: a work-item loads a square of KILN_VECTOR vectors along the tile axis,
 * and writes it to LDS as vectors along the inner axis, in which all work is done; stores go the other way. All that a
 * work-item loads before the barrier is in flight together.
 *
 * KILN_HAS_TURNS and KILN_GRID are as in device/turns.h.
 *
 * The prelude defines KILN_SYMBOL, KILN_BLOCK, KILN_CHUNKS, KILN_CHUNK(turn) (which one is next),
 * KILN_VECTOR, KILN_VECTORS_PER_ITEM (loaded together; all that a work-item does of a tile, or a divisor of it), KILN_TILE,
 * KILN_COLS and KILN_LINES (sizes of the two axes), KILN_HAS_TAILS (one of them is no whole number of vectors),
 * KILN_HAS_TRANSPOSED_LOADS and _STORES, kiln_index, kiln_arguments, kiln_tiles, kiln_position and kiln_locate_tile, the
 * group's kiln_square, kiln_fetch, kiln_stage_in and kiln_stage_out for a square, kiln_inputs, kiln_load (from memory),
 * kiln_load_staged (from LDS) and kiln_compute for a vector, and with tails kiln_stage_in, kiln_stage_out, kiln_inputs,
 * kiln_load (from both) and kiln_compute for an element.
 */
#ifndef KILN_SYMBOL
#include "default/pointwise_tiled_prelude.h"
#endif

#define KILN_SQUARES        (KILN_TILE_VECTORS * KILN_TILE_VECTORS)
#define KILN_VECTORS_OF_ALL (KILN_SQUARES / KILN_BLOCK * KILN_VECTOR)

/* Whether a place of the tile lies inside the domain. */
KILN_DEVICE bool kiln_is_inside(const kiln_position &origin, kiln_index column, kiln_index line)
{
    return (KILN_COLS % KILN_TILE == 0 || origin.column + column < (kiln_index)(KILN_COLS)) &&
           (KILN_LINES % KILN_TILE == 0 || origin.line + line < (kiln_index)(KILN_LINES));
}

/* Whether a vector along the axis that starts inside of the domain ends there too. */
KILN_DEVICE bool kiln_columns_are_whole(const kiln_position &origin, kiln_index column)
{
    return KILN_COLS % KILN_VECTOR == 0 ||
           origin.column + column + KILN_VECTOR <= (kiln_index)(KILN_COLS);
}

KILN_DEVICE bool kiln_lines_are_whole(const kiln_position &origin, kiln_index line)
{
    return KILN_LINES % KILN_VECTOR == 0 ||
           origin.line + line + KILN_VECTOR <= (kiln_index)(KILN_LINES);
}

/* Neighbouring work-items take squares that follow each other along the tile axis, and vectors that do along the inner
 * one. */
#define KILN_SQUARE_COLUMN(square) ((square) / KILN_TILE_VECTORS * KILN_VECTOR)
#define KILN_SQUARE_LINE(square)   ((square) % KILN_TILE_VECTORS * KILN_VECTOR)
#define KILN_VECTOR_COLUMN(vector) ((vector) % KILN_TILE_VECTORS * KILN_VECTOR)
#define KILN_VECTOR_LINE(vector)   ((vector) / KILN_TILE_VECTORS)

#if KILN_HAS_TRANSPOSED_LOADS
KILN_DEVICE void kiln_fetch_square(const kiln_arguments &arguments, const kiln_position &origin,
                                   unsigned number, kiln_square &square)
{
    const kiln_index column = KILN_SQUARE_COLUMN(number);
    const kiln_index line = KILN_SQUARE_LINE(number);
    if (kiln_is_inside(origin, column, line) && kiln_lines_are_whole(origin, line))
        kiln_fetch(arguments, origin, column, line, square);
}

KILN_DEVICE void kiln_stage_square_in(const kiln_arguments &arguments, kiln_tiles &tiles,
                                      const kiln_position &origin, unsigned number,
                                      const kiln_square &square)
{
    const kiln_index column = KILN_SQUARE_COLUMN(number);
    const kiln_index line = KILN_SQUARE_LINE(number);
    (void)arguments;
    if (!kiln_is_inside(origin, column, line))
        return;
    if (kiln_lines_are_whole(origin, line)) {
        kiln_stage_in(tiles, column, line, square);
        return;
    }
#if KILN_LINES % KILN_VECTOR != 0
    KILN_NO_UNROLL
    for (kiln_index k = line; origin.line + k < (kiln_index)(KILN_LINES); k++) {
        KILN_UNROLL
        for (kiln_index e = column; e < column + KILN_VECTOR; e++) {
            if (kiln_is_inside(origin, e, k))
                kiln_stage_in_element(arguments, tiles, origin, e, k);
        }
    }
#endif
}
#endif

#if KILN_HAS_TRANSPOSED_STORES
KILN_DEVICE void kiln_stage_square_out(const kiln_arguments &arguments, kiln_tiles &tiles,
                                       const kiln_position &origin, unsigned number)
{
    const kiln_index column = KILN_SQUARE_COLUMN(number);
    const kiln_index line = KILN_SQUARE_LINE(number);
    if (!kiln_is_inside(origin, column, line))
        return;
    if (kiln_columns_are_whole(origin, column) && kiln_lines_are_whole(origin, line)) {
        kiln_stage_out(arguments, tiles, origin, column, line);
        return;
    }
#if KILN_HAS_TAILS
    /* Rolled: of unrolled steps with conditions a compiler reads all from local memory, those outside of the domain, which
     * nobody has written, included. */
    KILN_NO_UNROLL
    for (kiln_index k = line; k < line + KILN_VECTOR && kiln_is_inside(origin, column, k); k++) {
        KILN_NO_UNROLL
        for (kiln_index e = column; e < column + KILN_VECTOR && kiln_is_inside(origin, e, k); e++)
            kiln_stage_out_element(arguments, tiles, origin, e, k);
    }
#endif
}
#endif

KILN_KERNEL(KILN_SYMBOL, KILN_BLOCK, kiln_arguments)
{
    KILN_LDS(kiln_tiles, tiles, 1);
#if KILN_HAS_TURNS
    for (kiln_index turn = kiln_work_group_x(); turn < (kiln_index)(KILN_CHUNKS); turn += KILN_GRID)
#else
    const kiln_index turn = kiln_work_group_x();
#endif
    {
        const kiln_index chunk = KILN_CHUNK(turn);
        const kiln_position origin = kiln_locate_tile(chunk);
        kiln_inputs inputs[KILN_VECTORS_PER_ITEM];
#if KILN_HAS_TRANSPOSED_LOADS
        kiln_square square;
        kiln_fetch_square(arguments, origin, kiln_work_item(), square);
#endif
        for (unsigned first = 0; first < KILN_VECTORS_OF_ALL; first += KILN_VECTORS_PER_ITEM) {
            KILN_UNROLL
            for (unsigned i = 0; i < KILN_VECTORS_PER_ITEM; i++) {
                const unsigned vector = (first + i) * KILN_BLOCK + kiln_work_item();
                const kiln_index column = KILN_VECTOR_COLUMN(vector);
                const kiln_index line = KILN_VECTOR_LINE(vector);
                if (kiln_is_inside(origin, column, line) && kiln_columns_are_whole(origin, column))
                    kiln_load(arguments, tiles[0], origin, column, line, inputs[i]);
            }
#if KILN_HAS_TRANSPOSED_LOADS
            if (first == 0) {
                kiln_stage_square_in(arguments, tiles[0], origin, kiln_work_item(), square);
                for (unsigned number = kiln_work_item() + KILN_BLOCK; number < KILN_SQUARES;
                     number += KILN_BLOCK) {
                    kiln_fetch_square(arguments, origin, number, square);
                    kiln_stage_square_in(arguments, tiles[0], origin, number, square);
                }
                kiln_barrier();
            }
#endif
            KILN_UNROLL
            for (unsigned i = 0; i < KILN_VECTORS_PER_ITEM; i++) {
                const unsigned vector = (first + i) * KILN_BLOCK + kiln_work_item();
                const kiln_index column = KILN_VECTOR_COLUMN(vector);
                const kiln_index line = KILN_VECTOR_LINE(vector);
                if (kiln_is_inside(origin, column, line) &&
                    kiln_columns_are_whole(origin, column)) {
                    kiln_load_staged(tiles[0], column, line, inputs[i]);
                    kiln_compute(arguments, tiles[0], origin, column, line, inputs[i]);
                }
            }
        }
#if KILN_COLS % KILN_VECTOR != 0
        KILN_NO_UNROLL
        for (unsigned vector = kiln_work_item(); vector < KILN_VECTORS_OF_ALL * KILN_BLOCK;
             vector += KILN_BLOCK) {
            kiln_index column = KILN_VECTOR_COLUMN(vector);
            const kiln_index line = KILN_VECTOR_LINE(vector);
            if (kiln_columns_are_whole(origin, column))
                continue;
            KILN_NO_UNROLL
            for (; kiln_is_inside(origin, column, line); column++) {
                kiln_inputs_element element;
                kiln_load_element(arguments, tiles[0], origin, column, line, element);
                kiln_compute_element(arguments, tiles[0], origin, column, line, element);
            }
        }
#endif
#if KILN_HAS_TRANSPOSED_STORES
        kiln_barrier();
        for (unsigned number = kiln_work_item(); number < KILN_SQUARES; number += KILN_BLOCK)
            kiln_stage_square_out(arguments, tiles[0], origin, number);
#endif
#if KILN_HAS_TURNS
        kiln_barrier(); /* the next tile overwrites LDS */
#endif
    }
}
