/*
 * Cosine.
 */
#ifndef KILN_DEVICE_MATH_COS_F64_H
#define KILN_DEVICE_MATH_COS_F64_H

#include "device/math/parts/angle_f64.h"
#include "device/math/parts/sin_cos_f64.h"

KILN_DEVICE double kiln_cos_f64(double x)
{
    const kiln_angle_f64 angle = kiln_reduce_angle_f64(x);
    const double sine = kiln_sin_near_zero_f64(angle.r, angle.tail);
    const double cosine = kiln_cos_near_zero_f64(angle.r, angle.tail);
    const double magnitude = (angle.quadrant & 1u) != 0 ? sine : cosine;
    const bool is_negative = ((angle.quadrant + 1u) & 2u) != 0;
    const double result = is_negative ? -magnitude : magnitude;
    return kiln_abs_f64(x) < __builtin_inf() ? result : x - x;
}

#endif
