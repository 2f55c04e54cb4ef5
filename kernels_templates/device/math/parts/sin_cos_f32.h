/*
 * Sine and cosine of |x| <= pi/4. Coefficients: Remez exchange in 130 digits, relative error below
 * 2^-32.
 */
#ifndef KILN_DEVICE_MATH_SIN_COS_F32_H
#define KILN_DEVICE_MATH_SIN_COS_F32_H

KILN_DEVICE float kiln_sin_near_zero_f32(float r)
{
    const float s = r * r;
    float p = 0x1.7c2c4ep-19f;
    p = kiln_fma_f32(p, s, -0x1.a05954p-13f);
    p = kiln_fma_f32(p, s, 0x1.111174p-7f);
    p = kiln_fma_f32(p, s, -0x1.555556p-3f);
    return kiln_fma_f32(r * s, p, r);
}

KILN_DEVICE float kiln_cos_near_zero_f32(float r)
{
    const float s = r * r;
    float p = 0x1.99e80cp-16f;
    p = kiln_fma_f32(p, s, -0x1.6c0c28p-10f);
    p = kiln_fma_f32(p, s, 0x1.55554ap-5f);
    return kiln_fma_f32(s * s, p, kiln_fma_f32(s, -0.5f, 1.0f));
}

#endif
