#include "tests/compiler/ir/interpreter_elements.h"

#include "compiler/reference/convert.h"
#include "compiler/reference/round_up.h"

#include <math.h>
#include <string.h>

/* Moves by up to `steps` representable numbers in a direction that depends on the operands only. */
static double jitter(enum kiln_interpreter_math math, enum kiln_scalar scalar, double result,
                     double a, double b, uint32_t steps)
{
    /* Zeros, infinities and ones (saturated ends, exact cases) are exact on any device. */
    if (math != KILN_MATH_NOISY || !isfinite(result) || result == 0 || fabs(result) == 1)
        return result;
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    uint64_t hash = (x * 31 + y + 0x9e3779b9) * UINT64_C(0xbf58476d1ce4e5b9);
    hash ^= hash >> 31;
    int count = (int)(hash % (2 * steps + 1)) - (int)steps;
    double target = count < 0 ? -INFINITY : INFINITY;
    for (; count != 0; count += count < 0 ? 1 : -1)
        result = scalar == KILN_SCALAR_F32 ? (double)nextafterf((float)result, (float)target)
                                           : nextafter(result, target);
    return result;
}

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static float sigmoidf(float x)
{
    return x >= 0 ? 1 / (1 + expf(-x)) : expf(x) / (1 + expf(x));
}

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static float normal_cdff(float x)
{
    return (float)normal_cdf(x);
}

