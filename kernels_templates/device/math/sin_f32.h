/*
 * Sine.
 */
#ifndef KILN_DEVICE_MATH_SIN_F32_H
#define KILN_DEVICE_MATH_SIN_F32_H

#include "device/math/parts/angle_f32.h"
#include "device/math/parts/sin_cos_f32.h"

KILN_DEVICE float kiln_sin_f32(float x)
{
    const kiln_angle_f32 angle = kiln_reduce_angle_f32(x);
    const float sine = kiln_sin_near_zero_f32(angle.r);
    const float cosine = kiln_cos_near_zero_f32(angle.r);
    const float magnitude = (angle.quadrant & 1u) != 0 ? cosine : sine;
    const bool is_negative = (angle.quadrant & 2u) != 0;
    /* Of |x| so far; the sign of zero comes from x too. */
    const float oriented = is_negative ? -magnitude : magnitude;
    const float result = kiln_bits_f32(x) >> 31 != 0 ? -oriented : oriented;
    return kiln_abs_f32(x) < __builtin_inff() ? result : x - x;
}

#endif
