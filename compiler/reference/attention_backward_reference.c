#include "compiler/reference/attention_scores_reference.h"
#include "compiler/reference/node_evaluators.h"
#include "compiler/reference/sum_bound.h"

#include <math.h>

/* Relative room for a factor that is multiplied in before a sum or after it, in ulps. */
static const double factor_ulps = 4;

/* An output that is summed over rows: one sum for each of its elements. */
struct gradient {
    struct kiln_attention_operand operand;
    struct kiln_bounded_sum *sums;
};

struct backward {
    struct kiln_attention_view view;
    struct kiln_attention_row row;
    struct kiln_attention_operand o, gradient_o, stats, dq;
    struct gradient dk, dv, dbias;
    struct kiln_interval *p;  /* per key */
    struct kiln_interval *ds; /* per key */
};

static const struct kiln_interval nothing = {0, 0, 0};

static bool is_zero(const struct kiln_interval *a)
{
    return a->low == 0 && a->high == 0;
}

/* ---- weights ---- */

static struct kiln_interval probability(const struct backward *b, const struct kiln_interval *x,
                                        const struct kiln_interval *stats)
{
    const struct kiln_arithmetic *arithmetic = b->view.arithmetic;
    const double lowest = -(double)INFINITY;
    if ((x->low == lowest && x->high == lowest) || (stats->low == lowest && stats->high == lowest))
        return nothing;
    if (!kiln_interval_is_finite(x) || !kiln_interval_is_finite(stats))
        return kiln_interval_unknown(0);
    double error = kiln_attention_exponent_error(arithmetic, x->value, stats->value);
    double least = arithmetic->tiny / arithmetic->ulp; /* smaller numbers may become zero */
    struct kiln_interval p = {
        exp(x->value - stats->value),
        fmax(exp(x->low - stats->high - error) - least, 0),
        exp(x->high - stats->low + error) + least,
    };
    return p.high < arithmetic->overflow ? p : kiln_interval_unknown(p.value);
}

static struct kiln_interval read_row(const struct backward *b,
                                     const struct kiln_attention_operand *operand, int64_t j)
{
    return kiln_attention_read(&b->view, operand, b->row.batch, b->row.head, b->row.query, j);
}

/* The sum of DO * O. */
static struct kiln_interval row_delta(const struct backward *b)
{
    struct kiln_bounded_sum sum = {0};
    for (int64_t d = 0; d < b->view.sizes.value_depth; d++)
        kiln_bounded_sum_add(&sum, kiln_interval_mul(read_row(b, &b->gradient_o, d),
                                                     read_row(b, &b->o, d), b->view.arithmetic));
    return kiln_bounded_sum_total(&sum, b->view.arithmetic);
}

static struct kiln_interval probability_gradient(const struct backward *b, int64_t key)
{
    const struct kiln_attention_view *view = &b->view;
    struct kiln_bounded_sum sum = {0};
    for (int64_t d = 0; d < view->sizes.value_depth; d++) {
        struct kiln_interval v =
            kiln_attention_read(view, &view->v, b->row.batch, b->row.value_head, key, d);
        kiln_bounded_sum_add(
            &sum, kiln_interval_mul(read_row(b, &b->gradient_o, d), v, view->arithmetic));
    }
    return kiln_bounded_sum_total(&sum, view->arithmetic);
}

/* The row's statistics. Unknown where they are NaN, or say that a row with keys has none. */
static struct kiln_interval row_statistics(const struct backward *b)
{
    const struct kiln_attention_row *row = &b->row;
    const double lowest = -(double)INFINITY;
    struct kiln_interval stats = read_row(b, &b->stats, 0);
    bool is_unknown = isnan(stats.low) || kiln_interval_is_unknown(&stats);
    for (int64_t key = 0; stats.high == lowest && key < row->keys; key++)
        is_unknown = is_unknown || (row->seen[key] && row->x[key].high != lowest);
    return is_unknown ? kiln_interval_unknown(0) : stats;
}

/* Fills p and ds of the row. They are zeros for keys that are not seen, and for queries beyond
 * their length. A probability of zero times what is no number is unknown: it may be skipped. */
