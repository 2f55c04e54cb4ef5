/*
 * The gradients of attention: products that add up functions of the scores along their rows or
 * their columns, of two products' elements or of one's,
 *
 *   s = CONTRACT(q, k)    dp = CONTRACT(do, v)    p = EXP(x(s) - stats)    ds = p * (dp - delta)
 *   dq = CONTRACT(ds, k)    dk = CONTRACT(ds^T, q)    dv = CONTRACT(p^T, do)
 *
 * found by what is computed, however the graph says it. If nobody else wants what is of the scores'
 * size, it is computed once more for each kernel, from the operands: one for what is summed along
 * rows, one for what is summed along columns, with two results at most. In the latter the roles of
 * rows and columns are exchanged: its SCOREs have their operands in the other order. No result
 * changes by a bit, but for the order of sums.
 */
#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

#include <string.h>

enum {
    MAX_SCORES = 2,      /* and results, of a kernel */
    MAX_PRODUCTS = 8,    /* that take functions of the same scores */
    MAX_INSIDE = 256,    /* operations between the products, so that one kernel can do them */
    MAX_COMPONENTS = 64, /* each walks over the program */
};

/* The products that some elements are computed from: the first `count` of them, or too many. */
struct score_set {
    uint32_t count;
    uint32_t scores[MAX_SCORES];
};

static const uint32_t too_many = MAX_SCORES + 1;

/* A second product: weights[rows, columns] * value[columns, d]. */
struct attend {
    uint32_t value; /* CONTRACT */
    uint32_t side;  /* which operand of it the weights are */
    uint32_t kernel;
    bool is_transposed; /* its rows are the scores' last axis */
    /* The axis of scores, from the right, of which several are summed, and how many; KILN_NO_AXIS
     * and 1 where there is none. */
    uint8_t outer_axis;
    int64_t outer;
};

/* All that functions of the same scores go into. */
struct component {
    uint32_t score_count;
    uint32_t scores[MAX_SCORES];
    uint32_t attend_count;
    struct attend attends[MAX_PRODUCTS];
    uint32_t inside_count;
    uint32_t *inside; /* ascending; the scores too */
    uint32_t kernel_count;
    uint32_t first_kernel;
    uint32_t *map; /* of each kernel: inside -> new value, KILN_NONE: not made yet */
};

struct finder {
    struct kiln_ir *ir;
    int64_t most; /* elements of a row of an operand, or of a result */
    struct score_set *sets;
    uint32_t *component_of; /* of a score: index + 1 */
    uint32_t *position;     /* inside of its component: index + 1 */
    struct component *components;
    uint32_t count;
    uint32_t kernel_count;
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
    for (uint32_t i = 0; i < set->count && i < MAX_SCORES; i++) {
        if (set->scores[i] == score)
            return true;
    }
    if (set->count >= MAX_SCORES) {
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
        if (op->opcode == KILN_OP_CONTRACT)
            (void)add_score(set, i);
        if (kiln_opcode_info(op->opcode)->op_class != KILN_OP_CLASS_ELEMENTWISE)
            continue;
        for (uint32_t k = 0; k < arity_of(op); k++) {
            const struct score_set *of = &finder->sets[op->operands[k]];
            for (uint32_t s = 0; s < of->count && s < MAX_SCORES; s++)
                (void)add_score(set, of->scores[s]);
            set->count = of->count > MAX_SCORES ? too_many : set->count;
        }
    }
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

/* The batch axis of a contraction at an axis of its result; NULL where there is none. */
static const struct kiln_contraction_axis *batch_at(const struct kiln_contraction *contraction,
                                                    uint8_t result)
{
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->axes[i].role == KILN_AXIS_BATCH && contraction->axes[i].result == result)
            return &contraction->axes[i];
    }
    return NULL;
}

static const struct kiln_contraction *contraction_at(const struct kiln_ir *ir, uint32_t value)
{
    return &ir->contractions[op_at(ir, value)->contraction];
}

/* Whether a product's rows and columns are the last two axes of its result, in either order, and
 * its batches the others, one each. */
