#include "compiler/ir/find_softmax.h"

#include <math.h>

enum { MAX_SHIFT = 16 }; /* operations between the maximum and what is subtracted */

struct search {
    const struct kiln_ir *ir;
    const uint32_t *score_of;
};

static const struct kiln_op *op_at(const struct kiln_ir *ir, uint32_t value)
{
    return &ir->ops[value];
}

static uint32_t before_broadcast(const struct kiln_ir *ir, uint32_t value)
{
    const struct kiln_op *op = op_at(ir, value);
    return op->opcode == KILN_OP_BROADCAST ? op->operands[0] : value;
}

static bool is_real(const struct kiln_ir *ir, uint32_t value, double wanted)
{
    const struct kiln_op *op = op_at(ir, before_broadcast(ir, value));
    return op->opcode == KILN_OP_CONSTANT && op->constant.real == wanted;
}

/* ---- from the weights to the exponential ---- */

/* True if a value is the same in all of a row of the scores, and of the result. */
static bool is_of_row(const struct search *search, const struct kiln_found_attention *attention,
                      uint32_t value)
{
    const struct kiln_ir *ir = search->ir;
    const struct kiln_domain *scores = &ir->domains[op_at(ir, attention->score)->domain];
    const struct kiln_domain *from = &ir->domains[op_at(ir, before_broadcast(ir, value))->domain];
    return from->rank == 0 ||
           (from->rank <= scores->rank && kiln_domain_is_one(from, from->rank - 1));
}

/* The operand of an operation on the way to the exponential, of which its result is a multiple;
 * KILN_NONE where there is none. */
static uint32_t operand_on_path(const struct search *search,
                                const struct kiln_found_attention *attention, uint32_t value)
{
    const struct kiln_op *op = op_at(search->ir, value);
    bool is_on[KILN_IR_MAX_OPERANDS] = {false};
    for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
        is_on[k] = search->score_of[op->operands[k]] == attention->score;
    switch (op->opcode) {
    case KILN_OP_ROUND:
        return 0;
    case KILN_OP_MUL:
        return is_on[0] && is_on[1] ? KILN_NONE : is_on[0] ? 0 : 1;
    case KILN_OP_DIV:
        return is_on[0] && !is_on[1] ? 0 : KILN_NONE;
    case KILN_OP_SELECT:
        if (is_on[0] || is_on[1] == is_on[2])
            return KILN_NONE;
        return is_real(search->ir, op->operands[is_on[1] ? 2 : 1], 0) ? (is_on[1] ? 1 : 2)
                                                                      : KILN_NONE;
    default:
        return KILN_NONE;
    }
}

/* Walks from the weights to an EXP; false where there is none, or more than a multiple of it. */
static bool find_exponential(const struct search *search, struct kiln_found_attention *attention)
{
    const struct kiln_ir *ir = search->ir;
    uint32_t value = op_at(ir, attention->attend)->operands[attention->side];
    while (op_at(ir, value)->opcode != KILN_OP_EXP) {
        const struct kiln_op *op = op_at(ir, value);
        uint32_t side = operand_on_path(search, attention, value);
        if (side == KILN_NONE || attention->path_count == KILN_ATTENTION_MAX_PATH)
            return false;
        uint32_t at = attention->path_count++;
        bool is_factor = (op->opcode == KILN_OP_MUL || op->opcode == KILN_OP_DIV) &&
                         is_of_row(search, attention, op->operands[1 - side]);
        attention->path[at] = (struct kiln_attention_step){
            .value = value,
            .side = side,
            .factor = is_factor ? before_broadcast(ir, op->operands[1 - side]) : KILN_NONE,
        };
        value = op->operands[side];
    }
    attention->exp = value;
    /* An exponential that is rounded itself is another number for what is behind it. */
    return attention->path_count < 2 ||
           op_at(ir, attention->path[attention->path_count - 1].value)->opcode != KILN_OP_ROUND;
}

static bool is_rounded_to_float(const struct kiln_op *op)
{
    return op->opcode == KILN_OP_ROUND &&
           (op->dtype == KILN_DTYPE_F16 || op->dtype == KILN_DTYPE_BF16 ||
            op->dtype == KILN_DTYPE_F32 || op->dtype == KILN_DTYPE_F64);
}

static bool compares_with_minus_infinity(const struct kiln_ir *ir, uint32_t value)
{
    const struct kiln_op *op = op_at(ir, before_broadcast(ir, value));
    return kiln_opcode_info(op->opcode)->rule == KILN_OP_RULE_COMPARE &&
           (is_real(ir, before_broadcast(ir, op->operands[0]), -INFINITY) ||
            is_real(ir, before_broadcast(ir, op->operands[1]), -INFINITY));
}

/*
 * The REDUCE_MAX of x that a shift of rows is, or is at most: rounded to a type with infinities, a
 * larger number, or another one where it is -infinity. KILN_NONE for any other shift.
 * The kernel subtracts the maximum, and multiplies rows by exp(maximum - shift). With a shift that
 * is smaller that overflows where the graph's exponentials do not: e4m3 ends at 448.
 */
