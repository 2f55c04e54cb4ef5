/*
 * Which rows of which batch a work-group does.
 */
#ifndef KILN_DEVICE_ATTENTION_PLACE_H
#define KILN_DEVICE_ATTENTION_PLACE_H

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

#endif
