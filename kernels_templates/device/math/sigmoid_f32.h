/*
 * 1 / (1 + e^-x), by way of e^-|x|, which neither overflows nor loses a small result.
 */
#ifndef KILN_DEVICE_MATH_SIGMOID_F32_H
#define KILN_DEVICE_MATH_SIGMOID_F32_H

#include "device/math/exp_f32.h"

KILN_DEVICE float kiln_sigmoid_f32(float x)
{
    const float e = kiln_exp_f32(-kiln_abs_f32(x));
    const float numerator = x >= 0.0f ? 1.0f : e;
#ifdef KILN_HAS_SEED_EXP2
    return numerator * kiln_seed_rcp_f32(1.0f + e);
#else
    /* Never above 1, or the product with a large x would overflow. A GPU's instruction inverts 1 exactly. */
    return numerator / (1.0f + e);
#endif
}

#endif
