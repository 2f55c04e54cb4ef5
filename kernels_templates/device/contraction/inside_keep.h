/*
 * Packs of an operand with windows: zero outside of them.
 */
#ifndef KILN_DEVICE_CONTRACTION_INSIDE_KEEP_H
#define KILN_DEVICE_CONTRACTION_INSIDE_KEEP_H

#include "device/contraction/split_operand.h"

/* Elements that are loaded one by one are cleared before they are a pack, and a pack that is loaded at once as a whole. */
#define KILN_CLEAR_OUTSIDE(SIDE)                                                                   \
    if (KILN_##SIDE##_IS_WINDOWED && KILN_##SIDE##_VECTOR < KILN_PACK_ELEMENTS) {                  \
        KILN_UNROLL                                                                                \
        for (unsigned e = 0; e < KILN_PACK_ELEMENTS; e++)                                          \
            out[e] = (inputs.inside >> e & 1) != 0 ? out[e] : (kiln_element)0;                     \
    }
#define KILN_KEEP_INSIDE(SIDE)                                                                     \
    if (KILN_##SIDE##_IS_WINDOWED && KILN_##SIDE##_VECTOR == KILN_PACK_ELEMENTS)                   \
        kiln_keep_pack(pack, inputs.inside != 0);

#endif
