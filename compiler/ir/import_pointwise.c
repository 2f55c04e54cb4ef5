/*
 * The 47 modes. A mode that is one primitive is a row with an opcode, the others are functions.
 *
 * The forms are chosen so that float results stay within a few units in the last place of the true
 * value where the textbook formula cancels or overflows:
 *   - sigmoid and its derivative go through e = exp(-|x|) in [0, 1]: s = (x >= 0 ? 1 : e) / (1 + e)
 * and s*(1 - s) = e / (1 + e)^2; tanh'(x) = 1 - tanh(x)^2 = 4*e / (1 + e)^2 with e = exp(-2|x|);
 *   - (1 + tanh u)/2 = sigmoid(2u), and the normal distribution function is an operation of its
 * own: neither cancels for negative numbers;
 *   - ln(1 + exp z) = max(z, 0) + log1p(exp(-|z|)); exp(x) - 1 = expm1(x).
 * Infinities and NaN come out as the textbook formulas give them. An attribute of 0 (slope, alpha,
 * beta) is the exception: 0 times infinity would be a NaN that no operand has.
 */
#include "compiler/ir/import_pointwise.h"

#include <math.h>

/* One node under import. Helpers name the operation, so that formulas below read as formulas. */
struct formula {
    struct kiln_ir *ir;
    const struct kiln_pointwise *attributes;
    enum kiln_scalar scalar;
    uint32_t raw[3]; /* operands in their own types */
    uint32_t a, b;   /* the first two in `scalar` */
    uint32_t dy, x;  /* the same of a backward mode */
};

static const double SQRT_2_OVER_PI = 0.79788456080286535588;
static const double INV_SQRT_2_PI = 0.39894228040143267794; /* 1/sqrt(2*pi) */
static const double GELU_CUBIC = 0.044715;

static uint32_t constant(const struct formula *f, double value)
{
    return kiln_ir_real(f->ir, f->scalar, value);
}

static uint32_t unary(const struct formula *f, enum kiln_opcode opcode, uint32_t x)
{
    return kiln_ir_unary(f->ir, opcode, x);
}

static uint32_t binary(const struct formula *f, enum kiln_opcode opcode, uint32_t x, uint32_t y)
{
    return kiln_ir_binary(f->ir, opcode, x, y);
}

static uint32_t add(const struct formula *f, uint32_t x, uint32_t y)
{
    return binary(f, KILN_OP_ADD, x, y);
}

static uint32_t mul(const struct formula *f, uint32_t x, uint32_t y)
{
    return binary(f, KILN_OP_MUL, x, y);
}

/* 0 for a factor of 0, whatever x is. */
static uint32_t scale(const struct formula *f, uint32_t x, double factor)
{
    if (factor == 0)
        return constant(f, 0);
    return factor == 1 ? x : mul(f, x, constant(f, factor));
}

/* exp(-|x|): never overflows. */
static uint32_t exp_of_minus_abs(const struct formula *f, uint32_t x)
{
    return unary(f, KILN_OP_EXP, unary(f, KILN_OP_NEG, unary(f, KILN_OP_ABS, x)));
}

static uint32_t sigmoid(const struct formula *f, uint32_t x)
{
    return unary(f, KILN_OP_SIGMOID, x);
}

/* s*(1 - s) for s = sigmoid(x), where 1 - s = sigmoid(-x) does not cancel. */
static uint32_t sigmoid_slope(const struct formula *f, uint32_t x)
{
    return mul(f, sigmoid(f, x), sigmoid(f, unary(f, KILN_OP_NEG, x)));
}

static uint32_t normal_distribution(const struct formula *f, uint32_t x)
{
    return unary(f, KILN_OP_NORMAL_CDF, x);
}

/* 2*sqrt(2/pi)*(x + 0.044715*x^3): twice the argument of tanh in the approximate GELU. */
static uint32_t gelu_tanh_argument(const struct formula *f, uint32_t x)
{
    uint32_t square = mul(f, x, x);
    uint32_t factor =
        add(f, scale(f, square, 2 * SQRT_2_OVER_PI * GELU_CUBIC), constant(f, 2 * SQRT_2_OVER_PI));
    return mul(f, x, factor);
}

static uint32_t add_square(const struct formula *f)
{
    return add(f, f->a, mul(f, f->b, f->b));
}

static uint32_t binary_select(const struct formula *f)
{
    uint32_t condition = kiln_ir_convert(f->ir, f->raw[2], KILN_SCALAR_BOOL);
    return kiln_ir_select(f->ir, condition, f->a, f->b);
}

