/*
 * Tiles of right operands and values: from memory to LDS, by way of registers or without.
 *
 * A right tile has KILN_TILE_N rows of KILN_C_PACKS packs, as kiln_chain_place orders them; a value tile KILN_TILE_D rows of
 * KILN_N_PACKS packs, or, transposed, KILN_TILE_N rows of KILN_D_PACKS packs.
 */
#ifndef KILN_DEVICE_ATTENTION_TILES_H
#define KILN_DEVICE_ATTENTION_TILES_H

#if KILN_LEFT_IS_COPIED || KILN_RIGHT_IS_COPIED || KILN_VALUE_IS_COPIED
#define KILN_AWAIT_COPIES() kiln_await_copies()
#else
#define KILN_AWAIT_COPIES()
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
                                 KILN_##SIDE##_IS_ALONG_K, rows, KILN_SHAPE_PACKS(shape));         \
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
KILN_TILE(left, LEFT, KILN_TILE_M, KILN_LEFT_SHAPE, KILN_ROW_AS_IS)
#if KILN_SCORES > 1
KILN_TILE(left_1, LEFT_1, KILN_TILE_M, KILN_LEFT_SHAPE, KILN_ROW_AS_IS)
#endif

/* The last run that some of the columns are in. It may go on behind them, where they end for this tile of rows only: whole
 * runs are whole in memory. */
KILN_DEVICE unsigned kiln_last_run(unsigned columns, unsigned run)
{
    return (columns - 1) / run * run;
}

/* begin fetches a tile into registers, or begins to copy it; end stores what was fetched. Between the two `tile` may still be
 * read where it is fetched. For a late tile, end does both. */
