/*
 * Attention and its gradients: values in double, and the error bound of an implementation that
 * computes the formulas of struct kiln_attention in the computing type.
 *
 * An implementation may shift the scores of a softmax by any amount, in one pass or two. SCALE may
 * multiply q, the products or the exponent. Sums may have any order. Between the two products the
 * weights (forward the exponentials, backward p and ds) may be rounded to 16 bits. Their type is
 * then the other operand's, and half for fp8, FP6 and FP4. Elements at or beyond a length are not
 * checked.
 *
 * The following are not checked either:
 *   - results of a row with a score that is NaN or infinite before the mask is added;
 *   - products of a weight that is 0 with an operand that is NaN or infinite: a kernel may skip
 *     them, or multiply. This concerns keys that a query does not see, before a length or behind
 *     it, and queries beyond their length;
 *   - gradients of what a row sees, and of its query, where its STATS is NaN, or -infinity although
 *     it has keys.
 *
 * The bounds of a row's probabilities follow from the bounds of its scores. Let r bound the error
 * of a score x. With the roundings of the exponent, d = r + ulp*(2*(|x| + |maximum|) + 4) bounds
 * the error of the exponent, so exp(x) is known to a factor of exp(+-d). The bounds of the sum are
 * the sums of these bounds. The rest uses intervals (interval.h) and order-independent sum bounds
 * (sum_bound.h).
 */
#include "compiler/reference/node_evaluators.h"

#include "compiler/reference/attention_scores_reference.h"

#include <math.h>

/* Relative room for the quotient and the factors of a result, in ulps. */
static const double result_ulps = 8;

/* Exponentials on the way may be as much above 1: they are of differences to an earlier maximum
 * until the largest score is that far above it (kernels_templates/device/attention/scores.h). */
static const double largest_exponential = 0x1p12; /* e^8 where there is no instruction for 2^x */

/* Of one row: sums relative to exp(shift), the shift being its largest score. */
struct softmax {
    bool is_unknown, is_empty;
    double shift;
    double sum, sum_low, sum_high;
    struct kiln_interval maximum;
    struct kiln_interval largest; /* probability */
};

struct forward {
    struct kiln_attention_view view;
    struct kiln_attention_row row;
    struct kiln_interval *weights; /* exp(x - shift), per key */
    struct kiln_attention_operand sink, descale_v, descale_s, scale_s, scale_o;
    struct kiln_attention_operand o, stats, max, sum_exp, amax_s, amax_o;
    struct kiln_interval largest_probability, largest_result;
};

static const struct kiln_interval nothing = {0, 0, 0};

static struct kiln_interval exactly(double value)
{
    return (struct kiln_interval){value, value, value};
}

static struct kiln_interval larger(struct kiln_interval a, struct kiln_interval b)
{
    if (kiln_interval_is_unknown(&a) || kiln_interval_is_unknown(&b) || isnan(a.low) ||
        isnan(b.low))
        return kiln_interval_unknown(fmax(a.value, b.value));
    return (struct kiln_interval){fmax(a.value, b.value), fmax(a.low, b.low), fmax(a.high, b.high)};
}

static bool is_certain(const struct kiln_interval *x, double value)
{
    return x->low == value && x->high == value;
}

/* ---- softmax ---- */

/* The sink, or -infinity: of a query beyond its length, too. */
static struct kiln_interval sink_of(const struct forward *f)
{
    if (f->sink.content == NULL || f->row.query >= f->row.queries)
        return exactly(-(double)INFINITY);
    return kiln_attention_read(&f->view, &f->sink, 0, f->row.head, 0, 0);
}

/* Takes a score into the maximum; a row with a score that is no number is unknown. */
static void find_maximum(const struct kiln_interval *x, struct softmax *softmax)
{
    if (is_certain(x, -(double)INFINITY))
        return;
    softmax->is_unknown = softmax->is_unknown || !kiln_interval_is_finite(x);
    softmax->maximum = softmax->is_empty ? *x : larger(softmax->maximum, *x);
    softmax->is_empty = false;
}

/* exp(x - shift), with the room that a computation of it has. */
static struct kiln_interval weight_of(const struct forward *f, const struct softmax *softmax,
                                      const struct kiln_interval *x)
{
    const struct kiln_arithmetic *arithmetic = f->view.arithmetic;
    if (is_certain(x, -(double)INFINITY))
        return nothing;
    double error = kiln_attention_exponent_error(arithmetic, x->value, softmax->shift);
    double least = arithmetic->tiny / arithmetic->ulp; /* smaller numbers may become zero */
    return (struct kiln_interval){
        exp(x->value - softmax->shift),
        fmax(exp(x->low - error - softmax->shift) - least, 0),
        exp(x->high + error - softmax->shift) + least,
    };
}

