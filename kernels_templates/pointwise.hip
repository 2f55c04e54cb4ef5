/*
 * Elementwise work on one fusion group. Every work-item takes KILN_VECTORS_PER_ITEM vectors of KILN_VECTOR elements, a work-group
 * apart from each other. It loads them all, then computes and stores. A vector that crosses the end of its row is computed
 * element by element.
 *
 * KILN_HAS_TURNS and KILN_GRID are as in device/turns.h.
 *
 * The prelude defines:
 *   KILN_SYMBOL, KILN_BLOCK, KILN_CHUNKS, KILN_VECTOR, KILN_VECTORS_PER_ITEM
 *   KILN_CHUNK(turn)                         number of the next chunk
 *   KILN_COLS, KILN_VECTORS                  elements of a row; vectors of all rows together
 *   KILN_HAS_TAILS                           true if rows are not whole numbers of vectors
 *   KILN_IS_EVEN                             true if every work-item has all its vectors
 *   KILN_CHECKS_CHUNKS, KILN_WHOLE_VECTORS   true if most chunks have all their vectors: those that end at or before this vector;
 *                                            one check serves the whole work-group
 *   kiln_index, kiln_arguments, kiln_position, kiln_locate
 *   kiln_inputs, kiln_load, kiln_compute     the group's, for a vector, and with tails for an element too
 */
#ifndef KILN_SYMBOL
#include "default/pointwise_prelude.h"
#endif

#if KILN_IS_EVEN || KILN_CHECKS_CHUNKS
/* Without conditions in between, a load that several vectors need is done once. */
#define KILN_IS_WHOLE(vector, position) true
#else
#define KILN_IS_WHOLE(vector, position) KILN_IS_VECTOR_WHOLE(vector, position)
#endif
#if KILN_HAS_TAILS
#define KILN_IS_VECTOR_WHOLE(vector, position)                                                     \
    ((vector) < (kiln_index)(KILN_VECTORS) &&                                                      \
     (position).column + KILN_VECTOR <= (kiln_index)(KILN_COLS))
#else
#define KILN_IS_VECTOR_WHOLE(vector, position) ((vector) < (kiln_index)(KILN_VECTORS))
#endif

#if KILN_HAS_TAILS
/* The elements of a vector that is cut. */
KILN_DEVICE void kiln_do_tail(const kiln_arguments &arguments, kiln_index vector)
{
    kiln_position tail = kiln_locate(arguments, vector);
    if (vector >= (kiln_index)(KILN_VECTORS) || KILN_IS_VECTOR_WHOLE(vector, tail))
        return;
    KILN_NO_UNROLL
    for (; tail.column < (kiln_index)(KILN_COLS); tail.column++) {
        kiln_inputs_element element;
        kiln_load_element(arguments, tail, element);
        kiln_compute_element(arguments, tail, element);
    }
}
#endif

#if KILN_CHECKS_CHUNKS
/* A chunk at the end, one vector after the other. */
KILN_DEVICE void kiln_do_last_chunk(const kiln_arguments &arguments, kiln_index first)
{
    KILN_NO_UNROLL
    for (int i = 0; i < KILN_VECTORS_PER_ITEM; i++) {
        const kiln_index vector = first + (kiln_index)(i * KILN_BLOCK);
        const kiln_position position = kiln_locate(arguments, vector);
        if (KILN_IS_VECTOR_WHOLE(vector, position)) {
            kiln_inputs inputs;
            kiln_load(arguments, position, inputs);
            kiln_compute(arguments, position, inputs);
        }
#if KILN_HAS_TAILS
        kiln_do_tail(arguments, vector);
#endif
    }
}
#endif

/* The vectors of a work-item. */
KILN_DEVICE void kiln_do_vectors(const kiln_arguments &arguments, kiln_index first)
{
#if KILN_VECTORS_PER_ITEM == 1
    const kiln_position position = kiln_locate(arguments, first);
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
        const kiln_position position = kiln_locate(arguments, vector);
        if (KILN_IS_WHOLE(vector, position))
            kiln_load(arguments, position, inputs[i]);
    }
    KILN_UNROLL
    for (int i = 0; i < KILN_VECTORS_PER_ITEM; i++) {
        const kiln_index vector = first + (kiln_index)(i * KILN_BLOCK);
        const kiln_position position = kiln_locate(arguments, vector);
        if (KILN_IS_WHOLE(vector, position))
            kiln_compute(arguments, position, inputs[i]);
    }
#endif
}

KILN_KERNEL(KILN_SYMBOL, KILN_BLOCK, kiln_arguments)
{
#if KILN_HAS_TURNS
    for (kiln_index turn = kiln_work_group_x(); turn < (kiln_index)(KILN_CHUNKS); turn += KILN_GRID)
#else
    const kiln_index turn = kiln_work_group_x();
#endif
    {
        const kiln_index chunk = KILN_CHUNK(turn);
        const kiln_index begin = chunk * (kiln_index)(KILN_BLOCK * KILN_VECTORS_PER_ITEM);
        const kiln_index first = begin + kiln_work_item();
#if KILN_CHECKS_CHUNKS
        if (begin + KILN_BLOCK * KILN_VECTORS_PER_ITEM > (kiln_index)(KILN_WHOLE_VECTORS))
            kiln_do_last_chunk(arguments, first);
        else
            kiln_do_vectors(arguments, first);
#else
        kiln_do_vectors(arguments, first);
#if KILN_HAS_TAILS
        KILN_NO_UNROLL
        for (int i = 0; i < KILN_VECTORS_PER_ITEM; i++)
            kiln_do_tail(arguments, first + (kiln_index)(i * KILN_BLOCK));
#endif
#endif
    }
}
