/*
 * How the bound is made. An implementation that computes in float or double sees operands that
 * differ from the reference's by their bounds; it may add errors that amount to another
 * perturbation of the operands (`backward`) and errors in the result (`ulps`). So:
 *   1. each operand becomes an interval: value, bound, conversion to the computing type,
 * `backward`;
 *   2. the mode's function is evaluated on a grid: centre and ends of every interval, zero and
 * where the mode bends or turns round (kiln_mode_turning_points) if they lie inside. Modes are
 * monotone between those points except for the hazards, handled by name;
 *   3. the span of the results grows by `ulps` of the mode's extent;
 *   4. both ends are rounded to the tensor's type, which is monotone: the distance of the farther
 * one from the rounded reference is the bound. A span that crosses a jump of the rounding thus
 * contains the jump.
 */
#include "compiler/reference/error_bound.h"
#include "compiler/reference/convert.h"
#include "compiler/reference/interval.h"
#include "compiler/reference/pointwise_reference.h"

#include <float.h>
#include <math.h>

/* Points: the centre, the ends, zero and where the mode turns. */
enum { MAX_ARITY = 3, MAX_POINTS = 4 + KILN_MODE_TURNING_POINTS };

/* Values of one operand at which the mode is evaluated; the first is the centre. */
struct points {
    uint32_t count;
    double values[MAX_POINTS];
    double radius;
};

/* What the mode can give on the grid. */
struct span {
    double value; /* at the centre */
    double low, high;
    double scale, peak;
    bool mixed; /* NaN at some points and not at others */
};

static bool is_known_nonzero(const struct kiln_bounded *operand)
{
    return isnan(operand->real) ? operand->bound == 0 : fabs(operand->real) > operand->bound;
}

/* True if the result is 0 whatever the gradient is. */
static bool drops_gradient(const struct kiln_pointwise *attributes, const struct kiln_bounded *x)
{
    if (attributes->mode == KILN_POINTWISE_ELU_BWD)
        return attributes->elu_alpha == 0 && x->real + x->bound <= 0;
    return attributes->mode == KILN_POINTWISE_RELU_BWD &&
           ((attributes->relu_lower_clip_slope == 0 &&
             x->real + x->bound <= attributes->relu_lower_clip) ||
            x->real - x->bound > attributes->relu_upper_clip);
}

/* True if the result depends on operand `i`: a decided BINARY_SELECT reads one of its two. */
static bool reads_operand(const struct kiln_pointwise *attributes,
                          const struct kiln_bounded *operands, uint32_t i)
{
    if (i == 0 && drops_gradient(attributes, &operands[1]))
        return false;
    if (attributes->mode != KILN_POINTWISE_BINARY_SELECT || i == 2)
        return true;
    if (is_known_nonzero(&operands[2]))
        return i == 0;
    return operands[2].bound != 0 || i == 1;
}

/* ---- real arithmetic ---- */

static void add_inner_point(struct points *points, double value)
{
    double centre = points->values[0];
    if (value > centre - points->radius && value < centre + points->radius && value != centre)
        points->values[points->count++] = value;
}

static void make_points(const struct kiln_mode_reference *row,
                        const struct kiln_pointwise *attributes, const struct kiln_bounded *operand,
                        enum kiln_scalar scalar, double ulp, struct points *ret_points)
{
    double value = operand->real;
    struct points points = {.count = 1, .values = {value}};
    points.radius =
        operand->bound + kiln_conversion_error(operand, row->takes_raw ? KILN_SCALAR_F64 : scalar);
    if (isfinite(value))
        points.radius += row->backward * ulp * fabs(value);
    if (points.radius > 0 && isfinite(value)) {
        points.values[points.count++] = value - points.radius;
        points.values[points.count++] = value + points.radius;
        add_inner_point(&points, 0);
        double turns[KILN_MODE_TURNING_POINTS];
        uint32_t turn_count = kiln_mode_turning_points(attributes, turns);
        for (uint32_t i = 0; i < turn_count; i++)
            add_inner_point(&points, turns[i]);
    }
    *ret_points = points;
}

static struct kiln_mode_extent extent_at(const struct kiln_mode_reference *row,
                                         const struct kiln_pointwise *attributes, const double *x,
                                         double result)
{
    if (row->extent != NULL)
        return row->extent(x, attributes, result);
    return (struct kiln_mode_extent){fabs(result), 0};
}

