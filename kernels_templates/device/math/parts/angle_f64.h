/*
 * x = (quadrant + 4 i) pi/2 + r + tail with |r| <= pi/4 and tail what r lacks, for every finite x.
 */
#ifndef KILN_DEVICE_MATH_ANGLE_F64_H
#define KILN_DEVICE_MATH_ANGLE_F64_H

struct kiln_angle_f64 {
    double r;
    double tail;
    unsigned quadrant;
};

/* A word of zeros, then 2/pi: enough of it for the largest double. */
KILN_CONSTANT_TABLE unsigned long long kiln_two_over_pi_f64[20] = {
    0x0000000000000000ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull,
    0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull,
    0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull,
    0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};

KILN_DEVICE unsigned long long kiln_multiply_high(unsigned long long a, unsigned long long b)
{
    const unsigned long long a_low = a & 0xffffffffull, a_high = a >> 32;
    const unsigned long long b_low = b & 0xffffffffull, b_high = b >> 32;
    const unsigned long long middle = a_high * b_low + (a_low * b_low >> 32);
    const unsigned long long other = a_low * b_high + (middle & 0xffffffffull);
    return a_high * b_high + (middle >> 32) + (other >> 32);
}

KILN_DEVICE kiln_angle_f64 kiln_reduce_large_f64(double magnitude)
{
    /*
     * |x| from 2^20 on, after Payne and Hanek: of 2/pi only the 192 bits are taken whose product
     * with the significand is not a multiple of 4 and not below 2^-137; its first 128 bits are
     * computed. Infinity and NaN give some angle.
     */
    const unsigned long long bits = kiln_bits_f64(magnitude);
    const unsigned long long significand = (bits & 0x000fffffffffffffull) | 0x0010000000000000ull;
    const unsigned position = (unsigned)(bits >> 52) - 1023u + 10u;
    const unsigned word = position >> 6 & 31u;
    const unsigned shift = position & 63u;
    unsigned long long window[3];
    KILN_UNROLL
    for (unsigned i = 0; i < 3; i++) {
        const unsigned first = word + i < 19u ? word + i : 18u;
        window[i] = kiln_two_over_pi_f64[first] << shift |
                    kiln_two_over_pi_f64[first + 1u] >> 1 >> (63u - shift);
    }
    const unsigned long long low_a = significand * window[1];
    const unsigned long long low = low_a + kiln_multiply_high(significand, window[2]);
    const unsigned long long high = significand * window[0] +
                                    kiln_multiply_high(significand, window[1]) +
                                    (low < low_a ? 1u : 0u);
    /* Two bits of quadrant, then the fraction of it, which is taken as signed. */
    kiln_angle_f64 angle;
    angle.quadrant = (unsigned)(high >> 62) + (unsigned)(high >> 61 & 1u);
    const unsigned long long fraction_high = high << 2 | low >> 62;
    const unsigned long long fraction_low = low << 2;
    const bool is_negative = fraction_high >> 63 != 0;
    const unsigned long long a = is_negative ? ~fraction_high : fraction_high;
    const unsigned long long b = is_negative ? ~fraction_low : fraction_low;
    /* Sum of four words, each exact, as a double and what it lacks. */
    const double word_0 = (double)(unsigned)(a >> 32) * 0x1p-32;
    const double word_1 = (double)(unsigned)a * 0x1p-64;
    const double word_23 = (double)(unsigned)(b >> 32) * 0x1p-96 + (double)(unsigned)b * 0x1p-128;
    const double head = word_0 + word_1;
    const double rest = word_1 - (head - word_0) + word_23;
    const double sum = head + rest;
    const double sum_tail = rest - (sum - head);
    /* Times pi/2 in two parts. */
    const double r = sum * 0x1.921fb54442d18p+0;
    const double tail = kiln_fma_f64(sum, 0x1.921fb54442d18p+0, -r) +
                        kiln_fma_f64(sum, 0x1.1a62633145c07p-54, sum_tail * 0x1.921fb54442d18p+0);
    angle.r = is_negative ? -(r + tail) : r + tail;
    angle.tail = is_negative ? -(tail - (r + tail - r)) : tail - (r + tail - r);
    return angle;
}

KILN_DEVICE kiln_angle_f64 kiln_reduce_angle_f64(double x)
{
    const double magnitude = kiln_abs_f64(x);
    if (!(magnitude < 0x1p20))
        return kiln_reduce_large_f64(magnitude);
    /* pi/2 in three parts (Cody and Waite); the first difference is exact. */
    const double anchored = kiln_fma_f64(magnitude, 0x1.45f306dc9c883p-1, 0x1.8p52);
    const double k = anchored - 0x1.8p52;
    const double first = kiln_fma_f64(k, -0x1.921fb54442d18p+0, magnitude);
    const double product = k * 0x1.1a62633145c07p-54;
    const double product_tail = kiln_fma_f64(k, 0x1.1a62633145c07p-54, -product);
    /* first - product and what it lacks (Knuth's two-sum: either may be the larger). */
    const double second = first - product;
    const double taken = second - first;
    const double lost = (first - (second - taken)) - (product + taken);
    const double tail = kiln_fma_f64(k, 0x1.f1976b7ed8fbcp-110, lost - product_tail);
    kiln_angle_f64 angle;
    angle.r = second + tail;
    angle.tail = tail - (angle.r - second);
    angle.quadrant = (unsigned)kiln_bits_f64(anchored);
    return angle;
}

#endif
