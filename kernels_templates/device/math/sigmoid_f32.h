/*
 * 1 / (1 + e^-x), in a form that neither overflows nor loses a small result.
 */
#ifndef KILN_DEVICE_MATH_SIGMOID_F32_H
#define KILN_DEVICE_MATH_SIGMOID_F32_H

#include "device/math/exp_f32.h"

#ifdef KILN_HAS_SEED_EXP2

/* 2^n / (2^n + 2^-r) with n + r = x log2 e: as exp_f32.h has it, n is limited so that 2^n and 2^-n are normal numbers, and beyond that r
 * takes the result to 0, to 1, or to where the product rounds it to a denormal. NaN stays in r. Never above 1, or the product
 * with a large x would overflow: a GPU's instruction inverts powers of two exactly. */
KILN_DEVICE float kiln_sigmoid_f32(float x)
{
    const float anchored = kiln_exp2_anchored_f32(x);
    const float n = anchored - KILN_EXP2_ANCHOR;
    const float minus_r = kiln_fma_f32(x, -0x1.4ae0cp-26f, kiln_fma_f32(x, -0x1.715476p+0f, n));
    const float power = kiln_from_bits_f32(kiln_bits_f32(anchored) << 23);
    return power * kiln_seed_rcp_f32(power + kiln_seed_exp2_f32(minus_r));
}

#else

/* By way of e^-|x|. Never above 1, or the product with a large x would overflow. */
KILN_DEVICE float kiln_sigmoid_f32(float x)
{
    const float e = kiln_exp_f32(-kiln_abs_f32(x));
    const float numerator = x >= 0.0f ? 1.0f : e;
    return numerator / (1.0f + e);
}

#endif

#endif
