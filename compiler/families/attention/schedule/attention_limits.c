#include "compiler/families/attention/schedule/attention_limits.h"

#include "compiler/families/attention/fuse/attention_group.h"

#include <math.h>

enum {
    MAX_DEPTH = 16
}; /* of an expression: operands may be shared, and each walk visits them again */

/*
 * One side of a comparison: an index, a number, a length, or another integer that is the same in
 * all of a batch. To an index an offset is added, and perhaps a value of the batch.
 */
struct side {
    enum { SIDE_ROW, SIDE_COLUMN, SIDE_LENGTH, SIDE_NUMBER, SIDE_OTHER } kind;
    int64_t offset;
    uint32_t value; /* KILN_NONE: none */
    bool is_subtracted;
};

struct range {
    int64_t low, high;
};

static const struct range any_int32 = {INT32_MIN, INT32_MAX};

static const struct kiln_op *op_at(const struct kiln_ir *ir, uint32_t value)
{
    return &ir->ops[value];
}

static uint32_t before_broadcast(const struct kiln_ir *ir, uint32_t value)
{
    while (op_at(ir, value)->opcode == KILN_OP_BROADCAST)
        value = op_at(ir, value)->operands[0];
    return value;
}

static bool is_integer(const struct kiln_op *op)
{
    return op->scalar == KILN_SCALAR_I32 || op->scalar == KILN_SCALAR_I64;
}

static bool is_same_along(const struct kiln_domain *domain, uint32_t from_right)
{
    return domain->rank <= from_right || kiln_domain_is_one(domain, domain->rank - 1 - from_right);
}

/* True if a value is the same for all rows and columns of the scores. */
static bool is_of_batch(const struct kiln_ir *ir, uint32_t row_axis, uint32_t value)
{
    const struct kiln_domain *domain = &ir->domains[op_at(ir, value)->domain];
    return is_same_along(domain, 0) && is_same_along(domain, 1) && is_same_along(domain, row_axis);
}

static bool is_within(struct range range, struct range bounds)
{
    return range.low >= bounds.low && range.high <= bounds.high;
}

/*
 * The numbers that an integer of the batch can be; false where it is none, or where 32 bits might
 * not hold what is added up. The kernel computes it in 64 bits without conversions, which is the
 * same then: conversions saturate, and MIN and MAX with numbers of 32 bits undo that.
 */
