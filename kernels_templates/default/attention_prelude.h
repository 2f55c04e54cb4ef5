/*
 * What lets attention.hip compile by itself: o = softmax(scale q k^T, causal) v for halves, heads collapsed into one batch
 * axis, keys and values shared by groups of heads, in the shape that the emitter generates. Each target gets the core that it
 * would get: MFMA, WMMA, mma.sync or scalar.
 */
#ifndef KILN_DEFAULT_ATTENTION_PRELUDE_H
#define KILN_DEFAULT_ATTENTION_PRELUDE_H

#define KILN_SYMBOL kiln_attention_default
#ifndef KILN_WAVE_SIZE
#if defined(__AMDGCN__)
#define KILN_WAVE_SIZE 64
#elif defined(__CUDACC__)
#define KILN_WAVE_SIZE 32
#else
#define KILN_WAVE_SIZE 1
#endif
#endif

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define KILN_DEFAULT_ROWS 32
#else
#define KILN_DEFAULT_ROWS 16
#endif
#if KILN_DEFAULT_ROWS == 32 || defined(__GFX11__) || defined(__GFX12__) || defined(__CUDACC__)
#define KILN_DEFAULT_IS_MATRIX 1
#else
#define KILN_DEFAULT_IS_MATRIX 0
#endif

/* ---- sizes and layout classes ---- */
#ifndef KILN_WAVES_M
#define KILN_WAVES_M 4 /* all waves: each has KILN_TILE_M / KILN_WAVES_M rows and all columns */
#endif
#define KILN_BLOCK (KILN_WAVES_M * KILN_WAVE_SIZE)
#ifndef KILN_TILE_M
#define KILN_TILE_M (KILN_WAVES_M * KILN_DEFAULT_ROWS)
#endif
#ifndef KILN_TILE_N
#define KILN_TILE_N (2 * KILN_DEFAULT_ROWS) /* columns of scores, elements of k of the second products */
#endif
#ifndef KILN_TILE_C
#define KILN_TILE_C 64 /* k of the first products, all of it */
#endif
#ifndef KILN_TILE_D
#define KILN_TILE_D 64 /* columns of the result, all of them */
#endif
#define KILN_SCORES    1
#define KILN_VALUES    1
#define KILN_RESULTS   1 /* of each row and column: KILN_VALUES, or 1 where that is 0 */
#define KILN_FIRST_PRODUCTS(use)  use(0, left, LEFT, right, RIGHT, c)
#define KILN_SECOND_PRODUCTS(use) use(0, value, VALUE, d)
#define KILN_WAVES_D              1
#define KILN_TILES_ARE_LATE       0
#define KILN_SCORES_AHEAD         1
#define KILN_SCORE_LOADS_ARE_LATE 0 /* or 1: after the first products */
#define KILN_MAXIMUM_KEEPS_NAN    0
#define KILN_HAS_SEGMENTS 0 /* whether work-groups do segments of n, and another kernel merges what they store */
#define KILN_HAS_OUTER 0 /* whether n is walked more than once, for batch.outer = 0, 1, ... */
#ifndef KILN_BUFFERS
#define KILN_BUFFERS 1
#endif
#define KILN_PACK_ELEMENTS 8
#define KILN_RESULT_VECTOR 8
#ifndef KILN_ROW_PARTS
#define KILN_ROW_PARTS 1
#endif
#define KILN_FINISHED_TOGETHER 1
#define KILN_CHIPLETS          8
#define KILN_ARE_LAST_ROWS_LONGEST 1 /* those tiles are done first */
#define KILN_LEFT_RUN          1
#define KILN_LEFT_IS_ALONG_K   1
#define KILN_RIGHT_RUN         1
#define KILN_RIGHT_IS_ALONG_K  1
#ifndef KILN_VALUE_RUN
#define KILN_VALUE_RUN 4
#endif
#define KILN_VALUE_IS_ALONG_K 0
#define KILN_LEFT_PIECES      1
#define KILN_RIGHT_PIECES     1
#define KILN_VALUE_PIECES     1
#define KILN_LEFT_VECTOR      8
#define KILN_RIGHT_VECTOR     8
#define KILN_VALUE_VECTOR     1
#define KILN_BATCH_RANK       1
/* Only on CUDA: from memory to LDS as it lies, by kiln_<side>_copy. A value that runs along its rows is transposed then. */
#ifdef __CUDACC__
#define KILN_RIGHT_IS_COPIED     1
#define KILN_VALUE_IS_COPIED     1
#define KILN_VALUE_IS_TRANSPOSED 1
#else
#define KILN_RIGHT_IS_COPIED     0
#define KILN_VALUE_IS_COPIED     0
#define KILN_VALUE_IS_TRANSPOSED 0
#endif
#ifndef KILN_C_END
#define KILN_C_END 1 /* whether c may be less than KILN_TILE_C */
#endif
#define KILN_HAS_SCORE_LOADS 0 /* whether kiln_score_load does something */

