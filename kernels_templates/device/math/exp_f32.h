/*
 * e^x.
 */
#ifndef KILN_DEVICE_MATH_EXP_F32_H
#define KILN_DEVICE_MATH_EXP_F32_H

#include "device/math/parts/exp_parts_f32.h"

KILN_DEVICE float kiln_exp_f32(float x)
{
    /* Beyond these the result is infinity or 0. NaN passes. */
    const float below = x > 90.0f ? 90.0f : x;
    const float limited = below < -105.0f ? -105.0f : below;
    const kiln_exp_parts_f32 parts = kiln_exp_split_f32(limited);
    return kiln_scale_f32(1.0f + parts.p, parts.n);
}

#endif
