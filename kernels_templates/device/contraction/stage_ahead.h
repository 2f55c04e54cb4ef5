/*
 * Staging of tile after tile, by all work-items or by each wave for itself. Offsets that stay the same in all tiles of k are computed
 * once (_begin). Then kiln_<side>_fetch_ahead loads a tile and kiln_<side>_store_ahead writes it to LDS. The KILN_STAGE_ITEMS
 * work-items stage KILN_STAGE_PACKS packs of each row, from KILN_STAGE_FIRST_PACK on.
 *
 * For each operand, from the prelude KILN_<SIDE>_RUN, _IS_ALONG_K and _PIECES. From operands.h kiln_<side>_source, _inputs;
 * kiln_<side>_lane with _locate (fills it) and _keep (once a tile); kiln_<side>_load_at and _pack.
 */
#ifndef KILN_DEVICE_CONTRACTION_STAGE_AHEAD_H
#define KILN_DEVICE_CONTRACTION_STAGE_AHEAD_H

#include "device/contraction/stage_units.h"

/* device/contraction/transposed.h has operands that are staged as they lie along their rows. */
#ifndef KILN_DEVICE_CONTRACTION_TRANSPOSED_H
#define KILN_LEFT_IS_TRANSPOSED  0
#define KILN_RIGHT_IS_TRANSPOSED 0
#define KILN_PUT_ROWS(side, SIDE, rows, parts)
#define kiln_left_put_rows(inputs, row, k, rest, tile)
#define kiln_right_put_rows(inputs, row, k, rest, tile)
#define kiln_start_transposed(row, rows) 0
#define kiln_load_transposed(fragment, tile, start, step, rows)
#endif

#define KILN_STAGED_SHAPE         KILN_TILE_SHAPE(KILN_ROW_PACKS, 7)
#define KILN_ARE_ROWS_APART(rows) (KILN_IS_APART(rows) && KILN_IS_APART(KILN_ROW_PACKS))

/* Part of an operand that a work-item stages in a turn: a pack of neighbouring rows, a piece of one, or neighbouring packs of a row.
 * Rows and packs are in the sum of two parts where the second one is the same for all work-items, 0 else. */
struct kiln_part_of_tile {
    unsigned row;
    unsigned pack;
    unsigned piece;
    unsigned more_rows;
    unsigned more_packs;
};

/* Half packs and quarters are as many as work-items. Sixteen lanes, or 32, have all pieces of eight packs that lie in all banks of
 * LDS (device/mma/pack.h): runs that are 16 rows long are in four different places of a row. */
KILN_DEVICE kiln_part_of_tile kiln_locate_unit_of_turn(unsigned turn, unsigned run, bool is_along_k, unsigned rows,
                                                       unsigned pieces, unsigned lane_run)
{
    const unsigned runs = rows / run, first = turn * KILN_STAGE_ITEMS;
    unsigned index = KILN_STAGE_ITEM;
    kiln_part_of_tile unit;
    unit.piece = 0;
    unit.more_rows = 0;
    unit.more_packs = 0;
    if (pieces > 1) {
        const unsigned abreast = pieces == 2 && KILN_ROW_PACKS >= 8 ? 8 : 4;
        const unsigned packs_abreast = 8 / abreast;
        const unsigned together = index / (8 * pieces), groups = runs / abreast;
        unit.row = (together % groups * abreast + index % abreast) * run;
        unit.pack = together / groups * packs_abreast + index / abreast % packs_abreast;
        unit.piece = index / 8 % pieces;
    } else if (is_along_k) {
        const unsigned row_units = KILN_STAGE_PACKS / lane_run;
        if (KILN_STAGE_ITEMS % row_units == 0 && KILN_IS_APART(KILN_STAGE_ITEMS / row_units))
            unit.more_rows = first / row_units;
        else
            index += first;
        unit.row = index / row_units;
        unit.pack = KILN_STAGE_FIRST_PACK + index % row_units * lane_run;
    } else {
        const bool is_apart =
            KILN_STAGE_ITEMS % runs == 0 && KILN_IS_APART(KILN_STAGE_ITEMS / runs);
        const unsigned before = is_apart ? 0 : first;
        if (is_apart)
            unit.more_packs = first / runs;
        index += before;
        unit.row = index % runs * run;
        /* Without the work-item's number where all have the same: stage.h says why. */
        unit.pack = runs % KILN_STAGE_ITEMS == 0 ? before / runs : index / runs;
    }
    return unit;
}

/* The place of pack p of the unit's row r in a part of so many rows. A run is a power of two. */
KILN_DEVICE unsigned kiln_part_place(const kiln_part_of_tile &unit, unsigned part, unsigned rows, unsigned r,
                                     unsigned p)
{
    if (KILN_ARE_ROWS_APART(rows))
        return kiln_pack_place_beyond(kiln_pack_place(unit.row, unit.pack + p, KILN_STAGED_SHAPE),
                                      unit.more_rows + part * rows + r, unit.more_packs,
                                      KILN_STAGED_SHAPE);
    return kiln_pack_place(part * rows + unit.row + unit.more_rows + r,
                           unit.pack + unit.more_packs + p, KILN_STAGED_SHAPE);
}

/* The unit's first element along k. */
KILN_DEVICE unsigned kiln_part_k(const kiln_part_of_tile &unit, unsigned pieces)
{
    return (unit.pack + unit.more_packs) * KILN_PACK_ELEMENTS +
           unit.piece * (KILN_PACK_ELEMENTS / pieces);
}

