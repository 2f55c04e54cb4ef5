/*
 * Packs along runs of k (run.h), where each element counts or not, and accesses of the form RUN: a pack is loaded at once, wherever it
 * begins. At the very ends of an operand's memory a pack may be partly beyond it: there its elements are loaded one by one. (The
 * other choices: inside_points.h, inside_walk.h.)
 */
#ifndef KILN_DEVICE_CONTRACTION_INSIDE_RUNS_H
#define KILN_DEVICE_CONTRACTION_INSIDE_RUNS_H

#include "device/contraction/run.h"
#include "device/contraction/split_operand.h"

/* A bit for each element of the pack that counts. */
KILN_DEVICE unsigned kiln_run_inside(const kiln_arguments &arguments, const kiln_axes &rows,
                                     bool is_windowed, const kiln_corner &corner, unsigned row,
                                     unsigned k)
{
    int from, to;
    kiln_find_run(arguments, rows, is_windowed, corner, row, k, from, to);
    return kiln_elements_within(from, to);
}

/* True if a pack that begins there lies in the operand's memory. Offsets before the first element wrap around. */
KILN_DEVICE bool kiln_is_pack_within(unsigned first, long long last)
{
    return (int)first >= 0 && (int)first <= (int)last;
}

KILN_DEVICE bool kiln_is_pack_within(unsigned long long first, long long last)
{
    return (long long)first >= 0 && (long long)first <= last;
}

template <class Element>
KILN_DEVICE void kiln_load_run(const kiln_arguments &arguments, const kiln_map &map,
                               const kiln_split &split, const kiln_axes &rows,
                               const Element *source, const kiln_corner &corner, unsigned row,
                               unsigned k, unsigned inside, Element *to)
{
    const kiln_offset offset =
        inside != 0 ? kiln_split_offset(arguments, map, split, rows, corner, row, k) : 0;
    kiln_offset first = offset;
    if (!split.splits_rows && !split.is_windowed)
        first += (kiln_offset)corner.first_row * (kiln_offset)kiln_number_of(arguments, map.row);
    if (__builtin_expect(kiln_is_pack_within(first, kiln_number_of(arguments, split.last_pack)),
                         1)) {
        kiln_load_neighbours(
            KILN_PACK_ELEMENTS,
            (const Element *)((const char *)source + (kiln_offset)sizeof(Element) * offset), to);
    } else {
        KILN_UNROLL
        for (unsigned e = 0; e < KILN_PACK_ELEMENTS; e++)
            to[e] = source[(inside >> e & 1) != 0 ? offset + e : 0u];
    }
}

#define KILN_LOADS_RUN(side, n)       KILN_LOADS_SPLIT(side, n)
#define KILN_POINTER_RUN(n, type)     KILN_POINTER_SPLIT(n, type)
#define KILN_OFFSETS_RUN(side, n)
#define KILN_START_RUN(n)             KILN_START_SPLIT(n)
#define KILN_ADVANCE_RUN(n)           KILN_ADVANCE_SPLIT(n)
#define KILN_LOCATE_RUN(side, n, type)
#define KILN_KEEP_RUN(side, n)
#define KILN_LOAD_RUN(side, n)                                                                     \
    kiln_load_run(arguments, kiln_map_##n, kiln_split_##n, kiln_##side##_rows, source.p##n,        \
                  source.corner, row, KILN_K_WITHIN(k, rest), inputs.inside, inputs.x##n);
#define KILN_OFFSET_RUN(side, n)      KILN_OFFSET_SPLIT(side, n)

#define KILN_FIND_INSIDE(side, SIDE)                                                               \
    inputs.inside = kiln_run_inside(arguments, kiln_##side##_rows, KILN_##SIDE##_IS_WINDOWED,      \
                                    source.corner, row, KILN_K_WITHIN(k, rest));
#define KILN_CLEAR_OUTSIDE(SIDE)
#define KILN_KEEP_INSIDE(SIDE) kiln_keep_elements(pack, inputs.inside);

#endif
