/*
 * Hyperbolic tangent: with e = e^2|x| - 1 it is e / (e + 2).
 */
#ifndef KILN_DEVICE_MATH_TANH_F32_H
#define KILN_DEVICE_MATH_TANH_F32_H

#include "device/math/expm1_f32.h"

KILN_DEVICE float kiln_tanh_f32(float x)
{
    const float magnitude = kiln_abs_f32(x);
    const float limited = magnitude > 10.0f ? 10.0f : magnitude; /* the result is 1 from there on */
    const float e = kiln_expm1_f32(2.0f * limited);
    return kiln_copysign_f32(e / (e + 2.0f), x);
}

#endif
