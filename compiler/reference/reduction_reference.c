#include "compiler/reference/reduction_reference.h"
#include "compiler/reference/sum_bound.h"

#include <float.h>
#include <math.h>

/* ---- sums ---- */

static struct kiln_interval summand(enum kiln_reduction_mode mode, struct kiln_interval x,
                                    const struct kiln_arithmetic *arithmetic)
{
    if (mode == KILN_REDUCTION_NORM1)
        return kiln_interval_abs(x);
    if (mode == KILN_REDUCTION_NORM2)
        return kiln_interval_square(x, arithmetic);
    return x;
}

static struct kiln_interval reduce_sum(enum kiln_reduction_mode mode, enum kiln_scalar scalar,
                                       const struct kiln_bounded *row, int64_t count)
{
    const struct kiln_arithmetic *arithmetic = kiln_arithmetic_of(scalar);
    struct kiln_bounded_sum sum = {0};
    for (int64_t i = 0; i < count; i++)
        kiln_bounded_sum_add(&sum, summand(mode, kiln_interval_of(&row[i], scalar), arithmetic));
    if (mode == KILN_REDUCTION_AVG)
        return kiln_bounded_sum_mean(&sum, arithmetic);
    struct kiln_interval total = kiln_bounded_sum_total(&sum, arithmetic);
    return mode == KILN_REDUCTION_NORM2 ? kiln_interval_sqrt(total, arithmetic) : total;
}

/* ---- extremes ---- */

static struct kiln_interval reduce_extreme(enum kiln_reduction_mode mode, enum kiln_scalar scalar,
                                           const struct kiln_bounded *row, int64_t count)
{
    struct kiln_interval result = {0, 0, 0};
    bool unknown = false, minimum = mode == KILN_REDUCTION_MIN;
    for (int64_t i = 0; i < count; i++) {
        struct kiln_interval x = kiln_interval_of(&row[i], scalar);
        if (mode == KILN_REDUCTION_AMAX)
            x = kiln_interval_abs(x);
        if (isnan(x.low))
            return x;
        unknown = unknown || kiln_interval_is_unknown(&x);
        if (i == 0) {
            result = x;
            continue;
        }
        result.value =
            minimum ? kiln_lower_of(result.value, x.value) : kiln_higher_of(result.value, x.value);
        /* Which of 0 and -0 is picked stays open: the ends take one each. */
        bool zeros_low = result.low == 0 && x.low == 0,
             zeros_high = result.high == 0 && x.high == 0;
        result.low = minimum || zeros_low ? kiln_lower_of(result.low, x.low)
                                          : kiln_higher_of(result.low, x.low);
        result.high = minimum && !zeros_high ? kiln_lower_of(result.high, x.high)
                                             : kiln_higher_of(result.high, x.high);
    }
    if (unknown)
        return kiln_interval_unknown(result.value);
    /* An infinity at one end only: overflow that may or may not have happened. */
    if (!kiln_interval_is_finite(&result) && result.low != result.high)
        return kiln_interval_unknown(result.value);
    return result;
}

/* ---- products ---- */

struct product {
    double mantissa; /* of the factors that are neither 0 nor infinite, times 2^exponent */
    int64_t exponent;
    double growth, shrink; /* log2 of the product of the factors above and below 1 */
    double relative;       /* sum of -log(1 - relative radius) */
    int64_t factors;
    bool has_nan, has_zero, has_infinity, has_unknown;
};

