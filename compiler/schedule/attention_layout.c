#include "compiler/schedule/attention_layout.h"

#include "compiler/fuse/contraction_group.h"
#include "compiler/schedule/attention_segments.h"

/* The only axis of a role, of those that matter here. */
static const struct kiln_contraction_axis *axis_of(const struct kiln_contraction *contraction,
                                                   enum kiln_axis_role role)
{
    const struct kiln_contraction_axis *found = contraction->axes;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->axes[i].role == role)
            found = &contraction->axes[i];
    }
    return found;
}

/* What a second product sums along: the scores' columns; the other axis of k, if there is one, goes
 * along batches. */
static const struct kiln_contraction_axis *columns_of(const struct kiln_contraction *second)
{
    const struct kiln_contraction_axis *found = second->axes;
    for (uint32_t i = 0; i < second->axis_count; i++) {
        if (second->axes[i].role == KILN_AXIS_K && second->axes[i].left < 2)
            found = &second->axes[i];
    }
    return found;
}

/* The axis of k along a batch axis of the scores; NULL where there is none. */
static const struct kiln_contraction_axis *summed_batch(const struct kiln_contraction *second,
                                                        uint8_t result)
{
    for (uint32_t i = 0; i < second->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &second->axes[i];
        if (axis->role == KILN_AXIS_K && axis->left == result && result >= 2 && axis->size > 1)
            return axis;
    }
    return NULL;
}

/* A product's axis for a batch of scores; NULL where it has size 1 and is left out. */
static const struct kiln_contraction_axis *batch_of(const struct kiln_contraction *contraction,
                                                    uint8_t result)
{
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->axes[i].role == KILN_AXIS_BATCH && contraction->axes[i].result == result)
            return &contraction->axes[i];
    }
    return NULL;
}

static void set_role(struct kiln_role_axes *role, const struct kiln_contraction_axis *axis,
                     uint8_t domain_axis)
{
    *role = (struct kiln_role_axes){
        .count = 1, .sizes = {axis->size}, .domain_axes = {domain_axis}, .domain_steps = {1}};
}

static void set_operand(struct kiln_operand_schedule *operand, enum kiln_place place,
                        int64_t row_size, int64_t k_size)
{
    operand->part_count = 1;
    operand->places[0] = place;
    operand->row_size = row_size;
    operand->k_size = k_size;
    operand->pieces = 1;
}

/* The axes of an access's domain that it has as rows, columns and batch, counted from the right. */
struct walk {
    uint8_t row, column;
    uint8_t batches[KILN_MAX_BATCH_AXES];
};

static const struct kiln_contraction *contraction_at(const struct kiln_contraction_problem *problem,
                                                     uint32_t index)
{
    const struct kiln_ir *ir = problem->ir;
    return &ir->contractions[ir->ops[problem->group->contracts[index]].contraction];
}

/* The first of the second products; the last of the first ones where there is none. */
static const struct kiln_contraction *second_product(const struct kiln_contraction_problem *problem)
{
    const struct kiln_fusion_group *group = problem->group;
    bool has_second = group->contract_count > group->score_count;
    return contraction_at(problem, has_second ? group->score_count : group->score_count - 1);
}

/* The product that a place stages an operand of; the first one for other places. */
static const struct kiln_contraction *product_of(const struct kiln_contraction_problem *problem,
                                                 enum kiln_place place)
{
    uint32_t scores = problem->group->score_count;
    switch (place) {
    case KILN_PLACE_LEFT_1:
    case KILN_PLACE_RIGHT_1:
        return contraction_at(problem, 1);
    case KILN_PLACE_VALUE:
        return contraction_at(problem, scores);
    case KILN_PLACE_VALUE_1:
        return contraction_at(problem, scores + 1);
    default:
        return contraction_at(problem, 0);
    }
}

static uint8_t value_axis_of_batch(const struct kiln_contraction *second, uint8_t result)
{
    const struct kiln_contraction_axis *summed = summed_batch(second, result);
    const struct kiln_contraction_axis *batch = batch_of(second, result);
    return summed != NULL ? summed->right : batch != NULL ? batch->right : (uint8_t)KILN_NO_AXIS;
}