/* Of a piece of a pack what it has lies in front. */
KILN_DEVICE void kiln_put_part(kiln_pack *to, const kiln_part_of_tile &unit, const kiln_pack &pack,
                               unsigned pieces)
{
    if (pieces == 1) {
        *to = pack;
        return;
    }
    if (pieces == 4) {
        to->words[unit.piece] = pack.words[0];
        return;
    }
#if defined(__AMDGCN__)
    /* As a vector: of two words LLVM 19 stores each by itself. */
    typedef unsigned two_words __attribute__((ext_vector_type(2)));
    two_words half;
    half[0] = pack.words[0];
    half[1] = pack.words[1];
    ((two_words *)to)[unit.piece] = half;
#else
    to->words[2 * unit.piece] = pack.words[0];
    to->words[2 * unit.piece + 1] = pack.words[1];
#endif
}

#define KILN_STAGE_AHEAD(side, SIDE, rows, parts)                                                  \
    KILN_STAGE_UNITS(side, SIDE, rows, KILN_STAGE_PACKS)                                           \
    enum { KILN_##SIDE##_PARTS = KILN_##SIDE##_UNITS * KILN_##SIDE##_PIECES };                     \
    struct kiln_##side##_lanes {                                                                   \
        kiln_##side##_lane at[KILN_##SIDE##_TURNS];                                                \
    };                                                                                             \
    KILN_DEVICE void kiln_##side##_begin(const kiln_arguments &arguments,                          \
                                         const kiln_##side##_source &source, unsigned last,        \
                                         kiln_##side##_lanes &lanes)                               \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS; turn++) {                              \
            const kiln_part_of_tile unit =                                                         \
                kiln_locate_unit_of_turn(turn, KILN_##SIDE##_RUN, KILN_##SIDE##_IS_ALONG_K, rows,  \
                                         KILN_##SIDE##_PIECES, kiln_##side##_lane_run);            \
            const unsigned row = unit.row + unit.more_rows;                                        \
            kiln_##side##_locate(arguments, source, row < last ? row : last,                       \
                                 kiln_part_k(unit, KILN_##SIDE##_PIECES),                          \
                                 lanes.at[turn]);                                                  \
        }                                                                                          \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_fetch_ahead(const kiln_arguments &arguments,                    \
                                         kiln_##side##_stage &stage, kiln_##side##_lanes &lanes, unsigned last, unsigned rest)\
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS; turn++) {                              \
            const unsigned index = KILN_STAGE_ITEM + turn * KILN_STAGE_ITEMS;                      \
            if (KILN_##SIDE##_PARTS % KILN_STAGE_ITEMS != 0 && index >= KILN_##SIDE##_PARTS)       \
                break;                                                                             \
            const kiln_part_of_tile unit =                                                         \
                kiln_locate_unit_of_turn(turn, KILN_##SIDE##_RUN, KILN_##SIDE##_IS_ALONG_K, rows,  \
                                         KILN_##SIDE##_PIECES, kiln_##side##_lane_run);            \
            const unsigned row = unit.row + unit.more_rows;                                        \
            kiln_##side##_keep(lanes.at[turn]);                                                    \
            kiln_##side##_load_at(arguments, stage.source, lanes.at[turn],                         \
                               row < last ? row : last,                                            \
                               kiln_part_k(unit, KILN_##SIDE##_PIECES), rest,                      \
                               stage.inputs[turn]);                                                \
        }                                                                                          \
    }                                                                                              \
    KILN_PUT_ROWS(side, SIDE, rows, parts)                                                         \
    KILN_DEVICE void kiln_##side##_store_ahead(const kiln_arguments &arguments,                    \
                                         const kiln_##side##_stage &stage, unsigned rest,          \
                                         kiln_pack *tile)                                          \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS; turn++) {                              \
            const unsigned index = KILN_STAGE_ITEM + turn * KILN_STAGE_ITEMS;                      \
            if (KILN_##SIDE##_PARTS % KILN_STAGE_ITEMS != 0 && index >= KILN_##SIDE##_PARTS)       \
                break;                                                                             \
            const kiln_part_of_tile unit =                                                         \
                kiln_locate_unit_of_turn(turn, KILN_##SIDE##_RUN, KILN_##SIDE##_IS_ALONG_K, rows,  \
                                         KILN_##SIDE##_PIECES, kiln_##side##_lane_run);            \
            if (KILN_##SIDE##_IS_TRANSPOSED) {                                                     \
                kiln_##side##_put_rows(stage.inputs[turn], unit.row + unit.more_rows,              \
                                       kiln_part_k(unit, KILN_##SIDE##_PIECES), rest, tile);       \
                continue;                                                                          \
            }                                                                                      \
            KILN_UNROLL                                                                            \
            for (unsigned part = 0; part < parts; part++)                                          \
                KILN_UNROLL                                                                        \
            for (unsigned r = 0; r < KILN_##SIDE##_RUN; r++)                                       \
                KILN_UNROLL                                                                        \
            for (unsigned p = 0; p < kiln_##side##_lane_run; p++)                                  \
                kiln_put_part(tile + kiln_part_place(unit, part, rows, r, p), unit,                \
                              kiln_##side##_pack_from(arguments, stage.inputs[turn],               \
                                                      p * KILN_PACK_ELEMENTS, part, r,             \
                                                      kiln_part_k(unit, KILN_##SIDE##_PIECES) +    \
                                                          p * KILN_PACK_ELEMENTS,                  \
                                                      rest),                                       \
                              KILN_##SIDE##_PIECES);                                               \
        }                                                                                          \
    }

KILN_STAGE_AHEAD(left, LEFT, KILN_TILE_M, 1)
KILN_STAGE_AHEAD(right, RIGHT, KILN_TILE_COLUMNS, KILN_PRODUCTS)

#endif
