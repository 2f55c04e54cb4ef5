/*
 * Tiles of values: from memory to LDS, by way of registers or without.
 *
 * A value tile has KILN_TILE_D rows of KILN_N_PACKS packs, or, transposed, KILN_TILE_N rows of KILN_D_PACKS packs. A value that is
 * read out of a right tile is not staged.
 */
#ifndef KILN_DEVICE_ATTENTION_VALUE_TILES_H
#define KILN_DEVICE_ATTENTION_VALUE_TILES_H

#include "device/attention/tiles.h"

#if KILN_VALUE_IS_COPIED
#define KILN_VALUE_COPY(nth, side, SIDE, size) KILN_OPERAND_COPY(side, SIDE)
KILN_SECOND_PRODUCTS(KILN_VALUE_COPY)
#endif

/* Where columns end within a tile another one's value is read, so that no address is beyond the end, and 0 is stored: the
 * weight there is 0, but the value might be infinite. Full tiles are stored the same way: with a branch, loops spill on RDNA. */
#ifndef KILN_VALUE_TILE /* transposed_values.h has another one */
#define KILN_VALUE_TILE(side, SIDE, size_d)                                                        \
    KILN_TILE(side, SIDE, KILN_TILE_D, KILN_TILE_SHAPE(KILN_N_PACKS, KILN_VALUE_CROSSING),         \
              KILN_ROW_AS_IS)                                                                      \
    KILN_DEVICE void kiln_##side##_begin(const kiln_arguments &arguments,                          \
                                         kiln_##side##_stage &stage, unsigned columns,             \
                                         kiln_pack *tile)                                          \
    {                                                                                              \
        const unsigned last = (unsigned)arguments.size_d - KILN_##SIDE##_RUN;                      \
        KILN_COPY_OR_FETCH_VALUE(side, SIDE)                                                       \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_end(const kiln_arguments &arguments,                            \
                                       const kiln_##side##_stage &stage, unsigned columns,         \
                                       kiln_pack *tile)                                            \
    {                                                                                              \
        if (!KILN_VALUE_IS_COPIED) {                                                               \
            const unsigned last = (unsigned)arguments.size_d - KILN_##SIDE##_RUN;                  \
            const unsigned rest = columns;                             \
            KILN_STORE(side, arguments, stage, last, rest, tile);                                  \
        }                                                                                          \
    }
#endif

#if KILN_VALUE_IS_COPIED
#define KILN_COPY_OR_FETCH_VALUE(side, SIDE)                                                       \
    enum { UNITS = KILN_TILE_D * KILN_N_PACKS, TURNS = (UNITS + KILN_BLOCK - 1) / KILN_BLOCK };    \
    KILN_UNROLL                                                                                    \
    for (unsigned turn = 0; turn < TURNS; turn++) {                                                \
        const unsigned index = kiln_work_item() + turn * KILN_BLOCK;                               \
        if (UNITS % KILN_BLOCK != 0 && index >= UNITS)                                             \
            break;                                                                                 \
        const unsigned packs = KILN_VALUE_IS_TRANSPOSED ? KILN_D_PACKS : KILN_N_PACKS;             \
        const unsigned line = index / packs, pack = index % packs;                                 \
        const unsigned row = KILN_VALUE_IS_TRANSPOSED ? pack * KILN_PACK_ELEMENTS : line;          \
        const unsigned k = KILN_VALUE_IS_TRANSPOSED ? line : pack * KILN_PACK_ELEMENTS;            \
        kiln_##side##_copy(arguments, stage.source, 0, row, k,                                     \
                           columns,                                    \
                           row < (unsigned)last + KILN_##SIDE##_RUN,                               \
                           tile + kiln_pack_place(line, pack, KILN_VALUE_SHAPE));                  \
    }
#elif KILN_TILES_ARE_LATE
#define KILN_COPY_OR_FETCH_VALUE(side, SIDE) ((void)stage, (void)last, (void)columns, (void)tile);
#else
#define KILN_COPY_OR_FETCH_VALUE(side, SIDE)                                                       \
    unsigned item = kiln_work_item();                                                              \
    if (KILN_HAS_FEW_REGISTERS)                                                                    \
        kiln_compute_here(item);                                                                   \
    if (columns >= KILN_TILE_N)                                                     \
        kiln_##side##_fetch_of(arguments, item, stage, last, KILN_WHOLE_K);                        \
    else {                                                                                         \
        kiln_compute_here(item);                                                                   \
        kiln_##side##_fetch_of(arguments, item, stage, last, columns);                             \
        kiln_keep_branch();                                                                        \
    }                                                                                              \
    (void)tile;
#endif

#define KILN_VALUE_TILE_OF(nth, side, SIDE, size) KILN_VALUE_TILE(side, SIDE, size)
KILN_SECOND_PRODUCTS(KILN_VALUE_TILE_OF)

/* The value tiles of the same columns. */
struct kiln_values {
#define KILN_VALUE_STAGE(nth, side, SIDE, size) kiln_##side##_stage side;
    KILN_SECOND_PRODUCTS(KILN_VALUE_STAGE)
};

KILN_DEVICE void kiln_values_start(const kiln_arguments &arguments, const kiln_batch &batch,
                                   unsigned column, kiln_values &values)
{
#define KILN_VALUE_START(nth, side, SIDE, size)                                                    \
    kiln_##side##_start(arguments, batch, 0, values.side.source);                                  \
    kiln_##side##_advance(arguments, column, values.side.source);
    KILN_SECOND_PRODUCTS(KILN_VALUE_START)
}

KILN_DEVICE void kiln_values_advance(const kiln_arguments &arguments, unsigned columns,
                                     kiln_values &values)
{
#define KILN_VALUE_ADVANCE(nth, side, SIDE, size)                                                  \
    kiln_##side##_advance(arguments, columns, values.side.source);
    KILN_SECOND_PRODUCTS(KILN_VALUE_ADVANCE)
}

KILN_DEVICE void kiln_values_begin(const kiln_arguments &arguments, kiln_values &values,
                                   unsigned columns, kiln_pack *tiles)
{
#define KILN_VALUE_BEGIN(nth, side, SIDE, size)                                                    \
    if (kiln_right_of_value(nth) == 0)                                                             \
        kiln_##side##_begin(arguments, values.side, columns, tiles + kiln_value_place(nth));
    KILN_SECOND_PRODUCTS(KILN_VALUE_BEGIN)
}

KILN_DEVICE void kiln_values_end(const kiln_arguments &arguments, const kiln_values &values,
                                 unsigned columns, kiln_pack *tiles)
{
#define KILN_VALUE_END(nth, side, SIDE, size)                                                      \
    if (kiln_right_of_value(nth) == 0)                                                             \
        kiln_##side##_end(arguments, values.side, columns, tiles + kiln_value_place(nth));
    KILN_SECOND_PRODUCTS(KILN_VALUE_END)
}

#endif