static bool find_range(const struct kiln_ir *ir, uint32_t value, uint32_t depth,
                       struct range *ret_range)
{
    value = before_broadcast(ir, value);
    const struct kiln_op *op = op_at(ir, value);
    if (!is_integer(op) || depth == MAX_DEPTH)
        return false;
    if (op->opcode == KILN_OP_CONVERT)
        op = op_at(ir, op->operands[0]);
    if (op->opcode == KILN_OP_LENGTH) {
        *ret_range = (struct range){0, INT32_MAX};
        return true;
    }
    if (op->opcode == KILN_OP_LOAD && is_integer(op)) {
        *ret_range =
            op->scalar == KILN_SCALAR_I32 ? any_int32 : (struct range){INT64_MIN, INT64_MAX};
        return true;
    }
    if (op->opcode == KILN_OP_CONSTANT) {
        *ret_range = (struct range){op->constant.integer, op->constant.integer};
        return is_within(*ret_range, any_int32);
    }
    struct range a, b;
    if (kiln_opcode_info(op->opcode)->arity != 2 ||
        !find_range(ir, op->operands[0], depth + 1, &a) ||
        !find_range(ir, op->operands[1], depth + 1, &b))
        return false;
    switch (op->opcode) {
    case KILN_OP_MIN:
        *ret_range =
            (struct range){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
        return true;
    case KILN_OP_MAX:
        *ret_range =
            (struct range){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
        return true;
    case KILN_OP_ADD:
    case KILN_OP_SUB:
        if (!is_within(a, any_int32) || !is_within(b, any_int32))
            return false;
        *ret_range = op->opcode == KILN_OP_ADD ? (struct range){a.low + b.low, a.high + b.high}
                                               : (struct range){a.low - b.high, a.high - b.low};
        return is_within(*ret_range, any_int32);
    default:
        return false;
    }
}

/* `a` plus or minus `b`. At most one is an index, and at most one has a value. */
static struct side sum_of(struct side a, struct side b, bool is_sum)
{
    struct side sum = is_sum && (b.kind == SIDE_ROW || b.kind == SIDE_COLUMN) ? b : a;
    const struct side *other = is_sum && (b.kind == SIDE_ROW || b.kind == SIDE_COLUMN) ? &a : &b;
    bool is_added = other->kind == SIDE_NUMBER || other->kind == SIDE_LENGTH;
    if (!is_added || (sum.value != KILN_NONE && other->value != KILN_NONE) ||
        (is_sum ? __builtin_add_overflow(sum.offset, other->offset, &sum.offset)
                : __builtin_sub_overflow(sum.offset, other->offset, &sum.offset)))
        sum.kind = SIDE_OTHER;
    if (other->value != KILN_NONE) {
        sum.value = other->value;
        sum.is_subtracted = !is_sum;
    }
    return sum;
}

static struct side side_of(const struct kiln_ir *ir, uint32_t row_axis, uint32_t value,
                           uint32_t depth)
{
    struct side side = {.kind = SIDE_OTHER, .value = KILN_NONE};
    struct range range;
    value = before_broadcast(ir, value);
    const struct kiln_op *op = op_at(ir, value);
    if (!is_integer(op) || depth == MAX_DEPTH)
        return side;
    if (op->opcode == KILN_OP_INDEX) {
        uint32_t from_right = ir->domains[op->domain].rank - 1 - op->axis;
        side.kind = from_right == 0 ? SIDE_COLUMN : from_right == 1 ? SIDE_ROW : SIDE_OTHER;
    } else if (op->opcode == KILN_OP_CONSTANT) {
        side.kind = SIDE_NUMBER;
        side.offset = op->constant.integer;
    } else if (is_of_batch(ir, row_axis, value) && find_range(ir, value, 0, &range)) {
        side.kind = SIDE_LENGTH;
        side.value = op->opcode == KILN_OP_CONVERT ? op->operands[0] : value;
    } else if (op->opcode == KILN_OP_ADD || op->opcode == KILN_OP_SUB) {
        side = sum_of(side_of(ir, row_axis, op->operands[0], depth + 1),
                      side_of(ir, row_axis, op->operands[1], depth + 1), op->opcode == KILN_OP_ADD);
    }
    return side;
}

/* True if an offset can be added to all indices of a domain in 32 bits, as the kernel does. */
static bool fits_indices(const struct kiln_domain *domain, int64_t offset)
{
    bool fits = offset > INT32_MIN && offset < INT32_MAX;
    for (uint32_t i = 0; i < domain->rank && fits; i++)
        fits = domain->dims[i] + (offset < 0 ? -offset : offset) <= INT32_MAX;
    return fits;
}

/* True if that holds for all that the offset and the value of a limit can add up to. */
static bool limit_fits_indices(const struct kiln_ir *ir, const struct kiln_domain *domain,
                               const struct kiln_score_limit *limit)
{
    struct range range = {0, 0};
    if (limit->value != KILN_NONE &&
        (!find_range(ir, limit->value, 0, &range) || !is_within(range, any_int32)))
        return false;
    if (limit->is_subtracted)
        range = (struct range){-range.high, -range.low};
    return fits_indices(domain, limit->offset) && fits_indices(domain, limit->offset + range.low) &&
           fits_indices(domain, limit->offset + range.high);
}

static bool add_limit(struct kiln_attention_schedule *attention, struct kiln_score_limit limit)
{
    if (attention->mask.count == KILN_MAX_LIMITS)
        return false;
    attention->mask.limits[attention->mask.count++] = limit;
    return true;
}

/* column < length or row < length, without an offset on either side */
static bool add_length(struct kiln_attention_schedule *attention, const struct side *index,
                       const struct side *length)
{
    if (length->kind != SIDE_LENGTH || length->offset != 0 || index->offset != 0 ||
        index->value != KILN_NONE || (index->kind != SIDE_COLUMN && index->kind != SIDE_ROW))
        return false;
    return add_limit(attention, (struct kiln_score_limit){.kind = index->kind == SIDE_COLUMN
                                                                      ? KILN_LIMIT_COLUMNS
                                                                      : KILN_LIMIT_ROWS,
                                                          .value = length->value});
}

/* What a comparison says of the columns: false where it says something else. */
static bool add_comparison(const struct kiln_ir *ir, const struct kiln_op *op,
                           struct kiln_attention_schedule *attention)
{
    enum kiln_opcode opcode = op->opcode;
    bool is_order = opcode == KILN_OP_CMP_LT || opcode == KILN_OP_CMP_LE ||
                    opcode == KILN_OP_CMP_GT || opcode == KILN_OP_CMP_GE;
    if (!is_order)
        return false;
    /* Lengths are the same for all rows, and for all batches that a work-group adds up. */
    const struct kiln_contraction_schedule *products = &attention->products;
    uint32_t row_axis = products->problem.batches.outer_axis != KILN_NONE
                            ? products->problem.batches.axes[products->problem.batches.outer_axis]
                            : products->problem.rows.domain_axes[0];
    struct side a = side_of(ir, row_axis, op->operands[0], 0);
    struct side b = side_of(ir, row_axis, op->operands[1], 0);
    /* Of a single row the index is 0. */
    bool is_single = (products->problem.m == 1 && attention->rows == KILN_SCORE_ROWS) ||
                     attention->rows == KILN_SCORE_ROWS_HEADS;
    if (is_single) {
        a.kind = a.kind == SIDE_NUMBER ? SIDE_ROW : a.kind;
        b.kind = b.kind == SIDE_NUMBER ? SIDE_ROW : b.kind;
    }
    uint32_t number = op->operands[1]; /* b's */
    if (b.kind == SIDE_COLUMN || a.kind == SIDE_LENGTH) {
        struct side other = a;
        a = b;
        b = other;
        number = op->operands[0];
        opcode = opcode == KILN_OP_CMP_LT   ? KILN_OP_CMP_GT
                 : opcode == KILN_OP_CMP_LE ? KILN_OP_CMP_GE
                 : opcode == KILN_OP_CMP_GT ? KILN_OP_CMP_LT
                                            : KILN_OP_CMP_LE;
    }
    bool is_below = opcode == KILN_OP_CMP_LT || opcode == KILN_OP_CMP_LE;
    if (opcode == KILN_OP_CMP_LT && a.kind == SIDE_COLUMN && a.offset == 0 &&
        a.value == KILN_NONE && b.kind == SIDE_NUMBER && b.offset > 0 && b.offset < INT32_MAX)
        return add_limit(attention,
                         (struct kiln_score_limit){.kind = KILN_LIMIT_COLUMNS,
                                                   .value = before_broadcast(ir, number)});
    if (opcode == KILN_OP_CMP_LT && add_length(attention, &a, &b))
        return true;
    if (b.kind == SIDE_LENGTH && is_single)
        b.kind = SIDE_ROW;
    const struct kiln_domain *domain = &ir->domains[op->domain];
    if (a.kind != SIDE_COLUMN || b.kind != SIDE_ROW || !fits_indices(domain, a.offset) ||
        !fits_indices(domain, b.offset) || (a.value != KILN_NONE && b.value != KILN_NONE))
        return false;
    const struct kiln_score_limit limit = {
        .kind = is_below ? KILN_LIMIT_LAST : KILN_LIMIT_FIRST,
        .offset = b.offset - a.offset - (opcode == KILN_OP_CMP_LT) + (opcode == KILN_OP_CMP_GT),
        .value = a.value != KILN_NONE ? a.value : b.value,
        .is_subtracted = a.value != KILN_NONE ? !a.is_subtracted : b.is_subtracted,
    };
    return limit_fits_indices(ir, domain, &limit) && add_limit(attention, limit);
}

/* All that a condition says, or false. */
static bool add_condition(const struct kiln_ir *ir, uint32_t value,
                          struct kiln_attention_schedule *attention)
{
    const struct kiln_op *op = op_at(ir, value);
    if (op->opcode == KILN_OP_BROADCAST)
        return add_condition(ir, op->operands[0], attention);
    if (op->opcode == KILN_OP_AND)
        return add_condition(ir, op->operands[0], attention) &&
               add_condition(ir, op->operands[1], attention);
    return add_comparison(ir, op, attention);
}

static bool is_lowest(const struct kiln_op *op)
{
    return op->opcode == KILN_OP_CONSTANT && !is_integer(op) && op->constant.real == -INFINITY;
}

/* Decodes the condition of a SELECT; false where it says something else of the columns. */
static bool add_selected(const struct kiln_ir *ir, const struct kiln_op *op,
                         struct kiln_attention_schedule *attention)
{
    attention->mask.count = 0;
    if (op->opcode == KILN_OP_SELECT && add_condition(ir, op->operands[0], attention)) {
        attention->mask.visible = op->operands[0];
        return true;
    }
    attention->mask.count = 0;
    return false;
}

/* Those of the operand of an exponential. */
static void add_limits_of_score(const struct kiln_ir *ir, const struct kiln_op *op,
                                struct kiln_attention_schedule *attention)
{
    attention->mask.count = 0;
    if (op->opcode == KILN_OP_SELECT && is_lowest(op_at(ir, op->operands[2])))
        (void)add_selected(ir, op, attention);
}

/* What a value between the products is where the limits hide it. */
enum hidden { HIDDEN_OTHER, HIDDEN_LOWEST, HIDDEN_ZERO };

static bool is_zero(const struct kiln_op *op)
{
    return op->opcode == KILN_OP_CONSTANT && op->scalar == KILN_SCALAR_F32 &&
           op->constant.real == 0;
}

static enum hidden hidden_value(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                const struct kiln_attention_schedule *attention,
                                const uint8_t *kinds, const struct kiln_op *op)
{
    enum hidden of[KILN_IR_MAX_OPERANDS] = {HIDDEN_OTHER};
    for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
        uint32_t at = kiln_group_position(group, op->operands[k]);
        of[k] = is_zero(op_at(ir, op->operands[k])) ? HIDDEN_ZERO
                : at == KILN_NONE                   ? HIDDEN_OTHER
                                                    : (enum hidden)kinds[at];
    }
    switch (op->opcode) {
    case KILN_OP_SELECT:
        if (op->operands[0] == attention->mask.visible)
            return is_lowest(op_at(ir, op->operands[2])) ? HIDDEN_LOWEST : of[2];
        return of[1] == of[2] ? of[1] : HIDDEN_OTHER;
    case KILN_OP_SUB:
    case KILN_OP_ADD:
        return of[0] == HIDDEN_LOWEST || (op->opcode == KILN_OP_ADD && of[1] == HIDDEN_LOWEST)
                   ? HIDDEN_LOWEST
                   : HIDDEN_OTHER;
    case KILN_OP_EXP:
        return of[0] == HIDDEN_LOWEST ? HIDDEN_ZERO : HIDDEN_OTHER;
    case KILN_OP_MUL:
        return of[0] == HIDDEN_ZERO || of[1] == HIDDEN_ZERO ? HIDDEN_ZERO : HIDDEN_OTHER;
    case KILN_OP_DIV:
    case KILN_OP_ROUND:
    case KILN_OP_NEG:
    case KILN_OP_CONVERT:
        return of[0] == HIDDEN_ZERO ? HIDDEN_ZERO : HIDDEN_OTHER;
    default:
        return HIDDEN_OTHER;
    }
}

/* True if all weights are 0 where the limits hide them. */
static bool are_weights_hidden(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                               const struct kiln_attention_schedule *attention)
{
    uint8_t *kinds = kiln_arena_calloc(ir->arena, group->op_count, sizeof *kinds);
    if (kinds == NULL)
        return false;
    for (uint32_t i = 0; i < group->op_count; i++) {
        if ((group->places[i] >> KILN_PLACE_WEIGHT & 1) != 0)
            kinds[i] = (uint8_t)hidden_value(ir, group, attention, kinds, op_at(ir, group->ops[i]));
    }
    uint32_t attends = group->anchor_count - kiln_group_score_count(group);
    bool are_hidden = true;
    for (uint32_t i = 0; i < (attends == 0 ? 1 : attends); i++) {
        uint32_t weights = kiln_group_weights(ir, group, i);
        are_hidden = are_hidden && kinds[kiln_group_position(group, weights)] == HIDDEN_ZERO;
    }
    return are_hidden;
}

/* Weights that are no softmax's have to be 0 where the condition of some SELECT does not hold. */
static void find_limits_of_weights(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                   struct kiln_attention_schedule *attention)
{
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = op_at(ir, group->ops[i]);
        bool is_weight = (group->places[i] >> KILN_PLACE_WEIGHT & 1) != 0;
        if (!is_weight || !add_selected(ir, op, attention))
            continue;
        if (are_weights_hidden(ir, group, attention))
            return;
        attention->mask.count = 0;
        attention->mask.visible = KILN_NONE;
    }
}

