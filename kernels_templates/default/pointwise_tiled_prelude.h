/*
 * What lets pointwise_tiled.hip compile by itself: the transpose of a 500 x 300 matrix of floats, in the shape that the
 * emitter generates.
 */
#ifndef KILN_DEFAULT_POINTWISE_TILED_PRELUDE_H
#define KILN_DEFAULT_POINTWISE_TILED_PRELUDE_H

#define KILN_SYMBOL kiln_pointwise_tiled_default
#define KILN_WAVE_SIZE 64
#define KILN_BLOCK 256
#define KILN_HAS_TURNS 0
#define KILN_CHUNKS 40u
#define KILN_CHUNK(turn) (turn)
#define KILN_VECTOR 4
#define KILN_VECTORS_PER_ITEM 4
#define KILN_TILE 64
#define KILN_HAS_TAILS 0
#define KILN_COLS_ARE_WHOLE 0
#define KILN_LINES_ARE_WHOLE 0
#define KILN_HAS_COLUMN_TAILS 0
#define KILN_HAS_LINE_TAILS 0
#define KILN_COLS 300u
#define KILN_LINES 500u
#define KILN_HAS_TRANSPOSED_LOADS 1
#define KILN_HAS_TRANSPOSED_STORES 0

#include "device/device.h"

#include "device/convert/f32.h"
#include "device/memory.h"
#include "device/tile.h"

typedef unsigned int kiln_index;

struct kiln_arguments {
    const kiln_storage_f32 *a0;
    kiln_storage_f32 *a1;
};

struct kiln_position {
    kiln_index column;
    kiln_index line;
};

struct kiln_tiles {
    alignas(16) kiln_storage_f32 t0[KILN_TILE * KILN_TILE];
};

struct kiln_square {
    kiln_storage_f32 s0[KILN_VECTOR][KILN_VECTOR];
};

struct kiln_inputs {
    kiln_storage_f32 x0[KILN_VECTOR];
};

KILN_DEVICE kiln_position kiln_locate_tile(const kiln_arguments &, kiln_index rest)
{
    kiln_position position;
    position.column = rest % 5 * KILN_TILE;
    position.line = rest / 5 * KILN_TILE;
    return position;
}

KILN_DEVICE void kiln_fetch(const kiln_arguments &arguments, kiln_position corner,
                            kiln_index column, kiln_index line, kiln_square &square)
{
    KILN_UNROLL
    for (int k = 0; k < KILN_VECTOR; k++)
        KILN_LOAD_VECTOR(16, square.s0[k],
                         arguments.a0 + ((corner.column + column + (kiln_index)k) * KILN_LINES +
                                         corner.line + line))
}

KILN_DEVICE void kiln_stage_in(kiln_tiles &tiles, kiln_index column, kiln_index line,
                               const kiln_square &square)
{
    KILN_UNROLL
    for (int e = 0; e < KILN_VECTOR; e++) {
        kiln_storage_f32 across[KILN_VECTOR];
        KILN_UNROLL
        for (int i = 0; i < KILN_VECTOR; i++)
            across[i] = square.s0[i][e];
        KILN_STORE_LOCAL(16, &tiles.t0[kiln_tile_place(line + (kiln_index)e, column, 4)], across)
    }
}

KILN_DEVICE void kiln_load(const kiln_arguments &, kiln_tiles &, kiln_position, kiln_index,
                           kiln_index, kiln_inputs &)
{
}

KILN_DEVICE void kiln_load_staged(kiln_tiles &tiles, kiln_index column, kiln_index line,
                                  kiln_inputs &inputs)
{
    KILN_LOAD_LOCAL(16, inputs.x0, &tiles.t0[kiln_tile_place(line, column, 4)])
}

KILN_DEVICE void kiln_compute(const kiln_arguments &arguments, kiln_tiles &, kiln_position position,
                              kiln_index column, kiln_index line, const kiln_inputs &inputs)
{
    KILN_STORE_VECTOR(16, arguments.a1 + ((position.line + line) * KILN_COLS + position.column + column), inputs.x0)
}

KILN_DEVICE void kiln_stage_out(const kiln_arguments &, kiln_tiles &, kiln_position, kiln_index,
                                kiln_index)
{
}

#endif
