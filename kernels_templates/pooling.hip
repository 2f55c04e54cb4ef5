/*
 * A reduction over windows of an image, with elementwise work before and after. Each work-item makes one vector of
 * KILN_VECTOR results. They lie along an axis that the windows do not move along, or along their last one: then a tap is
 * a row of the window, whose elements are loaded once for all results. A vector of one lies along any axis.
 *
 * The taps of a window are numbered from 0 to below KILN_TAPS. KILN_TAPS_TOGETHER of them are loaded, then reduced, so as
 * many loads are in flight. A tap in padding, or after the last one, loads an element inside: no load waits for a branch.
 *
 * KILN_HAS_TURNS and KILN_GRID are as in device/turns.h.
 *
 * The prelude defines:
 *   KILN_SYMBOL, KILN_BLOCK, KILN_CHUNKS, KILN_CHUNK(turn)   the launch
 *   KILN_VECTOR, KILN_VECTORS                                results of a vector, and vectors in all
 *   KILN_TAPS, KILN_TAPS_TOGETHER                            taps of a window, and those loaded at once
 *   kiln_index, kiln_arguments, kiln_position, kiln_locate   the position of a vector
 *   kiln_tap_inputs, kiln_load_tap                           loads a tap; returns true if it is inside
 *   kiln_reduced, kiln_begin, kiln_reduce_tap                the accumulators
 *   kiln_inputs, kiln_load, kiln_compute                     other operands of the results; the results
 */
#ifndef KILN_SYMBOL
#include "default/pooling_prelude.h"
#endif

KILN_DEVICE void kiln_reduce_taps(const kiln_arguments &arguments, const kiln_position &position, unsigned first,
                                  kiln_reduced &reduced)
{
    kiln_tap_inputs inputs[KILN_TAPS_TOGETHER];
    bool is_inside[KILN_TAPS_TOGETHER];
    KILN_UNROLL
    for (int i = 0; i < KILN_TAPS_TOGETHER; i++)
        is_inside[i] = kiln_load_tap(arguments, position, first + (unsigned)i, inputs[i]);
    KILN_UNROLL
    for (int i = 0; i < KILN_TAPS_TOGETHER; i++) {
        if (KILN_TAPS % KILN_TAPS_TOGETHER == 0 || first + (unsigned)i < (unsigned)(KILN_TAPS))
            kiln_reduce_tap(arguments, inputs[i], is_inside[i], reduced);
    }
}

KILN_KERNEL(KILN_SYMBOL, KILN_BLOCK, kiln_arguments)
{
#if KILN_HAS_TURNS
    for (kiln_index turn = kiln_work_group_x(); turn < (kiln_index)(KILN_CHUNKS); turn += KILN_GRID)
#else
    const kiln_index turn = kiln_work_group_x();
#endif
    {
        const kiln_index vector = KILN_CHUNK(turn) * (kiln_index)KILN_BLOCK + kiln_work_item();
        if (vector < (kiln_index)(KILN_VECTORS)) {
            const kiln_position position = kiln_locate(arguments, vector);
            kiln_inputs inputs;
            kiln_load(arguments, position, inputs);
            kiln_reduced reduced;
            kiln_begin(arguments, position, reduced);
            KILN_NO_UNROLL
            for (unsigned first = 0; first < (unsigned)(KILN_TAPS); first += KILN_TAPS_TOGETHER)
                kiln_reduce_taps(arguments, position, first, reduced);
            kiln_compute(arguments, position, inputs, reduced);
        }
    }
}