/* Rows are what the scores' domain has as columns. */
static void transpose(struct kiln_score_limit *limit)
{
    static const enum kiln_limit_kind transposed[] = {
        [KILN_LIMIT_LAST] = KILN_LIMIT_FIRST,
        [KILN_LIMIT_FIRST] = KILN_LIMIT_LAST,
        [KILN_LIMIT_COLUMNS] = KILN_LIMIT_ROWS,
        [KILN_LIMIT_ROWS] = KILN_LIMIT_COLUMNS,
    };
    limit->kind = transposed[limit->kind];
    limit->offset = -limit->offset;
    limit->is_subtracted = !limit->is_subtracted;
}

void kiln_find_attention_limits(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                struct kiln_attention_schedule *attention)
{
    attention->mask.count = 0;
    attention->mask.visible = KILN_NONE;
    if (attention->softmax == KILN_SOFTMAX_NONE) {
        find_limits_of_weights(ir, group, attention);
        for (uint32_t i = 0;
             i < attention->mask.count && attention->rows == KILN_SCORE_ROWS_TRANSPOSED; i++)
            transpose(&attention->mask.limits[i]);
        return;
    }
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (op_at(ir, group->ops[i])->opcode != KILN_OP_SCORE_EXP)
            continue;
        add_limits_of_score(ir, op_at(ir, op_at(ir, group->ops[i])->operands[0]), attention);
        return;
    }
}

