/* Pooling and its gradients in double, from their definitions in graph.h. */
#include "compiler/reference/interval.h"
#include "compiler/reference/node_evaluators.h"
#include "compiler/reference/sum_bound.h"

#include <float.h>
#include <math.h>

/* Images and results are [n * c][depth][height][width]; absent axes have size 1. */
struct pooling {
    const struct kiln_graph *graph;
    const struct kiln_node *node;
    const struct kiln_reference_tensor *content; /* of x or dy */
    const struct kiln_reference_tensor *index;   /* of what is read; NULL: there is none */
    enum kiln_scalar scalar;
    int64_t image[KILN_MAX_SPATIAL_AXES];  /* x, or dx */
    int64_t result[KILN_MAX_SPATIAL_AXES]; /* y, or dy */
    int64_t window[KILN_MAX_SPATIAL_AXES];
    int64_t stride[KILN_MAX_SPATIAL_AXES];
    int64_t padding[KILN_MAX_SPATIAL_AXES];
    int64_t taps;
};

static struct pooling view(const struct kiln_graph *graph, const struct kiln_node *node,
                           enum kiln_scalar scalar, const struct kiln_reference_tensor *tensors)
{
    const struct kiln_resample *resample = &node->resample;
    bool is_forward = node->kind == KILN_NODE_RESAMPLE_FORWARD;
    uint32_t image = is_forward ? node->inputs[0] : node->outputs[0];
    uint32_t result = is_forward ? node->outputs[0] : node->inputs[0];
    uint32_t index = kiln_node_input(node, KILN_OPERAND_INDEX);
    uint32_t absent = KILN_MAX_SPATIAL_AXES - resample->spatial_count;
    struct pooling pooling = {.graph = graph,
                              .node = node,
                              .content = &tensors[node->inputs[0]],
                              .index = index == KILN_NONE ? NULL : &tensors[index],
                              .scalar = scalar,
                              .taps = 1};
    for (uint32_t i = 0; i < KILN_MAX_SPATIAL_AXES; i++) {
        bool is_there = i >= absent;
        uint32_t axis = i - absent;
        pooling.image[i] = is_there ? graph->tensors[image].dims[axis + 2] : 1;
        pooling.result[i] = is_there ? graph->tensors[result].dims[axis + 2] : 1;
        pooling.window[i] = is_there ? resample->window[axis] : 1;
        pooling.stride[i] = is_there ? resample->stride[axis] : 1;
        pooling.padding[i] = is_there ? resample->pre_padding[axis] : 0;
        pooling.taps *= pooling.window[i];
    }
    return pooling;
}

/* Steps to the next row-major position; false after the last one. */
static bool next_position(const int64_t *sizes, int64_t *position)
{
    for (uint32_t i = KILN_MAX_SPATIAL_AXES; i-- > 0;) {
        if (++position[i] < sizes[i])
            return true;
        position[i] = 0;
    }
    return false;
}

/* The row-major number of a position; -1: it is outside. */
static int64_t number_of(const int64_t *sizes, const int64_t *position)
{
    int64_t number = 0;
    for (uint32_t i = 0; i < KILN_MAX_SPATIAL_AXES; i++) {
        if (position[i] < 0 || position[i] >= sizes[i])
            return -1;
        number = number * sizes[i] + position[i];
    }
    return number;
}

static int64_t count_positions(const int64_t *sizes)
{
    return sizes[0] * sizes[1] * sizes[2];
}

/* An element of what is read. */
static struct kiln_interval read_element(const struct pooling *pooling, int64_t number)
{
    const struct kiln_reference_tensor *content = pooling->content;
    const struct kiln_bounded element = {
        .real = content->real[number],
        .integer = content->integer != NULL ? content->integer[number] : 0,
        .bound = content->bound[number],
        .dtype = pooling->graph->tensors[pooling->node->inputs[0]].dtype,
    };
    return kiln_interval_of(&element, pooling->scalar);
}

/* Positions of the image that a window of `position` has. */
static int64_t count_elements(const struct pooling *pooling, const int64_t *position)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < KILN_MAX_SPATIAL_AXES; i++) {
        int64_t begin = position[i] * pooling->stride[i] - pooling->padding[i];
        int64_t end = begin + pooling->window[i];
        begin = begin < 0 ? 0 : begin;
        end = end > pooling->image[i] ? pooling->image[i] : end;
        count *= end > begin ? end - begin : 0;
    }
    return count;
}

static double divisor_of(const struct pooling *pooling, const int64_t *position)
{
    if (pooling->node->resample.mode == KILN_POOLING_MEAN_OF_WINDOW)
        return (double)pooling->taps;
    int64_t count = count_elements(pooling, position);
    return (double)(count < 1 ? 1 : count);
}

/* ---- forward ---- */

