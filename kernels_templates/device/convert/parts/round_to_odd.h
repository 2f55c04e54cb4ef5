/*
 * double to float such that a second rounding, to a type of at most 22 bits of significand, gives
 * what one rounding would: inexact results get an odd last bit, so that they never lie on a tie of
 * the narrower type. (Boldo, Melquiond: Emulation of FMA and correctly rounded sums, 2008.)
 */
#ifndef KILN_DEVICE_CONVERT_ROUND_TO_ODD_H
#define KILN_DEVICE_CONVERT_ROUND_TO_ODD_H

KILN_DEVICE float kiln_round_to_odd_f32(double x)
{
    const float nearest = (float)x;
    const double back = (double)nearest;
    const unsigned bits = kiln_bits_f32(nearest);
    const unsigned towards_zero = bits - (__builtin_fabs(back) > __builtin_fabs(x) ? 1u : 0u);
    return back == x || x != x ? nearest : kiln_from_bits_f32(towards_zero | 1u);
}

#endif