static void include_point(struct span *span, double result, struct kiln_mode_extent extent)
{
    if (isnan(result) != isnan(span->value)) {
        span->mixed = true;
        return;
    }
    span->low = kiln_lower_of(span->low, result);
    span->high = kiln_higher_of(span->high, result);
    span->scale = fmax(span->scale, extent.scale);
    span->peak = fmax(span->peak, extent.peak);
}

/* Evaluates the mode at every combination of the operands' points. */
static struct span evaluate_grid(const struct kiln_mode_reference *row,
                                 const struct kiln_pointwise *attributes,
                                 const struct points *points, uint32_t arity)
{
    uint32_t choice[MAX_ARITY] = {0};
    double x[MAX_ARITY];
    struct span span = {.mixed = false};
    bool first = true;
    for (;;) {
        for (uint32_t i = 0; i < arity; i++)
            x[i] = points[i].values[choice[i]];
        double result = row->real(x, attributes);
        if (first)
            span.value = span.low = span.high = result;
        include_point(&span, result, extent_at(row, attributes, x, result));
        first = false;
        uint32_t axis = 0;
        while (axis < arity && ++choice[axis] == points[axis].count)
            choice[axis++] = 0;
        if (axis == arity)
            return span;
    }
}

static bool touches_zero(const struct points *points)
{
    return points->radius > 0 && fabs(points->values[0]) <= points->radius;
}

/* Widens the span for what the grid can't show; false where nothing can be said. */
static bool apply_hazard(const struct kiln_mode_reference *row, const struct points *points,
                         struct span *span)
{
    double radius = points[0].radius;
    switch (row->hazard) {
    case KILN_HAZARD_NONE:
        return true;
    case KILN_HAZARD_ZERO_IN_0:
        return !touches_zero(&points[0]);
    case KILN_HAZARD_ZERO_IN_1:
        return !touches_zero(&points[1]);
    case KILN_HAZARD_PERIODIC:
        span->low = fmax(span->value - radius, -1);
        span->high = fmin(span->value + radius, 1);
        return true;
    case KILN_HAZARD_TANGENT: /* a pole inside an interval shorter than a period shows as a fall */
        return radius == 0 ||
               (radius < M_PI_2 && tan(points[0].values[1]) <= tan(points[0].values[2]));
    case KILN_HAZARD_EQUALITY:
        radius += points[1].radius;
        if (radius > 0 && fabs(points[0].values[0] - points[1].values[0]) <= radius) {
            span->low = 0;
            span->high = 1;
        }
        return true;
    }
    return false;
}

/* Error that underflow inside a product can cause, where a factor lost its low bits before it was
 * multiplied. An infinite operand loses nothing: its product is infinite or NaN, or the function
 * has reached its limit. */
static double hidden_underflow(const struct kiln_pointwise *attributes, const struct points *points,
                               uint32_t arity)
{
    double factor = 1;
    for (uint32_t i = 0; i < arity; i++)
        factor *= isinf(points[i].values[0]) ? 1 : 1 + fabs(points[i].values[0]);
    factor *= 1 + fabs(attributes->elu_alpha);
    factor *= 1 + fabs(attributes->swish_beta);
    double beta = fabs(attributes->softplus_beta);
    return factor * (1 + (beta > 0 && beta < 1 ? 1 / beta : beta));
}

/*
 * An infinite gradient times a factor that underflows in the computing type is NaN there, infinite
 * here. True when the factor is that small.
 */
static bool factor_may_vanish(const struct kiln_mode_reference *row,
                              const struct kiln_pointwise *attributes, const struct points *points,
                              uint32_t arity, const struct kiln_arithmetic *arithmetic)
{
    if (!row->hidden_underflow || arity < 2 || !isinf(points[0].values[0]))
        return false;
    double in[2] = {1, points[1].values[0]};
    double factor = fabs(row->real(in, attributes));
    return factor <= 0x1p24 * arithmetic->tiny;
}

/* Zero times a factor whose sign may be in doubt. */
static bool is_vanished_product(const struct kiln_mode_reference *row, const struct span *span)
{
    return row->hidden_underflow && span->value == 0;
}

