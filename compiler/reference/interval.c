#include "compiler/reference/interval.h"
#include "compiler/reference/convert.h"

#include <float.h>
#include <math.h>

static const struct kiln_arithmetic float_arithmetic = {0x1p-23, 0x1p-149, FLT_MAX, 0x1.ffffffp127};
static const struct kiln_arithmetic double_arithmetic = {0x1p-52, 0x1p-1074, DBL_MAX, INFINITY};

const struct kiln_arithmetic *kiln_arithmetic_of(enum kiln_scalar scalar)
{
    return scalar == KILN_SCALAR_F64 ? &double_arithmetic : &float_arithmetic;
}

double kiln_lower_of(double a, double b)
{
    return a < b || (a == b && signbit(a) != 0) ? a : b;
}

double kiln_higher_of(double a, double b)
{
    return a > b || (a == b && signbit(a) == 0) ? a : b;
}

double kiln_conversion_error(const struct kiln_bounded *operand, enum kiln_scalar scalar)
{
    if (!kiln_dtype_is_integer(operand->dtype))
        return 0;
    double error = 0;
    if (operand->real >= -0x1p63 && operand->real < 0x1p63) /* int64 in double */
        error = fabs((double)(operand->integer - (int64_t)operand->real));
    if (scalar == KILN_SCALAR_F32)
        error += fabs(operand->real - (double)(float)operand->integer);
    return error;
}

struct kiln_interval kiln_interval_unknown(double value)
{
    return (struct kiln_interval){value, -INFINITY, INFINITY};
}

static struct kiln_interval certain(double value)
{
    return (struct kiln_interval){value, value, value};
}

struct kiln_interval kiln_interval_of(const struct kiln_bounded *operand, enum kiln_scalar scalar)
{
    if (isinf(operand->bound))
        return kiln_interval_unknown(operand->real);
    if (!isfinite(operand->real))
        return certain(operand->real);
    double radius = operand->bound + kiln_conversion_error(operand, scalar);
    if (radius == 0)
        return certain(operand->real);
    return (struct kiln_interval){operand->real, operand->real - radius, operand->real + radius};
}

struct kiln_interval kiln_interval_of_number(double number,
                                             const struct kiln_arithmetic *arithmetic)
{
    struct kiln_interval a = certain(number);
    if (arithmetic == &double_arithmetic || (double)(float)number == number)
        return a;
    return kiln_interval_widen(a, fabs(number - (double)(float)number), arithmetic);
}

bool kiln_interval_is_unknown(const struct kiln_interval *a)
{
    return isinf(a->low) && isinf(a->high) && a->low != a->high;
}

bool kiln_interval_is_finite(const struct kiln_interval *a)
{
    return isfinite(a->low) && isfinite(a->high);
}

double kiln_interval_magnitude(const struct kiln_interval *a)
{
    return fmax(fabs(a->low), fabs(a->high));
}

double kiln_interval_radius(const struct kiln_interval *a)
{
    return fmax(a->value - a->low, a->high - a->value);
}

struct kiln_interval kiln_interval_widen(struct kiln_interval a, double error,
                                         const struct kiln_arithmetic *arithmetic)
{
    if (!kiln_interval_is_finite(&a))
        return a;
    if (error != 0) { /* nothing would turn -0 into 0 */
        a.low -= error;
        a.high += error;
    }
    if (!(kiln_interval_magnitude(&a) < arithmetic->overflow))
        return kiln_interval_unknown(a.value);
    return a;
}

/* From the results at the ends: certain when all are the same infinity or all are NaN. */
static struct kiln_interval hull(double value, const double *results, uint32_t count)
{
    struct kiln_interval a = {value, results[0], results[0]};
    bool finite = isfinite(value), all_nan = isnan(value), same = true;
    for (uint32_t i = 0; i < count; i++) {
        finite = finite && isfinite(results[i]);
        all_nan = all_nan && isnan(results[i]);
        same = same && results[i] == value;
        a.low = kiln_lower_of(a.low, results[i]);
        a.high = kiln_higher_of(a.high, results[i]);
    }
    if (finite)
        return a;
    return all_nan || same ? certain(value) : kiln_interval_unknown(value);
}

