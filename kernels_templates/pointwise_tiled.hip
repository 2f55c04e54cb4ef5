/*
 * Elementwise work whose operands disagree on the fastest axis: a work-group takes a tile of KILN_TILE x KILN_TILE
 * elements over the inner axis ("column") and the tile axis ("line"). Operands that are dense along the tile
 * axis pass through LDS, so that every access to memory is wide and consecutive over the work-items.
 *
 * The prelude defines KILN_SYMBOL, KILN_BLOCK, KILN_GRID, KILN_CHUNKS, KILN_CHUNK(turn) (which one is next),
 * KILN_VECTOR, KILN_TILE, KILN_COLS and KILN_LINES (sizes of the two axes), KILN_HAS_TAILS (one of them is no whole
 * number of vectors), KILN_HAS_TRANSPOSED_STORES, kiln_index, kiln_arguments, kiln_tiles, kiln_position and
 * kiln_locate_tile, the group's kiln_inputs, kiln_stage_in, kiln_load, kiln_compute and kiln_stage_out for a vector,
 * and with tails the same for an element.
 *
 * In LDS an element lies at [column][line] with one element of padding per column.
 */
#ifndef KILN_SYMBOL
#include "default/pointwise_tiled_prelude.h"
#endif

#define KILN_VECTORS_PER_LINE (KILN_TILE / KILN_VECTOR)
#define KILN_TILE_VECTORS (KILN_TILE * KILN_VECTORS_PER_LINE)

KILN_KERNEL(KILN_SYMBOL, KILN_BLOCK, kiln_arguments)
{
    KILN_LDS(kiln_tiles, tiles, 1);
#if KILN_CHUNKS > KILN_GRID
    for (kiln_index turn = kiln_work_group_x(); turn < (kiln_index)(KILN_CHUNKS); turn += KILN_GRID)
#else
    const kiln_index turn = kiln_work_group_x();
#endif
    {
        const kiln_index chunk = KILN_CHUNK(turn);
        const kiln_position origin = kiln_locate_tile(chunk);
        /* What of the tile lies inside the domain. */
        const kiln_index columns = (kiln_index)(KILN_COLS) - origin.column;
        const kiln_index lines = (kiln_index)(KILN_LINES) - origin.line;

        for (kiln_index i = kiln_work_item(); i < KILN_TILE_VECTORS; i += KILN_BLOCK) {
            const kiln_index column = i / KILN_VECTORS_PER_LINE;
            const kiln_index line = i % KILN_VECTORS_PER_LINE * KILN_VECTOR;
            if (column >= columns || line >= lines)
                continue;
#if KILN_HAS_TAILS
            if (line + KILN_VECTOR > lines) {
                KILN_NO_UNROLL
                for (kiln_index k = line; k < lines; k++)
                    kiln_stage_in_element(arguments, tiles[0], origin, column, k);
                continue;
            }
#endif
            kiln_stage_in(arguments, tiles[0], origin, column, line);
        }
        kiln_barrier();
        for (kiln_index i = kiln_work_item(); i < KILN_TILE_VECTORS; i += KILN_BLOCK) {
            const kiln_index line = i / KILN_VECTORS_PER_LINE;
            const kiln_index column = i % KILN_VECTORS_PER_LINE * KILN_VECTOR;
            if (column >= columns || line >= lines)
                continue;
#if KILN_HAS_TAILS
            if (column + KILN_VECTOR > columns) {
                KILN_NO_UNROLL
                for (kiln_index k = column; k < columns; k++) {
                    kiln_inputs_element element;
                    kiln_load_element(arguments, tiles[0], origin, k, line, element);
                    kiln_compute_element(arguments, tiles[0], origin, k, line, element);
                }
                continue;
            }
#endif
            kiln_inputs inputs;
            kiln_load(arguments, tiles[0], origin, column, line, inputs);
            kiln_compute(arguments, tiles[0], origin, column, line, inputs);
        }
#if KILN_HAS_TRANSPOSED_STORES
        kiln_barrier();
        for (kiln_index i = kiln_work_item(); i < KILN_TILE_VECTORS; i += KILN_BLOCK) {
            const kiln_index column = i / KILN_VECTORS_PER_LINE;
            const kiln_index line = i % KILN_VECTORS_PER_LINE * KILN_VECTOR;
            if (column >= columns || line >= lines)
                continue;
#if KILN_HAS_TAILS
            if (line + KILN_VECTOR > lines) {
                KILN_NO_UNROLL
                for (kiln_index k = line; k < lines; k++)
                    kiln_stage_out_element(arguments, tiles[0], origin, column, k);
                continue;
            }
#endif
            kiln_stage_out(arguments, tiles[0], origin, column, line);
        }
#endif
#if KILN_CHUNKS > KILN_GRID
        kiln_barrier(); /* the next tile overwrites LDS */
#endif
    }
}
