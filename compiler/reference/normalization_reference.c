/*
 * The norms and batch norms: values in double, and how far an implementation may be off that
 * computes the same formulas in the computing type, rounding only its results to their tensors'
 * types.
 *
 * All are one scheme over rows of L elements (a row of a norm, a channel of a batch norm):
 *   mean, rstd   given, or from the row: rstd = 1/sqrt(squares/L + epsilon); RMSNorm has mean 0 and
 *                squares = sum x^2
 *   forward      xhat = (x - mean)*rstd, y = scale*xhat + bias
 *   running      next = (1 - momentum)*previous + momentum*current, of the mean and of the unbiased
 *                variance squares/(L - 1), squares for L = 1
 *   backward     of norms: g = dy*scale, dx = (g - mean(g) - xhat*mean(g*xhat))*rstd, RMSNorm
 *                without mean(g); of batch norms, which have one scale to a row:
 *                dx = (dy - mean(dy) - xhat*mean(dy*xhat))*(scale*rstd);
 *                dscale = sum dy*xhat, dbias = sum dy, each over all axes along which its tensor
 *                has one element
 * Source: hipdnn-op-semantics.md 2 and 6.
 *
 * Bounds are intervals pushed through the formulas (interval.h), sums and moments in any order
 * (sum_bound.h). Any form will do whose terms are as large as those here, such as scale*rstd taken
 * first: the room of dx is proportional to rstd*(|g| + |mean(g)| + |xhat*mean(g*xhat)|), not to
 * what is left after cancellation. Forms that cancel more, such as sum(g*x) - mean*sum(g) for data
 * far from zero, are outside.
 */
#include "compiler/reference/node_evaluators.h"
#include "compiler/reference/sum_bound.h"
#include "compiler/reference/tensor_rows.h"

#include <math.h>

/* Relative room for the order in which the factors and terms of dx and of the running statistics
 * are taken, in ulps of the largest term. */
static const double term_ulps = 6;

/* An input or output of the node; absent when `content` is NULL. */
struct operand {
    struct kiln_reference_tensor *content;
    enum kiln_dtype dtype;
    struct kiln_row_view view;
    int64_t elements;
};

struct norm {
    const struct kiln_graph *graph;
    const struct kiln_node *node;
    struct kiln_reference_tensor *tensors;
    enum kiln_scalar scalar;
    const struct kiln_arithmetic *arithmetic;
    struct kiln_tensor_rows rows;
    struct operand x, dy, scale, bias, epsilon, momentum;
    struct operand given_mean, given_rstd, given_variance;
    struct operand y, dx, dscale, dbias, mean, rstd;
    /* Scratch of one row. */
    struct kiln_interval *numbers, *xhat;
    struct kiln_interval *gradients; /* dy, times scale except of batch norms */
    /* One per element of DSCALE and DBIAS. */
    struct kiln_bounded_sum *dscale_sums, *dbias_sums;
};

/* What one row is normalised with. */
struct statistics {
    struct kiln_interval mean, variance, rstd;
    struct kiln_interval squares;
};

static struct kiln_interval exactly(double value)
{
    return (struct kiln_interval){value, value, value};
}

/* ---- operands ---- */

static struct operand operand_of(const struct norm *norm, uint32_t ordinal)
{
    struct operand operand = {.content = NULL};
    if (ordinal == KILN_NONE)
        return operand;
    const struct kiln_tensor *tensor = &norm->graph->tensors[ordinal];
    operand.content = &norm->tensors[ordinal];
    operand.dtype = tensor->dtype;
    operand.view = kiln_row_view_of(&norm->rows, tensor);
    operand.elements = kiln_tensor_elements(tensor);
    return operand;
}

static struct operand input(const struct norm *norm, enum kiln_operand role)
{
    return operand_of(norm, kiln_node_input(norm->node, role));
}

static struct operand output(const struct norm *norm, enum kiln_operand role)
{
    return operand_of(norm, kiln_node_output(norm->node, role));
}

static struct kiln_interval read(const struct norm *norm, const struct operand *operand,
                                 int64_t row, int64_t i)
{
    int64_t offset = kiln_row_view_offset(&norm->rows, &operand->view, row, i);
    struct kiln_bounded element = {
        .real = operand->content->real[offset],
        .integer = operand->content->integer != NULL ? operand->content->integer[offset] : 0,
        .bound = operand->content->bound[offset],
        .dtype = operand->dtype,
    };
    return kiln_interval_of(&element, norm->scalar);
}

