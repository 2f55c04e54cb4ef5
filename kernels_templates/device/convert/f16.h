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

/* These functions belong to the library that is built into NVRTC. */
extern "C" __device__ float __nv_half2float(unsigned short x);
extern "C" __device__ unsigned short __nv_float2half_rn(float x);

KILN_DEVICE float kiln_decode_f16(kiln_storage_f16 x)
{
    return __nv_half2float(x);
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

/* Two at once, the first one in the lower half of a word. */
KILN_DEVICE unsigned kiln_encode_pair_f16(float first, float second)
{
#if defined(__AMDGCN__)
    const kiln_storage_f16 both[2] = {kiln_encode_f16(first), kiln_encode_f16(second)};
    return __builtin_bit_cast(unsigned, both);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned result;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(second), "f"(first));
    return result;
#else
    return (unsigned)kiln_encode_f16(first) | (unsigned)kiln_encode_f16(second) << 16;
#endif
}

#endif
