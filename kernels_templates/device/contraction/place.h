/*
 * Which tile of the result a work-group makes.
 */
#ifndef KILN_DEVICE_CONTRACTION_PLACE_H
#define KILN_DEVICE_CONTRACTION_PLACE_H

#include "device/contraction/chiplet.h"

struct kiln_place {
    unsigned batch;
    unsigned row; /* of the tile's first element */
    unsigned column;
};

/* Neighbours go down KILN_SUPER_ROWS tiles before the next column. */
KILN_DEVICE kiln_place kiln_place_group(unsigned id, unsigned rows, unsigned columns)
{
    const unsigned tiles = rows * columns;
    kiln_place place;
    place.batch = id / tiles;
    const unsigned tile = kiln_run_of_chiplet(id % tiles, tiles);
    const unsigned super = tile / (KILN_SUPER_ROWS * columns);
    const unsigned first = super * KILN_SUPER_ROWS;
    const unsigned height = rows - first < KILN_SUPER_ROWS ? rows - first : KILN_SUPER_ROWS;
    const unsigned within = tile - first * columns;
    /* Divided by vector instructions on AMD GPUs: pointers would stay in vector registers too. */
    place.batch = kiln_uniform(place.batch);
    place.row = kiln_uniform((first + within % height) * KILN_TILE_M);
    place.column = kiln_uniform(within / height * KILN_TILE_COLUMNS);
    return place;
}

/* What a work-group does of k. */
struct kiln_k_range {
    unsigned first;
    unsigned size;
    bool is_empty; /* something is computed nevertheless, and then zero is stored */
};

#if KILN_CUTS_K
/* Tiles are shared out as evenly as possible. What whole tiles leave over of k is the first one. */
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

#endif
