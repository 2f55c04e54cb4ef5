/*
 * Natural logarithm.
 */
#ifndef KILN_DEVICE_MATH_LOG_F64_H
#define KILN_DEVICE_MATH_LOG_F64_H

#include "device/math/parts/log_parts_f64.h"

KILN_DEVICE double kiln_log_f64(double x)
{
    const bool is_tiny = x < 0x1p-1022;
    const double normal = is_tiny ? x * 0x1p52 : x;
    const unsigned long long exponent = kiln_log_exponent_f64(normal);
    const double k = (double)((int)(exponent >> 32) >> 20) - (is_tiny ? 52.0 : 0.0);
    const double f = kiln_from_bits_f64(kiln_bits_f64(normal) - exponent) - 1.0;
    const double result = kiln_log_join_f64(f, k);
    const double special = x == 0.0 ? -__builtin_inf() : x > 0.0 ? x : __builtin_nan("");
    return x > 0.0 && x < __builtin_inf() ? result : special;
}

#endif
