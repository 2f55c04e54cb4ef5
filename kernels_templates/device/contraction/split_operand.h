/*
 * Operands whose indices are decomposed: accesses of the form SPLIT for operand.h, for kernels that have one. `inside` has a bit for each
 * load of a pack, or for each element of it, that lies inside of all windows. One header says how it is found: inside_points.h,
 * inside_walk.h or inside_table.h. In inside_runs.h packs have a place instead, and in inside_rows.h neither. Facts of an operand,
 * besides those of operand.h:
 *   kiln_left_rows          what its rows count over: kiln_m_axes or kiln_n_axes
 *   KILN_LEFT_IS_WINDOWED   whether it has the windows
 *   KILN_LEFT_IS_SPLIT      whether some of its accesses are SPLIT
 */
#ifndef KILN_DEVICE_CONTRACTION_SPLIT_OPERAND_H
#define KILN_DEVICE_CONTRACTION_SPLIT_OPERAND_H

#include "device/contraction/window.h"
#include "device/contraction/operand.h"

KILN_CONSTEXPR kiln_loads kiln_split_loads_of(const kiln_map &map, const kiln_split &split,
                                              unsigned run, bool is_along_k, unsigned vector,
                                              unsigned elements)
{
    kiln_loads loads = kiln_loads_of(map, run, is_along_k, vector, elements);
    /* Along a window one element may be inside while its neighbour is not, even where the stride is 0. */
    loads.varies_along_k = !kiln_is_zero(map.column) || split.splits_k || split.is_windowed;
    loads.steps = loads.varies_along_k ? elements / loads.k_step : 1;
    loads.rows = !kiln_is_zero(map.row) || split.splits_rows ? run : 1;
    loads.count = loads.rows * (loads.varies_along_k ? elements : 1);
    return loads;
}

/* The elements of a pack differ in the last index of k only. */
#define KILN_HAS_WHOLE_TAPS (KILN_K_GRANULE % KILN_PACK_ELEMENTS == 0)

/* From the first element of such a pack to another one. All lanes share it, so it is added to a pointer. */
KILN_DEVICE long long kiln_split_step(const kiln_arguments &arguments, const kiln_map &map,
                                      const kiln_split &split, unsigned step)
{
    if (!KILN_HAS_WHOLE_TAPS)
        return 0;
    if (split.splits_k)
        return kiln_offset_along(arguments, split.sums[kiln_k_axes.rank - 1], step);
    return kiln_offset_along(arguments, map.column, step);
}

#define KILN_LOADS_SPLIT(side, n)                                                                  \
    KILN_FACT kiln_loads kiln_##side##_loads_##n =                                                 \
        kiln_split_loads_of(kiln_map_##n, kiln_split_##n, kiln_##side##_run,                       \
                            kiln_##side##_is_along_k, kiln_##side##_vector,                        \
                            kiln_##side##_elements);
#define KILN_OFFSETS_SPLIT(side, n)
#define KILN_LOCATE_SPLIT(side, n, type)
#define KILN_KEEP_SPLIT(side, n)
/* The end of k cuts no vector: a pack lies along the last axis, which is whole packs, or has single elements. A function of its own made
 * the loops over k of data gradients up to 20 % longer. */
#define KILN_LOAD_SPLIT(side, n) KILN_LOAD_SPLIT_ELEMENTS(side, n)
#define KILN_LOAD_SPLIT_ELEMENTS(side, n)                                                          \
    KILN_UNROLL                                                                                    \
    for (unsigned j = 0; j < kiln_##side##_loads_##n.steps; j++) {                                 \
        const unsigned step = j * kiln_##side##_loads_##n.k_step;                                  \
        const unsigned at = KILN_K_WITHIN(KILN_HAS_WHOLE_TAPS ? k : k + step, rest);               \
        KILN_UNROLL                                                                                \
        for (unsigned r = 0; r < kiln_##side##_loads_##n.rows;                                     \
             r += kiln_##side##_loads_##n.row_step)                                                \
            kiln_load_neighbours(                                                                  \
                kiln_##side##_loads_##n.k_step * kiln_##side##_loads_##n.row_step,                 \
                KILN_POINTER_AT(                                                                   \
                    source.p##n + kiln_split_step(arguments, kiln_map_##n, kiln_split_##n, step),  \
                    !kiln_split_##n.is_windowed ||                                                 \
                            kiln_is_inside(arguments, kiln_##side##_rows, ~0u, source.corner,      \
                                           row + r, at)                                            \
                        ? kiln_split_offset(arguments, kiln_map_##n, kiln_split_##n,               \
                                            kiln_##side##_rows, source.corner, row + r, at)        \
                        : 0),                                                                      \
                inputs.x##n +                                                                      \
                    j * kiln_##side##_loads_##n.k_step * kiln_##side##_loads_##n.rows + r);        \
    }
/* An element by its offset: bytes from a pointer that all lanes share, the form that loads have. */
#define KILN_POINTER_AT(pointer, offset)                                                           \
    ((decltype(pointer))((const char *)(pointer) + (kiln_offset)sizeof *(pointer) * (offset)))
#define KILN_OFFSET_SPLIT(side, n)                                                                 \
    kiln_split_offset(arguments, kiln_map_##n, kiln_split_##n, kiln_##side##_rows, source.corner,  \
                      row, k)

/* ---- the operand ---- */

#define KILN_CORNER kiln_corner corner;
#define KILN_INSIDE unsigned inside;
#define KILN_START_SPLIT_OPERAND   KILN_START_CORNER
#define KILN_ADVANCE_SPLIT_OPERAND KILN_ADVANCE_CORNER
/* A pack outside of its windows is not read, wherever its address is. */
#define KILN_IS_COPIED(side, SIDE)                                                                 \
    (!KILN_##SIDE##_IS_WINDOWED ||                                                                 \
     kiln_is_inside(arguments, kiln_##side##_rows, ~0u, source.corner, row, at))

#endif
