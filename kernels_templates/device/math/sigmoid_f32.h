/*
 * 1 / (1 + e^-x), by way of e^-|x|, which neither overflows nor loses a small result.
 */
#ifndef KILN_DEVICE_MATH_SIGMOID_F32_H
#define KILN_DEVICE_MATH_SIGMOID_F32_H

#include "device/math/exp_f32.h"

KILN_DEVICE float kiln_sigmoid_f32(float x)
{
    const float e = kiln_exp_f32(-kiln_abs_f32(x));
    return (x >= 0.0f ? 1.0f : e) * kiln_seed_rcp_f32(1.0f + e);
}

#endif
