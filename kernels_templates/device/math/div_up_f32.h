/*
 * a / b rounded up, for a number a >= 0 and a number b >= 1 that is the same everywhere.
 *
 * The quotient that the division gives is the largest number not above the true one, the smallest not below it, or next to one of
 * both. Its residual a - quotient * b has the sign of the error: fma rounds it once, and the scale keeps it from rounding to zero.
 * Then the smallest of three neighbours whose residual is not positive is the quotient rounded up.
 */
#ifndef KILN_DEVICE_DIV_UP_F32_H
#define KILN_DEVICE_DIV_UP_F32_H

KILN_DEVICE float kiln_div_up_f32(float a, float b)
{
    /* Residuals are multiples of 2^-149 times the last bit of b, which is at least 2^-23. */
    const float scale = a < 1.0f && b < 0x1p64f ? 0x1p32f : 1.0f;
    const float dividend = a * scale;
    const float divisor = b * scale;
    const unsigned bits = kiln_bits_f32(kiln_div_f32(a, b));
    const float below = kiln_from_bits_f32(bits - (bits != 0u));
    const float near = kiln_from_bits_f32(bits);
    if (kiln_fma_f32(-below, divisor, dividend) <= 0.0f)
        return below;
    return kiln_fma_f32(-near, divisor, dividend) <= 0.0f ? near : kiln_from_bits_f32(bits + 1u);
}

#endif