/* The number of the image's element at a tap; -1 in padding. */
static int64_t element_at(const struct pooling *pooling, const int64_t *position,
                          const int64_t *tap)
{
    int64_t at[KILN_MAX_SPATIAL_AXES];
    for (uint32_t i = 0; i < KILN_MAX_SPATIAL_AXES; i++)
        at[i] = position[i] * pooling->stride[i] + tap[i] - pooling->padding[i];
    return number_of(pooling->image, at);
}

/* The candidate of a tap; false if it is not visited, or NaN. */
static bool find_candidate(const struct pooling *pooling, int64_t plane, const int64_t *position,
                           const int64_t *tap, int64_t *ret_number, struct kiln_interval *ret_x)
{
    *ret_number = element_at(pooling, position, tap);
    if (*ret_number < 0) {
        *ret_x = (struct kiln_interval){0, 0, 0};
        return pooling->node->resample.pads_zeros;
    }
    *ret_x = read_element(pooling, plane * count_positions(pooling->image) + *ret_number);
    return !isnan(ret_x->low);
}

/* The largest number of a window: where it is, and all that it may be. */
struct largest {
    struct kiln_interval value;
    int64_t index;
    struct kiln_interval winner; /* the element at the index */
    bool is_unknown;
};

/* Takes an element into the result; an unknown one makes the result unknown. */
static void take(struct kiln_interval x, int64_t number, struct largest *largest)
{
    struct kiln_interval *result = &largest->value;
    if (kiln_interval_is_unknown(&x) || (!kiln_interval_is_finite(&x) && x.low != x.high)) {
        largest->is_unknown = true;
        return;
    }
    if (x.value > result->value) {
        largest->index = number;
        largest->winner = x;
    }
    /* A kernel may take 0 or -0: the lower end is -0, the higher one 0. */
    bool are_zeros = result->low == 0 && x.low == 0;
    result->value = kiln_higher_of(result->value, x.value);
    result->low =
        are_zeros ? kiln_lower_of(result->low, x.low) : kiln_higher_of(result->low, x.low);
    result->high = kiln_higher_of(result->high, x.high);
}

static struct largest find_largest(const struct pooling *pooling, int64_t plane,
                                   const int64_t *position)
{
    double lowest = pooling->scalar == KILN_SCALAR_F64 ? -DBL_MAX : -(double)FLT_MAX;
    struct kiln_interval begin = {lowest, lowest, lowest};
    struct largest largest = {.value = begin, .index = -1, .winner = begin};
    int64_t tap[KILN_MAX_SPATIAL_AXES] = {0};
    do {
        int64_t number;
        struct kiln_interval x;
        if (find_candidate(pooling, plane, position, tap, &number, &x))
            take(x, number, &largest);
    } while (next_position(pooling->window, tap));
    if (largest.is_unknown)
        largest.value = kiln_interval_unknown(largest.value.value);
    return largest;
}

static bool is_exact(struct kiln_interval a)
{
    return a.low == a.high;
}

/* True if another element may be the largest in an implementation. */
static bool may_lose(const struct pooling *pooling, int64_t plane, const int64_t *position,
                     const struct largest *largest)
{
    int64_t tap[KILN_MAX_SPATIAL_AXES] = {0};
    bool may = largest->is_unknown;
    do {
        int64_t number;
        struct kiln_interval x;
        if (!find_candidate(pooling, plane, position, tap, &number, &x) || number == largest->index)
            continue;
        bool is_certain = is_exact(x) && is_exact(largest->winner);
        may = may || (!is_certain && !(x.high < largest->winner.low));
    } while (next_position(pooling->window, tap));
    return may;
}

static struct kiln_interval find_mean(const struct pooling *pooling, int64_t plane,
                                      const int64_t *position)
{
    const struct kiln_arithmetic *arithmetic = kiln_arithmetic_of(pooling->scalar);
    struct kiln_bounded_sum sum = {0};
    int64_t tap[KILN_MAX_SPATIAL_AXES] = {0};
    do {
        int64_t number = element_at(pooling, position, tap);
        if (number >= 0)
            kiln_bounded_sum_add(
                &sum, read_element(pooling, plane * count_positions(pooling->image) + number));
    } while (next_position(pooling->window, tap));
    return kiln_interval_divide(kiln_bounded_sum_total(&sum, arithmetic),
                                divisor_of(pooling, position), arithmetic);
}

static void put(struct kiln_reference_tensor *tensor, int64_t n, struct kiln_bounded value)
{
    tensor->real[n] = value.real;
    tensor->bound[n] = value.bound;
    if (tensor->integer != NULL)
        tensor->integer[n] = value.integer;
}

