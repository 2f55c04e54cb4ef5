/*
 * The standard normal distribution function: half of the complementary error function of -x / sqrt 2, but for numbers near 0,
 * where the error function itself is more accurate.
 */
#ifndef KILN_DEVICE_MATH_NORMAL_CDF_F64_H
#define KILN_DEVICE_MATH_NORMAL_CDF_F64_H

#include "device/math/parts/erf_near_zero_f64.h"
#include "device/math/parts/erfc_positive_f64.h"

KILN_DEVICE double kiln_normal_cdf_f64(double x)
{
    const double scaled = x * 0x1.6a09e667f3bcdp-1;
    const double magnitude = kiln_abs_f64(scaled);
    const double limited = magnitude > 27.3 ? 27.3 : magnitude;
    const double tail = 0.5 * kiln_erfc_positive_f64(limited);
    const double far = x < 0.0 ? tail : 1.0 - tail;
    return magnitude < 0.5 ? kiln_fma_f64(0.5, kiln_erf_near_zero_f64(scaled), 0.5) : far;
}

#endif