static void evaluate_weights(const struct backward *b)
{
    const struct kiln_arithmetic *arithmetic = b->view.arithmetic;
    const struct kiln_attention_row *row = &b->row;
    for (int64_t key = 0; key < b->view.sizes.keys; key++)
        b->p[key] = b->ds[key] = nothing;
    if (row->query >= row->queries)
        return;
    struct kiln_interval stats = row_statistics(b);
    struct kiln_interval delta = row_delta(b);
    for (int64_t key = 0; key < b->view.sizes.keys; key++) {
        if (!row->seen[key])
            continue;
        b->p[key] = kiln_interval_is_unknown(&stats) ? stats : probability(b, &row->x[key], &stats);
        struct kiln_interval slope =
            kiln_interval_sub(probability_gradient(b, key), delta, arithmetic);
        if (!is_zero(&b->p[key]))
            b->ds[key] = kiln_interval_mul(b->p[key], slope, arithmetic);
        else if (!kiln_interval_is_finite(&slope))
            b->ds[key] = kiln_interval_unknown(0);
    }
}

/* ---- sums ---- */

/* A weight as a product may have it whose other factor is of this type. */
static struct kiln_interval narrow(const struct backward *b, struct kiln_interval weight,
                                   enum kiln_dtype dtype)
{
    struct kiln_attention_narrowing narrowing = kiln_attention_narrowing_for(dtype, b->view.scalar);
    if (is_zero(&weight) || !kiln_interval_is_finite(&weight))
        return weight;
    double magnitude = kiln_interval_magnitude(&weight);
    if (magnitude > narrowing.overflow)
        return kiln_interval_unknown(weight.value);
    return kiln_interval_widen(weight, narrowing.relative * magnitude + narrowing.absolute,
                               b->view.arithmetic);
}

/* weight * right, where a zero may be skipped. */
static struct kiln_interval term(const struct backward *b, struct kiln_interval weight,
                                 struct kiln_interval right)
{
    if (!is_zero(&weight))
        return kiln_interval_mul(weight, right, b->view.arithmetic);
    return kiln_interval_is_finite(&right) ? nothing : kiln_interval_unknown(0);
}

/* The sum times SCALE, which may multiply its terms instead. */
static struct kiln_interval scaled(const struct backward *b, const struct kiln_bounded_sum *sum)
{
    const struct kiln_arithmetic *arithmetic = b->view.arithmetic;
    struct kiln_interval factor = kiln_attention_row_factor(&b->view, &b->row);
    struct kiln_interval result =
        kiln_interval_mul(kiln_bounded_sum_total(sum, arithmetic), factor, arithmetic);
    if (!kiln_interval_is_finite(&result) || !kiln_interval_is_finite(&factor))
        return result;
    double room = factor_ulps * arithmetic->ulp * sum->magnitude;
    return kiln_interval_widen(
        result, (room + arithmetic->tiny * (double)sum->count) * kiln_interval_magnitude(&factor),
        arithmetic);
}

static void write_query_gradient(const struct backward *b)
{
    const struct kiln_attention_row *row = &b->row;
    for (int64_t d = 0; d < b->view.sizes.depth; d++) {
        struct kiln_bounded_sum sum = {0};
        for (int64_t key = 0; key < row->keys; key++) {
            struct kiln_interval k =
                kiln_attention_read(&b->view, &b->view.k, row->batch, row->key_head, key, d);
            kiln_bounded_sum_add(&sum, term(b, narrow(b, b->ds[key], b->view.k.dtype), k));
        }
        struct kiln_interval dq = scaled(b, &sum);
        kiln_attention_write(&b->dq, row->batch, row->head, row->query, d, &dq);
    }
}

static struct kiln_bounded_sum *sum_at(const struct gradient *gradient, int64_t b, int64_t h,
                                       int64_t i, int64_t j)
{
    const int64_t *strides = gradient->operand.strides;
    return &gradient->sums[b * strides[0] + h * strides[1] + i * strides[2] + j * strides[3]];
}

