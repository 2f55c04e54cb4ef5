/*
 * Indices of rows, columns and k decomposed into the axes that they count over (axes.h), and the offsets of accesses that walk along
 * these axes.
 */
#ifndef KILN_DEVICE_CONTRACTION_INDEX_H
#define KILN_DEVICE_CONTRACTION_INDEX_H

#include "device/contraction/axes.h"
#include "device/contraction/divide.h"
#include "device/contraction/offset.h"

/* ---- axes ---- */

KILN_DEVICE unsigned kiln_size_of_axis(const kiln_arguments &arguments, const kiln_batch &batch,
                                       const kiln_axis &axis)
{
    (void)batch;
#ifdef KILN_PHASES
    if (axis.phase != 0)
        return batch.phases[axis.phase - 1].count;
#endif
    return (unsigned)kiln_number_of(arguments, axis.size);
}

KILN_DEVICE long long kiln_divisor_of_axis(const kiln_arguments &arguments, const kiln_batch &batch,
                                           const kiln_axis &axis)
{
    (void)batch;
#ifdef KILN_PHASES
    if (axis.phase != 0)
        return batch.tap_divisors[axis.phase - 1];
#endif
    return kiln_number_of(arguments, axis.divisor);
}

KILN_DEVICE void kiln_split_along(const kiln_arguments &arguments, const kiln_batch &batch,
                                  const kiln_axes &axes, unsigned i, unsigned &rest, kiln_index &at)
{
    if (i >= axes.rank)
        return;
    if (i == 0) {
        at.c[0] = rest;
        return;
    }
    const unsigned over = kiln_divide(rest, kiln_divisor_of_axis(arguments, batch, axes.axes[i]));
    at.c[i] = rest - over * kiln_size_of_axis(arguments, batch, axes.axes[i]);
    rest = over;
}

KILN_DEVICE kiln_index kiln_split_index(const kiln_arguments &arguments, const kiln_batch &batch,
                                        const kiln_axes &axes, unsigned index)
{
    kiln_index at = {};
    unsigned rest = index;
#define KILN_SPLIT_ALONG(i) kiln_split_along(arguments, batch, axes, i, rest, at);
    KILN_DOWN(KILN_INDEX_RANK, KILN_SPLIT_ALONG)
    return at;
}

KILN_DEVICE kiln_index kiln_split_m(const kiln_arguments &arguments, const kiln_batch &batch,
                                    unsigned index)
{
    return kiln_split_index(arguments, batch, kiln_m_axes, index);
}

KILN_DEVICE kiln_index kiln_split_n(const kiln_arguments &arguments, const kiln_batch &batch,
                                    unsigned index)
{
    return kiln_split_index(arguments, batch, kiln_n_axes, index);
}

/* The indices of an element of k of the staged tile. The part that all of a granule shares is decomposed once. */
KILN_DEVICE kiln_index kiln_split_k(const kiln_arguments &arguments, const kiln_corner &corner,
                                    unsigned k)
{
    kiln_index at = kiln_split_index(arguments, corner.batch, kiln_k_axes,
                                     corner.first_k + k / KILN_K_GRANULE * KILN_K_GRANULE);
    at.c[kiln_k_axes.rank - 1] += k % KILN_K_GRANULE;
    return at;
}

/* ---- offsets of accesses ---- */

KILN_DEVICE kiln_offset kiln_offset_along_axes(const kiln_arguments &arguments,
                                               const kiln_number (&strides)[KILN_INDEX_RANK],
                                               const kiln_index &at)
{
    kiln_offset offset = 0;
#define KILN_ADD_STRIDE(i)                                                                         \
    offset += (kiln_offset)at.c[i] * (kiln_offset)kiln_number_of(arguments, strides[i]);
    KILN_UP(KILN_INDEX_RANK, KILN_ADD_STRIDE)
    return offset;
}

