/*
 * Floats to fp8 by an instruction, where the target has one for the type: OCP types on CDNA4, RDNA4, gfx125x and NVIDIA since Ada, FNUZ types
 * on CDNA3. There an OCP code is the FNUZ code of half the number, except for the sign of zero and NaN: the exponents' biases differ
 * by one.
 *
 * CDNA 3 ISA 7.2 and 12.8 (V_CVT_PK_FP8_F32); PTX ISA, cvt.
 */
#ifndef KILN_DEVICE_CONVERT_FP8_INSTRUCTIONS_H
#define KILN_DEVICE_CONVERT_FP8_INSTRUCTIONS_H

#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
#define KILN_CONVERTS_TO_FP8
#define KILN_FP8_IS_FNUZ 1
#elif defined(__gfx950__) || defined(__gfx1200__) || defined(__gfx1201__) || defined(__gfx1250__) || defined(__gfx1251__)
#define KILN_CONVERTS_TO_FP8
#define KILN_FP8_IS_FNUZ 0
#elif defined(__CUDACC__) && __CUDA_ARCH__ >= 890
#define KILN_CONVERTS_TO_FP8
#define KILN_FP8_IS_FNUZ 0
#else
#define KILN_FP8_IS_FNUZ 0
#endif

#if defined(KILN_CONVERTS_TO_FP8)

#if defined(__CUDACC__)
/* Saturate, and keep NaN. */
KILN_DEVICE unsigned kiln_convert_e4m3(float x)
{
    unsigned short codes;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %1;" : "=h"(codes) : "f"(x));
    return codes & 0xffu;
}
KILN_DEVICE unsigned kiln_convert_e5m2(float x)
{
    unsigned short codes;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %1;" : "=h"(codes) : "f"(x));
    return codes & 0xffu;
}
#else
/* Overflow gives NaN. */
KILN_DEVICE unsigned kiln_convert_e4m3(float x)
{
    return (unsigned)__builtin_amdgcn_cvt_pk_fp8_f32(x, x, 0, false) & 0xffu;
}
KILN_DEVICE unsigned kiln_convert_e5m2(float x)
{
    return (unsigned)__builtin_amdgcn_cvt_pk_bf8_f32(x, x, 0, false) & 0xffu;
}
#endif

/* The code of a number whose magnitude is at most `largest`, which greater ones become. */
#if defined(__CUDACC__)
#define KILN_ENCODE_FP8(format, x, largest, nan) kiln_convert_##format(x)
#elif KILN_FP8_IS_FNUZ
#define KILN_ENCODE_FP8(format, x, largest, nan)                                                   \
    ((x != x ? nan : kiln_convert_##format(__builtin_amdgcn_fmed3f(x, -largest, largest) * 0.5f)) |\
     (kiln_bits_f32(x) >> 24 & 0x80u))
#define KILN_ENCODE_FP8_FNUZ(format, x, largest)                                                   \
    kiln_convert_##format(x != x ? x : __builtin_amdgcn_fmed3f(x, -largest, largest))
#else
#define KILN_ENCODE_FP8(format, x, largest, nan)                                                   \
    kiln_convert_##format(x != x ? x : __builtin_amdgcn_fmed3f(x, -largest, largest))
#endif

#endif

#endif
