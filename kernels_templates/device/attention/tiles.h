/*
 * Tiles of the first products' operands: from memory to LDS, by way of registers or without.
 *
 * A right tile has KILN_TILE_N rows of KILN_C_PACKS packs, as kiln_chain_place orders them.
 */
#ifndef KILN_DEVICE_ATTENTION_TILES_H
#define KILN_DEVICE_ATTENTION_TILES_H

#include "device/attention/operands.h"

#if KILN_RIGHT_IS_COPIED || KILN_VALUE_IS_COPIED
#define KILN_AWAIT_COPIES() kiln_await_copies()
#else
#define KILN_AWAIT_COPIES()
#endif

/* From rows of a right operand to later ones. */
#define KILN_ADVANCE_ROWS(side, n, type, form) KILN_ADVANCE_ROWS_##form(n)
#define KILN_ADVANCE_ROWS_SCALAR(n)
#define KILN_ADVANCE_ROWS_PLAIN(n)                                                                 \
    source.p##n += kiln_offset_along(arguments, kiln_map_##n.row, rows);
#define KILN_RIGHT_ROWS(side, SIDE)                                                                \
    KILN_DEVICE void kiln_##side##_advance_rows(const kiln_arguments &arguments, unsigned rows,    \
                                                kiln_##side##_source &source)                      \
    {                                                                                              \
        (void)arguments, (void)rows, (void)source;                                                 \
        KILN_##SIDE##_ACCESSES(KILN_ADVANCE_ROWS)                                                  \
    }

#if KILN_RIGHT_IS_COPIED
#define KILN_RIGHT_COPY(nth, left, LEFT, right, RIGHT, size) KILN_OPERAND_COPY(right, RIGHT)
KILN_FIRST_PRODUCTS(KILN_RIGHT_COPY)
#endif