#include "device/device.h"

#include "device/arithmetic.h"
#ifdef KILN_DEFAULT_BF16
#include "device/convert/bf16.h"
typedef kiln_storage_bf16 kiln_default_storage;
#define kiln_default_encode(x) kiln_encode_bf16(x)
#define kiln_default_decode(x) kiln_decode_bf16(x)
#else
#include "device/convert/f16.h"
typedef kiln_storage_f16 kiln_default_storage;
#define kiln_default_encode(x) kiln_encode_f16(x)
#define kiln_default_decode(x) kiln_decode_f16(x)
#endif
#include "device/math/log_f32.h"
#include "device/memory.h"

typedef kiln_default_storage kiln_storage_default;
typedef kiln_default_storage kiln_element; /* as staged, and what weights are rounded to */
typedef float kiln_sum;
#define KILN_SUM_SCALAR f32
/* Two weights as the two elements of a word, the first one low. For elements of another size than 16 bits KILN_ENCODE_WEIGHT alone. */
#ifdef KILN_DEFAULT_BF16
#define KILN_ENCODE_WEIGHTS(first, second) kiln_encode_pair_bf16(first, second)
#else
#define KILN_ENCODE_WEIGHTS(first, second) kiln_encode_pair_f16(first, second)
#endif
#define KILN_ENCODE_WEIGHT(weight) kiln_default_encode(weight)
/* What exponentials are made of, and the natural logarithm of its base. */
#ifdef KILN_HAS_SEED_EXP2
#define KILN_TO_EXPONENT(x)  (x)
#define KILN_EXPONENTIAL(x)  kiln_seed_exp2_f32(KILN_TO_EXPONENT(x))
#define KILN_EXPONENTIAL_LOG 0x1.62e43p-1f
#else
#include "device/math/exp_f32.h"
#define KILN_EXPONENTIAL(x)  kiln_exp_f32(x)
#define KILN_EXPONENTIAL_LOG 1.0f
#endif

/* ---- the core, as for contraction.hip ---- */
#include "device/mma/pack.h"
#include "device/mma/transpose.h"

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define KILN_MMA_SIDE 32
#if defined(__gfx950__)
#ifdef KILN_DEFAULT_BF16
#define KILN_MMA_CALL(a, b, sums) __builtin_amdgcn_mfma_f32_32x32x16_bf16(a, b, sums, 0, 0, 0)
typedef __bf16 kiln_mma_operand __attribute__((ext_vector_type(8)));
#else
#define KILN_MMA_CALL(a, b, sums) __builtin_amdgcn_mfma_f32_32x32x16_f16(a, b, sums, 0, 0, 0)
typedef _Float16 kiln_mma_operand __attribute__((ext_vector_type(8)));
#endif
#elif defined(KILN_DEFAULT_BF16)
#define KILN_MMA_CALL(a, b, sums) __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, sums, 0, 0, 0)
typedef short kiln_mma_operand __attribute__((ext_vector_type(4)));
#else
#define KILN_MMA_CALL(a, b, sums) __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sums, 0, 0, 0)
typedef _Float16 kiln_mma_operand __attribute__((ext_vector_type(4)));
#endif
typedef float kiln_mma_sums __attribute__((ext_vector_type(16)));
#include "device/mma/mfma.h"
#elif defined(__GFX11__) || defined(__GFX12__)
typedef float kiln_mma_sums __attribute__((ext_vector_type(8)));
#if defined(__gfx1250__) || defined(__gfx1251__)
#ifdef KILN_DEFAULT_BF16
typedef __bf16 kiln_default_lane;
#define KILN_DEFAULT_WMMA __builtin_amdgcn_wmma_f32_16x16x32_bf16
#else
typedef _Float16 kiln_default_lane;
#define KILN_DEFAULT_WMMA __builtin_amdgcn_wmma_f32_16x16x32_f16
#endif
#elif defined(KILN_DEFAULT_BF16)
typedef short kiln_default_lane;
#define KILN_DEFAULT_WMMA(suffix) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32##suffix
#else
typedef _Float16 kiln_default_lane;
#define KILN_DEFAULT_WMMA(suffix) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32##suffix
#endif
#if defined(__GFX11__)
#define KILN_MMA_IS_REPLICATED    1
#define KILN_MMA_CALL(a, b, sums) KILN_DEFAULT_WMMA()(a, b, sums)
typedef kiln_default_lane kiln_mma_operand __attribute__((ext_vector_type(16)));
#elif defined(__gfx1250__) || defined(__gfx1251__)
#define KILN_MMA_IS_REPLICATED    0
#define KILN_MMA_CALL(a, b, sums) KILN_DEFAULT_WMMA(false, a, false, b, (short)0, sums, false, false)
typedef kiln_default_lane kiln_mma_operand __attribute__((ext_vector_type(16)));
#else
#define KILN_MMA_IS_REPLICATED    0
#define KILN_MMA_CALL(a, b, sums) KILN_DEFAULT_WMMA(_gfx12)(a, b, sums)
typedef kiln_default_lane kiln_mma_operand __attribute__((ext_vector_type(8)));
#endif
#include "device/mma/wmma.h"
#elif defined(__CUDACC__)
#ifdef KILN_DEFAULT_BF16
#define KILN_MMA_TYPE "bf16"
#else
#define KILN_MMA_TYPE "f16"
#endif
#include "device/mma/mma_sync.h"
#else
#define KILN_MMA_LANES_N         (KILN_WAVE_SIZE < 8 ? KILN_WAVE_SIZE : 8)
#define KILN_MMA_LANES_M         (KILN_WAVE_SIZE / KILN_MMA_LANES_N)
#define KILN_MMA_BLOCK           4
#define KILN_MMA_DECODE(element) kiln_default_decode(element)
#define KILN_MMA_ADD(a, b, sum)  kiln_fma_f32(a, b, sum)
#include "device/mma/scalar.h"
#endif

