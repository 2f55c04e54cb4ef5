/*
 * x = (quadrant + 4 i) pi/2 + r with |r| <= pi/4, for every finite x.
 */
#ifndef KILN_DEVICE_MATH_ANGLE_F32_H
#define KILN_DEVICE_MATH_ANGLE_F32_H

struct kiln_angle_f32 {
    float r;
    unsigned quadrant;
};

/* A word of zeros, then 2/pi: enough of it for the largest float. */
KILN_CONSTANT_TABLE unsigned kiln_two_over_pi_f32[8] = {0x00000000u, 0xa2f9836eu, 0x4e441529u,
                                                        0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
                                                        0x3c439041u, 0xfe5163abu};

KILN_DEVICE kiln_angle_f32 kiln_reduce_large_f32(float magnitude)
{
    /*
     * |x| from 2^16 on, after Payne and Hanek: of 2/pi only the 96 bits are taken whose product
     * with the significand is not a multiple of 4 and not below 2^-70. Infinity and NaN give some
     * angle.
     */
    const unsigned bits = kiln_bits_f32(magnitude);
    const unsigned long long significand = (bits & 0x007fffffu) | 0x00800000u;
    const unsigned position = (bits >> 23) - 127u + 7u;
    const unsigned word = position >> 5 & 7u;
    const unsigned shift = position & 31u;
    unsigned long long window[3];
    KILN_UNROLL
    for (unsigned i = 0; i < 3; i++) {
        const unsigned long long high = kiln_two_over_pi_f32[(word + i) & 7u];
        window[i] = (high << 32 | kiln_two_over_pi_f32[(word + i + 1u) & 7u]) << shift >> 32;
    }
    const unsigned long long product =
        (significand * window[0] << 32) + significand * window[1] + (significand * window[2] >> 32);
    /* Two bits of quadrant, then the fraction of it, which is taken as signed. */
    kiln_angle_f32 angle;
    angle.quadrant = (unsigned)(product >> 62) + (unsigned)(product >> 61 & 1u);
    angle.r = (float)((double)(long long)(product << 2) * 0x1.921fb54442d18p-64);
    return angle;
}

KILN_DEVICE kiln_angle_f32 kiln_reduce_angle_f32(float x)
{
    kiln_angle_f32 angle;
    const float magnitude = kiln_abs_f32(x);
    if (magnitude < 0x1p16f) {
        /* pi/2 in three parts (Cody and Waite); the first difference is exact. */
        const float anchored = kiln_fma_f32(magnitude, 0x1.45f306p-1f, 0x1.8p23f);
        const float k = anchored - 0x1.8p23f;
        angle.r = kiln_fma_f32(k, -0x1.921fb6p+0f, magnitude);
        angle.r = kiln_fma_f32(k, 0x1.777a5cp-25f, angle.r);
        angle.r = kiln_fma_f32(k, 0x1.ee59dap-50f, angle.r);
        angle.quadrant = kiln_bits_f32(anchored);
    } else {
        angle = kiln_reduce_large_f32(magnitude);
    }
    return angle;
}

#endif
