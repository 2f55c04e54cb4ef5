/*
 * Helpers of pooling.hip: coordinates clamped into the image, and the larger number, with its
 * position.
 */
#ifndef KILN_DEVICE_POOLING_H
#define KILN_DEVICE_POOLING_H

#include "device/arithmetic.h"

/* The coordinate from 0 to `last` that is nearest. */
KILN_DEVICE int kiln_clamp(int coordinate, int last)
{
    const int below = coordinate < last ? coordinate : last;
    return below > 0 ? below : 0;
}

/* The larger of a number and x, which may be NaN: then it is the number. AMDGPU has an instruction
 * for this. */
KILN_DEVICE float kiln_larger_number_f32(float number, float x)
{
#if defined(__AMDGCN__)
    return __builtin_fmaxf(number, x);
#else
    return x > number ? x : number;
#endif
}

KILN_DEVICE double kiln_larger_number_f64(double number, double x)
{
#if defined(__AMDGCN__)
    return __builtin_fmax(number, x);
#else
    return x > number ? x : number;
#endif
}

/* The first of equal numbers stays. x may be NaN, which is not larger. */
KILN_DEVICE void kiln_take_larger_f32(float &number, int &position, float x, int at)
{
    const bool is_larger = x > number;
    number = is_larger ? x : number;
    position = is_larger ? at : position;
}

KILN_DEVICE void kiln_take_larger_f64(double &number, int &position, double x, int at)
{
    const bool is_larger = x > number;
    number = is_larger ? x : number;
    position = is_larger ? at : position;
}

#endif
