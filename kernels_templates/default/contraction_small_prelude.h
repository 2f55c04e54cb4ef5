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
#define KILN_BATCH_RANK 1
#define KILN_HAS_LANE_BATCHES 1
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

#include "device/contraction/map.h"

struct kiln_arguments {
    const kiln_storage_f16 *a0;
    const kiln_storage_f16 *a1;
    kiln_storage_f16 *a2;
    long long items;
    long long batch0, left_repeat0, right_repeat0;
    long long s0_2, s1_2, s2_2;
};

typedef unsigned kiln_offset;
KILN_FACT kiln_number kiln_batch_sizes[] = {KILN_ARGUMENT(batch0)};

/* Rows of the right one are columns of the result. */
KILN_FACT kiln_map kiln_map_0 = {
    KILN_CONSTANT(3), KILN_CONSTANT(1), false, {{KILN_ARGUMENT(s0_2), KILN_CONSTANT(1)}}};
#define KILN_LEFT_ACCESSES(use) use(left, 0, f16, PLAIN)
KILN_DEVICE void kiln_left_element(kiln_sum &out, kiln_storage_f16 x0)
{
    out = kiln_decode_f16(x0);
}

KILN_FACT kiln_map kiln_map_1 = {
    KILN_CONSTANT(1), KILN_CONSTANT(3), false, {{KILN_ARGUMENT(s1_2), KILN_CONSTANT(1)}}};
#define KILN_RIGHT_ACCESSES(use) use(right, 1, f16, PLAIN)
KILN_DEVICE void kiln_right_element(kiln_sum &out, kiln_storage_f16 x1)
{
    out = kiln_decode_f16(x1);
}

KILN_FACT kiln_result_access kiln_result_2 = {
    {KILN_CONSTANT(3), KILN_CONSTANT(1), false, {{KILN_ARGUMENT(s2_2), KILN_CONSTANT(1)}}}};
#define KILN_RESULT_LOADS(use)
#define KILN_RESULT_STORES(use) use(2, f16, PLAIN)

KILN_DEVICE void kiln_result_element(const kiln_arguments &, const kiln_batch &, unsigned, unsigned,
                                     kiln_sum value0, kiln_storage_f16 &y2)
{
    y2 = kiln_encode_f16(value0);
}

#include "device/turns_none.h"
#include "device/contraction/finish.h"

#endif
