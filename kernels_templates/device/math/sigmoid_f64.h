/*
 * 1 / (1 + e^-x), by way of e^-|x|, which neither overflows nor loses a small result.
 */
#ifndef KILN_DEVICE_MATH_SIGMOID_F64_H
#define KILN_DEVICE_MATH_SIGMOID_F64_H

#include "device/math/exp_f64.h"

KILN_DEVICE double kiln_sigmoid_f64(double x)
{
    const double e = kiln_exp_f64(-kiln_abs_f64(x));
    return (x >= 0.0 ? 1.0 : e) / (1.0 + e);
}

#endif
