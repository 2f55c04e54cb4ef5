/*
 * 1 / sqrt(x): the instruction, then a step of third order. Zeros give infinity of their sign.
 */
#ifndef KILN_DEVICE_MATH_RSQRT_F64_H
#define KILN_DEVICE_MATH_RSQRT_F64_H

KILN_DEVICE double kiln_rsqrt_f64(double x)
{
    const bool is_tiny = x < 0x1p-767;
    const double scaled = is_tiny ? x * 0x1p256 : x;
    const double seed = kiln_seed_rsqrt_f64(scaled);
    const double error = kiln_fma_f64(-(scaled * seed), seed, 1.0);
    const double result = kiln_fma_f64(seed * error, kiln_fma_f64(error, 0.375, 0.5), seed);
    const bool is_exact = scaled == 0.0 || scaled == __builtin_inf();
    return is_exact ? seed : is_tiny ? result * 0x1p128 : result;
}

#endif