/* An operand that may be absent; one of another type than the computing type is rounded to it. */
static struct kiln_interval read_or(const struct norm *norm, const struct operand *operand,
                                    int64_t row, int64_t i, double otherwise)
{
    if (operand->content == NULL)
        return kiln_interval_of_number(otherwise, norm->arithmetic);
    struct kiln_interval value = read(norm, operand, row, i);
    if (operand->dtype != KILN_DTYPE_F64 || norm->scalar == KILN_SCALAR_F64)
        return value;
    if (!kiln_interval_is_finite(&value))
        return value;
    double rounding = norm->arithmetic->ulp * kiln_interval_magnitude(&value);
    return kiln_interval_widen(value, rounding + norm->arithmetic->tiny, norm->arithmetic);
}

static void write_at(const struct operand *operand, int64_t offset,
                     const struct kiln_interval *value)
{
    struct kiln_bounded element = kiln_interval_store(value, operand->dtype);
    operand->content->real[offset] = element.real;
    operand->content->bound[offset] = element.bound;
    if (operand->content->integer != NULL)
        operand->content->integer[offset] = element.integer;
}

static void write(const struct norm *norm, const struct operand *operand, int64_t row, int64_t i,
                  struct kiln_interval value)
{
    if (operand->content != NULL)
        write_at(operand, kiln_row_view_offset(&norm->rows, &operand->view, row, i), &value);
}

/* ---- statistics ---- */

static bool is_rms(const struct norm *norm)
{
    return norm->node->kind == KILN_NODE_RMSNORM || norm->node->kind == KILN_NODE_RMSNORM_BACKWARD;
}

static bool is_batch(const struct norm *norm)
{
    return norm->node->kind == KILN_NODE_BATCHNORM_INFERENCE ||
           norm->node->kind == KILN_NODE_BATCHNORM_TRAINING ||
           norm->node->kind == KILN_NODE_BATCHNORM_BACKWARD;
}

static struct kiln_interval reciprocal_deviation(const struct norm *norm, int64_t row,
                                                 struct kiln_interval variance)
{
    struct kiln_interval epsilon =
        read_or(norm, &norm->epsilon, row, 0, norm->node->normalization.epsilon);
    return kiln_interval_rsqrt(kiln_interval_add(variance, epsilon, norm->arithmetic),
                               norm->arithmetic);
}

static struct kiln_interval mean_square(const struct norm *norm)
{
    struct kiln_bounded_sum sum = {0};
    for (int64_t i = 0; i < norm->rows.row_length; i++)
        kiln_bounded_sum_add(&sum, kiln_interval_square(norm->numbers[i], norm->arithmetic));
    return kiln_bounded_sum_mean(&sum, norm->arithmetic);
}

/* From norm->numbers where they are not given. */
static struct statistics row_statistics(const struct norm *norm, int64_t row)
{
    const struct kiln_arithmetic *arithmetic = norm->arithmetic;
    double length = (double)norm->rows.row_length;
    struct statistics result = {.mean = exactly(0)};
    bool needs_moments = !is_rms(norm) && norm->given_mean.content == NULL;
    bool needs_rstd =
        norm->given_rstd.content == NULL && norm->given_variance.content == NULL && !is_rms(norm);
    if (needs_moments || needs_rstd) {
        struct kiln_moments moments =
            kiln_bounded_moments(norm->numbers, norm->rows.row_length, arithmetic);
        result.mean = moments.mean;
        result.squares = moments.squares;
        result.variance = kiln_interval_divide(moments.squares, length, arithmetic);
    }
    if (is_rms(norm) && norm->given_rstd.content == NULL)
        result.variance = mean_square(norm);
    if (norm->given_mean.content != NULL)
        result.mean = read_or(norm, &norm->given_mean, row, 0, 0);
    if (norm->given_variance.content != NULL)
        result.variance = read_or(norm, &norm->given_variance, row, 0, 1);
    result.rstd = norm->given_rstd.content != NULL
                      ? read_or(norm, &norm->given_rstd, row, 0, 1)
                      : reciprocal_deviation(norm, row, result.variance);
    return result;
}