/* What the row adds to the gradients of a key. */
static void add_key_terms(const struct backward *b, int64_t key)
{
    const struct kiln_attention_row *row = &b->row;
    struct kiln_interval p = narrow(b, b->p[key], b->gradient_o.dtype);
    struct kiln_interval ds = narrow(b, b->ds[key], b->view.q.dtype);
    for (int64_t d = 0; d < b->view.sizes.depth; d++)
        kiln_bounded_sum_add(sum_at(&b->dk, row->batch, row->key_head, key, d),
                             term(b, ds, read_row(b, &b->view.q, d)));
    for (int64_t d = 0; d < b->view.sizes.value_depth; d++)
        kiln_bounded_sum_add(sum_at(&b->dv, row->batch, row->value_head, key, d),
                             term(b, p, read_row(b, &b->gradient_o, d)));
    if (b->dbias.sums != NULL)
        kiln_bounded_sum_add(sum_at(&b->dbias, row->batch, row->head, row->query, key), b->ds[key]);
}

/* ---- gradients ---- */

/* False when memory is out. */
static bool make_gradient(const struct backward *b, enum kiln_operand role,
                          struct kiln_arena *arena, struct gradient *ret_gradient)
{
    struct gradient gradient = {.operand = kiln_attention_find_output(&b->view, role)};
    if (gradient.operand.content != NULL) {
        gradient.sums =
            kiln_arena_calloc(arena, (size_t)gradient.operand.elements, sizeof *gradient.sums);
        if (gradient.sums == NULL)
            return false;
    }
    *ret_gradient = gradient;
    return true;
}

static void store(const struct gradient *gradient, int64_t n, struct kiln_interval value)
{
    struct kiln_bounded element = kiln_interval_store(&value, gradient->operand.dtype);
    gradient->operand.content->real[n] = element.real;
    gradient->operand.content->bound[n] = element.bound;
}

static void write_sums(const struct backward *b)
{
    for (int64_t n = 0; n < b->dk.operand.elements; n++)
        store(&b->dk, n, scaled(b, &b->dk.sums[n]));
    for (int64_t n = 0; n < b->dv.operand.elements; n++)
        store(&b->dv, n, kiln_bounded_sum_total(&b->dv.sums[n], b->view.arithmetic));
    for (int64_t n = 0; n < b->dbias.operand.elements; n++)
        store(&b->dbias, n, kiln_bounded_sum_total(&b->dbias.sums[n], b->view.arithmetic));
}

static bool begin(struct backward *b, struct kiln_arena *arena)
{
    size_t keys = (size_t)b->view.sizes.keys;
    b->o = kiln_attention_find_input(&b->view, KILN_OPERAND_O);
    b->gradient_o = kiln_attention_find_input(&b->view, KILN_OPERAND_DO);
    b->stats = kiln_attention_find_input(&b->view, KILN_OPERAND_STATS);
    b->dq = kiln_attention_find_output(&b->view, KILN_OPERAND_DQ);
    b->p = kiln_arena_calloc(arena, keys, sizeof *b->p);
    b->ds = kiln_arena_calloc(arena, keys, sizeof *b->ds);
    return b->p != NULL && b->ds != NULL && kiln_attention_row_init(&b->row, &b->view, arena) &&
           make_gradient(b, KILN_OPERAND_DK, arena, &b->dk) &&
           make_gradient(b, KILN_OPERAND_DV, arena, &b->dv) &&
           make_gradient(b, KILN_OPERAND_DBIAS, arena, &b->dbias);
}

enum kiln_status
kiln_attention_backward_evaluate(const struct kiln_graph *graph, const struct kiln_node *node,
                                 enum kiln_scalar scalar, struct kiln_reference_tensor *tensors,
                                 struct kiln_arena *arena, struct kiln_error *error)
{
    struct backward backward = {.view = kiln_attention_view_of(graph, node, scalar, tensors)};
    const struct kiln_attention_sizes *sizes = &backward.view.sizes;
    if (!begin(&backward, arena))
        return kiln_error_set(error, KILN_NO_MEMORY,
                              "no memory for the reference of attention's gradients");
    for (int64_t b = 0; b < sizes->batch; b++) {
        for (int64_t h = 0; h < sizes->heads; h++) {
            for (int64_t i = 0; i < sizes->queries; i++) {
                kiln_attention_row_evaluate(&backward.view, b, h, i, &backward.row);
                evaluate_weights(&backward);
                write_query_gradient(&backward);
                for (int64_t key = 0;
                     backward.row.query < backward.row.queries && key < sizes->keys; key++)
                    add_key_terms(&backward, key);
            }
        }
    }
    write_sums(&backward);
    return KILN_OK;
}
