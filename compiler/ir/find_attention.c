#include "compiler/ir/find_attention.h"

#include <math.h>

enum {
    MAX_SHIFT = 16,   /* between the maximum and what is subtracted */
    MAX_TRIES = 1024, /* products that are looked at closely: each walks over the program */
    MAX_INSIDE = 256, /* operations between the products, so that one kernel can do them */
};

struct finder {
    const struct kiln_ir *ir;
    int64_t most; /* elements of a row of an operand, or of the result */
    /* Per value: the CONTRACT that it is computed from element by element; KILN_NONE: none, or
     * several. */
    uint32_t *score_of;
    uint32_t *stamp; /* of the last walk that visited it */
    uint32_t now;
    uint32_t *stack;
    struct kiln_attentions all;
    uint32_t tries;
};

static const struct kiln_op *op_at(const struct kiln_ir *ir, uint32_t value)
{
    return &ir->ops[value];
}

static bool is_elementwise(const struct kiln_op *op)
{
    enum kiln_op_class op_class = kiln_opcode_info(op->opcode)->op_class;
    return op_class == KILN_OP_CLASS_ELEMENTWISE || op_class == KILN_OP_CLASS_BROADCAST;
}

static void find_scores(struct finder *finder)
{
    const struct kiln_ir *ir = finder->ir;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = op_at(ir, i);
        uint32_t found = op->opcode == KILN_OP_CONTRACT ? i : KILN_NONE;
        for (uint32_t k = 0; is_elementwise(op) && k < kiln_opcode_info(op->opcode)->arity; k++) {
            uint32_t score = finder->score_of[op->operands[k]];
            if (score != KILN_NONE && found != KILN_NONE && score != found) {
                found = KILN_NONE;
                break;
            }
            found = score != KILN_NONE ? score : found;
        }
        finder->score_of[i] = found;
    }
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

/* ---- axes ---- */

/* The only axis of a role; NULL when there are none or several. */
static const struct kiln_contraction_axis *only_axis(const struct kiln_contraction *contraction,
                                                     enum kiln_axis_role role)
{
    const struct kiln_contraction_axis *found = NULL;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->axes[i].role != role)
            continue;
        if (found != NULL)
            return NULL;
        found = &contraction->axes[i];
    }
    return found;
}

static bool has_plain_steps(const struct kiln_contraction *contraction)
{
    bool is_plain = contraction->window_count == 0;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &contraction->axes[i];
        is_plain =
            is_plain && axis->left_step == 1 && axis->right_step == 1 && axis->result_step == 1;
    }
    return is_plain;
}

/* Whether both products have the same batches of scores, each along one axis of these and of the
 * result, at the same place. */
static bool have_same_batches(const struct kiln_contraction *first,
                              const struct kiln_contraction *second, uint32_t side)
{
    for (uint32_t i = 0; i < second->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &second->axes[i];
        uint8_t along = side == 0 ? axis->left : axis->right;
        int64_t repeat = side == 0 ? axis->left_repeat : axis->right_repeat;
        bool is_found = axis->size == 1;
        if (axis->role != KILN_AXIS_BATCH)
            continue;
        for (uint32_t k = 0; k < first->axis_count; k++)
            is_found = is_found ||
                       (first->axes[k].role == KILN_AXIS_BATCH &&
                        first->axes[k].result == axis->result && first->axes[k].size == axis->size);
        if (!is_found || (axis->size > 1 && (along != axis->result || repeat != 1)))
            return false;
    }
    return kiln_contraction_size(first, KILN_AXIS_BATCH) ==
           kiln_contraction_size(second, KILN_AXIS_BATCH);
}

/* Whether some batch has right operands and values of its own: other chains of products, those of
 * layers, share theirs. */
static bool has_own_operands(const struct kiln_contraction *first,
                             const struct kiln_contraction *second, uint32_t side)
{
    for (uint32_t i = 0; i < second->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &second->axes[i];
        uint8_t value = side == 0 ? axis->right : axis->left;
        if (axis->role != KILN_AXIS_BATCH || axis->size == 1 || value == KILN_NO_AXIS)
            continue;
        for (uint32_t k = 0; k < first->axis_count; k++) {
            if (first->axes[k].role == KILN_AXIS_BATCH && first->axes[k].result == axis->result &&
                first->axes[k].left != KILN_NO_AXIS && first->axes[k].right != KILN_NO_AXIS)
                return true;
        }
    }
    return false;
}

