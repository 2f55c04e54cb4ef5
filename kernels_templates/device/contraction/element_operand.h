/*
 * Operands that work-items load element by element and never share: contraction_small.hip.
 *
 * KILN_ELEMENT_OPERAND(left, LEFT) defines these functions of the operand `left`. Its facts are kiln_map_<number> of each access and
 *   KILN_LEFT_ACCESSES(use)   use(left, number, type, form) for each access, as device/contraction/access.h says
 *   kiln_left_element         computes an element from what its accesses have loaded
 */
#ifndef KILN_DEVICE_CONTRACTION_ELEMENT_OPERAND_H
#define KILN_DEVICE_CONTRACTION_ELEMENT_OPERAND_H

#include "device/contraction/access.h"

#define KILN_ELEMENT(side, n, type, form)      kiln_storage_##type x##n;
#define KILN_LOADED(side, n, type, form)       , inputs.x##n
#define KILN_LOAD_ELEMENT(side, n, type, form) KILN_LOAD_ELEMENT_##form(n)
#define KILN_LOAD_ELEMENT_PLAIN(n)                                                                 \
    inputs.x##n = source.p##n[kiln_offset_in_tile(arguments, kiln_map_##n, row, k)];
#define KILN_LOAD_ELEMENT_SCALAR(n) inputs.x##n = arguments.a##n;

#define KILN_ELEMENT_OPERAND(side, SIDE)                                                           \
    struct kiln_##side##_source {                                                                  \
        KILN_##SIDE##_ACCESSES(KILN_POINTER)                                                       \
    };                                                                                             \
    struct kiln_##side##_inputs {                                                                  \
        KILN_##SIDE##_ACCESSES(KILN_ELEMENT)                                                       \
    };                                                                                             \
    KILN_DEVICE void kiln_##side##_start(const kiln_arguments &arguments, const kiln_batch &batch, \
                                         unsigned row, kiln_##side##_source &source)               \
    {                                                                                              \
        (void)arguments, (void)batch, (void)row, (void)source;                                     \
        KILN_##SIDE##_ACCESSES(KILN_START)                                                         \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_advance(const kiln_arguments &arguments, unsigned k,            \
                                           kiln_##side##_source &source)                           \
    {                                                                                              \
        (void)arguments, (void)k, (void)source;                                                    \
        KILN_##SIDE##_ACCESSES(KILN_ADVANCE)                                                       \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_load(const kiln_arguments &arguments,                           \
                                        const kiln_##side##_source &source, unsigned row,          \
                                        unsigned k, kiln_##side##_inputs &inputs)                  \
    {                                                                                              \
        (void)arguments, (void)source, (void)row, (void)k, (void)inputs;                           \
        KILN_##SIDE##_ACCESSES(KILN_LOAD_ELEMENT)                                                  \
    }                                                                                              \
    KILN_DEVICE kiln_sum kiln_##side##_value(const kiln_##side##_inputs &inputs)                   \
    {                                                                                              \
        (void)inputs;                                                                              \
        kiln_sum value;                                                                            \
        kiln_##side##_element(value KILN_##SIDE##_ACCESSES(KILN_LOADED));                          \
        return value;                                                                              \
    }

#endif
