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
#ifdef KILN_DEFAULT_HAS_WGMMA /* a test of wgmma.h and specialized.h */
#define KILN_WAVES_M                 4
#define KILN_WAVES_N                 1
#else
#define KILN_WAVES_M                 2
#define KILN_WAVES_N                 2
#endif
#define KILN_BLOCK                   (KILN_WAVES_M * KILN_WAVES_N * KILN_WAVE_SIZE)
#define KILN_TILE_M                  64
#define KILN_TILE_N                  64
#if defined(KILN_DEFAULT_HAS_WGMMA) || defined(KILN_DEFAULT_IS_DEEP) /* a test of pingpong.h */
#define KILN_TILE_K                  64
#define KILN_ROW_PACKS               8
#else
#define KILN_TILE_K                  32
#define KILN_ROW_PACKS               4
#endif
#define KILN_BUFFERS                 2
#define KILN_PRODUCTS                1
#define KILN_WAVES_K                 1
#define KILN_ROW_PARTS               1
#define KILN_FINISHED_TOGETHER       1
#define KILN_STATISTICS_PACKS        0
#define KILN_PACK_ELEMENTS           8
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
#define KILN_LEFT_VECTOR             8
#define KILN_RIGHT_VECTOR            8
#ifdef KILN_PHASES /* a test of phases.h */
#define KILN_BATCH_RANK              1
#define KILN_DEFAULT_BATCH_STRIDES   , {{KILN_CONSTANT(1), KILN_CONSTANT(1)}}, {KILN_CONSTANT(1)}
#elif defined(KILN_DEFAULT_HAS_GROUPS) /* contraction_groups.hip */
#define KILN_BATCH_RANK              1
#define KILN_DEFAULT_BATCH_STRIDES   , {{KILN_CONSTANT(1), KILN_CONSTANT(1)}}
#else
#define KILN_BATCH_RANK              0
#define KILN_DEFAULT_BATCH_STRIDES
#endif
#define KILN_HAS_SEGMENTS            1 /* a batch has a member for them */
#define KILN_K_END                   KILN_K_END_FIRST

#include "device/device.h"

#include "device/arithmetic.h"
#include "device/convert/f16.h"
#include "device/memory.h"

typedef kiln_storage_f16 kiln_element;
typedef float kiln_sum;

#include "device/mma/pack.h"

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define KILN_MMA_SIDE             32
#if defined(__gfx950__)
#define KILN_MMA_CALL(a, b, sums) __builtin_amdgcn_mfma_f32_32x32x16_f16(a, b, sums, 0, 0, 0)
typedef _Float16 kiln_mma_operand __attribute__((ext_vector_type(8)));
#else
#define KILN_MMA_CALL(a, b, sums) __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sums, 0, 0, 0)
typedef _Float16 kiln_mma_operand __attribute__((ext_vector_type(4)));
#endif
typedef float kiln_mma_sums __attribute__((ext_vector_type(16)));
#include "device/mma/mfma.h"
#elif defined(__GFX11__) || defined(__GFX12__)
typedef float kiln_mma_sums __attribute__((ext_vector_type(8)));
#if defined(__GFX11__)
#define KILN_MMA_IS_REPLICATED    1
#define KILN_MMA_CALL(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sums)
typedef _Float16 kiln_mma_operand __attribute__((ext_vector_type(16)));
#elif defined(__gfx1250__) || defined(__gfx1251__)
#define KILN_MMA_IS_REPLICATED    0
#define KILN_MMA_CALL(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x32_f16(false, a, false, b, (short)0, sums, false, false)
typedef _Float16 kiln_mma_operand __attribute__((ext_vector_type(16)));
#else
#define KILN_MMA_IS_REPLICATED    0
#define KILN_MMA_CALL(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, sums)
typedef _Float16 kiln_mma_operand __attribute__((ext_vector_type(8)));
#endif
#include "device/mma/wmma.h"
#elif defined(KILN_DEFAULT_HAS_WGMMA)
#define KILN_HAS_TURNS            0
#define KILN_LDS_IS_DYNAMIC
#define KILN_CONSUMERS            128
#define KILN_PRODUCERS            128
#define KILN_STAGE_GROUPS         1
#define KILN_LEFT_IS_COPIED       1
#define KILN_LEFT_IS_TRANSPOSED   0
#define KILN_RIGHT_IS_COPIED      0
#define KILN_RIGHT_IS_TRANSPOSED  0
KILN_DEVICE void kiln_wgmma(float (&)[KILN_TILE_N / 2], unsigned long long, unsigned long long, bool)
{
}
#include "device/mma/wgmma.h"
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