/* The offset from an access's first element to its tile, as far as it is no part of kiln_split_offset. */
KILN_DEVICE long long kiln_split_start(const kiln_arguments &arguments, const kiln_map &map,
                                       const kiln_split &split, const kiln_batch &batch,
                                       unsigned row)
{
    long long offset = split.is_windowed
                           ? kiln_offset_of_batches(arguments, map, batch, ~split.window_batches)
                           : kiln_offset_of_batch(arguments, map, batch);
    if (!split.splits_rows && !split.is_windowed)
        offset += kiln_offset_along(arguments, map.row, row);
    return offset;
}

/* From the start of a tile to that of another, k further. */
KILN_DEVICE long long kiln_split_advance(const kiln_arguments &arguments, const kiln_map &map,
                                         const kiln_split &split, unsigned k)
{
    return split.splits_k || split.is_windowed ? 0 : kiln_offset_along(arguments, map.column, k);
}

#if KILN_BATCH_RANK > 0
KILN_DEVICE kiln_offset kiln_offset_along_window(const kiln_arguments &arguments,
                                                 const kiln_map &map, const kiln_split &split,
                                                 const kiln_batch &batch, unsigned axis)
{
    return (split.window_batches >> axis & 1) == 0
               ? 0
               : (kiln_offset)batch.c[axis] *
                     (kiln_offset)kiln_number_of(arguments, map.batches[axis].stride);
}
#endif

/* The part of an offset that follows from the row. */
KILN_DEVICE kiln_offset kiln_split_offset_of_row(const kiln_arguments &arguments,
                                                 const kiln_map &map, const kiln_split &split,
                                                 const kiln_axes &rows, const kiln_corner &corner,
                                                 unsigned row)
{
    const bool counts_rows = split.splits_rows || split.is_windowed;
    const unsigned at = counts_rows ? corner.first_row + row : row;
    kiln_offset offset =
        split.splits_rows
            ? kiln_offset_along_axes(arguments, split.rows,
                                     kiln_split_index(arguments, corner.batch, rows, at))
            : (kiln_offset)at * (kiln_offset)kiln_number_of(arguments, map.row);
    if (split.is_windowed) {
        offset += (kiln_offset)kiln_number_of(arguments, split.origin);
#ifdef KILN_PHASES
#define KILN_ADD_PHASE(p)                                                                          \
    offset += (kiln_offset)corner.batch.phases[p].at *                                             \
              (kiln_offset)kiln_number_of(arguments, map.phases[p]);
        KILN_UP(KILN_PHASES, KILN_ADD_PHASE)
#endif
#define KILN_ADD_WINDOW_BATCH(axis)                                                                \
    offset += kiln_offset_along_window(arguments, map, split, corner.batch, axis);
        KILN_UP(KILN_BATCH_RANK, KILN_ADD_WINDOW_BATCH)
    }
    return offset;
}

/* The part of an offset that follows from k. */
KILN_DEVICE kiln_offset kiln_split_offset_of_k(const kiln_arguments &arguments,
                                               const kiln_map &map, const kiln_split &split,
                                               const kiln_corner &corner, unsigned k)
{
    return kiln_as_one(
        split.splits_k
            ? kiln_offset_along_axes(arguments, split.sums, kiln_split_k(arguments, corner, k))
            : (kiln_offset)(split.is_windowed ? corner.first_k + k : k) *
                  (kiln_offset)kiln_number_of(arguments, map.column));
}

/* Rows and k apart: what follows from the row is the same in all tiles of k, and what follows from k in all rows that a work-item
 * stages. */
KILN_DEVICE kiln_offset kiln_split_offset(const kiln_arguments &arguments, const kiln_map &map,
                                          const kiln_split &split, const kiln_axes &rows,
                                          const kiln_corner &corner, unsigned row, unsigned k)
{
    return kiln_split_offset_of_k(arguments, map, split, corner, k) +
           kiln_split_offset_of_row(arguments, map, split, rows, corner, row);
}

#endif