/* CEIL and FLOOR have nothing to do on integers. */
static uint32_t round_integral(const struct formula *f, enum kiln_opcode opcode)
{
    bool integer = f->scalar == KILN_SCALAR_I32 || f->scalar == KILN_SCALAR_I64;
    return integer ? f->a : unary(f, opcode, f->a);
}

static uint32_t ceiling(const struct formula *f)
{
    return round_integral(f, KILN_OP_CEIL);
}

static uint32_t floor_of(const struct formula *f)
{
    return round_integral(f, KILN_OP_FLOOR);
}

static uint32_t elu_bwd(const struct formula *f)
{
    uint32_t positive = binary(f, KILN_OP_CMP_GT, f->x, constant(f, 0));
    uint32_t leak = scale(f, mul(f, f->dy, unary(f, KILN_OP_EXP, f->x)), f->attributes->elu_alpha);
    return kiln_ir_select(f->ir, positive, f->dy, leak);
}

static uint32_t elu_fwd(const struct formula *f)
{
    uint32_t negative =
        mul(f, unary(f, KILN_OP_EXPM1, f->a), constant(f, f->attributes->elu_alpha));
    uint32_t positive = binary(f, KILN_OP_CMP_GT, f->a, constant(f, 0));
    return kiln_ir_select(f->ir, positive, f->a, negative);
}

static uint32_t gelu_tanh_bwd(const struct formula *f)
{
    /*
     * s + x*s*(1 - s)*u'(x), s = sigmoid(u), u' = 2*sqrt(2/pi)*(1 + 3*0.044715*x^2). The square
     * would overflow long after s*(1 - s) has become zero, so u' is taken at x clamped to [-32,
     * 32], where exp(-|u|) is zero in double.
     */
    uint32_t x = f->x;
    uint32_t u = gelu_tanh_argument(f, x);
    uint32_t clamped = binary(f, KILN_OP_MAX, x, constant(f, -32));
    clamped = binary(f, KILN_OP_MIN, clamped, constant(f, 32));
    uint32_t slope = scale(f, mul(f, clamped, clamped), 6 * SQRT_2_OVER_PI * GELU_CUBIC);
    slope = add(f, slope, constant(f, 2 * SQRT_2_OVER_PI));
    uint32_t correction = mul(f, mul(f, x, sigmoid_slope(f, u)), slope);
    return mul(f, f->dy, add(f, sigmoid(f, u), correction));
}

static uint32_t gelu_tanh_fwd(const struct formula *f)
{
    return mul(f, f->a, sigmoid(f, gelu_tanh_argument(f, f->a)));
}

static uint32_t gelu_bwd(const struct formula *f)
{
    uint32_t x = f->x;
    uint32_t square = scale(f, mul(f, x, x), -0.5);
    uint32_t density = scale(f, unary(f, KILN_OP_EXP, square), INV_SQRT_2_PI);
    return mul(f, f->dy, add(f, normal_distribution(f, x), mul(f, x, density)));
}

static uint32_t gelu_fwd(const struct formula *f)
{
    return mul(f, f->a, normal_distribution(f, f->a));
}

static uint32_t identity(const struct formula *f)
{
    return f->raw[0];
}

static uint32_t logical_and(const struct formula *f)
{
    return binary(f, KILN_OP_AND, kiln_ir_convert(f->ir, f->raw[0], KILN_SCALAR_BOOL),
                  kiln_ir_convert(f->ir, f->raw[1], KILN_SCALAR_BOOL));
}

static uint32_t logical_not(const struct formula *f)
{
    return unary(f, KILN_OP_NOT, kiln_ir_convert(f->ir, f->raw[0], KILN_SCALAR_BOOL));
}

static uint32_t logical_or(const struct formula *f)
{
    return binary(f, KILN_OP_OR, kiln_ir_convert(f->ir, f->raw[0], KILN_SCALAR_BOOL),
                  kiln_ir_convert(f->ir, f->raw[1], KILN_SCALAR_BOOL));
}