/* ---- values that a length hides ---- */

/* The SCORE_EXP that weights are a multiple of, or KILN_NONE. */
static uint32_t exponential_of(const struct kiln_ir *ir, uint32_t weights)
{
    uint32_t value = weights;
    while (op_at(ir, value)->opcode == KILN_OP_ROUND)
        value = op_at(ir, value)->operands[0];
    return op_at(ir, value)->opcode == KILN_OP_SCORE_EXP ? value : KILN_NONE;
}

/* True if it says that an index along this axis, counted from the right, is below a length. */
static bool is_below(const struct kiln_ir *ir, const struct kiln_op *condition, uint8_t from_right,
                     uint32_t row_axis, uint32_t length)
{
    if (condition->opcode != KILN_OP_CMP_LT)
        return false;
    const struct kiln_op *index = op_at(ir, before_broadcast(ir, condition->operands[0]));
    struct side side = side_of(ir, row_axis, condition->operands[1], 0);
    return index->opcode == KILN_OP_INDEX &&
           ir->domains[index->domain].rank - 1 - index->axis == from_right &&
           side.kind == SIDE_LENGTH && side.offset == 0 && side.value == length;
}

/* Packs of keys that memory runs along are read whole, whatever is behind a length. */
static bool is_read_key_by_key(const struct kiln_ir *ir, const struct kiln_graph *graph,
                               uint32_t value, uint8_t key_axis, uint32_t depth)
{
    value = before_broadcast(ir, value);
    const struct kiln_op *op = op_at(ir, value);
    if (is_same_along(&ir->domains[op->domain], key_axis))
        return true;
    bool is_computed =
        kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_ELEMENTWISE && depth < MAX_DEPTH;
    for (uint32_t i = 0; is_computed && i < kiln_opcode_info(op->opcode)->arity; i++)
        is_computed = is_read_key_by_key(ir, graph, op->operands[i], key_axis, depth + 1);
    if (op->opcode != KILN_OP_LOAD)
        return is_computed;
    const struct kiln_tensor *tensor = &graph->tensors[op->tensor];
    return tensor->rank > key_axis && tensor->strides[tensor->rank - 1 - key_axis] != 1;
}