/* ---- arguments and batch ---- */
#include "device/attention/facts.h"

struct kiln_arguments {
    const kiln_default_storage *a0; /* q */
    const kiln_default_storage *a1; /* k */
    const kiln_default_storage *a2; /* v */
    kiln_default_storage *a3;       /* o */
    float *a4;                      /* max + log(sum) of each row, or null */
    long long batches, m, n, c, d;  /* sizes; with two scores or values c_1, d_1 too */
    long long b0_0, s0_0;           /* strides of q: head, row */
    long long b1_0, s1_0;
    long long b2_0, s2_0;
    long long b3_0, s3_0;
    long long group;  /* heads that share keys */
    long long offset; /* row r sees columns up to r + offset */
#ifdef KILN_FOLDED_AXES
    long long outer; /* batches that are summed */
#endif
};

typedef unsigned kiln_offset;

/* Heads. */
KILN_FACT kiln_number kiln_batch_sizes[] = {KILN_ARGUMENT(batches)};

/* KILN_HAS_OUTER: KILN_DEVICE unsigned kiln_outer_count(const kiln_arguments &, const kiln_batch &) */

/* ---- operands: as in contraction.hip ---- */
/*
 * left (left_1):   rows m, k = c.   start(arguments, batch, first row)
 * right (right_1): rows n, k = c.   start(arguments, batch, first row), advance_rows(arguments, rows)
 * value (value_1): rows d, k = n.   start(arguments, batch, 0), advance(arguments, k)
 */
KILN_FACT kiln_map kiln_map_0 = {
    KILN_ARGUMENT(s0_0), KILN_CONSTANT(1), true, {{KILN_ARGUMENT(b0_0), KILN_CONSTANT(1)}}};
#define KILN_LEFT_ACCESSES(use) use(left, 0, default, PLAIN)
#define KILN_LEFT_PACKING(use) use(left, LEFT, 0, COPIED, 0, default)
KILN_FACT kiln_map kiln_map_1 = {
    KILN_ARGUMENT(s1_0), KILN_CONSTANT(1), true, {{KILN_ARGUMENT(b1_0), KILN_ARGUMENT(group)}}};
#define KILN_RIGHT_ACCESSES(use) use(right, 1, default, PLAIN)
#define KILN_RIGHT_PACKING(use) use(right, RIGHT, 0, COPIED, 1, default)
/* Memory runs along the value's rows. */
KILN_FACT kiln_map kiln_map_2 = {
    KILN_CONSTANT(1), KILN_ARGUMENT(s2_0), true, {{KILN_ARGUMENT(b2_0), KILN_ARGUMENT(group)}}};
