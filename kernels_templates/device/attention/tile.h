/*
 * Sizes of a tile and of its parts, and where LDS has them.
 */
#ifndef KILN_DEVICE_ATTENTION_TILE_H
#define KILN_DEVICE_ATTENTION_TILE_H

#include "device/attention/facts.h"

#define KILN_WAVE_M      (KILN_TILE_M / KILN_WAVES_M)
#define KILN_FRAGMENTS_M (KILN_WAVE_M / KILN_MMA_M)
#define KILN_FRAGMENTS_N (KILN_TILE_N / KILN_MMA_N)
#define KILN_WAVE_D      (KILN_TILE_D / KILN_WAVES_D)
#define KILN_FRAGMENTS_D (KILN_WAVE_D / KILN_MMA_N)
#define KILN_C_PACKS     (KILN_TILE_C / KILN_PACK_ELEMENTS)
#define KILN_N_PACKS     (KILN_TILE_N / KILN_PACK_ELEMENTS)
#define KILN_D_PACKS     (KILN_TILE_D / KILN_PACK_ELEMENTS)
#define KILN_C_STEPS     (KILN_C_PACKS / KILN_MMA_GROUPS)
#define KILN_N_STEPS     (KILN_N_PACKS / KILN_MMA_GROUPS)
/* If operands run along their rows, neighbouring lanes store rows that are a run apart. */
#define KILN_CROSSING(is_along_k, run) ((is_along_k) || (run) == 1 ? 0u : (run) <= 4 ? 3u : 7u)
#define KILN_LEFT_SHAPE   KILN_TILE_SHAPE(KILN_C_PACKS, 0u) /* the same wherever a wave's rows begin */
#define KILN_RIGHT_SHAPE  KILN_TILE_SHAPE(KILN_C_PACKS, KILN_CROSSING(KILN_RIGHT_IS_ALONG_K, KILN_RIGHT_RUN))
#define KILN_WEIGHT_SHAPE KILN_TILE_SHAPE(KILN_N_PACKS, 0u)
#define KILN_VALUE_CROSSING KILN_CROSSING(KILN_VALUE_IS_ALONG_K, KILN_VALUE_RUN)
#if KILN_VALUE_IS_TRANSPOSED
#define KILN_VALUE_SHAPE KILN_TILE_SHAPE(KILN_D_PACKS, 0u)
#else
#define KILN_VALUE_SHAPE KILN_TILE_SHAPE(KILN_N_PACKS, KILN_VALUE_CROSSING)
#endif
/* Runs of a lane in each of its rows. */
#define KILN_CHAIN_RUNS                                                                            \
    (KILN_FRAGMENTS_N * KILN_MMA_SLOTS / (KILN_CHAIN_ROWS * KILN_CHAIN_RUN))

#if defined(KILN_MMA_READS_TRANSPOSED) && defined(KILN_VALUE_SHARES)
#define KILN_VALUE_OF KILN_VALUE_SHARES
#else
#define KILN_VALUE_OF 0
#endif
#if defined(KILN_MMA_READS_TRANSPOSED) && defined(KILN_VALUE_1_SHARES)
#define KILN_VALUE_1_OF KILN_VALUE_1_SHARES
#else
#define KILN_VALUE_1_OF 0
#endif
#define KILN_OWN_VALUES ((KILN_VALUES > 0 && KILN_VALUE_OF == 0) + (KILN_VALUES > 1 && KILN_VALUE_1_OF == 0))

/* 0, or 1 + the number of the right tile that a value is read from; and where its own tile is among those of values. */
KILN_CONSTEXPR unsigned kiln_right_of_value(unsigned nth)
{
    return nth == 0 ? KILN_VALUE_OF : KILN_VALUE_1_OF;
}

#define kiln_value_place(nth) ((nth) == 1 && KILN_VALUE_OF == 0 ? KILN_VALUE_TILE_PACKS : 0)

/* LDS: left operands that are not kept in registers, then rights and values of KILN_BUFFERS steps, then weights where lanes
 * exchange them there. Before and after all that it is for left operands on their way and for the strip. */
