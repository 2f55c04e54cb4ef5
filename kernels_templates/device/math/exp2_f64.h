/*
 * 2^x, exact for integers.
 */
#ifndef KILN_DEVICE_MATH_EXP2_F64_H
#define KILN_DEVICE_MATH_EXP2_F64_H

#include "device/math/parts/exp_parts_f64.h"

KILN_DEVICE double kiln_exp2_f64(double x)
{
    /* Beyond these the result is infinity or 0. NaN passes. */
    const double below = x > 1030.0 ? 1030.0 : x;
    const double limited = below < -1080.0 ? -1080.0 : below;
    /* Adding 1.5 * 2^52 rounds to an integer. */
    const double integer = (limited + 0x1.8p52) - 0x1.8p52;
    const kiln_exp_parts_f64 parts = kiln_exp_split_f64((limited - integer) * 0x1.62e42fefa39efp-1);
    return kiln_scale_f64(1.0 + parts.p, parts.n + (x != x ? 0 : (int)integer));
}

#endif
