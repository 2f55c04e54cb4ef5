#include "compiler/ir/find_attention_gradient.h"

enum { MAX_GRADIENTS = 1024 }; /* each walks from its scores to their last reader */

/* The products that some elements are computed from: the first `count` of them, or too many. */
struct score_set {
    uint32_t count;
    uint32_t scores[KILN_GRADIENT_MAX_SCORES];
};

static const uint32_t too_many = KILN_GRADIENT_MAX_SCORES + 1;

struct finder {
    const struct kiln_ir *ir;
    int64_t most; /* elements of a row of an operand, or of a result */
    struct score_set *sets;
    uint32_t *last_reader; /* per value; 0: none */
    uint32_t *gradient_of; /* of a score: index + 1 */
    bool *is_taken;        /* a second product of some gradient */
    struct kiln_attention_gradients all;
};

static const struct kiln_op *op_at(const struct kiln_ir *ir, uint32_t value)
{
    return &ir->ops[value];
}

static uint32_t arity_of(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->arity;
}

static bool add_score(struct score_set *set, uint32_t score)
{
    for (uint32_t i = 0; i < set->count && i < KILN_GRADIENT_MAX_SCORES; i++) {
        if (set->scores[i] == score)
            return true;
    }
    if (set->count >= KILN_GRADIENT_MAX_SCORES) {
        set->count = too_many;
        return false;
    }
    set->scores[set->count++] = score;
    return true;
}

static void find_sets(struct finder *finder)
{
    const struct kiln_ir *ir = finder->ir;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = op_at(ir, i);
        struct score_set *set = &finder->sets[i];
        for (uint32_t k = 0; k < arity_of(op); k++)
            finder->last_reader[op->operands[k]] = i;
        if (op->opcode == KILN_OP_CONTRACT)
            (void)add_score(set, i);
        if (kiln_opcode_info(op->opcode)->op_class != KILN_OP_CLASS_ELEMENTWISE)
            continue;
        for (uint32_t k = 0; k < arity_of(op); k++) {
            const struct score_set *of = &finder->sets[op->operands[k]];
            for (uint32_t s = 0; s < of->count && s < KILN_GRADIENT_MAX_SCORES; s++)
                (void)add_score(set, of->scores[s]);
            set->count = of->count > KILN_GRADIENT_MAX_SCORES ? too_many : set->count;
        }
    }
}

/* ---- axes ---- */

/* The index of a contraction's batch axis at an axis of its result; KILN_NONE where there is none.
 */
static uint32_t batch_at(const struct kiln_contraction *contraction, uint8_t result)
{
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->roles[i] == KILN_AXIS_BATCH &&
            contraction->maps[KILN_CONTRACT_RESULT].axes[i].along == result)
            return i;
    }
    return KILN_NONE;
}

static const struct kiln_contraction *contraction_at(const struct kiln_ir *ir, uint32_t value)
{
    return &ir->contractions[op_at(ir, value)->contraction];
}

/* True if a product's rows and columns are the last two axes of its result, in either order, and
 * its batches the others, one each. */
static bool fits_score(const struct finder *finder, uint32_t value)
{
    const struct kiln_contraction *contraction = contraction_at(finder->ir, value);
    struct kiln_contraction_axis m, n, c;
    if (op_at(finder->ir, value)->scalar != KILN_SCALAR_F32 ||
        !kiln_contraction_only_axis(contraction, KILN_AXIS_M, &m) ||
        !kiln_contraction_only_axis(contraction, KILN_AXIS_N, &n) ||
        !kiln_contraction_only_axis(contraction, KILN_AXIS_K, &c) ||
        kiln_contraction_image(contraction)->window_count != 0 || c.size > finder->most ||
        m.of[KILN_CONTRACT_RESULT].along + n.of[KILN_CONTRACT_RESULT].along != 1)
        return false;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis axis = kiln_contraction_axis_at(contraction, i);
        for (uint32_t side = 0; side < KILN_CONTRACT_OPERAND_COUNT; side++) {
            if (axis.of[side].step.value != 1)
                return false;
        }
        if (axis.role == KILN_AXIS_BATCH &&
            batch_at(contraction, axis.of[KILN_CONTRACT_RESULT].along) != i)
            return false;
    }
    return true;
}