static bool fits_score(const struct finder *finder, uint32_t value)
{
    const struct kiln_contraction *contraction = contraction_at(finder->ir, value);
    const struct kiln_contraction_axis *m = only_axis(contraction, KILN_AXIS_M);
    const struct kiln_contraction_axis *n = only_axis(contraction, KILN_AXIS_N);
    const struct kiln_contraction_axis *c = only_axis(contraction, KILN_AXIS_K);
    if (op_at(finder->ir, value)->scalar != KILN_SCALAR_F32 || m == NULL || n == NULL ||
        c == NULL || contraction->window_count != 0 || c->size > finder->most ||
        m->result + n->result != 1)
        return false;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &contraction->axes[i];
        if (axis->left_step != 1 || axis->right_step != 1 || axis->result_step != 1 ||
            (axis->role == KILN_AXIS_BATCH && batch_at(contraction, axis->result) != axis))
            return false;
    }
    return true;
}

static bool have_same_batches(const struct kiln_contraction *a, const struct kiln_contraction *b)
{
    for (uint32_t i = 0; i < a->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &a->axes[i];
        const struct kiln_contraction_axis *other = batch_at(b, axis->result);
        if (axis->role == KILN_AXIS_BATCH && (other == NULL || other->size != axis->size))
            return false;
    }
    return kiln_contraction_size(a, KILN_AXIS_BATCH) == kiln_contraction_size(b, KILN_AXIS_BATCH);
}

/* The product with the weights as its left operand. */
static struct kiln_contraction oriented(const struct kiln_ir *ir, const struct attend *attend)
{
    const struct kiln_contraction *contraction = contraction_at(ir, attend->value);
    return attend->side == 0 ? *contraction : kiln_contraction_swap(contraction);
}

/* Which of its axes of k are the scores' columns, or rows, and which one goes along batches. */
static bool find_sums(struct attend *attend, const struct kiln_contraction *second,
                      uint8_t column_axis, const struct kiln_contraction_axis **ret_outer)
{
    uint32_t found = 0;
    *ret_outer = NULL;
    for (uint32_t i = 0; i < second->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &second->axes[i];
        if (axis->role != KILN_AXIS_K)
            continue;
        if (axis->left_step != 1 || axis->right_step != 1 || axis->left == KILN_NO_AXIS ||
            axis->right == KILN_NO_AXIS)
            return false;
        if (axis->left == column_axis) {
            found++;
        } else if (axis->size > 1) {
            if (*ret_outer != NULL || axis->left < 2)
                return false;
            *ret_outer = axis;
            attend->outer_axis = axis->left;
            attend->outer = axis->size;
        }
    }
    return found == 1;
}

/* Whether a batch axis of the scores is one of the second product too, or is summed over, or is
 * counted by both: some neighbours are summed then, and there are so many times as many results. */
static bool fits_batch(const struct attend *attend, const struct kiln_contraction *second,
                       const struct kiln_contraction_axis *of_score,
                       const struct kiln_contraction_axis *outer)
{
    bool is_outer = of_score->result == attend->outer_axis;
    const struct kiln_contraction_axis *found = NULL;
    int64_t step = is_outer ? attend->outer : 1;
    for (uint32_t i = 0; i < second->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &second->axes[i];
        if (axis->role == KILN_AXIS_BATCH && axis->left == of_score->result && axis->size > 1) {
            if (found != NULL)
                return false;
            found = axis;
        }
    }
    if (found == NULL)
        return of_score->size == step;
    bool is_value_fit = found->right == KILN_NO_AXIS ? !is_outer
                        : is_outer                   ? found->right_repeat == 1
                                                     : true;
    return found->size * step == of_score->size && found->result == of_score->result &&
           found->result_step == 1 && found->left_repeat == 1 && found->left_step == step &&
           (found->right == KILN_NO_AXIS || found->right_step == step) && is_value_fit &&
           (!is_outer || found->right == outer->right);
}

