/*
 * Packs that are copied, each from one pixel and tap: what follows from their rows is found before the first tile of k, and kept.
 * Packs outside of the windows are loaded as zeros. For the pipelines of staged_tiles.h on AMD GPUs with matrix instructions, offsets
 * of 32 bits, and an operand with windows whose memory runs along k. (contraction.hip lists the other choices.)
 */
#ifndef KILN_DEVICE_CONTRACTION_INSIDE_ROWS_H
#define KILN_DEVICE_CONTRACTION_INSIDE_ROWS_H

#include "device/contraction/split_operand.h"
#include "device/contraction/buffer_load.h"

KILN_DEVICE bool kiln_is_row_inside(const kiln_arguments &arguments, const kiln_coordinates &row,
                                    const kiln_corner &corner, unsigned k)
{
    const kiln_index taps = kiln_split_k(arguments, corner, k);
    bool is_inside = true;
#define KILN_ASK_ROW_AT(w)                                                                         \
    is_inside &= kiln_is_within(                                                                   \
        arguments, kiln_windows[w],                                                                \
        (unsigned)(row.c[w] +                                                                      \
                   kiln_as_one(kiln_steps_along_axes(arguments, kiln_windows[w].sums, taps))));
    (void)taps;
    KILN_UP(KILN_WINDOWS, KILN_ASK_ROW_AT)
    return is_inside;
}

/* Coordinates and offsets of rows, before those of k are added. Offsets are bytes. */
#define KILN_ROW_OF_LANE kiln_coordinates row;
#define KILN_LOCATE_ROW(side, SIDE)                                                                \
    if (KILN_##SIDE##_IS_WINDOWED)                                                                 \
        lane.row = kiln_coordinates_of_rows(arguments, kiln_##side##_rows, source.corner, row);
#define KILN_KEEP_ROW_AT(w) kiln_keep_offset(lane.row.c[w]);
#define KILN_KEEP_ROW(SIDE)                                                                        \
    if (KILN_##SIDE##_IS_WINDOWED) {                                                               \
        KILN_UP(KILN_WINDOWS, KILN_KEEP_ROW_AT)                                                    \
    }

#undef KILN_OFFSETS_SPLIT
#undef KILN_LOCATE_SPLIT
#undef KILN_KEEP_SPLIT
#undef KILN_LOAD_SPLIT
#define KILN_OFFSETS_SPLIT(side, n) kiln_offset at##n;
#define KILN_LOCATE_SPLIT(side, n, type)                                                           \
    if (kiln_split_##n.is_windowed)                                                                \
        lane.at##n = (unsigned)sizeof(kiln_storage_##type) *                                       \
                     kiln_split_offset_of_row(arguments, kiln_map_##n, kiln_split_##n,             \
                                              kiln_##side##_rows, source.corner, row);
#define KILN_KEEP_SPLIT(side, n)                                                                   \
    if (kiln_split_##n.is_windowed)                                                                \
        kiln_keep_offset(lane.at##n);
#define KILN_LOAD_SPLIT(side, n)                                                                   \
    if (kiln_split_##n.is_windowed)                                                                \
        kiln_load_or_zero(                                                                         \
            source.p##n,                                                                           \
            lane.at##n + (unsigned)sizeof *source.p##n *                                           \
                             kiln_split_offset_of_k(arguments, kiln_map_##n, kiln_split_##n,       \
                                                    source.corner, KILN_K_WITHIN(k, rest)),        \
            kiln_is_row_inside(arguments, lane.row, source.corner, KILN_K_WITHIN(k, rest)),        \
            inputs.x##n);                                                                          \
    else {                                                                                         \
        KILN_LOAD_SPLIT_ELEMENTS(side, n)                                                          \
    }

#undef KILN_INSIDE
#define KILN_INSIDE
#define KILN_FIND_INSIDE(side, SIDE)
#define KILN_KEEP_INSIDE(SIDE)

#endif
