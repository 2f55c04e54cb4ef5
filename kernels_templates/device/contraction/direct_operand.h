/*
 * Operands of contraction_direct.hip and contraction_strips.hip. A work-item loads the elements for one index of k that it needs.
 *
 * KILN_DIRECT_OPERAND(image, IMAGE, is_left, lanes) defines these functions of the operand `image`. Its rows are rows of the result if
 * is_left is true, and columns otherwise. A load takes `lanes` neighbouring columns of the result. For each access the facts have
 * kiln_map_<number>, kiln_split_<number>, and kiln_across_<number>, the strides along the axes of the other operand's rows: groups of a
 * depthwise convolution are not batches. Facts about the operand are
 *   KILN_IMAGE_ACCESSES(use)   device/contraction/access.h
 *   KILN_IMAGE_HAS_WINDOWS     1: its value is zero outside of the kernel's windows
 *   KILN_IMAGE_IS_MOVED        1: its value is what its access loads
 *   kiln_image_element         computes an element from what its accesses have loaded
 */
#ifndef KILN_DEVICE_CONTRACTION_DIRECT_OPERAND_H
#define KILN_DEVICE_CONTRACTION_DIRECT_OPERAND_H

#include "device/contraction/access.h"
#include "device/contraction/neighbours.h"
#include "device/contraction/window.h"

KILN_CONSTEXPR bool kiln_has_stride(const kiln_number (&strides)[KILN_INDEX_RANK])
{
    bool has_stride = false;
    for (unsigned i = 0; i < KILN_INDEX_RANK; i++)
        has_stride = has_stride || !kiln_is_zero(strides[i]);
    return has_stride;
}

/* The number of elements that an access loads: 1 if all lanes share one. */
KILN_CONSTEXPR unsigned kiln_elements_of_lanes(bool is_left, unsigned lanes, const kiln_map &map,
                                               const kiln_split &split,
                                               const kiln_number (&across)[KILN_INDEX_RANK])
{
    const bool varies = is_left ? kiln_has_stride(across)
                                : !kiln_is_zero(map.row) || split.splits_rows || split.is_windowed;
    return varies ? lanes : 1;
}

KILN_DEVICE kiln_offset kiln_offset_across(const kiln_arguments &arguments, bool is_left,
                                           const kiln_number (&across)[KILN_INDEX_RANK],
                                           const kiln_batch &batch, unsigned index)
{
    return kiln_offset_along_axes(
        arguments, across,
        kiln_split_index(arguments, batch, is_left ? kiln_n_axes : kiln_m_axes, index));
}

/* Loads the element of a lane, or all lanes' elements together. */
template <unsigned Count, class Element>
KILN_DEVICE void kiln_load_lane(bool is_vector, const Element *source, kiln_offset offset,
                                unsigned e, Element (&to)[Count])
{
    const Element *from =
        (const Element *)((const char *)source + (kiln_offset)sizeof(Element) * offset);
    if (is_vector)
        kiln_load_neighbours(Count, from, to);
    else
        to[e] = *from;
}

/* Bits of `inside` say for each lane, or for all together, whether it is inside of the windows. Others load the first element. */
template <unsigned Count, class Element>
KILN_DEVICE void kiln_load_lanes(const kiln_arguments &arguments, bool is_left, const kiln_map &map,
                                 const kiln_split &split,
                                 const kiln_number (&across)[KILN_INDEX_RANK],
                                 const kiln_corner &corner, const Element *source, unsigned inside,
                                 unsigned row, unsigned column, unsigned k, Element (&to)[Count])
{
    KILN_UNROLL
    for (unsigned e = 0; e < (map.is_vector ? 1 : Count); e++) {
        const unsigned own = is_left ? row : column + e, other = is_left ? column + e : row;
        const kiln_offset offset =
            !split.is_windowed || (inside >> (is_left ? 0 : e) & 1) != 0
                ? kiln_split_offset(arguments, map, split, is_left ? kiln_m_axes : kiln_n_axes,
                                    corner, own, k)
                : 0;
        kiln_load_lane(map.is_vector, source,
                       offset + kiln_offset_across(arguments, is_left, across, corner.batch, other),
                       e, to);
    }
}

