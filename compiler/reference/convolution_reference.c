/*
 * Convolutions and their gradients: the value in double and its error bound. The bound covers any
 * order of the sum, and products rounded or not, like matrix products (matmul_reference.c). The
 * length of a sum is the number of its terms inside the image.
 *
 * Padding contributes nothing, even if the other factor is an infinity or NaN.
 *
 * Each direction is a sum of products of its two inputs, left and right:
 *
 *   result[a, b, s] = sum over d < depth and the pairs (l, r) of s of
 *                         left[left_start + d * left_step + l] * right[right_start + d * right_step
 * + r]
 *
 * Along one spatial axis, the pairs come from the triples (output position, tap, image position) of
 * the forward convolution. Each direction takes another member of the triple as s.
 */
#include "compiler/reference/node_evaluators.h"

#include "compiler/reference/error_bound.h"
#include "compiler/reference/reduction_reference.h"
#include "compiler/reference/sum_bound.h"

/* Offsets of the two factors of a term in their packed contents, along one axis. */
struct pair {
    int64_t left, right;
};

/* The pairs of each position of the result along one axis. */
struct axis {
    int64_t size;   /* of the result */
    int64_t *first; /* size + 1 of them */
    struct pair *pairs;
};

struct factor {
    const struct kiln_reference_tensor *content;
    const struct kiln_interval *intervals; /* NULL for integers */
    int64_t pixels;
};

struct convolution {
    const struct kiln_node *node;
    const struct kiln_tensor *image, *filter, *result, *output;
    struct factor left, right;
    struct axis axes[KILN_MAX_SPATIAL_AXES];
    enum kiln_scalar scalar;
};

/* Where the terms of result[a, b, ...] start and how they go on. */
struct span {
    int64_t left_start, left_step;
    int64_t right_start, right_step;
    int64_t depth;
};

static int64_t pixels_of(const struct kiln_tensor *tensor)
{
    return kiln_tensor_elements(tensor) / tensor->dims[0] / tensor->dims[1];
}

static struct span span_of(const struct convolution *c, int64_t a, int64_t b)
{
    int64_t group_channels = c->filter->dims[1];
    int64_t group_filters = c->filter->dims[0] / c->node->convolution.groups;
    int64_t channels = c->image->dims[1];
    int64_t filters = c->filter->dims[0];
    int64_t left = c->left.pixels;
    int64_t right = c->right.pixels;
    switch (c->node->kind) {
    case KILN_NODE_CONVOLUTION_DATA_GRADIENT: {
        int64_t first_filter = b / group_channels * group_filters;
        return (struct span){
            .left_start = (a * filters + first_filter) * left,
            .left_step = left,
            .right_start = (first_filter * group_channels + b % group_channels) * right,
            .right_step = group_channels * right,
            .depth = group_filters,
        };
    }
    case KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT:
        return (struct span){
            .left_start = (a / group_filters * group_channels + b) * left,
            .left_step = channels * left,
            .right_start = a * right,
            .right_step = filters * right,
            .depth = c->image->dims[0],
        };
    default:
        return (struct span){
            .left_start = (a * channels + b / group_filters * group_channels) * left,
            .left_step = left,
            .right_start = b * group_channels * right,
            .right_step = right,
            .depth = group_channels,
        };
    }
}

/* ---- which pairs there are ---- */

/* Elements from one position to the next along a spatial axis of packed content. */
static int64_t packed_stride(const struct kiln_tensor *tensor, uint32_t axis)
{
    int64_t stride = 1;
    for (uint32_t i = axis + 1; i < tensor->rank; i++)
        stride *= tensor->dims[i];
    return stride;
}

/* Calls for each term of the axis: the position of the result that it belongs to, and its pair.
 * Without `axis->pairs` it counts them in `axis->first`, else it appends there. */
