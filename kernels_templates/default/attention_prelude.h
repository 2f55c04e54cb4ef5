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
#define KILN_TILE_N 64 /* columns of scores, elements of k of the second products */
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
#define KILN_IS_ONLINE 1
#ifndef KILN_HAS_SEGMENTS
#define KILN_HAS_SEGMENTS 0 /* whether work-groups do segments of n, and another kernel merges what they store */
#endif
#define KILN_HAS_OUTER 0 /* whether n is walked more than once, for batch.outer = 0, 1, ... */
#ifndef KILN_BUFFERS
#define KILN_BUFFERS 1
#endif
/* Fragments of the left operands stay in registers, or are read from LDS for each tile. */
#ifndef KILN_IS_LEFT_KEPT
#if KILN_DEFAULT_IS_MATRIX
#define KILN_IS_LEFT_KEPT 1
#else
#define KILN_IS_LEFT_KEPT 0
#endif
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
/* Only on CUDA: from memory to LDS as it lies, by kiln_<side>_copy. A value that runs along its rows is transposed then. */
#ifdef __CUDACC__
#define KILN_LEFT_IS_COPIED      1
#define KILN_RIGHT_IS_COPIED     1
#define KILN_VALUE_IS_COPIED     1
#define KILN_VALUE_IS_TRANSPOSED 1
#else
#define KILN_LEFT_IS_COPIED      0
#define KILN_RIGHT_IS_COPIED     0
#define KILN_VALUE_IS_COPIED     0
#define KILN_VALUE_IS_TRANSPOSED 0
#endif
#ifndef KILN_C_END
#define KILN_C_END 1 /* whether c may be less than KILN_TILE_C */
#endif
#ifndef KILN_N_END
#define KILN_N_END 1 /* whether n may be no multiple of KILN_TILE_N */
#endif
#define KILN_HAS_MASK        1 /* whether kiln_score tests is_masked; then tiles within the whole columns skip that */
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

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define KILN_MMA_SIDE 32
#ifdef KILN_DEFAULT_BF16
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
#ifdef KILN_DEFAULT_BF16
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
struct kiln_arguments {
    const kiln_default_storage *a0; /* q */
    const kiln_default_storage *a1; /* k */
    const kiln_default_storage *a2; /* v */
    kiln_default_storage *a3;       /* o */
    float *a4;                      /* max + log(sum) of each row, or null */
    long long batches, m, n, c, d;  /* sizes, batches with their segments; with two scores or values c_1, d_1 too */
    long long b0_0, s0_0;           /* strides of q: head, row */
    long long b1_0, s1_0;
    long long b2_0, s2_0;
    long long b3_0, s3_0;
    long long group;  /* heads that share keys */
    long long offset; /* row r sees columns up to r + offset */
    float scale;
#if KILN_HAS_SEGMENTS
    long long segments;
    float *a5; /* of each segment: results, then max and sum of each row */
#endif
};

struct kiln_batch {
    unsigned b0; /* head */
    unsigned b1; /* of keys and values */
    unsigned outer;
#if KILN_HAS_SEGMENTS
    unsigned segment;
#endif
};

/* batch.outer is the template's: it is set before the starts of right, value and score. */
KILN_DEVICE void kiln_locate_batch(const kiln_arguments &arguments, unsigned index, kiln_batch &batch)
{
#if KILN_HAS_SEGMENTS
    batch.segment = index % (unsigned)arguments.segments;
    index /= (unsigned)arguments.segments;
#endif
    batch.b0 = index;
    batch.b1 = index / (unsigned)arguments.group;
    batch.outer = 0;
}

/* KILN_HAS_OUTER: KILN_DEVICE unsigned kiln_outer_count(const kiln_arguments &) */

/* ---- operands: as in contraction.hip ---- */
/*
 * left (left_1):   rows m, k = c.   start(arguments, batch, first row)
 * right (right_1): rows n, k = c.   start(arguments, batch, first row), advance_rows(arguments, rows)
 * value (value_1): rows d, k = n.   start(arguments, batch, 0), advance(arguments, k)
 */
