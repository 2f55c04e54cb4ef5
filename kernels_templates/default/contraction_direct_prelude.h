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
#define KILN_BATCH_RANK          0
#define KILN_INDEX_RANK          1
#define KILN_WINDOWS             0
#define KILN_K_GRANULE           1
#define KILN_RESULT_VECTOR       8
#define KILN_ITEM_ROWS           4
#define KILN_ARE_ROWS_FAST       0
#define KILN_ARE_WEIGHTS_LEFT    0
#define KILN_ARE_WEIGHTS_ALONG_K 1
#define KILN_WEIGHTS             128
#define KILN_TAPS                16
#define KILN_TILE_K          KILN_TAPS
#define KILN_CHIPLETS            8
#define KILN_CHIPLET_RUN         16
#define KILN_SUPER_ROWS          8

#include "device/device.h"

#include "device/arithmetic.h"
#include "device/convert/f16.h"
#include "device/memory.h"

typedef float kiln_sum;
#define KILN_MMA_ADD(a, b, sum) kiln_fma_f32(a, b, sum)

#include "device/contraction/axes.h"
#include "device/contraction/divide.h"

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

typedef unsigned kiln_offset;

KILN_FACT kiln_map kiln_map_0 = {KILN_ARGUMENT(s0_0), KILN_ARGUMENT(s0_0), true};
KILN_FACT kiln_split kiln_split_0 = {false, false, false, 0u, {}, {}, {}, {}};
KILN_FACT kiln_number kiln_across_0[KILN_INDEX_RANK] = {KILN_CONSTANT(1)};
KILN_FACT kiln_map kiln_map_1 = {KILN_ARGUMENT(s1_0), KILN_CONSTANT(1), false};
KILN_FACT kiln_split kiln_split_1 = {false, false, false, 0u, {}, {}, {}, {}};
KILN_FACT kiln_number kiln_across_1[KILN_INDEX_RANK] = {KILN_CONSTANT(0)};
KILN_FACT kiln_axes kiln_m_axes = {1, {{}}};
KILN_FACT kiln_axes kiln_n_axes = {1, {{}}};
KILN_FACT kiln_axes kiln_k_axes = {1, {{}}};
#include "device/contraction/index.h"

#define KILN_IMAGE_HAS_WINDOWS   0
#define KILN_IMAGE_IS_MOVED      1
#define KILN_IMAGE_ACCESSES(use) use(image, 0, f16, PLAIN)
KILN_DEVICE void kiln_image_element(kiln_sum &out, kiln_storage_f16 x0)
{
    out = kiln_decode_f16(x0);
}

#define KILN_WEIGHTS_HAS_WINDOWS   0
#define KILN_WEIGHTS_IS_MOVED      1
#define KILN_WEIGHTS_ACCESSES(use) use(weights, 1, f16, PLAIN)
KILN_DEVICE void kiln_weights_element(kiln_sum &out, kiln_storage_f16 x1)
{
    out = kiln_decode_f16(x1);
}

KILN_FACT kiln_result_access kiln_result_2 = {{KILN_ARGUMENT(s2_0), KILN_CONSTANT(1), true}};
#define KILN_RESULT_LOADS(use)
#define KILN_RESULT_STORES(use) use(2, f16, PLAIN)

KILN_DEVICE void kiln_result_element(const kiln_arguments &, const kiln_batch &, unsigned, unsigned,
                                     kiln_sum value0, kiln_storage_f16 &y2)
{
    y2 = kiln_encode_f16(value0);
}

/* The plain choices. */
#include "device/turns_none.h"
#include "device/contraction/finish.h"
#include "device/contraction/k_whole.h"
#include "device/contraction/phases_none.h"
#include "device/contraction/padding_of_items_none.h"

#endif
