/*
 * FNUZ fp8 E5M2, of CDNA3: no infinity, no -0, one NaN. Overflow and infinity become 57344, the largest
 * number.
 */
#ifndef KILN_DEVICE_CONVERT_F8E5M2FNUZ_H
#define KILN_DEVICE_CONVERT_F8E5M2FNUZ_H

#include "device/convert/parts/fp8_instructions.h"
#include "device/convert/parts/narrow_float.h"
#include "device/convert/parts/round_to_odd.h"

typedef unsigned char kiln_storage_f8e5m2fnuz;

KILN_DEVICE float kiln_decode_f8e5m2fnuz(kiln_storage_f8e5m2fnuz x)
{
    return kiln_decode_narrow_fnuz(x, 2, 16);
}

KILN_DEVICE kiln_storage_f8e5m2fnuz kiln_encode_f8e5m2fnuz(float x)
{
#if defined(KILN_ENCODE_FP8_FNUZ)
    return (kiln_storage_f8e5m2fnuz)KILN_ENCODE_FP8_FNUZ(e5m2, x, 57344.0f);
#else
    return (kiln_storage_f8e5m2fnuz)kiln_encode_narrow_fnuz(x, 2, 16, 57344.0f);
#endif
}

KILN_DEVICE float kiln_round_f8e5m2fnuz_f32(float x)
{
    return kiln_decode_f8e5m2fnuz(kiln_encode_f8e5m2fnuz(x));
}

KILN_DEVICE double kiln_round_f8e5m2fnuz_f64(double x)
{
    return kiln_round_f8e5m2fnuz_f32(kiln_round_to_odd_f32(x));
}

#endif
