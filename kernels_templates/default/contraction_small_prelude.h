/*
 * A prelude for contraction_small.hip by itself: a batch of dense products of 3 x 3 halves, in the shape that the emitter generates.
 */
#ifndef KILN_DEFAULT_CONTRACTION_SMALL_PRELUDE_H
#define KILN_DEFAULT_CONTRACTION_SMALL_PRELUDE_H

#define KILN_SYMBOL kiln_contraction_small_default
#ifndef KILN_WAVE_SIZE
#if defined(__AMDGCN__)
#define KILN_WAVE_SIZE 64
#elif defined(__CUDACC__)
#define KILN_WAVE_SIZE 32
#else
#define KILN_WAVE_SIZE 1
#endif
#endif
#define KILN_BLOCK         256
#define KILN_PRODUCTS      1
#define KILN_ITEM_ROWS     3
#define KILN_ITEM_COLUMNS  3
#define KILN_RESULT_VECTOR 1
#define KILN_PRODUCT_ITEMS 1
#define KILN_COLUMN_ITEMS  1
#define KILN_K             3
#define KILN_STEP          3

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
    long long items;
    long long batch0, left_repeat0, right_repeat0;
    long long s0_2, s1_2, s2_2;
};

struct kiln_batch {
    unsigned c0;
};

KILN_DEVICE void kiln_locate_batch(const kiln_arguments &, unsigned rest, kiln_batch &batch)
{
    batch.c0 = rest;
}

/* Rows of the operand `number`: of the right one columns of the result. */
#define KILN_DEFAULT_SIDE(side, number, row_stride, k_stride)                                      \
    struct kiln_##side##_source {                                                                  \
        const kiln_storage_f16 *p##number;                                                         \
    };                                                                                             \
    struct kiln_##side##_inputs {                                                                  \
        kiln_storage_f16 x##number[1];                                                             \
    };                                                                                             \
    KILN_DEVICE void kiln_##side##_start(const kiln_arguments &arguments, const kiln_batch &batch, \
                                         unsigned row, kiln_##side##_source &source)               \
    {                                                                                              \
        source.p##number = arguments.a##number + (0ll + (long long)batch.c0 * arguments.s##number##_2 + \
                                                  (long long)row * row_stride);                    \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_advance(const kiln_arguments &, kiln_##side##_source &source)   \
    {                                                                                              \
        source.p##number += KILN_STEP * k_stride;                                                  \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_load(const kiln_arguments &, const kiln_##side##_source &source, \
                                        unsigned row, unsigned k, kiln_##side##_inputs &inputs)    \
    {                                                                                              \
        inputs.x##number[0] = source.p##number[(int)row * row_stride + (int)k * k_stride];         \
    }                                                                                              \
    KILN_DEVICE kiln_sum kiln_##side##_value(const kiln_arguments &,                               \
                                             const kiln_##side##_inputs &inputs)                   \
    {                                                                                              \
        return kiln_decode_f16(inputs.x##number[0]);                                               \
    }

KILN_DEFAULT_SIDE(left, 0, 3, 1)
KILN_DEFAULT_SIDE(right, 1, 1, 3)

struct kiln_result_source {
    kiln_storage_f16 *p2;
};

KILN_DEVICE void kiln_result_start(const kiln_arguments &arguments, const kiln_batch &batch,
                                   unsigned row, unsigned column, kiln_result_source &source)
{
    source.p2 = arguments.a2 +
                ((long long)batch.c0 * arguments.s2_2 + (long long)row * 3 + (long long)column);
}

struct kiln_result_inputs {
};

KILN_DEVICE void kiln_result_load(const kiln_arguments &, const kiln_result_source &, unsigned,
                                  unsigned, kiln_result_inputs &)
{
}

KILN_DEVICE void kiln_finish(const kiln_arguments &, const kiln_result_source &source, unsigned row,
                             unsigned column, const kiln_result_inputs &,
                             const kiln_sum (&values)[KILN_PRODUCTS][KILN_RESULT_VECTOR])
{
    KILN_UNROLL
    for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
        source.p2[row * 3u + column + e] = kiln_encode_f16(values[0][e]);
}

#endif