static bool have_same_batches(const struct kiln_contraction *a, const struct kiln_contraction *b)
{
    for (uint32_t i = 0; i < a->axis_count; i++) {
        if (a->roles[i] != KILN_AXIS_BATCH)
            continue;
        uint32_t other = batch_at(b, a->maps[KILN_CONTRACT_RESULT].axes[i].along);
        if (other == KILN_NONE || b->sizes[other] != a->sizes[i])
            return false;
    }
    return kiln_contraction_size(a, KILN_AXIS_BATCH) == kiln_contraction_size(b, KILN_AXIS_BATCH);
}

/* The product with the weights as its left operand. */
static struct kiln_contraction oriented(const struct kiln_ir *ir,
                                        const struct kiln_gradient_attend *attend)
{
    const struct kiln_contraction *contraction = contraction_at(ir, attend->value);
    return attend->side == 0 ? *contraction : kiln_contraction_swap(contraction);
}

/* True if one axis of k is the scores' columns, or rows, and at most one other goes along batches:
 * *ret_outer is its index, or KILN_NONE. */
static bool find_sums(struct kiln_gradient_attend *attend, const struct kiln_contraction *second,
                      uint8_t column_axis, uint32_t *ret_outer)
{
    uint32_t found = 0;
    *ret_outer = KILN_NONE;
    for (uint32_t i = 0; i < second->axis_count; i++) {
        const struct kiln_map_axis *left = &second->maps[KILN_CONTRACT_LEFT].axes[i];
        const struct kiln_map_axis *right = &second->maps[KILN_CONTRACT_RIGHT].axes[i];
        if (second->roles[i] != KILN_AXIS_K)
            continue;
        if (left->step.value != 1 || right->step.value != 1 || left->along == KILN_NO_AXIS ||
            right->along == KILN_NO_AXIS)
            return false;
        if (left->along == column_axis) {
            found++;
        } else if (second->sizes[i] > 1) {
            if (*ret_outer != KILN_NONE || left->along < 2)
                return false;
            *ret_outer = i;
            attend->outer_axis = left->along;
            attend->outer = second->sizes[i];
        }
    }
    return found == 1;
}

/* True if a batch axis of the scores is one of the second product too, is summed over, or is
 * counted by both. In that case neighbours are summed in groups. `outer` is the index of the axis
 * of k along batches. */
static bool fits_batch(const struct kiln_gradient_attend *attend,
                       const struct kiln_contraction *second, uint8_t of_score, int64_t size,
                       uint32_t outer)
{
    bool is_outer = of_score == attend->outer_axis;
    uint32_t found = KILN_NONE;
    int64_t step = is_outer ? attend->outer : 1;
    for (uint32_t i = 0; i < second->axis_count; i++) {
        if (second->roles[i] == KILN_AXIS_BATCH && second->sizes[i] > 1 &&
            second->maps[KILN_CONTRACT_LEFT].axes[i].along == of_score) {
            if (found != KILN_NONE)
                return false;
            found = i;
        }
    }
    if (found == KILN_NONE)
        return size == step;
    const struct kiln_contraction_axis batch = kiln_contraction_axis_at(second, found);
    const struct kiln_map_axis *left = &batch.of[KILN_CONTRACT_LEFT];
    const struct kiln_map_axis *right = &batch.of[KILN_CONTRACT_RIGHT];
    const struct kiln_map_axis *result = &batch.of[KILN_CONTRACT_RESULT];
    bool is_value_fit = right->along == KILN_NO_AXIS ? !is_outer
                        : is_outer                   ? right->repeat.value == 1
                                                     : true;
    return batch.size * step == size && result->along == of_score && result->step.value == 1 &&
           left->repeat.value == 1 && left->step.value == step &&
           (right->along == KILN_NO_AXIS || right->step.value == step) && is_value_fit &&
           (!is_outer || right->along == second->maps[KILN_CONTRACT_RIGHT].axes[outer].along);
}

