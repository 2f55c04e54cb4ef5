/*
 * What lets pointwise_tiled.hip compile by itself: the transpose of a 500 x 300 matrix of floats, in the shape that the
 * emitter generates.
 */
#ifndef KILN_DEFAULT_POINTWISE_TILED_PRELUDE_H
#define KILN_DEFAULT_POINTWISE_TILED_PRELUDE_H

#define KILN_SYMBOL kiln_pointwise_tiled_default
#define KILN_WAVE_SIZE 64
#define KILN_BLOCK 256
#define KILN_GRID 40
#define KILN_CHUNKS 40u
#define KILN_CHUNK(turn) (turn)
#define KILN_VECTOR 4
#define KILN_TILE 64
#define KILN_HAS_TAILS 0
#define KILN_COLS 300u
#define KILN_LINES 500u
#define KILN_HAS_TRANSPOSED_STORES 0

#include "device/device.h"

#include "device/convert/f32.h"
#include "device/memory.h"

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
    alignas(16) kiln_storage_f32 t0[KILN_TILE][KILN_TILE + 1];
};

struct kiln_inputs {
    kiln_storage_f32 x0[KILN_VECTOR];
};

KILN_DEVICE kiln_position kiln_locate_tile(kiln_index rest)
{
    kiln_position position;
    position.column = rest % 5 * KILN_TILE;
    position.line = rest / 5 * KILN_TILE;
    return position;
}

KILN_DEVICE void kiln_stage_in(const kiln_arguments &arguments, kiln_tiles &tiles,
                               kiln_position position, kiln_index column, kiln_index line)
{
    kiln_storage_f32 line_values[KILN_VECTOR];
    KILN_LOAD_VECTOR(16, line_values, arguments.a0 + ((position.column + column) * KILN_LINES + position.line + line))
    KILN_UNROLL
    for (int e = 0; e < KILN_VECTOR; e++)
        tiles.t0[column][line + (kiln_index)e] = line_values[e];
}

KILN_DEVICE void kiln_load(const kiln_arguments &, kiln_tiles &tiles, kiln_position,
                           kiln_index column, kiln_index line, kiln_inputs &inputs)
{
    KILN_UNROLL
    for (int e = 0; e < KILN_VECTOR; e++)
        inputs.x0[e] = tiles.t0[column + (kiln_index)e][line];
}

KILN_DEVICE void kiln_compute(const kiln_arguments &arguments, kiln_tiles &, kiln_position position,
                              kiln_index column, kiln_index line, const kiln_inputs &inputs)
{
    KILN_STORE_VECTOR(16, arguments.a1 + ((position.line + line) * KILN_COLS + position.column + column), inputs.x0)
}

#endif
