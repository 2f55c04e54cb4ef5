/*
 * Complementary error function of 0 <= x <= 27.3 (beyond it the result is 0): e^-x^2 t P(1 - 2t)
 * with t = 4 / (4 + x). Coefficients: Remez exchange in 130 digits, relative error below 2^-54.
 */
#ifndef KILN_DEVICE_MATH_ERFC_POSITIVE_F64_H
#define KILN_DEVICE_MATH_ERFC_POSITIVE_F64_H

#include "device/math/parts/exp_parts_f64.h"

KILN_DEVICE double kiln_erfc_positive_f64(double x)
{
    /* t and q = 1 - 2t, both corrected by the residual of the quotient. */
    const double inverse = 1.0 / (x + 4.0);
    const double rough = 4.0 * inverse;
    const double residual = inverse * kiln_fma_f64(-rough, x, kiln_fma_f64(-rough, 4.0, 4.0));
    const double t = rough + residual;
    const double q = kiln_fma_f64(-2.0, residual, kiln_fma_f64(-2.0, rough, 1.0));
    double p = -0x1.2705544bb6ed8p-35;
    p = kiln_fma_f64(p, q, 0x1.38b7d8bf5668ep-36);
    p = kiln_fma_f64(p, q, 0x1.3a1cb91b73347p-31);
    p = kiln_fma_f64(p, q, 0x1.14472da8bb52cp-34);
    p = kiln_fma_f64(p, q, -0x1.3c275bb9c800dp-28);
    p = kiln_fma_f64(p, q, 0x1.579f6b466e79dp-34);
    p = kiln_fma_f64(p, q, 0x1.118fd35e1079ep-25);
    p = kiln_fma_f64(p, q, -0x1.415000ba7764dp-26);
    p = kiln_fma_f64(p, q, -0x1.c76d85d29aac3p-23);
    p = kiln_fma_f64(p, q, 0x1.7e2c07942f61p-22);
    p = kiln_fma_f64(p, q, 0x1.3b186d0964111p-20);
    p = kiln_fma_f64(p, q, -0x1.3c6e033ba4021p-18);
    p = kiln_fma_f64(p, q, -0x1.e7efb37e89715p-21);
    p = kiln_fma_f64(p, q, 0x1.72cda1698af3fp-15);
    p = kiln_fma_f64(p, q, -0x1.dd28437a736fbp-14);
    p = kiln_fma_f64(p, q, -0x1.269b51a276d2ep-14);
    p = kiln_fma_f64(p, q, 0x1.908f47223d175p-10);
    p = kiln_fma_f64(p, q, -0x1.b00c052c68dd5p-8);
    p = kiln_fma_f64(p, q, 0x1.38dbd2c8e3473p-6);
    p = kiln_fma_f64(p, q, -0x1.645fd8a4bbb74p-5);
    p = kiln_fma_f64(p, q, 0x1.52cac2371015p-4);
    p = kiln_fma_f64(p, q, -0x1.14eacb1ad0345p-3);
    p = kiln_fma_f64(p, q, 0x1.8be202d26c706p-3);
    p = kiln_fma_f64(p, q, -0x1.f3fe31ecb49bfp-3);
    p = kiln_fma_f64(p, q, 0x1.18932bf08e154p-2);
    /* What rounding x^2 loses goes into the factor. */
    const double square = x * x;
    const double lost = kiln_fma_f64(x, x, -square);
    const kiln_exp_parts_f64 parts = kiln_exp_split_f64(-square);
    const double factor = kiln_fma_f64(parts.p, t * p, t * p);
    return kiln_scale_f64(kiln_fma_f64(factor, -lost, factor), parts.n);
}

#endif
