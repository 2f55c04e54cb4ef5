/*
 * Runs of k: taps and channels that are one axis, whose size is rounded up to whole packs (compiler/families/contraction/schedule/
 * contraction_runs.h). arguments.k_run is the size before that.
 */
#ifndef KILN_DEVICE_CONTRACTION_RUN_H
#define KILN_DEVICE_CONTRACTION_RUN_H

#include "device/contraction/window.h"

/* Narrows the elements of a pack that count, `from` on and before `to`, by a window at the coordinate of the first. */
KILN_DEVICE void kiln_narrow_run(const kiln_arguments &arguments, const kiln_window &window, int at,
                                 int &from, int &to)
{
    const int size = (int)kiln_number_of(arguments, window.size);
    if (!kiln_is_zero(window.sums[kiln_k_axes.rank - 1])) {
        from = -at;
        to = to < size - at ? to : size - at;
    } else {
        to = (unsigned)at < (unsigned)size ? to : 0;
    }
}

/* The elements of the pack at k that count, from the first one on and before the last. */
KILN_DEVICE void kiln_find_run(const kiln_arguments &arguments, const kiln_axes &rows,
                               bool is_windowed, const kiln_corner &corner, unsigned row, unsigned k,
                               int &from, int &to)
{
    const kiln_index taps =
        kiln_split_index(arguments, corner.batch, kiln_k_axes, corner.first_k + k);
    from = 0;
    to = (int)arguments.k_run - (int)taps.c[kiln_k_axes.rank - 1];
    if (!is_windowed)
        return;
    const kiln_coordinates at = kiln_coordinates_of(arguments, rows, corner, row, k);
#define KILN_NARROW_RUN(w) kiln_narrow_run(arguments, kiln_windows[w], at.c[w], from, to);
    KILN_UP(KILN_WINDOWS, KILN_NARROW_RUN)
}

#endif