/* The pass of a late tile: a unit is stored before the next one is loaded. */
#define KILN_TILE(side, SIDE, rows, shape, tile_row)                                               \
    KILN_STAGE(side, SIDE, rows, shape, 1, tile_row)                                               \
    [[maybe_unused]] KILN_DEVICE void kiln_##side##_pass(                                          \
        const kiln_arguments &arguments, const kiln_##side##_source &source, unsigned last,        \
        unsigned rest, kiln_pack *tile)                                                            \
    {                                                                                              \
        unsigned item = kiln_work_item();                                                          \
        kiln_compute_here(item);                                                                   \
        KILN_NO_UNROLL                                                                             \
        for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS; turn++) {                              \
            if (KILN_##SIDE##_UNITS % KILN_BLOCK != 0 &&                                           \
                item + turn * KILN_BLOCK >= KILN_##SIDE##_UNITS)                                   \
                break;                                                                             \
            const kiln_unit unit =                                                                 \
                kiln_locate_unit(item, turn, KILN_BLOCK, KILN_##SIDE##_RUN,                        \
                                 KILN_##SIDE##_IS_ALONG_K, rows, KILN_SHAPE_PACKS(shape), 1);      \
            const unsigned k = unit.pack * KILN_PACK_ELEMENTS;                                     \
            kiln_##side##_inputs inputs;                                                           \
            kiln_##side##_load(arguments, source, unit.row < last ? unit.row : last, k, rest,      \
                               inputs);                                                            \
            KILN_UNROLL                                                                            \
            for (unsigned r = 0; r < KILN_##SIDE##_RUN; r++)                                       \
                tile[kiln_pack_place(tile_row(unit.row + r), unit.pack, shape)] =                  \
                    kiln_##side##_pack(arguments, inputs, 0, r, k, rest);                          \
        }                                                                                          \
    }
#if KILN_TILES_ARE_LATE
#define KILN_FETCH(side, arguments, stage, last, rest) ((void)(stage), (void)(last), (void)(rest))
#define KILN_STORE(side, arguments, stage, last, rest, tile)                                       \
    kiln_##side##_pass(arguments, (stage).source, last, rest, tile)
#else
#define KILN_FETCH(side, arguments, stage, last, rest)                                             \
    kiln_##side##_fetch(arguments, stage, last, rest)
#define KILN_STORE(side, arguments, stage, last, rest, tile)                                       \
    ((void)(last), kiln_##side##_store(arguments, stage, rest, tile))
#endif
#define KILN_LEFT_TILE(nth, left, LEFT, right, RIGHT, size)                                        \
    KILN_TILE(left, LEFT, KILN_TILE_M, KILN_LEFT_SHAPE, KILN_ROW_AS_IS)
KILN_FIRST_PRODUCTS(KILN_LEFT_TILE)

/* The last run that some of the columns are in. It may go on behind them, where they end for this tile of rows only: whole
 * runs are whole in memory. */
KILN_DEVICE unsigned kiln_last_run(unsigned columns, unsigned run)
{
    return (columns - 1) / run * run;
}

/* begin fetches a tile into registers, or begins to copy it; end stores what was fetched. Between the two `tile` may still be
 * read where it is fetched. For a late tile, end does both. */
#define KILN_RIGHT_TILE(side, SIDE, size_c)                                                        \
    KILN_RIGHT_ROWS(side, SIDE)                                                                    \
    KILN_TILE(side, SIDE, KILN_TILE_N, KILN_RIGHT_SHAPE, kiln_chain_place)                         \
    KILN_DEVICE void kiln_##side##_begin(const kiln_arguments &arguments,                          \
                                         kiln_##side##_stage &stage, unsigned columns,             \
                                         kiln_pack *tile)                                          \
    {                                                                                              \
        const unsigned last = kiln_last_run(columns, KILN_##SIDE##_RUN);                       \
        const unsigned rest = KILN_C_END ? (unsigned)arguments.size_c : KILN_WHOLE_K;              \
        KILN_COPY_OR_FETCH(side, SIDE, KILN_TILE_N, KILN_C_PACKS)                                  \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_end(const kiln_arguments &arguments,                            \
                                       const kiln_##side##_stage &stage, unsigned columns,         \
                                       kiln_pack *tile)                                            \
    {                                                                                              \
        if (!KILN_RIGHT_IS_COPIED) {                                                               \
            const unsigned last = kiln_last_run(columns, KILN_##SIDE##_RUN);                   \
            const unsigned rest = KILN_C_END ? (unsigned)arguments.size_c : KILN_WHOLE_K;          \
            KILN_STORE(side, arguments, stage, last, rest, tile);                                  \
        }                                                                                          \
        KILN_CLEAR_ROWS(side, SIDE)                                                                \
    }

/* Where values are read out of right tiles, rows behind the last column are 0 for the reason given at KILN_VALUE_TILE: each
 * work-item clears what it has stored, or copies nothing, which leaves 0 there. */
#define KILN_RIGHTS_ARE_VALUES (KILN_VALUE_OF || KILN_VALUE_1_OF)
#if KILN_RIGHTS_ARE_VALUES && !KILN_RIGHT_IS_COPIED
#define KILN_CLEAR_ROWS(side, SIDE)                                                                \
    for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS && columns < KILN_TILE_N; turn++) {         \
        const unsigned index = kiln_work_item() + turn * KILN_BLOCK;                               \
        if (KILN_##SIDE##_UNITS % KILN_BLOCK != 0 && index >= KILN_##SIDE##_UNITS)                 \
            break;                                                                                 \
        const kiln_unit unit =                                                                     \
            kiln_locate_unit(kiln_work_item(), turn, KILN_BLOCK, KILN_##SIDE##_RUN,                \
                             KILN_##SIDE##_IS_ALONG_K, KILN_TILE_N, KILN_C_PACKS, 1);              \
        for (unsigned row = unit.row; row < unit.row + KILN_##SIDE##_RUN; row++) {                 \
            if (row >= columns)                                                                    \
                tile[kiln_pack_place(kiln_chain_place(row), unit.pack, KILN_RIGHT_SHAPE)] =        \
                    kiln_pack{};                                                                   \
        }                                                                                          \
    }
#else
#define KILN_CLEAR_ROWS(side, SIDE) (void)columns;
#endif

#if KILN_RIGHT_IS_COPIED
#define KILN_COPY_OR_FETCH(side, SIDE, rows, packs)                                                \
    KILN_UNROLL                                                                                    \
    for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS; turn++) {                                  \
        const unsigned index = kiln_work_item() + turn * KILN_BLOCK;                               \
        if (KILN_##SIDE##_UNITS % KILN_BLOCK != 0 && index >= KILN_##SIDE##_UNITS)                 \
            break;                                                                                 \
        const unsigned row = index / (packs), pack = index % (packs);                              \
        const bool is_row = row <= last;                                                           \
        kiln_##side##_copy(arguments, stage.source, 0,                                             \
                           is_row || !KILN_RIGHTS_ARE_VALUES ? row : last,                         \
                           pack * KILN_PACK_ELEMENTS,                                              \
                           is_row || !KILN_RIGHTS_ARE_VALUES ? rest : 0,                           \
                           is_row || KILN_RIGHTS_ARE_VALUES,                                       \
                           tile + kiln_pack_place(kiln_chain_place(row), pack, KILN_RIGHT_SHAPE)); \
    }
#else
#define KILN_COPY_OR_FETCH(side, SIDE, rows, packs)                                                \
    KILN_FETCH(side, arguments, stage, last, rest);                                                \
    (void)tile;
#endif

#define KILN_RIGHT_TILE_OF(nth, left, LEFT, right, RIGHT, size) KILN_RIGHT_TILE(right, RIGHT, size)
KILN_FIRST_PRODUCTS(KILN_RIGHT_TILE_OF)

/* The right tiles of the same columns. */
struct kiln_rights {
#define KILN_RIGHT_STAGE(nth, left, LEFT, right, RIGHT, size) kiln_##right##_stage right;
    KILN_FIRST_PRODUCTS(KILN_RIGHT_STAGE)
};

KILN_DEVICE void kiln_rights_start(const kiln_arguments &arguments, const kiln_batch &batch,
                                   unsigned column, kiln_rights &rights)
{
#define KILN_RIGHT_START(nth, left, LEFT, right, RIGHT, size)                                      \
    kiln_##right##_start(arguments, batch, column, rights.right.source);
    KILN_FIRST_PRODUCTS(KILN_RIGHT_START)
}

KILN_DEVICE void kiln_rights_advance(const kiln_arguments &arguments, unsigned columns,
                                     kiln_rights &rights)
{
#define KILN_RIGHT_ADVANCE(nth, left, LEFT, right, RIGHT, size)                                    \
    kiln_##right##_advance_rows(arguments, columns, rights.right.source);
    KILN_FIRST_PRODUCTS(KILN_RIGHT_ADVANCE)
}

KILN_DEVICE void kiln_rights_begin(const kiln_arguments &arguments, kiln_rights &rights,
                                   unsigned columns, kiln_pack *tiles)
{
#define KILN_RIGHT_BEGIN(nth, left, LEFT, right, RIGHT, size)                                      \
    kiln_##right##_begin(arguments, rights.right, columns, tiles + (nth)*KILN_RIGHT_TILE_PACKS);
    KILN_FIRST_PRODUCTS(KILN_RIGHT_BEGIN)
}

KILN_DEVICE void kiln_rights_end(const kiln_arguments &arguments, const kiln_rights &rights,
                                 unsigned columns, kiln_pack *tiles)
{
#define KILN_RIGHT_END(nth, left, LEFT, right, RIGHT, size)                                        \
    kiln_##right##_end(arguments, rights.right, columns, tiles + (nth)*KILN_RIGHT_TILE_PACKS);
    KILN_FIRST_PRODUCTS(KILN_RIGHT_END)
}

#endif
