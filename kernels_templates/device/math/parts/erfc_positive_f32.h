/*
 * Complementary error function of 0 <= x <= 10.2 (beyond it the result is 0): e^-x^2 t P(1 - 2t)
 * with t = 3 / (3 + x). Coefficients: Remez exchange in 130 digits, relative error below 2^-26.
 */
#ifndef KILN_DEVICE_MATH_ERFC_POSITIVE_F32_H
#define KILN_DEVICE_MATH_ERFC_POSITIVE_F32_H

#include "device/math/exp_f32.h"

KILN_DEVICE float kiln_erfc_positive_f32(float x)
{
    /* t and q = 1 - 2t, both corrected by the residual of the quotient. */
    const float inverse = kiln_seed_rcp_f32(x + 3.0f);
    const float rough = 3.0f * inverse;
    const float residual = inverse * kiln_fma_f32(-rough, x, kiln_fma_f32(-rough, 3.0f, 3.0f));
    const float t = rough + residual;
    const float q = kiln_fma_f32(-2.0f, residual, kiln_fma_f32(-2.0f, rough, 1.0f));
    float p = 0x1.5bedf6p-19f;
    p = kiln_fma_f32(p, q, -0x1.b479a4p-14f);
    p = kiln_fma_f32(p, q, -0x1.527dc8p-13f);
    p = kiln_fma_f32(p, q, 0x1.0c4d0cp-10f);
    p = kiln_fma_f32(p, q, -0x1.ad2d04p-12f);
    p = kiln_fma_f32(p, q, -0x1.252238p-7f);
    p = kiln_fma_f32(p, q, 0x1.466526p-5f);
    p = kiln_fma_f32(p, q, -0x1.a7e3d6p-4f);
    p = kiln_fma_f32(p, q, 0x1.92eddep-3f);
    p = kiln_fma_f32(p, q, -0x1.2d883p-2f);
    p = kiln_fma_f32(p, q, 0x1.6e9828p-2f);
    /* What rounding x^2 loses goes into the factor. */
    const float square = x * x;
    const float lost = kiln_fma_f32(x, x, -square);
#ifdef KILN_HAS_SEED_EXP2
    const float factor = kiln_exp_f32(-square) * (t * p);
    return kiln_fma_f32(factor, -lost, factor);
#else
    const kiln_exp_parts_f32 parts = kiln_exp_split_f32(-square);
    const float factor = kiln_fma_f32(parts.p, t * p, t * p);
    return kiln_scale_f32(kiln_fma_f32(factor, -lost, factor), parts.n);
#endif
}

#endif
