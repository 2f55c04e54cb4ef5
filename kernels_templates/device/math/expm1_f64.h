/*
 * e^x - 1.
 */
#ifndef KILN_DEVICE_MATH_EXPM1_F64_H
#define KILN_DEVICE_MATH_EXPM1_F64_H

#include "device/math/parts/exp_parts_f64.h"

KILN_DEVICE double kiln_expm1_f64(double x)
{
    const double below = x > 709.9 ? 709.9 : x;
    const double limited = below < -40.0 ? -40.0 : below;
    const kiln_exp_parts_f64 parts = kiln_exp_split_f64(limited);
    /* 2^n (1 + p) - 1 by way of its half, because 2^n may overflow where the result does not. */
    const double half = kiln_from_bits_f64((unsigned long long)((unsigned)parts.n + 1022u) << 52);
    const double halved = kiln_fma_f64(half, parts.p, half - 0.5);
    return kiln_copysign_f64(parts.n == 0 ? parts.p : 2.0 * halved, x);
}

#endif