static struct walk walk_of(const struct kiln_contraction_problem *problem,
                           const struct kiln_attention_schedule *attention, enum kiln_place place)
{
    const struct kiln_contraction *product = product_of(problem, place);
    bool is_left = place == KILN_PLACE_LEFT || place == KILN_PLACE_LEFT_1;
    bool is_right = place == KILN_PLACE_RIGHT || place == KILN_PLACE_RIGHT_1;
    bool is_value = place == KILN_PLACE_VALUE || place == KILN_PLACE_VALUE_1;
    bool is_score = place == KILN_PLACE_SCORE || place == KILN_PLACE_WEIGHT;
    bool is_result = place == KILN_PLACE_ELEMENT || place == KILN_PLACE_ROW;
    struct walk walk = {.row = 1, .column = 0}; /* of the result */
    if (is_score && attention->is_transposed)
        walk = (struct walk){.row = 0, .column = 1};
    if (is_left) {
        walk.row = axis_of(product, KILN_AXIS_M)->left;
        walk.column = axis_of(product, KILN_AXIS_K)->left;
    } else if (is_right) {
        walk.row = axis_of(product, KILN_AXIS_N)->right;
        walk.column = axis_of(product, KILN_AXIS_K)->right;
    } else if (is_value) {
        walk.row = axis_of(product, KILN_AXIS_N)->right;
        walk.column = columns_of(product)->right;
    }
    for (uint32_t b = 0; b < attention->products.batch_rank; b++) {
        uint8_t axis = attention->products.batch_axes[b];
        const struct kiln_contraction_axis *batch = batch_of(product, axis);
        walk.batches[b] = is_value        ? value_axis_of_batch(product, axis)
                          : is_result     ? (attention->is_folded[b] ? (uint8_t)KILN_NO_AXIS : axis)
                          : batch == NULL ? (uint8_t)KILN_NO_AXIS
                          : is_score      ? axis
                          : is_left       ? batch->left
                                          : batch->right;
    }
    return walk;
}

static int64_t stride_of(const struct kiln_contraction_problem *problem,
                         const struct kiln_access *access, uint8_t axis)
{
    return axis == KILN_NO_AXIS ? 0 : kiln_stride_of_axis(problem, access, axis);
}

/* Where rows are heads, a row is one step along their axis and a batch a group of them. */
static void step_by_heads(const struct kiln_contraction_schedule *schedule,
                          const struct kiln_access *access, int64_t *strides)
{
    bool is_shared = access->place == KILN_PLACE_RIGHT || access->place == KILN_PLACE_VALUE;
    for (uint32_t b = 0; b < schedule->batch_rank && !is_shared; b++) {
        if (schedule->batch_axes[b] != schedule->rows.domain_axes[0])
            continue;
        strides[KILN_STRIDE_ROW] = strides[KILN_STRIDE_BATCH + b];
        strides[KILN_STRIDE_BATCH + b] *= schedule->m;
    }
}

static bool is_staged_by_columns(enum kiln_place place)
{
    return place == KILN_PLACE_RIGHT || place == KILN_PLACE_RIGHT_1 || place == KILN_PLACE_VALUE ||
           place == KILN_PLACE_VALUE_1;
}

static void set_strides(struct kiln_contraction_problem *problem,
                        const struct kiln_attention_schedule *attention)
{
    const struct kiln_contraction_schedule *schedule = problem->contraction;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        int64_t *strides = problem->schedule->accesses[i].strides;
        const struct walk walk = walk_of(problem, attention, access->place);
        strides[KILN_STRIDE_ROW] = stride_of(problem, access, walk.row);
        strides[KILN_STRIDE_COLUMN] = stride_of(problem, access, walk.column);
        for (uint32_t b = 0; b < schedule->batch_rank; b++)
            strides[KILN_STRIDE_BATCH + b] = stride_of(problem, access, walk.batches[b]);
        if (problem->schedule->attention.are_rows_heads)
            step_by_heads(schedule, access, strides);
        /* Of a single row the stride may be anything: it becomes what it is where there are more,
         * so that both are the same kernel. */
        if (!is_staged_by_columns(access->place) && schedule->m == 1 &&
            strides[KILN_STRIDE_COLUMN] == 1)
            strides[KILN_STRIDE_ROW] = 2 * attention->d * schedule->k;
    }
}

/* How many neighbouring heads share keys and values. */
static int64_t heads_of_group(const struct kiln_contraction_axis *of_score,
                              const struct kiln_contraction_axis *of_value)
{
    int64_t right = of_score->right == KILN_NO_AXIS ? of_score->size : of_score->right_repeat;
    int64_t value = of_value->right == KILN_NO_AXIS ? of_value->size : of_value->right_repeat;
    int64_t fewer = right < value ? right : value;
    bool has_own = of_score->left != KILN_NO_AXIS && of_score->left_repeat == 1;
    return has_own && right % fewer == 0 && value % fewer == 0 ? fewer : 1;
}

static void divide_repeat(uint8_t axis, int64_t group, int64_t *repeat)
{
    if (axis != KILN_NO_AXIS)
        *repeat /= group;
}

