/*
 * Packs along runs of k (run.h), where each element counts or not, and accesses of the form RUN: a pack is loaded at once, wherever it
 * begins. Almost all packs count as a whole, and only the others are masked. (contraction.hip lists the other choices.)
 */
#ifndef KILN_DEVICE_CONTRACTION_INSIDE_RUNS_H
#define KILN_DEVICE_CONTRACTION_INSIDE_RUNS_H

#include "device/contraction/run.h"
#include "device/contraction/split_operand.h"

/* Keeps the elements that count, those within `bound`, and clears the others. The first one is at `place`. */
KILN_DEVICE void kiln_keep_run(kiln_pack &pack, int place, int bound)
{
    const int places = bound - (int)KILN_PACK_ELEMENTS + 1; /* of whole packs */
    if ((unsigned)place >= (unsigned)(places < 0 ? 0 : places))
        kiln_keep_elements(pack, kiln_elements_within(-place, bound - place));
}

KILN_DEVICE int kiln_signed(unsigned offset)
{
    return (int)offset;
}

KILN_DEVICE long long kiln_signed(unsigned long long offset)
{
    return (long long)offset;
}

/* Elements of a pack that lie in the operand's memory. Its last pack begins at element `last`, which is not negative. Offsets before
 * the first element wrap around. Elements beyond the memory may have any value. */
template <class Element>
KILN_DEVICE void kiln_load_run(const kiln_arguments &arguments, const kiln_map &map,
                               const kiln_split &split, const kiln_axes &rows,
                               const Element *source, const kiln_corner &corner, unsigned row,
                               unsigned k, Element *to)
{
    const kiln_offset offset = kiln_split_offset(arguments, map, split, rows, corner, row, k);
    kiln_offset before = 0; /* from the first element of the memory to the source */
    if (!split.splits_rows && !split.is_windowed)
        before = (kiln_offset)corner.first_row * (kiln_offset)kiln_number_of(arguments, map.row);
    const auto first = kiln_signed(before + offset);
    const auto last = kiln_signed((kiln_offset)kiln_number_of(arguments, split.last_pack));
#ifdef KILN_DEVICE_UNALIGNED_H
    kiln_load_unaligned_within<KILN_PACK_ELEMENTS * (int)sizeof(Element), (int)sizeof(Element)>(
        to, source - before, first * (int)sizeof(Element),
        (last + (int)KILN_PACK_ELEMENTS) * (int)sizeof(Element));
#else
    const auto within = first < 0 ? 0 : first < last ? first : last;
    const kiln_offset loaded = (kiln_offset)within - before;
    kiln_load_neighbours(
        KILN_PACK_ELEMENTS,
        (const Element *)((const char *)source + (kiln_offset)sizeof(Element) * loaded), to);
    if (__builtin_expect(within == first, 1))
        return;
    KILN_UNROLL
    for (int e = 0; e < (int)KILN_PACK_ELEMENTS; e++) {
        const auto element = first + e;
        to[e] = source[element >= 0 && element < last + (int)KILN_PACK_ELEMENTS
                           ? offset + (kiln_offset)e
                           : loaded];
    }
#endif
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
                  source.corner, row, KILN_K_WITHIN(k, rest), inputs.x##n);
#define KILN_OFFSET_RUN(side, n)      KILN_OFFSET_SPLIT(side, n)

#undef KILN_INSIDE
#define KILN_INSIDE int place; /* of the first element (kiln_place_in_run) */
#define KILN_FIND_INSIDE(side, SIDE)                                                               \
    inputs.place = kiln_place_in_run(arguments, kiln_##side##_rows, KILN_##SIDE##_IS_WINDOWED,     \
                                     source.corner, row, KILN_K_WITHIN(k, rest));
#define KILN_KEEP_INSIDE(SIDE)                                                                     \
    kiln_keep_run(pack, inputs.place, kiln_run_bound(arguments, KILN_##SIDE##_IS_WINDOWED));

#endif
