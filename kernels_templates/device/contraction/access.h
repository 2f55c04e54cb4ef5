/*
 * Accesses of an operand, by their form: use(left, number, type, form) of a list of accesses.
 *   PLAIN    elements of memory, at kiln_map_<number>
 *   SPLIT    the same where an index is decomposed: kiln_split_<number> too (index.h)
 *   SCALAR   an argument
 */
#ifndef KILN_DEVICE_CONTRACTION_ACCESS_H
#define KILN_DEVICE_CONTRACTION_ACCESS_H

#include "device/contraction/offset.h"

/* A source has a pointer to the tile of each access. It starts at a row, and advances along k. */
#define KILN_POINTER(side, n, type, form) KILN_POINTER_##form(n, type)
#define KILN_START(side, n, type, form)   KILN_START_##form(n)
#define KILN_ADVANCE(side, n, type, form) KILN_ADVANCE_##form(n)

#define KILN_POINTER_PLAIN(n, type) const kiln_storage_##type *p##n;
#define KILN_START_PLAIN(n)                                                                        \
    source.p##n = arguments.a##n + (kiln_offset_of_batch(arguments, kiln_map_##n, batch) +         \
                                    kiln_offset_along(arguments, kiln_map_##n.row, row));
#define KILN_ADVANCE_PLAIN(n)                                                                      \
    source.p##n += kiln_offset_along(arguments, kiln_map_##n.column, k);

#define KILN_POINTER_SPLIT(n, type) KILN_POINTER_PLAIN(n, type)
#define KILN_START_SPLIT(n)                                                                        \
    source.p##n =                                                                                  \
        arguments.a##n + kiln_split_start(arguments, kiln_map_##n, kiln_split_##n, batch, row);
#define KILN_ADVANCE_SPLIT(n)                                                                      \
    source.p##n += kiln_split_advance(arguments, kiln_map_##n, kiln_split_##n, k);

#define KILN_POINTER_SCALAR(n, type)
#define KILN_START_SCALAR(n)
#define KILN_ADVANCE_SCALAR(n)

/* The place of a tile whose indices are decomposed. */
#define KILN_START_CORNER                                                                          \
    source.corner.batch = batch;                                                                   \
    source.corner.first_row = row;                                                                 \
    source.corner.first_k = 0;
#define KILN_ADVANCE_CORNER source.corner.first_k += k;

#endif
