/*
 * Tiles of values that are staged as they lie, by way of registers: rows of a tile are keys in the order of kiln_chain_place, and
 * packs are along the value. device/mma/transposed_reads.h reads them. A work-item loads a pack of each of a few neighbouring keys.
 */
#ifndef KILN_DEVICE_ATTENTION_TRANSPOSED_VALUES_H
#define KILN_DEVICE_ATTENTION_TRANSPOSED_VALUES_H

#include "device/contraction/rows_of_run.h"
#include "device/mma/transposed_reads.h"

/* The first row of the value, and the first key, of a work-item's unit. */
struct kiln_value_unit {
    unsigned row, k;
};

KILN_DEVICE kiln_value_unit kiln_locate_value_unit(unsigned index, unsigned row_packs, unsigned keys)
{
    return {index % row_packs * KILN_PACK_ELEMENTS, index / row_packs * keys};
}

#define KILN_VALUE_TILE(side, SIDE, size_d)                                                        \
    enum {                                                                                         \
        KILN_##SIDE##_UNITS = KILN_D_PACKS * (KILN_TILE_N / kiln_##side##_elements),               \
        KILN_##SIDE##_TURNS = (KILN_##SIDE##_UNITS + KILN_BLOCK - 1) / KILN_BLOCK                  \
    };                                                                                             \
    struct kiln_##side##_stage {                                                                   \
        kiln_##side##_source source;                                                               \
        kiln_##side##_inputs inputs[KILN_##SIDE##_TURNS];                                          \
    };                                                                                             \
    KILN_DEVICE void kiln_##side##_fetch_turn(const kiln_arguments &arguments,                     \
                                              const kiln_##side##_source &source, unsigned index,  \
                                              unsigned columns, kiln_##side##_inputs &inputs)      \
    {                                                                                              \
        const unsigned last = (unsigned)arguments.size_d - KILN_##SIDE##_RUN;                      \
        const kiln_value_unit unit =                                                               \
            kiln_locate_value_unit(index, KILN_D_PACKS, kiln_##side##_elements);                   \
        kiln_##side##_load(arguments, source, unit.row < last ? unit.row : last, unit.k, columns,  \
                           inputs);                                                                \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_begin(const kiln_arguments &arguments,                          \
                                         kiln_##side##_stage &stage, unsigned columns,             \
                                         kiln_pack *)                                              \
    {                                                                                              \
        const unsigned rest = columns >= KILN_TILE_N ? KILN_WHOLE_K : columns;                     \
        KILN_UNROLL                                                                                \
        for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS && !KILN_TILES_ARE_LATE; turn++) {      \
            const unsigned index = kiln_work_item() + turn * KILN_BLOCK;                           \
            if (KILN_##SIDE##_UNITS % KILN_BLOCK != 0 && index >= KILN_##SIDE##_UNITS)             \
                break;                                                                             \
            if (rest == KILN_WHOLE_K)                                                              \
                kiln_##side##_fetch_turn(arguments, stage.source, index, KILN_WHOLE_K,             \
                                         stage.inputs[turn]);                                      \
            else {                                                                                 \
                kiln_##side##_fetch_turn(arguments, stage.source, index, rest,                     \
                                         stage.inputs[turn]);                                      \
                kiln_keep_branch();                                                                \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_end(const kiln_arguments &arguments,                            \
                                       const kiln_##side##_stage &stage, unsigned columns,         \
                                       kiln_pack *tile)                                            \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS; turn++) {                              \
            const unsigned index = kiln_work_item() + turn * KILN_BLOCK;                           \
            if (KILN_##SIDE##_UNITS % KILN_BLOCK != 0 && index >= KILN_##SIDE##_UNITS)             \
                break;                                                                             \
            const kiln_value_unit unit =                                                           \
                kiln_locate_value_unit(index, KILN_D_PACKS, kiln_##side##_elements);               \
            kiln_##side##_inputs inputs = stage.inputs[turn];                                      \
            if (KILN_TILES_ARE_LATE)                                                               \
                kiln_##side##_fetch_turn(arguments, stage.source, index, columns, inputs);         \
            KILN_UNROLL                                                                            \
            for (unsigned e = 0; e < kiln_##side##_elements; e++) {                                \
                const unsigned part = 0;                                                           \
                kiln_pack pack = {};                                                               \
                KILN_##SIDE##_PACKING(KILN_ROWS_PART)                                              \
                if (columns < KILN_TILE_N && unit.k + e >= columns)                                \
                    pack = kiln_pack{};                                                            \
                tile[kiln_pack_place(kiln_chain_place(unit.k + e), unit.row / KILN_PACK_ELEMENTS,  \
                                     KILN_VALUE_SHAPE)] = pack;                                    \
            }                                                                                      \
        }                                                                                          \
    }

#endif