#include "device/contraction/divide.h"
#include "device/contraction/find_phase.h"
#include "device/contraction/map.h"

struct kiln_arguments {
    const kiln_storage_f16 *a0;
    const kiln_storage_f16 *a1;
    kiln_storage_f16 *a2;
    long long m, n, k;
    long long s0_0;
    long long s1_0;
    long long s2_0;
    long long segments; /* of k; 1 here */
    long long tiles;    /* that are multiplied: work-groups after them add up an operand */
    long long n_divisor; /* for kiln_divide */
    long long k_run;
#ifdef KILN_DEFAULT_HAS_GROUPS
    const int *a3, *a4, *a5;
    long long batch0; /* experts */
    long long groups, row_tiles, group_tiles, tokens, top_k;
#endif
};
#ifdef KILN_DEFAULT_HAS_GROUPS
KILN_FACT kiln_number kiln_batch_sizes[] = {KILN_ARGUMENT(batch0)};
KILN_DEVICE int kiln_group_offset(const kiln_arguments &arguments, unsigned index)
{
    return arguments.a3[index];
}
[[maybe_unused]] KILN_DEVICE int kiln_row_index(const kiln_arguments &arguments, unsigned index)
{
    return arguments.a4[index];
}
[[maybe_unused]] KILN_DEVICE int kiln_row_ks(const kiln_arguments &arguments, unsigned index)
{
    return arguments.a5[index];
}
#endif

typedef unsigned kiln_offset;

KILN_FACT kiln_map kiln_map_0 = {KILN_ARGUMENT(s0_0), KILN_CONSTANT(1), true KILN_DEFAULT_BATCH_STRIDES};
#ifndef KILN_LEFT_ACCESSES /* a test of a form of accesses has its own */
#define KILN_LEFT_ACCESSES(use) use(left, 0, f16, PLAIN)
#endif
#define KILN_LEFT_PACKING(use)  use(left, LEFT, 0, COPIED, 0, f16)

KILN_FACT kiln_map kiln_map_1 = {KILN_ARGUMENT(s1_0), KILN_CONSTANT(1), true KILN_DEFAULT_BATCH_STRIDES};
#define KILN_RIGHT_ACCESSES(use) use(right, 1, f16, PLAIN)
#define KILN_RIGHT_PACKING(use)  use(right, RIGHT, 0, COPIED, 1, f16)

KILN_FACT kiln_result_access kiln_result_2 = {{KILN_ARGUMENT(s2_0), KILN_CONSTANT(1), true KILN_DEFAULT_BATCH_STRIDES}};
#define KILN_RESULT_LOADS(use)
#define KILN_RESULT_STORES(use) use(2, f16, PLAIN)

KILN_DEVICE void kiln_result_element(const kiln_arguments &, const kiln_batch &, unsigned, unsigned,
                                     kiln_sum value0, kiln_storage_f16 &y2)
{
    y2 = kiln_encode_f16(value0);
}

/* The plain choices. tests/kernels_templates/alone_check.sh makes others. */
#ifndef KILN_HAS_OWN_CHOICES
#include "device/turns_none.h"
#include "device/contraction/finish.h"
#include "device/contraction/k_whole.h"
#include "device/contraction/phases_none.h"
#include "device/contraction/padding_none.h"
#include "device/contraction/operand_sums_none.h"
#include "device/contraction/operands.h"
#include "device/contraction/make_after.h"
#ifdef KILN_MMA_OVERLAPS
#include "device/contraction/core_ahead.h"
#else
#include "device/contraction/core_in_steps.h"
#endif
#include "device/contraction/staged.h"
#include "device/contraction/store.h"
#endif

#endif
