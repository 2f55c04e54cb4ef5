/*
 * float to a type with two bits of exponent and bias 1, below four. The codes of magnitudes are whole steps of a line in each of three
 * ranges, and the lowest of the three lines is the right one:
 *
 *   code = round(min(s t, s t / 2 + s, s t / 4 + 2 s)), at most the last code; s = 2^fraction
 *
 * An addition to 2^23 rounds to whole numbers, ties to even, once.
 */
#ifndef KILN_DEVICE_CONVERT_ENCODE_E2_H
#define KILN_DEVICE_CONVERT_ENCODE_E2_H

KILN_DEVICE unsigned kiln_encode_e2(float x, int fraction)
{
    const float anchor = 0x1p23f, steps = (float)(1 << fraction);
    const float magnitude = kiln_from_bits_f32(kiln_bits_f32(x) & 0x7fffffffu);
    const float low = __builtin_fmaf(magnitude, steps, anchor);
    const float middle = __builtin_fmaf(magnitude, steps / 2, anchor + steps);
    const float high = __builtin_fmaf(magnitude, steps / 4, anchor + 2 * steps);
    const unsigned last = (4u << fraction) - 1;
    const float code = kiln_min_number_f32(kiln_min_number_f32(low, middle),
                                           kiln_min_number_f32(high, anchor + (float)last));
    const unsigned sign = kiln_bits_f32(x) >> 31 << (fraction + 2);
    return x != x ? last : (kiln_bits_f32(code) & last) | sign;
}

#endif