static void multiply(struct product *product, const struct kiln_interval *x)
{
    if (isnan(x->low)) {
        product->has_nan = true;
        return;
    }
    if (kiln_interval_is_unknown(x) || (x->low != x->high && x->low <= 0 && x->high >= 0)) {
        product->has_unknown = true;
        return;
    }
    if (x->low == 0 || isinf(x->low)) {
        product->has_zero = product->has_zero || x->low == 0;
        product->has_infinity = product->has_infinity || x->low != 0;
        product->mantissa = signbit(x->low) ? -product->mantissa : product->mantissa;
        return;
    }
    int exponent;
    product->mantissa = frexp(product->mantissa * x->value, &exponent);
    product->exponent += exponent;
    product->growth += fmax(log2(kiln_interval_magnitude(x)), 0);
    product->shrink += fmin(log2(fmin(fabs(x->low), fabs(x->high))), 0);
    product->relative -= log1p(-kiln_interval_radius(x) / fabs(x->value));
    product->factors++;
}

static struct kiln_interval product_interval(const struct product *product, enum kiln_scalar scalar)
{
    const struct kiln_arithmetic *arithmetic = kiln_arithmetic_of(scalar);
    bool is_double = scalar == KILN_SCALAR_F64;
    int64_t exponent = product->exponent > 9999    ? 9999
                       : product->exponent < -9999 ? -9999
                                                   : product->exponent;
    double value = ldexp(product->mantissa, (int)exponent);
    if (product->has_zero)
        value = 0;
    if (product->has_infinity)
        value = product->has_zero ? (double)NAN : copysign(INFINITY, product->mantissa);
    if (product->has_nan || (product->has_infinity && product->has_zero))
        return (struct kiln_interval){NAN, NAN, NAN};
    bool overflows = product->growth >= (is_double ? DBL_MAX_EXP : FLT_MAX_EXP) - 0.01;
    bool underflows = product->shrink <= (is_double ? DBL_MIN_EXP : FLT_MIN_EXP) - 1 + 0.01;
    if (product->has_unknown)
        return kiln_interval_unknown(value);
    if (product->has_infinity)
        return underflows ? kiln_interval_unknown(value)
                          : (struct kiln_interval){value, value, value};
    if (product->has_zero)
        return overflows ? kiln_interval_unknown(value) : (struct kiln_interval){0, -0.0, 0.0};
    if (overflows || underflows)
        return kiln_interval_unknown(value);
    /* The first factor is not multiplied by anything; one rounding more for the reference's own. */
    double roundings = product->factors > 1 ? (double)product->factors : 0;
    double relative = expm1(product->relative + roundings * 0.5000001 * arithmetic->ulp);
    struct kiln_interval point = {value, value, value};
    return kiln_interval_widen(point, relative * fabs(value), arithmetic);
}

static struct kiln_interval reduce_product(enum kiln_reduction_mode mode, enum kiln_scalar scalar,
                                           const struct kiln_bounded *row, int64_t count)
{
    struct product product = {.mantissa = 1};
    for (int64_t i = 0; i < count; i++) {
        struct kiln_interval x = kiln_interval_of(&row[i], scalar);
        if (mode == KILN_REDUCTION_MUL_NO_ZEROS && x.low == 0 && x.high == 0)
            continue;
        multiply(&product, &x);
    }
    return product_interval(&product, scalar);
}

/* ---- integers ---- */

static int64_t wrap(enum kiln_scalar scalar, int64_t value)
{
    return scalar == KILN_SCALAR_I32 ? (int64_t)(int32_t)(uint32_t)(uint64_t)value : value;
}

static int64_t wrapping_abs(enum kiln_scalar scalar, int64_t x)
{
    return wrap(scalar, x < 0 ? (int64_t)(0 - (uint64_t)x) : x);
}

static int64_t combine_integers(enum kiln_reduction_mode mode, enum kiln_scalar scalar, int64_t a,
                                int64_t x)
{
    switch (mode) {
    case KILN_REDUCTION_MUL:
        return wrap(scalar, (int64_t)((uint64_t)a * (uint64_t)x));
    case KILN_REDUCTION_MUL_NO_ZEROS:
        return x == 0 ? a : wrap(scalar, (int64_t)((uint64_t)a * (uint64_t)x));
    case KILN_REDUCTION_MIN:
        return x < a ? x : a;
    case KILN_REDUCTION_MAX:
    case KILN_REDUCTION_AMAX:
        return x > a ? x : a;
    default:
        return wrap(scalar, (int64_t)((uint64_t)a + (uint64_t)x));
    }
}