static void visit_terms(const struct convolution *c, uint32_t spatial, struct axis *axis)
{
    const struct kiln_convolution *attributes = &c->node->convolution;
    uint32_t dim = spatial + 2;
    int64_t image_size = c->image->dims[dim];
    int64_t window = c->filter->dims[dim];
    int64_t image_stride = packed_stride(c->image, dim);
    int64_t filter_stride = packed_stride(c->filter, dim);
    int64_t result_stride = packed_stride(c->result, dim);
    for (int64_t o = 0; o < c->result->dims[dim]; o++) {
        for (int64_t r = 0; r < window; r++) {
            int64_t i = o * attributes->stride[spatial] + r * attributes->dilation[spatial] -
                        attributes->pre_padding[spatial];
            int64_t tap = attributes->is_flipped ? window - 1 - r : r;
            int64_t position = o;
            struct pair pair = {i * image_stride, tap * filter_stride};
            if (i < 0 || i >= image_size)
                continue;
            if (c->node->kind == KILN_NODE_CONVOLUTION_DATA_GRADIENT) {
                position = i;
                pair.left = o * result_stride;
            } else if (c->node->kind == KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT) {
                position = tap;
                pair.right = o * result_stride;
            }
            if (axis->pairs != NULL)
                axis->pairs[axis->first[position]] = pair;
            axis->first[position]++;
        }
    }
}

/* first[i] counts the pairs of i before, and is where they start afterwards. Returns how many there
 * are in all. */
static int64_t counts_to_starts(struct axis *axis)
{
    int64_t total = 0;
    for (int64_t i = 0; i <= axis->size; i++) {
        int64_t count = i < axis->size ? axis->first[i] : 0;
        axis->first[i] = total;
        total += count;
    }
    return total;
}

static bool make_axis(const struct convolution *c, uint32_t spatial, struct kiln_arena *arena,
                      struct axis *axis)
{
    bool exists = spatial < c->node->convolution.spatial_count;
    axis->size = exists ? c->output->dims[spatial + 2] : 1;
    axis->first = kiln_arena_calloc(arena, (size_t)axis->size + 1, sizeof *axis->first);
    if (axis->first == NULL)
        return false;
    if (exists)
        visit_terms(c, spatial, axis);
    else
        axis->first[0] = 1;
    int64_t total = counts_to_starts(axis);
    /* One more: nothing may be NULL where there are no terms. */
    axis->pairs = kiln_arena_calloc(arena, (size_t)total + 1, sizeof *axis->pairs);
    if (axis->pairs == NULL)
        return false;
    if (!exists)
        return true;
    visit_terms(c, spatial, axis);
    /* Appending has moved each start to the next one's. */
    for (int64_t i = axis->size; i > 0; i--)
        axis->first[i] = axis->first[i - 1];
    axis->first[0] = 0;
    return true;
}

/* ---- factors ---- */

static bool make_factor(const struct convolution *c, const struct kiln_graph *graph, uint32_t input,
                        const struct kiln_reference_tensor *tensors, struct kiln_arena *arena,
                        struct factor *factor)
{
    const struct kiln_tensor *tensor = &graph->tensors[c->node->inputs[input]];
    const struct kiln_reference_tensor *content = &tensors[c->node->inputs[input]];
    factor->content = content;
    factor->pixels = pixels_of(tensor);
    if (c->scalar == KILN_SCALAR_I32)
        return true;
    int64_t elements = kiln_tensor_elements(tensor);
    struct kiln_interval *intervals =
        kiln_arena_calloc(arena, (size_t)elements, sizeof *factor->intervals);
    if (intervals == NULL)
        return false;
    for (int64_t n = 0; n < elements; n++) {
        struct kiln_bounded element = {
            .real = content->real[n],
            .integer = content->integer != NULL ? content->integer[n] : 0,
            .bound = content->bound[n],
            .dtype = tensor->dtype,
        };
        intervals[n] = kiln_interval_of(&element, c->scalar);
    }
    factor->intervals = intervals;
    return true;
}

/* ---- sums ---- */

/* What is added up of one element of the result. */
struct accumulator {
    struct kiln_bounded_sum sum;
    uint32_t total; /* of integers */
    bool is_exact;
};

/* Exact operands only: see matmul_reference.c. */
static void add_integers(const struct convolution *c, int64_t left, int64_t right,
                         struct accumulator *accumulator)
{
    accumulator->total +=
        (uint32_t)c->left.content->integer[left] * (uint32_t)c->right.content->integer[right];
    accumulator->is_exact = accumulator->is_exact && c->left.content->bound[left] == 0 &&
                            c->right.content->bound[right] == 0;
}

