/*
 * Formulas: hipdnn-op-semantics.md section 4 and pointwise_mode.def. They are written in the
 * algebraically equal form that keeps double's accuracy (1 - sigmoid(x) is sigmoid(-x), 1 + erf(u)
 * is erfc(-u), 1 - tanh(x)^2 is 1/cosh(x)^2), since double nodes are measured against them too.
 */
#include "compiler/reference/pointwise_reference.h"

#include <math.h>

/* Operands of a backward mode. */
enum { DY, X };

#define REAL(name)                                                                                 \
    static double name(const double *in, const struct kiln_pointwise *p __attribute__((unused)))
#define INTEGER(name) static int64_t name(const int64_t *in)
#define EXTENT(name)                                                                               \
    static struct kiln_mode_extent name(const double *in,                                          \
                                        const struct kiln_pointwise *p __attribute__((unused)),    \
                                        double result __attribute__((unused)))

/* An attribute of 0 makes 0 of anything. */
static double scaled(double factor, double x)
{
    return factor == 0 ? 0 : factor * x;
}

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static double normal_distribution(double x)
{
    return 0.5 * erfc(-x / sqrt(2.0));
}

static double normal_density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * M_PI);
}

/* The argument of tanh in the approximate GELU, doubled: (1 + tanh(u))/2 = sigmoid(2u). */
static double gelu_argument(double x)
{
    return 2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
}

/* x * d sigmoid(gelu_argument(x))/dx; the slope is zero long before the cubic's derivative
 * overflows. */
