/*
 * Staging: a tile of an operand from global memory, through the elementwise work on it, into LDS.
 *
 * KILN_STAGE(side, SIDE, rows, shape, parts, tile_row) defines kiln_<side>_stage, kiln_<side>_fetch (loads) and kiln_<side>_store
 * (packs to LDS) for a tile of `rows` rows in each of `parts` parts, one for each product.
 *
 * From operands.h: kiln_<side>_source, _inputs, _load and _pack. From the prelude: KILN_<SIDE>_RUN, _IS_ALONG_K. From the pipeline:
 * KILN_STAGE_ITEM, this work-item's number among the KILN_STAGE_ITEMS that stage.
 */
#ifndef KILN_DEVICE_CONTRACTION_STAGE_H
#define KILN_DEVICE_CONTRACTION_STAGE_H

#include "device/contraction/last_row.h"
#include "device/contraction/stage_units.h"

/* Part of an operand that a work-item stages in a turn: a pack of neighbouring rows, or neighbouring packs of a row. */
struct kiln_unit {
    unsigned row;
    unsigned pack;
};

/* The unit of a work-item in a turn, of `items` work-items. Where all of them have the same pack, it is written without the
 * work-item's number, so that the compiler knows that conditions on it are the same for a wave, and branches. Otherwise
 * they are masks, for which LLVM (15 and 19) has v_cmpx on RDNA2 and later and gets comparisons of a scalar register with a
 * constant wrong: si-shrink-instructions exchanges the operands and leaves the operation as it was. */
KILN_DEVICE kiln_unit kiln_locate_unit(unsigned item, unsigned turn, unsigned items, unsigned run,
                                       bool is_along_k, unsigned rows, unsigned packs,
                                       unsigned lane_run)
{
    const unsigned index = item + turn * items;
    const unsigned runs = rows / run;
    kiln_unit unit;
    if (is_along_k) {
        unit.row = index / (packs / lane_run);
        unit.pack = index % (packs / lane_run) * lane_run;
    } else {
        unit.row = index % runs * run;
        unit.pack = runs % items == 0 ? turn * items / runs : index / runs;
    }
    return unit;
}

/* Rows are counted from the tile's first; the last that may be read is `last`. A tile is so many
 * parts of as many rows, one for each product: a unit has the same rows of all. Where a row lies in the
 * tile is tile_row(row). */
#define KILN_STAGE(side, SIDE, rows, shape, parts, tile_row)                                       \
    KILN_STAGE_UNITS(side, SIDE, rows, KILN_SHAPE_PACKS(shape))                                    \
    [[maybe_unused]] KILN_DEVICE void kiln_##side##_fetch_of(                                      \
        const kiln_arguments &arguments, unsigned item, kiln_##side##_stage &stage, unsigned last, \
        unsigned rest)                                                                             \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS; turn++) {                              \
            const unsigned index = item + turn * KILN_STAGE_ITEMS;                                 \
            if (KILN_##SIDE##_UNITS % KILN_STAGE_ITEMS != 0 && index >= KILN_##SIDE##_UNITS)       \
                break;                                                                             \
            const kiln_unit unit =                                                                 \
                kiln_locate_unit(item, turn, KILN_STAGE_ITEMS, KILN_##SIDE##_RUN,                  \
                                 KILN_##SIDE##_IS_ALONG_K, rows, KILN_SHAPE_PACKS(shape),          \
                                 kiln_##side##_lane_run);                                          \
            kiln_##side##_load(arguments, stage.source, unit.row < last ? unit.row : last,         \
                               unit.pack * KILN_PACK_ELEMENTS, rest, stage.inputs[turn]);          \
        }                                                                                          \
    }                                                                                              \
    [[maybe_unused]] KILN_DEVICE void kiln_##side##_fetch(const kiln_arguments &arguments,         \
                                         kiln_##side##_stage &stage, unsigned last, unsigned rest) \
    {                                                                                              \
        kiln_##side##_fetch_of(arguments, KILN_STAGE_ITEM, stage, last, rest);                     \
    }                                                                                              \
    [[maybe_unused]] KILN_DEVICE void kiln_##side##_store(const kiln_arguments &arguments,         \
                                         const kiln_##side##_stage &stage, unsigned rest,          \
                                         kiln_pack *tile)                                          \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS; turn++) {                              \
            const unsigned index = KILN_STAGE_ITEM + turn * KILN_STAGE_ITEMS;                      \
            if (KILN_##SIDE##_UNITS % KILN_STAGE_ITEMS != 0 && index >= KILN_##SIDE##_UNITS)       \
                break;                                                                             \
            const kiln_unit unit = kiln_locate_unit(                                               \
                KILN_STAGE_ITEM, turn, KILN_STAGE_ITEMS, KILN_##SIDE##_RUN,                        \
                KILN_##SIDE##_IS_ALONG_K, rows, KILN_SHAPE_PACKS(shape), kiln_##side##_lane_run);  \
            KILN_UNROLL                                                                            \
            for (unsigned part = 0; part < parts; part++)                                          \
                KILN_UNROLL                                                                        \
            for (unsigned r = 0; r < KILN_##SIDE##_RUN; r++)                                       \
                KILN_UNROLL                                                                        \
            for (unsigned p = 0; p < kiln_##side##_lane_run; p++)                                  \
                tile[kiln_pack_place(part * rows + tile_row(unit.row + r), unit.pack + p,          \
                                     shape)] =                                                     \
                    kiln_##side##_pack_from(arguments, stage.inputs[turn],                         \
                                            p * KILN_PACK_ELEMENTS, part, r,                       \
                                            (unit.pack + p) * KILN_PACK_ELEMENTS, rest);           \
        }                                                                                          \
    }

#define KILN_ROW_AS_IS(row) (row)

#endif
