/*
 * Error function of |x| <= 1, an odd polynomial.
 * Coefficients: Remez exchange in 130 digits, relative error below 2^-56.
 */
#ifndef KILN_DEVICE_MATH_ERF_NEAR_ZERO_F64_H
#define KILN_DEVICE_MATH_ERF_NEAR_ZERO_F64_H

KILN_DEVICE double kiln_erf_near_zero_f64(double x)
{
    const double square = x * x;
    double p = 0x1.0579a08899382p-34;
    p = kiln_fma_f64(p, square, -0x1.386acc14bb46ap-30);
    p = kiln_fma_f64(p, square, 0x1.f7a41b6768ef6p-27);
    p = kiln_fma_f64(p, square, -0x1.5f1d38354a7c8p-23);
    p = kiln_fma_f64(p, square, 0x1.b9def1de3f8ebp-20);
    p = kiln_fma_f64(p, square, -0x1.f4d1df40274b3p-17);
    p = kiln_fma_f64(p, square, 0x1.f9a321a195b9dp-14);
    p = kiln_fma_f64(p, square, -0x1.c02db3d8f264ep-11);
    p = kiln_fma_f64(p, square, 0x1.565bcd0db0530p-8);
    p = kiln_fma_f64(p, square, -0x1.b82ce312849afp-6);
    p = kiln_fma_f64(p, square, 0x1.ce2f21a042b21p-4);
    p = kiln_fma_f64(p, square, -0x1.812746b0379e6p-2);
    p = kiln_fma_f64(p, square, 0x1.06eba8214db68p-3);
    return kiln_fma_f64(x, p, x);
}

#endif