static bool is_product(enum kiln_reduction_mode mode)
{
    return mode == KILN_REDUCTION_MUL || mode == KILN_REDUCTION_MUL_NO_ZEROS;
}

static bool is_sum(enum kiln_reduction_mode mode)
{
    return mode == KILN_REDUCTION_ADD || mode == KILN_REDUCTION_NORM1;
}

/* The interval of a sum or an extreme of inexact integers. The ends are whole as the operands' ends
 * are; doubles that large that they are not exact can wrap, too. */
static struct kiln_interval inexact_integer(enum kiln_reduction_mode mode, enum kiln_scalar scalar,
                                            const struct kiln_bounded *row, int64_t count,
                                            int64_t value)
{
    struct kiln_interval result = kiln_interval_unknown((double)value);
    double largest = 0, magnitude = 0, radius = 0;
    for (int64_t i = 0; i < count; i++) {
        radius += row[i].bound;
        largest = fmax(largest, fabs(row[i].real) + row[i].bound);
        magnitude += fabs(row[i].real) + row[i].bound;
    }
    double limit = scalar == KILN_SCALAR_I32 ? 0x1p31 : 0x1p52;
    if (is_sum(mode) && magnitude < limit)
        result =
            (struct kiln_interval){(double)value, (double)value - radius, (double)value + radius};
    else if (!is_sum(mode) && !is_product(mode) && largest < limit)
        result = reduce_extreme(mode, KILN_SCALAR_F64, row, count);
    return result;
}

static struct kiln_bounded reduce_integers(enum kiln_reduction_mode mode, enum kiln_scalar scalar,
                                           const struct kiln_bounded *row, int64_t count,
                                           enum kiln_dtype dtype)
{
    bool exact = true, known = true;
    bool absolute = mode == KILN_REDUCTION_AMAX || mode == KILN_REDUCTION_NORM1;
    int64_t value = is_product(mode) ? 1 : 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t x = wrap(scalar, row[i].integer);
        if (absolute)
            x = wrapping_abs(scalar, x);
        /* The magnitude of the smallest integer is not representable: what the largest is, is open.
         */
        known = known && !(mode == KILN_REDUCTION_AMAX && x < 0);
        exact = exact && row[i].bound == 0;
        value = i == 0 && !is_product(mode) ? x : combine_integers(mode, scalar, value, x);
    }
    if (!known)
        return kiln_bounded_unchecked((double)value, dtype);
    struct kiln_bounded result = kiln_bounded_from_integer(value, dtype);
    if (exact)
        return result;
    struct kiln_interval interval = inexact_integer(mode, scalar, row, count, value);
    result.bound = kiln_interval_store(&interval, dtype).bound;
    return result;
}

struct kiln_bounded kiln_bounded_reduce(enum kiln_reduction_mode mode, enum kiln_scalar scalar,
                                        const struct kiln_bounded *row, int64_t count,
                                        enum kiln_dtype dtype)
{
    if (scalar == KILN_SCALAR_I32 || scalar == KILN_SCALAR_I64)
        return reduce_integers(mode, scalar, row, count, dtype);
    struct kiln_interval result;
    switch (mode) {
    case KILN_REDUCTION_MUL:
    case KILN_REDUCTION_MUL_NO_ZEROS:
        result = reduce_product(mode, scalar, row, count);
        break;
    case KILN_REDUCTION_MIN:
    case KILN_REDUCTION_MAX:
    case KILN_REDUCTION_AMAX:
        result = reduce_extreme(mode, scalar, row, count);
        break;
    default:
        result = reduce_sum(mode, scalar, row, count);
        break;
    }
    return kiln_interval_store(&result, dtype);
}
