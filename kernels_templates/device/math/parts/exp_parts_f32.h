/*
 * e^x = 2^n * (1 + p): x = n ln 2 + r with |r| <= ln 2 / 2, p = e^r - 1.
 * Coefficients: Remez exchange in 130 digits, relative error below 2^-26.
 * ln 2 is split in two so that the first difference is exact.
 */
#ifndef KILN_DEVICE_MATH_EXP_PARTS_F32_H
#define KILN_DEVICE_MATH_EXP_PARTS_F32_H

struct kiln_exp_parts_f32 {
    float p;
    int n;
};

KILN_DEVICE kiln_exp_parts_f32 kiln_exp_split_f32(float x)
{
    /* For |x| below 1000. Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits; NaN
     * stays in p. */
    const float anchor = 0x1.8p23f;
    const float anchored = kiln_fma_f32(x, 0x1.715476p+0f, anchor);
    const float k = anchored - anchor;
    const float r = kiln_fma_f32(k, 0x1.05c61p-29f, kiln_fma_f32(k, -0x1.62e43p-1f, x));
    float p = 0x1.6e6142p-10f;
    p = kiln_fma_f32(p, r, 0x1.12361cp-7f);
    p = kiln_fma_f32(p, r, 0x1.555442p-5f);
    p = kiln_fma_f32(p, r, 0x1.55549ep-3f);
    p = kiln_fma_f32(p, r, 0x1p-1f);
    kiln_exp_parts_f32 parts;
    parts.p = kiln_fma_f32(r * r, p, r);
    parts.n = (int)((unsigned)kiln_bits_f32(anchored) - (unsigned)kiln_bits_f32(anchor));
    return parts;
}

#endif
