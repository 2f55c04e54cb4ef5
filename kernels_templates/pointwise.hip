/*
 * Elementwise work on one fusion group: every work-item takes KILN_VECTORS_PER_ITEM vectors of KILN_VECTOR elements,
 * a work-group apart from each other, loads them all, then computes and stores. A vector that is cut by the
 * end of its row is done element by element.
 *
 * The prelude defines KILN_SYMBOL, KILN_BLOCK, KILN_GRID, KILN_CHUNKS, KILN_VECTOR, KILN_VECTORS_PER_ITEM,
 * KILN_COLS (elements of a row), KILN_VECTORS (all rows together), kiln_index, kiln_arguments, kiln_position
 * and kiln_locate, and the group's kiln_inputs<N>, kiln_load<N> and kiln_compute<N>.
 */
#ifndef KILN_SYMBOL
#include "default/pointwise_prelude.h"
#endif

#define KILN_ROWS_ARE_WHOLE ((KILN_COLS) % (KILN_VECTOR) == 0)

KILN_KERNEL(KILN_SYMBOL, KILN_BLOCK, kiln_arguments)
{
#if KILN_CHUNKS > KILN_GRID
    for (kiln_index chunk = kiln_work_group_x(); chunk < (kiln_index)(KILN_CHUNKS); chunk += KILN_GRID)
#else
    const kiln_index chunk = kiln_work_group_x();
#endif
    {
        const kiln_index first =
            chunk * (kiln_index)(KILN_BLOCK * KILN_VECTORS_PER_ITEM) + kiln_work_item();
        kiln_inputs<KILN_VECTOR> inputs[KILN_VECTORS_PER_ITEM];
        bool is_whole[KILN_VECTORS_PER_ITEM];
        KILN_UNROLL
        for (int i = 0; i < KILN_VECTORS_PER_ITEM; i++) {
            const kiln_index vector = first + (kiln_index)(i * KILN_BLOCK);
            const kiln_position position = kiln_locate(vector);
            is_whole[i] = vector < (kiln_index)(KILN_VECTORS) &&
                          (KILN_ROWS_ARE_WHOLE ||
                           position.column + KILN_VECTOR <= (kiln_index)(KILN_COLS));
            if (is_whole[i])
                kiln_load<KILN_VECTOR>(arguments, position, inputs[i]);
        }
        KILN_UNROLL
        for (int i = 0; i < KILN_VECTORS_PER_ITEM; i++) {
            if (is_whole[i])
                kiln_compute<KILN_VECTOR>(
                    arguments, kiln_locate(first + (kiln_index)(i * KILN_BLOCK)), inputs[i]);
        }
        if (!KILN_ROWS_ARE_WHOLE) {
            KILN_UNROLL
            for (int i = 0; i < KILN_VECTORS_PER_ITEM; i++) {
                const kiln_index vector = first + (kiln_index)(i * KILN_BLOCK);
                if (is_whole[i] || vector >= (kiln_index)(KILN_VECTORS))
                    continue;
                kiln_position position = kiln_locate(vector);
                KILN_NO_UNROLL
                for (; position.column < (kiln_index)(KILN_COLS); position.column++) {
                    kiln_inputs<1> element;
                    kiln_load<1>(arguments, position, element);
                    kiln_compute<1>(arguments, position, element);
                }
            }
        }
    }
}