enum kiln_status kiln_resample_evaluate(const struct kiln_graph *graph,
                                        const struct kiln_node *node, enum kiln_scalar scalar,
                                        struct kiln_reference_tensor *tensors,
                                        struct kiln_arena *arena, struct kiln_error *error)
{
    (void)arena, (void)error;
    const struct pooling pooling = view(graph, node, scalar, tensors);
    const struct kiln_tensor *y = &graph->tensors[node->outputs[0]];
    uint32_t index = kiln_node_output(node, KILN_OPERAND_INDEX);
    int64_t n = 0;
    for (int64_t plane = 0; plane < y->dims[0] * y->dims[1]; plane++) {
        int64_t position[KILN_MAX_SPATIAL_AXES] = {0};
        do {
            struct largest largest = {.index = -1};
            bool is_max = node->resample.mode == KILN_POOLING_MAX;
            if (is_max)
                largest = find_largest(&pooling, plane, position);
            else
                largest.value = find_mean(&pooling, plane, position);
            put(&tensors[node->outputs[0]], n, kiln_interval_store(&largest.value, y->dtype));
            if (index != KILN_NONE) {
                enum kiln_dtype dtype = graph->tensors[index].dtype;
                bool may = is_max && may_lose(&pooling, plane, position, &largest);
                put(&tensors[index], n,
                    may ? kiln_bounded_unchecked((double)largest.index, dtype)
                        : kiln_bounded_from_integer(largest.index, dtype));
            }
            n++;
        } while (next_position(pooling.result, position));
    }
    return KILN_OK;
}

/* ---- backward ---- */

/* The window that has position p at this tap; false if there is none. */
static bool find_window(const struct pooling *pooling, const int64_t *p, const int64_t *tap,
                        int64_t *ret_window)
{
    for (uint32_t i = 0; i < KILN_MAX_SPATIAL_AXES; i++) {
        int64_t begin = p[i] + pooling->padding[i] - tap[i];
        if (begin < 0 || begin % pooling->stride[i] != 0)
            return false;
        ret_window[i] = begin / pooling->stride[i];
    }
    return number_of(pooling->result, ret_window) >= 0;
}

static struct kiln_interval find_gradient(const struct pooling *pooling, int64_t plane,
                                          const int64_t *p)
{
    const struct kiln_arithmetic *arithmetic = kiln_arithmetic_of(pooling->scalar);
    enum kiln_pooling_mode mode = pooling->node->resample.mode;
    struct kiln_bounded_sum sum = {0};
    struct kiln_bounded_sum undivided = {0}; /* an implementation may divide it, where it can */
    int64_t tap[KILN_MAX_SPATIAL_AXES] = {0};
    bool is_unknown = false;
    do {
        int64_t window[KILN_MAX_SPATIAL_AXES];
        if (!find_window(pooling, p, tap, window))
            continue;
        int64_t n = plane * count_positions(pooling->result) + number_of(pooling->result, window);
        struct kiln_interval dy = read_element(pooling, n);
        if (mode == KILN_POOLING_MAX) {
            is_unknown = is_unknown || isinf(pooling->index->bound[n]);
            if (pooling->index->integer[n] != number_of(pooling->image, p))
                continue;
        } else if (mode == KILN_POOLING_MEAN_OF_IMAGE) {
            kiln_bounded_sum_add(&undivided, dy);
            dy = kiln_interval_divide(dy, divisor_of(pooling, window), arithmetic);
        }
        kiln_bounded_sum_add(&sum, dy);
    } while (next_position(pooling->window, tap));
    struct kiln_interval total = kiln_bounded_sum_total(&sum, arithmetic);
    struct kiln_interval whole = kiln_bounded_sum_total(&undivided, arithmetic);
    is_unknown = is_unknown || kiln_interval_is_unknown(&whole);
    if (mode == KILN_POOLING_MEAN_OF_WINDOW)
        total = kiln_interval_divide(total, (double)pooling->taps, arithmetic);
    return is_unknown ? kiln_interval_unknown(total.value) : total;
}

enum kiln_status kiln_resample_backward_evaluate(const struct kiln_graph *graph,
                                                 const struct kiln_node *node,
                                                 enum kiln_scalar scalar,
                                                 struct kiln_reference_tensor *tensors,
                                                 struct kiln_arena *arena, struct kiln_error *error)
{
    (void)arena, (void)error;
    const struct pooling pooling = view(graph, node, scalar, tensors);
    const struct kiln_tensor *dx = &graph->tensors[node->outputs[0]];
    int64_t n = 0;
    for (int64_t plane = 0; plane < dx->dims[0] * dx->dims[1]; plane++) {
        int64_t p[KILN_MAX_SPATIAL_AXES] = {0};
        do {
            struct kiln_interval gradient = find_gradient(&pooling, plane, p);
            put(&tensors[node->outputs[0]], n++, kiln_interval_store(&gradient, dx->dtype));
        } while (next_position(pooling.image, p));
    }
    return KILN_OK;
}