static double gelu_tanh_correction(double x)
{
    double u = gelu_argument(x);
    double slope = sigmoid(u) * sigmoid(-u);
    if (slope == 0 && isfinite(x))
        return 0;
    return x * slope * 2 * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

REAL(abs_real)
{
    return fabs(in[0]);
}
REAL(add_real)
{
    return in[0] + in[1];
}
REAL(add_square_real)
{
    return in[0] + in[1] * in[1];
}
REAL(select_real)
{
    return in[2] != 0 ? in[0] : in[1];
}
REAL(ceil_real)
{
    return ceil(in[0]);
}
REAL(eq_real)
{
    return in[0] == in[1];
}
REAL(ge_real)
{
    return in[0] >= in[1];
}
REAL(gt_real)
{
    return in[0] > in[1];
}
REAL(le_real)
{
    return in[0] <= in[1];
}
REAL(lt_real)
{
    return in[0] < in[1];
}
REAL(ne_real)
{
    return in[0] != in[1];
}
REAL(div_real)
{
    return in[0] / in[1];
}
REAL(elu_bwd_real)
{
    return in[X] > 0 ? in[DY] : scaled(p->elu_alpha, in[DY] * exp(in[X]));
}
REAL(elu_fwd_real)
{
    return in[0] > 0 ? in[0] : p->elu_alpha * expm1(in[0]);
}
REAL(erf_real)
{
    return erf(in[0]);
}
REAL(exp_real)
{
    return exp(in[0]);
}
REAL(floor_real)
{
    return floor(in[0]);
}
REAL(gelu_tanh_bwd_real)
{
    return in[DY] * (sigmoid(gelu_argument(in[X])) + gelu_tanh_correction(in[X]));
}
REAL(gelu_tanh_fwd_real)
{
    return in[0] * sigmoid(gelu_argument(in[0]));
}
REAL(gelu_bwd_real)
{
    return in[DY] * (normal_distribution(in[X]) + in[X] * normal_density(in[X]));
}
REAL(gelu_fwd_real)
{
    return in[0] * normal_distribution(in[0]);
}
REAL(identity_real)
{
    return in[0];
}
REAL(log_real)
{
    return log(in[0]);
}
REAL(and_real)
{
    return in[0] != 0 && in[1] != 0;
}
REAL(not_real)
{
    return in[0] == 0;
}
REAL(or_real)
{
    return in[0] != 0 || in[1] != 0;
}
REAL(max_real)
{
    return isnan(in[0]) || isnan(in[1]) ? NAN : in[0] > in[1] ? in[0] : in[1];
}
REAL(min_real)
{
    return isnan(in[0]) || isnan(in[1]) ? NAN : in[0] < in[1] ? in[0] : in[1];
}
REAL(mul_real)
{
    return in[0] * in[1];
}
REAL(neg_real)
{
    return -in[0];
}
REAL(reciprocal_real)
{
    return 1 / in[0];
}
REAL(relu_bwd_real)
{
    if (!p->has_relu_parameter)
        return in[X] > 0 ? in[DY] : 0;
    if (in[X] <= p->relu_lower_clip)
        return scaled(p->relu_lower_clip_slope, in[DY]);
    return in[X] > p->relu_upper_clip ? 0 : in[DY];
}
REAL(relu_fwd_real)
{
    if (in[0] <= p->relu_lower_clip)
        return scaled(p->relu_lower_clip_slope, in[0] - p->relu_lower_clip) + p->relu_lower_clip;
    return in[0] >= p->relu_upper_clip ? p->relu_upper_clip : in[0];
}
REAL(rsqrt_real)
{
    return 1 / sqrt(in[0]);
}
REAL(sigmoid_bwd_real)
{
    return in[DY] * (sigmoid(in[X]) * sigmoid(-in[X]));
}
REAL(sigmoid_fwd_real)
{
    return sigmoid(in[0]);
}
REAL(sin_real)
{
    return sin(in[0]);
}
REAL(softplus_bwd_real)
{
    return in[DY] * sigmoid(scaled(p->softplus_beta, in[X]));
}
REAL(softplus_fwd_real)
{
    double z = scaled(p->softplus_beta, in[0]);
    if (isnan(in[0])) /* even if beta is 0 */
        return in[0];
    return ((z > 0 ? z : 0) + log1p(exp(-fabs(z)))) / p->softplus_beta;
}
REAL(sqrt_real)
{
    return sqrt(in[0]);
}
REAL(sub_real)
{
    return in[0] - in[1];
}
REAL(swish_bwd_real)
{
    double z = scaled(p->swish_beta, in[X]);
    return in[DY] * (sigmoid(z) + z * (sigmoid(z) * sigmoid(-z)));
}
REAL(swish_fwd_real)
{
    return in[0] * sigmoid(scaled(p->swish_beta, in[0]));
}
REAL(tan_real)
{
    return tan(in[0]);
}
REAL(tanh_bwd_real)
{
    double sech = 1 / cosh(in[X]);
    return in[DY] * (sech * sech);
}
REAL(tanh_fwd_real)
{
    return tanh(in[0]);
}

/* Wraps around as unsigned arithmetic does; int32 results are wrapped once more by the caller. */
INTEGER(abs_integer)
{
    return in[0] < 0 ? (int64_t)(0 - (uint64_t)in[0]) : in[0];
}
INTEGER(add_integer)
{
    return (int64_t)((uint64_t)in[0] + (uint64_t)in[1]);
}
INTEGER(add_square_integer)
{
    return (int64_t)((uint64_t)in[0] + (uint64_t)in[1] * (uint64_t)in[1]);
}
INTEGER(select_integer)
{
    return in[2] != 0 ? in[0] : in[1];
}
INTEGER(eq_integer)
{
    return in[0] == in[1];
}
INTEGER(ge_integer)
{
    return in[0] >= in[1];
}
INTEGER(gt_integer)
{
    return in[0] > in[1];
}
INTEGER(le_integer)
{
    return in[0] <= in[1];
}
INTEGER(lt_integer)
{
    return in[0] < in[1];
}
INTEGER(ne_integer)
{
    return in[0] != in[1];
}
INTEGER(identity_integer)
{
    return in[0];
}
INTEGER(and_integer)
{
    return in[0] != 0 && in[1] != 0;
}
INTEGER(not_integer)
{
    return in[0] == 0;
}
INTEGER(or_integer)
{
    return in[0] != 0 || in[1] != 0;
}
INTEGER(max_integer)
{
    return in[0] > in[1] ? in[0] : in[1];
}
INTEGER(min_integer)
{
    return in[0] < in[1] ? in[0] : in[1];
}
INTEGER(mul_integer)
{
    return (int64_t)((uint64_t)in[0] * (uint64_t)in[1]);
}
INTEGER(neg_integer)
{
    return (int64_t)(0 - (uint64_t)in[0]);
}
INTEGER(sub_integer)
{
    return (int64_t)((uint64_t)in[0] - (uint64_t)in[1]);
}

/* Sums of terms that may cancel: errors follow the terms. */
EXTENT(add_square_extent)
{
    double square = in[1] * in[1];
    return (struct kiln_mode_extent){fabs(in[0]) + square, square};
}
EXTENT(gelu_bwd_extent)
{
    double terms = normal_distribution(in[X]) + fabs(in[X]) * normal_density(in[X]);
    return (struct kiln_mode_extent){fabs(in[DY]) * terms, 0};
}
EXTENT(gelu_tanh_bwd_extent)
{
    double terms = sigmoid(gelu_argument(in[X])) + fabs(gelu_tanh_correction(in[X]));
    return (struct kiln_mode_extent){fabs(in[DY]) * terms, 0};
}
EXTENT(swish_bwd_extent)
{
    double z = scaled(p->swish_beta, in[X]);
    double terms = sigmoid(z) + fabs(z) * (sigmoid(z) * sigmoid(-z));
    return (struct kiln_mode_extent){fabs(in[DY]) * terms, fabs(z)};
}
/* Branches that pass an operand through are exact. */
EXTENT(elu_bwd_extent)
{
    return (struct kiln_mode_extent){in[X] > 0 ? 0 : fabs(result), 0};
}
EXTENT(elu_fwd_extent)
{
    return (struct kiln_mode_extent){in[0] > 0 ? 0 : fabs(result), 0};
}
EXTENT(relu_fwd_extent)
{
    if (!(in[0] <= p->relu_lower_clip) || p->relu_lower_clip_slope == 0)
        return (struct kiln_mode_extent){0, 0};
    double distance = fabs(in[0] - p->relu_lower_clip);
    double leak = fabs(p->relu_lower_clip_slope) * distance;
    return (struct kiln_mode_extent){leak == 0 ? 0 : leak + fabs(p->relu_lower_clip),
                                     fmax(distance, leak)};
}

/* Columns: real, integer, extent, ulps, backward, hazard, hidden underflow, raw. */
#define MODE(name)               [KILN_POINTWISE_##name]
#define EXACT(function, integer) {function, integer, NULL, 0, 0, KILN_HAZARD_NONE, false, false}
#define RAW(function, integer)   {function, integer, NULL, 0, 0, KILN_HAZARD_NONE, false, true}
#define EQUALITY(function, integer)                                                                \
    {function, integer, NULL, 0, 0, KILN_HAZARD_EQUALITY, false, false}
#define PRIMITIVE(function, ulps, hazard) {function, NULL, NULL, ulps, 0, hazard, false, false}
/* Several steps: their rounding of the argument counts as `backward`, the rest as `ulps`. */
#define COMPOSITE(function, extent, ulps, backward)                                                \
    {function, NULL, extent, ulps, backward, KILN_HAZARD_NONE, true, false}

static const struct kiln_mode_reference references[KILN_POINTWISE_MODE_COUNT] = {
    MODE(ABS) = EXACT(abs_real, abs_integer),
    MODE(ADD) = EXACT(add_real, add_integer),
    MODE(ADD_SQUARE) = {add_square_real, add_square_integer, add_square_extent, 1, 0,
                        KILN_HAZARD_NONE, false, false},
    MODE(BINARY_SELECT) = EXACT(select_real, select_integer),
    MODE(CEIL) = EXACT(ceil_real, identity_integer),
    MODE(CMP_EQ) = EQUALITY(eq_real, eq_integer),
    MODE(CMP_GE) = EXACT(ge_real, ge_integer),
    MODE(CMP_GT) = EXACT(gt_real, gt_integer),
    MODE(CMP_LE) = EXACT(le_real, le_integer),
    MODE(CMP_LT) = EXACT(lt_real, lt_integer),
    MODE(CMP_NEQ) = EQUALITY(ne_real, ne_integer),
    MODE(DIV) = PRIMITIVE(div_real, 3, KILN_HAZARD_ZERO_IN_1),
    MODE(ELU_BWD) = COMPOSITE(elu_bwd_real, elu_bwd_extent, 6, 0),
    MODE(ELU_FWD) = COMPOSITE(elu_fwd_real, elu_fwd_extent, 6, 0),
    MODE(ERF) = PRIMITIVE(erf_real, 4, KILN_HAZARD_NONE),
    MODE(EXP) = PRIMITIVE(exp_real, 4, KILN_HAZARD_NONE),
    MODE(FLOOR) = EXACT(floor_real, identity_integer),
    MODE(GELU_APPROX_TANH_BWD) = COMPOSITE(gelu_tanh_bwd_real, gelu_tanh_bwd_extent, 12, 4),
    MODE(GELU_APPROX_TANH_FWD) = COMPOSITE(gelu_tanh_fwd_real, NULL, 8, 4),
    MODE(GELU_BWD) = COMPOSITE(gelu_bwd_real, gelu_bwd_extent, 10, 3),
    MODE(GELU_FWD) = COMPOSITE(gelu_fwd_real, NULL, 8, 3),
    MODE(IDENTITY) = RAW(identity_real, identity_integer),
    MODE(LOG) = PRIMITIVE(log_real, 4, KILN_HAZARD_ZERO_IN_0),
    MODE(LOGICAL_AND) = RAW(and_real, and_integer),
    MODE(LOGICAL_NOT) = RAW(not_real, not_integer),
    MODE(LOGICAL_OR) = RAW(or_real, or_integer),
    MODE(MAX_OP) = EXACT(max_real, max_integer),
    MODE(MIN_OP) = EXACT(min_real, min_integer),
    MODE(MUL) = EXACT(mul_real, mul_integer),
    MODE(NEG) = EXACT(neg_real, neg_integer),
    MODE(RECIPROCAL) = PRIMITIVE(reciprocal_real, 3, KILN_HAZARD_ZERO_IN_0),
    MODE(RELU_BWD) = EXACT(relu_bwd_real, NULL),
    MODE(RELU_FWD) = {relu_fwd_real, NULL, relu_fwd_extent, 2, 0, KILN_HAZARD_NONE, false, false},
    MODE(RSQRT) = PRIMITIVE(rsqrt_real, 4, KILN_HAZARD_ZERO_IN_0),
    MODE(SIGMOID_BWD) = COMPOSITE(sigmoid_bwd_real, NULL, 8, 0),
    MODE(SIGMOID_FWD) = COMPOSITE(sigmoid_fwd_real, NULL, 6, 0),
    MODE(SIN) = PRIMITIVE(sin_real, 4, KILN_HAZARD_PERIODIC),
    MODE(SOFTPLUS_BWD) = COMPOSITE(softplus_bwd_real, NULL, 8, 1),
    MODE(SOFTPLUS_FWD) = COMPOSITE(softplus_fwd_real, NULL, 8, 1),
    MODE(SQRT) = PRIMITIVE(sqrt_real, 2, KILN_HAZARD_NONE),
    MODE(SUB) = EXACT(sub_real, sub_integer),
    MODE(SWISH_BWD) = COMPOSITE(swish_bwd_real, swish_bwd_extent, 10, 1),
    MODE(SWISH_FWD) = COMPOSITE(swish_fwd_real, NULL, 8, 1),
    MODE(TAN) = PRIMITIVE(tan_real, 5, KILN_HAZARD_TANGENT),
    MODE(TANH_BWD) = COMPOSITE(tanh_bwd_real, NULL, 10, 0),
    MODE(TANH_FWD) = PRIMITIVE(tanh_fwd_real, 5, KILN_HAZARD_NONE),
};

const struct kiln_mode_reference *kiln_mode_reference(enum kiln_pointwise_mode mode)
{
    return &references[mode];
}

uint32_t kiln_mode_turning_points(const struct kiln_pointwise *attributes,
                                  double ret_points[KILN_MODE_TURNING_POINTS])
{
    /* Zeros of the derivative, of swish in z = beta*x: those of the forward modes are the lone
     * minimum, of the backward modes the maximum and its mirror image. For swish z*tanh(z/2) = 2,
     * for GELU x^2 = 2. */
    static const double gelu_minimum = -0.75179152469356446,
                        gelu_tanh_minimum = -0.75246142207101626;
    static const double swish_minimum = -1.2784645427610738,
                        swish_slope_maximum = 2.3993572805154677;
    static const double gelu_tanh_slope_maximum = 1.4185040087908284;
    double turn;
    switch (attributes->mode) {
    case KILN_POINTWISE_RELU_FWD:
    case KILN_POINTWISE_RELU_BWD:
        ret_points[0] = attributes->relu_lower_clip;
        ret_points[1] = attributes->relu_upper_clip;
        return 2;
    case KILN_POINTWISE_GELU_FWD:
        ret_points[0] = gelu_minimum;
        return 1;
    case KILN_POINTWISE_GELU_APPROX_TANH_FWD:
        ret_points[0] = gelu_tanh_minimum;
        return 1;
    case KILN_POINTWISE_SWISH_FWD:
        ret_points[0] = swish_minimum / attributes->swish_beta;
        return 1;
    case KILN_POINTWISE_GELU_BWD:
        turn = M_SQRT2;
        break;
    case KILN_POINTWISE_GELU_APPROX_TANH_BWD:
        turn = gelu_tanh_slope_maximum;
        break;
    case KILN_POINTWISE_SWISH_BWD:
        turn = swish_slope_maximum / attributes->swish_beta;
        break;
    default:
        return 0;
    }
    ret_points[0] = -turn;
    ret_points[1] = turn;
    return 2;
}