#define KILN_VALUE_ACCESSES(use) use(value, 2, default, PLAIN)
#define KILN_VALUE_PACKING(use) use(value, VALUE, 0, TAKEN, 2, default)

#ifndef __CUDACC__
#define kiln_copy_pack(to, from, is_row, is_within) ((void)(to), (void)(from), (void)(is_row))
#endif

/* ---- scores ---- */
/* Row r sees columns up to r + offset. */
KILN_FACT kiln_limit kiln_limits[] = {{KILN_LIMIT_LAST, KILN_ARGUMENT(offset)}};
#define KILN_LIMITS(use)        use(0)
#define KILN_ARE_ROWS_HEADS     0
#define KILN_HIDES_SCORES_LAST  1
#define KILN_ARE_RUNS_WHOLE     0
#define KILN_SCORE_LOADS(use)
#define KILN_WEIGHT_LOADS(use)

KILN_DEVICE long long kiln_limit_value(const kiln_arguments &, unsigned)
{
    return 0;
}

/* What the graph exponentiates, of x: that times a number greater than 0, plus another. */
KILN_FACT kiln_sum kiln_score_scale = 0x1p-3f, kiln_score_offset = 0;

/* Element e of a run. `row` and `column` count from the scores' first ones. */
KILN_DEVICE void kiln_score_element(const kiln_arguments &, const kiln_batch &, unsigned, unsigned,
                                    bool, const kiln_sum (&sums)[KILN_SCORES][KILN_CHAIN_RUN],
                                    unsigned e, kiln_sum &x)
{
    x = sums[0][e];
}

/* An element of the weights. Without a softmax they are computed of the sums, masks included: 0 where not visible. */
KILN_DEVICE void kiln_weight_element(const kiln_arguments &, const kiln_batch &, unsigned, unsigned,
                                     bool, const kiln_sum (&)[KILN_SCORES][KILN_CHAIN_RUN],
                                     const kiln_sum (&exponentials)[KILN_CHAIN_RUN], unsigned e,
                                     kiln_sum (&weights)[KILN_RESULTS][KILN_CHAIN_RUN])
{
    weights[0][e] = exponentials[e];
}

/* ---- result ---- */
struct kiln_result_source {
    kiln_default_storage *p3;
    float *p4;
};

KILN_DEVICE void kiln_result_start(const kiln_arguments &arguments, const kiln_batch &batch,
                                   unsigned row, unsigned column, kiln_result_source &source)
{
    source.p3 = arguments.a3 + (long long)batch.c[0] * arguments.b3_0 +
                (long long)row * arguments.s3_0 + (long long)column;
    source.p4 = arguments.a4 + ((long long)batch.c[0] * arguments.m + row);
}

struct kiln_result_inputs {
};

KILN_DEVICE void kiln_result_load(const kiln_arguments &, const kiln_result_source &, unsigned,
                                  unsigned, kiln_result_inputs &)
{
}

/* `column` is below the larger of d and d_1. What belongs to the row is stored where it is 0. */
KILN_DEVICE void kiln_finish(const kiln_arguments &arguments, const kiln_result_source &source,
                             unsigned row, unsigned column, const kiln_result_inputs &,
                             const kiln_row &totals,
                             const kiln_sum (&values)[KILN_VALUES][KILN_RESULT_VECTOR])
{
    kiln_default_storage y[KILN_RESULT_VECTOR];
    KILN_UNROLL
    for (int e = 0; e < KILN_RESULT_VECTOR; e++)
        y[e] = kiln_default_encode(totals.sum == 0 ? 0.0f
                                                   : kiln_div_shared_f32(values[0][e], totals.sum));
    KILN_STORE_VECTOR(16, source.p3 + (row * (unsigned)arguments.s3_0 + column), y)
    if (column == 0 && arguments.a4 != 0)
        source.p4[row] = (totals.sum > 0 ? totals.max : 0.0f) + kiln_log_f32(totals.sum);
}

#include "device/turns_none.h"
#ifndef KILN_HAS_OWN_CHOICES
#include "device/attention/visible_columns.h"
#if KILN_DEFAULT_IS_MATRIX
#include "device/attention/left_kept.h"
#else
#include "device/attention/left_in_tile.h"
#endif
#include "device/attention/softmax.h"
#include "device/attention/walk.h"
#endif

#endif
