/*
 * Complementary error function: 1 - erf near 0, where that is more accurate.
 */
#ifndef KILN_DEVICE_MATH_ERFC_F64_H
#define KILN_DEVICE_MATH_ERFC_F64_H

#include "device/math/parts/erf_near_zero_f64.h"
#include "device/math/parts/erfc_positive_f64.h"

KILN_DEVICE double kiln_erfc_f64(double x)
{
    const double magnitude = kiln_abs_f64(x);
    const double limited = magnitude > 27.3 ? 27.3 : magnitude;
    const double positive = kiln_erfc_positive_f64(limited);
    const double far = x < 0.0 ? 2.0 - positive : positive;
    return magnitude < 0.5 ? 1.0 - kiln_erf_near_zero_f64(x) : far;
}

#endif