/* Whether rows of the scores are those of the result, and of an operand of the first product, along
 * the last axis but one, and columns lie along the last one. */
static bool fit_axes(const struct finder *finder, struct kiln_found_attention *attention)
{
    const struct kiln_ir *ir = finder->ir;
    const struct kiln_contraction *first =
        &ir->contractions[op_at(ir, attention->score)->contraction];
    const struct kiln_contraction *second =
        &ir->contractions[op_at(ir, attention->attend)->contraction];
    bool is_left = attention->side == 0;
    const struct kiln_contraction_axis *m = only_axis(first, KILN_AXIS_M);
    const struct kiln_contraction_axis *n = only_axis(first, KILN_AXIS_N);
    const struct kiln_contraction_axis *c = only_axis(first, KILN_AXIS_K);
    const struct kiln_contraction_axis *rows =
        only_axis(second, is_left ? KILN_AXIS_M : KILN_AXIS_N);
    const struct kiln_contraction_axis *d = only_axis(second, is_left ? KILN_AXIS_N : KILN_AXIS_M);
    const struct kiln_contraction_axis *sums = only_axis(second, KILN_AXIS_K);
    if (m == NULL || n == NULL || c == NULL || rows == NULL || d == NULL || sums == NULL ||
        !has_plain_steps(first) || !has_plain_steps(second))
        return false;
    uint8_t row_axis = is_left ? rows->left : rows->right;
    uint8_t column_axis = is_left ? sums->left : sums->right;
    bool is_standard = row_axis == 1 && column_axis == 0 && rows->result == 1 && d->result == 0 &&
                       ((m->result == 1 && n->result == 0) || (m->result == 0 && n->result == 1));
    attention->are_scores_transposed = m->result != 1;
    return is_standard && sums->size > 1 && d->size > 1 && c->size <= finder->most &&
           d->size <= finder->most && have_same_batches(first, second, attention->side);
}

/* ---- from the weights to the exponential ---- */

/* Whether a value is the same in all of a row of the scores, and of the result. */
static bool is_of_row(const struct finder *finder, const struct kiln_found_attention *attention,
                      uint32_t value)
{
    const struct kiln_ir *ir = finder->ir;
    const struct kiln_domain *scores = &ir->domains[op_at(ir, attention->score)->domain];
    const struct kiln_domain *from = &ir->domains[op_at(ir, before_broadcast(ir, value))->domain];
    return from->rank == 0 || (from->rank <= scores->rank && from->dims[from->rank - 1] == 1);
}

/* The operand of an operation on the way to the exponential, of which its result is a multiple;
 * KILN_NONE where there is none. */
static uint32_t operand_on_path(const struct finder *finder,
                                const struct kiln_found_attention *attention, uint32_t value)
{
    const struct kiln_op *op = op_at(finder->ir, value);
    bool is_on[KILN_IR_MAX_OPERANDS] = {false};
    for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
        is_on[k] = finder->score_of[op->operands[k]] == attention->score;
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
        return is_real(finder->ir, op->operands[is_on[1] ? 2 : 1], 0) ? (is_on[1] ? 1 : 2)
                                                                      : KILN_NONE;
    default:
        return KILN_NONE;
    }
}

