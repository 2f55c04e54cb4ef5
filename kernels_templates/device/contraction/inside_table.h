/*
 * Packs whose elements may each lie along any axis of k, as in inside_walk.h, where the work-group finds them together. Before a tile
 * of k is fetched, a table in LDS says what each k adds to the operand's offset and coordinates. The other part is the row's. For the
 * pipeline of staged.h with one tile ahead, and one access of the form WALKED, whose operand has the windows. (contraction.hip
 * lists the other choices.) Facts as in inside_walk.h.
 */
#ifndef KILN_DEVICE_CONTRACTION_INSIDE_TABLE_H
#define KILN_DEVICE_CONTRACTION_INSIDE_TABLE_H

#include "device/contraction/inside_keep.h"

/* An index of k adds this to the offset, and to the coordinates of up to three windows. */
struct alignas(16) kiln_point_of_k {
    kiln_offset offset;
    int at[3];
};

/* Two tables of points that are as large as packs: one is filled while the other is read. */
#define KILN_TABLES_PACKS (2 * KILN_TILE_K)

#undef KILN_CORNER
#undef KILN_START_SPLIT_OPERAND
#define KILN_CORNER                                                                                \
    kiln_corner corner;                                                                            \
    const kiln_point_of_k *points; /* of the tile at the corner */
#define KILN_START_SPLIT_OPERAND                                                                   \
    KILN_START_CORNER                                                                              \
    source.points = nullptr;

/* Fills the table of a tile that ends at `rest`. All work-items take part. */
KILN_DEVICE void kiln_fill_points(const kiln_arguments &arguments, const kiln_split &split,
                                  const kiln_corner &corner, unsigned rest, kiln_point_of_k *points)
{
    (void)arguments;
    KILN_UNROLL
    for (unsigned first = 0; first < KILN_TILE_K; first += KILN_BLOCK) {
        const unsigned k = first + kiln_work_item();
        if (KILN_TILE_K % KILN_BLOCK != 0 && k >= KILN_TILE_K)
            break;
        KILN_ARGUMENTS_AGAIN(kiln_arguments, arguments, now);
        const kiln_index taps = kiln_split_k(now, corner, KILN_K_WITHIN(k, rest));
        kiln_point_of_k point = {};
        point.offset = kiln_offset_along_axes(now, split.sums, taps);
#define KILN_POINT_COORDINATE(w)                                                                   \
    point.at[w] = kiln_steps_along_axes(now, kiln_windows[w].sums, taps);
        KILN_UP(KILN_WINDOWS, KILN_POINT_COORDINATE)
        points[k] = point;
    }
}

KILN_DEVICE bool kiln_is_point_inside(const kiln_arguments &arguments, const kiln_coordinates &row,
                                      const kiln_point_of_k &point)
{
    bool is_inside = true;
#define KILN_ASK_POINT(w)                                                                          \
    is_inside &= kiln_is_within(arguments, kiln_windows[w], (unsigned)(row.c[w] + point.at[w]));
    KILN_UP(KILN_WINDOWS, KILN_ASK_POINT)
    return is_inside;
}

/* Element `j` of a pack, in each row of a run; `offsets` has one for each load. */
template <class Element>
KILN_DEVICE void kiln_load_point(unsigned rows, unsigned row_step, const Element *source,
                                 const kiln_offset *offsets, const kiln_point_of_k &point,
                                 bool is_inside, unsigned j, Element *to)
{
    KILN_UNROLL
    for (unsigned r = 0; r < rows / row_step; r++)
        kiln_load_neighbours(row_step,
                             (const Element *)((const char *)source +
                                               (kiln_offset)sizeof(Element) *
                                                   (is_inside ? offsets[r] + point.offset : 0)),
                             to + j * rows + r);
}

#define KILN_LOADS_WALKED(side, n)       KILN_LOADS_SPLIT(side, n)
#define KILN_POINTER_WALKED(n, type)     KILN_POINTER_SPLIT(n, type)
#define KILN_OFFSETS_WALKED(side, n)
#define KILN_START_WALKED(n)             KILN_START_SPLIT(n)
#define KILN_ADVANCE_WALKED(n)           KILN_ADVANCE_SPLIT(n)
#define KILN_LOCATE_WALKED(side, n, type)
#define KILN_KEEP_WALKED(side, n)
#define KILN_LOAD_WALKED(side, n)
#define KILN_OFFSET_WALKED(side, n)      KILN_OFFSET_SPLIT(side, n)

#define KILN_POINTS_FILL(side, n, type)                                                            \
    kiln_fill_points(arguments, kiln_split_##n, staging.side.source.corner, rest, points);         \
    staging.side.source.points = points;
#define KILN_POINTS_START(side, n, type)                                                           \
    kiln_offset o##n[kiln_##side##_loads_##n.rows / kiln_##side##_loads_##n.row_step];             \
    KILN_UNROLL                                                                                    \
    for (unsigned r = 0; r < sizeof o##n / sizeof *o##n; r++)                                      \
        o##n[r] = kiln_split_offset_of_row(arguments, kiln_map_##n, kiln_split_##n,                \
                                           kiln_##side##_rows, source.corner,                      \
                                           row + r * kiln_##side##_loads_##n.row_step);
#define KILN_POINTS_LOAD(side, n, type)                                                            \
    kiln_load_point(kiln_##side##_loads_##n.rows, kiln_##side##_loads_##n.row_step, source.p##n,   \
                    o##n, point, is_inside, j, inputs.x##n);

#define KILN_FIND_INSIDE(side, SIDE)                                                               \
    if (KILN_##SIDE##_IS_WINDOWED) {                                                               \
        const kiln_coordinates at =                                                                \
            kiln_coordinates_of_rows(arguments, kiln_##side##_rows, source.corner, row);           \
        KILN_##SIDE##_WALKED(KILN_POINTS_START)                                                    \
        inputs.inside = 0;                                                                         \
        KILN_UNROLL                                                                                \
        for (unsigned j = 0; j < KILN_PACK_ELEMENTS; j++) {                                        \
            const kiln_point_of_k point = source.points[k + j];                                    \
            const bool is_inside = kiln_is_point_inside(arguments, at, point);                     \
            inputs.inside |= (unsigned)is_inside << j;                                             \
            KILN_##SIDE##_WALKED(KILN_POINTS_LOAD)                                                 \
        }                                                                                          \
    }

#endif
