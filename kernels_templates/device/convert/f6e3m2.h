/*
 * OCP FP6 E3M2: neither NaN nor infinities. Overflow, infinity and NaN become 28.0, the largest
 * number.
 */
#ifndef KILN_DEVICE_CONVERT_F6E3M2_H
#define KILN_DEVICE_CONVERT_F6E3M2_H

#include "device/convert/parts/narrow_float.h"
#include "device/convert/parts/packed.h"
#include "device/convert/parts/round_to_odd.h"

typedef unsigned char kiln_storage_f6e3m2;
typedef kiln_packed<6> kiln_memory_f6e3m2;

KILN_DEVICE float kiln_decode_f6e3m2(kiln_storage_f6e3m2 x)
{
    return kiln_decode_narrow((x & 0x1fu) | (x & 0x20u) << 2, 2, 3, 0x80u);
}

KILN_DEVICE kiln_storage_f6e3m2 kiln_encode_f6e3m2(float x)
{
    const unsigned code = kiln_encode_narrow(x, 2, 3, 28.0f, 0x1fu);
    return (kiln_storage_f6e3m2)(x != x ? 0x1fu : (code & 0x1fu) | (code >> 2 & 0x20u));
}

KILN_DEVICE float kiln_round_f6e3m2_f32(float x)
{
    return kiln_decode_f6e3m2(kiln_encode_f6e3m2(x));
}

KILN_DEVICE double kiln_round_f6e3m2_f64(double x)
{
    return kiln_round_f6e3m2_f32(kiln_round_to_odd_f32(x));
}

#endif
