/*
 * Which rows of which batch a work-group does.
 */
#ifndef KILN_DEVICE_ATTENTION_PLACE_H
#define KILN_DEVICE_ATTENTION_PLACE_H

#include "device/attention/facts.h"

struct kiln_place {
    unsigned batch;
    unsigned row; /* of the tile's first element */
};

/*
 * Tiles of a batch read the same right operand and value: they are neighbours in time. Work-groups go to chiplets in turn, each with
 * a cache of its own: so each gets whole batches, and neighbours of them, which may share operands as well.
 */
KILN_DEVICE kiln_place kiln_place_group(unsigned id, unsigned tiles, unsigned batches)
{
    kiln_place place;
    unsigned batch = id / tiles, tile = id % tiles;
#if KILN_CHIPLETS > 1
    const unsigned each = batches / KILN_CHIPLETS;
    if (id < each * KILN_CHIPLETS * tiles) {
        const unsigned nth = id / KILN_CHIPLETS;
        batch = id % KILN_CHIPLETS * each + nth / tiles;
        tile = nth % tiles;
    }
#else
    (void)batches;
#endif
    place.batch = batch;
    place.row = (KILN_ARE_LAST_ROWS_LONGEST ? tiles - 1 - tile : tile) * KILN_TILE_M;
    return place;
}

#if KILN_HAS_SEGMENTS
/* What of its columns a segment has: whole tiles, shared out as evenly as possible, or none. */
KILN_DEVICE void kiln_cut_columns(unsigned segments, unsigned segment, kiln_column_range &range)
{
    if (range.first >= range.end)
        return;
    const unsigned before = range.first / KILN_TILE_N;
    const unsigned tiles = (range.end - 1) / KILN_TILE_N + 1 - before;
    const unsigned each = tiles / segments, more = tiles % segments;
    const unsigned nth = before + segment * each + (segment < more ? segment : more);
    const unsigned count = each + (segment < more ? 1 : 0);
    const unsigned first = nth * KILN_TILE_N, end = (nth + count) * KILN_TILE_N;
    range.first = first > range.first ? first : range.first;
    range.end = end < range.end ? end : range.end;
    if (count == 0)
        range.first = range.end;
}
#endif

#endif
