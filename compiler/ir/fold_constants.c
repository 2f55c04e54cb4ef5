/*
 * Every identity here holds for every input bit for bit, infinities, NaN and the sign of zero
 * included: x + 0 stays (it turns -0 into 0), x - 0 goes; 0 * x stays in floating point (infinity
 * and NaN), goes in integers.
 */
#include "compiler/ir/evaluate.h"
#include "compiler/ir/exact_dtypes.h"
#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

#include <math.h>

struct fold {
    struct kiln_rewrite rewrite;
    const struct kiln_graph *graph;
    uint32_t *sets; /* exact storage types of the new values */
    uint32_t set_count;
};

/* New values per old one at most: constant or uniform operation, and its broadcast. */
enum { GROWTH = 3 };

static bool is_float(enum kiln_scalar scalar)
{
    return scalar == KILN_SCALAR_F32 || scalar == KILN_SCALAR_F64;
}

static struct kiln_op *value_of(struct fold *fold, uint32_t value)
{
    return &fold->rewrite.out.ops[value];
}

static bool is_uniform(struct fold *fold, uint32_t value)
{
    return fold->rewrite.out.domains[value_of(fold, value)->domain].rank == 0;
}

/* The uniform value behind a broadcast; the value itself when it is no broadcast of a uniform one.
 */
static uint32_t source_of(struct fold *fold, uint32_t value)
{
    const struct kiln_op *op = value_of(fold, value);
    if (op->opcode == KILN_OP_BROADCAST && is_uniform(fold, op->operands[0]))
        return op->operands[0];
    return value;
}

/* The constant that a value is, also through a broadcast; NULL when it is none. */
static const struct kiln_op *constant_of(struct fold *fold, uint32_t value)
{
    const struct kiln_op *op = value_of(fold, source_of(fold, value));
    return op->opcode == KILN_OP_CONSTANT ? op : NULL;
}

static bool is_constant(struct fold *fold, uint32_t value, double number)
{
    const struct kiln_op *op = constant_of(fold, value);
    if (op == NULL)
        return false;
    if (!is_float(op->scalar))
        return (double)op->constant.integer == number;
    return op->constant.real == number &&
           (signbit(op->constant.real) != 0) == (signbit(number) != 0);
}

static uint32_t append_constant(struct fold *fold, enum kiln_scalar scalar,
                                struct kiln_constant constant)
{
    if (is_float(scalar))
        return kiln_ir_real(&fold->rewrite.out, scalar, constant.real);
    return kiln_ir_integer(&fold->rewrite.out, scalar, constant.integer);
}

static uint32_t simplify_sum(struct fold *fold, const struct kiln_op *op)
{
    uint32_t a = op->operands[0], b = op->operands[1];
    if (op->opcode == KILN_OP_SUB)
        return is_constant(fold, b, 0) ? a : KILN_NONE;
    double neutral = is_float(op->scalar) ? -0.0 : 0;
    if (!is_float(op->scalar) && fold->rewrite.ir->is_general) /* 0 may be a bound by sizes */
        return KILN_NONE;
    if (is_constant(fold, b, neutral))
        return a;
    return is_constant(fold, a, neutral) ? b : KILN_NONE;
}

static uint32_t simplify_product(struct fold *fold, const struct kiln_op *op)
{
    uint32_t a = op->operands[0], b = op->operands[1];
    /* In a general kernel 1 may be the size of an axis. */
    bool may_be_size = op->opcode == KILN_OP_DIV && fold->rewrite.ir->is_general;
    if (is_constant(fold, b, 1) && !may_be_size)
        return a;
    if (op->opcode == KILN_OP_DIV)
        return KILN_NONE;
    if (is_constant(fold, a, 1))
        return b;
    if (is_float(op->scalar))
        return KILN_NONE;
    if (is_constant(fold, a, 0))
        return a;
    return is_constant(fold, b, 0) ? b : KILN_NONE;
}

/* -(-x), |-x|, ||x||, !!x */
static uint32_t simplify_sign(struct fold *fold, const struct kiln_op *op)
{
    const struct kiln_op *operand = value_of(fold, op->operands[0]);
    if (op->opcode == KILN_OP_ABS) {
        if (operand->opcode == KILN_OP_ABS)
            return op->operands[0];
        return KILN_NONE;
    }
    return operand->opcode == op->opcode ? operand->operands[0] : KILN_NONE;
}

