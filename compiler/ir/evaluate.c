#include "compiler/ir/evaluate.h"
#include "compiler/reference/convert.h"
#include "compiler/reference/round_up.h"

#include <math.h>

static bool is_float(enum kiln_scalar scalar)
{
    return scalar == KILN_SCALAR_F32 || scalar == KILN_SCALAR_F64;
}

static struct kiln_constant from_integer(int64_t integer)
{
    return (struct kiln_constant){.integer = integer};
}

static int64_t wrap(enum kiln_scalar scalar, uint64_t value)
{
    return scalar == KILN_SCALAR_I32 ? (int64_t)(int32_t)(uint32_t)value : (int64_t)value;
}

static double nan_or(double a, double b, double otherwise)
{
    return isnan(a) || isnan(b) ? NAN : otherwise;
}

static double evaluate_real(enum kiln_opcode opcode, double a, double b)
{
    switch (opcode) {
    case KILN_OP_COPY:
        return a;
    case KILN_OP_NEG:
        return -a;
    case KILN_OP_ABS:
        return fabs(a);
    case KILN_OP_ADD:
        return a + b;
    case KILN_OP_SUB:
        return a - b;
    case KILN_OP_MUL:
        return a * b;
    case KILN_OP_DIV:
        return a / b;
    case KILN_OP_MIN:
        return nan_or(a, b, a < b ? a : b);
    case KILN_OP_MAX:
        return nan_or(a, b, a > b ? a : b);
    case KILN_OP_RCP:
        return 1 / a;
    case KILN_OP_SQRT:
        return sqrt(a);
    case KILN_OP_RSQRT:
        return 1 / sqrt(a);
    case KILN_OP_CEIL:
        return ceil(a);
    case KILN_OP_FLOOR:
        return floor(a);
    case KILN_OP_EXP:
        return exp(a);
    case KILN_OP_EXP2:
        return exp2(a);
    case KILN_OP_EXPM1:
        return expm1(a);
    case KILN_OP_LOG:
        return log(a);
    case KILN_OP_LOG1P:
        return log1p(a);
    case KILN_OP_SIN:
        return sin(a);
    case KILN_OP_COS:
        return cos(a);
    case KILN_OP_TAN:
        return tan(a);
    case KILN_OP_SIGMOID:
        return a >= 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a));
    case KILN_OP_TANH:
        return tanh(a);
    case KILN_OP_ERF:
        return erf(a);
    case KILN_OP_NORMAL_CDF:
        return 0.5 * erfc(-a * M_SQRT1_2);
    default:
        return NAN;
    }
}

static int64_t evaluate_integer(enum kiln_opcode opcode, enum kiln_scalar scalar, int64_t a,
                                int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (opcode) {
    case KILN_OP_COPY:
        return a;
    case KILN_OP_NEG:
        return wrap(scalar, 0 - x);
    case KILN_OP_ABS:
        return wrap(scalar, a < 0 ? 0 - x : x);
    case KILN_OP_ADD:
        return wrap(scalar, x + y);
    case KILN_OP_SUB:
        return wrap(scalar, x - y);
    case KILN_OP_MUL:
        return wrap(scalar, x * y);
    case KILN_OP_MIN:
        return a < b ? a : b;
    case KILN_OP_MAX:
        return a > b ? a : b;
    case KILN_OP_AND:
        return a != 0 && b != 0;
    case KILN_OP_OR:
        return a != 0 || b != 0;
    case KILN_OP_NOT:
        return a == 0;
    default:
        return 0;
    }
}

/* -1, 0, 1; 2 when a NaN makes the operands unordered. */
static int order(enum kiln_scalar scalar, const struct kiln_constant *operands)
{
    if (is_float(scalar)) {
        double a = operands[0].real, b = operands[1].real;
        return isnan(a) || isnan(b) ? 2 : a < b ? -1 : a > b;
    }
    int64_t a = operands[0].integer, b = operands[1].integer;
    return a < b ? -1 : a > b;
}

static bool compare(enum kiln_opcode opcode, int order)
{
    switch (opcode) {
    case KILN_OP_CMP_EQ:
        return order == 0;
    case KILN_OP_CMP_NE:
        return order != 0;
    case KILN_OP_CMP_LT:
        return order == -1;
    case KILN_OP_CMP_LE:
        return order == -1 || order == 0;
    case KILN_OP_CMP_GT:
        return order == 1;
    default:
        return order == 1 || order == 0;
    }
}

static struct kiln_constant convert(enum kiln_scalar from, struct kiln_constant value,
                                    enum kiln_scalar to)
{
    bool from_float = is_float(from);
    if (to == KILN_SCALAR_BOOL)
        return from_integer(from_float ? value.real != 0 : value.integer != 0);
    if (is_float(to)) {
        if (from_float)
            return (struct kiln_constant){
                .real = to == KILN_SCALAR_F32 ? kiln_round_to_dtype(KILN_DTYPE_F32, value.real)
                                              : value.real};
        return (struct kiln_constant){.real = to == KILN_SCALAR_F32 ? (double)(float)value.integer
                                                                    : (double)value.integer};
    }
    int64_t low = to == KILN_SCALAR_I32 ? INT32_MIN : INT64_MIN;
    int64_t high = to == KILN_SCALAR_I32 ? INT32_MAX : INT64_MAX;
    if (from_float)
        return from_integer(kiln_round_to_integer(value.real, low, high));
    return from_integer(value.integer < low ? low : value.integer > high ? high : value.integer);
}

static struct kiln_constant round_through(enum kiln_dtype dtype, enum kiln_scalar scalar,
                                          struct kiln_constant value)
{
    if (is_float(scalar))
        return (struct kiln_constant){.real = kiln_round_to_dtype(dtype, value.real)};
    unsigned char memory[8];
    kiln_element_store(dtype, value, memory); /* clamps */
    return from_integer(kiln_element_load(dtype, memory).integer);
}

struct kiln_constant kiln_op_evaluate(const struct kiln_op *op,
                                      const enum kiln_scalar *operand_scalars,
                                      const struct kiln_constant *operands)
{
    const struct kiln_opcode_info *info = kiln_opcode_info(op->opcode);
    switch (info->rule) {
    case KILN_OP_RULE_COMPARE:
        return from_integer(compare(op->opcode, order(operand_scalars[0], operands)));
    case KILN_OP_RULE_SELECT:
        return operands[0].integer != 0 ? operands[1] : operands[2];
    case KILN_OP_RULE_CONVERT:
        return convert(operand_scalars[0], operands[0], op->scalar);
    case KILN_OP_RULE_ROUND:
        if (op->opcode == KILN_OP_ROUND_UP)
            return (struct kiln_constant){.real =
                                              kiln_round_up_to_dtype(op->dtype, operands[0].real)};
        return round_through(op->dtype, op->scalar, operands[0]);
    default:
        break;
    }
    struct kiln_constant second = info->arity > 1 ? operands[1] : (struct kiln_constant){0, 0};
    if (!is_float(op->scalar))
        return from_integer(
            evaluate_integer(op->opcode, op->scalar, operands[0].integer, second.integer));
    if (op->opcode == KILN_OP_DIV_UP)
        return (struct kiln_constant){
            .real = kiln_quotient_up(op->scalar, operands[0].real, second.real)};
    double real = evaluate_real(op->opcode, operands[0].real, second.real);
    return (struct kiln_constant){
        .real = op->scalar == KILN_SCALAR_F32 ? kiln_round_to_dtype(KILN_DTYPE_F32, real) : real};
}
