/*
 * The first products, of a wave's rows and a tile of columns. With KILN_SCORES_AHEAD fragments of a step are read before the one
 * before it is multiplied.
 */
#ifndef KILN_DEVICE_ATTENTION_PRODUCTS_H
#define KILN_DEVICE_ATTENTION_PRODUCTS_H

#include "device/attention/tile.h"

/* 1: fragments are read ahead. */
#if defined(KILN_MMA_READS_AHEAD) || defined(KILN_MMA_VALUES_AHEAD)
#define KILN_READS_AHEAD 1
#else
#define KILN_READS_AHEAD 0
#endif

typedef kiln_mma_sums kiln_scores[KILN_SCORES][KILN_FRAGMENTS_M][KILN_FRAGMENTS_N];

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

#endif
