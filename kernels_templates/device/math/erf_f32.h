/*
 * Error function: an odd polynomial below 0.92, 1 - e^-P(|x|) above.
 * Coefficients: Remez exchange in 130 digits, relative error below 2^-28.
 */
#ifndef KILN_DEVICE_MATH_ERF_F32_H
#define KILN_DEVICE_MATH_ERF_F32_H

#include "device/math/parts/erf_near_zero_f32.h"
#include "device/math/parts/exp_parts_f32.h"

KILN_DEVICE float kiln_erf_f32(float x)
{
    const float magnitude = kiln_abs_f32(x);
    const float limited = magnitude > 4.0f ? 4.0f : magnitude; /* the result is 1 from there on */
    float p = -0x1.9aef4ep-13f;
    p = kiln_fma_f32(p, limited, 0x1.8ee40ap-9f);
    p = kiln_fma_f32(p, limited, -0x1.6c2b54p-6f);
    p = kiln_fma_f32(p, limited, 0x1.a9b47p-4f);
    p = kiln_fma_f32(p, limited, 0x1.463cbcp-1f);
    p = kiln_fma_f32(p, limited, 0x1.20af5ap+0f);
    p = kiln_fma_f32(p, limited, 0x1.9a5c7ep-13f);
    const kiln_exp_parts_f32 parts = kiln_exp_split_f32(-p);
    const float far = 1.0f - kiln_scale_f32(1.0f + parts.p, parts.n);
    const float near = kiln_erf_near_zero_f32(x);
    return magnitude < 0.92f ? near : kiln_copysign_f32(far, x);
}

#endif
