/*
 * Offsets in elements that follow from an access map.
 */
#ifndef KILN_DEVICE_CONTRACTION_OFFSET_H
#define KILN_DEVICE_CONTRACTION_OFFSET_H

#include "device/contraction/batch.h"

/* From the pointer of a tile, which all lanes share, to one of its elements. */
KILN_DEVICE kiln_offset kiln_offset_in_tile(const kiln_arguments &arguments, const kiln_map &map,
                                            unsigned row, unsigned column)
{
    return (kiln_offset)row * (kiln_offset)kiln_number_of(arguments, map.row) +
           (kiln_offset)column * (kiln_offset)kiln_number_of(arguments, map.column);
}

KILN_DEVICE long long kiln_offset_along(const kiln_arguments &arguments, const kiln_number &stride,
                                        unsigned index)
{
    return (long long)index * kiln_number_of(arguments, stride);
}

/* An operand's index on an axis of batches. */
KILN_DEVICE unsigned kiln_operand_batch(const kiln_arguments &arguments, const kiln_batch &batch,
                                        unsigned axis)
{
    (void)arguments, (void)batch, (void)axis;
#if KILN_BATCH_RANK > 0
#ifdef KILN_OUTER_AXIS /* several of its batches are added up */
    if (axis == KILN_OUTER_AXIS)
        return batch.c[axis] * (unsigned)arguments.outer + batch.outer;
#endif
    return batch.c[axis];
#else
    return 0;
#endif
}

#if KILN_BATCH_RANK > 0
/* The part of an axis in kiln_offset_of_batches. */
KILN_DEVICE long long kiln_offset_of_axis(const kiln_arguments &arguments, const kiln_map &map,
                                          const kiln_batch &batch, unsigned axes, unsigned axis)
{
    if ((axes >> axis & 1) == 0)
        return 0;
    const kiln_map_axis &along = map.batches[axis];
    const unsigned index = kiln_operand_batch(arguments, batch, axis);
    const bool is_repeated = along.repeat.argument != nullptr || along.repeat.value != 1;
    return kiln_offset_along(
        arguments, along.stride,
        is_repeated ? index / (unsigned)kiln_number_of(arguments, along.repeat) : index);
}
#endif

/* Offset from an operand's first element along some axes of batches, a bit for each. */
KILN_DEVICE long long kiln_offset_of_batches(const kiln_arguments &arguments, const kiln_map &map,
                                             const kiln_batch &batch, unsigned axes)
{
    (void)arguments, (void)map, (void)batch, (void)axes;
    long long offset = 0;
#define KILN_ADD_AXIS(axis) offset += kiln_offset_of_axis(arguments, map, batch, axes, axis);
    KILN_UP(KILN_BATCH_RANK, KILN_ADD_AXIS)
    return offset;
}

/* Offset from an operand's first element to the first element of a batch; of an operand without windows, to its phases' first taps. */
KILN_DEVICE long long kiln_offset_of_batch(const kiln_arguments &arguments, const kiln_map &map,
                                           const kiln_batch &batch)
{
    long long offset = kiln_offset_of_batches(arguments, map, batch, ~0u);
#ifdef KILN_SPANS
    if (map.span != 0)
        offset += batch.spans[map.span - 1].base;
#endif
#ifdef KILN_PHASES
#define KILN_ADD_FIRST_TAP(p)                                                                      \
    offset += kiln_offset_along(arguments, map.phases[p], batch.phases[p].first);
    KILN_UP(KILN_PHASES, KILN_ADD_FIRST_TAP)
#endif
    return offset;
}

#endif
