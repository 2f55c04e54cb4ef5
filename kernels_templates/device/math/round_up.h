/*
 * Numbers >= 0 rounded up to a storage type. The codes of these types are upper parts of a float's, so the next number comes by
 * an integer addition that carries out of the bits that are dropped. Every type saturates; so does NaN.
 */
#ifndef KILN_DEVICE_ROUND_UP_H
#define KILN_DEVICE_ROUND_UP_H

/* The bits of a number, with the last `dropped` bits rounded up, at most `largest`. */
KILN_DEVICE float kiln_round_up_bits(float x, unsigned dropped, unsigned largest)
{
    const unsigned bits = kiln_bits_f32(x);
    const unsigned mask = (1u << dropped) - 1u;
    const unsigned rounded = bits > largest ? largest : (bits + mask) & ~mask;
    return kiln_from_bits_f32(rounded);
}

KILN_DEVICE float kiln_round_up_f32_f32(float x)
{
    return kiln_round_up_bits(x, 0u, 0x7f7fffffu);
}

KILN_DEVICE float kiln_round_up_bf16_f32(float x)
{
    return kiln_round_up_bits(x, 16u, 0x7f7f0000u);
}

KILN_DEVICE float kiln_round_up_f16_f32(float x)
{
    /* Below 2^-14 the numbers of half are multiples of 2^-24. Both products are exact. */
    const float small = kiln_ceil_f32(x * 0x1p24f) * 0x1p-24f;
    return x < 0x1p-14f ? small : kiln_round_up_bits(x, 13u, 0x477fe000u);
}

/* Powers of two from 2^-127, which is a denormal float. */
KILN_DEVICE float kiln_round_up_e8m0_f32(float x)
{
    return x > 0x1p-127f ? kiln_round_up_bits(x, 23u, 0x7f000000u) : 0x1p-127f;
}

KILN_DEVICE double kiln_round_up_f32_f64(double x)
{
    const float near = (float)x;
    const unsigned bits = kiln_bits_f32(near) + ((double)near < x);
    return kiln_round_up_f32_f32(kiln_from_bits_f32(bits));
}

/* A float lies between two numbers of these types wherever a double does. */
KILN_DEVICE double kiln_round_up_bf16_f64(double x)
{
    return kiln_round_up_bf16_f32((float)kiln_round_up_f32_f64(x));
}

KILN_DEVICE double kiln_round_up_f16_f64(double x)
{
    return kiln_round_up_f16_f32((float)kiln_round_up_f32_f64(x));
}

KILN_DEVICE double kiln_round_up_e8m0_f64(double x)
{
    return kiln_round_up_e8m0_f32((float)kiln_round_up_f32_f64(x));
}

#endif
