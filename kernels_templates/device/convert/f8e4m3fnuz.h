/*
 * FNUZ fp8 E4M3, of CDNA3: no infinity, no -0, one NaN. Overflow and infinity become 240, the largest
 * number.
 */
#ifndef KILN_DEVICE_CONVERT_F8E4M3FNUZ_H
#define KILN_DEVICE_CONVERT_F8E4M3FNUZ_H

#include "device/convert/parts/fp8_instructions.h"
#include "device/convert/parts/narrow_float.h"
#include "device/convert/parts/round_to_odd.h"

typedef unsigned char kiln_storage_f8e4m3fnuz;

KILN_DEVICE float kiln_decode_f8e4m3fnuz(kiln_storage_f8e4m3fnuz x)
{
    return kiln_decode_narrow_fnuz(x, 3, 8);
}

KILN_DEVICE kiln_storage_f8e4m3fnuz kiln_encode_f8e4m3fnuz(float x)
{
#if defined(KILN_ENCODE_FP8_FNUZ)
    return (kiln_storage_f8e4m3fnuz)KILN_ENCODE_FP8_FNUZ(e4m3, x, 240.0f);
#else
    return (kiln_storage_f8e4m3fnuz)kiln_encode_narrow_fnuz(x, 3, 8, 240.0f);
#endif
}

KILN_DEVICE float kiln_round_f8e4m3fnuz_f32(float x)
{
    return kiln_decode_f8e4m3fnuz(kiln_encode_f8e4m3fnuz(x));
}

KILN_DEVICE double kiln_round_f8e4m3fnuz_f64(double x)
{
    return kiln_round_f8e4m3fnuz_f32(kiln_round_to_odd_f32(x));
}

#endif
