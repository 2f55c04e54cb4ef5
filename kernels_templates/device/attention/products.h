/*
 * The first products, of a wave's rows and a tile of columns, and the second ones, of the weights made of them.
 */
#ifndef KILN_DEVICE_ATTENTION_PRODUCTS_H
#define KILN_DEVICE_ATTENTION_PRODUCTS_H

/* Whether fragments are read ahead, and how many of a value at once. */
#if defined(KILN_MMA_READS_AHEAD) || defined(KILN_MMA_VALUES_AHEAD)
#define KILN_READS_AHEAD 1
#else
#define KILN_READS_AHEAD 0
#endif
#ifndef KILN_SCORES_AHEAD
#define KILN_SCORES_AHEAD 1 /* or 0: fragments of the first products are read when they are multiplied */
#endif
#ifdef KILN_MMA_VALUES_AHEAD
#define KILN_VALUES_AHEAD KILN_MMA_VALUES_AHEAD
#else
#define KILN_VALUES_AHEAD KILN_FRAGMENTS_D
#endif

typedef kiln_mma_sums kiln_scores[KILN_SCORES][KILN_FRAGMENTS_M][KILN_FRAGMENTS_N];
typedef kiln_mma_sums kiln_results[KILN_FRAGMENTS_M][KILN_STRIP_FRAGMENTS];

#ifndef KILN_MMA_LOADS_OF_LANE
#define kiln_load_left_of(lane, ...)  ((void)(lane), kiln_load_left(__VA_ARGS__))
#define kiln_load_right_of(lane, ...) ((void)(lane), kiln_load_right(__VA_ARGS__))
#endif

/* The left operands of a wave: in registers, or where they are in LDS. */
struct kiln_lefts {
#if KILN_IS_LEFT_KEPT
    kiln_fragment fragments[KILN_SCORES][KILN_FRAGMENTS_M][KILN_C_STEPS];
#else
    const kiln_pack *tiles; /* from the wave's first row on */
#endif
};

KILN_DEVICE kiln_fragment kiln_left_fragment(unsigned lane, const kiln_lefts &lefts,
                                             unsigned score, unsigned i, unsigned step)
{
    (void)lane;
#if KILN_IS_LEFT_KEPT
    return lefts.fragments[score][i][step];
#else
    kiln_fragment fragment;
    kiln_load_left_of(lane, fragment, lefts.tiles + score * KILN_LEFT_TILE_PACKS, i * KILN_MMA_M,
                      step, KILN_LEFT_SHAPE);
    return fragment;
#endif
}

/* The fragments of a step of the first products. */
struct kiln_score_step {
    kiln_fragment left[KILN_FRAGMENTS_M], right[KILN_FRAGMENTS_N];
};

KILN_DEVICE void kiln_load_step(unsigned lane, const kiln_lefts &lefts, const kiln_pack *rights, unsigned score,
                                unsigned step, kiln_score_step &fragments)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        fragments.left[i] = kiln_left_fragment(lane, lefts, score, i, step);
    KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
        kiln_load_right_of(lane, fragments.right[j], rights + score * KILN_RIGHT_TILE_PACKS,
                           j * KILN_MMA_N, step, KILN_RIGHT_SHAPE);
}

KILN_DEVICE void kiln_multiply_step(const kiln_score_step &fragments,
                                    kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
        KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        kiln_multiply_add(sums[i][j], fragments.left[i], fragments.right[j]);
}

/* Where steps are unrolled the next one is read before this one is multiplied, and none further ahead: compilers would read all
 * of them, into more registers than there are. */
KILN_DEVICE void kiln_multiply_scores(const kiln_lefts &lefts, const kiln_pack *rights,
                                      kiln_scores &sums)
{
    KILN_UNROLL
    for (unsigned s = 0; s < KILN_SCORES; s++) {
        unsigned lane = kiln_lane();
#ifdef KILN_MMA_LOADS_OF_LANE
        kiln_compute_here(lane);
#endif
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
            KILN_UNROLL
        for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++) {
            KILN_UNROLL
            for (int slot = 0; slot < KILN_MMA_SLOTS; slot++)
                sums[s][i][j][slot] = 0;
#ifdef KILN_MMA_COMPUTE_HERE
            KILN_MMA_COMPUTE_HERE(sums[s][i][j]);
#endif
        }
#if KILN_READS_AHEAD
        kiln_score_step fragments[2];
        if (KILN_SCORES_AHEAD)
            kiln_load_step(lane, lefts, rights, s, 0, fragments[0]);
        KILN_UNROLL
        for (unsigned step = 0; step < KILN_C_STEPS; step++) {
            const unsigned loaded = step + KILN_SCORES_AHEAD;
            if (loaded < KILN_C_STEPS)
                kiln_load_step(lane, lefts, rights, s, loaded, fragments[loaded % 2]);
            kiln_schedule_fence();
            kiln_multiply_step(fragments[step % 2], sums[s]);
            kiln_schedule_fence();
        }
#else
        KILN_MMA_STEPS
        for (unsigned step = 0; step < KILN_C_STEPS; step++) {
            kiln_score_step fragments;
            kiln_load_step(lane, lefts, rights, s, step, fragments);
            kiln_multiply_step(fragments, sums[s]);
        }
#endif
#ifdef KILN_MMA_COMPUTE_HERE
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
            KILN_UNROLL
        for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
            KILN_MMA_COMPUTE_HERE(sums[s][i][j]);
#endif
    }
}

#if KILN_VALUES > 0

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

/* What of the value is read at once: all of a step's fragments, or a part of them. */
#define KILN_VALUE_PARTS (KILN_FRAGMENTS_D / KILN_VALUES_AHEAD)
struct kiln_value_part {
    kiln_fragment value[KILN_VALUES_AHEAD];
};

KILN_DEVICE void kiln_load_value(const kiln_pack *rights, const kiln_pack *values, unsigned v,
                                 unsigned wave_column, unsigned nth, kiln_value_part &fragments)
{
    const unsigned step = nth / KILN_VALUE_PARTS;
    const unsigned first = nth % KILN_VALUE_PARTS * KILN_VALUES_AHEAD;
    const unsigned of = v == 0 ? KILN_VALUE_OF : KILN_VALUE_1_OF;
    const kiln_pack *tile = of != 0
                                ? rights + (of - 1) * KILN_RIGHT_TILE_PACKS
                                : values + (v == 1 && KILN_VALUE_OF == 0 ? KILN_VALUE_TILE_PACKS : 0);
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

#endif
