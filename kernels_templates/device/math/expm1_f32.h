/*
 * e^x - 1.
 */
#ifndef KILN_DEVICE_MATH_EXPM1_F32_H
#define KILN_DEVICE_MATH_EXPM1_F32_H

#include "device/math/parts/exp_parts_f32.h"

KILN_DEVICE float kiln_expm1_f32(float x)
{
    const float below = x > 89.0f ? 89.0f : x;
    const float limited = below < -20.0f ? -20.0f : below;
    const kiln_exp_parts_f32 parts = kiln_exp_split_f32(limited);
    /* 2^n (1 + p) - 1 by way of its half, because 2^n may overflow where the result does not. */
    const float half = kiln_from_bits_f32(((unsigned)parts.n + 126u) << 23);
    const float halved = kiln_fma_f32(half, parts.p, half - 0.5f);
    return kiln_copysign_f32(parts.n == 0 ? parts.p : 2.0f * halved, x);
}

#endif