/* Adds the mode's own error; false where nothing can be said. */
static bool add_own_error(const struct kiln_mode_reference *row,
                          const struct kiln_pointwise *attributes, const struct points *points,
                          uint32_t arity, const struct kiln_arithmetic *arithmetic,
                          struct span *span)
{
    if (row->ulps == 0) { /* correctly rounded: the rounding of the ends is all */
        if (arithmetic == kiln_arithmetic_of(KILN_SCALAR_F32)) {
            span->low = kiln_lower_of(span->low, kiln_round_to_dtype(KILN_DTYPE_F32, span->low));
            span->high =
                kiln_higher_of(span->high, kiln_round_to_dtype(KILN_DTYPE_F32, span->high));
        }
    } else if (isfinite(span->value) && (span->scale != 0 || is_vanished_product(row, span))) {
        double error = row->ulps * arithmetic->ulp * span->scale;
        double underflow = (row->ulps + 2) * arithmetic->tiny;
        if (row->hidden_underflow)
            underflow *= hidden_underflow(attributes, points, arity);
        error += underflow;
        if (!isfinite(error))
            return false;
        span->low -= error;
        span->high += error;
    }
    /* Infinite already in double: the same in the implementation. */
    return isinf(span->peak) || span->peak < arithmetic->overflow;
}

/* What overflows in the computing type is infinite there. */
static double saturate(double value, const struct kiln_arithmetic *arithmetic)
{
    return fabs(value) >= arithmetic->overflow ? copysign(INFINITY, value) : value;
}

static struct kiln_bounded evaluate_real(const struct kiln_mode_reference *row,
                                         const struct kiln_pointwise *attributes,
                                         enum kiln_scalar scalar,
                                         const struct kiln_bounded *operands, enum kiln_dtype dtype)
{
    uint32_t arity = kiln_pointwise_mode_info(attributes->mode)->arity;
    const struct kiln_arithmetic *arithmetic = kiln_arithmetic_of(scalar);
    struct points points[MAX_ARITY];
    bool known = true;
    for (uint32_t i = 0; i < arity; i++) {
        make_points(row, attributes, &operands[i], scalar, arithmetic->ulp, &points[i]);
        if (!reads_operand(attributes, operands, i))
            points[i].count = 1;
        else
            known = known && !isinf(operands[i].bound);
    }
    if (!known) {
        double x[MAX_ARITY];
        for (uint32_t i = 0; i < arity; i++)
            x[i] = operands[i].real;
        return kiln_bounded_unchecked(row->real(x, attributes), dtype);
    }
    struct span span = evaluate_grid(row, attributes, points, arity);
    bool may_vanish = reads_operand(attributes, operands, 0) &&
                      factor_may_vanish(row, attributes, points, arity, arithmetic);
    if (span.mixed || may_vanish || !apply_hazard(row, points, &span) ||
        !add_own_error(row, attributes, points, arity, arithmetic, &span))
        return kiln_bounded_unchecked(span.value, dtype);
    /* IDENTITY converts straight to the result's type, without passing through the computing type.
     */
    if (!row->takes_raw) {
        span.value = saturate(span.value, arithmetic);
        span.low = saturate(span.low, arithmetic);
        span.high = saturate(span.high, arithmetic);
    }
    struct kiln_interval interval = {span.value, span.low, span.high};
    struct kiln_bounded result = kiln_interval_round(&interval, dtype);
    /* Which zero the maximum of 0 and -0 is stays open: a division by it must not rely on the sign.
     */
    bool picks_zero =
        (attributes->mode == KILN_POINTWISE_MAX_OP || attributes->mode == KILN_POINTWISE_MIN_OP) &&
        operands[0].real == 0 && operands[1].real == 0;
    if (picks_zero && signbit(operands[0].real) != signbit(operands[1].real))
        result.bound = fmax(result.bound, arithmetic->tiny);
    return result;
}

/* ---- integer arithmetic ---- */

static int64_t wrap(enum kiln_scalar scalar, int64_t value)
{
    return scalar == KILN_SCALAR_I32 ? (int64_t)(int32_t)(uint32_t)(uint64_t)value : value;
}

static uint32_t integer_points(const struct kiln_bounded *operand, int64_t *points)
{
    points[0] = operand->integer;
    if (operand->bound == 0)
        return 1;
    points[1] = kiln_round_to_integer(operand->real - operand->bound, INT64_MIN, INT64_MAX);
    points[2] = kiln_round_to_integer(operand->real + operand->bound, INT64_MIN, INT64_MAX);
    points[3] = 0;
    return points[1] < 0 && points[2] > 0 ? 4 : 3;
}

