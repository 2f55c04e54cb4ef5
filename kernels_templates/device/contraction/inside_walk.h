/*
 * Packs whose elements may each lie along any axis of k: one index is decomposed, and the next ones follow by carries. Loads of accesses
 * of the form WALKED are made on the way. (contraction.hip lists the other choices.) Facts of an operand:
 *   KILN_LEFT_WALKED(use)   use(left, number, type) for each access of the form WALKED
 *   KILN_LEFT_IS_WALKED     whether there is one
 */
#ifndef KILN_DEVICE_CONTRACTION_INSIDE_WALK_H
#define KILN_DEVICE_CONTRACTION_INSIDE_WALK_H

#include "device/contraction/inside_keep.h"

struct kiln_walk {
    kiln_index taps;
    bool begins[KILN_INDEX_RANK]; /* which axes of k, except the first, began again in the last step */
    kiln_coordinates at;          /* of an operand with windows */
};

KILN_DEVICE void kiln_next_along(const kiln_arguments &arguments, const kiln_batch &batch,
                                 unsigned i, kiln_walk &walk)
{
    if (i >= kiln_k_axes.rank)
        return;
    walk.taps.c[i] += i + 1 == kiln_k_axes.rank || walk.begins[i + 1] ? 1 : 0;
    if (i == 0)
        return;
    walk.begins[i] = walk.taps.c[i] == kiln_size_of_axis(arguments, batch, kiln_k_axes.axes[i]);
    walk.taps.c[i] = walk.begins[i] ? 0 : walk.taps.c[i];
}

KILN_DEVICE kiln_offset kiln_carry_along(const kiln_arguments &arguments, const kiln_batch &batch,
                                         const kiln_number (&factors)[KILN_INDEX_RANK], unsigned i,
                                         const kiln_walk &walk)
{
    if (i == 0 || i >= kiln_k_axes.rank)
        return 0;
    return walk.begins[i]
               ? (kiln_offset)kiln_number_of(arguments, factors[i - 1]) -
                     (kiln_offset)kiln_size_of_axis(arguments, batch, kiln_k_axes.axes[i]) *
                         (kiln_offset)kiln_number_of(arguments, factors[i])
               : 0;
}

/* The change of a sum of multiples of k's indices in a step: one along the last axis, and where an axis begins again, back to its start
 * and one along the axis before it. It is unsigned, since a step beyond the last tap may be more than an int has. */
KILN_DEVICE kiln_offset kiln_change(const kiln_arguments &arguments, const kiln_batch &batch,
                                    const kiln_number (&factors)[KILN_INDEX_RANK],
                                    const kiln_walk &walk)
{
    kiln_offset change =
        (kiln_offset)kiln_number_of(arguments, factors[kiln_k_axes.rank - 1]);
#define KILN_ADD_CARRY(i) change += kiln_carry_along(arguments, batch, factors, i, walk);
    KILN_DOWN(KILN_INDEX_RANK, KILN_ADD_CARRY)
    return change;
}

KILN_DEVICE kiln_walk kiln_start_walk(const kiln_arguments &arguments, const kiln_axes &rows,
                                      const kiln_corner &corner, unsigned row, unsigned k)
{
    kiln_walk walk = {};
    walk.taps = kiln_split_k(arguments, corner, k);
    walk.at = kiln_coordinates_of(arguments, rows, corner, row, k);
    return walk;
}

KILN_DEVICE void kiln_walk_on(const kiln_arguments &arguments, const kiln_batch &batch,
                              kiln_walk &walk)
{
#define KILN_NEXT_ALONG(i) kiln_next_along(arguments, batch, i, walk);
    KILN_DOWN(KILN_INDEX_RANK, KILN_NEXT_ALONG)
#define KILN_MOVE_COORDINATE(w)                                                                    \
    walk.at.c[w] = (int)((unsigned)walk.at.c[w] +                                                  \
                         (unsigned)kiln_change(arguments, batch, kiln_windows[w].sums, walk));
    KILN_UP(KILN_WINDOWS, KILN_MOVE_COORDINATE)
}

KILN_DEVICE bool kiln_is_walk_inside(const kiln_arguments &arguments, const kiln_walk &walk)
{
    (void)arguments, (void)walk;
    bool is_inside = true;
#define KILN_ASK_COORDINATE(w)                                                                     \
    is_inside &= kiln_is_within(arguments, kiln_windows[w], (unsigned)walk.at.c[w]);
    KILN_UP(KILN_WINDOWS, KILN_ASK_COORDINATE)
    return is_inside;
}

/* Element `j` of a pack, in each row of a run; `offsets` has one for each load. */
template <class Element>
KILN_DEVICE void kiln_load_walked(unsigned rows, unsigned row_step, const Element *source,
                                  const kiln_offset *offsets, bool is_read, unsigned j, Element *to)
{
    KILN_UNROLL
    for (unsigned r = 0; r < rows / row_step; r++)
        kiln_load_neighbours(row_step,
                             (const Element *)((const char *)source + (kiln_offset)sizeof(Element) *
                                                                          (is_read ? offsets[r] : 0)),
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

#define KILN_WALK_START(side, n, type)                                                             \
    kiln_offset o##n[kiln_##side##_loads_##n.rows / kiln_##side##_loads_##n.row_step];             \
    KILN_UNROLL                                                                                    \
    for (unsigned r = 0; r < sizeof o##n / sizeof *o##n; r++)                                      \
        o##n[r] = kiln_split_offset(arguments, kiln_map_##n, kiln_split_##n, kiln_##side##_rows,   \
                                    source.corner, row + r, first);
#define KILN_WALK_ON(side, n, type)                                                                \
    const kiln_offset d##n =                                                                       \
        kiln_change(arguments, source.corner.batch, kiln_split_##n.sums, walk);                    \
    KILN_UNROLL                                                                                    \
    for (unsigned r = 0; r < sizeof o##n / sizeof *o##n; r++)                                      \
        o##n[r] += d##n;
#define KILN_WALK_LOAD(side, n, type)                                                              \
    kiln_load_walked(kiln_##side##_loads_##n.rows, kiln_##side##_loads_##n.row_step, source.p##n,  \
                     o##n, !kiln_split_##n.is_windowed || is_inside, j, inputs.x##n);

/* No further than the end of k. */
#define KILN_FIND_INSIDE(side, SIDE)                                                               \
    if (KILN_##SIDE##_IS_WINDOWED || KILN_##SIDE##_IS_WALKED) {                                    \
        const unsigned first = KILN_K_WITHIN(k, rest);                                             \
        kiln_walk walk =                                                                           \
            kiln_start_walk(arguments, kiln_##side##_rows, source.corner, row, first);             \
        KILN_##SIDE##_WALKED(KILN_WALK_START)                                                      \
        inputs.inside = 0;                                                                         \
        KILN_UNROLL                                                                                \
        for (unsigned j = 0; j < KILN_PACK_ELEMENTS; j++) {                                        \
            if (j > 0 && (rest == KILN_WHOLE_K || k + j < rest)) {                                 \
                kiln_walk_on(arguments, source.corner.batch, walk);                                \
                KILN_##SIDE##_WALKED(KILN_WALK_ON)                                                 \
            }                                                                                      \
            const bool is_inside =                                                                 \
                !KILN_##SIDE##_IS_WINDOWED || kiln_is_walk_inside(arguments, walk);                \
            inputs.inside |= (unsigned)is_inside << j;                                             \
            KILN_##SIDE##_WALKED(KILN_WALK_LOAD)                                                   \
        }                                                                                          \
    }

#endif
