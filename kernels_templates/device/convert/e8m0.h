/*
 * OCP E8M0: powers of two from 2^-127 to 2^127, and NaN. Of two that are equally near, the one with
 * an even code; less than the smallest, negative numbers included, becomes the smallest, infinity
 * the largest.
 */
#ifndef KILN_DEVICE_CONVERT_E8M0_H
#define KILN_DEVICE_CONVERT_E8M0_H

#include "device/convert/parts/round_to_odd.h"

typedef unsigned char kiln_storage_e8m0;

KILN_DEVICE float kiln_decode_e8m0(kiln_storage_e8m0 x)
{
    const unsigned bits = (unsigned)x << 23;
    return kiln_from_bits_f32(x == 0 ? 0x00400000u : x == 255 ? 0x7fc00000u : bits);
}

KILN_DEVICE kiln_storage_e8m0 kiln_encode_e8m0(float x)
{
    const unsigned bits = kiln_bits_f32(x);
    const unsigned normal = (bits + 0x3fffffu + (bits >> 23 & 1u)) >> 23;
    /* Below 2^-126 the codes are 2^-127 and 2^-126. */
    const unsigned code = bits < 0x00800000u ? (bits > 0x00600000u ? 1u : 0u)
                          : normal > 254u    ? 254u
                                             : normal;
    return (kiln_storage_e8m0)(x != x ? 255u : bits >> 31 != 0 ? 0u : code);
}

KILN_DEVICE float kiln_round_e8m0_f32(float x)
{
    return kiln_decode_e8m0(kiln_encode_e8m0(x));
}

KILN_DEVICE double kiln_round_e8m0_f64(double x)
{
    return kiln_round_e8m0_f32(kiln_round_to_odd_f32(x));
}

#endif
