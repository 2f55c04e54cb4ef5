/*
 * Left operands stay in registers. (The other choice: left_in_tile.h.)
 */
#ifndef KILN_DEVICE_ATTENTION_LEFT_KEPT_H
#define KILN_DEVICE_ATTENTION_LEFT_KEPT_H

#include "device/attention/tile.h"

#define KILN_IS_LEFT_KEPT 1

struct kiln_lefts {
    kiln_fragment fragments[KILN_SCORES][KILN_FRAGMENTS_M][KILN_C_STEPS];
};

KILN_DEVICE void kiln_lefts_start(const kiln_pack *, kiln_lefts &)
{
}

/* `tile` is that of operand `nth`, from the wave's first row on. It is free afterwards. */
KILN_DEVICE void kiln_keep_left(const kiln_pack *tile, unsigned nth, kiln_lefts &lefts)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned step = 0; step < KILN_C_STEPS; step++)
        kiln_load_left(lefts.fragments[nth][i][step], tile, i * KILN_MMA_M, step,
                       KILN_LEFT_SHAPE);
    kiln_barrier();
}

KILN_DEVICE kiln_fragment kiln_left_fragment(unsigned, const kiln_lefts &lefts, unsigned score,
                                             unsigned i, unsigned step)
{
    return lefts.fragments[score][i][step];
}

#endif