#define KILN_RIGHT_TILE(side, SIDE, size_c)                                                        \
    KILN_TILE(side, SIDE, KILN_TILE_N, KILN_RIGHT_SHAPE, kiln_chain_place)                         \
    KILN_DEVICE void kiln_##side##_begin(const kiln_arguments &arguments,                          \
                                         kiln_##side##_stage &stage, unsigned columns,             \
                                         kiln_pack *tile)                                          \
    {                                                                                              \
        const unsigned last = KILN_N_END ? kiln_last_run(columns, KILN_##SIDE##_RUN) : ~0u;        \
        const unsigned rest = KILN_C_END ? (unsigned)arguments.size_c : KILN_WHOLE_K;              \
        KILN_COPY_OR_FETCH(side, SIDE, KILN_TILE_N, KILN_C_PACKS)                                  \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_end(const kiln_arguments &arguments,                            \
                                       const kiln_##side##_stage &stage, unsigned columns,         \
                                       kiln_pack *tile)                                            \
    {                                                                                              \
        if (!KILN_RIGHT_IS_COPIED) {                                                               \
            const unsigned last = KILN_N_END ? kiln_last_run(columns, KILN_##SIDE##_RUN) : ~0u;    \
            const unsigned rest = KILN_C_END ? (unsigned)arguments.size_c : KILN_WHOLE_K;          \
            KILN_STORE(side, arguments, stage, last, rest, tile);                                  \
        }                                                                                          \
        KILN_CLEAR_ROWS(side, SIDE)                                                                \
    }

/* Where values are read out of right tiles, rows behind the last column are 0 for the reason given at KILN_VALUE_TILE: each
 * work-item clears what it has stored, or copies nothing, which leaves 0 there. */
#define KILN_RIGHTS_ARE_VALUES (KILN_VALUE_OF || KILN_VALUE_1_OF)
#if KILN_RIGHTS_ARE_VALUES && KILN_N_END && !KILN_RIGHT_IS_COPIED
#define KILN_CLEAR_ROWS(side, SIDE)                                                                \
    for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS && columns < KILN_TILE_N; turn++) {         \
        const unsigned index = kiln_work_item() + turn * KILN_BLOCK;                               \
        if (KILN_##SIDE##_UNITS % KILN_BLOCK != 0 && index >= KILN_##SIDE##_UNITS)                 \
            break;                                                                                 \
        const kiln_unit unit =                                                                     \
            kiln_locate_unit(kiln_work_item(), turn, KILN_BLOCK, KILN_##SIDE##_RUN,                \
                             KILN_##SIDE##_IS_ALONG_K, KILN_TILE_N, KILN_C_PACKS);                 \
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

/* Where columns end within a tile another one's value is read, so that no address is beyond the end, and 0 is stored: the
 * weight there is 0, but the value might be infinite. Full tiles are stored the same way: with a branch, loops spill on RDNA. */
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
            const unsigned rest = KILN_N_END ? columns : KILN_WHOLE_K;                             \
            KILN_STORE(side, arguments, stage, last, rest, tile);                                  \
        }                                                                                          \
    }

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
                           KILN_N_END ? columns : KILN_WHOLE_K,                                    \
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
    if (!KILN_N_END || columns >= KILN_TILE_N)                                                     \
        kiln_##side##_fetch_of(arguments, item, stage, last, KILN_WHOLE_K);                        \
    else {                                                                                         \
        kiln_compute_here(item);                                                                   \
        kiln_##side##_fetch_of(arguments, item, stage, last, columns);                             \
        kiln_keep_branch();                                                                        \
    }                                                                                              \
    (void)tile;
#endif

KILN_RIGHT_TILE(right, RIGHT, c)
#if KILN_SCORES > 1
KILN_RIGHT_TILE(right_1, RIGHT_1, c_1)
#endif
#if KILN_VALUES > 0
KILN_VALUE_TILE(value, VALUE, d)
#endif
#if KILN_VALUES > 1
KILN_VALUE_TILE(value_1, VALUE_1, d_1)
#endif

/* All tiles that belong to the same columns. */
struct kiln_rights {
    kiln_right_stage first;
#if KILN_SCORES > 1
    kiln_right_1_stage second;
#endif
};

#if KILN_VALUES > 0
struct kiln_values {
    kiln_value_stage first;
#if KILN_VALUES > 1
    kiln_value_1_stage second;
#endif
};
#endif

KILN_DEVICE void kiln_rights_start(const kiln_arguments &arguments, const kiln_batch &batch,
                                   unsigned column, kiln_rights &rights)
{
    kiln_right_start(arguments, batch, column, rights.first.source);
#if KILN_SCORES > 1
    kiln_right_1_start(arguments, batch, column, rights.second.source);
#endif
}

KILN_DEVICE void kiln_rights_advance(const kiln_arguments &arguments, unsigned columns,
                                     kiln_rights &rights)
{
    kiln_right_advance_rows(arguments, columns, rights.first.source);
#if KILN_SCORES > 1
    kiln_right_1_advance_rows(arguments, columns, rights.second.source);
#endif
}

KILN_DEVICE void kiln_rights_begin(const kiln_arguments &arguments, kiln_rights &rights,
                                   unsigned columns, kiln_pack *tiles)
{
    kiln_right_begin(arguments, rights.first, columns, tiles);
#if KILN_SCORES > 1
    kiln_right_1_begin(arguments, rights.second, columns, tiles + KILN_RIGHT_TILE_PACKS);
#endif
}

KILN_DEVICE void kiln_rights_end(const kiln_arguments &arguments, const kiln_rights &rights,
                                 unsigned columns, kiln_pack *tiles)
{
    kiln_right_end(arguments, rights.first, columns, tiles);
#if KILN_SCORES > 1
    kiln_right_1_end(arguments, rights.second, columns, tiles + KILN_RIGHT_TILE_PACKS);
#endif
}

#if KILN_VALUES > 0
/* A value that is read out of a right tile is not staged. */
KILN_DEVICE void kiln_values_start(const kiln_arguments &arguments, const kiln_batch &batch,
                                   unsigned column, kiln_values &values)
{
    kiln_value_start(arguments, batch, 0, values.first.source);
    kiln_value_advance(arguments, column, values.first.source);
#if KILN_VALUES > 1
    kiln_value_1_start(arguments, batch, 0, values.second.source);
    kiln_value_1_advance(arguments, column, values.second.source);
#endif
}

KILN_DEVICE void kiln_values_advance(const kiln_arguments &arguments, unsigned columns,
                                     kiln_values &values)
{
    kiln_value_advance(arguments, columns, values.first.source);
#if KILN_VALUES > 1
    kiln_value_1_advance(arguments, columns, values.second.source);
#endif
}

KILN_DEVICE void kiln_values_begin(const kiln_arguments &arguments, kiln_values &values,
                                   unsigned columns, kiln_pack *tiles)
{
    if (KILN_VALUE_OF == 0)
        kiln_value_begin(arguments, values.first, columns, tiles);
#if KILN_VALUES > 1
    if (KILN_VALUE_1_OF == 0)
        kiln_value_1_begin(arguments, values.second, columns,
                           tiles + (KILN_VALUE_OF == 0 ? KILN_VALUE_TILE_PACKS : 0));
#endif
}

KILN_DEVICE void kiln_values_end(const kiln_arguments &arguments, const kiln_values &values,
                                 unsigned columns, kiln_pack *tiles)
{
    if (KILN_VALUE_OF == 0)
        kiln_value_end(arguments, values.first, columns, tiles);
#if KILN_VALUES > 1
    if (KILN_VALUE_1_OF == 0)
        kiln_value_1_end(arguments, values.second, columns,
                         tiles + (KILN_VALUE_OF == 0 ? KILN_VALUE_TILE_PACKS : 0));
#endif
}
#endif

#endif