/* NaN meets anything: NaN. Otherwise what is unknown stays so. True when `ret_result` is set. */
static bool is_settled(const struct kiln_interval *a, const struct kiln_interval *b, double value,
                       struct kiln_interval *ret_result)
{
    if (isnan(a->low) || isnan(b->low)) {
        *ret_result = certain(NAN);
        return true;
    }
    if (kiln_interval_is_unknown(a) || kiln_interval_is_unknown(b)) {
        *ret_result = kiln_interval_unknown(value);
        return true;
    }
    return false;
}

/* Each end moves in proportion to itself: the error of a number is relative to that number. */
static struct kiln_interval round_to_ulps(struct kiln_interval a, double ulps,
                                          const struct kiln_arithmetic *arithmetic)
{
    if (!kiln_interval_is_finite(&a))
        return a;
    double relative = ulps * arithmetic->ulp;
    if (a.low != 0) /* a zero keeps its sign */
        a.low -= relative * fabs(a.low);
    if (a.high != 0)
        a.high += relative * fabs(a.high);
    return kiln_interval_widen(a, 0, arithmetic);
}

/* The end of a sum, an ulp further in the direction of `sign`. Rounding takes no number past the
 * largest: -FLT_MAX, the mask of many programs, stays finite under a small score. */
static double round_end(double end, double sign, const struct kiln_arithmetic *arithmetic)
{
    if (end == 0) /* a zero keeps its sign */
        return end;
    double moved = end + sign * arithmetic->ulp * fabs(end);
    if (fabs(end) <= arithmetic->largest && fabs(moved) > arithmetic->largest)
        return copysign(arithmetic->largest, end);
    return moved;
}

struct kiln_interval kiln_interval_add(struct kiln_interval a, struct kiln_interval b,
                                       const struct kiln_arithmetic *arithmetic)
{
    struct kiln_interval result;
    if (is_settled(&a, &b, a.value + b.value, &result))
        return result;
    double ends[2] = {a.low + b.low, a.high + b.high};
    result = hull(a.value + b.value, ends, 2);
    if (!kiln_interval_is_finite(&result))
        return result;
    result.low = round_end(result.low, -1, arithmetic);
    result.high = round_end(result.high, 1, arithmetic);
    return kiln_interval_widen(result, 0, arithmetic);
}

struct kiln_interval kiln_interval_sub(struct kiln_interval a, struct kiln_interval b,
                                       const struct kiln_arithmetic *arithmetic)
{
    return kiln_interval_add(a, (struct kiln_interval){-b.value, -b.high, -b.low}, arithmetic);
}

/* An underflow of the product is absolute; it may happen to it with another factor still to come.
 */
static double underflow(double a, double b, const struct kiln_arithmetic *arithmetic)
{
    return arithmetic->tiny * (1 + a) * (1 + b);
}

