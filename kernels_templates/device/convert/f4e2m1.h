/*
 * OCP FP4 E2M1: neither NaN nor infinities. Overflow, infinity and NaN become 6.0, the largest
 * number.
 */
#ifndef KILN_DEVICE_CONVERT_F4E2M1_H
#define KILN_DEVICE_CONVERT_F4E2M1_H

#include "device/convert/parts/encode_e2.h"
#include "device/convert/parts/narrow_float.h"
#include "device/convert/parts/packed.h"
#include "device/convert/parts/round_to_odd.h"

typedef unsigned char kiln_storage_f4e2m1;
typedef kiln_packed<4> kiln_memory_f4e2m1;

KILN_DEVICE float kiln_decode_f4e2m1(kiln_storage_f4e2m1 x)
{
    return kiln_decode_narrow((x & 7u) | (x & 8u) << 4, 1, 1, 0x80u);
}

KILN_DEVICE kiln_storage_f4e2m1 kiln_encode_f4e2m1(float x)
{
    return (kiln_storage_f4e2m1)kiln_encode_e2(x, 1);
}

KILN_DEVICE float kiln_round_f4e2m1_f32(float x)
{
    return kiln_decode_f4e2m1(kiln_encode_f4e2m1(x));
}

KILN_DEVICE double kiln_round_f4e2m1_f64(double x)
{
    return kiln_round_f4e2m1_f32(kiln_round_to_odd_f32(x));
}

#endif