static void add_terms(const struct convolution *c, const struct span *span, int64_t left,
                      int64_t right, struct accumulator *accumulator)
{
    const struct kiln_arithmetic *arithmetic = kiln_arithmetic_of(c->scalar);
    left += span->left_start;
    right += span->right_start;
    for (int64_t d = 0; d < span->depth; d++) {
        if (c->scalar == KILN_SCALAR_I32)
            add_integers(c, left, right, accumulator);
        else
            kiln_bounded_sum_add(
                &accumulator->sum,
                kiln_interval_mul(c->left.intervals[left], c->right.intervals[right], arithmetic));
        left += span->left_step;
        right += span->right_step;
    }
}

static struct kiln_bounded finish(const struct convolution *c,
                                  const struct accumulator *accumulator)
{
    enum kiln_dtype dtype = c->output->dtype;
    if (c->scalar == KILN_SCALAR_I32) {
        int64_t value = (int32_t)accumulator->total;
        return accumulator->is_exact ? kiln_bounded_from_integer(value, dtype)
                                     : kiln_bounded_unchecked((double)value, dtype);
    }
    struct kiln_interval total =
        kiln_bounded_sum_total(&accumulator->sum, kiln_arithmetic_of(c->scalar));
    return kiln_interval_store(&total, dtype);
}

static struct kiln_bounded evaluate_element(const struct convolution *c, const struct span *span,
                                            const int64_t *position)
{
    struct accumulator accumulator = {.is_exact = true};
    const struct pair *begins[KILN_MAX_SPATIAL_AXES], *ends[KILN_MAX_SPATIAL_AXES];
    for (uint32_t i = 0; i < KILN_MAX_SPATIAL_AXES; i++) {
        begins[i] = c->axes[i].pairs + c->axes[i].first[position[i]];
        ends[i] = c->axes[i].pairs + c->axes[i].first[position[i] + 1];
    }
    for (const struct pair *p = begins[0]; p < ends[0]; p++) {
        for (const struct pair *q = begins[1]; q < ends[1]; q++) {
            for (const struct pair *r = begins[2]; r < ends[2]; r++)
                add_terms(c, span, p->left + q->left + r->left, p->right + q->right + r->right,
                          &accumulator);
        }
    }
    return finish(c, &accumulator);
}

static void evaluate_plane(const struct convolution *c, const struct span *span, int64_t start,
                           struct kiln_reference_tensor *result)
{
    int64_t position[KILN_MAX_SPATIAL_AXES];
    int64_t n = start;
    for (position[0] = 0; position[0] < c->axes[0].size; position[0]++) {
        for (position[1] = 0; position[1] < c->axes[1].size; position[1]++) {
            for (position[2] = 0; position[2] < c->axes[2].size; position[2]++) {
                struct kiln_bounded value = evaluate_element(c, span, position);
                result->real[n] = value.real;
                result->bound[n] = value.bound;
                if (result->integer != NULL)
                    result->integer[n] = value.integer;
                n++;
            }
        }
    }
}

enum kiln_status kiln_convolution_evaluate(const struct kiln_graph *graph,
                                           const struct kiln_node *node, enum kiln_scalar scalar,
                                           struct kiln_reference_tensor *tensors,
                                           struct kiln_arena *arena, struct kiln_error *error)
{
    struct kiln_convolution_tensors ordinals = kiln_convolution_tensors_of(node);
    struct convolution c = {
        .node = node,
        .image = &graph->tensors[ordinals.image],
        .filter = &graph->tensors[ordinals.filter],
        .result = &graph->tensors[ordinals.result],
        .output = &graph->tensors[node->outputs[0]],
        .scalar = scalar,
    };
    bool has_memory = make_factor(&c, graph, 0, tensors, arena, &c.left) &&
                      make_factor(&c, graph, 1, tensors, arena, &c.right);
    for (uint32_t i = 0; has_memory && i < KILN_MAX_SPATIAL_AXES; i++)
        has_memory = make_axis(&c, i, arena, &c.axes[i]);
    if (!has_memory)
        return kiln_error_set(error, KILN_NO_MEMORY,
                              "no memory for the reference of a convolution");
    int64_t pixels = pixels_of(c.output);
    for (int64_t a = 0; a < c.output->dims[0]; a++) {
        for (int64_t b = 0; b < c.output->dims[1]; b++) {
            struct span span = span_of(&c, a, b);
            evaluate_plane(&c, &span, (a * c.output->dims[1] + b) * pixels,
                           &tensors[node->outputs[0]]);
        }
    }
    return KILN_OK;
}
