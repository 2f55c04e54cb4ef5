/*
 * e^x = 2^n * (1 + p): x = n ln 2 + r with |r| <= ln 2 / 2, p = e^r - 1.
 * Coefficients: Remez exchange in 130 digits, relative error below 2^-58.
 * ln 2 is split in two so that the first difference is exact.
 */
#ifndef KILN_DEVICE_MATH_EXP_PARTS_F64_H
#define KILN_DEVICE_MATH_EXP_PARTS_F64_H

struct kiln_exp_parts_f64 {
    double p;
    int n;
};

KILN_DEVICE kiln_exp_parts_f64 kiln_exp_split_f64(double x)
{
    /* For |x| below 2000. Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits; NaN
     * stays in p. */
    const double anchor = 0x1.8p52;
    const double anchored = kiln_fma_f64(x, 0x1.71547652b82fep+0, anchor);
    const double k = anchored - anchor;
    const double r =
        kiln_fma_f64(k, -0x1.abc9e3b39803fp-56, kiln_fma_f64(k, -0x1.62e42fefa39efp-1, x));
    double p = 0x1.2013f637a1cf1p-29;
    p = kiln_fma_f64(p, r, 0x1.af6592c023895p-26);
    p = kiln_fma_f64(p, r, 0x1.27e483d8889b9p-22);
    p = kiln_fma_f64(p, r, 0x1.71ddf4a7e1a8bp-19);
    p = kiln_fma_f64(p, r, 0x1.a01a01c74ff34p-16);
    p = kiln_fma_f64(p, r, 0x1.a01a01b13ccb9p-13);
    p = kiln_fma_f64(p, r, 0x1.6c16c16c117f7p-10);
    p = kiln_fma_f64(p, r, 0x1.111111110f3a4p-7);
    p = kiln_fma_f64(p, r, 0x1.555555555555cp-5);
    p = kiln_fma_f64(p, r, 0x1.5555555555559p-3);
    p = kiln_fma_f64(p, r, 0x1p-1);
    kiln_exp_parts_f64 parts;
    parts.p = kiln_fma_f64(r * r, p, r);
    parts.n = (int)((unsigned)kiln_bits_f64(anchored) - (unsigned)kiln_bits_f64(anchor));
    return parts;
}

#endif
