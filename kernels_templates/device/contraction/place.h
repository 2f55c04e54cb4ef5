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

#endif