/* Walks from the weights to an EXP; false where there is none, or more than a multiple of it. */
static bool find_exponential(const struct finder *finder, struct kiln_found_attention *attention)
{
    const struct kiln_ir *ir = finder->ir;
    uint32_t value = op_at(ir, attention->attend)->operands[attention->side];
    while (op_at(ir, value)->opcode != KILN_OP_EXP) {
        const struct kiln_op *op = op_at(ir, value);
        uint32_t side = operand_on_path(finder, attention, value);
        if (side == KILN_NONE || attention->path_count == KILN_ATTENTION_MAX_PATH)
            return false;
        uint32_t at = attention->path_count++;
        bool is_factor = (op->opcode == KILN_OP_MUL || op->opcode == KILN_OP_DIV) &&
                         is_of_row(finder, attention, op->operands[1 - side]);
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

/* The REDUCE_MAX of x that a value of rows is computed from; KILN_NONE where it is of none. */
static uint32_t find_maximum(const struct kiln_ir *ir, uint32_t shift, uint32_t x)
{
    uint32_t values[MAX_SHIFT] = {shift};
    uint32_t count = 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct kiln_op *op = op_at(ir, values[i]);
        if (op->opcode == KILN_OP_REDUCE_MAX && op->operands[0] == x)
            return values[i];
        for (uint32_t k = 0; is_elementwise(op) && k < kiln_opcode_info(op->opcode)->arity; k++) {
            if (count < MAX_SHIFT)
                values[count++] = op->operands[k];
        }
    }
    return KILN_NONE;
}

/* Whether a value of rows is 0 where the maximum is -infinity, and else the maximum. */
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

/* Whether elements become 0 whatever the factors of their row are: behind the second product NaN of
 * a row without visible scores would be NaN still. */
static bool hides_factors(const struct finder *finder, const struct kiln_found_attention *attention)
{
    bool hides = false;
    for (uint32_t p = 0; p < attention->path_count; p++) {
        hides |= op_at(finder->ir, attention->path[p].value)->opcode == KILN_OP_SELECT;
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

/* Whether a value of rows is the sum of the exponentials, or that and more: with a sink, with an
 * epsilon, with a number where it is 0. Each exponential of a row is then at most so large. */
static bool has_sum(const struct kiln_ir *ir, uint32_t value, uint32_t exp)
{
    enum { MAX_OPERATIONS = 4 };
    for (int i = 0; i < MAX_OPERATIONS; i++) {
        const struct kiln_op *op = op_at(ir, before_broadcast(ir, value));
        uint32_t first = op->opcode == KILN_OP_SELECT ? 1 : 0;
        switch (op->opcode) {
        case KILN_OP_REDUCE_SUM:
            return op->operands[0] == exp;
        case KILN_OP_ADD:
        case KILN_OP_MAX:
        case KILN_OP_SELECT:
            if (is_nonnegative(ir, op->operands[first]))
                value = op->operands[first + 1];
            else if (is_nonnegative(ir, op->operands[first + 1]))
                value = op->operands[first];
            else
                return false;
            break;
        default:
            return false;
        }
    }
    return false;
}

/* Whether a value of rows is the maximum, or more: with a sink, with a number where it is
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

/* Whether a factor of a row is a constant of at most 1, or such divided by the sum. */
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
 * Whether the weights without the factors of their rows can be rounded where the graph rounds them
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

/* Whether the exponential is divided by its sum on the way to the weights. */
static bool is_divided_by_sum(const struct kiln_ir *ir,
                              const struct kiln_found_attention *attention)
{
    for (uint32_t p = 0; p < attention->path_count; p++) {
        const struct kiln_attention_step *step = &attention->path[p];
        if (step->factor == KILN_NONE || op_at(ir, step->value)->opcode != KILN_OP_DIV)
            continue;
        const struct kiln_op *divisor = op_at(ir, step->factor);
        if (divisor->opcode == KILN_OP_REDUCE_SUM && divisor->operands[0] == attention->exp)
            return true;
    }
    return false;
}

/* x, the maximum and what is subtracted, from the exponential. */
static bool find_softmax(const struct finder *finder, struct kiln_found_attention *attention)
{
    const struct kiln_ir *ir = finder->ir;
    if (!find_exponential(finder, attention))
        return false;
    const struct kiln_op *difference = op_at(ir, op_at(ir, attention->exp)->operands[0]);
    if (difference->opcode != KILN_OP_SUB ||
        finder->score_of[difference->operands[0]] != attention->score ||
        finder->score_of[difference->operands[1]] != KILN_NONE)
        return false;
    attention->x = difference->operands[0];
    attention->shift = before_broadcast(ir, difference->operands[1]);
    attention->max = find_maximum(ir, attention->shift, attention->x);
    if (attention->max == KILN_NONE ||
        op_at(ir, attention->x)->domain != op_at(ir, attention->score)->domain)
        return false;
    attention->row_domain = op_at(ir, attention->max)->domain;
    attention->is_plain = attention->shift == attention->max;
    attention->is_guarded = is_guarded_maximum(ir, attention->shift, attention->max);
    attention->is_divided = is_divided_by_sum(ir, attention);
    if (op_at(ir, attention->shift)->domain != attention->row_domain ||
        hides_factors(finder, attention) || !is_rounded_safely(ir, attention))
        return false;
    const struct kiln_domain *scores = &ir->domains[op_at(ir, attention->score)->domain];
    return kiln_domain_reduced_axes(scores, &ir->domains[attention->row_domain]) ==
           UINT32_C(1) << (scores->rank - 1);
}

/* ---- nobody else ---- */

/* Marks what lies between the products: finder->stamp is finder->now. False where some of it is of
 * another shape, or too much for one kernel. */
static bool mark_inside(struct finder *finder, const struct kiln_found_attention *attention)
{
    const struct kiln_ir *ir = finder->ir;
    uint32_t mark = ++finder->now;
    uint32_t depth = 0;
    uint32_t inside = 0;
    uint32_t weights = op_at(ir, attention->attend)->operands[attention->side];
    finder->stack[depth++] = weights;
    finder->stamp[weights] = mark;
    while (depth > 0) {
        uint32_t value = finder->stack[--depth];
        const struct kiln_op *op = op_at(ir, value);
        if (op->domain != op_at(ir, attention->score)->domain || ++inside > MAX_INSIDE ||
            finder->all.attention_of[value] != 0)
            return false;
        for (uint32_t k = 0; value != attention->score && k < kiln_opcode_info(op->opcode)->arity;
             k++) {
            uint32_t operand = op->operands[k];
            if (finder->score_of[operand] != attention->score || finder->stamp[operand] == mark)
                continue;
            finder->stamp[operand] = mark;
            finder->stack[depth++] = operand;
        }
    }
    return true;
}

/* Whether everything that reads what is marked is marked or one of the attention's own; sums of the
 * exponential are told by their action. */
static bool is_private(struct finder *finder, const struct kiln_found_attention *attention)
{
    const struct kiln_ir *ir = finder->ir;
    uint32_t mark = finder->now;
    uint32_t index = finder->all.count + 1;
    for (uint32_t i = attention->score + 1; i < ir->op_count; i++) {
        const struct kiln_op *op = op_at(ir, i);
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            uint32_t operand = op->operands[k];
            if (finder->stamp[operand] != mark || finder->stamp[i] == mark)
                continue;
            bool is_sum = attention->is_online && op->opcode == KILN_OP_REDUCE_SUM &&
                          op->domain == attention->row_domain && operand == attention->exp;
            if (is_sum)
                finder->all.attention_of[i] = index;
            else if (!(i == attention->attend && k == attention->side) &&
                     !(attention->is_online && i == attention->max))
                return false;
        }
    }
    return true;
}

/* Puts a value on the stack, once; false where it is inside. */
static bool visit_outside(struct finder *finder, uint32_t value, uint32_t inside, uint32_t *depth)
{
    if (finder->stamp[value] == inside)
        return false;
    if (finder->stamp[value] != finder->now)
        finder->stack[(*depth)++] = value;
    finder->stamp[value] = finder->now;
    return true;
}

/* Whether what comes from outside of the marked values, and the values, do not depend on them: all
 * of it must be there before the kernel begins. */
static bool is_independent(struct finder *finder, const struct kiln_found_attention *attention)
{
    const struct kiln_ir *ir = finder->ir;
    uint32_t inside = finder->now;
    uint32_t mark = ++finder->now;
    uint32_t depth = 0;
    uint32_t value = op_at(ir, attention->attend)->operands[1 - attention->side];
    if (!visit_outside(finder, value, inside, &depth))
        return false;
    for (uint32_t i = attention->score + 1; i < attention->attend; i++) {
        const struct kiln_op *op = op_at(ir, i);
        bool is_exponential = attention->is_online && i == attention->exp;
        bool is_factor = false;
        for (uint32_t p = 0; p < attention->path_count; p++)
            is_factor = is_factor ||
                        (attention->path[p].value == i && attention->path[p].factor != KILN_NONE);
        if (finder->stamp[i] != inside || is_exponential || is_factor)
            continue;
        /* The difference is the kernel's own. */
        if (attention->is_online && i == op_at(ir, attention->exp)->operands[0])
            continue;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            if (finder->stamp[op->operands[k]] != inside)
                (void)visit_outside(finder, op->operands[k], inside, &depth);
        }
    }
    while (depth > 0) {
        const struct kiln_op *op = op_at(ir, finder->stack[--depth]);
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            if (op->operands[k] >= attention->score && finder->stamp[op->operands[k]] != mark &&
                !visit_outside(finder, op->operands[k], inside, &depth))
                return false;
        }
    }
    return true;
}

