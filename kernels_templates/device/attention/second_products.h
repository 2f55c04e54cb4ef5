/*
 * The second products, of a wave's weights and a tile of values.
 */
#ifndef KILN_DEVICE_ATTENTION_SECOND_PRODUCTS_H
#define KILN_DEVICE_ATTENTION_SECOND_PRODUCTS_H

#include "device/attention/products.h"

/* Fragments of a value that are read at once. */
#ifdef KILN_MMA_VALUES_AHEAD
#define KILN_VALUES_AHEAD KILN_MMA_VALUES_AHEAD
#else
#define KILN_VALUES_AHEAD KILN_FRAGMENTS_D
#endif

typedef kiln_mma_sums kiln_results[KILN_FRAGMENTS_M][KILN_STRIP_FRAGMENTS];


/* True in the first of the waves that have the same rows. */
KILN_DEVICE bool kiln_leads_rows()
{
    return KILN_WAVES_D == 1 || kiln_work_item() / KILN_WAVE_SIZE % KILN_WAVES_D == 0;
}

/* Weights as left fragments: in registers, or in LDS, each wave's own rows of a tile of KILN_N_PACKS packs. */
struct kiln_weights {
#if KILN_CHAIN_IS_LOCAL
    kiln_pack *tiles;
    unsigned wave_row;
#else
    kiln_fragment fragments[KILN_VALUES][KILN_FRAGMENTS_M][KILN_N_STEPS];
#endif
};

KILN_DEVICE void kiln_encode_run(const kiln_sum (&weights)[KILN_CHAIN_RUN],
                                 kiln_element (&elements)[KILN_CHAIN_RUN])
{
#if defined(KILN_ENCODE_WEIGHTS) && KILN_CHAIN_RUN > 1
    unsigned words[KILN_CHAIN_RUN / 2];
    KILN_UNROLL
    for (unsigned e = 0; e < KILN_CHAIN_RUN; e += 2)
        words[e / 2] = KILN_ENCODE_WEIGHTS(weights[e], weights[e + 1]);
    __builtin_memcpy(elements, words, sizeof elements);
#else
    KILN_UNROLL
    for (unsigned e = 0; e < KILN_CHAIN_RUN; e++)
        elements[e] = KILN_ENCODE_WEIGHT(weights[e]);
#endif
}

KILN_DEVICE void kiln_set_weights(unsigned i, unsigned row, unsigned run,
                                  const kiln_sum (&values)[KILN_VALUES][KILN_CHAIN_RUN],
                                  kiln_weights &weights)
{
    KILN_UNROLL
    for (unsigned v = 0; v < KILN_VALUES; v++) {
        kiln_element elements[KILN_CHAIN_RUN];
        kiln_encode_run(values[v], elements);
#if KILN_CHAIN_IS_LOCAL
        if (!kiln_leads_rows())
            continue;
        kiln_pack *tile = weights.tiles + v * KILN_WEIGHT_TILE_PACKS;
        KILN_UNROLL
        for (unsigned e = 0; e < KILN_CHAIN_RUN; e++) {
            const unsigned column = kiln_chain_column(run) + e;
            kiln_pack *pack =
                tile + kiln_pack_place(weights.wave_row + i * KILN_MMA_M + kiln_chain_row(row),
                                       column / KILN_PACK_ELEMENTS, KILN_WEIGHT_SHAPE);
            ((kiln_element *)pack)[column % KILN_PACK_ELEMENTS] = elements[e];
        }
#else
        kiln_chain_set(weights.fragments[v][i], row, run, elements);
#endif
    }
}

/* The fragments of the value that are read at once: all of a step, or a part of them. */
#define KILN_VALUE_PARTS (KILN_FRAGMENTS_D / KILN_VALUES_AHEAD)
struct kiln_value_part {
    kiln_fragment value[KILN_VALUES_AHEAD];
};

KILN_DEVICE void kiln_load_value(const kiln_pack *rights, const kiln_pack *values, unsigned v,
                                 unsigned wave_column, unsigned nth, kiln_value_part &fragments)
{
    const unsigned step = nth / KILN_VALUE_PARTS;
    const unsigned first = nth % KILN_VALUE_PARTS * KILN_VALUES_AHEAD;
    const unsigned of = kiln_right_of_value(v);
    const kiln_pack *tile =
        of != 0 ? rights + (of - 1) * KILN_RIGHT_TILE_PACKS : values + kiln_value_place(v);
    KILN_UNROLL
    for (unsigned j = 0; j < KILN_VALUES_AHEAD; j++) {
        const unsigned row = wave_column + (first + j) * KILN_MMA_N;
#ifdef KILN_MMA_READS_TRANSPOSED
        if (of != 0 || KILN_VALUE_IS_TRANSPOSED)
            kiln_load_right_transposed(fragments.value[j], tile, row, step,
                                       of != 0 ? KILN_RIGHT_SHAPE : KILN_VALUE_SHAPE);
        else
#endif
            kiln_load_right(fragments.value[j], tile, row, step, KILN_VALUE_SHAPE);
    }
}

KILN_DEVICE void kiln_multiply_value(const kiln_weights &weights, const kiln_value_part &fragments,
                                     unsigned v, unsigned nth, kiln_results &results)
{
    const unsigned step = nth / KILN_VALUE_PARTS;
    const unsigned first = nth % KILN_VALUE_PARTS * KILN_VALUES_AHEAD;
    kiln_fragment left[KILN_FRAGMENTS_M];
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
#if KILN_CHAIN_IS_LOCAL
        kiln_load_left(left[i], weights.tiles + v * KILN_WEIGHT_TILE_PACKS,
                       weights.wave_row + i * KILN_MMA_M, step, KILN_WEIGHT_SHAPE);
#else
        left[i] = weights.fragments[v][i][step];
#endif
    KILN_UNROLL
    for (unsigned j = 0; j < KILN_VALUES_AHEAD; j++)
        KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        kiln_multiply_add(results[i][v * KILN_FRAGMENTS_D + first + j], left[i],
                          fragments.value[j]);
}

KILN_DEVICE void kiln_multiply_values(const kiln_weights &weights, const kiln_pack *rights,
                                      const kiln_pack *values, unsigned wave_column,
                                      kiln_results &results)
{
    KILN_UNROLL
    for (unsigned v = 0; v < KILN_VALUES; v++) {
#if KILN_READS_AHEAD
        kiln_value_part fragments[2];
        kiln_load_value(rights, values, v, wave_column, 0, fragments[0]);
        KILN_UNROLL
        for (unsigned nth = 0; nth < KILN_N_STEPS * KILN_VALUE_PARTS; nth++) {
            if (nth + 1 < KILN_N_STEPS * KILN_VALUE_PARTS)
                kiln_load_value(rights, values, v, wave_column, nth + 1, fragments[(nth + 1) % 2]);
            kiln_schedule_fence();
            kiln_multiply_value(weights, fragments[nth % 2], v, nth, results);
            kiln_schedule_fence();
        }
#else
        KILN_MMA_STEPS
        for (unsigned step = 0; step < KILN_N_STEPS; step++) {
            kiln_value_part fragments;
            kiln_load_value(rights, values, v, wave_column, step, fragments);
            kiln_multiply_value(weights, fragments, v, step, results);
        }
#endif
    }
}

#endif
