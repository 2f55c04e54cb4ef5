/*
 * Placeholders that let each header of device/contraction/ compile by itself, in addition to contraction_prelude.h. They cover
 * segments, phases, axes and windows, reduced rows, single factors and sums of an operand. They have the emitter's signatures but compute nothing
 * useful.
 */
#ifndef KILN_DEFAULT_CONTRACTION_MORE_FACTS_H
#define KILN_DEFAULT_CONTRACTION_MORE_FACTS_H

#define KILN_GRID               1u
#define KILN_ROW_LANES          8
#define KILN_LEFT_WORK          KILN_WORK_ASSEMBLE
#define KILN_RIGHT_WORK         KILN_WORK_COMPUTE
#define KILN_SUM_ROWS           64
#define KILN_SUMMED_RUN         1
#define KILN_SUMMED_IS_ALONG_K  1
#define KILN_IS_RIGHT_SUMMED    0
#define KILN_SUMS_HAVE_SEGMENTS 1
#define KILN_ITEM_ROWS          2
#define KILN_WEIGHTS            64
#define KILN_SUM_DECODE(element)  kiln_decode_f16(element)
#define KILN_ADD_SINGLE(a, b, sum) kiln_fma_f32(a, b, sum)

#ifndef KILN_MMA_CALLS
#define KILN_MMA_CALLS 1
#endif

/* Rows are m / n x n, k is counted over n too, and the window goes along both second axes. */
#define KILN_INDEX_RANK 2
#define KILN_WINDOWS    1
#define KILN_K_GRANULE  KILN_PACK_ELEMENTS
#include "device/contraction/axes.h"
#define KILN_DEFAULT_AXES                                                                          \
    {                                                                                              \
        2, {{}, kiln_axis{KILN_ARGUMENT(n), KILN_ARGUMENT(n_divisor) KILN_DEFAULT_PHASE}}          \
    }
#ifdef KILN_PHASES
#define KILN_DEFAULT_PHASE , 1
KILN_FACT kiln_number kiln_batch_sizes[] = {KILN_CONSTANT(1)};
KILN_FACT kiln_phase_axis kiln_phase_axes[] = {{0, 1, KILN_CONSTANT(0), KILN_CONSTANT(1),
                                                KILN_CONSTANT(2), KILN_CONSTANT(3),
                                                KILN_CONSTANT(2), KILN_ARGUMENT(m)}};
#else
#define KILN_DEFAULT_PHASE
#ifdef KILN_DEFAULT_HAS_GROUPS
#define KILN_DEFAULT_WINDOW_BATCHES , {KILN_CONSTANT(0)}
#else
#define KILN_DEFAULT_WINDOW_BATCHES
#endif
KILN_FACT kiln_window kiln_windows[] = {{KILN_ARGUMENT(n),
                                         KILN_CONSTANT(-1),
                                         {KILN_CONSTANT(0), KILN_CONSTANT(1)},
                                         {KILN_CONSTANT(0), KILN_CONSTANT(1)}
                                             KILN_DEFAULT_WINDOW_BATCHES}};
#endif
KILN_FACT kiln_axes kiln_m_axes = KILN_DEFAULT_AXES;
KILN_FACT kiln_axes kiln_n_axes = {1, {}};
KILN_FACT kiln_axes kiln_k_axes = KILN_DEFAULT_AXES;
KILN_FACT kiln_split kiln_split_0 = {true,
                                     true,
                                     true,
                                     0u,
                                     {KILN_ARGUMENT(s0_0), KILN_CONSTANT(1)},
                                     {KILN_ARGUMENT(s0_0), KILN_CONSTANT(1)},
                                     KILN_CONSTANT(0),
                                     KILN_ARGUMENT(k)};

#define kiln_left_rows          kiln_m_axes
#define kiln_right_rows         kiln_n_axes
#define KILN_LEFT_IS_WINDOWED   1
#define KILN_RIGHT_IS_WINDOWED  0
#define KILN_LEFT_IS_WALKED     1
#define KILN_RIGHT_IS_WALKED    0
#define KILN_LEFT_WALKED(use)   use(left, 0, f16)
#define KILN_RIGHT_WALKED(use)

