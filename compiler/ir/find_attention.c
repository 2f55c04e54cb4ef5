#include "compiler/ir/find_attention.h"

#include "compiler/ir/find_softmax.h"

enum {
    MAX_TRIES = 1024, /* products that are looked at closely: each walks from its scores to their
                         last reader */
    MAX_INSIDE = 256, /* operations between the products, so that one kernel can do them */
};

struct finder {
    const struct kiln_ir *ir;
    int64_t most; /* elements of a row of an operand, or of the result */
    /* Per value: the CONTRACT that it is computed from element by element; KILN_NONE: none, or
     * several. */
    uint32_t *score_of;
    uint32_t *last_reader; /* per value; 0: none */
    uint32_t *stamp;       /* of the last walk that visited it */
    uint32_t now;
    uint32_t last; /* reader of what the last mark_inside has marked */
    uint32_t *stack;
    struct kiln_attentions all;
    uint32_t tries;
};

static const struct kiln_op *op_at(const struct kiln_ir *ir, uint32_t value)
{
    return &ir->ops[value];
}

static void find_scores(struct finder *finder)
{
    const struct kiln_ir *ir = finder->ir;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = op_at(ir, i);
        uint32_t found = op->opcode == KILN_OP_CONTRACT ? i : KILN_NONE;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
            finder->last_reader[op->operands[k]] = i;
        for (uint32_t k = 0;
             kiln_opcode_is_elementwise(op->opcode) && k < kiln_opcode_info(op->opcode)->arity;
             k++) {
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

/* ---- axes ---- */

static bool has_plain_steps(const struct kiln_contraction *contraction)
{
    for (uint32_t side = 0; side < KILN_CONTRACT_OPERAND_COUNT; side++) {
        const struct kiln_map *map = &contraction->maps[side];
        for (uint32_t i = 0; i < map->axis_count; i++) {
            if (map->axes[i].step.value != 1)
                return false;
        }
        if (map->window_count != 0)
            return false;
    }
    return true;
}

/* True if both products have the same batches of scores, each along one axis of these and of the
 * result, at the same place. */
static bool have_same_batches(const struct kiln_ir *ir, const struct kiln_contraction *first,
                              const struct kiln_contraction *second, uint32_t side)
{
    const struct kiln_map_axis *of_scores = first->maps[KILN_CONTRACT_RESULT].axes;
    for (uint32_t i = 0; i < second->axis_count; i++) {
        const struct kiln_contraction_axis axis = kiln_contraction_axis_at(second, i);
        uint8_t result = axis.of[KILN_CONTRACT_RESULT].along;
        bool is_one = axis.size == 1 && !ir->is_general;
        bool is_found = is_one;
        if (axis.role != KILN_AXIS_BATCH)
            continue;
        for (uint32_t k = 0; k < first->axis_count; k++)
            is_found = is_found || (first->roles[k] == KILN_AXIS_BATCH &&
                                    of_scores[k].along == result && first->sizes[k] == axis.size);
        if (!is_found ||
            (!is_one && (axis.of[side].along != result || axis.of[side].repeat.value != 1)))
            return false;
    }
    return kiln_contraction_size(first, KILN_AXIS_BATCH) ==
           kiln_contraction_size(second, KILN_AXIS_BATCH);
}

/* True if some batch has right operands and values of its own: other chains of products, those of
 * layers, share theirs. */
static bool has_own_operands(const struct kiln_ir *ir, const struct kiln_contraction *first,
                             const struct kiln_contraction *second, uint32_t side)
{
    for (uint32_t i = 0; i < second->axis_count; i++) {
        const struct kiln_contraction_axis axis = kiln_contraction_axis_at(second, i);
        if (axis.role != KILN_AXIS_BATCH || (axis.size == 1 && !ir->is_general) ||
            axis.of[1 - side].along == KILN_NO_AXIS)
            continue;
        for (uint32_t k = 0; k < first->axis_count; k++) {
            const struct kiln_contraction_axis of_score = kiln_contraction_axis_at(first, k);
            if (of_score.role == KILN_AXIS_BATCH &&
                of_score.of[KILN_CONTRACT_RESULT].along == axis.of[KILN_CONTRACT_RESULT].along &&
                of_score.of[KILN_CONTRACT_LEFT].along != KILN_NO_AXIS &&
                of_score.of[KILN_CONTRACT_RIGHT].along != KILN_NO_AXIS)
                return true;
        }
    }
    return false;
}

/* Why it does not fit, unless rows of the scores are those of the result, and of an operand of the
 * first product, along the last axis but one, and columns lie along the last one. */
static enum kiln_attention_miss fit_axes(const struct finder *finder,
                                         struct kiln_found_attention *attention)
{
    const struct kiln_ir *ir = finder->ir;
    const struct kiln_contraction *first =
        &ir->contractions[op_at(ir, attention->score)->contraction];
    const struct kiln_contraction *second =
        &ir->contractions[op_at(ir, attention->attend)->contraction];
    bool is_left = attention->side == 0;
    struct kiln_contraction_axis m, n, c, rows, d, sums;
    if (!kiln_contraction_only_axis(first, KILN_AXIS_M, &m) ||
        !kiln_contraction_only_axis(first, KILN_AXIS_N, &n) ||
        !kiln_contraction_only_axis(first, KILN_AXIS_K, &c) ||
        !kiln_contraction_only_axis(second, is_left ? KILN_AXIS_M : KILN_AXIS_N, &rows) ||
        !kiln_contraction_only_axis(second, is_left ? KILN_AXIS_N : KILN_AXIS_M, &d) ||
        !kiln_contraction_only_axis(second, KILN_AXIS_K, &sums) || !has_plain_steps(first) ||
        !has_plain_steps(second))
        return KILN_ATTENTION_MISS_AXES;
    uint8_t m_result = m.of[KILN_CONTRACT_RESULT].along;
    uint8_t n_result = n.of[KILN_CONTRACT_RESULT].along;
    bool is_standard = rows.of[attention->side].along == 1 && sums.of[attention->side].along == 0 &&
                       rows.of[KILN_CONTRACT_RESULT].along == 1 &&
                       d.of[KILN_CONTRACT_RESULT].along == 0 &&
                       ((m_result == 1 && n_result == 0) || (m_result == 0 && n_result == 1));
    attention->are_scores_transposed = m_result != 1;
    bool are_long = ir->is_general || (sums.size != 1 && d.size != 1);
    if (!is_standard || !are_long || !have_same_batches(ir, first, second, attention->side))
        return KILN_ATTENTION_MISS_AXES;
    return c.size <= finder->most && d.size <= finder->most ? KILN_ATTENTION_MISS_NOTHING
                                                            : KILN_ATTENTION_MISS_SIZE;
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
    finder->last = attention->attend;
    while (depth > 0) {
        uint32_t value = finder->stack[--depth];
        const struct kiln_op *op = op_at(ir, value);
        if (op->domain != op_at(ir, attention->score)->domain || ++inside > MAX_INSIDE ||
            finder->all.attention_of[value] != 0)
            return false;
        if (finder->last_reader[value] > finder->last)
            finder->last = finder->last_reader[value];
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

/* True if everything that reads what is marked is marked or one of the attention's own; sums of the
 * exponential are told by their action. */
static bool is_private(struct finder *finder, const struct kiln_found_attention *attention)
{
    const struct kiln_ir *ir = finder->ir;
    uint32_t mark = finder->now;
    uint32_t index = finder->all.count + 1;
    for (uint32_t i = attention->score + 1; i <= finder->last; i++) {
        const struct kiln_op *op = op_at(ir, i);
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            uint32_t operand = op->operands[k];
            if (finder->stamp[operand] != mark || finder->stamp[i] == mark)
                continue;
            bool is_sum = attention->is_online && kiln_op_reduces_all(op, KILN_OP_REDUCE_SUM) &&
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

/* True if what comes from outside of the marked values, and the values, do not depend on them: all
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

static void forget_sums(struct finder *finder, const struct kiln_found_attention *attention)
{
    for (uint32_t i = attention->score; i <= finder->last; i++) {
        if (finder->all.attention_of[i] == finder->all.count + 1)
            finder->all.attention_of[i] = 0;
    }
}

/* True if there are two products with something between them that is neither layers nor a product
 * of a matrix with itself. */
static bool looks_like_attention(const struct finder *finder,
                                 struct kiln_found_attention *attention)
{
    const struct kiln_ir *ir = finder->ir;
    const struct kiln_op *attend = op_at(ir, attention->attend);
    uint32_t weights = attend->operands[attention->side];
    attention->score = finder->score_of[weights];
    if (attention->score == KILN_NONE || attention->score == weights ||
        attend->operands[1 - attention->side] == weights ||
        op_at(ir, attention->score)->domain != op_at(ir, weights)->domain ||
        finder->all.attention_of[attention->score] != 0)
        return false;
    attention->is_online = kiln_find_softmax(ir, finder->score_of, attention);
    if (attention->is_online)
        return true;
    attention->path_count = 0;
    return has_own_operands(ir, &ir->contractions[op_at(ir, attention->score)->contraction],
                            &ir->contractions[attend->contraction], attention->side);
}

/* What looks like attention: why it is none. */
static enum kiln_attention_miss find_miss(struct finder *finder,
                                          struct kiln_found_attention *attention)
{
    const struct kiln_ir *ir = finder->ir;
    const struct kiln_op *attend = op_at(ir, attention->attend);
    const struct kiln_op *score = op_at(ir, attention->score);
    if (attend->scalar != KILN_SCALAR_F32 || score->scalar != KILN_SCALAR_F32)
        return KILN_ATTENTION_MISS_TYPE;
    enum kiln_attention_miss miss = fit_axes(finder, attention);
    if (miss != KILN_ATTENTION_MISS_NOTHING)
        return miss;
    if (finder->tries++ >= MAX_TRIES)
        return KILN_ATTENTION_MISS_TOO_MANY;
    if (!mark_inside(finder, attention))
        miss = KILN_ATTENTION_MISS_INSIDE;
    else if (!is_private(finder, attention))
        miss = KILN_ATTENTION_MISS_SHARED;
    else if (!is_independent(finder, attention))
        miss = KILN_ATTENTION_MISS_DEPENDENT;
    if (miss != KILN_ATTENTION_MISS_NOTHING)
        forget_sums(finder, attention);
    return miss;
}

/* Notes what becomes of its operations. */
static void take(struct finder *finder, const struct kiln_found_attention *attention)
{
    uint32_t index = finder->all.count + 1;
    for (uint32_t i = attention->score; i <= finder->last; i++) {
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
            if (!looks_like_attention(finder, &attention))
                continue;
            enum kiln_attention_miss miss = find_miss(finder, &attention);
            if (miss == KILN_ATTENTION_MISS_NOTHING)
                take(finder, &attention);
            else if (finder->all.missed.miss == KILN_ATTENTION_MISS_NOTHING &&
                     (attention.is_online || miss != KILN_ATTENTION_MISS_AXES))
                finder->all.missed = (struct kiln_missed_attention){
                    miss, op_at(finder->ir, attention.score)->node, op_at(finder->ir, i)->node};
        }
    }
}

const char *kiln_attention_miss_text(enum kiln_attention_miss miss)
{
    static const char *const texts[] = {
        [KILN_ATTENTION_MISS_NOTHING] = "",
#define KILN_ATTENTION_MISS(name, text) [KILN_ATTENTION_MISS_##name] = (text),
#include "compiler/ir/attention_miss.def"
    };
    return texts[miss];
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
        .last_reader = kiln_arena_calloc(ir->arena, count, sizeof *finder.last_reader),
        .stamp = kiln_arena_calloc(ir->arena, count, sizeof *finder.stamp),
        .stack = kiln_arena_calloc(ir->arena, count, sizeof *finder.stack),
        .all.part = kiln_arena_calloc(ir->arena, count, sizeof *finder.all.part),
        .all.attention_of = kiln_arena_calloc(ir->arena, count, sizeof *finder.all.attention_of),
        .all.found =
            kiln_arena_calloc(ir->arena, products / 2 + (size_t)1, sizeof *finder.all.found),
    };
    if (finder.score_of == NULL || finder.last_reader == NULL || finder.stamp == NULL ||
        finder.stack == NULL || finder.all.part == NULL || finder.all.attention_of == NULL ||
        finder.all.found == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to recognize attention");
    find_scores(&finder);
    find_each(&finder);
    *ret_attentions = finder.all;
    return KILN_OK;
}
