/*
 * Accesses of the form BLOCKS (access.h): packed elements, and elements that neighbours along rows or along k share, such as the scale
 * of a block. Facts of each, besides its map:
 *   kiln_block_bits_<number>                      bits of an element in memory
 *   kiln_block_rows_<number>, _columns_<number>   neighbours along rows, and along k, that share an element
 *   kiln_block_is_shared_<number>                 true if all elements of a pack along k share one
 */
#ifndef KILN_DEVICE_CONTRACTION_BLOCKS_H
#define KILN_DEVICE_CONTRACTION_BLOCKS_H

#include "device/contraction/access.h"
#include "device/convert/parts/packed.h"

/* Clang copies a structure of a pointer as an integer. LLVM forgets then that a pointer among the arguments is a global one, and loads
 * what it points to byte by byte. */
template <class Element> KILN_DEVICE const Element *kiln_copy_pointer(const Element *pointer)
{
    return pointer;
}

template <unsigned bits>
KILN_DEVICE kiln_packed<bits> kiln_copy_pointer(const kiln_packed<bits> &pointer)
{
    return kiln_packed<bits>{pointer.bytes};
}

/* Rows and k are counted from the first of all, since blocks begin there. */
#define KILN_POINTER_BLOCKS(n, type)                                                               \
    decltype(kiln_arguments::a##n) p##n;                                                           \
    long long at##n;                                                                               \
    unsigned row##n, k##n;
#define KILN_START_BLOCKS(n)                                                                       \
    source.p##n = kiln_copy_pointer(arguments.a##n);                                                                  \
    source.at##n = kiln_offset_of_batch(arguments, kiln_map_##n, batch);                           \
    source.row##n = row;                                                                           \
    source.k##n = 0;
#define KILN_ADVANCE_BLOCKS(n) source.k##n += k;

/* Offset of an element from the first row and k. */
KILN_DEVICE long long kiln_offset_of_block(const kiln_arguments &arguments, const kiln_map &map,
                                           unsigned rows, unsigned columns, unsigned row,
                                           unsigned k)
{
    return kiln_offset_along(arguments, map.row, row / rows) +
           kiln_offset_along(arguments, map.column, k / columns);
}

#define KILN_LOAD_ELEMENT_BLOCKS(n)                                                                \
    inputs.x##n = source.p##n[source.at##n +                                                       \
                              kiln_offset_of_block(arguments, kiln_map_##n, kiln_block_rows_##n,   \
                                                   kiln_block_columns_##n, source.row##n + row,    \
                                                   source.k##n + k)];

#endif
