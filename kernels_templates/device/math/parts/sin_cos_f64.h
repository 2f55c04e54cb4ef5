/*
 * Sine and cosine of r + tail within pi/4 of 0. Coefficients: Remez exchange in 130 digits,
 * relative error below 2^-57.
 */
#ifndef KILN_DEVICE_MATH_SIN_COS_F64_H
#define KILN_DEVICE_MATH_SIN_COS_F64_H

KILN_DEVICE double kiln_sin_near_zero_f64(double r, double tail)
{
    const double s = r * r;
    double p = 0x1.5d8b524862a0fp-33;
    p = kiln_fma_f64(p, s, -0x1.ae5e4b7bbf689p-26);
    p = kiln_fma_f64(p, s, 0x1.71de355524b1fp-19);
    p = kiln_fma_f64(p, s, -0x1.a01a019be91dcp-13);
    p = kiln_fma_f64(p, s, 0x1.111111110f73p-7);
    p = kiln_fma_f64(p, s, -0x1.5555555555548p-3);
    return r + kiln_fma_f64(r * s, p, tail * kiln_fma_f64(s, -0.5, 1.0));
}

KILN_DEVICE double kiln_cos_near_zero_f64(double r, double tail)
{
    const double s = r * r;
    double p = -0x1.8fa6714685b13p-37;
    p = kiln_fma_f64(p, s, 0x1.1ee9dbae6c99ap-29);
    p = kiln_fma_f64(p, s, -0x1.27e4f7f1692c1p-22);
    p = kiln_fma_f64(p, s, 0x1.a01a019c8efaep-16);
    p = kiln_fma_f64(p, s, -0x1.6c16c16c15014p-10);
    p = kiln_fma_f64(p, s, 0x1.555555555554bp-5);
    const double half = 0.5 * s;
    const double head = 1.0 - half;
    const double lost = 1.0 - head - half;
    return head + (lost + kiln_fma_f64(s * s, p, -(r * tail)));
}

#endif
