/*
 * The cheap operations of compiler/ir/ops.def as kiln_<text>_<scalar>, conversions between scalar
 * types, and what the math functions are made of. Integers wrap around. Included by the device
 * header of each target.
 *
 * Most are macros, since every kernel includes this file: as functions they took a tenth of the time that a small
 * kernel takes to compile (2.5 of 24 ms, comgr 2.4). What would evaluate an argument twice is a function.
 */
#ifndef KILN_DEVICE_ARITHMETIC_H
#define KILN_DEVICE_ARITHMETIC_H

#define kiln_bits_f32(x)          __builtin_bit_cast(unsigned, (float)(x))
#define kiln_from_bits_f32(bits)  __builtin_bit_cast(float, (unsigned)(bits))
#define kiln_bits_f64(x)          __builtin_bit_cast(unsigned long long, (double)(x))
#define kiln_from_bits_f64(bits)  __builtin_bit_cast(double, (unsigned long long)(bits))
#define kiln_fma_f32(a, b, c)     __builtin_fmaf(a, b, c)
#define kiln_fma_f64(a, b, c)     __builtin_fma(a, b, c)
#define kiln_copysign_f32(a, sign) __builtin_copysignf(a, sign)
#define kiln_copysign_f64(a, sign) __builtin_copysign(a, sign)

#define kiln_eq_bool(a, b) ((a) == (b))
#define kiln_eq_i32(a, b)  ((a) == (b))
#define kiln_eq_i64(a, b)  ((a) == (b))
#define kiln_eq_f32(a, b)  ((a) == (b))
#define kiln_eq_f64(a, b)  ((a) == (b))
#define kiln_ne_bool(a, b) ((a) != (b))
#define kiln_ne_i32(a, b)  ((a) != (b))
#define kiln_ne_i64(a, b)  ((a) != (b))
#define kiln_ne_f32(a, b)  ((a) != (b))
#define kiln_ne_f64(a, b)  ((a) != (b))
#define kiln_lt_bool(a, b) ((a) < (b))
#define kiln_lt_i32(a, b)  ((a) < (b))
#define kiln_lt_i64(a, b)  ((a) < (b))
#define kiln_lt_f32(a, b)  ((a) < (b))
#define kiln_lt_f64(a, b)  ((a) < (b))
#define kiln_le_bool(a, b) ((a) <= (b))
#define kiln_le_i32(a, b)  ((a) <= (b))
#define kiln_le_i64(a, b)  ((a) <= (b))
#define kiln_le_f32(a, b)  ((a) <= (b))
#define kiln_le_f64(a, b)  ((a) <= (b))
#define kiln_gt_bool(a, b) ((a) > (b))
#define kiln_gt_i32(a, b)  ((a) > (b))
#define kiln_gt_i64(a, b)  ((a) > (b))
#define kiln_gt_f32(a, b)  ((a) > (b))
#define kiln_gt_f64(a, b)  ((a) > (b))
#define kiln_ge_bool(a, b) ((a) >= (b))
#define kiln_ge_i32(a, b)  ((a) >= (b))
#define kiln_ge_i64(a, b)  ((a) >= (b))
#define kiln_ge_f32(a, b)  ((a) >= (b))
#define kiln_ge_f64(a, b)  ((a) >= (b))

#define kiln_select_bool(condition, a, b) ((condition) ? (a) : (b))
#define kiln_select_i32(condition, a, b)  ((condition) ? (a) : (b))
#define kiln_select_i64(condition, a, b)  ((condition) ? (a) : (b))
#ifndef KILN_HAS_FLOAT_SELECT
#define kiln_select_f32(condition, a, b)  ((condition) ? (a) : (b))
#define kiln_select_f64(condition, a, b)  ((condition) ? (a) : (b))
#endif

/* Both operands are evaluated, as a function would: they may be cross-lane exchanges. */
#define kiln_and_bool(a, b) ((bool)((bool)(a) & (bool)(b)))
#define kiln_or_bool(a, b)  ((bool)((bool)(a) | (bool)(b)))
#define kiln_not_bool(a)    (!(a))

#define kiln_add_i32(a, b) ((int)((unsigned)(a) + (unsigned)(b)))
#define kiln_sub_i32(a, b) ((int)((unsigned)(a) - (unsigned)(b)))
#define kiln_mul_i32(a, b) ((int)((unsigned)(a) * (unsigned)(b)))
#define kiln_neg_i32(a)    ((int)(0u - (unsigned)(a)))
#define kiln_add_i64(a, b) ((long long)((unsigned long long)(a) + (unsigned long long)(b)))
#define kiln_sub_i64(a, b) ((long long)((unsigned long long)(a) - (unsigned long long)(b)))
#define kiln_mul_i64(a, b) ((long long)((unsigned long long)(a) * (unsigned long long)(b)))
#define kiln_neg_i64(a)    ((long long)(0ull - (unsigned long long)(a)))

/* Division is correctly rounded by the compiler's expansion. For CUDA that of floats is replaced, on AMD GPUs that by a divisor
 * which many dividends share: quotient_f32.h. */