#define KILN_LEFT_TILE_PACKS   (KILN_TILE_M * KILN_C_PACKS)
#define KILN_RIGHT_TILE_PACKS  (KILN_TILE_N * KILN_C_PACKS)
#define KILN_VALUE_TILE_PACKS  (KILN_TILE_D * KILN_N_PACKS)
#define KILN_WEIGHT_TILE_PACKS (KILN_TILE_M * KILN_N_PACKS)
#define KILN_LEFT_PACKS        (KILN_SCORES * KILN_LEFT_TILE_PACKS)
#define KILN_RIGHT_PACKS       (KILN_SCORES * KILN_RIGHT_TILE_PACKS)
#define KILN_STEP_PACKS        (KILN_RIGHT_PACKS + KILN_OWN_VALUES * KILN_VALUE_TILE_PACKS)
#define KILN_RESIDENT_PACKS    (KILN_IS_LEFT_KEPT ? 0 : KILN_LEFT_PACKS)
#define KILN_LOOP_PACKS                                                                            \
    (KILN_RESIDENT_PACKS + KILN_BUFFERS * KILN_STEP_PACKS +                                        \
     (KILN_CHAIN_IS_LOCAL ? KILN_VALUES * KILN_WEIGHT_TILE_PACKS : 0))
#define KILN_PART_ROWS       (KILN_MMA_M / KILN_ROW_PARTS)
#define KILN_STRIP_ROWS      (KILN_WAVES_M * KILN_PART_ROWS)
#define KILN_STRIP_COLUMNS   (KILN_RESULTS * KILN_TILE_D)
#define KILN_STRIP_FRAGMENTS (KILN_RESULTS * KILN_FRAGMENTS_D) /* of a wave */
#define KILN_STRIP_SUMS      (KILN_STRIP_ROWS * KILN_STRIP_COLUMNS)
#define KILN_TOTALS_PACKS    ((KILN_TILE_M * (int)sizeof(kiln_row) + 15) / 16)
#define KILN_STRIP_PACKS     (KILN_STRIP_SUMS * (int)sizeof(kiln_sum) / 16 + KILN_TOTALS_PACKS)
#define KILN_END_PACKS                                                                             \
    (KILN_STRIP_PACKS > KILN_LEFT_TILE_PACKS ? KILN_STRIP_PACKS : KILN_LEFT_TILE_PACKS)
#define KILN_LDS_PACKS (KILN_LOOP_PACKS > KILN_END_PACKS ? KILN_LOOP_PACKS : KILN_END_PACKS)

/* Facts about products that store.h uses. */
#define kiln_is_row_of_phase(arguments, batch, row) true
#define KILN_TILE_COLUMNS KILN_TILE_D
#define KILN_PRODUCTS     KILN_RESULTS
#define KILN_WAVES_K      1
#define KILN_STRIP_COLUMN(j) ((j) / KILN_FRAGMENTS_D * KILN_TILE_D + (j) % KILN_FRAGMENTS_D * KILN_MMA_N)
#define KILN_LEFT_SPREAD  1
#define KILN_RIGHT_SPREAD 1
#define KILN_OF_SUM_SCALAR(name, scalar)  name##scalar
#define KILN_OF_SCALAR(name, scalar)      KILN_OF_SUM_SCALAR(name, scalar)
#define KILN_FMA_SUM(a, b, c)             KILN_OF_SCALAR(kiln_fma_, KILN_SUM_SCALAR)(a, b, c)
#define KILN_EXCHANGE_SUM(value, mask)    KILN_OF_SCALAR(kiln_shuffle_xor_, KILN_SUM_SCALAR)(value, mask)
#ifndef KILN_MMA_SUM
#define KILN_MMA_SUM(sum) (sum)
#endif

/* The core may want to be told the lane that a fragment is loaded for. */
#ifndef KILN_MMA_LOADS_OF_LANE
#define kiln_load_left_of(lane, ...)  ((void)(lane), kiln_load_left(__VA_ARGS__))
#define kiln_load_right_of(lane, ...) ((void)(lane), kiln_load_right(__VA_ARGS__))
#endif

#endif
