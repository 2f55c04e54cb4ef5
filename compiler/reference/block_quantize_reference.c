/* Block-scale quantisation in double, from its definition in graph.h. */
#include "compiler/reference/interval.h"
#include "compiler/reference/node_evaluators.h"
#include "compiler/reference/round_up.h"

#include <math.h>

struct quantisation {
    const struct kiln_tensor *x, *y, *scale;
    const struct kiln_reference_tensor *input;
    struct kiln_reference_tensor *elements, *scales;
    enum kiln_scalar scalar;
    int64_t size, inner; /* of the axis of blocks; elements of the axes after it */
};

static struct kiln_interval element(const struct quantisation *quantisation, int64_t offset)
{
    const struct kiln_reference_tensor *input = quantisation->input;
    const struct kiln_bounded element = {
        .real = input->real[offset],
        .integer = input->integer != NULL ? input->integer[offset] : 0,
        .bound = input->bound[offset],
        .dtype = quantisation->x->dtype,
    };
    return kiln_interval_of(&element, quantisation->scalar);
}

/* Rounding up is monotone, so the ends of the scale come from the ends of the largest magnitude. */
static struct kiln_interval scale_of(const struct quantisation *quantisation,
                                     struct kiln_interval amax)
{
    double largest = kiln_dtype_largest(quantisation->y->dtype);
    double *const ends[] = {&amax.value, &amax.low, &amax.high};
    if (!kiln_interval_is_finite(&amax))
        return kiln_interval_unknown(0);
    for (uint32_t i = 0; i < 3; i++)
        *ends[i] = kiln_round_up_to_dtype(quantisation->scale->dtype, *ends[i] / largest);
    return amax;
}

/* A division by a certain power of two is exact, any other one off by an ulp. */
static struct kiln_interval quotient_of(const struct quantisation *quantisation,
                                        struct kiln_interval x, struct kiln_interval scale)
{
    const struct kiln_arithmetic *arithmetic = kiln_arithmetic_of(quantisation->scalar);
    int exponent;
    if (scale.high == 0)
        return (struct kiln_interval){0, 0, 0};
    if (scale.low == 0 || kiln_interval_is_unknown(&scale))
        return kiln_interval_unknown(0);
    double ends[] = {x.low / scale.low, x.low / scale.high, x.high / scale.low,
                     x.high / scale.high};
    struct kiln_interval result = {x.value / scale.value, ends[0], ends[0]};
    for (uint32_t i = 1; i < 4; i++) {
        result.low = kiln_lower_of(result.low, ends[i]);
        result.high = kiln_higher_of(result.high, ends[i]);
    }
    bool is_exact = scale.low == scale.high && frexp(scale.low, &exponent) == 0.5;
    if (is_exact && kiln_interval_magnitude(&result) >= 0x1p-100)
        return result;
    /* No element is larger than its type's largest number, so nothing overflows. */
    double error = is_exact ? 0 : arithmetic->ulp * kiln_interval_magnitude(&result);
    result.low -= error + arithmetic->tiny;
    result.high += error + arithmetic->tiny;
    return result;
}

static void put(struct kiln_reference_tensor *content, int64_t offset, struct kiln_bounded value)
{
    content->real[offset] = value.real;
    content->bound[offset] = value.bound;
    if (content->integer != NULL)
        content->integer[offset] = value.integer;
}

/* Rounding to half, bfloat16 and float does not saturate by itself; to all other types it does. */
static struct kiln_interval limit(struct kiln_interval value, enum kiln_dtype dtype)
{
    double *const ends[] = {&value.value, &value.low, &value.high};
    double largest = kiln_dtype_largest(dtype);
    if (kiln_interval_is_unknown(&value) || kiln_dtype_is_integer(dtype))
        return value;
    for (uint32_t i = 0; i < 3; i++)
        *ends[i] = fmax(fmin(*ends[i], largest), -largest);
    return value;
}

/* The elements from offset `first` on, `inner` apart. */
static void evaluate_block(const struct quantisation *quantisation, int64_t first, int64_t count,
                           int64_t scale_offset)
{
    struct kiln_interval amax = {0, 0, 0};
    bool is_finite = true;
    for (int64_t i = 0; i < count; i++) {
        struct kiln_interval x = element(quantisation, first + i * quantisation->inner);
        is_finite &= kiln_interval_is_finite(&x);
        x = kiln_interval_abs(x);
        amax.value = fmax(amax.value, x.value);
        amax.low = fmax(amax.low, x.low);
        amax.high = fmax(amax.high, x.high);
    }
    struct kiln_interval scale =
        is_finite ? scale_of(quantisation, amax) : kiln_interval_unknown(0);
    put(quantisation->scales, scale_offset,
        kiln_interval_store(&scale, quantisation->scale->dtype));
    for (int64_t i = 0; i < count; i++) {
        int64_t offset = first + i * quantisation->inner;
        struct kiln_interval x = element(quantisation, offset);
        struct kiln_interval y =
            is_finite ? quotient_of(quantisation, x, scale) : kiln_interval_unknown(0);
        y = limit(y, quantisation->y->dtype);
        put(quantisation->elements, offset, kiln_interval_store(&y, quantisation->y->dtype));
    }
}

enum kiln_status kiln_block_quantize_evaluate(const struct kiln_graph *graph,
                                              const struct kiln_node *node, enum kiln_scalar scalar,
                                              struct kiln_reference_tensor *tensors,
                                              struct kiln_arena *arena, struct kiln_error *error)
{
    (void)arena, (void)error;
    const struct kiln_block_quantize *attributes = &node->block_quantize;
    struct quantisation quantisation = {
        .x = &graph->tensors[node->inputs[0]],
        .y = &graph->tensors[node->outputs[0]],
        .scale = &graph->tensors[node->outputs[1]],
        .input = &tensors[node->inputs[0]],
        .elements = &tensors[node->outputs[0]],
        .scales = &tensors[node->outputs[1]],
        .scalar = scalar,
        .size = graph->tensors[node->inputs[0]].dims[attributes->axis],
        .inner = 1,
    };
    for (uint32_t i = attributes->axis + 1; i < quantisation.x->rank; i++)
        quantisation.inner *= quantisation.x->dims[i];
    int64_t blocks = (quantisation.size - 1) / attributes->block_size + 1;
    int64_t rows = kiln_tensor_elements(quantisation.scale) / blocks; /* along the axis */
    for (int64_t row = 0; row < rows; row++) {
        int64_t outer = row / quantisation.inner;
        int64_t inner = row % quantisation.inner;
        for (int64_t block = 0; block < blocks; block++) {
            int64_t begin = block * attributes->block_size;
            int64_t count = quantisation.size - begin < attributes->block_size
                                ? quantisation.size - begin
                                : attributes->block_size;
            evaluate_block(&quantisation,
                           (outer * quantisation.size + begin) * quantisation.inner + inner, count,
                           (outer * blocks + block) * quantisation.inner + inner);
        }
    }
    return KILN_OK;
}