/* True if a kernel's left operand is the same for all batches that it sums. */
static bool has_fixed_left(const struct kiln_ir *ir, uint32_t score,
                           const struct kiln_gradient_attend *attend)
{
    const struct kiln_contraction *first = contraction_at(ir, score);
    uint32_t batch =
        attend->outer_axis == KILN_NO_AXIS ? KILN_NONE : batch_at(first, attend->outer_axis);
    if (batch == KILN_NONE)
        return attend->outer_axis == KILN_NO_AXIS;
    struct kiln_contraction_axis m;
    bool is_left = kiln_contraction_only_axis(first, KILN_AXIS_M, &m) &&
                   m.of[KILN_CONTRACT_RESULT].along == (attend->is_transposed ? 0 : 1);
    const struct kiln_map *left = &first->maps[is_left ? KILN_CONTRACT_LEFT : KILN_CONTRACT_RIGHT];
    return left->axes[batch].along == KILN_NO_AXIS ||
           left->axes[batch].repeat.value % attend->outer == 0;
}

/* Fills how the second product sums. */
static bool fits_attend(const struct finder *finder, const struct score_set *set,
                        struct kiln_gradient_attend *attend)
{
    const struct kiln_ir *ir = finder->ir;
    const struct kiln_contraction second = oriented(ir, attend);
    const struct kiln_contraction *first = contraction_at(ir, set->scores[0]);
    struct kiln_contraction_axis rows, d;
    uint32_t outer = KILN_NONE;
    attend->outer_axis = KILN_NO_AXIS;
    attend->outer = 1;
    if (op_at(ir, attend->value)->scalar != KILN_SCALAR_F32 ||
        kiln_contraction_image(&second)->window_count != 0 ||
        !kiln_contraction_only_axis(&second, KILN_AXIS_M, &rows) ||
        !kiln_contraction_only_axis(&second, KILN_AXIS_N, &d))
        return false;
    const struct kiln_map_axis *rows_left = &rows.of[KILN_CONTRACT_LEFT];
    const struct kiln_map_axis *rows_result = &rows.of[KILN_CONTRACT_RESULT];
    if (rows_left->along > 1 || rows_result->along != 1 || d.of[KILN_CONTRACT_RESULT].along != 0 ||
        d.size > finder->most || (d.size < 2 && !ir->is_general) || rows_left->step.value != 1 ||
        rows_result->step.value != 1 || d.of[KILN_CONTRACT_RIGHT].step.value != 1 ||
        d.of[KILN_CONTRACT_RESULT].step.value != 1)
        return false;
    attend->is_transposed = rows_left->along == 0;
    if (!find_sums(attend, &second, attend->is_transposed ? 1 : 0, &outer))
        return false;
    for (uint32_t i = 0; i < first->axis_count; i++) {
        uint8_t of_score = first->maps[KILN_CONTRACT_RESULT].axes[i].along;
        if (first->roles[i] == KILN_AXIS_BATCH && first->sizes[i] > 1 &&
            !fits_batch(attend, &second, of_score, first->sizes[i], outer))
            return false;
    }
    int64_t batches = kiln_contraction_size(&second, KILN_AXIS_BATCH) * attend->outer;
    bool is_fit = batches == kiln_contraction_size(first, KILN_AXIS_BATCH);
    for (uint32_t s = 0; s < set->count; s++)
        is_fit = is_fit && has_fixed_left(ir, set->scores[s], attend);
    return is_fit;
}

/* ---- gradients ---- */

