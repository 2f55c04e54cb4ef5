/*
 * float to and from a narrower floating-point type with `fraction` stored bits of significand and
 * exponent bias `bias`, by integer operations without branches. The parameters are constants at
 * every use.
 */
#ifndef KILN_DEVICE_CONVERT_NARROW_FLOAT_H
#define KILN_DEVICE_CONVERT_NARROW_FLOAT_H

KILN_DEVICE unsigned kiln_encode_narrow(float x, int fraction, int bias, float clamp, unsigned nan)
{
    /* Magnitudes above `clamp` become `clamp`: the largest finite number, or the power of two whose
     * code is infinity's. */
    const unsigned bits = kiln_bits_f32(x);
    const unsigned magnitude = bits & 0x7fffffffu;
    const unsigned limit = kiln_bits_f32(clamp);
    const unsigned limited = magnitude < limit ? magnitude : limit;
    const int dropped = 23 - fraction;
    /* Normal: add half of what is dropped, less one when the kept part is even. */
    const unsigned odd = limited >> dropped & 1u;
    const unsigned rebased = limited - ((unsigned)(127 - bias) << 23);
    const unsigned normal = (rebased + (1u << (dropped - 1)) - 1u + odd) >> dropped;
    /* Denormal: adding a number whose ulp is the smallest denormal leaves the code in the low bits,
     * rounded. */
    const unsigned anchor = (unsigned)(127 + 1 - bias + dropped) << 23;
    const unsigned denormal =
        kiln_bits_f32(kiln_from_bits_f32(limited) + kiln_from_bits_f32(anchor)) - anchor;
    const unsigned code = limited < (unsigned)(127 + 1 - bias) << 23 ? denormal : normal;
    const unsigned sign = bits >> 31 << 7 << (fraction > 7 ? 8 : 0);
    return (magnitude > 0x7f800000u ? nan : code) | sign;
}

KILN_DEVICE float kiln_decode_narrow(unsigned code, int fraction, int bias, unsigned first_special)
{
    /* Codes from `first_special` on are infinity and NaN, laid out as in float. */
    const bool is_wide = fraction > 7;
#if defined(__AMDGCN__)
    /* A GPU multiplies denormal numbers as fast as others: the code, shifted, is the number divided
     * by a power of two. Decoding is most of the text of a kernel that does it for every operand. */
    if (!is_wide) {
        const unsigned bits = (unsigned)((int)(signed char)code << (23 - fraction)) &
                              (0x80000000u | 0x7fu << (23 - fraction));
        const float number =
            kiln_from_bits_f32(bits) * kiln_from_bits_f32((unsigned)(254 - bias) << 23);
        return first_special < 0x80u && (code & 0x7fu) >= first_special
                   ? kiln_from_bits_f32(bits | 0x7f800000u)
                   : number;
    }
#endif
    const unsigned magnitude = code & (is_wide ? 0x7fffu : 0x7fu);
    const unsigned shifted = magnitude << (23 - fraction);
    const unsigned normal = shifted + ((unsigned)(127 - bias) << 23);
    const unsigned smallest_normal = (unsigned)(127 + 1 - bias) << 23;
    const float denormal =
        kiln_from_bits_f32(smallest_normal | shifted) - kiln_from_bits_f32(smallest_normal);
    const unsigned finite = magnitude < 1u << fraction ? kiln_bits_f32(denormal) : normal;
    const unsigned value = magnitude >= first_special ? shifted | 0x7f800000u : finite;
    return kiln_from_bits_f32(value | (code & (is_wide ? 0x8000u : 0x80u)) << (is_wide ? 16 : 24));
}

/* One byte without infinity and -0, whose code is that of NaN. */
KILN_DEVICE unsigned kiln_encode_narrow_fnuz(float x, int fraction, int bias, float clamp)
{
    const unsigned code = kiln_encode_narrow(x, fraction, bias, clamp, 0u);
    const unsigned number = (code & 0x7fu) != 0 ? code : 0u;
    return x != x ? 0x80u : number;
}

KILN_DEVICE float kiln_decode_narrow_fnuz(unsigned code, int fraction, int bias)
{
    const float number = kiln_decode_narrow(code, fraction, bias, 0x80u);
    return code == 0x80u ? kiln_from_bits_f32(0x7fc00000u) : number;
}

#endif
