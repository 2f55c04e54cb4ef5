/*
 * Natural logarithm.
 */
#ifndef KILN_DEVICE_MATH_LOG_F32_H
#define KILN_DEVICE_MATH_LOG_F32_H

#include "device/math/parts/log_parts_f32.h"

KILN_DEVICE float kiln_log_f32(float x)
{
    const bool is_tiny = x < 0x1p-126f;
    const float normal = is_tiny ? x * 0x1p23f : x;
    const unsigned exponent = kiln_log_exponent_f32(normal);
    const float k = (float)((int)exponent >> 23) - (is_tiny ? 23.0f : 0.0f);
    const float f = kiln_from_bits_f32(kiln_bits_f32(normal) - exponent) - 1.0f;
    const float result = kiln_log_join_f32(f, k);
    const float special = x == 0.0f ? -__builtin_inff() : x > 0.0f ? x : __builtin_nanf("");
    return x > 0.0f && x < __builtin_inff() ? result : special;
}

#endif
