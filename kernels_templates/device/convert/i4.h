/*
 * i4: computed with as i32, limited to its range when stored; two's complement in the low bits of a
 * byte.
 */
#ifndef KILN_DEVICE_CONVERT_I4_H
#define KILN_DEVICE_CONVERT_I4_H

#include "device/convert/parts/packed.h"

typedef unsigned char kiln_storage_i4;
typedef kiln_packed<4> kiln_memory_i4;

KILN_DEVICE int kiln_decode_i4(kiln_storage_i4 x)
{
    return (int)((x & 15u) ^ 8u) - 8;
}

KILN_DEVICE int kiln_round_i4_i32(int x)
{
    const int low = x < -8 ? -8 : x;
    return low > 7 ? 7 : low;
}

KILN_DEVICE kiln_storage_i4 kiln_encode_i4(int x)
{
    return (kiln_storage_i4)(kiln_round_i4_i32(x) & 15);
}

#endif