static struct kiln_bounded store_integer(int64_t integer, enum kiln_dtype dtype)
{
    struct kiln_bounded result = {.dtype = dtype};
    if (kiln_dtype_is_integer(dtype)) {
        unsigned char memory[8];
        kiln_element_store(dtype, (struct kiln_constant){.integer = integer}, memory); /* clamps */
        struct kiln_constant stored = kiln_element_load(dtype, memory);
        result.integer = stored.integer;
        result.real = stored.real;
    } else {
        result.real = kiln_round_to_dtype(dtype, (double)integer);
    }
    return result;
}

/*
 * Operands that are not exact (rounded from an inexact real somewhere before) take the grid of
 * their ends; results that could wrap around at one of the points are unchecked, found by comparing
 * with the mode's real function.
 */
static struct kiln_bounded evaluate_integer(const struct kiln_mode_reference *row,
                                            const struct kiln_pointwise *attributes,
                                            enum kiln_scalar scalar,
                                            const struct kiln_bounded *operands,
                                            enum kiln_dtype dtype)
{
    uint32_t arity = kiln_pointwise_mode_info(attributes->mode)->arity;
    int64_t points[MAX_ARITY][4];
    uint32_t counts[MAX_ARITY];
    int64_t x[MAX_ARITY];
    bool exact = true, known = true;
    for (uint32_t i = 0; i < arity; i++) {
        x[i] = operands[i].integer;
        counts[i] = integer_points(&operands[i], points[i]);
        if (!reads_operand(attributes, operands, i))
            counts[i] = 1;
        exact = exact && counts[i] == 1;
        known = known && !(counts[i] > 1 && isinf(operands[i].bound));
    }
    struct kiln_bounded result = store_integer(wrap(scalar, row->integer(x)), dtype);
    if (exact)
        return result;
    struct span span = {.value = result.real, .low = result.real, .high = result.real};
    if (row->hazard == KILN_HAZARD_EQUALITY && known &&
        fabs(operands[0].real - operands[1].real) <= operands[0].bound + operands[1].bound) {
        span.low = 0;
        span.high = 1;
    }
    uint32_t choice[MAX_ARITY] = {0};
    for (uint32_t axis = 0; known && axis < arity;) {
        double real[MAX_ARITY];
        for (uint32_t i = 0; i < arity; i++) {
            x[i] = points[i][choice[i]];
            real[i] = (double)x[i];
        }
        int64_t integer = wrap(scalar, row->integer(x));
        double unwrapped = row->real(real, attributes);
        known = fabs((double)integer - unwrapped) <= 0x1p-50 * fabs(unwrapped);
        double stored = store_integer(integer, dtype).real;
        span.low = fmin(span.low, stored);
        span.high = fmax(span.high, stored);
        axis = 0;
        while (axis < arity && ++choice[axis] == counts[axis])
            choice[axis++] = 0;
    }
    result.bound = known ? fmax(result.real - span.low, span.high - result.real) : INFINITY;
    return result;
}

struct kiln_bounded kiln_bounded_from_integer(int64_t integer, enum kiln_dtype dtype)
{
    return store_integer(integer, dtype);
}

struct kiln_bounded kiln_bounded_evaluate(const struct kiln_pointwise *attributes,
                                          enum kiln_scalar scalar,
                                          const struct kiln_bounded *operands,
                                          enum kiln_dtype dtype)
{
    const struct kiln_mode_reference *row = kiln_mode_reference(attributes->mode);
    bool integer = scalar == KILN_SCALAR_I32 || scalar == KILN_SCALAR_I64;
    /* IDENTITY between integer types is exact whatever the node computes in. */
    if (attributes->mode == KILN_POINTWISE_IDENTITY && kiln_dtype_is_integer(operands[0].dtype) &&
        kiln_dtype_is_integer(dtype)) {
        integer = true;
        scalar = KILN_SCALAR_I64;
    }
    if (integer && row->integer != NULL)
        return evaluate_integer(row, attributes, scalar, operands, dtype);
    return evaluate_real(row, attributes, scalar, operands, dtype);
}