/* Whole words before they are converted, which takes fewer instructions. */
template <unsigned Count, class Element>
KILN_DEVICE void kiln_clear_outside(unsigned inside, bool has_inside_lanes, Element (&elements)[Count])
{
    if constexpr (sizeof elements % 4 == 0) {
        if (!has_inside_lanes) {
            unsigned words[sizeof elements / 4];
            __builtin_memcpy(words, elements, sizeof words);
            KILN_UNROLL
            for (unsigned w = 0; w < sizeof elements / 4; w++)
                words[w] &= 0u - inside;
            __builtin_memcpy(elements, words, sizeof words);
            return;
        }
    }
    KILN_UNROLL
    for (unsigned e = 0; e < Count; e++)
        elements[e] = (inside >> (has_inside_lanes ? e : 0) & 1) != 0 ? elements[e] : (Element)0;
}

/* ---- an access, by its form ---- */

#define KILN_LANE_ELEMENTS(side, n, type, form)       KILN_LANE_ELEMENTS_##form(side, n, type)
#define KILN_LANE_COUNT(side, n, type, form)  KILN_LANE_COUNT_##form(side, n)
#define KILN_START_LANES(side, n, type, form) KILN_START_LANES_##form(n)
#define KILN_LOAD_LANES(side, n, type, form)  KILN_LOAD_LANES_##form(side, n)
#define KILN_MAY_CLEAR(side, n, type, form)   KILN_MAY_CLEAR_##form(side, n)
#define KILN_CLEAR(side, n, type, form)       KILN_CLEAR_##form(side, n)
#define KILN_LANE(side, n, type, form)        KILN_LANE_##form(side, n)