#define KILN_SUMMED_VECTOR        8
#define KILN_SUMMED_PIECES        1
#define KILN_SUMMED_BATCHES       0
#define KILN_SUMMED_ACCESSES(use) use(summed, 0, f16, PLAIN)
#define KILN_SUMMED_PACKING(use)  use(summed, SUMMED, 0, COPIED, 0, f16)

#define KILN_SUM_LOADS(use)
#define KILN_SUM_STORES(use) use(2, f16, PLAIN)
KILN_DEVICE void kiln_sum_element(const kiln_arguments &, kiln_sum sum, kiln_storage_f16 &y2)
{
    y2 = kiln_encode_f16(sum);
}

#define KILN_SINGLE_LEFT_ACCESSES(use)   use(single_left, 0, f16, SPLIT)
#define KILN_SINGLE_RIGHT0_ACCESSES(use) use(single_right0, 1, f16, PLAIN)
#define KILN_SINGLE_LEFT_IS_WINDOWED     1
#define KILN_SINGLE_RIGHT0_IS_WINDOWED   0
#define kiln_single_left_rows            kiln_m_axes
#define kiln_single_left_across          kiln_n_axes
#define kiln_single_right0_rows          kiln_n_axes
#define kiln_single_right0_across        kiln_m_axes
KILN_FACT kiln_number kiln_across_0[KILN_INDEX_RANK] = {};
KILN_FACT kiln_number kiln_across_1[KILN_INDEX_RANK] = {};

KILN_DEVICE kiln_sum kiln_single_left_value(const kiln_arguments &, kiln_storage_f16 x0)
{
    return kiln_decode_f16(x0);
}

KILN_DEVICE kiln_sum kiln_single_right0_value(const kiln_arguments &, kiln_storage_f16 x1)
{
    return kiln_decode_f16(x1);
}

/* One pass, which adds up elements: for a row, or for another kernel. */
#include "device/accumulators.h"
KILN_ACCUMULATOR(add, f32, float)

struct kiln_row {
    float v0;
};

#define KILN_START_LOADS(use)
#define KILN_START_STORES(use)
KILN_DEVICE void kiln_start_row(const kiln_arguments &, const kiln_batch &, unsigned, kiln_row &)
{
}

#define KILN_PASS_0_LOADS(use)
#define KILN_PASS_0_STORES(use)       use(2, f16, PLAIN)
#define KILN_PASS_0_ACCUMULATORS(use) use(0, add, f32, float, VALUE, 0)
KILN_DEVICE void kiln_pass_0_element(const kiln_arguments &, const kiln_batch &, unsigned, unsigned,
                                     const kiln_row &, kiln_sum value0, kiln_storage_f16 &y2,
                                     float &t0)
{
    y2 = kiln_encode_f16(value0);
    t0 = value0;
}

#ifdef KILN_DEFAULT_HAS_ROWS
#define KILN_PASS_0_ROW_STORES(use)
KILN_DEVICE void kiln_pass_0_row(const kiln_arguments &, const kiln_batch &, unsigned,
                                 kiln_row &row, const kiln_add_lanes_f32<1> &a0)
{
    row.v0 = a0.value[0];
}
#else
#ifndef KILN_DEFAULT_HAS_TILES /* a statistic of all of a tile, not of its columns */
#define KILN_VECTORS_ABREAST            8
#define KILN_ROWS_ABREAST               (KILN_BLOCK / KILN_VECTORS_ABREAST)
#endif
#define KILN_SEGMENT_BATCHES            0u
#define KILN_HAS_SEGMENTS_OF_ROWS       1
#define KILN_HAS_SEGMENTS_OF_COLUMNS    0
#define KILN_STATISTICS_ENTRIES         KILN_BLOCK
#define KILN_STATISTICS(use)            use(2, f16, a0.value[e])
#endif

#define KILN_ROW_PASSES(run) run(0)

#endif
