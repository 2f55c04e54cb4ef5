/*
 * IEEE half.
 */
#ifndef KILN_DEVICE_CONVERT_F16_H
#define KILN_DEVICE_CONVERT_F16_H

#include "device/convert/parts/narrow_float.h"
#include "device/convert/parts/round_to_odd.h"

#if defined(__AMDGCN__)

typedef _Float16 kiln_storage_f16;

KILN_DEVICE float kiln_decode_f16(kiln_storage_f16 x)
{
    return (float)x;
}

KILN_DEVICE kiln_storage_f16 kiln_encode_f16(float x)
{
    return (kiln_storage_f16)x;
}

#elif defined(__CUDACC__)

typedef unsigned short kiln_storage_f16;

/* Of the library that is built into NVRTC. An asm statement is done again in each basic block, since it counts as convergent:
 * so what a kernel holds stays narrow (schedule.h). */
extern "C" __device__ float __nv_half2float(unsigned short x);
extern "C" __device__ unsigned short __nv_float2half_rn(float x);

KILN_DEVICE float kiln_decode_f16(kiln_storage_f16 x)
{
#ifdef KILN_DECODES_AGAIN
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x));
    return result;
#else
    return __nv_half2float(x);
#endif
}

KILN_DEVICE kiln_storage_f16 kiln_encode_f16(float x)
{
    return __nv_float2half_rn(x);
}

#else

typedef unsigned short kiln_storage_f16;

KILN_DEVICE float kiln_decode_f16(kiln_storage_f16 x)
{
    return kiln_decode_narrow(x, 10, 15, 0x7c00u);
}

KILN_DEVICE kiln_storage_f16 kiln_encode_f16(float x)
{
    return (kiln_storage_f16)kiln_encode_narrow(x, 10, 15, 65536.0f, 0x7e00u);
}

#endif

KILN_DEVICE float kiln_round_f16_f32(float x)
{
    return kiln_decode_f16(kiln_encode_f16(x));
}

KILN_DEVICE double kiln_round_f16_f64(double x)
{
    return kiln_round_f16_f32(kiln_round_to_odd_f32(x));
}

#endif