static uint32_t simplify_logic(struct fold *fold, const struct kiln_op *op)
{
    bool is_and = op->opcode == KILN_OP_AND;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t other = op->operands[1 - i];
        if (is_constant(fold, op->operands[i], 1))
            return is_and ? other : op->operands[i];
        if (is_constant(fold, op->operands[i], 0))
            return is_and ? op->operands[i] : other;
    }
    return op->operands[0] == op->operands[1] ? op->operands[0] : KILN_NONE;
}

static uint32_t simplify_select(struct fold *fold, const struct kiln_op *op)
{
    if (is_constant(fold, op->operands[0], 1))
        return op->operands[1];
    if (is_constant(fold, op->operands[0], 0))
        return op->operands[2];
    return op->operands[1] == op->operands[2] ? op->operands[1] : KILN_NONE;
}

/* Every value of `from` is one of `to`. */
static bool widens(enum kiln_scalar from, enum kiln_scalar to)
{
    switch (from) {
    case KILN_SCALAR_BOOL:
        return true;
    case KILN_SCALAR_I32:
        return to == KILN_SCALAR_I64 || to == KILN_SCALAR_F64;
    case KILN_SCALAR_F32:
        return to == KILN_SCALAR_F64;
    default:
        return false;
    }
}

/* convert(convert(x)) where the first step lost nothing is one step, or x. */
static uint32_t simplify_convert(struct fold *fold, const struct kiln_op *op)
{
    const struct kiln_op *middle = value_of(fold, op->operands[0]);
    if (middle->opcode != KILN_OP_CONVERT)
        return KILN_NONE;
    uint32_t origin = middle->operands[0];
    if (!widens(value_of(fold, origin)->scalar, middle->scalar))
        return KILN_NONE;
    return kiln_ir_convert(&fold->rewrite.out, origin, op->scalar);
}

static uint32_t simplify_round(struct fold *fold, const struct kiln_op *op)
{
    bool exact = (fold->sets[op->operands[0]] & KILN_DTYPE_BIT(op->dtype)) != 0;
    return exact ? op->operands[0] : KILN_NONE;
}

/* A value of the new program that equals `op`, or KILN_NONE. */
static uint32_t simplify(struct fold *fold, const struct kiln_op *op)
{
    switch (op->opcode) {
    case KILN_OP_ADD:
    case KILN_OP_SUB:
        return simplify_sum(fold, op);
    case KILN_OP_MUL:
    case KILN_OP_DIV:
        return simplify_product(fold, op);
    case KILN_OP_NEG:
    case KILN_OP_ABS:
    case KILN_OP_NOT:
        return simplify_sign(fold, op);
    case KILN_OP_AND:
    case KILN_OP_OR:
        return simplify_logic(fold, op);
    case KILN_OP_SELECT:
        return simplify_select(fold, op);
    case KILN_OP_CONVERT:
        return simplify_convert(fold, op);
    case KILN_OP_ROUND:
        return simplify_round(fold, op);
    default:
        return KILN_NONE;
    }
}

/* Evaluates an operation whose operands are all constants; KILN_NONE when they are not. */
static uint32_t evaluate(struct fold *fold, const struct kiln_op *op)
{
    uint32_t arity = kiln_opcode_info(op->opcode)->arity;
    enum kiln_scalar scalars[KILN_IR_MAX_OPERANDS];
    struct kiln_constant constants[KILN_IR_MAX_OPERANDS];
    for (uint32_t i = 0; i < arity; i++) {
        const struct kiln_op *constant = constant_of(fold, op->operands[i]);
        if (constant == NULL)
            return KILN_NONE;
        scalars[i] = constant->scalar;
        constants[i] = constant->constant;
    }
    return append_constant(fold, op->scalar, kiln_op_evaluate(op, scalars, constants));
}

/*
 * Takes broadcasts of uniform values off the operands where the operation needs none: beside an
 * operand of the full domain always, and when all operands are uniform the operation becomes
 * uniform itself.
 */
static void strip_broadcasts(struct fold *fold, struct kiln_op *op)
{
    uint32_t arity = kiln_opcode_info(op->opcode)->arity;
    bool all_uniform = true;
    for (uint32_t i = 0; i < arity; i++)
        all_uniform = all_uniform && is_uniform(fold, source_of(fold, op->operands[i]));
    for (uint32_t i = 0; i < arity; i++)
        op->operands[i] = source_of(fold, op->operands[i]);
    if (all_uniform) {
        op->domain = kiln_ir_domain(&fold->rewrite.out, NULL, 0);
        op->tensor = KILN_NONE; /* the mark goes to the broadcast */
    }
}

