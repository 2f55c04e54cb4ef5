/*
 * What lets contraction_direct.hip compile by itself: a depthwise convolution of lines of halves, c[x][channel] = sum over k of
 * a[x + k][channel] b[channel][k] without padding, in the shape that the emitter generates.
 */
#ifndef KILN_DEFAULT_CONTRACTION_DIRECT_PRELUDE_H
#define KILN_DEFAULT_CONTRACTION_DIRECT_PRELUDE_H

#define KILN_SYMBOL kiln_contraction_direct_default
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
#define KILN_ARE_ROWS_FAST       0
#define KILN_ARE_WEIGHTS_LEFT    0
#define KILN_ARE_WEIGHTS_ALONG_K 1
#define KILN_WEIGHTS             128
#define KILN_TAPS                16
#define KILN_CHIPLETS            8
#define KILN_CHIPLET_RUN         16
#define KILN_SUPER_ROWS          8

#include "device/device.h"

#include "device/arithmetic.h"
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
    kiln_storage_f16 x0[KILN_RESULT_VECTOR];
};

KILN_DEVICE void kiln_image_start(const kiln_arguments &arguments, const kiln_batch &,
                                  kiln_image_source &source)
{
    source.p0 = arguments.a0;
}

KILN_DEVICE void kiln_image_load(const kiln_arguments &arguments, const kiln_image_source &source,
                                 unsigned row, unsigned column, unsigned k,
                                 kiln_image_inputs &inputs)
{
    KILN_LOAD_VECTOR(16, inputs.x0,
                     (const kiln_storage_f16 *)((const char *)source.p0 +
                                                2 * ((row + k) * (unsigned)arguments.s0_0 + column)))
}

KILN_DEVICE void kiln_image_values(const kiln_arguments &, const kiln_image_inputs &inputs,
                                   kiln_sum (&values)[KILN_RESULT_VECTOR])
{
    KILN_UNROLL
    for (int e = 0; e < KILN_RESULT_VECTOR; e++)
        values[e] = kiln_decode_f16(inputs.x0[e]);
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