#define KILN_LANE_COUNT_PLAIN(side, n)                                                             \
    KILN_FACT unsigned kiln_##side##_count_##n =                                                   \
        kiln_elements_of_lanes(kiln_##side##_is_left, kiln_##side##_lanes, kiln_map_##n,           \
                               kiln_split_##n, kiln_across_##n);
#define KILN_LANE_ELEMENTS_PLAIN(side, n, type) kiln_storage_##type x##n[kiln_##side##_count_##n];
#define KILN_START_LANES_PLAIN(n)                                                                  \
    source.p##n =                                                                                  \
        arguments.a##n + kiln_split_start(arguments, kiln_map_##n, kiln_split_##n, batch, 0);
#define KILN_LOAD_LANES_PLAIN(side, n)                                                             \
    kiln_load_lanes(arguments, kiln_##side##_is_left, kiln_map_##n, kiln_split_##n,                \
                    kiln_across_##n, source.corner, source.p##n, inputs.inside, row, column, k,    \
                    inputs.x##n);
#define KILN_MAY_CLEAR_PLAIN(side, n)                                                              \
    || !kiln_##side##_has_inside_lanes || kiln_##side##_count_##n == kiln_##side##_lanes
#define KILN_CLEAR_PLAIN(side, n)                                                                  \
    kiln_clear_outside(inputs.inside, kiln_##side##_has_inside_lanes, inputs.x##n);
#define KILN_LANE_PLAIN(side, n) , inputs.x##n[e % kiln_##side##_count_##n]

#define KILN_LANE_COUNT_SCALAR(side, n)
#define KILN_LANE_ELEMENTS_SCALAR(side, n, type) kiln_storage_##type x##n;
#define KILN_START_LANES_SCALAR(n)
#define KILN_LOAD_LANES_SCALAR(side, n) inputs.x##n = arguments.a##n;
#define KILN_MAY_CLEAR_SCALAR(side, n)
#define KILN_CLEAR_SCALAR(side, n)
#define KILN_LANE_SCALAR(side, n) , inputs.x##n

/* ---- the operand ---- */

#define KILN_DIRECT_OPERAND(side, SIDE, is_left, lane_count)                                       \
    enum : unsigned {                                                                              \
        kiln_##side##_is_left = is_left,                                                           \
        kiln_##side##_lanes = lane_count,                                                          \
        kiln_##side##_has_inside_lanes = !kiln_##side##_is_left && kiln_##side##_lanes > 1         \
    };                                                                                             \
    KILN_##SIDE##_ACCESSES(KILN_LANE_COUNT)                                                        \
    enum : unsigned {                                                                              \
        kiln_##side##_is_cleared = KILN_##SIDE##_HAS_WINDOWS && KILN_##SIDE##_IS_MOVED &&          \
                                   (false KILN_##SIDE##_ACCESSES(KILN_MAY_CLEAR))                  \
    };                                                                                             \
    struct kiln_##side##_source {                                                                  \
        KILN_##SIDE##_ACCESSES(KILN_POINTER)                                                       \
        kiln_corner corner;                                                                        \
    };                                                                                             \
    struct kiln_##side##_inputs {                                                                  \
        unsigned inside;                                                                           \
        KILN_##SIDE##_ACCESSES(KILN_LANE_ELEMENTS)                                                 \
    };                                                                                             \
    KILN_DEVICE void kiln_##side##_start(const kiln_arguments &arguments, const kiln_batch &batch, \
                                         kiln_##side##_source &source)                             \
    {                                                                                              \
        (void)arguments;                                                                           \
        KILN_##SIDE##_ACCESSES(KILN_START_LANES)                                                   \
        source.corner = {batch, 0, 0};                                                             \
    }                                                                                              \
    [[maybe_unused]] KILN_DEVICE void kiln_##side##_load(                                          \
        const kiln_arguments &arguments, const kiln_##side##_source &source, unsigned row,         \
        unsigned column, unsigned k, kiln_##side##_inputs &inputs)                                 \
    {                                                                                              \
        (void)arguments, (void)source, (void)row, (void)column, (void)k;                           \
        inputs.inside = 0;                                                                         \
        KILN_UNROLL                                                                                \
        for (unsigned e = 0; KILN_##SIDE##_HAS_WINDOWS &&                                          \
                             e < (kiln_##side##_has_inside_lanes ? kiln_##side##_lanes : 1u);      \
             e++)                                                                                  \
            inputs.inside |= (unsigned)kiln_is_inside(                                             \
                                 arguments, kiln_##side##_is_left ? kiln_m_axes : kiln_n_axes,     \
                                 ~0u, source.corner, kiln_##side##_is_left ? row : column + e, k)  \
                             << e;                                                                 \
        KILN_##SIDE##_ACCESSES(KILN_LOAD_LANES)                                                    \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_values(kiln_##side##_inputs &inputs,                            \
                                          kiln_sum (&values)[kiln_##side##_lanes])                 \
    {                                                                                              \
        if (kiln_##side##_is_cleared) {                                                            \
            KILN_##SIDE##_ACCESSES(KILN_CLEAR)                                                     \
        }                                                                                          \
        KILN_UNROLL                                                                                \
        for (unsigned e = 0; e < kiln_##side##_lanes; e++) {                                       \
            kiln_sum value;                                                                        \
            kiln_##side##_element(value KILN_##SIDE##_ACCESSES(KILN_LANE));                        \
            const bool is_outside =                                                                \
                KILN_##SIDE##_HAS_WINDOWS && !kiln_##side##_is_cleared &&                          \
                (inputs.inside >> (kiln_##side##_has_inside_lanes ? e : 0) & 1) == 0;              \
            values[e] = is_outside ? (kiln_sum)0 : value;                                          \
        }                                                                                          \
    }

#endif