/* A product that takes a function of scores, as far as it alone can tell. */
static bool is_candidate(const struct finder *finder, uint32_t value, uint32_t side,
                         struct kiln_gradient_attend *ret_attend)
{
    const struct kiln_ir *ir = finder->ir;
    const struct kiln_op *op = op_at(ir, value);
    uint32_t weights = op->operands[side];
    const struct score_set *set = &finder->sets[weights];
    *ret_attend = (struct kiln_gradient_attend){.value = value, .side = side};
    if (set->count == 0 || set->count == too_many || op_at(ir, weights)->opcode == KILN_OP_CONTRACT)
        return false;
    for (uint32_t s = 0; s < set->count; s++) {
        if (op_at(ir, set->scores[s])->domain != op_at(ir, weights)->domain ||
            !fits_score(finder, set->scores[s]) ||
            !have_same_batches(contraction_at(ir, set->scores[0]),
                               contraction_at(ir, set->scores[s])))
            return false;
    }
    return fits_attend(finder, set, ret_attend);
}

/* The gradient of the set's scores, old or new, with all of them in it; NULL where they are too
 * many, or of several. */
static struct kiln_attention_gradient *gradient_of(struct finder *finder,
                                                   const struct score_set *set)
{
    struct kiln_attention_gradient *gradient = NULL;
    for (uint32_t s = 0; s < set->count; s++) {
        uint32_t index = finder->gradient_of[set->scores[s]];
        struct kiln_attention_gradient *own = index == 0 ? NULL : &finder->all.found[index - 1];
        if (gradient != NULL && own != NULL && own != gradient)
            return NULL;
        gradient = own != NULL ? own : gradient;
    }
    if (gradient == NULL && finder->all.count < MAX_GRADIENTS)
        gradient = &finder->all.found[finder->all.count++];
    for (uint32_t s = 0; s < set->count && gradient != NULL; s++) {
        if (finder->gradient_of[set->scores[s]] != 0)
            continue;
        if (gradient->score_count == KILN_GRADIENT_MAX_SCORES)
            return NULL;
        gradient->scores[gradient->score_count++] = set->scores[s];
        finder->gradient_of[set->scores[s]] = (uint32_t)(gradient - finder->all.found) + 1;
    }
    return gradient;
}

/* Products of which both operands are functions of the same scores are left out, and so is what
 * reads their scores: find_folds. Scores of both are taken first, so that a function of one of them
 * finds its gradient. A product is of one gradient only: the kernels of another one would not make
 * it. */
static void find_candidates(struct finder *finder)
{
    const struct kiln_ir *ir = finder->ir;
    for (uint32_t count = KILN_GRADIENT_MAX_SCORES; count >= 1; count--) {
        for (uint32_t i = 0; i < ir->op_count; i++) {
            struct kiln_gradient_attend attend;
            for (uint32_t side = 0; side < 2 && op_at(ir, i)->opcode == KILN_OP_CONTRACT; side++) {
                if (finder->is_taken[i])
                    break;
                const struct score_set *set = &finder->sets[op_at(ir, i)->operands[side]];
                if (set->count != count || !is_candidate(finder, i, side, &attend))
                    continue;
                struct kiln_attention_gradient *gradient = gradient_of(finder, set);
                if (gradient == NULL || gradient->attend_count == KILN_GRADIENT_MAX_ATTENDS)
                    continue;
                gradient->attends[gradient->attend_count++] = attend;
                finder->is_taken[i] = true;
            }
        }
    }
}

uint32_t kiln_attention_gradient_inside(const struct kiln_attention_gradients *gradients,
                                        const struct kiln_attention_gradient *gradient,
                                        uint32_t value)
{
    uint32_t at = gradients->position[value];
    bool is_inside = at != 0 && at <= gradient->inside_count && gradient->inside[at - 1] == value;
    return is_inside ? at - 1 : KILN_NONE;
}

static bool is_inside(const struct finder *finder, const struct kiln_attention_gradient *gradient,
                      uint32_t value)
{
    return kiln_attention_gradient_inside(&finder->all, gradient, value) != KILN_NONE;
}

static uint32_t weights_of(const struct kiln_ir *ir, const struct kiln_gradient_attend *attend)
{
    return op_at(ir, attend->value)->operands[attend->side];
}

/* Lists all that the second products' weights are computed from, down to the scores; false where
 * that is too much. */
