/* Block scaling in double, from its definition in graph.h. */
#include "compiler/reference/interval.h"
#include "compiler/reference/node_evaluators.h"

#include <math.h>

static struct kiln_interval element(const struct kiln_tensor *tensor,
                                    const struct kiln_reference_tensor *content, int64_t n,
                                    enum kiln_scalar scalar)
{
    const struct kiln_bounded bounded = {
        .real = content->real[n],
        .integer = content->integer != NULL ? content->integer[n] : 0,
        .bound = content->bound[n],
        .dtype = tensor->dtype,
    };
    return kiln_interval_of(&bounded, scalar);
}

/* The number of the block of element n. */
static int64_t block_of(const struct kiln_node *node, const struct kiln_tensor *x,
                        const struct kiln_tensor *scale, int64_t n)
{
    int64_t block = 0, stride = 1;
    for (uint32_t i = x->rank; i-- > 0;) {
        block += n % x->dims[i] / node->block_scale.blocks[i] * stride;
        n /= x->dims[i];
        stride *= scale->dims[i];
    }
    return block;
}

/* 2^-a, within 4 ulps. */
static struct kiln_interval power_of_minus(struct kiln_interval a,
                                           const struct kiln_arithmetic *arithmetic)
{
    struct kiln_interval power = {exp2(-a.value), exp2(-a.high), exp2(-a.low)};
    if (isnan(a.value))
        return a;
    if (kiln_interval_is_unknown(&a) || power.high >= arithmetic->overflow ||
        (isinf(a.value) && a.low != a.high))
        return kiln_interval_unknown(power.value);
    if (isinf(a.value))
        return power;
    double error = 4 * arithmetic->ulp * power.high + arithmetic->tiny;
    return kiln_interval_widen(power, error, arithmetic);
}

enum kiln_status kiln_dequantize_evaluate(const struct kiln_graph *graph,
                                          const struct kiln_node *node, enum kiln_scalar scalar,
                                          struct kiln_reference_tensor *tensors,
                                          struct kiln_arena *arena, struct kiln_error *error)
{
    (void)arena, (void)error;
    const struct kiln_arithmetic *arithmetic = kiln_arithmetic_of(scalar);
    const struct kiln_tensor *x = &graph->tensors[node->inputs[0]];
    const struct kiln_tensor *scale = &graph->tensors[node->inputs[1]];
    struct kiln_reference_tensor *result = &tensors[node->outputs[0]];
    enum kiln_dtype dtype = graph->tensors[node->outputs[0]].dtype;
    int64_t elements = kiln_tensor_elements(x);
    for (int64_t n = 0; n < elements; n++) {
        struct kiln_interval factor =
            element(scale, &tensors[node->inputs[1]], block_of(node, x, scale, n), scalar);
        if (node->block_scale.is_negative)
            factor = power_of_minus(factor, arithmetic);
        struct kiln_interval product =
            kiln_interval_mul(element(x, &tensors[node->inputs[0]], n, scalar), factor, arithmetic);
        struct kiln_bounded value = kiln_interval_store(&product, dtype);
        result->real[n] = value.real;
        result->bound[n] = value.bound;
        if (result->integer != NULL)
            result->integer[n] = value.integer;
    }
    return KILN_OK;
}
