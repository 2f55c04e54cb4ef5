/*
 * Complementary error function.
 */
#ifndef KILN_DEVICE_MATH_ERFC_F32_H
#define KILN_DEVICE_MATH_ERFC_F32_H

#include "device/math/parts/erfc_positive_f32.h"

KILN_DEVICE float kiln_erfc_f32(float x)
{
    const float magnitude = kiln_abs_f32(x);
    const float limited = magnitude > 10.2f ? 10.2f : magnitude;
    const float positive = kiln_erfc_positive_f32(limited);
    return x < 0.0f ? 2.0f - positive : positive;
}

#endif
