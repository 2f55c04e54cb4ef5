/*
 * What lets contraction.hip compile by itself: c = a b for halves, with b transposed in memory and
 * sizes as arguments, in the shape that the emitter generates. Each target gets the core that it
 * would get: MFMA, WMMA, mma.sync or scalar.
 */
#ifndef KILN_DEFAULT_CONTRACTION_PRELUDE_H
#define KILN_DEFAULT_CONTRACTION_PRELUDE_H

#define KILN_SYMBOL kiln_contraction_default
#ifndef KILN_WAVE_SIZE
#if defined(__AMDGCN__)
#define KILN_WAVE_SIZE 64
#elif defined(__CUDACC__)
#define KILN_WAVE_SIZE 32
#else
#define KILN_WAVE_SIZE 1
#endif
#endif
#define KILN_WAVES_M                 2
#define KILN_WAVES_N                 2
#define KILN_BLOCK                   (KILN_WAVES_M * KILN_WAVES_N * KILN_WAVE_SIZE)
#define KILN_TILE_M                  64
#define KILN_TILE_N                  64
#define KILN_TILE_K                  32
#define KILN_BUFFERS                 2
#define KILN_IS_PINGPONG             0
#define KILN_PRODUCTS                1
#define KILN_IS_STREAMED             0
#define KILN_WAVES_K                 1
#define KILN_GROUPS_K                1
#define KILN_ROW_PARTS               1
#define KILN_ROW_LANES               0
#define KILN_FINISHED_TOGETHER       1
#define KILN_STATISTICS              0
#define KILN_STATISTICS_PACKS        0
#define KILN_PACK_ELEMENTS           8
#define KILN_ROW_PACKS               4
#define KILN_RESULT_VECTOR           8
#define KILN_CHIPLETS                8
#define KILN_CHIPLET_RUN             16
#define KILN_SUPER_ROWS              8
#define KILN_LEFT_RUN                1
#define KILN_LEFT_IS_ALONG_K         1
#define KILN_RIGHT_RUN               1
#define KILN_RIGHT_IS_ALONG_K        1
#define KILN_LEFT_PIECES             1
#define KILN_RIGHT_PIECES            1
#define KILN_LEFT_WORK               0
#define KILN_RIGHT_WORK              0
#define KILN_K_END                   1
#define KILN_HAS_SEGMENTS            0

#include "device/device.h"

#include "device/arithmetic.h"
#include "device/convert/f16.h"
#include "device/memory.h"

typedef kiln_storage_f16 kiln_element;
typedef float kiln_sum;

#include "device/mma/pack.h"

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define KILN_MMA_SIDE             32
#define KILN_MMA_CALL(a, b, sums) __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sums, 0, 0, 0)
typedef _Float16 kiln_mma_operand __attribute__((ext_vector_type(4)));
typedef float kiln_mma_sums __attribute__((ext_vector_type(16)));
#include "device/mma/mfma.h"
#elif defined(__GFX11__) || defined(__GFX12__)
typedef float kiln_mma_sums __attribute__((ext_vector_type(8)));
#if defined(__GFX11__)
#define KILN_MMA_IS_REPLICATED    1
#define KILN_MMA_CALL(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sums)
typedef _Float16 kiln_mma_operand __attribute__((ext_vector_type(16)));
#else
#define KILN_MMA_IS_REPLICATED    0
#define KILN_MMA_CALL(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, sums)
typedef _Float16 kiln_mma_operand __attribute__((ext_vector_type(8)));
#endif
#include "device/mma/wmma.h"
#elif defined(__CUDACC__)
#define KILN_MMA_TYPE "f16"
#include "device/mma/mma_sync.h"
#else
#define KILN_MMA_LANES_N         (KILN_WAVE_SIZE < 8 ? KILN_WAVE_SIZE : 8)
#define KILN_MMA_LANES_M         (KILN_WAVE_SIZE / KILN_MMA_LANES_N)
#define KILN_MMA_BLOCK           4
#define KILN_MMA_DECODE(element) kiln_decode_f16(element)
#define KILN_MMA_ADD(a, b, sum)  kiln_fma_f32(a, b, sum)
#include "device/mma/scalar.h"
#endif

struct kiln_arguments {
    const kiln_storage_f16 *a0;
    const kiln_storage_f16 *a1;
    kiln_storage_f16 *a2;
    long long m, n, k;
    long long s0_0;
    long long s1_0;
    long long s2_0;
};

struct kiln_batch {};

KILN_DEVICE void kiln_locate_batch(const kiln_arguments &, unsigned, kiln_batch &)
{
}

#define KILN_DEFAULT_OPERAND(side, pointer, stride)                                                \
    struct kiln_##side##_source {                                                                  \
        const kiln_storage_f16 *p;                                                                 \
    };                                                                                             \
    struct kiln_##side##_inputs {                                                                  \
        kiln_storage_f16 x[8];                                                                     \
    };                                                                                             \
    KILN_DEVICE void kiln_##side##_start(const kiln_arguments &arguments, const kiln_batch &,      \
                                         unsigned row, kiln_##side##_source &source)               \
    {                                                                                              \
        source.p = arguments.pointer + (long long)row * arguments.stride;                          \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_advance(const kiln_arguments &, unsigned k,                     \
                                           kiln_##side##_source &source)                           \
    {                                                                                              \
        source.p += (long long)k;                                                                  \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_load(const kiln_arguments &arguments,                           \
                                        const kiln_##side##_source &source, unsigned row,          \
                                        unsigned k, unsigned rest, kiln_##side##_inputs &inputs)   \
    {                                                                                              \
        const unsigned at = KILN_K_WITHIN(k, rest);                                                \
        KILN_LOAD_VECTOR(16, inputs.x,                                                             \
                         (const kiln_storage_f16 *)((const char *)source.p +                       \
                                                    2 * (row * (unsigned)arguments.stride + at)))  \
    }                                                                                              \
    struct kiln_##side##_lane {};                                                                  \
    KILN_DEVICE void kiln_##side##_locate(const kiln_arguments &, unsigned, unsigned,              \
                                          kiln_##side##_lane &)                                    \
    {                                                                                              \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_keep(kiln_##side##_lane &)                                      \
    {                                                                                              \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_load_at(const kiln_arguments &arguments,                        \
                                           const kiln_##side##_source &source,                     \
                                           const kiln_##side##_lane &, unsigned row, unsigned k,   \
                                           unsigned rest, kiln_##side##_inputs &inputs)            \
    {                                                                                              \
        kiln_##side##_load(arguments, source, row, k, rest, inputs);                               \
    }                                                                                              \
    KILN_DEVICE kiln_pack kiln_##side##_pack(const kiln_arguments &,                               \
                                             const kiln_##side##_inputs &inputs, unsigned,         \
                                             unsigned, unsigned k, unsigned rest)                  \
    {                                                                                              \
        kiln_element out[KILN_PACK_ELEMENTS];                                                      \
        KILN_UNROLL                                                                                \
        for (int e = 0; e < KILN_PACK_ELEMENTS; e++)                                               \
            out[e] = KILN_OR_ZERO(k + (unsigned)e, rest, inputs.x[e]);                             \
        kiln_pack pack;                                                                            \
        __builtin_memcpy(&pack, out, sizeof pack);                                                 \
        return pack;                                                                               \
    }

KILN_DEFAULT_OPERAND(left, a0, s0_0)
KILN_DEFAULT_OPERAND(right, a1, s1_0)

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
