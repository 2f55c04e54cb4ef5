/*
 * Elementwise work on one fusion group: every work-item takes KILN_VECTORS_PER_ITEM vectors of KILN_VECTOR elements,
 * a work-group apart from each other, loads them all, then computes and stores. A vector that is cut by the
 * end of its row is done element by element.
 *
 * KILN_HAS_TURNS and KILN_GRID are as in device/turns.h.
 *
 * The prelude defines KILN_SYMBOL, KILN_BLOCK, KILN_CHUNKS, KILN_CHUNK(turn) (which one is next),
 * KILN_VECTOR, KILN_VECTORS_PER_ITEM, KILN_COLS (elements of a row), KILN_VECTORS (all rows together), KILN_HAS_TAILS
 * (rows are no whole number of vectors), kiln_index, kiln_arguments, kiln_position and kiln_locate, the group's
 * kiln_inputs, kiln_load and kiln_compute for a vector, and with tails the same for an element.
 */
#ifndef KILN_SYMBOL
#include "default/pointwise_prelude.h"
#endif

#if !KILN_HAS_TAILS && KILN_VECTORS % (KILN_BLOCK * KILN_VECTORS_PER_ITEM) == 0
/* Every work-item has all its vectors. Without conditions in between, a load that several of them need is done once. */
#define KILN_IS_WHOLE(vector, position) true
#elif KILN_HAS_TAILS
#define KILN_IS_WHOLE(vector, position)                                                            \
    ((vector) < (kiln_index)(KILN_VECTORS) &&                                                      \
     (position).column + KILN_VECTOR <= (kiln_index)(KILN_COLS))
#else
#define KILN_IS_WHOLE(vector, position) ((vector) < (kiln_index)(KILN_VECTORS))
#endif

KILN_KERNEL(KILN_SYMBOL, KILN_BLOCK, kiln_arguments)
{
#if KILN_HAS_TURNS
    for (kiln_index turn = kiln_work_group_x(); turn < (kiln_index)(KILN_CHUNKS); turn += KILN_GRID)
#else
    const kiln_index turn = kiln_work_group_x();
#endif
    {
        const kiln_index chunk = KILN_CHUNK(turn);
        const kiln_index first =
            chunk * (kiln_index)(KILN_BLOCK * KILN_VECTORS_PER_ITEM) + kiln_work_item();
#if KILN_VECTORS_PER_ITEM == 1
        const kiln_position position = kiln_locate(first);
        if (KILN_IS_WHOLE(first, position)) {
            kiln_inputs inputs;
            kiln_load(arguments, position, inputs);
            kiln_compute(arguments, position, inputs);
        }
#else
        kiln_inputs inputs[KILN_VECTORS_PER_ITEM];
        KILN_UNROLL
        for (int i = 0; i < KILN_VECTORS_PER_ITEM; i++) {
            const kiln_index vector = first + (kiln_index)(i * KILN_BLOCK);
            const kiln_position position = kiln_locate(vector);
            if (KILN_IS_WHOLE(vector, position))
                kiln_load(arguments, position, inputs[i]);
        }
        KILN_UNROLL
        for (int i = 0; i < KILN_VECTORS_PER_ITEM; i++) {
            const kiln_index vector = first + (kiln_index)(i * KILN_BLOCK);
            const kiln_position position = kiln_locate(vector);
            if (KILN_IS_WHOLE(vector, position))
                kiln_compute(arguments, position, inputs[i]);
        }
#endif
#if KILN_HAS_TAILS
        KILN_NO_UNROLL
        for (int i = 0; i < KILN_VECTORS_PER_ITEM; i++) {
            const kiln_index vector = first + (kiln_index)(i * KILN_BLOCK);
            kiln_position tail = kiln_locate(vector);
            if (vector >= (kiln_index)(KILN_VECTORS) || KILN_IS_WHOLE(vector, tail))
                continue;
            KILN_NO_UNROLL
            for (; tail.column < (kiln_index)(KILN_COLS); tail.column++) {
                kiln_inputs_element element;
                kiln_load_element(arguments, tail, element);
                kiln_compute_element(arguments, tail, element);
            }
        }
#endif
    }
}
