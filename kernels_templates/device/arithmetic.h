/*
 * The cheap operations of compiler/ir/ops.def as kiln_<text>_<scalar>, conversions between scalar
 * types, and what the math functions are made of. Integers wrap around. Included by the device
 * header of each target.
 */
#ifndef KILN_DEVICE_ARITHMETIC_H
#define KILN_DEVICE_ARITHMETIC_H

KILN_DEVICE unsigned kiln_bits_f32(float x)
{
    return __builtin_bit_cast(unsigned, x);
}

KILN_DEVICE float kiln_from_bits_f32(unsigned bits)
{
    return __builtin_bit_cast(float, bits);
}

KILN_DEVICE unsigned long long kiln_bits_f64(double x)
{
    return __builtin_bit_cast(unsigned long long, x);
}

KILN_DEVICE double kiln_from_bits_f64(unsigned long long bits)
{
    return __builtin_bit_cast(double, bits);
}

KILN_DEVICE float kiln_fma_f32(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

KILN_DEVICE double kiln_fma_f64(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

#define KILN_COMPARE(text, scalar, type, operator)                                                 \
    KILN_DEVICE bool kiln_##text##_##scalar(type a, type b)                                        \
    {                                                                                              \
        return a operator b;                                                                       \
    }
#define KILN_ANY_SCALAR(scalar, type)                                                              \
    KILN_COMPARE(eq, scalar, type, ==)                                                             \
    KILN_COMPARE(ne, scalar, type, !=)                                                             \
    KILN_COMPARE(lt, scalar, type, <)                                                              \
    KILN_COMPARE(le, scalar, type, <=)                                                             \
    KILN_COMPARE(gt, scalar, type, >)                                                              \
    KILN_COMPARE(ge, scalar, type, >=)                                                             \
    KILN_DEVICE type kiln_select_##scalar(bool condition, type a, type b)                          \
    {                                                                                              \
        return condition ? a : b;                                                                  \
    }
KILN_ANY_SCALAR(bool, bool)
KILN_ANY_SCALAR(i32, int)
KILN_ANY_SCALAR(i64, long long)
KILN_ANY_SCALAR(f32, float)
KILN_ANY_SCALAR(f64, double)
#undef KILN_ANY_SCALAR
#undef KILN_COMPARE

#define KILN_WRAP(text, scalar, type, operator)                                                    \
    KILN_DEVICE type kiln_##text##_##scalar(type a, type b)                                        \
    {                                                                                              \
        return (type)((unsigned type)a operator(unsigned type) b);                                 \
    }
#define KILN_INTEGER(scalar, type)                                                                 \
    KILN_WRAP(add, scalar, type, +)                                                                \
    KILN_WRAP(sub, scalar, type, -)                                                                \
    KILN_WRAP(mul, scalar, type, *)                                                                \
    KILN_DEVICE type kiln_neg_##scalar(type a)                                                     \
    {                                                                                              \
        return (type)(0u - (unsigned type)a);                                                      \
    }                                                                                              \
    KILN_DEVICE type kiln_abs_##scalar(type a)                                                     \
    {                                                                                              \
        return a < 0 ? kiln_neg_##scalar(a) : a;                                                   \
    }                                                                                              \
    KILN_DEVICE type kiln_min_##scalar(type a, type b)                                             \
    {                                                                                              \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    KILN_DEVICE type kiln_max_##scalar(type a, type b)                                             \
    {                                                                                              \
        return a > b ? a : b;                                                                      \
    }
KILN_INTEGER(i32, int)
KILN_INTEGER(i64, long long)
#undef KILN_INTEGER
#undef KILN_WRAP

/* min and max: NaN when either is; of two zeros either. Division is correctly rounded by the
 * compiler's expansion. */
#define KILN_FLOAT(scalar, type, suffix)                                                           \
    KILN_DEVICE type kiln_add_##scalar(type a, type b)                                             \
    {                                                                                              \
        return a + b;                                                                              \
    }                                                                                              \
    KILN_DEVICE type kiln_sub_##scalar(type a, type b)                                             \
    {                                                                                              \
        return a - b;                                                                              \
    }                                                                                              \
    KILN_DEVICE type kiln_mul_##scalar(type a, type b)                                             \
    {                                                                                              \
        return a * b;                                                                              \
    }                                                                                              \
    KILN_DEVICE type kiln_div_##scalar(type a, type b)                                             \
    {                                                                                              \
        return a / b;                                                                              \
    }                                                                                              \
    KILN_DEVICE type kiln_rcp_##scalar(type a)                                                     \
    {                                                                                              \
        return (type)1 / a;                                                                        \
    }                                                                                              \
    KILN_DEVICE type kiln_neg_##scalar(type a)                                                     \
    {                                                                                              \
        return -a;                                                                                 \
    }                                                                                              \
    KILN_DEVICE type kiln_abs_##scalar(type a)                                                     \
    {                                                                                              \
        return __builtin_fabs##suffix(a);                                                          \
    }                                                                                              \
    KILN_DEVICE type kiln_ceil_##scalar(type a)                                                    \
    {                                                                                              \
        return __builtin_ceil##suffix(a);                                                          \
    }                                                                                              \
    KILN_DEVICE type kiln_floor_##scalar(type a)                                                   \
    {                                                                                              \
        return __builtin_floor##suffix(a);                                                         \
    }                                                                                              \
    KILN_DEVICE type kiln_copysign_##scalar(type a, type sign)                                     \
    {                                                                                              \
        return __builtin_copysign##suffix(a, sign);                                                \
    }                                                                                              \
    KILN_DEVICE type kiln_min_##scalar(type a, type b)                                             \
    {                                                                                              \
        return a < b || a != a ? a : b;                                                            \
    }                                                                                              \
    KILN_DEVICE type kiln_max_##scalar(type a, type b)                                             \
    {                                                                                              \
        return a > b || a != a ? a : b;                                                            \
    }
KILN_FLOAT(f32, float, f)
KILN_FLOAT(f64, double, )
#undef KILN_FLOAT

KILN_DEVICE bool kiln_and_bool(bool a, bool b)
{
    return a && b;
}

KILN_DEVICE bool kiln_or_bool(bool a, bool b)
{
    return a || b;
}

KILN_DEVICE bool kiln_not_bool(bool a)
{
    return !a;
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

/* The rest is what the language does. */
#define KILN_CONVERT(from, from_type, to, to_type)                                                 \
    KILN_DEVICE to_type kiln_convert_##from##_##to(from_type x)                                    \
    {                                                                                              \
        return (to_type)x;                                                                         \
    }
#define KILN_CONVERT_TO_BOOL(from, from_type)                                                      \
    KILN_DEVICE bool kiln_convert_##from##_bool(from_type x)                                       \
    {                                                                                              \
        return x != 0;                                                                             \
    }
KILN_CONVERT(bool, bool, bool, bool)
KILN_CONVERT(bool, bool, i32, int)
KILN_CONVERT(bool, bool, i64, long long)
KILN_CONVERT(bool, bool, f32, float)
KILN_CONVERT(bool, bool, f64, double)
KILN_CONVERT_TO_BOOL(i32, int)
KILN_CONVERT(i32, int, i32, int)
KILN_CONVERT(i32, int, i64, long long)
KILN_CONVERT(i32, int, f32, float)
KILN_CONVERT(i32, int, f64, double)
KILN_CONVERT_TO_BOOL(i64, long long)
KILN_CONVERT(i64, long long, i64, long long)
KILN_CONVERT(i64, long long, f32, float)
KILN_CONVERT(i64, long long, f64, double)
KILN_CONVERT_TO_BOOL(f32, float)
KILN_CONVERT(f32, float, f32, float)
KILN_CONVERT(f32, float, f64, double)
KILN_CONVERT_TO_BOOL(f64, double)
KILN_CONVERT(f64, double, f32, float)
KILN_CONVERT(f64, double, f64, double)
#undef KILN_CONVERT_TO_BOOL
#undef KILN_CONVERT

#endif