static void add_weight(const struct kiln_interval *weight, struct softmax *softmax)
{
    softmax->sum += weight->value;
    softmax->sum_low += weight->low;
    softmax->sum_high += weight->high;
}

static struct kiln_interval probability(const struct softmax *softmax,
                                        const struct kiln_interval *weight)
{
    return (struct kiln_interval){weight->value / softmax->sum, weight->low / softmax->sum_high,
                                  weight->high / softmax->sum_low};
}

/* Fills f->weights. */
static struct softmax evaluate_softmax(struct forward *f)
{
    const struct kiln_arithmetic *arithmetic = f->view.arithmetic;
    const struct kiln_attention_row *row = &f->row;
    struct softmax softmax = {.is_empty = true, .largest = nothing};
    struct kiln_interval sink = sink_of(f);
    for (int64_t key = 0; key < row->keys; key++) {
        if (row->seen[key])
            find_maximum(&row->x[key], &softmax);
    }
    find_maximum(&sink, &softmax);
    if (softmax.is_unknown || softmax.is_empty)
        return softmax;
    softmax.shift = softmax.maximum.value;
    struct kiln_interval largest = nothing;
    for (int64_t key = 0; key < row->keys; key++) {
        if (!row->seen[key])
            continue;
        f->weights[key] = weight_of(f, &softmax, &row->x[key]);
        add_weight(&f->weights[key], &softmax);
        largest = larger(largest, f->weights[key]);
    }
    struct kiln_interval sink_weight = weight_of(f, &softmax, &sink);
    add_weight(&sink_weight, &softmax);
    double roundings = (double)(row->keys + 2) * arithmetic->ulp;
    softmax.sum_low *= fmax(1 - roundings, 0);
    softmax.sum_high *= 1 + roundings;
    softmax.is_unknown = !(softmax.sum_low > 0) || !isfinite(softmax.sum_high);
    if (!softmax.is_unknown)
        softmax.largest = probability(&softmax, &largest);
    return softmax;
}

/* ---- results ---- */

/* All of it but the factors. */
static struct kiln_interval weighted_sum(const struct forward *f, const struct softmax *softmax,
                                         int64_t d)
{
    const struct kiln_attention_row *row = &f->row;
    const struct kiln_arithmetic *arithmetic = f->view.arithmetic;
    struct kiln_attention_narrowing narrowing =
        kiln_attention_narrowing_for(f->view.v.dtype, f->view.scalar);
    double sum = 0, error = 0, magnitude = 0;
    for (int64_t key = 0; key < row->keys; key++) {
        struct kiln_interval v =
            kiln_attention_read(&f->view, &f->view.v, row->batch, row->value_head, key, d);
        if (!kiln_interval_is_finite(&v))
            return kiln_interval_unknown(0);
        if (!row->seen[key] || softmax->is_empty)
            continue;
        struct kiln_interval p = probability(softmax, &f->weights[key]);
        double largest_v = kiln_interval_magnitude(&v);
        double own = fmax(p.high - p.value, p.value - p.low) + narrowing.relative * p.high;
        if (p.high > 0)
            own += narrowing.absolute / softmax->sum_low;
        sum += p.value * v.value;
        error += own * largest_v + p.value * kiln_interval_radius(&v);
        magnitude += p.high * largest_v;
    }
    if (softmax->is_empty)
        return nothing;
    /* Terms that are divided after the sum are as much larger as the sum of weights. */
    if (!(magnitude * softmax->sum_high * largest_exponential < arithmetic->overflow))
        return kiln_interval_unknown(sum);
    error += arithmetic->ulp * ((double)row->keys + result_ulps) * magnitude;
    error += arithmetic->tiny * (double)(row->keys + 1);
    return kiln_interval_widen(exactly(sum), error, arithmetic);
}

static void evaluate_result(struct forward *f, const struct softmax *softmax, int64_t d)
{
    const struct kiln_attention_operand *const factors[] = {&f->scale_s, &f->descale_s,
                                                            &f->descale_v};
    const struct kiln_attention_row *row = &f->row;
    const struct kiln_arithmetic *arithmetic = f->view.arithmetic;
    struct kiln_interval o =
        softmax->is_unknown ? kiln_interval_unknown(0) : weighted_sum(f, softmax, d);
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        if (factors[i]->content != NULL)
            o = kiln_interval_mul(
                o, kiln_attention_read(&f->view, factors[i], row->batch, row->value_head, 0, 0),
                arithmetic);
    }
    f->largest_result = larger(f->largest_result, kiln_interval_abs(o));
    if (f->scale_o.content != NULL)
        o = kiln_interval_mul(o, kiln_attention_read(&f->view, &f->scale_o, 0, 0, 0, 0),
                              arithmetic);
    kiln_attention_write(&f->o, row->batch, row->head, row->query, d, &o);
}