/* Whether a kernel's left operand is the same for all batches that it sums. */
static bool has_fixed_left(const struct kiln_ir *ir, uint32_t score, const struct attend *attend)
{
    const struct kiln_contraction *first = contraction_at(ir, score);
    const struct kiln_contraction_axis *batch =
        attend->outer_axis == KILN_NO_AXIS ? NULL : batch_at(first, attend->outer_axis);
    if (batch == NULL)
        return attend->outer_axis == KILN_NO_AXIS;
    bool is_left = only_axis(first, KILN_AXIS_M)->result == (attend->is_transposed ? 0 : 1);
    uint8_t along = is_left ? batch->left : batch->right;
    int64_t repeat = is_left ? batch->left_repeat : batch->right_repeat;
    return along == KILN_NO_AXIS || repeat % attend->outer == 0;
}

/* Fills how the second product sums. */
static bool fits_attend(const struct finder *finder, const struct score_set *set,
                        struct attend *attend)
{
    const struct kiln_ir *ir = finder->ir;
    const struct kiln_contraction second = oriented(ir, attend);
    const struct kiln_contraction *first = contraction_at(ir, set->scores[0]);
    const struct kiln_contraction_axis *rows = only_axis(&second, KILN_AXIS_M);
    const struct kiln_contraction_axis *d = only_axis(&second, KILN_AXIS_N);
    const struct kiln_contraction_axis *outer = NULL;
    attend->outer_axis = KILN_NO_AXIS;
    attend->outer = 1;
    if (op_at(ir, attend->value)->scalar != KILN_SCALAR_F32 || second.window_count != 0 ||
        rows == NULL || d == NULL || rows->left > 1 || rows->result != 1 || d->result != 0 ||
        d->size > finder->most || d->size < 2 || rows->left_step != 1 || rows->result_step != 1 ||
        d->right_step != 1 || d->result_step != 1)
        return false;
    attend->is_transposed = rows->left == 0;
    if (!find_sums(attend, &second, attend->is_transposed ? 1 : 0, &outer))
        return false;
    for (uint32_t i = 0; i < first->axis_count; i++) {
        if (first->axes[i].role == KILN_AXIS_BATCH && first->axes[i].size > 1 &&
            !fits_batch(attend, &second, &first->axes[i], outer))
            return false;
    }
    int64_t batches = kiln_contraction_size(&second, KILN_AXIS_BATCH) * attend->outer;
    bool is_fit = batches == kiln_contraction_size(first, KILN_AXIS_BATCH);
    for (uint32_t s = 0; s < set->count; s++)
        is_fit = is_fit && has_fixed_left(ir, set->scores[s], attend);
    return is_fit;
}

/* ---- components ---- */