static bool list_inside(struct finder *finder, struct kiln_attention_gradient *gradient,
                        bool *marks)
{
    const struct kiln_ir *ir = finder->ir;
    uint32_t first = gradient->scores[0];
    uint32_t last = 0;
    uint32_t count = 0;
    for (uint32_t s = 0; s < gradient->score_count; s++)
        first = gradient->scores[s] < first ? gradient->scores[s] : first;
    for (uint32_t a = 0; a < gradient->attend_count; a++) {
        uint32_t weights = weights_of(ir, &gradient->attends[a]);
        last = weights > last ? weights : last;
        marks[weights] = true;
    }
    for (uint32_t i = last + 1; i-- > first;) {
        const struct kiln_op *op = op_at(ir, i);
        count += marks[i];
        for (uint32_t k = 0; marks[i] && op->opcode != KILN_OP_CONTRACT && k < arity_of(op); k++) {
            if (finder->sets[op->operands[k]].count != 0)
                marks[op->operands[k]] = true;
        }
    }
    bool is_small = count <= KILN_GRADIENT_MAX_INSIDE;
    gradient->inside =
        is_small ? kiln_arena_calloc(ir->arena, count + 1, sizeof *gradient->inside) : NULL;
    for (uint32_t i = first; i <= last; i++) {
        if (marks[i] && gradient->inside != NULL) {
            gradient->inside[gradient->inside_count++] = i;
            finder->all.position[i] = gradient->inside_count;
        }
        marks[i] = false;
    }
    return gradient->inside != NULL;
}

/* True if a reader of what is inside is one of the second products, and by its weights alone. */
static bool is_attend(const struct kiln_attention_gradient *gradient, uint32_t reader,
                      uint32_t side)
{
    for (uint32_t a = 0; a < gradient->attend_count; a++) {
        if (gradient->attends[a].value == reader && gradient->attends[a].side == side)
            return true;
    }
    return false;
}

/* The fold of a value that is inside, old or new; NULL where there can be none. */
static struct kiln_gradient_fold *fold_of(const struct finder *finder,
                                          struct kiln_attention_gradient *gradient, uint32_t value)
{
    const struct kiln_ir *ir = finder->ir;
    const struct kiln_op *op = op_at(ir, value);
    for (uint32_t f = 0; f < gradient->fold_count; f++) {
        if (gradient->folds[f].value == value)
            return &gradient->folds[f];
    }
    if (gradient->fold_count == KILN_GRADIENT_MAX_FOLDS || op->opcode == KILN_OP_CONTRACT ||
        op->scalar != KILN_SCALAR_F32 || finder->sets[value].count != KILN_GRADIENT_MAX_SCORES ||
        op->domain != op_at(ir, gradient->scores[0])->domain)
        return NULL;
    struct kiln_gradient_fold *fold = &gradient->folds[gradient->fold_count++];
    *fold = (struct kiln_gradient_fold){.value = value, .reader = KILN_NONE};
    return fold;
}

/* Takes a reader that is no second product: a sum that is the only one begins in the fold, others
 * read what it stores. */
static bool add_reader(const struct finder *finder, struct kiln_attention_gradient *gradient,
                       uint32_t reader, uint32_t value)
{
    const struct kiln_op *op = op_at(finder->ir, reader);
    enum kiln_op_class op_class = kiln_opcode_info(op->opcode)->op_class;
    bool may_read = op->opcode == KILN_OP_STORE || kiln_op_reduces_all(op, KILN_OP_REDUCE_SUM) ||
                    op_class == KILN_OP_CLASS_ELEMENTWISE;
    uint32_t before = gradient->fold_count;
    struct kiln_gradient_fold *fold = may_read ? fold_of(finder, gradient, value) : NULL;
    if (fold == NULL)
        return false;
    bool is_first = gradient->fold_count != before;
    fold->reader = is_first && op->opcode == KILN_OP_REDUCE_SUM ? reader : KILN_NONE;
    return true;
}

/* True if a fold's work-groups, one for each tile of its result, are not few that walk over many
 * batches while other compute units have nothing to do: by the timing model of an MI300X four of
 * them took 4.1 ms for 1024 batches of windows of 49 pixels, products with scores in memory 0.4. */
