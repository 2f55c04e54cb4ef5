/*
 * Elementwise work whose operands disagree on the fastest axis. A work-group takes a tile of KILN_TILE x KILN_TILE elements over
 * the inner axis ("column") and the tile axis ("line"). Operands that are dense along the tile axis pass through LDS
 * (device/tile.h), so that all memory accesses are wide and coalesced.
 *
 * Work-items transpose operands in registers. A work-item loads a square of KILN_VECTOR vectors along the tile axis, and writes it
 * to LDS as vectors along the inner axis. All arithmetic uses vectors along the inner axis; stores are transposed back. All loads
 * of a work-item before the barrier are in flight together.
 *
 * KILN_HAS_TURNS and KILN_GRID are as in device/turns.h.
 *
 * The prelude defines:
 *   KILN_SYMBOL, KILN_BLOCK, KILN_CHUNKS, KILN_VECTOR, KILN_TILE
 *   KILN_CHUNK(turn)                number of the next chunk
 *   KILN_VECTORS_PER_ITEM           vectors loaded together: all that a work-item has of a tile, or a divisor of that number
 *   KILN_COLS, KILN_LINES           sizes of the two axes
 *   KILN_COLS_ARE_WHOLE, KILN_LINES_ARE_WHOLE        true if all tiles are whole: the last one is moved back, if the size requires it
 *   KILN_HAS_COLUMN_TAILS, KILN_HAS_LINE_TAILS       true if the size may not be a whole number of vectors
 *   KILN_HAS_TAILS                                   true if either has tails
 *   KILN_HAS_TRANSPOSED_LOADS, KILN_HAS_TRANSPOSED_STORES
 *   kiln_index, kiln_arguments, kiln_tiles, kiln_position, kiln_locate_tile
 * and the group's functions and types:
 *   for a square     kiln_square, kiln_fetch, kiln_stage_in, kiln_stage_out
 *   for a vector     kiln_inputs, kiln_load (from memory), kiln_load_staged (from LDS), kiln_compute
 *   for an element   with tails: kiln_stage_in, kiln_stage_out, kiln_inputs, kiln_load (from both), kiln_compute
 */
#ifndef KILN_SYMBOL
#include "default/pointwise_tiled_prelude.h"
#endif

#define KILN_SQUARES        (KILN_TILE_VECTORS * KILN_TILE_VECTORS)
#define KILN_VECTORS_OF_ALL (KILN_SQUARES / KILN_BLOCK * KILN_VECTOR)

/* True if a place of the tile lies inside the domain. */
KILN_DEVICE bool kiln_is_inside([[maybe_unused]] const kiln_arguments &arguments,
                                const kiln_position &origin, kiln_index column, kiln_index line)
{
    return (KILN_COLS_ARE_WHOLE || origin.column + column < (kiln_index)(KILN_COLS)) &&
           (KILN_LINES_ARE_WHOLE || origin.line + line < (kiln_index)(KILN_LINES));
}

/* True if a vector along the axis that starts inside of the domain ends there too. */
KILN_DEVICE bool kiln_columns_are_whole([[maybe_unused]] const kiln_arguments &arguments,
                                        const kiln_position &origin, kiln_index column)
{
    return !KILN_HAS_COLUMN_TAILS ||
           origin.column + column + KILN_VECTOR <= (kiln_index)(KILN_COLS);
}

KILN_DEVICE bool kiln_lines_are_whole([[maybe_unused]] const kiln_arguments &arguments,
                                      const kiln_position &origin, kiln_index line)
{
    return !KILN_HAS_LINE_TAILS ||
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
    if (kiln_is_inside(arguments, origin, column, line) && kiln_lines_are_whole(arguments, origin, line))
        kiln_fetch(arguments, origin, column, line, square);
}

KILN_DEVICE void kiln_stage_square_in(const kiln_arguments &arguments, kiln_tiles &tiles,
                                      const kiln_position &origin, unsigned number,
                                      const kiln_square &square)
{
    const kiln_index column = KILN_SQUARE_COLUMN(number);
    const kiln_index line = KILN_SQUARE_LINE(number);
    (void)arguments;
    if (!kiln_is_inside(arguments, origin, column, line))
        return;
    if (kiln_lines_are_whole(arguments, origin, line)) {
        kiln_stage_in(tiles, column, line, square);
        return;
    }
#if KILN_HAS_LINE_TAILS
    KILN_NO_UNROLL
    for (kiln_index k = line; origin.line + k < (kiln_index)(KILN_LINES); k++) {
        KILN_UNROLL
        for (kiln_index e = column; e < column + KILN_VECTOR; e++) {
            if (kiln_is_inside(arguments, origin, e, k))
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
    if (!kiln_is_inside(arguments, origin, column, line))
        return;
    if (kiln_columns_are_whole(arguments, origin, column) && kiln_lines_are_whole(arguments, origin, line)) {
        kiln_stage_out(arguments, tiles, origin, column, line);
        return;
    }
#if KILN_HAS_TAILS
    /* Rolled: of unrolled steps with conditions a compiler reads all from local memory, those outside of the domain, which
     * nobody has written, included. */
    KILN_NO_UNROLL
    for (kiln_index k = line; k < line + KILN_VECTOR && kiln_is_inside(arguments, origin, column, k); k++) {
        KILN_NO_UNROLL
        for (kiln_index e = column; e < column + KILN_VECTOR && kiln_is_inside(arguments, origin, e, k); e++)
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
        const kiln_position origin = kiln_locate_tile(arguments, chunk);
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
                if (kiln_is_inside(arguments, origin, column, line) && kiln_columns_are_whole(arguments, origin, column))
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
                if (kiln_is_inside(arguments, origin, column, line) &&
                    kiln_columns_are_whole(arguments, origin, column)) {
                    kiln_load_staged(tiles[0], column, line, inputs[i]);
                    kiln_compute(arguments, tiles[0], origin, column, line, inputs[i]);
                }
            }
        }
#if KILN_HAS_COLUMN_TAILS
        KILN_NO_UNROLL
        for (unsigned vector = kiln_work_item(); vector < KILN_VECTORS_OF_ALL * KILN_BLOCK;
             vector += KILN_BLOCK) {
            kiln_index column = KILN_VECTOR_COLUMN(vector);
            const kiln_index line = KILN_VECTOR_LINE(vector);
            if (kiln_columns_are_whole(arguments, origin, column))
                continue;
            KILN_NO_UNROLL
            for (; kiln_is_inside(arguments, origin, column, line); column++) {
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