/* A product that takes a function of scores, as far as it alone can tell. */
static bool is_candidate(const struct finder *finder, uint32_t value, uint32_t side,
                         struct attend *ret_attend)
{
    const struct kiln_ir *ir = finder->ir;
    const struct kiln_op *op = op_at(ir, value);
    uint32_t weights = op->operands[side];
    const struct score_set *set = &finder->sets[weights];
    *ret_attend = (struct attend){.value = value, .side = side};
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

/* The component of the set's scores, old or new, with all of them in it; NULL where they are too
 * many, or of several. */
static struct component *component_of(struct finder *finder, const struct score_set *set)
{
    struct component *component = NULL;
    for (uint32_t s = 0; s < set->count; s++) {
        uint32_t index = finder->component_of[set->scores[s]];
        struct component *own = index == 0 ? NULL : &finder->components[index - 1];
        if (component != NULL && own != NULL && own != component)
            return NULL;
        component = own != NULL ? own : component;
    }
    if (component == NULL && finder->count < MAX_COMPONENTS)
        component = &finder->components[finder->count++];
    for (uint32_t s = 0; s < set->count && component != NULL; s++) {
        if (finder->component_of[set->scores[s]] != 0)
            continue;
        if (component->score_count == MAX_SCORES)
            return NULL;
        component->scores[component->score_count++] = set->scores[s];
        finder->component_of[set->scores[s]] = (uint32_t)(component - finder->components) + 1;
    }
    return component;
}

/* Products of which both operands are functions of scores are left out, and so is what reads their
 * scores: is_private. Scores of both are taken first, so that a function of one of them finds its
 * component. */
static void find_components(struct finder *finder)
{
    const struct kiln_ir *ir = finder->ir;
    for (uint32_t count = MAX_SCORES; count >= 1; count--) {
        for (uint32_t i = 0; i < ir->op_count; i++) {
            struct attend attend;
            for (uint32_t side = 0; side < 2 && op_at(ir, i)->opcode == KILN_OP_CONTRACT; side++) {
                const struct score_set *set = &finder->sets[op_at(ir, i)->operands[side]];
                if (set->count != count || !is_candidate(finder, i, side, &attend))
                    continue;
                struct component *component = component_of(finder, set);
                if (component != NULL && component->attend_count < MAX_PRODUCTS)
                    component->attends[component->attend_count++] = attend;
            }
        }
    }
}

static bool is_inside(const struct finder *finder, const struct component *component,
                      uint32_t value)
{
    uint32_t at = finder->position[value];
    return at != 0 && at <= component->inside_count && component->inside[at - 1] == value;
}

static uint32_t weights_of(const struct kiln_ir *ir, const struct attend *attend)
{
    return op_at(ir, attend->value)->operands[attend->side];
}

/* Lists all that the second products' weights are computed from, down to the scores; false where
 * that is too much. */
static bool list_inside(struct finder *finder, struct component *component, bool *marks)
{
    const struct kiln_ir *ir = finder->ir;
    uint32_t first = component->scores[0];
    uint32_t last = 0;
    uint32_t count = 0;
    for (uint32_t s = 0; s < component->score_count; s++)
        first = component->scores[s] < first ? component->scores[s] : first;
    for (uint32_t a = 0; a < component->attend_count; a++) {
        uint32_t weights = weights_of(ir, &component->attends[a]);
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
    bool is_small = count <= MAX_INSIDE;
    component->inside =
        is_small ? kiln_arena_calloc(ir->arena, count + 1, sizeof *component->inside) : NULL;
    for (uint32_t i = first; i <= last; i++) {
        if (marks[i] && component->inside != NULL) {
            component->inside[component->inside_count++] = i;
            finder->position[i] = component->inside_count;
        }
        marks[i] = false;
    }
    return component->inside != NULL;
}

/* Whether a reader of what is inside is one of the second products, and by its weights alone. */
static bool is_attend(const struct component *component, uint32_t reader, uint32_t side)
{
    for (uint32_t a = 0; a < component->attend_count; a++) {
        if (component->attends[a].value == reader && component->attends[a].side == side)
            return true;
    }
    return false;
}

static bool is_private(const struct finder *finder, const struct component *component)
{
    const struct kiln_ir *ir = finder->ir;
    for (uint32_t a = 0; a < component->attend_count; a++) {
        const struct attend *attend = &component->attends[a];
        if (is_inside(finder, component, op_at(ir, attend->value)->operands[1 - attend->side]))
            return false;
    }
    for (uint32_t i = component->inside[0] + 1; i < ir->op_count; i++) {
        const struct kiln_op *op = op_at(ir, i);
        for (uint32_t k = 0; k < arity_of(op) && !is_inside(finder, component, i); k++) {
            if (is_inside(finder, component, op->operands[k]) && !is_attend(component, i, k))
                return false;
        }
    }
    return true;
}

/* Whether it is attention: some batch has operands of its own on both sides, as no chain of layers
 * has, or there is an exponential relative to a statistic. */
static bool looks_like_attention(const struct finder *finder, const struct component *component)
{
    const struct kiln_ir *ir = finder->ir;
    const struct kiln_contraction *first = contraction_at(ir, component->scores[0]);
    for (uint32_t i = 0; i < first->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &first->axes[i];
        if (axis->role == KILN_AXIS_BATCH && axis->size > 1 && axis->left != KILN_NO_AXIS &&
            axis->right != KILN_NO_AXIS)
            return true;
    }
    for (uint32_t i = 0; i < component->inside_count; i++) {
        const struct kiln_op *op = op_at(ir, component->inside[i]);
        if (op->opcode == KILN_OP_EXP && op_at(ir, op->operands[0])->opcode == KILN_OP_SUB)
            return true;
    }
    return false;
}

/* The kernel that does a second product: of one that sums the same way and has a result of the
 * same shape, or a new one. */
static void choose_kernels(const struct finder *finder, struct component *component)
{
    const struct kiln_ir *ir = finder->ir;
    for (uint32_t a = 0; a < component->attend_count; a++) {
        struct attend *attend = &component->attends[a];
        attend->kernel = KILN_NONE;
        for (uint32_t b = 0; b < a; b++) {
            const struct attend *other = &component->attends[b];
            uint32_t results = 0;
            for (uint32_t c = 0; c < a; c++)
                results += component->attends[c].kernel == other->kernel;
            if (results < MAX_SCORES && other->is_transposed == attend->is_transposed &&
                other->outer_axis == attend->outer_axis && other->outer == attend->outer &&
                op_at(ir, other->value)->domain == op_at(ir, attend->value)->domain)
                attend->kernel = other->kernel;
        }
        if (attend->kernel == KILN_NONE)
            attend->kernel = component->kernel_count++;
    }
}

/* Whether a second product takes what is computed of another one: no kernel does both. */
static bool is_chained(const struct finder *finder, const struct component *component, bool *marks)
{
    const struct kiln_ir *ir = finder->ir;
    bool is_found = false;
    for (uint32_t i = component->inside[0]; i < ir->op_count; i++) {
        const struct kiln_op *op = op_at(ir, i);
        bool reads = false;
        for (uint32_t k = 0; k < arity_of(op); k++)
            reads = reads || marks[op->operands[k]];
        bool is_second = is_attend(component, i, 0) || is_attend(component, i, 1);
        is_found = is_found || (reads && is_second);
        marks[i] = reads || is_second;
    }
    for (uint32_t i = component->inside[0]; i < ir->op_count; i++)
        marks[i] = false;
    return is_found;
}

/* Keeps the components that are attention's gradients. One product of one score is the other
 * pass's. */
static bool keep_components(struct finder *finder, bool *marks)
{
    struct kiln_arena *arena = finder->ir->arena;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < finder->count; i++) {
        struct component component = finder->components[i];
        if (component.attend_count == 0 ||
            (component.score_count == 1 && component.attend_count == 1) ||
            !list_inside(finder, &component, marks) || !is_private(finder, &component) ||
            !looks_like_attention(finder, &component) || is_chained(finder, &component, marks))
            continue;
        choose_kernels(finder, &component);
        size_t size = (size_t)component.kernel_count * component.inside_count;
        component.map = kiln_arena_calloc(arena, size, sizeof *component.map);
        if (component.map == NULL)
            return false;
        memset(component.map, 0xff, size * sizeof *component.map);
        component.first_kernel = finder->kernel_count + 1;
        finder->kernel_count += component.kernel_count;
        finder->components[kept++] = component;
    }
    finder->count = kept;
    return true;
}

/* ---- rewriting ---- */

static struct kiln_op swap_operands(struct kiln_ir *out, struct kiln_op op)
{
    struct kiln_contraction swapped = kiln_contraction_swap(&out->contractions[op.contraction]);
    uint32_t left = op.operands[0];
    op.operands[0] = op.operands[1];
    op.operands[1] = left;
    op.contraction = kiln_ir_intern_contraction(out, &swapped);
    return op;
}

/* An operation between the products, for one of the kernels. */
static uint32_t make_inside(const struct finder *finder, struct kiln_rewrite *rewriting,
                            const struct component *component, const struct attend *attend,
                            uint32_t value)
{
    struct kiln_ir *out = &rewriting->out;
    const uint32_t *map = component->map + (size_t)attend->kernel * component->inside_count;
    struct kiln_op op = kiln_rewrite_operands(rewriting, value);
    const struct kiln_op *old = op_at(finder->ir, value);
    op.tensor = KILN_NONE;
    if (op.opcode == KILN_OP_CONTRACT) {
        op.opcode = KILN_OP_SCORE;
        op.kernel = component->first_kernel + attend->kernel;
        uint8_t rows = attend->is_transposed ? 0 : 1;
        if (only_axis(&out->contractions[op.contraction], KILN_AXIS_M)->result != rows)
            op = swap_operands(out, op);
    }
    for (uint32_t k = 0; old->opcode != KILN_OP_CONTRACT && k < arity_of(old); k++) {
        if (is_inside(finder, component, old->operands[k]))
            op.operands[k] = map[finder->position[old->operands[k]] - 1];
    }
    return kiln_ir_append(out, &op);
}

static uint32_t make_attend(const struct finder *finder, struct kiln_rewrite *rewriting,
                            const struct component *component, const struct attend *attend)
{
    const struct kiln_ir *ir = finder->ir;
    struct kiln_ir *out = &rewriting->out;
    uint32_t *map = component->map + (size_t)attend->kernel * component->inside_count;
    bool is_needed[MAX_INSIDE] = {false};
    uint32_t weights = finder->position[weights_of(ir, attend)] - 1;
    is_needed[weights] = true;
    for (uint32_t i = weights + 1; i-- > 0;) {
        const struct kiln_op *op = op_at(ir, component->inside[i]);
        for (uint32_t k = 0; is_needed[i] && op->opcode != KILN_OP_CONTRACT && k < arity_of(op);
             k++) {
            if (is_inside(finder, component, op->operands[k]))
                is_needed[finder->position[op->operands[k]] - 1] = true;
        }
    }
    for (uint32_t i = 0; i <= weights && !out->failed; i++) {
        if (is_needed[i] && map[i] == KILN_NONE)
            map[i] = make_inside(finder, rewriting, component, attend, component->inside[i]);
    }
    struct kiln_op op = kiln_rewrite_operands(rewriting, attend->value);
    op.opcode = KILN_OP_ATTEND;
    op.kernel = component->first_kernel + attend->kernel;
    op.operands[attend->side] = map[weights];
    if (attend->side != 0 && !out->failed)
        op = swap_operands(out, op);
    return kiln_ir_append(out, &op);
}

static uint32_t rewrite(const struct finder *finder, struct kiln_rewrite *rewriting, uint32_t index)
{
    for (uint32_t c = 0; c < finder->count && op_at(finder->ir, index)->opcode == KILN_OP_CONTRACT;
         c++) {
        const struct component *component = &finder->components[c];
        for (uint32_t a = 0; a < component->attend_count; a++) {
            if (component->attends[a].value == index)
                return make_attend(finder, rewriting, component, &component->attends[a]);
        }
    }
    struct kiln_op op = kiln_rewrite_operands(rewriting, index);
    return kiln_ir_append(&rewriting->out, &op);
}

enum kiln_status kiln_ir_recognize_attention_gradient(struct kiln_ir *ir, int64_t most,
                                                      bool *ret_found, struct kiln_error *error)
{
    size_t count = (size_t)ir->op_count + 1;
    uint32_t products = 0;
    *ret_found = false;
    for (uint32_t i = 0; i < ir->op_count; i++)
        products += ir->ops[i].opcode == KILN_OP_CONTRACT;
    if (products < 3)
        return KILN_OK;
    struct finder finder = {
        .ir = ir,
        .most = most,
        .sets = kiln_arena_calloc(ir->arena, count, sizeof *finder.sets),
        .component_of = kiln_arena_calloc(ir->arena, count, sizeof *finder.component_of),
        .position = kiln_arena_calloc(ir->arena, count, sizeof *finder.position),
        .components = kiln_arena_calloc(ir->arena, MAX_COMPONENTS, sizeof *finder.components),
    };
    bool *marks = kiln_arena_calloc(ir->arena, count, sizeof *marks);
    if (finder.sets == NULL || finder.component_of == NULL || finder.position == NULL ||
        finder.components == NULL || marks == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to recognize attention");
    find_sets(&finder);
    find_components(&finder);
    if (!keep_components(&finder, marks))
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to recognize attention");
    if (finder.count == 0)
        return KILN_OK;
    struct kiln_rewrite rewriting;
    enum kiln_status status = kiln_rewrite_begin(&rewriting, ir, error);
    if (status != KILN_OK)
        return status;
    for (uint32_t i = 0; i < ir->op_count && !rewriting.out.failed; i++) {
        rewriting.out.node = ir->ops[i].node;
        kiln_rewrite_set(&rewriting, i, rewrite(&finder, &rewriting, i));
    }
    *ret_found = true;
    return kiln_rewrite_finish(&rewriting, error);
}
