/*
 * Single factors of a product: one element of one row at one index of k, which the source advances to. Facts of the operand
 * `single_left`:
 *   KILN_SINGLE_LEFT_ACCESSES(use)   access.h
 *   KILN_SINGLE_LEFT_IS_WINDOWED     whether it has the windows
 *   kiln_single_left_rows, _across   what its rows count over, and the other operand's rows
 *   kiln_across_<number>             strides of an access along the other operand's rows: groups of depthwise convolutions are not
 *                                    batches
 *   kiln_single_left_value           the factor, computed from an element of each access
 */
#ifndef KILN_DEVICE_CONTRACTION_SINGLE_H
#define KILN_DEVICE_CONTRACTION_SINGLE_H

#include "device/contraction/access.h"
#include "device/contraction/window.h"

/* False where k has no term of the sum. */
KILN_DEVICE bool kiln_counts_single(const kiln_arguments &arguments, const kiln_axes &rows,
                                    bool is_windowed, const kiln_corner &corner, unsigned row)
{
#ifdef KILN_DEVICE_CONTRACTION_RUN_H
    if (!kiln_is_in_run(arguments, corner))
        return false;
#endif
    return !is_windowed || kiln_is_inside(arguments, rows, ~0u, corner, row, 0);
}

#define KILN_SINGLE_ELEMENT(side, n, type, form) , KILN_SINGLE_ELEMENT_##form(side, n)
#define KILN_SINGLE_ELEMENT_PLAIN(side, n)                                                         \
    source.p##n[kiln_offset_in_tile(arguments, kiln_map_##n, row, 0) + KILN_SINGLE_ACROSS(side, n)]
#define KILN_SINGLE_ELEMENT_SPLIT(side, n)                                                         \
    source.p##n[kiln_split_offset(arguments, kiln_map_##n, kiln_split_##n, kiln_##side##_rows,     \
                                  source.corner, row, 0) +                                         \
                KILN_SINGLE_ACROSS(side, n)]
#define KILN_SINGLE_ELEMENT_SCALAR(side, n) arguments.a##n
#define KILN_SINGLE_ACROSS(side, n)                                                                \
    kiln_offset_along_axes(arguments, kiln_across_##n,                                             \
                           kiln_split_index(arguments, source.corner.batch, kiln_##side##_across,  \
                                            across))

/* `across` is the other operand's row, counted from the first of all. */
#define KILN_SINGLE(side, SIDE)                                                                    \
    struct kiln_##side##_source {                                                                  \
        kiln_corner corner;                                                                        \
        KILN_##SIDE##_ACCESSES(KILN_POINTER)                                                       \
    };                                                                                             \
    KILN_DEVICE void kiln_##side##_start(const kiln_arguments &arguments, const kiln_batch &batch, \
                                         unsigned row, kiln_##side##_source &source)               \
    {                                                                                              \
        (void)arguments;                                                                           \
        KILN_START_CORNER                                                                          \
        KILN_##SIDE##_ACCESSES(KILN_START)                                                         \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_advance(const kiln_arguments &arguments, unsigned k,            \
                                           kiln_##side##_source &source)                           \
    {                                                                                              \
        (void)arguments;                                                                           \
        KILN_##SIDE##_ACCESSES(KILN_ADVANCE)                                                       \
        KILN_ADVANCE_CORNER                                                                        \
    }                                                                                              \
    KILN_DEVICE bool kiln_##side##_counts(const kiln_arguments &arguments,                         \
                                          const kiln_##side##_source &source, unsigned row)        \
    {                                                                                              \
        return kiln_counts_single(arguments, kiln_##side##_rows, KILN_##SIDE##_IS_WINDOWED,        \
                                  source.corner, row);                                             \
    }                                                                                              \
    KILN_DEVICE kiln_sum kiln_##side##_factor(const kiln_arguments &arguments,                     \
                                              const kiln_##side##_source &source, unsigned row,    \
                                              unsigned across)                                     \
    {                                                                                              \
        (void)source, (void)row, (void)across;                                                     \
        return kiln_##side##_value(arguments KILN_##SIDE##_ACCESSES(KILN_SINGLE_ELEMENT));         \
    }

#endif
