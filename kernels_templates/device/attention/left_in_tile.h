/*
 * Left operands stay in LDS, and fragments of them are read for each tile of columns. (The other choice: left_kept.h.)
 */
#ifndef KILN_DEVICE_ATTENTION_LEFT_IN_TILE_H
#define KILN_DEVICE_ATTENTION_LEFT_IN_TILE_H

#include "device/attention/tile.h"

#define KILN_IS_LEFT_KEPT 0

struct kiln_lefts {
    const kiln_pack *tiles; /* from the wave's first row on */
};

KILN_DEVICE void kiln_lefts_start(const kiln_pack *tiles, kiln_lefts &lefts)
{
    lefts.tiles = tiles;
}

KILN_DEVICE void kiln_keep_left(const kiln_pack *, unsigned, kiln_lefts &)
{
}

KILN_DEVICE kiln_fragment kiln_left_fragment(unsigned lane, const kiln_lefts &lefts,
                                             unsigned score, unsigned i, unsigned step)
{
    (void)lane;
    kiln_fragment fragment;
    kiln_load_left_of(lane, fragment, lefts.tiles + score * KILN_LEFT_TILE_PACKS, i * KILN_MMA_M,
                      step, KILN_LEFT_SHAPE);
    return fragment;
}

#endif
