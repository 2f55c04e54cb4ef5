/*
 * Error function of |x| <= 0.92, an odd polynomial.
 * Coefficients: Remez exchange in 130 digits, relative error below 2^-30.
 */
#ifndef KILN_DEVICE_MATH_ERF_NEAR_ZERO_F32_H
#define KILN_DEVICE_MATH_ERF_NEAR_ZERO_F32_H

KILN_DEVICE float kiln_erf_near_zero_f32(float x)
{
    const float square = x * x;
    float p = 0x1.4f723p-14f;
    p = kiln_fma_f32(p, square, -0x1.a60c96p-11f);
    p = kiln_fma_f32(p, square, 0x1.544a46p-8f);
    p = kiln_fma_f32(p, square, -0x1.b8011cp-6f);
    p = kiln_fma_f32(p, square, 0x1.ce2d64p-4f);
    p = kiln_fma_f32(p, square, -0x1.81274p-2f);
    p = kiln_fma_f32(p, square, 0x1.06eba8p-3f);
    return kiln_fma_f32(x, p, x);
}

#endif
