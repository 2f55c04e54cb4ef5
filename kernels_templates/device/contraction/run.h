/*
 * Runs of k: taps and channels that are one axis, whose size is rounded up to whole packs (compiler/families/contraction/schedule/
 * contraction_runs.h). arguments.k_run is the size before that.
 */
#ifndef KILN_DEVICE_CONTRACTION_RUN_H
#define KILN_DEVICE_CONTRACTION_RUN_H

#include "device/contraction/window.h"

/* True if the element of k at the corner of a tile counts: elements beyond a run do not. */
KILN_DEVICE bool kiln_is_in_run(const kiln_arguments &arguments, const kiln_corner &corner)
{
    const kiln_index taps = kiln_split_k(arguments, corner, 0);
    return taps.c[kiln_k_axes.rank - 1] < (unsigned)arguments.k_run;
}

KILN_CONSTEXPR bool kiln_goes_along_run(const kiln_window &window)
{
    return !kiln_is_zero(window.sums[kiln_k_axes.rank - 1]);
}

/*
 * The bound of a pack's elements, which are neighbours along it. In the operand with windows it is the window along the run, in the
 * other one the run itself. The latter's zeros multiply what the former has beyond the run.
 */
KILN_DEVICE int kiln_run_bound(const kiln_arguments &arguments, bool is_windowed)
{
    if (!is_windowed)
        return (int)arguments.k_run;
    int bound = 0;
#define KILN_BOUND_RUN(w)                                                                          \
    if (kiln_goes_along_run(kiln_windows[w]))                                                      \
        bound = (int)kiln_number_of(arguments, kiln_windows[w].size);
    KILN_UP(KILN_WINDOWS, KILN_BOUND_RUN)
    return bound;
}

/* The place of a pack's first element along its bound. Before the bound by a pack where another window has none of it. */
KILN_DEVICE int kiln_place_in_run(const kiln_arguments &arguments, const kiln_axes &rows,
                                  bool is_windowed, const kiln_corner &corner, unsigned row,
                                  unsigned k)
{
    if (!is_windowed)
        return (int)kiln_split_k(arguments, corner, k).c[kiln_k_axes.rank - 1];
    const kiln_coordinates at = kiln_coordinates_of(arguments, rows, corner, row, k);
    int place = 0;
    bool is_inside = true;
#define KILN_PLACE_IN_RUN(w)                                                                       \
    if (kiln_goes_along_run(kiln_windows[w]))                                                      \
        place = at.c[w];                                                                           \
    else                                                                                           \
        is_inside &= kiln_is_within(arguments, kiln_windows[w], (unsigned)at.c[w]);
    KILN_UP(KILN_WINDOWS, KILN_PLACE_IN_RUN)
    return is_inside ? place : -(int)KILN_PACK_ELEMENTS;
}

#endif
