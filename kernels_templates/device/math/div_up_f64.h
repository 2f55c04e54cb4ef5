/*
 * a / b rounded up, for a number a >= 0 and a number b >= 1. Division rounds to nearest, and fma rounds the residual once, so
 * its sign says on which side the error is. It would round to zero only where a is below 2^-900, which no tensor's type holds.
 */
#ifndef KILN_DEVICE_DIV_UP_F64_H
#define KILN_DEVICE_DIV_UP_F64_H

KILN_DEVICE double kiln_div_up_f64(double a, double b)
{
    const double quotient = kiln_div_f64(a, b);
    const unsigned long long bits = kiln_bits_f64(quotient);
    return kiln_from_bits_f64(bits + (kiln_fma_f64(-quotient, b, a) > 0.0));
}

#endif