static uint32_t relu_bwd(const struct formula *f)
{
    const struct kiln_pointwise *attributes = f->attributes;
    uint32_t zero = constant(f, 0);
    if (!attributes->has_relu_parameter)
        return kiln_ir_select(f->ir, binary(f, KILN_OP_CMP_GT, f->x, zero), f->dy, zero);
    uint32_t result = f->dy;
    if (attributes->relu_upper_clip != (double)INFINITY) {
        uint32_t above = binary(f, KILN_OP_CMP_GT, f->x, constant(f, attributes->relu_upper_clip));
        result = kiln_ir_select(f->ir, above, zero, result);
    }
    uint32_t below = binary(f, KILN_OP_CMP_LE, f->x, constant(f, attributes->relu_lower_clip));
    uint32_t leak = scale(f, f->dy, attributes->relu_lower_clip_slope);
    return kiln_ir_select(f->ir, below, leak, result);
}

static uint32_t relu_fwd(const struct formula *f)
{
    const struct kiln_pointwise *attributes = f->attributes;
    uint32_t lower = constant(f, attributes->relu_lower_clip);
    uint32_t result = f->a;
    if (attributes->relu_upper_clip != (double)INFINITY) { /* no clip: infinity stays infinity */
        uint32_t upper = constant(f, attributes->relu_upper_clip);
        result = kiln_ir_select(f->ir, binary(f, KILN_OP_CMP_GE, f->a, upper), upper, result);
    }
    uint32_t leak =
        scale(f, binary(f, KILN_OP_SUB, f->a, lower), attributes->relu_lower_clip_slope);
    leak = add(f, leak, lower);
    return kiln_ir_select(f->ir, binary(f, KILN_OP_CMP_LE, f->a, lower), leak, result);
}

static uint32_t sigmoid_bwd(const struct formula *f)
{
    return mul(f, f->dy, sigmoid_slope(f, f->x));
}

static uint32_t sigmoid_fwd(const struct formula *f)
{
    return sigmoid(f, f->a);
}

static uint32_t softplus_bwd(const struct formula *f)
{
    return mul(f, f->dy, sigmoid(f, scale(f, f->x, f->attributes->softplus_beta)));
}

static uint32_t softplus_fwd(const struct formula *f)
{
    /* max(beta*x, 0)/beta is max(x, 0), or min(x, 0) for a negative beta: no product to overflow.
     */
    double beta = f->attributes->softplus_beta;
    uint32_t linear = binary(f, beta < 0 ? KILN_OP_MIN : KILN_OP_MAX, f->a, constant(f, 0));
    uint32_t e = exp_of_minus_abs(f, scale(f, f->a, beta));
    uint32_t rest = unary(f, KILN_OP_LOG1P, e);
    if (beta != 1)
        rest = binary(f, KILN_OP_DIV, rest, constant(f, beta));
    return add(f, linear, rest);
}

static uint32_t swish_bwd(const struct formula *f)
{
    uint32_t z = scale(f, f->x, f->attributes->swish_beta);
    return mul(f, f->dy, add(f, sigmoid(f, z), mul(f, z, sigmoid_slope(f, z))));
}

static uint32_t swish_fwd(const struct formula *f)
{
    return mul(f, f->a, sigmoid(f, scale(f, f->a, f->attributes->swish_beta)));
}

static uint32_t tanh_bwd(const struct formula *f)
{
    uint32_t slope = sigmoid_slope(f, scale(f, f->x, 2));
    return mul(f, f->dy, scale(f, slope, 4));
}

struct mode_row {
    uint32_t (*build)(
        const struct formula *formula); /* NULL: the opcode on `a`, or on `a` and `b` */
    enum kiln_opcode opcode;
};

