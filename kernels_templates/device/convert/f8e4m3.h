/*
 * OCP fp8 E4M3: no infinity, one NaN per sign. Overflow and infinity become 448, the largest
 * number.
 */
#ifndef KILN_DEVICE_CONVERT_F8E4M3_H
#define KILN_DEVICE_CONVERT_F8E4M3_H

#include "device/convert/parts/fp8_instructions.h"
#include "device/convert/parts/narrow_float.h"
#include "device/convert/parts/round_to_odd.h"

typedef unsigned char kiln_storage_f8e4m3;

KILN_DEVICE float kiln_decode_f8e4m3(kiln_storage_f8e4m3 x)
{
    return kiln_decode_narrow(x, 3, 7, 0x7fu);
}

KILN_DEVICE kiln_storage_f8e4m3 kiln_encode_f8e4m3(float x)
{
#if defined(KILN_ENCODE_FP8)
    return (kiln_storage_f8e4m3)KILN_ENCODE_FP8(e4m3, x, 448.0f, 0x7fu);
#else
    return (kiln_storage_f8e4m3)kiln_encode_narrow(x, 3, 7, 448.0f, 0x7fu);
#endif
}

KILN_DEVICE float kiln_round_f8e4m3_f32(float x)
{
    return kiln_decode_f8e4m3(kiln_encode_f8e4m3(x));
}

KILN_DEVICE double kiln_round_f8e4m3_f64(double x)
{
    return kiln_round_f8e4m3_f32(kiln_round_to_odd_f32(x));
}

#endif
