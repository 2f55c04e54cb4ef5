/*
 * What lets pointwise.hip compile by itself: y = x over 4000 floats, in the shape that the emitter generates.
 */
#ifndef KILN_DEFAULT_POINTWISE_PRELUDE_H
#define KILN_DEFAULT_POINTWISE_PRELUDE_H

#define KILN_SYMBOL kiln_pointwise_default
#define KILN_WAVE_SIZE 64
#define KILN_BLOCK 256
#define KILN_HAS_TURNS 0
#define KILN_CHUNKS 4u
#define KILN_CHUNK(turn) (turn)
#define KILN_VECTOR 4
#define KILN_VECTORS_PER_ITEM 1
#define KILN_HAS_TAILS 0
#define KILN_IS_EVEN 0
#define KILN_CHECKS_CHUNKS 0
#define KILN_COLS 4000u
#define KILN_VECTORS 1000u

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
};

struct kiln_inputs {
    KILN_INPUT(kiln_storage_f32, x0, KILN_VECTOR);
};

KILN_DEVICE kiln_position kiln_locate(const kiln_arguments &, kiln_index vector)
{
    kiln_position position;
    position.column = vector * KILN_VECTOR;
    return position;
}

KILN_DEVICE void kiln_load(const kiln_arguments &arguments, const kiln_position &position,
                           kiln_inputs &inputs)
{
    KILN_LOAD_INPUT(16, inputs.x0, arguments.a0 + position.column)
}

KILN_DEVICE void kiln_compute(const kiln_arguments &arguments, const kiln_position &position,
                              const kiln_inputs &inputs)
{
    KILN_STORE_VECTOR(16, arguments.a1 + position.column, inputs.x0)
}

#endif
