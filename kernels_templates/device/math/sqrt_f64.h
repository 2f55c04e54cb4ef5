/*
 * Square root by Goldschmidt iteration and two corrections by the exact residual.
 */
#ifndef KILN_DEVICE_MATH_SQRT_F64_H
#define KILN_DEVICE_MATH_SQRT_F64_H

KILN_DEVICE double kiln_sqrt_f64(double x)
{
    const bool is_tiny = x < 0x1p-767; /* so that no residual is denormal */
    const double scaled = is_tiny ? x * 0x1p256 : x;
    const double seed = kiln_seed_rsqrt_f64(scaled);
    double root = scaled * seed;
    double half_inverse = 0.5 * seed;
    const double error = kiln_fma_f64(-half_inverse, root, 0.5);
    root = kiln_fma_f64(root, error, root);
    half_inverse = kiln_fma_f64(half_inverse, error, half_inverse);
    root = kiln_fma_f64(kiln_fma_f64(-root, root, scaled), half_inverse, root);
    root = kiln_fma_f64(kiln_fma_f64(-root, root, scaled), half_inverse, root);
    const bool is_own_root = scaled == 0.0 || scaled == __builtin_inf();
    return is_own_root ? x : is_tiny ? root * 0x1p-128 : root;
}

#endif
