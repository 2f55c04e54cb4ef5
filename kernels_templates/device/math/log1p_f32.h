/*
 * Natural logarithm of 1 + x: what rounding 1 + x loses is added to the fraction.
 */
#ifndef KILN_DEVICE_MATH_LOG1P_F32_H
#define KILN_DEVICE_MATH_LOG1P_F32_H

#include "device/math/parts/log_parts_f32.h"

KILN_DEVICE float kiln_log1p_f32(float x)
{
    const float sum = 1.0f + x;
    const float lost = x < 1.0f ? x - (sum - 1.0f) : 1.0f - (sum - x);
    const unsigned exponent = kiln_log_exponent_f32(sum);
    const int k = (int)exponent >> 23;
    const float f = kiln_from_bits_f32(kiln_bits_f32(sum) - exponent) - 1.0f;
    /* From 2^30 on the loss has no effect, and 2^-k would be denormal. */
    const float scale = kiln_from_bits_f32(0x3f800000u - (x < 0x1p30f ? exponent : 0u));
    const float result = kiln_log_join_f32(x < 0x1p30f ? f + lost * scale : f, (float)k);
    const float special = x == -1.0f ? -__builtin_inff() : x > 0.0f ? x : __builtin_nanf("");
    return x > -1.0f && x < __builtin_inff() ? kiln_copysign_f32(result, x) : special;
}

#endif
