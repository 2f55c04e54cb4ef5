/*
 * fp8 operands where no instruction multiplies them: four codes as the halves that they are, NaN as some NaN.
 */
#ifndef KILN_DEVICE_MMA_FP8_AS_F16_H
#define KILN_DEVICE_MMA_FP8_AS_F16_H

#include "device/convert/f16.h"
#include "device/convert/f8e4m3.h"
#include "device/convert/f8e5m2.h"

#if defined(__AMDGCN__)

typedef _Float16 kiln_two_halves __attribute__((ext_vector_type(2)));

/* Codes 0 and 1, or 2 and 3, in the upper bytes of two halves. */
KILN_DEVICE unsigned kiln_spread_codes(unsigned codes, int pair)
{
    return __builtin_amdgcn_perm(0u, codes, pair == 0 ? 0x010c000cu : 0x030c020cu);
}

KILN_DEVICE void kiln_f8e5m2_as_f16(const kiln_storage_f8e5m2 (&from)[4], kiln_storage_f16 *to)
{
    unsigned codes, halves[2];
    __builtin_memcpy(&codes, from, sizeof codes);
    KILN_UNROLL
    for (int pair = 0; pair < 2; pair++)
        halves[pair] = kiln_spread_codes(codes, pair);
    __builtin_memcpy(to, halves, sizeof halves);
}

/* Exponents are biased by 7 and not by 15: a code that is moved one bit down stands for its 256th part. */
KILN_DEVICE void kiln_f8e4m3_as_f16(const kiln_storage_f8e4m3 (&from)[4], kiln_storage_f16 *to)
{
    unsigned codes, halves[2];
    __builtin_memcpy(&codes, from, sizeof codes);
    KILN_UNROLL
    for (int pair = 0; pair < 2; pair++) {
        const unsigned spread = kiln_spread_codes(codes, pair);
        const unsigned magnitudes = spread >> 1 & 0x3f803f80u;
        const unsigned nan = (magnitudes + 0x00800080u) >> 1 & 0x20002000u;
        const kiln_two_halves scaled =
            __builtin_bit_cast(kiln_two_halves, magnitudes | (spread & 0x80008000u)) *
            (kiln_two_halves)(_Float16)256;
        /* 480 would be the value of NaN's code: one bit more makes its exponent NaN's. */
        halves[pair] = __builtin_bit_cast(unsigned, scaled) | nan;
    }
    __builtin_memcpy(to, halves, sizeof halves);
}

#else

KILN_DEVICE void kiln_f8e5m2_as_f16(const kiln_storage_f8e5m2 (&from)[4], kiln_storage_f16 *to)
{
    KILN_UNROLL
    for (int i = 0; i < 4; i++)
        to[i] = kiln_encode_f16(kiln_decode_f8e5m2(from[i]));
}

KILN_DEVICE void kiln_f8e4m3_as_f16(const kiln_storage_f8e4m3 (&from)[4], kiln_storage_f16 *to)
{
    KILN_UNROLL
    for (int i = 0; i < 4; i++)
        to[i] = kiln_encode_f16(kiln_decode_f8e4m3(from[i]));
}

#endif

#endif