static uint8_t summed_axis(const struct kiln_contraction *contraction)
{
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->roles[i] == KILN_AXIS_K)
            return contraction->maps[KILN_CONTRACT_RIGHT].axes[i].along;
    }
    return KILN_NO_AXIS;
}

static void drop_hidden_values(struct kiln_ir *ir, const struct kiln_graph *graph,
                               struct kiln_op *attend)
{
    const struct kiln_contraction *contraction = &ir->contractions[attend->contraction];
    const struct kiln_op *values = op_at(ir, attend->operands[1]);
    uint32_t exponential = exponential_of(ir, attend->operands[0]);
    uint8_t key_axis = summed_axis(contraction);
    enum { HEAD_AXIS = 2 };
    struct kiln_attention_schedule attention = {0};
    attention.products.problem.m = kiln_contraction_size(contraction, KILN_AXIS_M);
    /* Rows may become heads: a length must be the same for them too. */
    attention.products.problem.rows.domain_axes[0] =
        attention.products.problem.m == 1 ? HEAD_AXIS : 1;
    if (exponential == KILN_NONE || values->opcode != KILN_OP_SELECT ||
        !is_read_key_by_key(ir, graph, values->operands[1], key_axis, 0))
        return;
    const struct kiln_op *hidden = op_at(ir, values->operands[2]);
    if (hidden->opcode != KILN_OP_CONSTANT || hidden->constant.real != 0)
        return;
    add_limits_of_score(ir, op_at(ir, op_at(ir, exponential)->operands[0]), &attention);
    for (uint32_t i = 0; i < attention.mask.count; i++) {
        const struct kiln_score_limit *limit = &attention.mask.limits[i];
        if (limit->kind == KILN_LIMIT_COLUMNS &&
            is_below(ir, op_at(ir, values->operands[0]), key_axis,
                     attention.products.problem.rows.domain_axes[0], limit->value)) {
            attend->operands[1] = values->operands[1];
            return;
        }
    }
}

void kiln_drop_hidden_values(struct kiln_ir *ir, const struct kiln_graph *graph)
{
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (ir->ops[i].opcode == KILN_OP_ATTEND)
            drop_hidden_values(ir, graph, &ir->ops[i]);
    }
}
