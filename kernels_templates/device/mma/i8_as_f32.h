/*
 * Operands of int8 that something is computed of in float: all numbers of a pack at once.
 */
#ifndef KILN_DEVICE_MMA_I8_AS_F32_H
#define KILN_DEVICE_MMA_I8_AS_F32_H

#include "device/convert/i8.h"

#if defined(__AMDGCN__)

typedef _Float16 kiln_half_pair __attribute__((ext_vector_type(2)));

/*
 * As halves on the way, two at a time: with its sign bit inverted x is x + 128, and the half with that in its lowest bits and 0x64
 * above them is 1024 + 128 + x. All of it is exact. LLVM (15 and 19) makes four instructions of the conversion of one number, since
 * it takes bytes for 16 bits in between; and it multiplies halves by floats in one.
 */
template <unsigned COUNT>
KILN_DEVICE void kiln_i8_as_f32(const kiln_storage_i8 (&from)[COUNT], float (&to)[COUNT])
{
    unsigned words[(COUNT + 3) / 4] = {};
    __builtin_memcpy(words, from, COUNT); /* 2 of a pack of doubles */
    KILN_UNROLL
    for (unsigned i = 0; i < (COUNT + 1) / 2; i++) {
        const unsigned shifted = words[i / 2] ^ 0x80808080u;
        const unsigned halves =
            __builtin_amdgcn_perm(0x64646464u, shifted, i % 2 == 0 ? 0x04010400u : 0x04030402u);
        const kiln_half_pair pair =
            __builtin_bit_cast(kiln_half_pair, halves) - (kiln_half_pair)(_Float16)1152;
        to[2 * i] = (float)pair[0];
        if (2 * i + 1 < COUNT)
            to[2 * i + 1] = (float)pair[1];
    }
}

#else

template <unsigned COUNT>
KILN_DEVICE void kiln_i8_as_f32(const kiln_storage_i8 (&from)[COUNT], float (&to)[COUNT])
{
    KILN_UNROLL
    for (unsigned i = 0; i < COUNT; i++)
        to[i] = (float)from[i];
}

#endif

#endif