static uint32_t find_maximum(const struct kiln_ir *ir, uint32_t shift, uint32_t x)
{
    uint32_t values[MAX_SHIFT] = {shift};
    uint32_t count = 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct kiln_op *op = op_at(ir, values[i]);
        if (kiln_op_reduces_all(op, KILN_OP_REDUCE_MAX) && op->operands[0] == x)
            return values[i];
        bool is_select = op->opcode == KILN_OP_SELECT;
        bool is_near = op->opcode == KILN_OP_MAX || op->opcode == KILN_OP_BROADCAST ||
                       is_rounded_to_float(op) ||
                       (is_select && compares_with_minus_infinity(ir, op->operands[0]));
        for (uint32_t k = is_select ? 1 : 0;
             is_near && k < kiln_opcode_info(op->opcode)->arity && count < MAX_SHIFT; k++)
            values[count++] = op->operands[k];
    }
    return KILN_NONE;
}

/* True if a value of rows is 0 where the maximum is -infinity, and else the maximum. */
static bool is_guarded_maximum(const struct kiln_ir *ir, uint32_t value, uint32_t max)
{
    const struct kiln_op *op = op_at(ir, value);
    if (op->opcode != KILN_OP_SELECT || op->operands[2] != max || !is_real(ir, op->operands[1], 0))
        return false;
    const struct kiln_op *condition = op_at(ir, op->operands[0]);
    return condition->opcode == KILN_OP_CMP_EQ &&
           ((condition->operands[0] == max && is_real(ir, condition->operands[1], -INFINITY)) ||
            (condition->operands[1] == max && is_real(ir, condition->operands[0], -INFINITY)));
}

/* True if elements become 0 whatever the factors of their row are: behind the second product NaN of
 * a row without visible scores would be NaN still. */
static bool hides_factors(const struct search *search, const struct kiln_found_attention *attention)
{
    bool hides = false;
    for (uint32_t p = 0; p < attention->path_count; p++) {
        hides |= op_at(search->ir, attention->path[p].value)->opcode == KILN_OP_SELECT;
        if (hides && (attention->path[p].factor != KILN_NONE || !attention->is_guarded))
            return true;
    }
    return false;
}

static bool is_nonnegative(const struct kiln_ir *ir, uint32_t value)
{
    const struct kiln_op *op = op_at(ir, before_broadcast(ir, value));
    return op->opcode == KILN_OP_EXP || (op->opcode == KILN_OP_CONSTANT && op->constant.real >= 0);
}

/* Which operand of a SELECT is a value that it keeps unless that is 0, of values that are not
 * negative; KILN_NONE where it is something else. */
static uint32_t kept_unless_zero(const struct kiln_ir *ir, const struct kiln_op *select)
{
    const struct kiln_op *op = op_at(ir, before_broadcast(ir, select->operands[0]));
    bool is_kept_first = op->opcode == KILN_OP_CMP_NE || op->opcode == KILN_OP_CMP_GT;
    uint32_t kept = is_kept_first ? 1 : 2;
    if (!is_kept_first && op->opcode != KILN_OP_CMP_EQ)
        return KILN_NONE;
    bool is_right = op->operands[0] == select->operands[kept] && is_real(ir, op->operands[1], 0);
    bool is_left = op->operands[1] == select->operands[kept] && is_real(ir, op->operands[0], 0) &&
                   op->opcode != KILN_OP_CMP_GT;
    return is_right || is_left ? kept : KILN_NONE;
}

/* True if a value of rows is the sum of the exponentials, or that and more: with a sink, with an
 * epsilon, with a number where it is 0. Each exponential of a row is then at most so large. */
static bool has_sum(const struct kiln_ir *ir, uint32_t value, uint32_t exp)
{
    enum { MAX_OPERATIONS = 4 };
    for (int i = 0; i < MAX_OPERATIONS; i++) {
        const struct kiln_op *op = op_at(ir, before_broadcast(ir, value));
        uint32_t kept;
        switch (op->opcode) {
        case KILN_OP_REDUCE_SUM:
            return op->operands[0] == exp && op->map == KILN_NONE;
        case KILN_OP_ADD:
        case KILN_OP_MAX:
            if (is_nonnegative(ir, op->operands[0]))
                value = op->operands[1];
            else if (is_nonnegative(ir, op->operands[1]))
                value = op->operands[0];
            else
                return false;
            break;
        case KILN_OP_SELECT:
            kept = kept_unless_zero(ir, op);
            if (kept == KILN_NONE || !is_nonnegative(ir, op->operands[3 - kept]))
                return false;
            value = op->operands[kept];
            break;
        default:
            return false;
        }
    }
    return false;
}

/* True if a value of rows is the maximum, or more: with a sink, with a number where it is
 * -infinity. Each exponential is then at least what it would be of the difference to that. */
static bool has_maximum(const struct kiln_ir *ir, uint32_t value, uint32_t max)
{
    const struct kiln_op *op = op_at(ir, value);
    if (op->opcode == KILN_OP_SELECT && is_guarded_maximum(ir, value, op->operands[2]))
        value = op->operands[2];
    op = op_at(ir, value);
    return value == max ||
           (op->opcode == KILN_OP_MAX && (before_broadcast(ir, op->operands[0]) == max ||
                                          before_broadcast(ir, op->operands[1]) == max));
}

