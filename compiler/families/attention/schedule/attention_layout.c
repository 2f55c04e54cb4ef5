#include "compiler/families/attention/schedule/attention_layout.h"
#include "compiler/families/attention/schedule/attention_schedule.h"

#include "compiler/families/attention/fuse/attention_group.h"
#include "compiler/families/attention/fuse/attention_segments.h"

/* The only axis of a role, of those that matter here. */
static struct kiln_contraction_axis axis_of(const struct kiln_contraction *contraction,
                                            enum kiln_axis_role role)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < contraction->axis_count; i++)
        found = contraction->roles[i] == role ? i : found;
    return kiln_contraction_axis_at(contraction, found);
}

/* The axis that a second product sums along: the columns of the scores. If k has another axis, it
 * runs along a batch axis. */
static struct kiln_contraction_axis columns_of(const struct kiln_contraction *second)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < second->axis_count; i++) {
        if (second->roles[i] == KILN_AXIS_K && second->maps[KILN_CONTRACT_LEFT].axes[i].along < 2)
            found = i;
    }
    return kiln_contraction_axis_at(second, found);
}

/* The index of the axis of k along a batch axis of the scores; KILN_NONE where there is none. */
static uint32_t summed_batch(const struct kiln_contraction *second, bool is_general, uint8_t result)
{
    for (uint32_t i = 0; i < second->axis_count; i++) {
        bool is_long = second->sizes[i] > 1 || is_general;
        if (second->roles[i] == KILN_AXIS_K && is_long && result >= 2 &&
            second->maps[KILN_CONTRACT_LEFT].axes[i].along == result)
            return i;
    }
    return KILN_NONE;
}

/* The index of a product's axis for a batch of scores; KILN_NONE where it has size 1 and is left
 * out. */
static uint32_t batch_of(const struct kiln_contraction *contraction, uint8_t result)
{
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->roles[i] == KILN_AXIS_BATCH &&
            contraction->maps[KILN_CONTRACT_RESULT].axes[i].along == result)
            return i;
    }
    return KILN_NONE;
}

static void set_role(struct kiln_role_axes *role, int64_t size, uint8_t domain_axis)
{
    *role = (struct kiln_role_axes){
        .count = 1, .sizes = {size}, .domain_axes = {domain_axis}, .domain_steps = {1}};
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
    return &ir->contractions[ir->ops[problem->group->anchors[index]].contraction];
}

/* The first of the second products; the last of the first ones where there is none. */
static const struct kiln_contraction *second_product(const struct kiln_contraction_problem *problem)
{
    const struct kiln_fusion_group *group = problem->group;
    bool has_second = group->anchor_count > kiln_group_score_count(group);
    return contraction_at(problem, has_second ? kiln_group_score_count(group)
                                              : kiln_group_score_count(group) - 1);
}