static bool is_fold_wide(const struct finder *finder, const struct kiln_gradient_fold *fold)
{
    enum { TILE = 64, SHORT_WALK = 16 };
    const struct kiln_ir *ir = finder->ir;
    if (fold->reader == KILN_NONE)
        return true;
    const struct kiln_domain *scores = &ir->domains[op_at(ir, fold->value)->domain];
    const struct kiln_domain *sum = &ir->domains[op_at(ir, fold->reader)->domain];
    uint32_t summed = kiln_domain_reduced_axes(scores, sum);
    int64_t walk = 1, groups = 1;
    for (uint32_t i = 0; i < scores->rank; i++) {
        if (i + 2 >= scores->rank)
            groups *= (scores->dims[i] + TILE - 1) / TILE;
        else if ((summed >> i & 1) != 0)
            walk *= scores->dims[i];
        else
            groups *= scores->dims[i];
    }
    return walk <= SHORT_WALK || walk <= groups;
}

/* True if what is inside goes to second products and folds alone. Finds the folds. */
static bool find_folds(const struct finder *finder, struct kiln_attention_gradient *gradient)
{
    const struct kiln_ir *ir = finder->ir;
    for (uint32_t a = 0; a < gradient->attend_count; a++) {
        const struct kiln_gradient_attend *attend = &gradient->attends[a];
        if (is_inside(finder, gradient, op_at(ir, attend->value)->operands[1 - attend->side]))
            return false;
    }
    uint32_t last = 0;
    for (uint32_t i = 0; i < gradient->inside_count; i++) {
        uint32_t reader = finder->last_reader[gradient->inside[i]];
        last = reader > last ? reader : last;
    }
    for (uint32_t i = gradient->inside[0] + 1; i <= last; i++) {
        const struct kiln_op *op = op_at(ir, i);
        for (uint32_t k = 0; k < arity_of(op) && !is_inside(finder, gradient, i); k++) {
            if (is_inside(finder, gradient, op->operands[k]) && !is_attend(gradient, i, k) &&
                !add_reader(finder, gradient, i, op->operands[k]))
                return false;
        }
    }
    for (uint32_t f = 0; f < gradient->fold_count; f++) {
        if (!is_fold_wide(finder, &gradient->folds[f]))
            return false;
    }
    return true;
}

/* True if it is attention: some batch has operands of its own on both sides, as no chain of layers
 * has, or there is an exponential relative to a statistic. */
static bool looks_like_attention(const struct finder *finder,
                                 const struct kiln_attention_gradient *gradient)
{
    const struct kiln_ir *ir = finder->ir;
    const struct kiln_contraction *first = contraction_at(ir, gradient->scores[0]);
    for (uint32_t i = 0; i < first->axis_count; i++) {
        if (first->roles[i] == KILN_AXIS_BATCH && first->sizes[i] > 1 &&
            first->maps[KILN_CONTRACT_LEFT].axes[i].along != KILN_NO_AXIS &&
            first->maps[KILN_CONTRACT_RIGHT].axes[i].along != KILN_NO_AXIS)
            return true;
    }
    for (uint32_t i = 0; i < gradient->inside_count; i++) {
        const struct kiln_op *op = op_at(ir, gradient->inside[i]);
        if (op->opcode == KILN_OP_EXP && op_at(ir, op->operands[0])->opcode == KILN_OP_SUB)
            return true;
    }
    return false;
}

/* The kernel that does a second product: of one that sums the same way and has a result of the
 * same shape, or a new one. */