/* ---- finding ---- */

static void forget_sums(struct finder *finder)
{
    for (uint32_t i = 0; i < finder->ir->op_count; i++) {
        if (finder->all.attention_of[i] == finder->all.count + 1)
            finder->all.attention_of[i] = 0;
    }
}

static bool is_attention(struct finder *finder, struct kiln_found_attention *attention)
{
    const struct kiln_ir *ir = finder->ir;
    const struct kiln_op *attend = op_at(ir, attention->attend);
    uint32_t weights = attend->operands[attention->side];
    attention->score = finder->score_of[weights];
    if (attention->score == KILN_NONE || attention->score == weights ||
        attend->operands[1 - attention->side] == weights || attend->scalar != KILN_SCALAR_F32 ||
        op_at(ir, attention->score)->scalar != KILN_SCALAR_F32 ||
        op_at(ir, attention->score)->domain != op_at(ir, weights)->domain ||
        finder->all.attention_of[attention->score] != 0 || !fit_axes(finder, attention))
        return false;
    attention->is_online = find_softmax(finder, attention);
    if (!attention->is_online) {
        attention->path_count = 0;
        if (!has_own_operands(&ir->contractions[op_at(ir, attention->score)->contraction],
                              &ir->contractions[attend->contraction], attention->side))
            return false;
    }
    if (finder->tries++ >= MAX_TRIES)
        return false;
    if (mark_inside(finder, attention) && is_private(finder, attention) &&
        is_independent(finder, attention))
        return true;
    forget_sums(finder);
    return false;
}