/* (1 - momentum)*previous + momentum*current, or previous + momentum*(current - previous). */
static void update_running(const struct norm *norm, enum kiln_operand previous_role,
                           enum kiln_operand next_role, int64_t row, struct kiln_interval current)
{
    const struct kiln_arithmetic *arithmetic = norm->arithmetic;
    struct operand previous = input(norm, previous_role), next = output(norm, next_role);
    if (next.content == NULL)
        return;
    struct kiln_interval result = kiln_interval_unknown(0);
    if (previous.content != NULL) {
        struct kiln_interval momentum =
            read_or(norm, &norm->momentum, row, 0, norm->node->normalization.momentum);
        struct kiln_interval old = read_or(norm, &previous, row, 0, 0);
        struct kiln_interval rest = kiln_interval_sub(exactly(1), momentum, arithmetic);
        struct kiln_interval kept = kiln_interval_mul(rest, old, arithmetic);
        struct kiln_interval added = kiln_interval_mul(momentum, current, arithmetic);
        result = kiln_interval_add(kept, added, arithmetic);
        if (kiln_interval_is_finite(&old) && kiln_interval_is_finite(&added)) {
            double terms = kiln_interval_magnitude(&old) + kiln_interval_magnitude(&added);
            result = kiln_interval_widen(result, term_ulps * arithmetic->ulp * terms, arithmetic);
        }
    }
    write(norm, &next, row, 0, result);
}

static void write_statistics(const struct norm *norm, int64_t row,
                             const struct statistics *statistics)
{
    write(norm, &norm->mean, row, 0, statistics->mean);
    write(norm, &norm->rstd, row, 0, statistics->rstd);
    if (norm->node->kind != KILN_NODE_BATCHNORM_TRAINING)
        return;
    int64_t length = norm->rows.row_length;
    double freedom = length > 1 ? (double)(length - 1) : 1;
    struct kiln_interval unbiased =
        kiln_interval_divide(statistics->squares, freedom, norm->arithmetic);
    if (kiln_interval_is_finite(&unbiased)) /* or variance*(L/(L - 1)): two roundings more */
        unbiased = kiln_interval_widen(
            unbiased, 2 * norm->arithmetic->ulp * kiln_interval_magnitude(&unbiased),
            norm->arithmetic);
    update_running(norm, KILN_OPERAND_PREV_RUNNING_MEAN, KILN_OPERAND_NEXT_RUNNING_MEAN, row,
                   statistics->mean);
    update_running(norm, KILN_OPERAND_PREV_RUNNING_VARIANCE, KILN_OPERAND_NEXT_RUNNING_VARIANCE,
                   row, unbiased);
}

/* ---- forward ---- */

static struct kiln_interval normalized(const struct norm *norm, const struct statistics *statistics,
                                       int64_t i)
{
    struct kiln_interval centred = norm->numbers[i];
    if (!is_rms(norm))
        centred = kiln_interval_sub(centred, statistics->mean, norm->arithmetic);
    return kiln_interval_mul(centred, statistics->rstd, norm->arithmetic);
}

static struct kiln_interval scale_at(const struct norm *norm, int64_t row, int64_t i)
{
    return norm->scale.content != NULL ? read_or(norm, &norm->scale, row, i, 1) : exactly(1);
}

/*
 * The factor scale*rstd may be taken first. Where it overflows, nothing can be said; where it loses
 * bits to underflow, the loss is multiplied by what comes last. `others` is at least as large as
 * that.
 */
static struct kiln_interval allow_factor_first(const struct norm *norm, struct kiln_interval result,
                                               struct kiln_interval scale,
                                               struct kiln_interval rstd, double others)
{
    if (!kiln_interval_is_finite(&result) || !kiln_interval_is_finite(&scale) ||
        !kiln_interval_is_finite(&rstd))
        return result;
    struct kiln_interval factor = kiln_interval_mul(scale, rstd, norm->arithmetic);
    if (!kiln_interval_is_finite(&factor))
        return kiln_interval_unknown(result.value);
    return kiln_interval_widen(result, norm->arithmetic->tiny * others, norm->arithmetic);
}

static void forward_row(const struct norm *norm, int64_t row, const struct statistics *statistics)
{
    const struct kiln_arithmetic *arithmetic = norm->arithmetic;
    for (int64_t i = 0; i < norm->rows.row_length; i++) {
        struct kiln_interval scale = scale_at(norm, row, i);
        struct kiln_interval y = normalized(norm, statistics, i);
        if (norm->scale.content != NULL)
            y = kiln_interval_mul(y, scale, arithmetic);
        double centred = 1 + kiln_interval_magnitude(&norm->numbers[i]) +
                         kiln_interval_magnitude(&statistics->mean);
        y = allow_factor_first(norm, y, scale, statistics->rstd, centred);
        if (norm->bias.content != NULL)
            y = kiln_interval_add(y, read_or(norm, &norm->bias, row, i, 0), arithmetic);
        write(norm, &norm->y, row, i, y);
    }
}

/* ---- backward ---- */

