/*
 * 2^x, exact for integers.
 */
#ifndef KILN_DEVICE_MATH_EXP2_F32_H
#define KILN_DEVICE_MATH_EXP2_F32_H

#include "device/math/parts/exp_parts_f32.h"

KILN_DEVICE float kiln_exp2_f32(float x)
{
    /* Beyond these the result is infinity or 0. NaN passes. */
    const float below = x > 130.0f ? 130.0f : x;
    const float limited = below < -152.0f ? -152.0f : below;
    /* Adding 1.5 * 2^23 rounds to an integer. */
    const float integer = (limited + 0x1.8p23f) - 0x1.8p23f;
    const kiln_exp_parts_f32 parts = kiln_exp_split_f32((limited - integer) * 0x1.62e43p-1f);
    return kiln_scale_f32(1.0f + parts.p, parts.n + (x != x ? 0 : (int)integer));
}

#endif
