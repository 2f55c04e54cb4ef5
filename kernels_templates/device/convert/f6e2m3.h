/*
 * OCP FP6 E2M3: neither NaN nor infinities. Overflow, infinity and NaN become 7.5, the largest
 * number.
 */
#ifndef KILN_DEVICE_CONVERT_F6E2M3_H
#define KILN_DEVICE_CONVERT_F6E2M3_H

#include "device/convert/parts/encode_e2.h"
#include "device/convert/parts/narrow_float.h"
#include "device/convert/parts/packed.h"
#include "device/convert/parts/round_to_odd.h"

typedef unsigned char kiln_storage_f6e2m3;
typedef kiln_packed<6> kiln_memory_f6e2m3;

KILN_DEVICE float kiln_decode_f6e2m3(kiln_storage_f6e2m3 x)
{
    return kiln_decode_narrow((x & 0x1fu) | (x & 0x20u) << 2, 3, 1, 0x80u);
}

KILN_DEVICE kiln_storage_f6e2m3 kiln_encode_f6e2m3(float x)
{
    return (kiln_storage_f6e2m3)kiln_encode_e2(x, 3);
}

KILN_DEVICE float kiln_round_f6e2m3_f32(float x)
{
    return kiln_decode_f6e2m3(kiln_encode_f6e2m3(x));
}

KILN_DEVICE double kiln_round_f6e2m3_f64(double x)
{
    return kiln_round_f6e2m3_f32(kiln_round_to_odd_f32(x));
}

#endif
