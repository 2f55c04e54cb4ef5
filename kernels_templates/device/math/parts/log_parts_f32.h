/*
 * Natural logarithm of 2^k (1 + f) for |f| below 1/3 or a little more.
 * Coefficients: Remez exchange in 130 digits, relative error below 2^-27.
 */
#ifndef KILN_DEVICE_MATH_LOG_PARTS_F32_H
#define KILN_DEVICE_MATH_LOG_PARTS_F32_H

KILN_DEVICE float kiln_log_join_f32(float f, float k)
{
    float p = -0x1.081032p-3f;
    p = kiln_fma_f32(p, f, 0x1.1e7184p-3f);
    p = kiln_fma_f32(p, f, -0x1.f30cdep-4f);
    p = kiln_fma_f32(p, f, 0x1.1ed51ap-3f);
    p = kiln_fma_f32(p, f, -0x1.559deep-3f);
    p = kiln_fma_f32(p, f, 0x1.99d044p-3f);
    p = kiln_fma_f32(p, f, -0x1.fffefp-3f);
    p = kiln_fma_f32(p, f, 0x1.555506p-2f);
    const float bend = kiln_fma_f32(f, p, -0.5f);
    const float rest = kiln_fma_f32(f * f, bend, k * -0x1.05c61p-29f);
    return kiln_fma_f32(k, 0x1.62e43p-1f, f + rest);
}

KILN_DEVICE unsigned kiln_log_exponent_f32(float x)
{
    /* The exponent of normal x, in place, such that without it x lies in [2/3, 4/3). */
    return (kiln_bits_f32(x) - 0x3f2aaaabu) & 0xff800000u;
}

#endif
