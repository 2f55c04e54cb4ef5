/*
 * Hyperbolic tangent.
 */
#ifndef KILN_DEVICE_MATH_TANH_F32_H
#define KILN_DEVICE_MATH_TANH_F32_H

#include "device/math/expm1_f32.h"

#ifdef KILN_HAS_SEED_EXP2

/* 1 - 2 / (e^2|x| + 1), which loses digits near 0: a polynomial up to where the result is about 1/2. Its coefficients interpolate
 * (tanh(x)/x - 1)/x^2 at five Chebyshev nodes of x^2: relative error below 2^-26. */
KILN_DEVICE float kiln_tanh_f32(float x)
{
    const float magnitude = kiln_abs_f32(x);
    const float limited = magnitude > 10.0f ? 10.0f : magnitude; /* the result is 1 from there on */
    const float e = kiln_seed_exp2_f32(limited * 0x1.715476p+1f);
    const float far = kiln_fma_f32(-2.0f, kiln_seed_rcp_f32(e + 1.0f), 1.0f);
    const float z = x * x;
    float p = -0x1.ab8b3p-8f;
    p = kiln_fma_f32(p, z, 0x1.5c5cd4p-6f);
    p = kiln_fma_f32(p, z, -0x1.b98fd2p-5f);
    p = kiln_fma_f32(p, z, 0x1.110fb4p-3f);
    p = kiln_fma_f32(p, z, -0x1.555554p-2f);
    const float near = kiln_fma_f32(x * z, p, x);
    return kiln_copysign_f32(magnitude < 0.5625f ? near : far, x); /* of -0, near is 0 */
}

#else

/* With e = e^2|x| - 1 it is e / (e + 2). */
KILN_DEVICE float kiln_tanh_f32(float x)
{
    const float magnitude = kiln_abs_f32(x);
    const float limited = magnitude > 10.0f ? 10.0f : magnitude; /* the result is 1 from there on */
    const float e = kiln_expm1_f32(2.0f * limited);
    return kiln_copysign_f32(e / (e + 2.0f), x);
}

#endif

#endif
