/*
 * Lets pooling.hip compile on its own: the largest of 3 neighbours among 4000 floats, in the shape
 * that the emitter generates.
 */
#ifndef KILN_DEFAULT_POOLING_PRELUDE_H
#define KILN_DEFAULT_POOLING_PRELUDE_H

#define KILN_SYMBOL        kiln_pooling_default
#define KILN_WAVE_SIZE     64
#define KILN_BLOCK         256
#define KILN_HAS_TURNS     0
#define KILN_CHUNKS        16u
#define KILN_CHUNK(turn)   (turn)
#define KILN_VECTOR        1
#define KILN_VECTORS       4000u
#define KILN_TAPS          3
#define KILN_TAPS_TOGETHER 3

#include "device/device.h"

#include "device/convert/f32.h"
#include "device/memory.h"
#include "device/pooling.h"

typedef unsigned int kiln_index;

struct kiln_arguments {
    const kiln_storage_f32 *a0;
    kiln_storage_f32 *a1;
};

struct kiln_position {
    kiln_index column;
};

KILN_DEVICE kiln_position kiln_locate(const kiln_arguments &, kiln_index vector)
{
    kiln_position position;
    position.column = vector;
    return position;
}

struct kiln_tap_inputs {
    kiln_storage_f32 x0[1];
};

struct kiln_inputs {};

struct kiln_reduced {
    float value0[KILN_VECTOR];
};

KILN_DEVICE bool kiln_load_tap(const kiln_arguments &arguments, const kiln_position &position,
                               unsigned tap, kiln_tap_inputs &inputs)
{
    const int w0 = (int)(tap + position.column - 1u);
    inputs.x0[0] = arguments.a0[kiln_clamp(w0, 3999)];
    return (unsigned)w0 < 4000u;
}

KILN_DEVICE void kiln_begin(const kiln_arguments &, const kiln_position &, kiln_reduced &reduced)
{
    reduced.value0[0] = -__builtin_inff();
}

KILN_DEVICE void kiln_reduce_tap(const kiln_arguments &, const kiln_tap_inputs &inputs,
                                 bool is_inside, kiln_reduced &reduced)
{
    reduced.value0[0] = kiln_larger_number_f32(
        reduced.value0[0], is_inside ? kiln_decode_f32(inputs.x0[0]) : -__builtin_inff());
}

KILN_DEVICE void kiln_load(const kiln_arguments &, const kiln_position &, kiln_inputs &)
{
}

KILN_DEVICE void kiln_compute(const kiln_arguments &arguments, const kiln_position &position,
                              const kiln_inputs &, const kiln_reduced &reduced)
{
    arguments.a1[position.column] = reduced.value0[0];
}

#endif