/* Adds to the gradients of the affine operands; fills norm->xhat and norm->gradients. */
static void collect_row(const struct norm *norm, int64_t row, const struct statistics *statistics)
{
    for (int64_t i = 0; i < norm->rows.row_length; i++) {
        struct kiln_interval dy = read(norm, &norm->dy, row, i);
        norm->xhat[i] = normalized(norm, statistics, i);
        norm->gradients[i] = dy;
        if (norm->scale.content != NULL && !is_batch(norm))
            norm->gradients[i] = kiln_interval_mul(dy, scale_at(norm, row, i), norm->arithmetic);
        if (norm->dscale_sums != NULL) {
            int64_t offset = kiln_row_view_offset(&norm->rows, &norm->dscale.view, row, i);
            struct kiln_interval product = kiln_interval_mul(dy, norm->xhat[i], norm->arithmetic);
            /* dy*(x - mean) may lose bits to underflow before rstd multiplies the sum. */
            if (kiln_interval_is_finite(&statistics->rstd))
                product = kiln_interval_widen(
                    product, norm->arithmetic->tiny * kiln_interval_magnitude(&statistics->rstd),
                    norm->arithmetic);
            kiln_bounded_sum_add(&norm->dscale_sums[offset], product);
        }
        if (norm->dbias_sums != NULL) {
            int64_t offset = kiln_row_view_offset(&norm->rows, &norm->dbias.view, row, i);
            kiln_bounded_sum_add(&norm->dbias_sums[offset], dy);
        }
    }
}

/* gradient - mean - xhat*mean_slope */
static struct kiln_interval without_means(const struct norm *norm, struct kiln_interval gradient,
                                          struct kiln_interval xhat, struct kiln_interval mean,
                                          struct kiln_interval mean_slope)
{
    const struct kiln_arithmetic *arithmetic = norm->arithmetic;
    struct kiln_interval slope = kiln_interval_mul(xhat, mean_slope, arithmetic);
    struct kiln_interval rest = kiln_interval_sub(gradient, mean, arithmetic);
    rest = kiln_interval_sub(rest, slope, arithmetic);
    if (!kiln_interval_is_finite(&rest))
        return rest;
    double terms = kiln_interval_magnitude(&gradient) + kiln_interval_magnitude(&mean) +
                   kiln_interval_magnitude(&slope);
    return kiln_interval_widen(rest, term_ulps * arithmetic->ulp * terms, arithmetic);
}

/* rest*rstd, where `rest` has the scale in it. */
static struct kiln_interval norm_gradient(const struct norm *norm, struct kiln_interval rest,
                                          struct kiln_interval rstd, struct kiln_interval scale,
                                          struct kiln_interval xhat)
{
    const struct kiln_arithmetic *arithmetic = norm->arithmetic;
    struct kiln_interval dx = kiln_interval_mul(rest, rstd, arithmetic);
    /* rstd may be squared, and multiply what has lost bits to underflow. */
    double factor = 1 + kiln_interval_magnitude(&rstd);
    if (!(factor * factor < arithmetic->overflow) && !isnan(dx.low))
        return kiln_interval_unknown(dx.value);
    double others = factor * factor * (1 + kiln_interval_magnitude(&xhat)) *
                    (1 + kiln_interval_magnitude(&scale));
    return allow_factor_first(norm, dx, scale, rstd, others);
}

/* Of one element, from the row's means of the gradients and of the gradients times xhat. */
static struct kiln_interval gradient(const struct norm *norm, int64_t row, int64_t i,
                                     struct kiln_interval rstd, struct kiln_interval mean,
                                     struct kiln_interval mean_slope)
{
    struct kiln_interval rest =
        without_means(norm, norm->gradients[i], norm->xhat[i], mean, mean_slope);
    struct kiln_interval scale = scale_at(norm, row, i);
    if (is_batch(norm))
        return kiln_interval_mul(rest, kiln_interval_mul(scale, rstd, norm->arithmetic),
                                 norm->arithmetic);
    return norm_gradient(norm, rest, rstd, scale, norm->xhat[i]);
}

static void backward_row(const struct norm *norm, int64_t row, const struct statistics *statistics)
{
    struct kiln_bounded_sum sum = {0}, slope_sum = {0};
    collect_row(norm, row, statistics);
    if (norm->dx.content == NULL)
        return;
    for (int64_t i = 0; i < norm->rows.row_length; i++) {
        kiln_bounded_sum_add(&sum, norm->gradients[i]);
        kiln_bounded_sum_add(
            &slope_sum, kiln_interval_mul(norm->gradients[i], norm->xhat[i], norm->arithmetic));
    }
    struct kiln_interval mean =
        is_rms(norm) ? exactly(0) : kiln_bounded_sum_mean(&sum, norm->arithmetic);
    struct kiln_interval mean_slope = kiln_bounded_sum_mean(&slope_sum, norm->arithmetic);
    for (int64_t i = 0; i < norm->rows.row_length; i++)
        write(norm, &norm->dx, row, i, gradient(norm, row, i, statistics->rstd, mean, mean_slope));
}