/*
 * A single query has a row in each head. Those that share keys and values are the rows of one tile:
 * so keys are read once for all of them, and not a row of a tile is empty for each.
 */
static void take_heads_as_rows(struct kiln_attention_schedule *attention,
                               const struct kiln_contraction *first,
                               const struct kiln_contraction *second)
{
    struct kiln_contraction_schedule *schedule = &attention->products;
    bool is_plain = attention->score_count == 1 && attention->value_count == 1 &&
                    !attention->is_transposed && !schedule->has_outer;
    for (uint32_t b = 0; b < schedule->batch_rank && schedule->m == 1 && is_plain; b++) {
        const struct kiln_contraction_axis *of_score = batch_of(first, schedule->batch_axes[b]);
        const struct kiln_contraction_axis *of_value = batch_of(second, schedule->batch_axes[b]);
        if (of_score == NULL || of_value == NULL)
            continue;
        int64_t group = heads_of_group(of_score, of_value);
        if (group == 1)
            continue;
        attention->are_rows_heads = true;
        schedule->m = schedule->rows.sizes[0] = group;
        schedule->rows.domain_axes[0] = of_score->result;
        schedule->batch_sizes[b] /= group;
        schedule->batch_domain_steps[b] = group;
        divide_repeat(of_score->right, group, &schedule->right_repeats[b]);
        divide_repeat(of_value->right, group, &attention->value_repeats[b]);
        schedule->left.row_size = group;
    }
}

/* Segments are one more batch, the fastest one: those of a head are neighbours. */
static void add_segments(const struct kiln_contraction_problem *problem,
                         struct kiln_attention_schedule *attention)
{
    struct kiln_contraction_schedule *schedule = &attention->products;
    const struct kiln_domain *domain = &problem->ir->domains[problem->group->domain];
    schedule->segments = 1;
    if (attention->value_count != 0)
        schedule->segments =
            kiln_attention_segments(problem->ir, problem->group->contracts[attention->score_count]);
    if (schedule->segments == 1)
        return;
    uint32_t b = schedule->batch_rank++;
    schedule->batch_sizes[b] = schedule->segments;
    schedule->batch_axes[b] = (uint8_t)(domain->rank - 1);
    schedule->batch_domain_steps[b] = 1;
    schedule->left_repeats[b] = schedule->right_repeats[b] = attention->value_repeats[b] = 1;
}

/* A batch axis that a fold sums is one of size 1 of the result. */
static void fold_batch(const struct kiln_contraction_problem *problem,
                       struct kiln_attention_schedule *attention, uint32_t b)
{
    struct kiln_contraction_schedule *schedule = &attention->products;
    const struct kiln_domain *result = &problem->ir->domains[problem->group->domain];
    uint8_t axis = schedule->batch_axes[b];
    bool is_kept = axis < result->rank && result->dims[result->rank - 1 - axis] != 1;
    attention->is_folded[b] = attention->value_count == 0 && !is_kept;
    if (attention->is_folded[b])
        schedule->outer *= schedule->batch_sizes[b];
}

static int64_t repeat_of(const struct kiln_contraction *product, uint8_t axis, bool is_right)
{
    const struct kiln_contraction_axis *batch = batch_of(product, axis);
    return batch == NULL ? 1 : is_right ? batch->right_repeat : batch->left_repeat;
}

/* A batch axis of the scores: how many of it a work-group adds up, and how many neighbours read the
 * same operand. */
static void add_batch(const struct kiln_contraction_problem *problem,
                      struct kiln_attention_schedule *attention,
                      const struct kiln_contraction_axis *axis)
{
    struct kiln_contraction_schedule *schedule = &attention->products;
    const struct kiln_contraction *other = contraction_at(problem, attention->score_count - 1);
    const struct kiln_contraction *second = second_product(problem);
    const struct kiln_contraction *last =
        contraction_at(problem, problem->group->contract_count - 1);
    const struct kiln_contraction_axis *summed =
        attention->value_count == 0 ? NULL : summed_batch(second, axis->result);
    uint32_t b = schedule->batch_rank++;
    schedule->batch_sizes[b] = axis->size;
    schedule->batch_axes[b] = axis->result;
    schedule->batch_domain_steps[b] = 1;
    schedule->left_repeats[b] = axis->left_repeat;
    schedule->right_repeats[b] = axis->right_repeat;
    attention->left_1_repeats[b] = repeat_of(other, axis->result, false);
    attention->right_1_repeats[b] = repeat_of(other, axis->result, true);
    attention->value_repeats[b] = repeat_of(second, axis->result, true);
    attention->value_1_repeats[b] = repeat_of(last, axis->result, true);
    fold_batch(problem, attention, b);
    if (summed == NULL)
        return;
    schedule->has_outer = true;
    schedule->outer_batch = b;
    schedule->outer = summed->size;
    schedule->batch_sizes[b] /= summed->size;
}

