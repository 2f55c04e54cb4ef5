/*
 * Error function: an odd polynomial below 1, 1 - erfc above.
 */
#ifndef KILN_DEVICE_MATH_ERF_F64_H
#define KILN_DEVICE_MATH_ERF_F64_H

#include "device/math/parts/erf_near_zero_f64.h"
#include "device/math/parts/erfc_positive_f64.h"

KILN_DEVICE double kiln_erf_f64(double x)
{
    const double magnitude = kiln_abs_f64(x);
    const double limited = magnitude > 6.0 ? 6.0 : magnitude; /* the result is 1 from there on */
    const double far = 1.0 - kiln_erfc_positive_f64(limited);
    return magnitude < 1.0 ? kiln_erf_near_zero_f64(x) : kiln_copysign_f64(far, x);
}

#endif
