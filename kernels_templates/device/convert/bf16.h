/*
 * bfloat16: the upper half of a float.
 */
#ifndef KILN_DEVICE_CONVERT_BF16_H
#define KILN_DEVICE_CONVERT_BF16_H

#include "device/convert/parts/round_to_odd.h"

typedef unsigned short kiln_storage_bf16;

KILN_DEVICE float kiln_decode_bf16(kiln_storage_bf16 x)
{
    return kiln_from_bits_f32((unsigned)x << 16);
}

/*
 * Processors with an instruction for two at once. LLVM selects it, since it has to know what it waits for: an instruction in
 * assembly language gets no wait states. The empty one hides where the numbers come from, because LLVM 22 cannot select a cast to
 * __bf16 of a copied sign.
 */
#if defined(__gfx950__) || defined(__gfx1250__) || defined(__gfx1251__)
#define KILN_CONVERTS_TO_BF16
KILN_DEVICE unsigned kiln_convert_pair_bf16(float first, float second)
{
    typedef float pair_f32 __attribute__((ext_vector_type(2)));
    typedef __bf16 pair_bf16 __attribute__((ext_vector_type(2)));
    __asm__("" : "+v"(first), "+v"(second));
    const pair_bf16 pair = __builtin_convertvector((pair_f32){first, second}, pair_bf16);
    unsigned result;
    __builtin_memcpy(&result, &pair, sizeof result);
    return result;
}
#endif

KILN_DEVICE unsigned kiln_round_bits_bf16(float x)
{
#if defined(KILN_CONVERTS_TO_BF16)
    return kiln_convert_pair_bf16(x, x) & 0xffff0000u;
#endif
    /* In the upper half. NaN is made quiet instead: rounding could carry it over to infinity. */
    const unsigned bits = kiln_bits_f32(x);
    const unsigned rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    return x != x ? bits | 0x00400000u : rounded;
}

KILN_DEVICE kiln_storage_bf16 kiln_encode_bf16(float x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    kiln_storage_bf16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(x));
    return result;
#endif
    return (kiln_storage_bf16)(kiln_round_bits_bf16(x) >> 16);
}

/* Drops the lower half. The number is one that bfloat16 holds, or a quiet NaN. */
KILN_DEVICE kiln_storage_bf16 kiln_encode_exact_bf16(float x)
{
    return (kiln_storage_bf16)(kiln_bits_f32(x) >> 16);
}

KILN_DEVICE float kiln_round_bf16_f32(float x)
{
    return kiln_from_bits_f32(kiln_round_bits_bf16(x) & 0xffff0000u);
}

KILN_DEVICE double kiln_round_bf16_f64(double x)
{
    return kiln_round_bf16_f32(kiln_round_to_odd_f32(x));
}

/*
 * Two at once, the first one in the lower half of a word, for operands of matrix instructions only. On AMD GPUs without an instruction for it a value
 * half-way between two goes to the larger one, and a NaN whose bits are all ones is lost.
 */
KILN_DEVICE unsigned kiln_encode_pair_bf16(float first, float second)
{
#if defined(KILN_CONVERTS_TO_BF16)
    return kiln_convert_pair_bf16(first, second);
#elif defined(__AMDGCN__)
    return __builtin_amdgcn_perm(kiln_bits_f32(second) + 0x8000u, kiln_bits_f32(first) + 0x8000u,
                                 0x07060302u);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned result;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(second), "f"(first));
    return result;
#else
    return (unsigned)kiln_encode_bf16(first) | (unsigned)kiln_encode_bf16(second) << 16;
#endif
}

#endif