void kiln_attention_lay_out_axes(struct kiln_contraction_problem *problem,
                                 struct kiln_attention_schedule *attention)
{
    struct kiln_contraction_schedule *schedule = &attention->products;
    const struct kiln_contraction *first = problem->axes;
    attention->score_count = problem->group->score_count;
    attention->value_count = problem->group->contract_count - attention->score_count;
    const struct kiln_contraction *second = second_product(problem);
    const struct kiln_contraction *other = contraction_at(problem, attention->score_count - 1);
    schedule->products = 1;
    schedule->outer = 1;
    schedule->m = axis_of(first, KILN_AXIS_M)->size;
    schedule->n = axis_of(first, KILN_AXIS_N)->size;
    schedule->k = axis_of(first, KILN_AXIS_K)->size;
    attention->k_1 = axis_of(other, KILN_AXIS_K)->size;
    attention->d = axis_of(second, KILN_AXIS_N)->size;
    attention->is_transposed = axis_of(first, KILN_AXIS_M)->result == 0;
    set_operand(&schedule->left, KILN_PLACE_LEFT, schedule->m, schedule->k);
    set_operand(&schedule->right, KILN_PLACE_RIGHT, schedule->n, schedule->k);
    set_operand(&attention->value, KILN_PLACE_VALUE, attention->d, schedule->n);
    set_operand(&attention->left_1, KILN_PLACE_LEFT_1, schedule->m, attention->k_1);
    set_operand(&attention->right_1, KILN_PLACE_RIGHT_1, schedule->n, attention->k_1);
    set_operand(&attention->value_1, KILN_PLACE_VALUE_1, attention->d, schedule->n);
    set_role(&schedule->rows, axis_of(first, KILN_AXIS_M), 1);
    set_role(&schedule->columns, axis_of(second, KILN_AXIS_N), 0);
    set_role(&schedule->sums, axis_of(first, KILN_AXIS_K), KILN_NO_AXIS);
    for (uint32_t i = 0; i < first->axis_count; i++) {
        if (first->axes[i].role == KILN_AXIS_BATCH && schedule->batch_rank < KILN_MAX_BATCH_AXES)
            add_batch(problem, attention, &first->axes[i]);
    }
    take_heads_as_rows(attention, first, second);
    add_segments(problem, attention);
    set_strides(problem, attention);
}

const struct kiln_operand_schedule *
kiln_attention_operand(const struct kiln_attention_schedule *attention, enum kiln_place place)
{
    switch (place) {
    case KILN_PLACE_LEFT:
        return &attention->products.left;
    case KILN_PLACE_RIGHT:
        return &attention->products.right;
    case KILN_PLACE_VALUE:
        return &attention->value;
    case KILN_PLACE_LEFT_1:
        return &attention->left_1;
    case KILN_PLACE_RIGHT_1:
        return &attention->right_1;
    case KILN_PLACE_VALUE_1:
        return &attention->value_1;
    default:
        return NULL;
    }
}

/* Whether the value of a second product lies in memory as the right operand of a first one does:
 * columns of scores along the same axis, and what is multiplied there along the other. */
static bool lies_as_right(const struct kiln_contraction *first,
                          const struct kiln_contraction *second)
{
    return axis_of(first, KILN_AXIS_N)->right == columns_of(second)->right &&
           axis_of(first, KILN_AXIS_K)->right == axis_of(second, KILN_AXIS_N)->right;
}

void kiln_attention_find_shared_tiles(const struct kiln_contraction_problem *problem,
                                      struct kiln_attention_schedule *attention)
{
    static const enum kiln_place rights[] = {KILN_PLACE_RIGHT, KILN_PLACE_RIGHT_1};
    static const enum kiln_place values[] = {KILN_PLACE_VALUE, KILN_PLACE_VALUE_1};
    uint32_t *const shares[] = {&attention->value_shares, &attention->value_1_shares};
    for (uint32_t i = 0; i < attention->score_count; i++) {
        uint32_t right = kiln_group_operand(problem->ir, problem->group, rights[i]);
        if ((i == 0 ? attention->products.k : attention->k_1) != attention->d)
            continue;
        for (uint32_t v = 0; v < attention->value_count; v++) {
            const struct kiln_contraction *second =
                contraction_at(problem, attention->score_count + v);
            if (right == kiln_group_operand(problem->ir, problem->group, values[v]) &&
                lies_as_right(contraction_at(problem, i), second))
                *shares[v] = i + 1;
        }
    }
}
