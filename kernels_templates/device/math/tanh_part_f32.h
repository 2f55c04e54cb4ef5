/*
 * What of a hyperbolic tangent is left when constants are taken out of it: tanh(y) = 1 + 2 part(2 y log2(e)), to an absolute
 * error below 2^-21. Near 0 digits are lost: it is for sums that are rounded to less than that.
 */
#ifndef KILN_DEVICE_MATH_TANH_PART_F32_H
#define KILN_DEVICE_MATH_TANH_PART_F32_H

#ifdef KILN_HAS_SEED_EXP2

/* Where the exponential is infinite its inverse is 0. */
KILN_DEVICE float kiln_tanh_part_f32(float x)
{
    return -kiln_seed_rcp_f32(kiln_seed_exp2_f32(x) + 1.0f);
}

#else

#include "device/math/tanh_f32.h"

KILN_DEVICE float kiln_tanh_part_f32(float x)
{
    return (kiln_tanh_f32(x * 0x1.62e43p-2f) - 1.0f) * 0.5f;
}

#endif

#endif
