/*
 * Count, mean and sum of squared deviations from the mean. Welford, "Note on a method for calculating corrected sums of
 * squares and products", 1962, for an element; Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for
 * computing sample variances", 1979, for two sets. No cancellation, whatever the mean.
 *
 * The count stands apart, since the lanes of a vector share it.
 */
#ifndef KILN_DEVICE_MOMENTS_H
#define KILN_DEVICE_MOMENTS_H

/* On a CPU that does not have it, a fused operation is a call. */
#if !defined(KILN_DEVICE_HOST_H) || defined(__FMA__) || defined(__aarch64__)
#define KILN_MOMENTS_FMA(scalar, a, b, c) kiln_fma_##scalar(a, b, c)
#else
#define KILN_MOMENTS_FMA(scalar, a, b, c) ((a) * (b) + (c))
#endif

/* The mean that includes an element or a set whose mean is `other`. Differences make it NaN once the mean is infinite, and the
 * sum does not. A GPU's accumulators take in few elements each, so it saves the instructions. */
#if defined(KILN_DEVICE_HOST_H)
#define KILN_MOMENTS_MEAN(mean, other, next)                                                       \
    (__builtin_fabs(mean) == __builtin_inf() ? (mean) + (other) : (next))
#else
#define KILN_MOMENTS_MEAN(mean, other, next) (next)
#endif

/* Part of a count. On AMD GPUs the compiler's division takes twice as many instructions; this one is made like
 * kiln_quotient_f32 and as accurate. */
#if defined(KILN_DEVICE_AMDGCN_H) || (defined(KILN_DEVICE_HOST_H) && defined(KILN_HAS_SEED_EXP2))
KILN_DEVICE float kiln_count_ratio_f32(float part, float whole)
{
    const float inverse = kiln_seed_rcp_f32(whole);
    const float rough = part * inverse;
    return kiln_fma_f32(kiln_fma_f32(-rough, whole, part), inverse, rough);
}
#else
#define kiln_count_ratio_f32(part, whole) ((float)(part) / (float)(whole))
#endif
#define kiln_count_ratio_f64(part, whole) ((double)(part) / (double)(whole))

/*
 * update    one more element; `reciprocal` of the count with it
 * twin      merges a set of as many elements; `half` is half of what one has. Either may be the first: the same to the bit
 * share     what part of the elements of both sets is in the second; 0 when neither has any
 * merge     merges any two sets; which is first shows in the last bit. An empty one changes nothing, even where the other
 *           one's mean is infinite
 */
#define KILN_MOMENTS(scalar, type)                                                                 \
    KILN_DEVICE void kiln_moments_update_##scalar(type x, type reciprocal, type &mean,             \
                                                  type &squares)                                   \
    {                                                                                              \
        const type delta = x - mean;                                                               \
        mean = KILN_MOMENTS_MEAN(mean, x, KILN_MOMENTS_FMA(scalar, delta, reciprocal, mean));      \
        squares = KILN_MOMENTS_FMA(scalar, delta, x - mean, squares);                              \
    }                                                                                              \
    KILN_DEVICE void kiln_moments_twin_##scalar(type half, type other_mean, type other_squares,    \
                                                type &mean, type &squares)                         \
    {                                                                                              \
        const type delta = other_mean - mean;                                                      \
        mean = (type)0.5 * mean + (type)0.5 * other_mean;                                          \
        squares = KILN_MOMENTS_FMA(scalar, delta * half, delta, squares + other_squares);          \
    }                                                                                              \
    KILN_DEVICE type kiln_moments_share_##scalar(type count, type other_count)                     \
    {                                                                                              \
        return other_count > 0 ? kiln_count_ratio_##scalar(other_count, count + other_count)       \
                               : (type)0;                                                          \
    }                                                                                              \
    KILN_DEVICE void kiln_moments_merge_##scalar(type count, type share, type other_mean,          \
                                                 type other_squares, type &mean, type &squares)    \
    {                                                                                              \
        const type delta = other_mean - mean;                                                      \
        const type both_mean =                                                                     \
            KILN_MOMENTS_MEAN(mean, other_mean, KILN_MOMENTS_FMA(scalar, delta, share, mean));     \
        const type both_squares =                                                                  \
            KILN_MOMENTS_FMA(scalar, delta * count, delta * share, squares + other_squares);       \
        mean = share > 0 ? both_mean : mean;                                                       \
        squares = share > 0 ? both_squares : squares;                                              \
    }
KILN_MOMENTS(f32, float)
KILN_MOMENTS(f64, double)
#undef KILN_MOMENTS

#endif
