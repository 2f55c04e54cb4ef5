/*
 * Square root, correctly rounded: the instruction is off by at most one ulp, so one of three
 * neighbours is it.
 */
#ifndef KILN_DEVICE_MATH_SQRT_F32_H
#define KILN_DEVICE_MATH_SQRT_F32_H

KILN_DEVICE float kiln_sqrt_f32(float x)
{
    const bool is_tiny = x < 0x1p-96f; /* so that no residual is denormal */
    const float scaled = is_tiny ? x * 0x1p32f : x;
    const float seed = kiln_seed_sqrt_f32(scaled);
    const float below = kiln_from_bits_f32(kiln_bits_f32(seed) - 1u);
    const float above = kiln_from_bits_f32(kiln_bits_f32(seed) + 1u);
    /* The midpoint of seed and a neighbour, squared, is seed * neighbour and a quarter of an ulp's
     * square. */
    const float lower = kiln_fma_f32(-below, seed, scaled) <= 0.0f ? below : seed;
    const float result = kiln_fma_f32(-above, seed, scaled) > 0.0f ? above : lower;
    return is_tiny ? result * 0x1p-16f : result;
}

#endif