static uint32_t fold_elementwise(struct fold *fold, struct kiln_op *op)
{
    uint32_t domain = op->domain, tensor = op->tensor;
    struct kiln_ir *out = &fold->rewrite.out;
    strip_broadcasts(fold, op);
    if (out->failed)
        return KILN_NONE;
    uint32_t value = evaluate(fold, op);
    if (value == KILN_NONE && !out->failed)
        value = simplify(fold, op);
    if (value == KILN_NONE && !out->failed) {
        if (op->domain == domain)
            op->tensor = tensor;
        value = kiln_ir_append(out, op);
    }
    return kiln_ir_broadcast(out, value, domain);
}

/*
 * The least and the greatest of equal elements is each of them. No other reduction has such an
 * identity: sums round, and the mean of infinities is NaN.
 */
static uint32_t fold_reduction(struct fold *fold, const struct kiln_op *op)
{
    struct kiln_ir *out = &fold->rewrite.out;
    const struct kiln_op *operand = value_of(fold, op->operands[0]);
    bool keeps_equals = op->opcode == KILN_OP_REDUCE_MIN || op->opcode == KILN_OP_REDUCE_MAX;
    if (keeps_equals && op->map == KILN_NONE && operand->opcode == KILN_OP_BROADCAST) {
        uint32_t source = operand->operands[0];
        const struct kiln_domain *domain = &out->domains[value_of(fold, source)->domain];
        if (kiln_domain_broadcasts_to(domain, &out->domains[op->domain]))
            return kiln_ir_broadcast(out, source, op->domain);
    }
    return kiln_ir_append(out, op);
}

/* A value that is the same everywhere has no axes to see it along; a view of a view may lead back
 * to where it came from. */
static uint32_t fold_view(struct fold *fold, const struct kiln_op *op)
{
    struct kiln_ir *out = &fold->rewrite.out;
    uint32_t source = source_of(fold, op->operands[0]);
    if (is_uniform(fold, source))
        return kiln_ir_broadcast(out, source, op->domain);
    const struct kiln_op *operand = value_of(fold, op->operands[0]);
    if (operand->opcode == KILN_OP_VIEW &&
        value_of(fold, operand->operands[0])->domain == op->domain)
        return operand->operands[0];
    return operand->opcode == KILN_OP_LOAD ? kiln_ir_view(out, op->operands[0], op->domain)
                                           : kiln_ir_append(out, op);
}

static uint32_t fold_operation(struct fold *fold, uint32_t index)
{
    struct kiln_ir *out = &fold->rewrite.out;
    struct kiln_op op = kiln_rewrite_operands(&fold->rewrite, index);
    out->node = op.node; /* what takes its place is made for the same node */
    switch (kiln_opcode_info(op.opcode)->op_class) {
    case KILN_OP_CLASS_ELEMENTWISE:
        return fold_elementwise(fold, &op);
    case KILN_OP_CLASS_BROADCAST:
        if (op.opcode == KILN_OP_REPEAT) {
            uint32_t source = source_of(fold, op.operands[0]);
            return is_uniform(fold, source) ? kiln_ir_broadcast(out, source, op.domain)
                                            : kiln_ir_append(out, &op);
        }
        /* Broadcasting aligns at the right, so two steps are one. */
        if (value_of(fold, op.operands[0])->opcode == KILN_OP_BROADCAST)
            op.operands[0] = value_of(fold, op.operands[0])->operands[0];
        return kiln_ir_append(out, &op);
    case KILN_OP_CLASS_VIEW:
        return fold_view(fold, &op);
    case KILN_OP_CLASS_REDUCE:
        return fold_reduction(fold, &op);
    default:
        return kiln_ir_append(out, &op);
    }
}

enum kiln_status kiln_ir_fold_constants(struct kiln_ir *ir, struct kiln_pass_context *context,
                                        struct kiln_error *error)
{
    struct fold fold = {.graph = context->graph};
    enum kiln_status status = kiln_rewrite_begin(&fold.rewrite, ir, error);
    if (status != KILN_OK)
        return status;
    fold.sets = kiln_arena_calloc(ir->arena, (size_t)ir->op_count * GROWTH, sizeof *fold.sets);
    if (fold.sets == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to fold constants");
    struct kiln_ir *out = &fold.rewrite.out;
    for (uint32_t i = 0; i < ir->op_count && !out->failed; i++) {
        kiln_rewrite_set(&fold.rewrite, i, fold_operation(&fold, i));
        for (; fold.set_count < out->op_count; fold.set_count++)
            fold.sets[fold.set_count] =
                kiln_op_exact_dtypes(&out->ops[fold.set_count], context->graph, fold.sets);
    }
    return kiln_rewrite_finish(&fold.rewrite, error);
}
