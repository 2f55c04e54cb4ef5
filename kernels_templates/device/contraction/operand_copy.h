/*
 * An operand's packs from memory to LDS as they lie, past the registers: KILN_OPERAND_COPY(left, LEFT) after KILN_OPERAND.
 */
#ifndef KILN_DEVICE_CONTRACTION_OPERAND_COPY_H
#define KILN_DEVICE_CONTRACTION_OPERAND_COPY_H

#include "device/contraction/operand.h"

#ifndef KILN_DEVICE_CONTRACTION_SPLIT_OPERAND_H
#define KILN_IS_COPIED(side, SIDE) true
#endif

/* From the pointer of an access to a pack. */
#define KILN_COPY_OFFSET(side, n, type, form)                                                      \
    [[maybe_unused]] KILN_DEVICE kiln_offset kiln_##side##_offset_##n(                             \
        const kiln_arguments &arguments, const kiln_##side##_source &source, unsigned row,         \
        unsigned k)                                                                                \
    {                                                                                              \
        (void)arguments, (void)source, (void)row, (void)k;                                         \
        return KILN_OFFSET_##form(side, n);                                                        \
    }
#define KILN_OFFSET_PLAIN(side, n)  kiln_offset_in_tile(arguments, kiln_map_##n, row, k)
#define KILN_OFFSET_SCALAR(side, n) 0
#define KILN_OFFSET_BLOCKS(side, n) 0 /* they are not copied */

#define KILN_COPY_PART(side, SIDE, number, how, n, type)                                           \
    if (part == number) {                                                                          \
        KILN_COPY_##how(side, n)                                                                   \
    }
#define KILN_COPY_COPIED(side, n)                                                                  \
    kiln_copy_pack(to,                                                                             \
                   (const char *)source.p##n +                                                     \
                       (kiln_offset)sizeof(kiln_element) *                                         \
                           kiln_##side##_offset_##n(arguments, source, row, at),                   \
                   is_row, is_within);
#define KILN_COPY_TAKEN(side, n) KILN_COPY_COPIED(side, n)
/* Others are not copied. */
#define KILN_COPY_REPEATED(side, n)
#define KILN_COPY_HALVES(side, n)
#define KILN_COPY_COMPUTED(side, n)
#define KILN_COPY_TABLED(side, n)

#define KILN_OPERAND_COPY(side, SIDE)                                                              \
    KILN_##SIDE##_ACCESSES(KILN_COPY_OFFSET)                                                       \
    KILN_DEVICE void kiln_##side##_copy(const kiln_arguments &arguments,                           \
                                        const kiln_##side##_source &source, unsigned part,         \
                                        unsigned row, unsigned k, unsigned rest, bool is_row,      \
                                        kiln_pack *to)                                             \
    {                                                                                              \
        (void)arguments, (void)source, (void)part, (void)row, (void)k, (void)rest, (void)is_row;   \
        (void)to;                                                                                  \
        const unsigned at = KILN_K_WITHIN(k, rest);                                                \
        const bool is_within = k < rest && KILN_IS_COPIED(side, SIDE);                             \
        (void)at, (void)is_within;                                                                 \
        KILN_##SIDE##_PACKING(KILN_COPY_PART)                                                        \
    }

#endif
