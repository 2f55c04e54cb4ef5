#include "compiler/reference/attention_scores_reference.h"

#include "compiler/reference/sum_bound.h"

#include <math.h>

/* Roundings of a factor that may be multiplied in before the sum or after it. */
static const double factor_ulps = 4;

/* ---- operands ---- */

static struct kiln_attention_operand operand_of(const struct kiln_attention_view *view,
                                                uint32_t ordinal)
{
    struct kiln_attention_operand operand = {.content = NULL};
    if (ordinal == KILN_NONE)
        return operand;
    const struct kiln_tensor *tensor = &view->graph->tensors[ordinal];
    int64_t stride = 1;
    operand.content = &view->tensors[ordinal];
    operand.dtype = tensor->dtype;
    operand.elements = kiln_tensor_elements(tensor);
    for (uint32_t i = 0; i < 4 && i < tensor->rank; i++) {
        int64_t dim = tensor->dims[tensor->rank - 1 - i];
        operand.strides[3 - i] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
    return operand;
}

struct kiln_attention_operand kiln_attention_find_input(const struct kiln_attention_view *view,
                                                        enum kiln_operand role)
{
    return operand_of(view, kiln_node_input(view->node, role));
}

struct kiln_attention_operand kiln_attention_find_output(const struct kiln_attention_view *view,
                                                         enum kiln_operand role)
{
    return operand_of(view, kiln_node_output(view->node, role));
}

static int64_t offset_of(const struct kiln_attention_operand *operand, int64_t b, int64_t h,
                         int64_t i, int64_t j)
{
    return b * operand->strides[0] + h * operand->strides[1] + i * operand->strides[2] +
           j * operand->strides[3];
}

struct kiln_interval kiln_attention_read(const struct kiln_attention_view *view,
                                         const struct kiln_attention_operand *operand, int64_t b,
                                         int64_t h, int64_t i, int64_t j)
{
    int64_t offset = offset_of(operand, b, h, i, j);
    struct kiln_bounded element = {
        .real = operand->content->real[offset],
        .integer = operand->content->integer != NULL ? operand->content->integer[offset] : 0,
        .bound = operand->content->bound[offset],
        .dtype = operand->dtype,
    };
    return kiln_interval_of(&element, view->scalar);
}

void kiln_attention_write(const struct kiln_attention_operand *operand, int64_t b, int64_t h,
                          int64_t i, int64_t j, const struct kiln_interval *value)
{
    if (operand->content == NULL)
        return;
    int64_t offset = offset_of(operand, b, h, i, j);
    struct kiln_bounded element = kiln_interval_store(value, operand->dtype);
    operand->content->real[offset] = element.real;
    operand->content->bound[offset] = element.bound;
}

struct kiln_attention_view kiln_attention_view_of(const struct kiln_graph *graph,
                                                  const struct kiln_node *node,
                                                  enum kiln_scalar scalar,
                                                  struct kiln_reference_tensor *tensors)
{
    struct kiln_attention_view view = {
        .graph = graph,
        .node = node,
        .tensors = tensors,
        .scalar = scalar,
        .arithmetic = kiln_arithmetic_of(scalar),
        .sizes = kiln_attention_sizes_of(graph, node),
    };
    view.q = kiln_attention_find_input(&view, KILN_OPERAND_Q);
    view.k = kiln_attention_find_input(&view, KILN_OPERAND_K);
    view.v = kiln_attention_find_input(&view, KILN_OPERAND_V);
    view.mask = kiln_attention_find_input(&view, KILN_OPERAND_ATTN_MASK);
    view.scale = kiln_attention_find_input(&view, KILN_OPERAND_SCALE);
    view.query_length = kiln_attention_find_input(&view, KILN_OPERAND_SEQ_LEN_Q);
    view.key_length = kiln_attention_find_input(&view, KILN_OPERAND_SEQ_LEN_KV);
    view.descale_q = kiln_attention_find_input(&view, KILN_OPERAND_DESCALE_Q);
    view.descale_k = kiln_attention_find_input(&view, KILN_OPERAND_DESCALE_K);
    return view;
}

/* ---- rows ---- */

/* A length of a batch, within what there is. */
static int64_t length_at(const struct kiln_attention_operand *length, int64_t b, int64_t size)
{
    if (length->content == NULL)
        return size;
    int64_t number = length->content->integer[b * length->strides[0]];
    return number < 0 ? 0 : number < size ? number : size;
}

/* The least of `size` and the lengths that ragged operands among these have in a batch. */
static int64_t ragged_length(const struct kiln_attention_view *view, const enum kiln_operand *roles,
                             size_t role_count, int64_t b, int64_t size)
{
    for (size_t i = 0; i < role_count; i++) {
        uint32_t ordinal = kiln_node_input(view->node, roles[i]);
        if (ordinal == KILN_NONE)
            ordinal = kiln_node_output(view->node, roles[i]);
        const struct kiln_span *spans = ordinal != KILN_NONE ? view->tensors[ordinal].spans : NULL;
        if (spans != NULL && spans[b].length < size)
            size = spans[b].length;
    }
    return size;
}

static int64_t query_count(const struct kiln_attention_view *view, int64_t b)
{
    static const enum kiln_operand roles[] = {KILN_OPERAND_Q, KILN_OPERAND_O, KILN_OPERAND_STATS,
                                              KILN_OPERAND_MAX, KILN_OPERAND_SUM_EXP};
    return ragged_length(view, roles, sizeof roles / sizeof *roles, b,
                         length_at(&view->query_length, b, view->sizes.queries));
}

static int64_t key_count(const struct kiln_attention_view *view, int64_t b)
{
    static const enum kiln_operand roles[] = {KILN_OPERAND_K, KILN_OPERAND_V};
    return ragged_length(view, roles, sizeof roles / sizeof *roles, b,
                         length_at(&view->key_length, b, view->sizes.keys));
}

bool kiln_attention_row_init(struct kiln_attention_row *row, const struct kiln_attention_view *view,
                             struct kiln_arena *arena)
{
    size_t keys = (size_t)view->sizes.keys;
    *row = (struct kiln_attention_row){
        .seen = kiln_arena_calloc(arena, keys, sizeof *row->seen),
        .x = kiln_arena_calloc(arena, keys, sizeof *row->x),
    };
    return row->seen != NULL && row->x != NULL;
}

struct kiln_interval kiln_attention_row_factor(const struct kiln_attention_view *view,
                                               const struct kiln_attention_row *row)
{
    const struct kiln_attention_operand *const descales[] = {&view->descale_q, &view->descale_k};
    struct kiln_interval factor =
        view->scale.content != NULL
            ? kiln_attention_read(view, &view->scale, 0, 0, 0, 0)
            : kiln_interval_of_number(view->node->attention.scale, view->arithmetic);
    for (size_t i = 0; i < sizeof descales / sizeof *descales; i++) {
        if (descales[i]->content != NULL)
            factor = kiln_interval_mul(
                factor, kiln_attention_read(view, descales[i], row->batch, row->key_head, 0, 0),
                view->arithmetic);
    }
    return factor;
}

static struct kiln_interval score(const struct kiln_attention_view *view,
                                  const struct kiln_attention_row *row, struct kiln_interval factor,
                                  int64_t key)
{
    const struct kiln_arithmetic *arithmetic = view->arithmetic;
    struct kiln_bounded_sum sum = {0};
    for (int64_t d = 0; d < view->sizes.depth; d++) {
        struct kiln_interval q =
            kiln_attention_read(view, &view->q, row->batch, row->head, row->query, d);
        struct kiln_interval k =
            kiln_attention_read(view, &view->k, row->batch, row->key_head, key, d);
        kiln_bounded_sum_add(&sum, kiln_interval_mul(q, k, arithmetic));
    }
    struct kiln_interval x =
        kiln_interval_mul(kiln_bounded_sum_total(&sum, arithmetic), factor, arithmetic);
    if (!kiln_interval_is_finite(&x) || !kiln_interval_is_finite(&factor))
        return kiln_interval_unknown(x.value);
    x = kiln_interval_widen(
        x, factor_ulps * arithmetic->ulp * sum.magnitude * kiln_interval_magnitude(&factor),
        arithmetic);
    if (view->mask.content != NULL && view->mask.dtype != KILN_DTYPE_BOOL)
        x = kiln_interval_add(
            x, kiln_attention_read(view, &view->mask, row->batch, row->head, row->query, key),
            arithmetic);
    return x;
}

static bool is_seen(const struct kiln_attention_view *view, const struct kiln_attention_row *row,
                    int64_t key)
{
    const struct kiln_attention *attention = &view->node->attention;
    int64_t corner = attention->is_bottom_right ? row->keys - row->queries : 0;
    int64_t distance = key - row->query - corner;
    return row->query < row->queries && key < row->keys &&
           (!attention->has_first_key || distance >= attention->first_key) &&
           (!attention->has_last_key || distance <= attention->last_key);
}

/* Takes out what a boolean mask hides. Where the mask is uncertain, so is the score. */
static void apply_mask(const struct kiln_attention_view *view, struct kiln_attention_row *row,
                       int64_t key)
{
    if (view->mask.content == NULL || view->mask.dtype != KILN_DTYPE_BOOL)
        return;
    struct kiln_interval mask =
        kiln_attention_read(view, &view->mask, row->batch, row->head, row->query, key);
    if (mask.low != mask.high)
        row->x[key] = kiln_interval_unknown(row->x[key].value);
    else
        row->seen[key] = mask.low != 0;
}

void kiln_attention_row_evaluate(const struct kiln_attention_view *view, int64_t b, int64_t h,
                                 int64_t i, struct kiln_attention_row *row)
{
    const struct kiln_attention_sizes *sizes = &view->sizes;
    row->batch = b;
    row->head = h;
    row->query = i;
    row->key_head = h / (sizes->heads / sizes->key_heads);
    row->value_head = h / (sizes->heads / sizes->value_heads);
    row->queries = query_count(view, b);
    row->keys = key_count(view, b);
    struct kiln_interval factor = kiln_attention_row_factor(view, row);
    for (int64_t key = 0; key < sizes->keys; key++) {
        row->seen[key] = is_seen(view, row, key);
        if (!row->seen[key])
            continue;
        row->x[key] = score(view, row, factor, key);
        apply_mask(view, row, key);
    }
}

/* ---- roundings ---- */

double kiln_attention_exponent_error(const struct kiln_arithmetic *arithmetic, double x,
                                     double shift)
{
    return arithmetic->ulp * (2 * (fabs(x) + fabs(shift)) + 4);
}

struct kiln_attention_narrowing kiln_attention_narrowing_for(enum kiln_dtype dtype,
                                                             enum kiln_scalar scalar)
{
    const struct kiln_attention_narrowing half = {0x1p-11, 0x1p-25, 65504};
    const struct kiln_attention_narrowing none = {0, 0, INFINITY};
    if (scalar != KILN_SCALAR_F32)
        return none;
    switch (dtype) {
    case KILN_DTYPE_BF16:
        return (struct kiln_attention_narrowing){0x1p-8, 0x1p-126, 0x1.fep127};
    case KILN_DTYPE_F16:
    case KILN_DTYPE_F8E4M3:
    case KILN_DTYPE_F8E5M2:
    case KILN_DTYPE_F8E4M3FNUZ:
    case KILN_DTYPE_F8E5M2FNUZ:
    case KILN_DTYPE_F6E2M3:
    case KILN_DTYPE_F6E3M2:
    case KILN_DTYPE_F4E2M1:
        return half;
    default:
        return none;
    }
}
