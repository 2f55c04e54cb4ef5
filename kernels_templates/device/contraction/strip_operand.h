/*
 * Loads of the image of contraction_strips.hip: the pixels of a strip along one line of the window. direct_operand.h comes first.
 * Its rows are rows of the result. KILN_STRIP_OPERAND(image, IMAGE) defines these functions. From the prelude:
 *   KILN_STRIP_WINDOW   the window along the lines, which the last axis of k goes along by 1 or -1
 */
#ifndef KILN_DEVICE_CONTRACTION_STRIP_OPERAND_H
#define KILN_DEVICE_CONTRACTION_STRIP_OPERAND_H

#include "device/contraction/direct_operand.h"

/* From one tap of a line to the next. */
KILN_DEVICE int kiln_tap_step(const kiln_arguments &arguments)
{
    return (int)kiln_number_of(arguments,
                               kiln_windows[KILN_STRIP_WINDOW].sums[kiln_k_axes.rank - 1]);
}

/* The tap of a line that the strip's first pixel of the image belongs to: 0, or the last one if taps go the other way. */
KILN_DEVICE unsigned kiln_first_tap(const kiln_arguments &arguments)
{
    return kiln_tap_step(arguments) < 0 ? KILN_STRIP_TAPS - 1 : 0;
}

/* A bit for each pixel of a strip: whether it is inside of the image along its line. */
KILN_DEVICE unsigned kiln_strip_inside(const kiln_arguments &arguments, const kiln_corner &corner,
                                       unsigned row)
{
    const kiln_window &window = kiln_windows[KILN_STRIP_WINDOW];
    const int at =
        kiln_coordinate_of_row(arguments, window, corner.batch,
                               kiln_split_m(arguments, corner.batch, corner.first_row + row)) +
        kiln_tap_step(arguments) * (int)kiln_first_tap(arguments);
    unsigned inside = 0;
    KILN_UNROLL
    for (unsigned p = 0; p < KILN_STRIP_PIXELS; p++)
        inside |= (unsigned)kiln_is_within(arguments, window, (unsigned)at + p) << p;
    return inside;
}

template <unsigned Count, class Element>
KILN_DEVICE void kiln_load_pixel(const kiln_arguments &arguments, const kiln_map &map,
                                 const kiln_split &split,
                                 const kiln_number (&across)[KILN_INDEX_RANK],
                                 const kiln_corner &corner, const Element *source,
                                 kiln_offset line, bool is_inside, unsigned row, unsigned column,
                                 unsigned k, unsigned pixel, Element (&to)[Count])
{
    KILN_UNROLL
    for (unsigned e = 0; e < (map.is_vector ? 1 : Count); e++) {
        const kiln_offset offset =
            !split.is_windowed
                ? kiln_split_offset(arguments, map, split, kiln_m_axes, corner, row, k)
            : is_inside ? line + (kiln_offset)pixel * (kiln_offset)kiln_tap_step(arguments) *
                                     (kiln_offset)kiln_number_of(arguments, map.column)
                        : 0;
        kiln_load_lane(
            map.is_vector, source,
            offset + kiln_offset_across(arguments, true, across, corner.batch, column + e), e, to);
    }
}

#define KILN_LINE_OFFSET(side, n, type, form) KILN_LINE_OFFSET_##form(n)
#define KILN_FIND_LINE(side, n, type, form)   KILN_FIND_LINE_##form(n)
#define KILN_LOAD_PIXEL(side, n, type, form)  KILN_LOAD_PIXEL_##form(n)

#define KILN_LINE_OFFSET_PLAIN(n) kiln_offset o##n;
#define KILN_FIND_LINE_PLAIN(n)                                                                    \
    line.o##n = kiln_split_offset(arguments, kiln_map_##n, kiln_split_##n, kiln_m_axes,            \
                                  source.corner, row, k);
#define KILN_LOAD_PIXEL_PLAIN(n)                                                                   \
    kiln_load_pixel(arguments, kiln_map_##n, kiln_split_##n, kiln_across_##n, source.corner,       \
                    source.p##n, line.o##n, inputs.inside != 0, row, column, k, pixel, inputs.x##n);

#define KILN_LINE_OFFSET_SCALAR(n)
#define KILN_FIND_LINE_SCALAR(n)
#define KILN_LOAD_PIXEL_SCALAR(n) inputs.x##n = arguments.a##n;

/* A line is where a strip's pixels of one line of the window begin, and which are inside of the image. */
#define KILN_STRIP_OPERAND(side, SIDE)                                                             \
    struct kiln_##side##_line {                                                                    \
        unsigned inside;                                                                           \
        KILN_##SIDE##_ACCESSES(KILN_LINE_OFFSET)                                                   \
    };                                                                                             \
    KILN_DEVICE void kiln_##side##_find_line(const kiln_arguments &arguments,                      \
                                             const kiln_##side##_source &source, unsigned row,     \
                                             unsigned k, kiln_##side##_line &line)                 \
    {                                                                                              \
        line.inside = kiln_strip_inside(arguments, source.corner, row);                            \
        line.inside = kiln_is_inside(arguments, kiln_m_axes, ~(1u << KILN_STRIP_WINDOW),           \
                                     source.corner, row, k)                                        \
                          ? line.inside                                                            \
                          : 0;                                                                     \
        KILN_##SIDE##_ACCESSES(KILN_FIND_LINE)                                                     \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_load_pixel(                                                     \
        const kiln_arguments &arguments, const kiln_##side##_source &source,                       \
        const kiln_##side##_line &line, unsigned row, unsigned column, unsigned k, unsigned pixel, \
        kiln_##side##_inputs &inputs)                                                              \
    {                                                                                              \
        (void)arguments, (void)source, (void)row, (void)column, (void)k;                           \
        inputs.inside = line.inside >> pixel & 1;                                                  \
        KILN_##SIDE##_ACCESSES(KILN_LOAD_PIXEL)                                                    \
    }

#endif
