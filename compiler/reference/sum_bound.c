#include "compiler/reference/sum_bound.h"

#include <math.h>

/* Roundings outside the sums proper (quotients, products), in units of half an ulp, and the factor
 * of the deviations: see the header. */
static const double extra_roundings = 8;
static const double merge_roundings = 16;

static void add_compensated(double *total, double *correction, double number)
{
    double sum = *total + number;
    *correction += fabs(*total) >= fabs(number) ? (*total - sum) + number : (number - sum) + *total;
    *total = sum;
}

void kiln_bounded_sum_add(struct kiln_bounded_sum *sum, struct kiln_interval number)
{
    sum->count++;
    if (isnan(number.low)) {
        sum->has_nan = true;
    } else if (kiln_interval_is_unknown(&number)) {
        sum->has_unknown = true;
    } else if (isinf(number.low)) {
        sum->has_positive_infinity = sum->has_positive_infinity || number.low > 0;
        sum->has_negative_infinity = sum->has_negative_infinity || number.low < 0;
    } else {
        double radius = kiln_interval_radius(&number);
        double magnitude = kiln_interval_magnitude(&number);
        add_compensated(&sum->total, &sum->correction, number.value);
        sum->radius += radius;
        sum->radius_squares += radius * radius;
        sum->magnitude += magnitude;
        sum->squares += magnitude * magnitude;
    }
}

static double centre(const struct kiln_bounded_sum *sum)
{
    return sum->total + sum->correction;
}

/* What is neither NaN nor a number; true when `ret_result` is set. */
static bool is_special(const struct kiln_bounded_sum *sum, bool infinity_is_certain,
                       struct kiln_interval *ret_result)
{
    bool infinite = sum->has_positive_infinity || sum->has_negative_infinity;
    double value = centre(sum);
    if (infinite)
        value = !sum->has_negative_infinity   ? (double)INFINITY
                : !sum->has_positive_infinity ? -(double)INFINITY
                                              : (double)NAN;
    if (sum->has_nan)
        *ret_result = (struct kiln_interval){NAN, NAN, NAN};
    else if (infinite && infinity_is_certain && !sum->has_unknown)
        *ret_result = (struct kiln_interval){value, value, value};
    else if (infinite || sum->has_unknown || !isfinite(value))
        *ret_result = kiln_interval_unknown(value);
    else
        return false;
    return true;
}

/* True if some order of adding the finite numbers may overflow. */
static bool may_overflow(const struct kiln_bounded_sum *sum,
                         const struct kiln_arithmetic *arithmetic)
{
    double growth = 1 + (double)sum->count * arithmetic->ulp;
    return !(sum->magnitude * growth < arithmetic->overflow);
}

static struct kiln_interval around(double value, double error,
                                   const struct kiln_arithmetic *arithmetic)
{
    struct kiln_interval point = {value, value, value};
    if (value == 0 && error == 0) /* of which sign depends on where the sum starts */
        return (struct kiln_interval){0, -0.0, 0.0};
    return kiln_interval_widen(point, error, arithmetic);
}

struct kiln_interval kiln_bounded_sum_total(const struct kiln_bounded_sum *sum,
                                            const struct kiln_arithmetic *arithmetic)
{
    struct kiln_interval result;
    if (may_overflow(sum, arithmetic) && !sum->has_nan)
        return kiln_interval_unknown(centre(sum));
    if (is_special(sum, true, &result))
        return result;
    double value = centre(sum);
    double error = sum->radius;
    if (sum->count > 1)
        error += (double)sum->count * (arithmetic->ulp / 2) * sum->magnitude;
    return around(value, error, arithmetic);
}

static double deviation_error(double count, double deviations)
{
    return merge_roundings * sqrt((1 + log2(count)) / count) * deviations;
}

/* Of a mean, `deviations` being the 2-norm of the deviations or more. */
static double mean_error(const struct kiln_bounded_sum *sum, double deviations,
                         const struct kiln_arithmetic *arithmetic)
{
    double n = (double)sum->count;
    double roundings = (n + extra_roundings) * sum->magnitude / n + deviation_error(n, deviations);
    return sum->radius / n + (arithmetic->ulp / 2) * roundings +
           (n + extra_roundings) * arithmetic->tiny;
}

struct kiln_interval kiln_bounded_sum_mean(const struct kiln_bounded_sum *sum,
                                           const struct kiln_arithmetic *arithmetic)
{
    struct kiln_interval result;
    double value = centre(sum) / (double)sum->count;
    if (may_overflow(sum, arithmetic) && !sum->has_nan)
        return kiln_interval_unknown(value);
    if (is_special(sum, false, &result))
        return result;
    double error = sum->count == 1 ? sum->radius : mean_error(sum, sqrt(sum->squares), arithmetic);
    return around(value, error, arithmetic);
}

static double squared_deviations(const struct kiln_interval *numbers, int64_t count, double mean)
{
    double total = 0, correction = 0;
    for (int64_t i = 0; i < count; i++) {
        double deviation = numbers[i].value - mean;
        add_compensated(&total, &correction, deviation * deviation);
    }
    return total + correction;
}

/* `squares` from the values, in [(sqrt(s) - d)^2, (sqrt(s) + d)^2] with the sum's own roundings. */
static struct kiln_interval squares_interval(const struct kiln_bounded_sum *sum, double squares,
                                             const struct kiln_arithmetic *arithmetic)
{
    double n = (double)sum->count, u = arithmetic->ulp / 2;
    double deviation = sqrt(squares), norm = sqrt(sum->squares);
    double wander = sqrt(sum->radius_squares) +
                    u * ((n + extra_roundings) * norm + n * deviation_error(n, deviation));
    double growth = (n + extra_roundings) * u;
    double low = fmax(deviation - wander, 0), high = deviation + wander;
    /* Each square may underflow, with a weight of up to n/4 at the root of a tree. */
    double underflow = n * (1 + log2(n)) * arithmetic->tiny;
    struct kiln_interval result = {squares, low * low * fmax(1 - growth, 0),
                                   high * high * (1 + growth)};
    /* Intermediates may be a few times as large as the result. */
    if (!(4 * result.high < arithmetic->overflow))
        return kiln_interval_unknown(squares);
    result = kiln_interval_widen(result, underflow, arithmetic);
    if (kiln_interval_is_finite(&result))
        result.low = fmax(result.low, 0);
    return result;
}

struct kiln_moments kiln_bounded_moments(const struct kiln_interval *numbers, int64_t count,
                                         const struct kiln_arithmetic *arithmetic)
{
    struct kiln_bounded_sum sum = {0};
    struct kiln_moments moments;
    for (int64_t i = 0; i < count; i++)
        kiln_bounded_sum_add(&sum, numbers[i]);
    if (is_special(&sum, false, &moments.mean)) {
        moments.squares = moments.mean;
        return moments;
    }
    double mean = centre(&sum) / (double)count;
    double squares = squared_deviations(numbers, count, mean);
    if (may_overflow(&sum, arithmetic) || !isfinite(squares)) {
        moments.mean = kiln_interval_unknown(mean);
        moments.squares = kiln_interval_unknown(squares);
        return moments;
    }
    double error = count == 1 ? sum.radius : mean_error(&sum, sqrt(squares), arithmetic);
    moments.mean = around(mean, error, arithmetic);
    moments.squares =
        count == 1 ? (struct kiln_interval){0, 0, 0} : squares_interval(&sum, squares, arithmetic);
    return moments;
}
