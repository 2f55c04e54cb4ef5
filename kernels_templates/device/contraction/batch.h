/*
 * Batches. Their axes are counted from the outermost one; kiln_batch_sizes, facts, says how long each is.
 */
#ifndef KILN_DEVICE_CONTRACTION_BATCH_H
#define KILN_DEVICE_CONTRACTION_BATCH_H

#include "device/contraction/map.h"

KILN_DEVICE long long kiln_number_of(const kiln_arguments &arguments, const kiln_number &number)
{
    return number.argument == nullptr ? number.value : arguments.*number.argument;
}

#if KILN_BATCH_RANK > 0
/* The index on an axis. Where lanes have batches of their own the outermost axis gets what the others leave, without a division. */
KILN_DEVICE void kiln_split_axis(const kiln_arguments &arguments, unsigned axis, unsigned axes,
                                 unsigned &rest, kiln_batch &batch)
{
    (void)arguments;
    if ((axes >> axis & 1) == 0)
        return;
#ifdef KILN_HAS_LANE_BATCHES
    if (axis == 0) {
        batch.c[0] = rest;
        return;
    }
#endif
    const unsigned size = (unsigned)kiln_number_of(arguments, kiln_batch_sizes[axis]);
    batch.c[axis] = rest % size;
    rest /= size;
}
#endif

/* The indices on some axes, a bit for each, of number `rest` among all batches along them. */
KILN_DEVICE void kiln_split_batch(const kiln_arguments &arguments, unsigned rest, unsigned axes,
                                  kiln_batch &batch)
{
    (void)arguments, (void)rest, (void)axes, (void)batch;
#define KILN_SPLIT_AXIS(axis) kiln_split_axis(arguments, axis, axes, rest, batch);
    KILN_DOWN(KILN_BATCH_RANK, KILN_SPLIT_AXIS)
}

#ifdef KILN_PHASES
KILN_DEVICE void kiln_locate_phase(const kiln_arguments &arguments, unsigned p, kiln_batch &batch)
{
    const kiln_phase_axis &axis = kiln_phase_axes[p];
    batch.phases[p] =
        kiln_find_phase((int)kiln_number_of(arguments, axis.offset) + (int)batch.c[axis.batch],
                        (int)kiln_number_of(arguments, axis.step),
                        (int)kiln_number_of(arguments, axis.divisor),
                        (unsigned)kiln_number_of(arguments, axis.taps),
                        (unsigned)kiln_number_of(arguments, axis.spread));
    batch.tap_divisors[p] = kiln_make_divisor(batch.phases[p].count);
}
#endif

KILN_DEVICE void kiln_locate_batch(const kiln_arguments &arguments, unsigned rest,
                                   kiln_batch &batch)
{
    kiln_split_batch(arguments, rest, ~0u, batch);
#ifdef KILN_PHASES
#define KILN_LOCATE_PHASE(p) kiln_locate_phase(arguments, p, batch);
    KILN_UP(KILN_PHASES, KILN_LOCATE_PHASE)
#endif
}

#endif