static void write_statistics(struct forward *f, const struct softmax *softmax)
{
    const struct kiln_attention_row *row = &f->row;
    const struct kiln_arithmetic *arithmetic = f->view.arithmetic;
    struct kiln_interval stats = exactly(-(double)INFINITY);
    struct kiln_interval max = stats;
    struct kiln_interval sum = nothing;
    if (softmax->is_unknown) {
        stats = max = sum = kiln_interval_unknown(0);
    } else if (!softmax->is_empty) {
        double log_sum = log(softmax->sum);
        double shift = softmax->shift;
        double rounding = arithmetic->ulp * 4 * (fabs(shift) + fabs(log_sum) + 2);
        stats = (struct kiln_interval){shift + log_sum, shift + log(softmax->sum_low),
                                       shift + log(softmax->sum_high)};
        stats = kiln_interval_widen(stats, rounding, arithmetic);
        max = kiln_interval_widen(softmax->maximum, 2 * arithmetic->ulp * fabs(shift), arithmetic);
        /* The sum is relative to the maximum that was found. */
        sum = (struct kiln_interval){softmax->sum, softmax->sum_low * exp(shift - max.high),
                                     softmax->sum_high * exp(shift - max.low)};
        sum = kiln_interval_widen(sum, 4 * arithmetic->ulp * softmax->sum_high, arithmetic);
    }
    kiln_attention_write(&f->stats, row->batch, row->head, row->query, 0, &stats);
    kiln_attention_write(&f->max, row->batch, row->head, row->query, 0, &max);
    kiln_attention_write(&f->sum_exp, row->batch, row->head, row->query, 0, &sum);
    struct kiln_interval largest =
        softmax->is_unknown ? kiln_interval_unknown(0) : softmax->largest;
    f->largest_probability = larger(f->largest_probability, largest);
}

static void write_largest(const struct forward *f)
{
    const struct kiln_arithmetic *arithmetic = f->view.arithmetic;
    struct kiln_interval probability = f->largest_probability;
    if (kiln_interval_is_finite(&probability))
        probability = kiln_interval_widen(
            probability, result_ulps * arithmetic->ulp * probability.high, arithmetic);
    kiln_attention_write(&f->amax_s, 0, 0, 0, 0, &probability);
    kiln_attention_write(&f->amax_o, 0, 0, 0, 0, &f->largest_result);
}

enum kiln_status kiln_attention_evaluate(const struct kiln_graph *graph,
                                         const struct kiln_node *node, enum kiln_scalar scalar,
                                         struct kiln_reference_tensor *tensors,
                                         struct kiln_arena *arena, struct kiln_error *error)
{
    struct forward f = {.view = kiln_attention_view_of(graph, node, scalar, tensors)};
    const struct kiln_attention_sizes *sizes = &f.view.sizes;
    f.sink = kiln_attention_find_input(&f.view, KILN_OPERAND_SINK_TOKEN);
    f.descale_v = kiln_attention_find_input(&f.view, KILN_OPERAND_DESCALE_V);
    f.descale_s = kiln_attention_find_input(&f.view, KILN_OPERAND_DESCALE_S);
    f.scale_s = kiln_attention_find_input(&f.view, KILN_OPERAND_SCALE_S);
    f.scale_o = kiln_attention_find_input(&f.view, KILN_OPERAND_SCALE_O);
    f.o = kiln_attention_find_output(&f.view, KILN_OPERAND_O);
    f.stats = kiln_attention_find_output(&f.view, KILN_OPERAND_STATS);
    f.max = kiln_attention_find_output(&f.view, KILN_OPERAND_MAX);
    f.sum_exp = kiln_attention_find_output(&f.view, KILN_OPERAND_SUM_EXP);
    f.amax_s = kiln_attention_find_output(&f.view, KILN_OPERAND_AMAX_S);
    f.amax_o = kiln_attention_find_output(&f.view, KILN_OPERAND_AMAX_O);
    f.weights = kiln_arena_calloc(arena, (size_t)sizes->keys, sizeof *f.weights);
    if (f.weights == NULL || !kiln_attention_row_init(&f.row, &f.view, arena))
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for the reference of attention");
    for (int64_t b = 0; b < sizes->batch; b++) {
        for (int64_t h = 0; h < sizes->heads; h++) {
            for (int64_t i = 0; i < sizes->queries; i++) {
                kiln_attention_row_evaluate(&f.view, b, h, i, &f.row);
                struct softmax softmax = evaluate_softmax(&f);
                for (int64_t d = 0; d < sizes->value_depth; d++)
                    evaluate_result(&f, &softmax, d);
                write_statistics(&f, &softmax);
            }
        }
    }
    write_largest(&f);
    return KILN_OK;
}
