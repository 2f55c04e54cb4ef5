/*
 * a / b without a branch: the instruction for 1/b, then the quotient corrected by its residual (Markstein, "Computation of
 * elementary functions on the IBM RISC System/6000 processor", 1990). Exact quotients come out exact. What depends on the
 * divisor alone is done once where many dividends share it; five operations are left for each dividend.
 *
 * With KILN_QUOTIENT_CHOOSES, CUDA's way, infinite estimates are left as they are instead of being limited before they are
 * corrected: then a quotient next to the largest number may become infinity. A softmax of halfs took 6 % longer with the limit on
 * an H200, whose minimum and maximum wait for one another.
 */
#ifndef KILN_DEVICE_QUOTIENT_F32_H
#define KILN_DEVICE_QUOTIENT_F32_H

KILN_DEVICE float kiln_quotient_f32(float a, float b)
{
    /* Both are scaled so that the inverse is a normal number; dividends that this brings to infinity or 0 have a quotient
     * that is. The dividend takes the divisor's sign. */
    const float magnitude = kiln_abs_f32(b);
    const float scale = magnitude > 0x1p96f ? 0x1p-32f : magnitude < 0x1p-96f ? 0x1p32f : 1.0f;
    const float inverse = kiln_seed_rcp_f32(magnitude * scale);
    /* Any number does for infinity: its inverse is 0. */
    const float divisor = magnitude == __builtin_inff() ? 1.0f : magnitude * scale;
    const float dividend = a * kiln_copysign_f32(scale, b);
    /* There is no residual of an infinite estimate. From the largest number the correction leads to infinity, or to the
     * quotient next to it. */
#ifdef KILN_QUOTIENT_CHOOSES
    const float rough = dividend * inverse;
#else
    const float rough = kiln_limit_f32(dividend * inverse);
#endif
    /* With this sign, a residual of 0 leaves a zero its own. The inverse is negated, since gcc would compute a negated
     * residual with the other sign. */
    const float excess = kiln_fma_f32(rough, divisor, -dividend);
#ifdef KILN_QUOTIENT_CHOOSES
    const float result = kiln_fma_f32(excess, -inverse, rough);
    return result == result ? result : rough;
#else
    return kiln_fma_f32(excess, -inverse, rough);
#endif
}

#endif