#define kiln_add_f32(a, b) ((a) + (b))
#define kiln_sub_f32(a, b) ((a) - (b))
#define kiln_mul_f32(a, b) ((a) * (b))
#define kiln_div_f32(a, b) ((float)(a) / (float)(b))
#define kiln_div_shared_f32(a, b) kiln_div_f32(a, b)
#define kiln_rcp_f32(a)    (1.0f / (float)(a))
#define kiln_neg_f32(a)    (-(a))
#define kiln_abs_f32(a)    __builtin_fabsf(a)
#define kiln_ceil_f32(a)   __builtin_ceilf(a)
#define kiln_floor_f32(a)  __builtin_floorf(a)
#define kiln_add_f64(a, b) ((a) + (b))
#define kiln_sub_f64(a, b) ((a) - (b))
#define kiln_mul_f64(a, b) ((a) * (b))
#define kiln_div_f64(a, b) ((double)(a) / (double)(b))
#define kiln_div_shared_f64(a, b) kiln_div_f64(a, b)
#define kiln_rcp_f64(a)    (1.0 / (double)(a))
#define kiln_neg_f64(a)    (-(a))
#define kiln_abs_f64(a)    __builtin_fabs(a)
#define kiln_ceil_f64(a)   __builtin_ceil(a)
#define kiln_floor_f64(a)  __builtin_floor(a)

/* Conversions that are what the language does. */
#define kiln_convert_bool_bool(x) (x)
#define kiln_convert_i32_i32(x)  (x)
#define kiln_convert_i64_i64(x)  (x)
#define kiln_convert_f32_f32(x)  (x)
#define kiln_convert_f64_f64(x)  (x)
#define kiln_convert_bool_i32(x) ((int)(x))
#define kiln_convert_bool_i64(x) ((long long)(x))
#define kiln_convert_bool_f32(x) ((float)(x))
#define kiln_convert_bool_f64(x) ((double)(x))
#define kiln_convert_i32_bool(x) ((x) != 0)
#define kiln_convert_i32_i64(x)  ((long long)(x))
#define kiln_convert_i32_f32(x)  ((float)(x))
#define kiln_convert_i32_f64(x)  ((double)(x))
#define kiln_convert_i64_bool(x) ((x) != 0)
#define kiln_convert_i64_f32(x)  ((float)(x))
#define kiln_convert_i64_f64(x)  ((double)(x))
#define kiln_convert_f32_bool(x) ((x) != 0)
#define kiln_convert_f32_f64(x)  ((double)(x))
#define kiln_convert_f64_bool(x) ((x) != 0)
#define kiln_convert_f64_f32(x)  ((float)(x))

/* The rest is used by value more than once. min and max: NaN when either is; of two zeros either. */
#define KILN_MIN_MAX(scalar, type, is_nan)                                                         \
    KILN_DEVICE type kiln_min_##scalar(type a, type b)                                             \
    {                                                                                              \
        return a < b || is_nan ? a : b;                                                            \
    }                                                                                              \
    KILN_DEVICE type kiln_max_##scalar(type a, type b)                                             \
    {                                                                                              \
        return a > b || is_nan ? a : b;                                                            \
    }
KILN_MIN_MAX(i32, int, false)
KILN_MIN_MAX(i64, long long, false)
#ifndef KILN_HAS_MIN_MAX_F32
KILN_MIN_MAX(f32, float, a != a)
#endif
KILN_MIN_MAX(f64, double, a != a)
#undef KILN_MIN_MAX

/* The largest or smallest of many: the number so far, and whether there was a NaN, where the number does not tell. */
#ifndef KILN_HAS_EXTREMES_F32
#define kiln_max_number_f32(a, b)          kiln_max_f32(a, b)
#define kiln_min_number_f32(a, b)          kiln_min_f32(a, b)
#define kiln_note_nan_f32(x, has_nan)      ((void)(has_nan))
#define kiln_extreme_f32(number, has_nan)  (number)
#endif

KILN_DEVICE int kiln_abs_i32(int a)
{
    return a < 0 ? kiln_neg_i32(a) : a;
}

KILN_DEVICE long long kiln_abs_i64(long long a)
{
    return a < 0 ? kiln_neg_i64(a) : a;
}

/* To integers: nearest even, limited to the type's range, NaN to 0. */
#define KILN_CONVERT_TO_INTEGER(from, from_type, suffix, to, to_type, bound, lowest, largest)      \
    KILN_DEVICE to_type kiln_convert_##from##_##to(from_type x)                                    \
    {                                                                                              \
        const from_type rounded = __builtin_rint##suffix(x);                                       \
        const bool fits = rounded >= -bound && rounded < bound;                                    \
        const to_type inside = (to_type)(fits ? rounded : (from_type)0);                           \
        const to_type outside = rounded > 0 ? largest : rounded < 0 ? lowest : (to_type)0;         \
        return fits ? inside : outside;                                                            \
    }
KILN_CONVERT_TO_INTEGER(f32, float, f, i32, int, 0x1p31f, (-0x7fffffff - 1), 0x7fffffff)
KILN_CONVERT_TO_INTEGER(f64, double, , i32, int, 0x1p31, (-0x7fffffff - 1), 0x7fffffff)
KILN_CONVERT_TO_INTEGER(f32, float, f, i64, long long, 0x1p63f, (-0x7fffffffffffffffll - 1),
                        0x7fffffffffffffffll)
KILN_CONVERT_TO_INTEGER(f64, double, , i64, long long, 0x1p63, (-0x7fffffffffffffffll - 1),
                        0x7fffffffffffffffll)
#undef KILN_CONVERT_TO_INTEGER

KILN_DEVICE int kiln_convert_i64_i32(long long x)
{
    const long long low = x < -0x80000000ll ? -0x80000000ll : x;
    return (int)(low > 0x7fffffffll ? 0x7fffffffll : low);
}

#endif
