/*
 * 1 / sqrt(x): the instruction, then a Newton step. Zeros give infinity of their sign.
 */
#ifndef KILN_DEVICE_MATH_RSQRT_F32_H
#define KILN_DEVICE_MATH_RSQRT_F32_H

KILN_DEVICE float kiln_rsqrt_f32(float x)
{
    const bool is_tiny = x < 0x1p-96f;
    const float scaled = is_tiny ? x * 0x1p32f : x;
    const float seed = kiln_seed_rsqrt_f32(scaled);
    const float error = kiln_fma_f32(-(scaled * seed), seed, 1.0f);
    const float result = kiln_fma_f32(0.5f * seed, error, seed);
    const bool is_exact = scaled == 0.0f || scaled == __builtin_inff();
    return is_exact ? seed : is_tiny ? result * 0x1p16f : result;
}

#endif
