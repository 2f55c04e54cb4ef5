/*
 * Hyperbolic tangent: with e = e^2|x| - 1 it is e / (e + 2).
 */
#ifndef KILN_DEVICE_MATH_TANH_F64_H
#define KILN_DEVICE_MATH_TANH_F64_H

#include "device/math/expm1_f64.h"

KILN_DEVICE double kiln_tanh_f64(double x)
{
    const double magnitude = kiln_abs_f64(x);
    const double limited = magnitude > 22.0 ? 22.0 : magnitude; /* the result is 1 from there on */
    const double e = kiln_expm1_f64(2.0 * limited);
    return kiln_copysign_f64(e / (e + 2.0), x);
}

#endif
