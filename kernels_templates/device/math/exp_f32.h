/*
 * e^x.
 */
#ifndef KILN_DEVICE_MATH_EXP_F32_H
#define KILN_DEVICE_MATH_EXP_F32_H

#include "device/math/parts/exp_parts_f32.h"

#ifdef KILN_HAS_SEED_EXP2

/* 2^n times the instruction for 2^r, n + r = x log2 e. n is limited so that 2^n is a normal number; beyond that r takes the
 * result to infinity, to 0, or to where the product rounds it to a denormal. NaN stays in r. */
KILN_DEVICE float kiln_exp_f32(float x)
{
    const float anchored = kiln_exp2_anchored_f32(x);
    const float n = anchored - KILN_EXP2_ANCHOR;
    const float r = kiln_fma_f32(x, 0x1.4ae0cp-26f, kiln_fma_f32(x, 0x1.715476p+0f, -n));
    return kiln_seed_exp2_f32(r) * kiln_from_bits_f32(kiln_bits_f32(anchored) << 23);
}

#else

KILN_DEVICE float kiln_exp_f32(float x)
{
    /* Beyond these the result is infinity or 0. NaN passes. */
    const float below = x > 90.0f ? 90.0f : x;
    const float limited = below < -105.0f ? -105.0f : below;
    const kiln_exp_parts_f32 parts = kiln_exp_split_f32(limited);
    return kiln_scale_f32(1.0f + parts.p, parts.n);
}

#endif

#endif