static const struct mode_row mode_rows[KILN_POINTWISE_MODE_COUNT] = {
    [KILN_POINTWISE_ABS] = {NULL, KILN_OP_ABS},
    [KILN_POINTWISE_ADD] = {NULL, KILN_OP_ADD},
    [KILN_POINTWISE_ADD_SQUARE] = {add_square, 0},
    [KILN_POINTWISE_BINARY_SELECT] = {binary_select, 0},
    [KILN_POINTWISE_CEIL] = {ceiling, 0},
    [KILN_POINTWISE_CMP_EQ] = {NULL, KILN_OP_CMP_EQ},
    [KILN_POINTWISE_CMP_GE] = {NULL, KILN_OP_CMP_GE},
    [KILN_POINTWISE_CMP_GT] = {NULL, KILN_OP_CMP_GT},
    [KILN_POINTWISE_CMP_LE] = {NULL, KILN_OP_CMP_LE},
    [KILN_POINTWISE_CMP_LT] = {NULL, KILN_OP_CMP_LT},
    [KILN_POINTWISE_CMP_NEQ] = {NULL, KILN_OP_CMP_NE},
    [KILN_POINTWISE_DIV] = {NULL, KILN_OP_DIV},
    [KILN_POINTWISE_ELU_BWD] = {elu_bwd, 0},
    [KILN_POINTWISE_ELU_FWD] = {elu_fwd, 0},
    [KILN_POINTWISE_ERF] = {NULL, KILN_OP_ERF},
    [KILN_POINTWISE_EXP] = {NULL, KILN_OP_EXP},
    [KILN_POINTWISE_FLOOR] = {floor_of, 0},
    [KILN_POINTWISE_GELU_APPROX_TANH_BWD] = {gelu_tanh_bwd, 0},
    [KILN_POINTWISE_GELU_APPROX_TANH_FWD] = {gelu_tanh_fwd, 0},
    [KILN_POINTWISE_GELU_BWD] = {gelu_bwd, 0},
    [KILN_POINTWISE_GELU_FWD] = {gelu_fwd, 0},
    [KILN_POINTWISE_IDENTITY] = {identity, 0},
    [KILN_POINTWISE_LOG] = {NULL, KILN_OP_LOG},
    [KILN_POINTWISE_LOGICAL_AND] = {logical_and, 0},
    [KILN_POINTWISE_LOGICAL_NOT] = {logical_not, 0},
    [KILN_POINTWISE_LOGICAL_OR] = {logical_or, 0},
    [KILN_POINTWISE_MAX_OP] = {NULL, KILN_OP_MAX},
    [KILN_POINTWISE_MIN_OP] = {NULL, KILN_OP_MIN},
    [KILN_POINTWISE_MUL] = {NULL, KILN_OP_MUL},
    [KILN_POINTWISE_NEG] = {NULL, KILN_OP_NEG},
    [KILN_POINTWISE_RECIPROCAL] = {NULL, KILN_OP_RCP},
    [KILN_POINTWISE_RELU_BWD] = {relu_bwd, 0},
    [KILN_POINTWISE_RELU_FWD] = {relu_fwd, 0},
    [KILN_POINTWISE_RSQRT] = {NULL, KILN_OP_RSQRT},
    [KILN_POINTWISE_SIGMOID_BWD] = {sigmoid_bwd, 0},
    [KILN_POINTWISE_SIGMOID_FWD] = {sigmoid_fwd, 0},
    [KILN_POINTWISE_SIN] = {NULL, KILN_OP_SIN},
    [KILN_POINTWISE_SOFTPLUS_BWD] = {softplus_bwd, 0},
    [KILN_POINTWISE_SOFTPLUS_FWD] = {softplus_fwd, 0},
    [KILN_POINTWISE_SQRT] = {NULL, KILN_OP_SQRT},
    [KILN_POINTWISE_SUB] = {NULL, KILN_OP_SUB},
    [KILN_POINTWISE_SWISH_BWD] = {swish_bwd, 0},
    [KILN_POINTWISE_SWISH_FWD] = {swish_fwd, 0},
    [KILN_POINTWISE_TAN] = {NULL, KILN_OP_TAN},
    [KILN_POINTWISE_TANH_BWD] = {tanh_bwd, 0},
    [KILN_POINTWISE_TANH_FWD] = {NULL, KILN_OP_TANH},
};

/* Modes that look at their operands in the operands' own types. */
static bool takes_raw_operands(enum kiln_pointwise_mode mode)
{
    return mode == KILN_POINTWISE_IDENTITY || mode == KILN_POINTWISE_LOGICAL_AND ||
           mode == KILN_POINTWISE_LOGICAL_NOT || mode == KILN_POINTWISE_LOGICAL_OR;
}

uint32_t kiln_pointwise_import(struct kiln_ir *ir, const struct kiln_pointwise *attributes,
                               enum kiln_scalar scalar, const uint32_t *operands)
{
    const struct mode_row *row = &mode_rows[attributes->mode];
    uint32_t arity = kiln_pointwise_mode_info(attributes->mode)->arity;
    struct formula f = {.ir = ir, .attributes = attributes, .scalar = scalar};
    for (uint32_t i = 0; i < arity; i++)
        f.raw[i] = operands[i];
    if (!takes_raw_operands(attributes->mode)) {
        f.a = kiln_ir_convert(ir, operands[0], scalar);
        f.b = arity > 1 ? kiln_ir_convert(ir, operands[1], scalar) : KILN_NONE;
        f.dy = f.a;
        f.x = f.b;
    }
    if (row->build != NULL)
        return row->build(&f);
    return arity == 1 ? unary(&f, row->opcode, f.a) : binary(&f, row->opcode, f.a, f.b);
}