struct kiln_interval kiln_interval_mul(struct kiln_interval a, struct kiln_interval b,
                                       const struct kiln_arithmetic *arithmetic)
{
    struct kiln_interval result;
    if (is_settled(&a, &b, a.value * b.value, &result))
        return result;
    double ends[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    result = round_to_ulps(hull(a.value * b.value, ends, 4), 1, arithmetic);
    if (!kiln_interval_is_finite(&a) || !kiln_interval_is_finite(&b))
        return result;
    double error = underflow(kiln_interval_magnitude(&a), kiln_interval_magnitude(&b), arithmetic);
    return kiln_interval_widen(result, error, arithmetic);
}

struct kiln_interval kiln_interval_abs(struct kiln_interval a)
{
    if (isnan(a.low))
        return a;
    if (kiln_interval_is_unknown(&a))
        return kiln_interval_unknown(fabs(a.value));
    struct kiln_interval result = {fabs(a.value), fmin(fabs(a.low), fabs(a.high)),
                                   fmax(fabs(a.low), fabs(a.high))};
    if (a.low < 0 && a.high > 0)
        result.low = 0;
    return result;
}

struct kiln_interval kiln_interval_square(struct kiln_interval a,
                                          const struct kiln_arithmetic *arithmetic)
{
    a = kiln_interval_abs(a);
    struct kiln_interval result = kiln_interval_mul(a, a, arithmetic);
    if (kiln_interval_is_finite(&result))
        result.low = fmax(result.low, 0);
    return result;
}

struct kiln_interval kiln_interval_divide(struct kiln_interval a, double divisor,
                                          const struct kiln_arithmetic *arithmetic)
{
    if (!kiln_interval_is_finite(&a) || divisor == 1)
        return a;
    struct kiln_interval result = {a.value / divisor, a.low / divisor, a.high / divisor};
    result = round_to_ulps(result, 3, arithmetic);
    return kiln_interval_widen(result, arithmetic->tiny, arithmetic);
}

struct kiln_interval kiln_interval_sqrt(struct kiln_interval a,
                                        const struct kiln_arithmetic *arithmetic)
{
    if (!kiln_interval_is_finite(&a))
        return a;
    struct kiln_interval result = {sqrt(fmax(a.value, 0)), sqrt(fmax(a.low, 0)),
                                   sqrt(fmax(a.high, 0))};
    result = round_to_ulps(result, 2, arithmetic);
    if (kiln_interval_is_finite(&result))
        result.low = fmax(result.low, 0);
    return result;
}

struct kiln_interval kiln_interval_rsqrt(struct kiln_interval a,
                                         const struct kiln_arithmetic *arithmetic)
{
    double value = 1 / sqrt(a.value);
    if (isnan(a.low) || a.high < 0)
        return certain(NAN);
    if (kiln_interval_is_unknown(&a) || a.low <= 0)
        return kiln_interval_unknown(value);
    if (isinf(a.low))
        return certain(0);
    struct kiln_interval result = {value, 1 / sqrt(a.high), 1 / sqrt(a.low)};
    return round_to_ulps(result, 6, arithmetic);
}

struct kiln_bounded kiln_bounded_unchecked(double value, enum kiln_dtype dtype)
{
    struct kiln_bounded result = {
        .real = kiln_round_to_dtype(dtype, value), .bound = INFINITY, .dtype = dtype};
    result.integer = kiln_round_to_integer(result.real, INT64_MIN, INT64_MAX);
    return result;
}

static double distance(double a, double b)
{
    return a == b ? 0 : fabs(a - b);
}

struct kiln_bounded kiln_interval_round(const struct kiln_interval *a, enum kiln_dtype dtype)
{
    struct kiln_bounded result = {.real = kiln_round_to_dtype(dtype, a->value), .dtype = dtype};
    if (kiln_dtype_is_integer(dtype))
        result.integer = kiln_round_to_integer(result.real, INT64_MIN, INT64_MAX);
    if (isnan(a->value))
        return result;
    if (dtype == KILN_DTYPE_BOOL) {
        bool decided = a->low == a->high || a->low > 0 || a->high < 0;
        result.bound = decided ? 0 : 1;
        return result;
    }
    double low = kiln_round_to_dtype(dtype, a->low);
    double high = kiln_round_to_dtype(dtype, a->high);
    result.bound = fmax(distance(low, result.real), distance(high, result.real));
    /* A zero of unknown sign is not exact: dividing by it tells. */
    if (result.real == 0 && result.bound == 0 && signbit(a->low) != signbit(a->high))
        result.bound = double_arithmetic.tiny;
    return result;
}

struct kiln_bounded kiln_interval_store(const struct kiln_interval *a, enum kiln_dtype dtype)
{
    if (kiln_interval_is_unknown(a))
        return kiln_bounded_unchecked(a->value, dtype);
    return kiln_interval_round(a, dtype);
}
