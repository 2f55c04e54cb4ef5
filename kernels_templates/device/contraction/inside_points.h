/*
 * Each load of a pack is tested by itself: whether it lies inside of the windows. (contraction.hip lists the other choices.)
 */
#ifndef KILN_DEVICE_CONTRACTION_INSIDE_POINTS_H
#define KILN_DEVICE_CONTRACTION_INSIDE_POINTS_H

#include "device/contraction/inside_keep.h"

/* A bit for each load of a pack, which takes `vector` elements of k. */
KILN_DEVICE unsigned kiln_points_inside(const kiln_arguments &arguments, const kiln_axes &rows,
                                        const kiln_corner &corner, unsigned vector, unsigned row,
                                        unsigned k, unsigned rest)
{
    unsigned inside = 0;
    KILN_UNROLL
    for (unsigned j = 0; j < KILN_PACK_ELEMENTS / vector; j++)
        inside |= (unsigned)kiln_is_inside(arguments, rows, ~0u, corner, row,
                                           KILN_K_WITHIN(k + j * vector, rest))
                  << j;
    return inside;
}

#define KILN_FIND_INSIDE(side, SIDE)                                                               \
    if (KILN_##SIDE##_IS_WINDOWED)                                                                 \
        inputs.inside = kiln_points_inside(arguments, kiln_##side##_rows, source.corner,           \
                                           KILN_##SIDE##_VECTOR, row, k, rest);

#endif
