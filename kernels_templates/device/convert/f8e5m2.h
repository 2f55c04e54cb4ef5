/*
 * OCP fp8 E5M2. Overflow and infinity become 57344, the largest finite number; stored infinities
 * are read.
 */
#ifndef KILN_DEVICE_CONVERT_F8E5M2_H
#define KILN_DEVICE_CONVERT_F8E5M2_H

#include "device/convert/parts/fp8_instructions.h"
#include "device/convert/parts/narrow_float.h"
#include "device/convert/parts/round_to_odd.h"

typedef unsigned char kiln_storage_f8e5m2;

KILN_DEVICE float kiln_decode_f8e5m2(kiln_storage_f8e5m2 x)
{
#if defined(__AMDGCN__)
    return (float)__builtin_bit_cast(_Float16, (unsigned short)(x << 8)); /* half's upper byte */
#else
    return kiln_decode_narrow(x, 2, 15, 0x7cu);
#endif
}

KILN_DEVICE kiln_storage_f8e5m2 kiln_encode_f8e5m2(float x)
{
#if defined(KILN_ENCODE_FP8)
    return (kiln_storage_f8e5m2)KILN_ENCODE_FP8(e5m2, x, 57344.0f, 0x7fu);
#else
    return (kiln_storage_f8e5m2)kiln_encode_narrow(x, 2, 15, 57344.0f, 0x7fu);
#endif
}

KILN_DEVICE float kiln_round_f8e5m2_f32(float x)
{
    return kiln_decode_f8e5m2(kiln_encode_f8e5m2(x));
}

KILN_DEVICE double kiln_round_f8e5m2_f64(double x)
{
    return kiln_round_f8e5m2_f32(kiln_round_to_odd_f32(x));
}

#endif
