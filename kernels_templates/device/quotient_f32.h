/*
 * a / b without a branch: the instruction for 1/b, then the quotient corrected by its residual (Markstein, "Computation of
 * elementary functions on the IBM RISC System/6000 processor", 1990). Exact quotients come out exact. What depends on the
 * divisor alone is done once where many dividends share it.
 */
#ifndef KILN_DEVICE_QUOTIENT_F32_H
#define KILN_DEVICE_QUOTIENT_F32_H

KILN_DEVICE float kiln_quotient_f32(float a, float b)
{
    /* Both are scaled so that the inverse is a normal number; dividends that this brings to infinity or 0 have a quotient
     * that is. */
    const float magnitude = kiln_abs_f32(b);
    const float scale = magnitude > 0x1p96f ? 0x1p-32f : magnitude < 0x1p-96f ? 0x1p32f : 1.0f;
    const float divisor = b * scale;
    const float dividend = a * scale;
    const float inverse = kiln_seed_rcp_f32(divisor);
    const float rough = dividend * inverse;
    const float residual = kiln_fma_f32(-rough, divisor, dividend);
    const float result = kiln_fma_f32(residual, inverse, rough);
    /* There is no residual of infinity, nor with one; that of a tiny dividend is no better than the estimate, and that of a
     * zero would cost it its sign. */
    return kiln_abs_f32(dividend) > 0x1p-100f && result == result ? result : rough;
}

#endif
