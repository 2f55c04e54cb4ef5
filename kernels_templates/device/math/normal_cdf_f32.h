/*
 * The standard normal distribution function, (1 + erf(x / sqrt 2)) / 2: for x < 0 e^(-x^2 / 2) t P(1 - 2t) with
 * t = 1 / (1 + 7/16 |x|), else 1 less that of -x. Coefficients: Remez exchange in 50 digits over |x| <= 14.5 (beyond it the
 * result is 0), relative error below 2^-28. With 7/16 an error of t counts less than twice in the result.
 *
 * Rounding x^2 changes the result by as much as half an ulp of x does.
 */
#ifndef KILN_DEVICE_MATH_NORMAL_CDF_F32_H
#define KILN_DEVICE_MATH_NORMAL_CDF_F32_H

#include "device/math/exp_f32.h"

KILN_DEVICE float kiln_normal_cdf_f32(float x)
{
    const float t = kiln_seed_rcp_f32(kiln_fma_f32(kiln_abs_f32(x), 0.4375f, 1.0f));
    const float q = kiln_fma_f32(-2.0f, t, 1.0f);
    float p = -0x1.36f3cap-15f;
    p = kiln_fma_f32(p, q, -0x1.9d6216p-14f);
    p = kiln_fma_f32(p, q, 0x1.00ebe4p-14f);
    p = kiln_fma_f32(p, q, 0x1.30cdep-11f);
    p = kiln_fma_f32(p, q, 0x1.0bbf5p-11f);
    p = kiln_fma_f32(p, q, -0x1.29df9ep-9f);
    p = kiln_fma_f32(p, q, -0x1.4fc256p-8f);
    p = kiln_fma_f32(p, q, 0x1.70aba6p-7f);
    p = kiln_fma_f32(p, q, 0x1.39d834p-5f);
    p = kiln_fma_f32(p, q, -0x1.60a70cp-3f);
    p = kiln_fma_f32(p, q, 0x1.36d476p-2f);
    const float square = x * x;
#ifdef KILN_HAS_SEED_EXP2
    /* The root of e^(-x^2 / 2) twice, so that a denormal result is rounded from normal numbers. */
    const float root = kiln_seed_exp2_f32(square * -0x1.715476p-2f);
    const float tail = t * p * root * root;
#else
    const float tail = t * p * kiln_exp_f32(-0.5f * square);
#endif
    return x < 0.0f ? tail : 1.0f - tail;
}

#endif