static void write_sums(const struct norm *norm, const struct operand *operand,
                       const struct kiln_bounded_sum *sums)
{
    for (int64_t i = 0; sums != NULL && i < operand->elements; i++) {
        struct kiln_interval total = kiln_bounded_sum_total(&sums[i], norm->arithmetic);
        write_at(operand, i, &total);
    }
}

/* ---- the node ---- */

static bool is_backward(const struct norm *norm)
{
    return norm->dy.content != NULL;
}

static void find_operands(struct norm *norm)
{
    norm->x = input(norm, KILN_OPERAND_X);
    norm->dy = input(norm, KILN_OPERAND_DY);
    norm->scale = input(norm, KILN_OPERAND_SCALE);
    norm->bias = input(norm, KILN_OPERAND_BIAS);
    norm->epsilon = input(norm, KILN_OPERAND_EPSILON);
    norm->momentum = input(norm, KILN_OPERAND_MOMENTUM);
    norm->given_mean = input(norm, KILN_OPERAND_MEAN);
    norm->given_variance = input(norm, KILN_OPERAND_VARIANCE);
    norm->given_rstd = input(norm, is_rms(norm) ? KILN_OPERAND_INV_RMS : KILN_OPERAND_INV_VARIANCE);
    norm->y = output(norm, KILN_OPERAND_Y);
    norm->dx = output(norm, KILN_OPERAND_DX);
    norm->dscale = output(norm, KILN_OPERAND_DSCALE);
    norm->dbias = output(norm, KILN_OPERAND_DBIAS);
    norm->mean = output(norm, KILN_OPERAND_MEAN);
    norm->rstd = output(norm, is_rms(norm) ? KILN_OPERAND_INV_RMS : KILN_OPERAND_INV_VARIANCE);
}

static bool allocate_scratch(struct norm *norm, struct kiln_arena *arena)
{
    size_t length = (size_t)norm->rows.row_length;
    norm->numbers = kiln_arena_calloc(arena, length, sizeof *norm->numbers);
    norm->xhat = kiln_arena_calloc(arena, length, sizeof *norm->xhat);
    norm->gradients = kiln_arena_calloc(arena, length, sizeof *norm->gradients);
    bool complete = norm->numbers != NULL && norm->xhat != NULL && norm->gradients != NULL;
    if (norm->dscale.content != NULL) {
        norm->dscale_sums =
            kiln_arena_calloc(arena, (size_t)norm->dscale.elements, sizeof *norm->dscale_sums);
        complete = complete && norm->dscale_sums != NULL;
    }
    if (norm->dbias.content != NULL) {
        norm->dbias_sums =
            kiln_arena_calloc(arena, (size_t)norm->dbias.elements, sizeof *norm->dbias_sums);
        complete = complete && norm->dbias_sums != NULL;
    }
    return complete;
}

enum kiln_status kiln_normalization_evaluate(const struct kiln_graph *graph,
                                             const struct kiln_node *node, enum kiln_scalar scalar,
                                             struct kiln_reference_tensor *tensors,
                                             struct kiln_arena *arena, struct kiln_error *error)
{
    struct norm norm = {.graph = graph,
                        .node = node,
                        .tensors = tensors,
                        .scalar = scalar,
                        .arithmetic = kiln_arithmetic_of(scalar)};
    kiln_tensor_rows_init(&norm.rows, &graph->tensors[kiln_node_input(node, KILN_OPERAND_X)],
                          node->normalization.axes);
    find_operands(&norm);
    if (!allocate_scratch(&norm, arena))
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for the reference of a norm");
    for (int64_t row = 0; row < norm.rows.row_count; row++) {
        for (int64_t i = 0; i < norm.rows.row_length; i++)
            norm.numbers[i] = read(&norm, &norm.x, row, i);
        struct statistics statistics = row_statistics(&norm, row);
        write_statistics(&norm, row, &statistics);
        if (is_backward(&norm))
            backward_row(&norm, row, &statistics);
        else
            forward_row(&norm, row, &statistics);
    }
    write_sums(&norm, &norm.dscale, norm.dscale_sums);
    write_sums(&norm, &norm.dbias, norm.dbias_sums);
    return KILN_OK;
}
