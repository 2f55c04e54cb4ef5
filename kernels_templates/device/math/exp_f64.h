/*
 * e^x.
 */
#ifndef KILN_DEVICE_MATH_EXP_F64_H
#define KILN_DEVICE_MATH_EXP_F64_H

#include "device/math/parts/exp_parts_f64.h"

KILN_DEVICE double kiln_exp_f64(double x)
{
    /* Beyond these the result is infinity or 0. NaN passes. */
    const double below = x > 710.0 ? 710.0 : x;
    const double limited = below < -750.0 ? -750.0 : below;
    const kiln_exp_parts_f64 parts = kiln_exp_split_f64(limited);
    return kiln_scale_f64(1.0 + parts.p, parts.n);
}

#endif