static void choose_kernels(const struct finder *finder, struct kiln_attention_gradient *gradient)
{
    const struct kiln_ir *ir = finder->ir;
    for (uint32_t a = 0; a < gradient->attend_count; a++) {
        struct kiln_gradient_attend *attend = &gradient->attends[a];
        attend->kernel = KILN_NONE;
        for (uint32_t b = 0; b < a; b++) {
            const struct kiln_gradient_attend *other = &gradient->attends[b];
            uint32_t results = 0;
            for (uint32_t c = 0; c < a; c++)
                results += gradient->attends[c].kernel == other->kernel;
            if (results < KILN_GRADIENT_MAX_SCORES &&
                other->is_transposed == attend->is_transposed &&
                other->outer_axis == attend->outer_axis && other->outer == attend->outer &&
                op_at(ir, other->value)->domain == op_at(ir, attend->value)->domain)
                attend->kernel = other->kernel;
        }
        if (attend->kernel == KILN_NONE)
            attend->kernel = gradient->kernel_count++;
    }
    for (uint32_t f = 0; f < gradient->fold_count; f++)
        gradient->folds[f].kernel = gradient->kernel_count++;
}

/* True if a second product takes what is computed of another one: no kernel does both. */
static bool is_chained(const struct finder *finder, const struct kiln_attention_gradient *gradient,
                       bool *marks)
{
    const struct kiln_ir *ir = finder->ir;
    bool is_found = false;
    uint32_t last = 0; /* of the second products */
    for (uint32_t a = 0; a < gradient->attend_count; a++)
        last = gradient->attends[a].value > last ? gradient->attends[a].value : last;
    for (uint32_t i = gradient->inside[0]; i <= last; i++) {
        const struct kiln_op *op = op_at(ir, i);
        bool reads = false;
        for (uint32_t k = 0; k < arity_of(op); k++)
            reads = reads || marks[op->operands[k]];
        bool is_second = is_attend(gradient, i, 0) || is_attend(gradient, i, 1);
        is_found = is_found || (reads && is_second);
        marks[i] = reads || is_second;
    }
    for (uint32_t i = gradient->inside[0]; i <= last; i++)
        marks[i] = false;
    return is_found;
}

/* Keeps the candidates that are attention's gradients. One product of one score is
 * kiln_find_attention's. */
static void keep_gradients(struct finder *finder, bool *marks)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < finder->all.count; i++) {
        struct kiln_attention_gradient gradient = finder->all.found[i];
        if (gradient.attend_count == 0 ||
            (gradient.score_count == 1 && gradient.attend_count == 1) ||
            !list_inside(finder, &gradient, marks) || !find_folds(finder, &gradient) ||
            !looks_like_attention(finder, &gradient) || is_chained(finder, &gradient, marks))
            continue;
        choose_kernels(finder, &gradient);
        finder->all.found[kept++] = gradient;
    }
    finder->all.count = kept;
}

enum kiln_status kiln_find_attention_gradients(const struct kiln_ir *ir, int64_t most,
                                               struct kiln_attention_gradients *ret_gradients,
                                               struct kiln_error *error)
{
    size_t count = (size_t)ir->op_count + 1;
    uint32_t products = 0;
    for (uint32_t i = 0; i < ir->op_count; i++)
        products += ir->ops[i].opcode == KILN_OP_CONTRACT;
    uint32_t most_found = products < MAX_GRADIENTS ? products : MAX_GRADIENTS;
    struct finder finder = {
        .ir = ir,
        .most = most,
        .sets = kiln_arena_calloc(ir->arena, count, sizeof *finder.sets),
        .last_reader = kiln_arena_calloc(ir->arena, count, sizeof *finder.last_reader),
        .gradient_of = kiln_arena_calloc(ir->arena, count, sizeof *finder.gradient_of),
        .is_taken = kiln_arena_calloc(ir->arena, count, sizeof *finder.is_taken),
        .all.position = kiln_arena_calloc(ir->arena, count, sizeof *finder.all.position),
        .all.found = kiln_arena_calloc(ir->arena, most_found, sizeof *finder.all.found),
    };
    bool *marks = kiln_arena_calloc(ir->arena, count, sizeof *marks);
    if (finder.sets == NULL || finder.last_reader == NULL || finder.gradient_of == NULL ||
        finder.is_taken == NULL || finder.all.position == NULL || finder.all.found == NULL ||
        marks == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to find gradients of attention");
    find_sets(&finder);
    find_candidates(&finder);
    keep_gradients(&finder, marks);
    *ret_gradients = finder.all;
    return KILN_OK;
}
