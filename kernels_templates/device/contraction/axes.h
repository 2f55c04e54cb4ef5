/*
 * Facts about indices that are decomposed into axes: kiln_m_axes, kiln_n_axes and kiln_k_axes of every kernel that decomposes one,
 * kiln_windows, and kiln_split_<number> of each access that walks along the axes, next to its kiln_map_<number>. From the prelude:
 *   KILN_INDEX_RANK   the most axes that rows, columns or k have
 *   KILN_WINDOWS      how many windows there are; may be 0
 *   KILN_K_GRANULE    within an aligned block of so many elements of k only the index of the last axis changes
 */
#ifndef KILN_DEVICE_CONTRACTION_AXES_H
#define KILN_DEVICE_CONTRACTION_AXES_H

#include "device/contraction/map.h"

/* The first axis needs neither size nor divisor. */
struct kiln_axis {
    kiln_number size;
    kiln_number divisor; /* of kiln_divide, for the size */
#ifdef KILN_PHASES
    unsigned phase; /* its size is that phase's count of taps: 1 + the phase. 0: the size above */
#endif
};

/* The axes that an index counts over, the last one fastest. */
struct kiln_axes {
    unsigned rank;
    kiln_axis axes[KILN_INDEX_RANK];
};

struct kiln_index {
    unsigned c[KILN_INDEX_RANK];
};

/* Where a tile of an operand begins. */
struct kiln_corner {
    kiln_batch batch;
    unsigned first_row, first_k; /* counted from the first of all */
};

/* A coordinate that may lie outside of the operand: the offset and the steps of all indices, added up. */
struct kiln_window {
    kiln_number size;   /* of the operand along it */
    kiln_number offset; /* unless it has a phase */
    kiln_number rows[KILN_INDEX_RANK];
    kiln_number sums[KILN_INDEX_RANK]; /* k */
#if KILN_BATCH_RANK > 0
    kiln_number batches[KILN_BATCH_RANK];
#endif
#ifdef KILN_PHASES
    unsigned phase; /* 1 + the phase that has the offset; 0: none */
#endif
};

/* The second row of an access whose indices are decomposed, next to its map. */
struct kiln_split {
    bool splits_rows, splits_k; /* otherwise the map has its stride along the rows, or along k */
    bool is_windowed;
    unsigned window_batches; /* a bit for each axis of batches that goes along a window */
    kiln_number rows[KILN_INDEX_RANK];
    kiln_number sums[KILN_INDEX_RANK]; /* k */
    kiln_number origin;    /* of a windowed one: the offset from its first element to coordinate 0 of rows and k */
    kiln_number last_pack; /* of runs of k: where the last pack of the operand begins */
};

#endif