/* Notes what becomes of its operations. */
static void take(struct finder *finder, const struct kiln_found_attention *attention)
{
    const struct kiln_ir *ir = finder->ir;
    uint32_t index = finder->all.count + 1;
    for (uint32_t i = attention->score; i <= attention->attend; i++) {
        if (finder->all.attention_of[i] == index)
            finder->all.part[i] = KILN_ATTENTION_SUM;
    }
    for (uint32_t i = attention->attend + 1; i < ir->op_count; i++) {
        if (finder->all.attention_of[i] == index)
            finder->all.part[i] = KILN_ATTENTION_SUM;
    }
    finder->all.part[attention->score] = KILN_ATTENTION_SCORE;
    finder->all.attention_of[attention->score] = index;
    finder->all.part[attention->attend] = KILN_ATTENTION_ATTEND;
    finder->all.attention_of[attention->attend] = index;
    if (attention->is_online) {
        finder->all.part[attention->max] = KILN_ATTENTION_MAX;
        finder->all.attention_of[attention->max] = index;
        finder->all.part[attention->exp] = KILN_ATTENTION_EXP;
        finder->all.attention_of[attention->exp] = index;
    }
    finder->all.found[finder->all.count++] = *attention;
}

static void find_each(struct finder *finder)
{
    for (uint32_t i = 0; i < finder->ir->op_count; i++) {
        for (uint32_t side = 0; side < 2 && op_at(finder->ir, i)->opcode == KILN_OP_CONTRACT &&
                                finder->all.attention_of[i] == 0;
             side++) {
            struct kiln_found_attention attention = {.attend = i, .side = side};
            if (is_attention(finder, &attention))
                take(finder, &attention);
        }
    }
}

enum kiln_status kiln_find_attention(const struct kiln_ir *ir, int64_t most,
                                     struct kiln_attentions *ret_attentions,
                                     struct kiln_error *error)
{
    size_t count = (size_t)ir->op_count + 1;
    uint32_t products = 0;
    for (uint32_t i = 0; i < ir->op_count; i++)
        products += ir->ops[i].opcode == KILN_OP_CONTRACT;
    if (products < 2) {
        *ret_attentions = (struct kiln_attentions){0};
        return KILN_OK;
    }
    struct finder finder = {
        .ir = ir,
        .most = most,
        .score_of = kiln_arena_calloc(ir->arena, count, sizeof *finder.score_of),
        .stamp = kiln_arena_calloc(ir->arena, count, sizeof *finder.stamp),
        .stack = kiln_arena_calloc(ir->arena, count, sizeof *finder.stack),
        .all.part = kiln_arena_calloc(ir->arena, count, sizeof *finder.all.part),
        .all.attention_of = kiln_arena_calloc(ir->arena, count, sizeof *finder.all.attention_of),
        .all.found =
            kiln_arena_calloc(ir->arena, products / 2 + (size_t)1, sizeof *finder.all.found),
    };
    if (finder.score_of == NULL || finder.stamp == NULL || finder.stack == NULL ||
        finder.all.part == NULL || finder.all.attention_of == NULL || finder.all.found == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to recognize attention");
    find_scores(&finder);
    find_each(&finder);
    *ret_attentions = finder.all;
    return KILN_OK;
}
