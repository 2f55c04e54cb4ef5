/*
 * Tiles of local memory through which pointwise_tiled.hip transposes: KILN_TILE lines of KILN_TILE columns, in vectors of
 * KILN_VECTOR columns. Vectors are read and written in pieces of at most 16 bytes, and pieces of one number lie together.
 *
 * Work-items write a column of vectors and read a line of them. Where a vector lies in its line therefore changes from
 * one line of vectors to the next, so that neither of the two meets the same banks twice.
 */
#ifndef KILN_DEVICE_TILE_H
#define KILN_DEVICE_TILE_H

#define KILN_TILE_VECTORS (KILN_TILE / KILN_VECTOR)

/* Where an element lies in a tile whose pieces have `piece` elements, a power of two. */
KILN_DEVICE unsigned kiln_tile_place(unsigned line, unsigned column, unsigned piece)
{
    const unsigned vector = (column / KILN_VECTOR) ^ (line / KILN_VECTOR);
    const unsigned within = column % KILN_VECTOR;
    return ((line * (KILN_VECTOR / piece) + within / piece) * KILN_TILE_VECTORS + vector) * piece +
           within % piece;
}

#endif