/* A function of math.h, or of those above, in the scalar's own precision, or in double for both. */
#define MATH(name)                                                                                 \
    (scalar == KILN_SCALAR_F64   ? name(a)                                                         \
     : math == KILN_MATH_ROUNDED ? (double)(float)name(a)                                          \
                                 : (double)name##f((float)a))
#define ARITHMETIC(operator)                                                                       \
    (scalar == KILN_SCALAR_F32 ? (double)((float)a operator(float) b) : a operator b)

double kiln_interpreter_real(enum kiln_interpreter_math math, enum kiln_opcode opcode,
                             enum kiln_scalar scalar, double a, double b)
{
    double result;
    switch (opcode) {
    case KILN_OP_COPY:
        return a;
    case KILN_OP_NEG:
        return -a;
    case KILN_OP_ABS:
        return fabs(a);
    case KILN_OP_ADD:
        return ARITHMETIC(+);
    case KILN_OP_SUB:
        return ARITHMETIC(-);
    case KILN_OP_MUL:
        return ARITHMETIC(*);
    case KILN_OP_MIN:
        return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    case KILN_OP_MAX:
        return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    case KILN_OP_CEIL:
        return ceil(a);
    case KILN_OP_FLOOR:
        return floor(a);
    case KILN_OP_DIV:
        return jitter(math, scalar, ARITHMETIC(/), a, b, 1);
    case KILN_OP_RCP:
        b = a;
        a = 1;
        return jitter(math, scalar, ARITHMETIC(/), a, b, 1);
    case KILN_OP_SQRT:
        result = MATH(sqrt);
        return jitter(math, scalar, result, a, b, 1);
    case KILN_OP_RSQRT:
        result = math == KILN_MATH_ROUNDED && scalar == KILN_SCALAR_F32
                     ? (double)(float)(1 / sqrt(a))
                 : scalar == KILN_SCALAR_F32 ? (double)(1 / sqrtf((float)a))
                                             : 1 / sqrt(a);
        return jitter(math, scalar, result, a, b, 1);
    case KILN_OP_EXP:
        result = MATH(exp);
        break;
    case KILN_OP_EXP2:
        result = MATH(exp2);
        break;
    case KILN_OP_EXPM1:
        result = MATH(expm1);
        break;
    case KILN_OP_LOG:
        result = MATH(log);
        break;
    case KILN_OP_LOG1P:
        result = MATH(log1p);
        break;
    case KILN_OP_SIN:
        result = MATH(sin);
        break;
    case KILN_OP_COS:
        result = MATH(cos);
        break;
    case KILN_OP_TAN:
        result = MATH(tan);
        break;
    case KILN_OP_SIGMOID:
        result = MATH(sigmoid);
        break;
    case KILN_OP_TANH:
        result = MATH(tanh);
        break;
    case KILN_OP_ERF:
        result = MATH(erf);
        break;
    default:
        result = MATH(normal_cdf);
        break;
    }
    return jitter(math, scalar, result, a, b, 2);
}

int64_t kiln_interpreter_integer(enum kiln_opcode opcode, enum kiln_scalar scalar, int64_t a,
                                 int64_t b)
{
    uint64_t result;
    switch (opcode) {
    case KILN_OP_COPY:
        return a;
    case KILN_OP_NEG:
        result = 0 - (uint64_t)a;
        break;
    case KILN_OP_ABS:
        result = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
        break;
    case KILN_OP_ADD:
        result = (uint64_t)a + (uint64_t)b;
        break;
    case KILN_OP_SUB:
        result = (uint64_t)a - (uint64_t)b;
        break;
    case KILN_OP_MUL:
        result = (uint64_t)a * (uint64_t)b;
        break;
    case KILN_OP_MIN:
        return a < b ? a : b;
    case KILN_OP_MAX:
        return a > b ? a : b;
    case KILN_OP_AND:
        return (int64_t)(a & b);
    case KILN_OP_OR:
        return (int64_t)(a | b);
    default: /* NOT */
        return !a;
    }
    return scalar == KILN_SCALAR_I32 ? (int64_t)(int32_t)(uint32_t)result : (int64_t)result;
}

static bool run_compare(enum kiln_opcode opcode, bool is_float, const struct kiln_constant *a,
                        const struct kiln_constant *b)
{
    double x = a->real, y = b->real;
    int64_t i = a->integer, j = b->integer;
    switch (opcode) {
    case KILN_OP_CMP_EQ:
        return is_float ? x == y : i == j;
    case KILN_OP_CMP_NE:
        return is_float ? x != y : i != j;
    case KILN_OP_CMP_LT:
        return is_float ? x < y : i < j;
    case KILN_OP_CMP_LE:
        return is_float ? x <= y : i <= j;
    case KILN_OP_CMP_GT:
        return is_float ? x > y : i > j;
    default:
        return is_float ? x >= y : i >= j;
    }
}

bool kiln_interpreter_is_float(enum kiln_scalar scalar)
{
    return scalar == KILN_SCALAR_F32 || scalar == KILN_SCALAR_F64;
}

static struct kiln_constant run_convert(enum kiln_scalar from, enum kiln_scalar to,
                                        struct kiln_constant value)
{
    struct kiln_constant result = {0};
    switch (to) {
    case KILN_SCALAR_BOOL:
        result.integer = kiln_interpreter_is_float(from) ? value.real != 0 : value.integer != 0;
        break;
    case KILN_SCALAR_I32:
        if (kiln_interpreter_is_float(from))
            result.integer = kiln_round_to_integer(value.real, INT32_MIN, INT32_MAX);
        else
            result.integer = value.integer > INT32_MAX   ? INT32_MAX
                             : value.integer < INT32_MIN ? INT32_MIN
                                                         : value.integer;
        break;
    case KILN_SCALAR_I64:
        result.integer = kiln_interpreter_is_float(from)
                             ? kiln_round_to_integer(value.real, INT64_MIN, INT64_MAX)
                             : value.integer;
        break;
    case KILN_SCALAR_F32:
        result.real =
            (double)(kiln_interpreter_is_float(from) ? (float)value.real : (float)value.integer);
        break;
    default:
        result.real = kiln_interpreter_is_float(from) ? value.real : (double)value.integer;
        break;
    }
    return result;
}

static struct kiln_constant run_round(const struct kiln_op *op, struct kiln_constant value)
{
    unsigned char memory[8];
    kiln_element_store(op->dtype, value, memory);
    return kiln_element_load(op->dtype, memory);
}

struct kiln_constant kiln_interpreter_element(enum kiln_interpreter_math math,
                                              const struct kiln_op *op, enum kiln_scalar from,
                                              const struct kiln_constant *x)
{
    struct kiln_constant result = {0};
    switch (kiln_opcode_info(op->opcode)->rule) {
    case KILN_OP_RULE_COMPARE:
        result.integer = run_compare(op->opcode, kiln_interpreter_is_float(from), &x[0], &x[1]);
        return result;
    case KILN_OP_RULE_SELECT:
        return x[0].integer != 0 ? x[1] : x[2];
    case KILN_OP_RULE_CONVERT:
        return run_convert(from, op->scalar, x[0]);
    case KILN_OP_RULE_ROUND:
        if (op->opcode == KILN_OP_ROUND_UP) {
            result.real = kiln_round_up_to_dtype(op->dtype, x[0].real);
            return result;
        }
        return run_round(op, x[0]);
    default:
        break;
    }
    if (op->opcode == KILN_OP_DIV_UP)
        result.real = kiln_quotient_up(op->scalar, x[0].real, x[1].real);
    else if (kiln_interpreter_is_float(op->scalar))
        result.real = kiln_interpreter_real(math, op->opcode, op->scalar, x[0].real, x[1].real);
    else
        result.integer =
            kiln_interpreter_integer(op->opcode, op->scalar, x[0].integer, x[1].integer);
    return result;
}