#define KILN_DEFAULT_ROWS_ADVANCE(side, stride)                                                    \
    KILN_DEVICE void kiln_##side##_advance_rows(const kiln_arguments &arguments, unsigned rows,    \
                                                kiln_##side##_source &source)                      \
    {                                                                                              \
        source.p += (long long)rows * arguments.stride;                                            \
    }
#define KILN_DEFAULT_OPERAND(side, pointer, batch_stride, stride, index)                           \
    struct kiln_##side##_source {                                                                  \
        const kiln_default_storage *p;                                                             \
    };                                                                                             \
    struct kiln_##side##_inputs {                                                                  \
        kiln_default_storage x[8];                                                                 \
    };                                                                                             \
    KILN_DEVICE void kiln_##side##_start(const kiln_arguments &arguments, const kiln_batch &batch, \
                                         unsigned row, kiln_##side##_source &source)               \
    {                                                                                              \
        source.p = arguments.pointer + (long long)batch.index * arguments.batch_stride +           \
                   (long long)row * arguments.stride;                                              \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_load(const kiln_arguments &arguments,                           \
                                        const kiln_##side##_source &source, unsigned row,          \
                                        unsigned k, unsigned rest, kiln_##side##_inputs &inputs)   \
    {                                                                                              \
        const unsigned at = KILN_K_WITHIN(k, rest);                                                \
        KILN_LOAD_VECTOR(16, inputs.x,                                                             \
                         (const kiln_default_storage *)((const char *)source.p +                   \
                                                        2 * (row * (unsigned)arguments.stride +    \
                                                             at)))                                 \
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
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_copy(const kiln_arguments &arguments,                           \
                                        const kiln_##side##_source &source, unsigned,              \
                                        unsigned row, unsigned k, unsigned rest, bool is_row,      \
                                        kiln_pack *to)                                             \
    {                                                                                              \
        const unsigned at = KILN_K_WITHIN(k, rest);                                                \
        const unsigned offset = 2 * (row * (unsigned)arguments.stride + at);                       \
        kiln_copy_pack(to, (const char *)source.p + offset, is_row, k < rest);                     \
    }

#ifndef __CUDACC__
#define kiln_copy_pack(to, from, is_row, is_within) ((void)(to), (void)(from), (void)(is_row))
#endif
KILN_DEFAULT_OPERAND(left, a0, b0_0, s0_0, b0)
KILN_DEFAULT_OPERAND(right, a1, b1_0, s1_0, b1)
KILN_DEFAULT_ROWS_ADVANCE(right, s1_0)

/* Memory runs along the value's rows: eight k of KILN_VALUE_RUN rows. */
struct kiln_value_source {
    const kiln_default_storage *p;
};

struct kiln_value_inputs {
    kiln_default_storage x[KILN_PACK_ELEMENTS][KILN_VALUE_RUN];
};

KILN_DEVICE void kiln_value_start(const kiln_arguments &arguments, const kiln_batch &batch,
                                  unsigned row, kiln_value_source &source)
{
    source.p = arguments.a2 + (long long)batch.b1 * arguments.b2_0 + (long long)row;
}

KILN_DEVICE void kiln_value_advance(const kiln_arguments &arguments, unsigned k,
                                    kiln_value_source &source)
{
    source.p += (long long)k * arguments.s2_0;
}

#define KILN_DEFAULT_LOAD(bytes, to, from) KILN_LOAD_VECTOR(bytes, to, from)
#if KILN_VALUE_RUN == 8
#define KILN_DEFAULT_VALUE_BYTES 16
#elif KILN_VALUE_RUN == 4
#define KILN_DEFAULT_VALUE_BYTES 8
#else
#define KILN_DEFAULT_VALUE_BYTES 4
#endif
KILN_DEVICE void kiln_value_load(const kiln_arguments &arguments, const kiln_value_source &source,
                                 unsigned row, unsigned k, unsigned rest, kiln_value_inputs &inputs)
{
    KILN_UNROLL
    for (unsigned e = 0; e < KILN_PACK_ELEMENTS; e++) {
        /* Of a whole tile the addresses differ by what is the same for all lanes: one register of offsets does. */
        const unsigned at = rest == KILN_WHOLE_K ? k : KILN_K_WITHIN(k + e, rest);
        const kiln_default_storage *from =
            source.p + (rest == KILN_WHOLE_K ? (long long)e * arguments.s2_0 : 0);
        KILN_DEFAULT_LOAD(KILN_DEFAULT_VALUE_BYTES, inputs.x[e],
                          (const kiln_default_storage *)((const char *)from +
                                                         2 * (at * (unsigned)arguments.s2_0 + row)))
    }
}

KILN_DEVICE kiln_pack kiln_value_pack(const kiln_arguments &, const kiln_value_inputs &inputs,
                                      unsigned, unsigned r, unsigned k, unsigned rest)
{
    kiln_element out[KILN_PACK_ELEMENTS];
    KILN_UNROLL
    for (unsigned e = 0; e < KILN_PACK_ELEMENTS; e++)
        out[e] = KILN_OR_ZERO(k + e, rest, inputs.x[e][r]);
    kiln_pack pack;
    __builtin_memcpy(&pack, out, sizeof pack);
    return pack;
}

KILN_DEVICE void kiln_value_copy(const kiln_arguments &arguments, const kiln_value_source &source,
                                 unsigned, unsigned row, unsigned k, unsigned rest, bool is_row,
                                 kiln_pack *to)
{
    const unsigned at = KILN_K_WITHIN(k, rest);
    kiln_copy_pack(to, (const char *)source.p + 2 * (at * (unsigned)arguments.s2_0 + row), is_row,
                   k < rest);
}

/* ---- scores ---- */
struct kiln_score_source {
    unsigned first_row;
};

/* What is kept of one row of scores. `row` is counted from the tile's first one, here and below, columns from 0. */
struct kiln_score_row {
    int last; /* column that it sees */
};

/* What is loaded for KILN_CHAIN_RUN neighbouring columns of a row: the core says how many. */
struct kiln_score_inputs {
};

KILN_DEVICE void kiln_score_start(const kiln_arguments &, const kiln_batch &, unsigned first_row,
                                  kiln_score_source &source)
{
    source.first_row = first_row;
}

KILN_DEVICE void kiln_score_row_start(const kiln_arguments &arguments,
                                      const kiln_score_source &source, unsigned row,
                                      kiln_score_row &values)
{
    values.last = (int)(source.first_row + row) + (int)arguments.offset;
}

/* Rows and columns beyond the end are not asked for: those of the last run may be the last ones. */
KILN_DEVICE void kiln_score_load(const kiln_arguments &, const kiln_score_source &, unsigned,
                                 unsigned, kiln_score_inputs &)
{
}

/*
 * x of a run, in units of which kiln_score_factor makes those of the exponent; -infinity where it is not visible. With is_masked = false,
 * a constant, all of the run is visible. Columns beyond n are the template's to hide. Not called where KILN_IS_ONLINE is 0.
 * With KILN_HIDES_SCORES_LAST is_masked is never true: the template asks kiln_score_is_visible(arguments, source, row, at_row, column)
 * for each element of tiles that are not wholly visible.
 */
KILN_DEVICE void kiln_score(const kiln_arguments &, const kiln_score_source &,
                            const kiln_score_row &values, const kiln_score_inputs &, unsigned,
                            unsigned column, bool is_masked,
                            const kiln_sum (&sums)[KILN_SCORES][KILN_CHAIN_RUN],
                            kiln_sum (&x)[KILN_CHAIN_RUN])
{
    KILN_UNROLL
    for (unsigned e = 0; e < KILN_CHAIN_RUN; e++)
        x[e] = !is_masked || (int)(column + e) <= values.last ? sums[0][e] : -__builtin_inff();
}

/* What the graph exponentiates, of x: that times a number greater than 0, plus another. */
KILN_DEVICE kiln_sum kiln_score_value(const kiln_arguments &arguments, const kiln_score_source &,
                                      kiln_sum x)
{
    return x * arguments.scale;
}

/* e = KILN_EXPONENTIAL((x - max) * factor): the former number / KILN_EXPONENTIAL_LOG. */
KILN_DEVICE kiln_sum kiln_score_factor(const kiln_arguments &arguments, const kiln_score_source &)
{
    return arguments.scale * (1.0f / KILN_EXPONENTIAL_LOG);
}

/*
 * What the second products take. Online, `e` is the exponential; otherwise 1 where the column is within n and 0 beyond, and
 * the weights are computed of the sums, masks included: zero where not visible.
 */
KILN_DEVICE void kiln_weight(const kiln_arguments &, const kiln_score_source &,
                             const kiln_score_row &, const kiln_score_inputs &, unsigned, unsigned,
                             bool, const kiln_sum (&)[KILN_SCORES][KILN_CHAIN_RUN],
                             const kiln_sum (&e)[KILN_CHAIN_RUN],
                             kiln_sum (&weights)[KILN_VALUES][KILN_CHAIN_RUN])
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_CHAIN_RUN; i++)
        weights[0][i] = e[i];
}

/* What of n a tile of rows needs: columns from first to end (at most n; nothing where they are equal); all of its rows see all from
 * whole_first to whole_end. */
struct kiln_column_range {
    unsigned first, end;
    unsigned whole_first, whole_end;
};

KILN_DEVICE void kiln_find_columns(const kiln_arguments &arguments, const kiln_batch &,
                                   unsigned first_row, unsigned end_row, kiln_column_range &range)
{
    const int n = (int)arguments.n;
    const int end = (int)end_row + (int)arguments.offset;
    const int whole = (int)first_row + (int)arguments.offset + 1;
    range.first = 0;
    range.end = (unsigned)(end < 0 ? 0 : end < n ? end : n);
    range.whole_first = 0;
    range.whole_end = (unsigned)(whole < 0 ? 0 : whole < n ? whole : n);
}

/* What is known of a row in the end: of what the graph exponentiates the largest, and the sum of exponentials of the
 * difference to it (to 0 where it is -infinity). Without KILN_IS_ONLINE it is empty of meaning. */
struct kiln_row {
    kiln_sum max, sum;
};

/* What a row starts with, max in the units of x. A sink starts with {sink, 1}. */
KILN_DEVICE void kiln_row_start(const kiln_arguments &, const kiln_score_source &,
                                const kiln_score_row &, kiln_row &row)
{
    row.max = -__builtin_inff();
    row.sum = 0;
}

/* ---- result ---- */
struct kiln_result_source {
    kiln_default_storage *p3;
    float *p4;
#if KILN_HAS_SEGMENTS
    float *partial, *totals;
#endif
};

KILN_DEVICE void kiln_result_start(const kiln_arguments &arguments, const kiln_batch &batch,
                                   unsigned row, unsigned column, kiln_result_source &source)
{
    source.p3 = arguments.a3 + (long long)batch.b0 * arguments.b3_0 +
                (long long)row * arguments.s3_0 + (long long)column;
    source.p4 = arguments.a4 + ((long long)batch.b0 * arguments.m + row);
#if KILN_HAS_SEGMENTS
    const long long all = arguments.batches / arguments.segments * arguments.m;
    const long long nth = batch.segment * all + (long long)batch.b0 * arguments.m + row;
    source.partial = arguments.a5 + nth * arguments.d;
    source.totals = arguments.a5 + (arguments.segments * all * arguments.d + 2 * nth);
#endif
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
#if KILN_HAS_SEGMENTS
    KILN_STORE_VECTOR(32, source.partial + (row * (unsigned)arguments.d + column), values[0])
    if (column == 0) {
        source.totals[2 * row] = totals.max;
        source.totals[2 * row + 1] = totals.sum;
    }
    return;
#endif
    kiln_default_storage y[KILN_RESULT_VECTOR];
    KILN_UNROLL
    for (int e = 0; e < KILN_RESULT_VECTOR; e++)
        y[e] = kiln_default_encode(totals.sum == 0 ? 0.0f
                                                   : kiln_div_shared_f32(values[0][e], totals.sum));
    KILN_STORE_VECTOR(16, source.p3 + (row * (unsigned)arguments.s3_0 + column), y)
    if (column == 0 && arguments.a4 != 0)
        source.p4[row] = (totals.sum > 0 ? totals.max : 0.0f) + kiln_log_f32(totals.sum);
}

#endif
