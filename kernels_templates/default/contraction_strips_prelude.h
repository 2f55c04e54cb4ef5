/*
 * What lets contraction_strips.hip compile by itself: a depthwise convolution of lines of halves, c[x][channel] = sum over k of
 * a[x + k][channel] b[channel][k], zero beyond the end, in the shape that the emitter generates.
 */
#ifndef KILN_DEFAULT_CONTRACTION_STRIPS_PRELUDE_H
#define KILN_DEFAULT_CONTRACTION_STRIPS_PRELUDE_H

#define KILN_SYMBOL kiln_contraction_strips_default
#ifndef KILN_WAVE_SIZE
#if defined(__AMDGCN__)
#define KILN_WAVE_SIZE 64
#elif defined(__CUDACC__)
#define KILN_WAVE_SIZE 32
#else
#define KILN_WAVE_SIZE 1
#endif
#endif
#define KILN_BLOCK               256
#define KILN_PRODUCTS            1
#define KILN_RESULT_VECTOR       8
#define KILN_ITEM_ROWS           4
#define KILN_STRIP_TAPS          3
#define KILN_STRIP_STEP          1
#define KILN_STRIP_PIXELS        6
#define KILN_RESIDENTS           2
#define KILN_AHEAD               3
#define KILN_WEIGHTS             256
#define KILN_TAPS                9
#define KILN_CHIPLETS            8
#define KILN_CHIPLET_RUN         16

#include "device/device.h"

#include "device/arithmetic.h"
#include "device/contraction/divide.h"
#include "device/convert/f16.h"
#include "device/memory.h"

typedef float kiln_sum;
#define KILN_MMA_ADD(a, b, sum) kiln_fma_f32(a, b, sum)

struct kiln_arguments {
    const kiln_storage_f16 *a0;
    const kiln_storage_f16 *a1;
    kiln_storage_f16 *a2;
    long long m, n, k;
    long long slots, vectors;
    long long line, lines, strips, tiles, tile_lines, steps, line_tiles, column_tiles, line_slots;
    long long line_tiles_divisor, column_tiles_divisor, line_slots_divisor, vectors_divisor;
    long long w0_size;
    long long s0_0;
    long long s1_0;
    long long s2_0;
};

struct kiln_batch {};

KILN_DEVICE void kiln_locate_batch(const kiln_arguments &, unsigned, kiln_batch &)
{
}

struct kiln_image_source {
    const kiln_storage_f16 *p0;
};

struct kiln_image_inputs {
    unsigned inside;
    kiln_storage_f16 x0[KILN_RESULT_VECTOR];
};

KILN_DEVICE void kiln_image_start(const kiln_arguments &arguments, const kiln_batch &,
                                  kiln_image_source &source)
{
    source.p0 = arguments.a0;
}

struct kiln_image_line {
    unsigned inside;
    unsigned o0;
};

KILN_DEVICE unsigned kiln_first_tap(const kiln_arguments &)
{
    return 0;
}

KILN_DEVICE void kiln_image_find_line(const kiln_arguments &arguments, const kiln_image_source &,
                                      unsigned row, unsigned k, kiln_image_line &line)
{
    line.inside = 0;
    KILN_UNROLL
    for (unsigned p = 0; p < KILN_STRIP_PIXELS; p++)
        line.inside |= (unsigned)(row + k + p < (unsigned)arguments.w0_size) << p;
    line.o0 = (row + k) * (unsigned)arguments.s0_0;
}

KILN_DEVICE void kiln_image_load_pixel(const kiln_arguments &arguments, const kiln_image_source &source,
                                       const kiln_image_line &line, unsigned, unsigned column,
                                       unsigned, unsigned pixel, kiln_image_inputs &inputs)
{
    inputs.inside = line.inside >> pixel & 1;
    const unsigned offset =
        (inputs.inside != 0 ? line.o0 + pixel * (unsigned)arguments.s0_0 : 0u) + column;
    KILN_LOAD_VECTOR(16, inputs.x0,
                     (const kiln_storage_f16 *)((const char *)source.p0 + 2 * offset))
}

KILN_DEVICE void kiln_image_values(const kiln_arguments &, const kiln_image_inputs &inputs,
                                   kiln_sum (&values)[KILN_RESULT_VECTOR])
{
    KILN_UNROLL
    for (int e = 0; e < KILN_RESULT_VECTOR; e++)
        values[e] = inputs.inside != 0 ? kiln_decode_f16(inputs.x0[e]) : 0.0f;
}

struct kiln_weights_source {
    const kiln_storage_f16 *p1;
};

struct kiln_weights_inputs {
    kiln_storage_f16 x1[1];
};

KILN_DEVICE void kiln_weights_start(const kiln_arguments &arguments, const kiln_batch &,
                                    kiln_weights_source &source)
{
    source.p1 = arguments.a1;
}

KILN_DEVICE void kiln_weights_load(const kiln_arguments &arguments,
                                   const kiln_weights_source &source, unsigned, unsigned column,
                                   unsigned k, kiln_weights_inputs &inputs)
{
    inputs.x1[0] = source.p1[column * (unsigned)arguments.s1_0 + k];
}

KILN_DEVICE void kiln_weights_values(const kiln_arguments &, const kiln_weights_inputs &inputs,
                                     kiln_sum (&values)[1])
{
    values[0] = kiln_decode_f16(inputs.x1[0]);
}

struct kiln_result_source {
    kiln_storage_f16 *p2;
};

KILN_DEVICE void kiln_result_start(const kiln_arguments &arguments, const kiln_batch &,
                                   unsigned row, unsigned column, kiln_result_source &source)
{
    source.p2 = arguments.a2 + ((long long)row * arguments.s2_0 + (long long)column);
}

struct kiln_result_inputs {
};

KILN_DEVICE void kiln_result_load(const kiln_arguments &, const kiln_result_source &, unsigned,
                                  unsigned, kiln_result_inputs &)
{
}

KILN_DEVICE void kiln_finish(const kiln_arguments &arguments, const kiln_result_source &source,
                             unsigned row, unsigned column, const kiln_result_inputs &,
                             const kiln_sum (&values)[KILN_PRODUCTS][KILN_RESULT_VECTOR])
{
    kiln_storage_f16 y2[KILN_RESULT_VECTOR];
    KILN_UNROLL
    for (int e = 0; e < KILN_RESULT_VECTOR; e++)
        y2[e] = kiln_encode_f16(values[0][e]);
    KILN_STORE_VECTOR(16, source.p2 + (row * (unsigned)arguments.s2_0 + column), y2)
}

#endif
