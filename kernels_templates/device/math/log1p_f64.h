/*
 * Natural logarithm of 1 + x: what rounding 1 + x loses is added to the fraction.
 */
#ifndef KILN_DEVICE_MATH_LOG1P_F64_H
#define KILN_DEVICE_MATH_LOG1P_F64_H

#include "device/math/parts/log_parts_f64.h"

KILN_DEVICE double kiln_log1p_f64(double x)
{
    const double sum = 1.0 + x;
    const double lost = x < 1.0 ? x - (sum - 1.0) : 1.0 - (sum - x);
    const unsigned long long exponent = kiln_log_exponent_f64(sum);
    const int k = (int)(exponent >> 32) >> 20;
    const double f = kiln_from_bits_f64(kiln_bits_f64(sum) - exponent) - 1.0;
    /* From 2^60 on the loss has no effect, and 2^-k would be denormal. */
    const double scale = kiln_from_bits_f64(0x3ff0000000000000ull - (x < 0x1p60 ? exponent : 0ull));
    const double result = kiln_log_join_f64(x < 0x1p60 ? f + lost * scale : f, (double)k);
    const double special = x == -1.0 ? -__builtin_inf() : x > 0.0 ? x : __builtin_nan("");
    return x > -1.0 && x < __builtin_inf() ? kiln_copysign_f64(result, x) : special;
}

#endif