/* True if a factor of a row is a constant of at most 1, or such divided by the sum. */
static bool is_at_most_one(const struct kiln_ir *ir, uint32_t value, uint32_t exp)
{
    const struct kiln_op *op = op_at(ir, value);
    if (op->opcode == KILN_OP_RCP)
        return has_sum(ir, op->operands[0], exp);
    if (op->opcode == KILN_OP_DIV && has_sum(ir, op->operands[1], exp))
        op = op_at(ir, before_broadcast(ir, op->operands[0]));
    return op->opcode == KILN_OP_CONSTANT && fabs(op->constant.real) <= 1;
}

/*
 * True if the weights without the factors of their rows can be rounded where the graph rounds them
 * with these.
 *
 *   - They are multiples of what the graph rounds: no larger relative error comes of that in 16-bit
 *     types if they are not smaller. Other types are too narrow.
 *   - In half they must not overflow: exponentials are below 2^9, as the kernel has them
 *     (KILN_BASE_LAG), but what an element is multiplied by may be anything.
 *   - Two roundings can only be one if nothing but factors of rows is between them.
 */
static bool is_rounded_safely(const struct kiln_ir *ir,
                              const struct kiln_found_attention *attention)
{
    bool is_rounded = false;
    bool is_multiplied = false; /* since the last rounding, by what may be any number */
    /* Than what the graph rounds, as far as is known. */
    bool is_smaller = !has_maximum(ir, attention->shift, attention->max);
    enum kiln_dtype dtype = KILN_DTYPE_F32;
    for (uint32_t p = attention->path_count; p-- > 0;) {
        const struct kiln_attention_step *step = &attention->path[p];
        const struct kiln_op *op = op_at(ir, step->value);
        if (op->opcode == KILN_OP_DIV && step->factor != KILN_NONE) {
            is_smaller |= !has_sum(ir, step->factor, attention->exp);
        } else if (op->opcode == KILN_OP_MUL && step->factor != KILN_NONE) {
            is_smaller |= !is_at_most_one(ir, step->factor, attention->exp);
        } else if (op->opcode == KILN_OP_MUL || op->opcode == KILN_OP_DIV) {
            is_multiplied = true;
        } else if (op->opcode == KILN_OP_ROUND) {
            if (is_rounded && (dtype != op->dtype || is_multiplied))
                return false;
            if ((op->dtype != KILN_DTYPE_F16 && op->dtype != KILN_DTYPE_BF16) ||
                (op->dtype == KILN_DTYPE_F16 && (is_multiplied || is_smaller)))
                return false;
            is_rounded = true;
            is_multiplied = false;
            dtype = op->dtype;
        }
    }
    return true;
}

/* True if the exponential is divided by its sum on the way to the weights. */
static bool is_divided_by_sum(const struct kiln_ir *ir,
                              const struct kiln_found_attention *attention)
{
    for (uint32_t p = 0; p < attention->path_count; p++) {
        const struct kiln_attention_step *step = &attention->path[p];
        if (step->factor == KILN_NONE || op_at(ir, step->value)->opcode != KILN_OP_DIV)
            continue;
        const struct kiln_op *divisor = op_at(ir, step->factor);
        if (kiln_op_reduces_all(divisor, KILN_OP_REDUCE_SUM) &&
            divisor->operands[0] == attention->exp)
            return true;
    }
    return false;
}

bool kiln_find_softmax(const struct kiln_ir *ir, const uint32_t *score_of,
                       struct kiln_found_attention *attention)
{
    const struct search search = {.ir = ir, .score_of = score_of};
    if (!find_exponential(&search, attention))
        return false;
    const struct kiln_op *difference = op_at(ir, op_at(ir, attention->exp)->operands[0]);
    if (difference->opcode != KILN_OP_SUB ||
        score_of[difference->operands[0]] != attention->score ||
        score_of[difference->operands[1]] != KILN_NONE)
        return false;
    attention->x = difference->operands[0];
    attention->shift = before_broadcast(ir, difference->operands[1]);
    attention->max = find_maximum(ir, attention->shift, attention->x);
    if (attention->max == KILN_NONE ||
        op_at(ir, attention->x)->domain != op_at(ir, attention->score)->domain)
        return false;
    attention->row_domain = op_at(ir, attention->max)->domain;
    attention->is_guarded = is_guarded_maximum(ir, attention->shift, attention->max);
    attention->is_divided = is_divided_by_sum(ir, attention);
    if (op_at(ir, attention->shift)->domain != attention->row_domain ||
        hides_factors(&search, attention) || !is_rounded_safely(ir, attention))
        return false;
    const struct kiln_domain *scores = &ir->domains[op_at(ir, attention->score)->domain];
    return kiln_domain_reduced_axes(scores, &ir->domains[attention->row_domain]) ==
           UINT32_C(1) << (scores->rank - 1);
}