/* The product that a place stages an operand of; the first one for other places. */
static const struct kiln_contraction *product_of(const struct kiln_contraction_problem *problem,
                                                 enum kiln_place place)
{
    uint32_t scores = kiln_group_score_count(problem->group);
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

static uint8_t value_axis_of_batch(const struct kiln_contraction *second, bool is_general,
                                   uint8_t result)
{
    uint32_t summed = summed_batch(second, is_general, result);
    uint32_t axis = summed != KILN_NONE ? summed : batch_of(second, result);
    return axis != KILN_NONE ? second->maps[KILN_CONTRACT_RIGHT].axes[axis].along
                             : (uint8_t)KILN_NO_AXIS;
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
    if (is_score && attention->rows == KILN_SCORE_ROWS_TRANSPOSED)
        walk = (struct walk){.row = 0, .column = 1};
    if (is_left) {
        walk.row = axis_of(product, KILN_AXIS_M).of[KILN_CONTRACT_LEFT].along;
        walk.column = axis_of(product, KILN_AXIS_K).of[KILN_CONTRACT_LEFT].along;
    } else if (is_right) {
        walk.row = axis_of(product, KILN_AXIS_N).of[KILN_CONTRACT_RIGHT].along;
        walk.column = axis_of(product, KILN_AXIS_K).of[KILN_CONTRACT_RIGHT].along;
    } else if (is_value) {
        walk.row = axis_of(product, KILN_AXIS_N).of[KILN_CONTRACT_RIGHT].along;
        walk.column = columns_of(product).of[KILN_CONTRACT_RIGHT].along;
    }
    for (uint32_t b = 0; b < attention->products.problem.batches.rank; b++) {
        uint8_t axis = attention->products.problem.batches.axes[b];
        uint32_t batch = batch_of(product, axis);
        enum kiln_contract_operand side = is_left ? KILN_CONTRACT_LEFT : KILN_CONTRACT_RIGHT;
        walk.batches[b] = is_value    ? value_axis_of_batch(product, problem->ir->is_general, axis)
                          : is_result ? (attention->is_folded[b] ? (uint8_t)KILN_NO_AXIS : axis)
                          : batch == KILN_NONE ? (uint8_t)KILN_NO_AXIS
                          : is_score           ? axis
                                               : product->maps[side].axes[batch].along;
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
    for (uint32_t b = 0; b < schedule->problem.batches.rank && !is_shared; b++) {
        if (schedule->problem.batches.axes[b] != schedule->problem.rows.domain_axes[0])
            continue;
        strides[KILN_STRIDE_ROW] = strides[KILN_STRIDE_BATCH + b];
        strides[KILN_STRIDE_BATCH + b] *= schedule->problem.m;
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
        for (uint32_t b = 0; b < schedule->problem.batches.rank; b++)
            strides[KILN_STRIDE_BATCH + b] = stride_of(problem, access, walk.batches[b]);
        if (kiln_attention_schedule_of(problem->schedule)->rows == KILN_SCORE_ROWS_HEADS)
            step_by_heads(schedule, access, strides);
        /* The stride of a single row is unused. It gets a value typical of several rows, so both
         * cases share one kernel. */
        if (!problem->ir->is_general && !is_staged_by_columns(access->place) &&
            schedule->problem.m == 1 && strides[KILN_STRIDE_COLUMN] == 1)
            strides[KILN_STRIDE_ROW] = 2 * attention->d * schedule->problem.k;
    }
}

/* The number of neighbouring heads that share the right operand. */
static int64_t sharing_heads(const struct kiln_contraction_axis *heads)
{
    const struct kiln_map_axis *right = &heads->of[KILN_CONTRACT_RIGHT];
    return right->along == KILN_NO_AXIS ? heads->size : right->repeat.value;
}

/* The number of neighbouring heads that share both keys and values. */
static int64_t heads_of_group(const struct kiln_contraction_axis *of_score,
                              const struct kiln_contraction_axis *of_value)
{
    int64_t right = sharing_heads(of_score);
    int64_t value = sharing_heads(of_value);
    int64_t fewer = right < value ? right : value;
    const struct kiln_map_axis *left = &of_score->of[KILN_CONTRACT_LEFT];
    bool has_own = left->along != KILN_NO_AXIS && left->repeat.value == 1;
    return has_own && right % fewer == 0 && value % fewer == 0 ? fewer : 1;
}

static void divide_repeat(uint8_t axis, int64_t group, int64_t *repeat)
{
    if (axis != KILN_NO_AXIS)
        *repeat /= group;
}

/*
 * A single query has one row per head. Heads that share keys and values become the rows of one
 * tile. Keys are then read once for all of these heads, and no head has a nearly empty tile of its
 * own.
 */
static void take_heads_as_rows(struct kiln_attention_schedule *attention,
                               const struct kiln_contraction *first,
                               const struct kiln_contraction *second)
{
    struct kiln_contraction_schedule *schedule = &attention->products;
    bool is_plain = attention->score_count == 1 && attention->value_count == 1 &&
                    attention->rows == KILN_SCORE_ROWS &&
                    schedule->problem.batches.outer_axis == KILN_NONE;
    for (uint32_t b = 0; b < schedule->problem.batches.rank && schedule->problem.m == 1 && is_plain;
         b++) {
        uint32_t score_batch = batch_of(first, schedule->problem.batches.axes[b]);
        uint32_t value_batch = batch_of(second, schedule->problem.batches.axes[b]);
        if (score_batch == KILN_NONE || value_batch == KILN_NONE)
            continue;
        const struct kiln_contraction_axis of_score = kiln_contraction_axis_at(first, score_batch);
        const struct kiln_contraction_axis of_value = kiln_contraction_axis_at(second, value_batch);
        int64_t group = heads_of_group(&of_score, &of_value);
        if (group == 1)
            continue;
        attention->rows = KILN_SCORE_ROWS_HEADS;
        schedule->problem.m = schedule->problem.rows.sizes[0] = group;
        schedule->problem.rows.domain_axes[0] = of_score.of[KILN_CONTRACT_RESULT].along;
        schedule->problem.batches.sizes[b] /= group;
        schedule->problem.batches.domain_steps[b] = group;
        divide_repeat(of_score.of[KILN_CONTRACT_RIGHT].along, group,
                      &schedule->problem.batches.right_repeats[b]);
        divide_repeat(of_value.of[KILN_CONTRACT_RIGHT].along, group, &attention->value.repeats[b]);
        schedule->left.row_size = group;
    }
}

/* Adds segments as the fastest batch axis, so the segments of a head are neighbours. */
static void add_segments(const struct kiln_contraction_problem *problem,
                         struct kiln_attention_schedule *attention)
{
    struct kiln_contraction_schedule *schedule = &attention->products;
    const struct kiln_domain *domain = &problem->ir->domains[problem->group->domain];
    attention->segments = 1;
    if (attention->value_count != 0)
        attention->segments =
            kiln_attention_segments(problem->ir, problem->group->anchors[attention->score_count]);
    if (attention->segments == 1)
        return;
    uint32_t b = schedule->problem.batches.rank++;
    schedule->problem.batches.sizes[b] = attention->segments;
    schedule->problem.batches.axes[b] = (uint8_t)(domain->rank - 1);
    schedule->problem.batches.domain_steps[b] = 1;
    schedule->problem.batches.left_repeats[b] = schedule->problem.batches.right_repeats[b] =
        attention->value.repeats[b] = 1;
}

/* A batch axis that a fold sums is one of size 1 of the result. */
static void fold_batch(const struct kiln_contraction_problem *problem,
                       struct kiln_attention_schedule *attention, uint32_t b)
{
    struct kiln_contraction_schedule *schedule = &attention->products;
    const struct kiln_domain *result = &problem->ir->domains[problem->group->domain];
    uint8_t axis = schedule->problem.batches.axes[b];
    bool is_kept = axis < result->rank && !kiln_domain_is_one(result, result->rank - 1 - axis);
    attention->is_folded[b] = attention->value_count == 0 && !is_kept;
    if (attention->is_folded[b])
        schedule->problem.batches.outer *= schedule->problem.batches.sizes[b];
}

static int64_t repeat_of(const struct kiln_contraction *product, uint8_t axis,
                         enum kiln_contract_operand side)
{
    uint32_t batch = batch_of(product, axis);
    return batch == KILN_NONE ? 1 : product->maps[side].axes[batch].repeat.value;
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
    const struct kiln_contraction *last = contraction_at(problem, problem->group->anchor_count - 1);
    uint8_t result = axis->of[KILN_CONTRACT_RESULT].along;
    uint32_t summed = attention->value_count == 0
                          ? KILN_NONE
                          : summed_batch(second, problem->ir->is_general, result);
    uint32_t b = schedule->problem.batches.rank++;
    schedule->problem.batches.sizes[b] = axis->size;
    schedule->problem.batches.axes[b] = result;
    schedule->problem.batches.domain_steps[b] = 1;
    schedule->problem.batches.left_repeats[b] = axis->of[KILN_CONTRACT_LEFT].repeat.value;
    schedule->problem.batches.right_repeats[b] = axis->of[KILN_CONTRACT_RIGHT].repeat.value;
    attention->left_1.repeats[b] = repeat_of(other, result, KILN_CONTRACT_LEFT);
    attention->right_1.repeats[b] = repeat_of(other, result, KILN_CONTRACT_RIGHT);
    attention->value.repeats[b] = repeat_of(second, result, KILN_CONTRACT_RIGHT);
    attention->value_1.repeats[b] = repeat_of(last, result, KILN_CONTRACT_RIGHT);
    fold_batch(problem, attention, b);
    if (summed == KILN_NONE)
        return;
    schedule->problem.batches.outer_axis = b;
    schedule->problem.batches.outer = second->sizes[summed];
    schedule->problem.batches.sizes[b] /= schedule->problem.batches.outer;
}

/* The size that the graph declares, of an axis of an operand, if that is larger than the size now.
 */
static int64_t declared_size(const struct kiln_contraction_problem *problem, enum kiln_place place,
                             uint8_t along, int64_t size)
{
    for (uint32_t i = 0; i < problem->group->load_count && problem->ir->is_general; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        if (access->place != place || access->kind != KILN_ARGUMENT_TENSOR)
            continue;
        const struct kiln_tensor *tensor = &problem->graph->tensors[access->tensor];
        tensor = tensor->declared != NULL ? tensor->declared : tensor;
        if (along < tensor->rank && tensor->dims[tensor->rank - 1 - along] > size)
            size = tensor->dims[tensor->rank - 1 - along];
    }
    return size;
}

/* A general kernel has tiles for the declared heads. */
static void set_most(const struct kiln_contraction_problem *problem,
                     struct kiln_attention_schedule *attention)
{
    const struct kiln_contraction *other = contraction_at(problem, attention->score_count - 1);
    const struct kiln_contraction_axis k = axis_of(problem->axes, KILN_AXIS_K);
    const struct kiln_contraction_axis k_1 = axis_of(other, KILN_AXIS_K);
    const struct kiln_contraction_axis d = axis_of(second_product(problem), KILN_AXIS_N);
    int64_t first = declared_size(problem, KILN_PLACE_LEFT, k.of[KILN_CONTRACT_LEFT].along, k.size);
    int64_t second =
        declared_size(problem, KILN_PLACE_LEFT_1, k_1.of[KILN_CONTRACT_LEFT].along, k_1.size);
    attention->most_k = first > second ? first : second;
    attention->most_d =
        declared_size(problem, KILN_PLACE_VALUE, d.of[KILN_CONTRACT_RIGHT].along, d.size);
}

void kiln_attention_lay_out_axes(struct kiln_contraction_problem *problem,
                                 struct kiln_attention_schedule *attention)
{
    struct kiln_contraction_schedule *schedule = &attention->products;
    const struct kiln_contraction *first = problem->axes;
    attention->score_count = kiln_group_score_count(problem->group);
    attention->value_count = problem->group->anchor_count - attention->score_count;
    const struct kiln_contraction *second = second_product(problem);
    const struct kiln_contraction *other = contraction_at(problem, attention->score_count - 1);
    schedule->problem.products = 1;
    schedule->problem.batches.outer = 1;
    schedule->problem.batches.outer_axis = KILN_NONE;
    const struct kiln_contraction_axis m = axis_of(first, KILN_AXIS_M);
    schedule->problem.m = m.size;
    schedule->problem.n = axis_of(first, KILN_AXIS_N).size;
    schedule->problem.k = axis_of(first, KILN_AXIS_K).size;
    attention->k_1 = axis_of(other, KILN_AXIS_K).size;
    attention->d = axis_of(second, KILN_AXIS_N).size;
    set_most(problem, attention);
    if (m.of[KILN_CONTRACT_RESULT].along == 0)
        attention->rows = KILN_SCORE_ROWS_TRANSPOSED;
    set_operand(&schedule->left, KILN_PLACE_LEFT, schedule->problem.m, schedule->problem.k);
    set_operand(&schedule->right, KILN_PLACE_RIGHT, schedule->problem.n, schedule->problem.k);
    set_operand(&attention->value.loads, KILN_PLACE_VALUE, attention->d, schedule->problem.n);
    set_operand(&attention->left_1.loads, KILN_PLACE_LEFT_1, schedule->problem.m, attention->k_1);
    set_operand(&attention->right_1.loads, KILN_PLACE_RIGHT_1, schedule->problem.n, attention->k_1);
    set_operand(&attention->value_1.loads, KILN_PLACE_VALUE_1, attention->d, schedule->problem.n);
    set_role(&schedule->problem.rows, schedule->problem.m, 1);
    set_role(&schedule->problem.columns, attention->d, 0);
    set_role(&schedule->problem.sums, schedule->problem.k, KILN_NO_AXIS);
    for (uint32_t i = 0; i < first->axis_count; i++) {
        const struct kiln_contraction_axis axis = kiln_contraction_axis_at(first, i);
        if (axis.role == KILN_AXIS_BATCH && schedule->problem.batches.rank < KILN_MAX_BATCH_AXES)
            add_batch(problem, attention, &axis);
    }
    if (!problem->ir->is_general)
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
        return &attention->value.loads;
    case KILN_PLACE_LEFT_1:
        return &attention->left_1.loads;
    case KILN_PLACE_RIGHT_1:
        return &attention->right_1.loads;
    case KILN_PLACE_VALUE_1:
        return &attention->value_1.loads;
    default:
        return NULL;
    }
}

/* True if the second product's value has the layout of the first product's right operand. Score
 * columns lie along the same axis in both. The first product's k lies along the axis of the second
 * product's n. */
static bool lies_as_right(const struct kiln_contraction *first,
                          const struct kiln_contraction *second)
{
    const struct kiln_contraction_axis n = axis_of(first, KILN_AXIS_N);
    const struct kiln_contraction_axis k = axis_of(first, KILN_AXIS_K);
    const struct kiln_contraction_axis d = axis_of(second, KILN_AXIS_N);
    const struct kiln_contraction_axis columns = columns_of(second);
    return n.of[KILN_CONTRACT_RIGHT].along == columns.of[KILN_CONTRACT_RIGHT].along &&
           k.of[KILN_CONTRACT_RIGHT].along == d.of[KILN_CONTRACT_RIGHT].along;
}

void kiln_attention_find_shared_tiles(const struct kiln_contraction_problem *problem,
                                      struct kiln_attention_schedule *attention)
{
    static const enum kiln_place rights[] = {KILN_PLACE_RIGHT, KILN_PLACE_RIGHT_1};
    static const enum kiln_place values[] = {KILN_PLACE_VALUE, KILN_PLACE_VALUE_1};
    uint32_t *const shares[] = {&attention->value.shares, &attention->value_1.shares};
    for (uint32_t i = 0; i < attention->score_count; i++) {
        uint32_t right = kiln_group_operand(problem->group, rights[i]);
        if ((i == 0 ? attention->products.problem.k : attention->k_1) != attention->d)
            continue;
        for (uint32_t v = 0; v < attention->value_count; v++) {
            const struct kiln_contraction *second =
                contraction_at(problem, attention->score_count + v);
            if (right == kiln_group_operand(problem->group, values[v]) &&
                lies_as_right(contraction_at(problem, i), second))
                *shares[v] = i + 1;
        }
    }
}
