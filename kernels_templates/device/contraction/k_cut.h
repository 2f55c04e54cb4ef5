/*
 * k cut into segments of whole tiles.
 */
#ifndef KILN_DEVICE_CONTRACTION_K_CUT_H
#define KILN_DEVICE_CONTRACTION_K_CUT_H

#include "device/contraction/k_range.h"

/* Segments differ by at most one tile. The first tile is the ragged one: k % KILN_TILE_K, unless that is 0. */
KILN_DEVICE kiln_k_range kiln_range_of_segment(unsigned k, unsigned segments, unsigned segment)
{
    const unsigned tiles = (k + KILN_TILE_K - 1) / KILN_TILE_K, end = (k - 1) % KILN_TILE_K + 1;
    const unsigned each = tiles / segments, more = tiles % segments;
    const unsigned count = each + (segment < more ? 1 : 0);
    const unsigned before = segment * each + (segment < more ? segment : more);
    kiln_k_range range;
    range.is_empty = count == 0;
    const bool has_end = before == 0 || range.is_empty;
    range.first = has_end ? 0 : end + (before - 1) * KILN_TILE_K;
    range.size = has_end ? end + (range.is_empty ? 0 : (count - 1) * KILN_TILE_K)
                         : count * KILN_TILE_K;
    return range;
}

#endif
