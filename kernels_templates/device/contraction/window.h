/*
 * Windows: which points of an operand lie inside. An operand has all of the kernel's windows, or none.
 */
#ifndef KILN_DEVICE_CONTRACTION_WINDOW_H
#define KILN_DEVICE_CONTRACTION_WINDOW_H

#include "device/contraction/index.h"

KILN_DEVICE int kiln_steps_along_axes(const kiln_arguments &arguments,
                                      const kiln_number (&steps)[KILN_INDEX_RANK],
                                      const kiln_index &at)
{
    int sum = 0;
#define KILN_ADD_STEP(i) sum += (int)at.c[i] * (int)kiln_number_of(arguments, steps[i]);
    KILN_UP(KILN_INDEX_RANK, KILN_ADD_STEP)
    return sum;
}

/* The part of a coordinate that comes from the row, batches and the offset. */
KILN_DEVICE int kiln_coordinate_of_row(const kiln_arguments &arguments, const kiln_window &window,
                                       const kiln_batch &batch, const kiln_index &row)
{
    (void)batch;
#ifdef KILN_PHASES
    int at = window.phase != 0 ? batch.phases[window.phase - 1].at
                               : (int)kiln_number_of(arguments, window.offset);
#else
    int at = (int)kiln_number_of(arguments, window.offset);
#endif
#define KILN_ADD_BATCH_STEP(axis)                                                                  \
    at += (int)batch.c[axis] * (int)kiln_number_of(arguments, window.batches[axis]);
    KILN_UP(KILN_BATCH_RANK, KILN_ADD_BATCH_STEP)
    return at + kiln_steps_along_axes(arguments, window.rows, row);
}

/* The coordinates of a point, one for each window. */
struct kiln_coordinates {
    int c[KILN_WINDOWS > 0 ? KILN_WINDOWS : 1];
};

/* The coordinates of a row, before those of k are added. */
KILN_DEVICE kiln_coordinates kiln_coordinates_of_rows(const kiln_arguments &arguments,
                                                      const kiln_axes &rows,
                                                      const kiln_corner &corner, unsigned row)
{
    kiln_coordinates at;
    [[maybe_unused]] const kiln_index m =
        kiln_split_index(arguments, corner.batch, rows, corner.first_row + row);
#define KILN_ROW_COORDINATE(w)                                                                     \
    at.c[w] = kiln_coordinate_of_row(arguments, kiln_windows[w], corner.batch, m);
    KILN_UP(KILN_WINDOWS, KILN_ROW_COORDINATE)
    return at;
}

KILN_DEVICE kiln_coordinates kiln_coordinates_of(const kiln_arguments &arguments,
                                                 const kiln_axes &rows, const kiln_corner &corner,
                                                 unsigned row, unsigned k)
{
    kiln_coordinates at = kiln_coordinates_of_rows(arguments, rows, corner, row);
    const kiln_index taps = kiln_split_k(arguments, corner, k);
#define KILN_LOCATE_COORDINATE(w)                                                                  \
    at.c[w] += kiln_steps_along_axes(arguments, kiln_windows[w].sums, taps);
    (void)taps;
    KILN_UP(KILN_WINDOWS, KILN_LOCATE_COORDINATE)
    return at;
}

KILN_DEVICE bool kiln_is_within(const kiln_arguments &arguments, const kiln_window &window,
                                unsigned coordinate)
{
    return coordinate < (unsigned)kiln_number_of(arguments, window.size);
}

/* Rows and k apart, so that what follows from the row is computed once. `windows` has a bit for each window that is asked. Without
 * branches: after them LLVM adds up in another order. */
KILN_DEVICE bool kiln_is_inside(const kiln_arguments &arguments, const kiln_axes &rows,
                                unsigned windows, const kiln_corner &corner, unsigned row,
                                unsigned k)
{
    const kiln_index m =
        kiln_split_index(arguments, corner.batch, rows, corner.first_row + row);
    const kiln_index taps = kiln_split_k(arguments, corner, k);
    bool is_inside = true;
#define KILN_ASK_WINDOW(w)                                                                         \
    is_inside &=                                                                                   \
        ((~windows >> w & 1) |                                                                     \
         (unsigned)kiln_is_within(                                                                 \
             arguments, kiln_windows[w],                                                           \
             (unsigned)(kiln_coordinate_of_row(arguments, kiln_windows[w], corner.batch, m) +      \
                        kiln_as_one(                                                               \
                            kiln_steps_along_axes(arguments, kiln_windows[w].sums, taps))))) != 0;
    (void)m, (void)taps, (void)windows;
    KILN_UP(KILN_WINDOWS, KILN_ASK_WINDOW)
    return is_inside;
}

#endif
