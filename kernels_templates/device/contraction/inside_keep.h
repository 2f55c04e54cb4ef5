/*
 * Packs of an operand with windows: zero outside of them.
 */
#ifndef KILN_DEVICE_CONTRACTION_INSIDE_KEEP_H
#define KILN_DEVICE_CONTRACTION_INSIDE_KEEP_H

#include "device/contraction/split_operand.h"

/* A pack that is loaded at once is kept or cleared as a whole, one of loads of its parts by element: the masks are the same for all
 * rows of a run. */
#define KILN_KEEP_INSIDE(SIDE)                                                                     \
    if (KILN_##SIDE##_IS_WINDOWED && KILN_##SIDE##_VECTOR == KILN_PACK_ELEMENTS)                   \
        kiln_keep_pack(pack, inputs.inside != 0);                                                  \
    else if (KILN_##SIDE##_IS_WINDOWED)                                                            \
        kiln_keep_elements(pack, inputs.inside);

#endif
