/*
 * Natural logarithm of 2^k (1 + f) for 1 + f within [sqrt 1/2, sqrt 2], as f - f^2/2 + s (f^2/2 +
 * R(s^2)) with s = f / (2 + f). Coefficients: Remez exchange in 130 digits, relative error below
 * 2^-59. The first part of ln 2 has few enough bits for k times it to be exact.
 */
#ifndef KILN_DEVICE_MATH_LOG_PARTS_F64_H
#define KILN_DEVICE_MATH_LOG_PARTS_F64_H

KILN_DEVICE double kiln_log_join_f64(double f, double k)
{
    const double s = f / (2.0 + f);
    const double z = s * s;
    double p = 0x1.2f035ea315707p-3;
    p = kiln_fma_f64(p, z, 0x1.39a1f39c11f6dp-3);
    p = kiln_fma_f64(p, z, 0x1.74663c7571f08p-3);
    p = kiln_fma_f64(p, z, 0x1.c71c5216af1dcp-3);
    p = kiln_fma_f64(p, z, 0x1.24924941dea92p-2);
    p = kiln_fma_f64(p, z, 0x1.999999997ff3ap-2);
    p = kiln_fma_f64(p, z, 0x1.5555555555592p-1);
    const double half_square = 0.5 * f * f;
    const double bend =
        kiln_fma_f64(s, kiln_fma_f64(z, p, half_square), k * -0x1.8432a1b0e2634p-43);
    return kiln_fma_f64(k, 0x1.62e42fefa4p-1, f - (half_square - bend));
}

KILN_DEVICE unsigned long long kiln_log_exponent_f64(double x)
{
    /* The exponent of normal x, in place, such that without it x lies in [sqrt 1/2, sqrt 2). */
    return (kiln_bits_f64(x) - 0x3fe6a09e667f3bcdull) & 0xfff0000000000000ull;
}

#endif
