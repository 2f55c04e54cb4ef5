/*
 * Matrix products: the value in double and its error bound. The bound covers any order of the sum,
 * and products rounded or not.
 *
 * Float and double products use sum_bound.h, with each product known to one ulp. This covers the
 * matrix units of GPUs: products of 16-bit and narrower operands are exact in float, and their sums
 * round at least as well as float's. Products of int8 and uint8 are exact in int32 and wrap around.
 *
 * An intermediate operand of 16 bits may have been divided or multiplied by a factor that is
 * constant along k. An implementation may apply that factor after the product, as it does with
 * softmax's division (compiler/ir/rewrite_attention.c). It then rounds the operand before the
 * factor, so the bound includes one more rounding.
 */
#include "compiler/reference/node_evaluators.h"

#include "compiler/reference/error_bound.h"
#include "compiler/reference/reduction_reference.h"
#include "compiler/reference/sum_bound.h"

#include <math.h>

/* One operand: its content, and where the row or column of one product is in it. */
struct factor {
    const struct kiln_tensor *tensor;
    const struct kiln_reference_tensor *content;
    int64_t start;
    int64_t stride; /* along k */
    /* To which 16 bits it may be rounded otherwise than the graph says, or at all; FLOAT: none. */
    enum kiln_dtype rounded;
};

static bool has_16_bits(const struct kiln_tensor *tensor)
{
    return tensor->dtype == KILN_DTYPE_F16 || tensor->dtype == KILN_DTYPE_BF16;
}

/* How far two roundings to a 16-bit type are apart at most, of a value and of a multiple of it that
 * is not smaller. */
static double rounding_apart(enum kiln_dtype dtype, double value)
{
    return dtype == KILN_DTYPE_F16 ? fabs(value) * 0x1p-10 + 0x1p-24 : fabs(value) * 0x1p-7;
}

static struct kiln_bounded factor_element(const struct factor *factor, int64_t k)
{
    int64_t offset = factor->start + k * factor->stride;
    struct kiln_bounded element = {
        .real = factor->content->real[offset],
        .integer = factor->content->integer != NULL ? factor->content->integer[offset] : 0,
        .bound = factor->content->bound[offset],
        .dtype = factor->tensor->dtype,
    };
    if (factor->rounded != KILN_DTYPE_F32 && isfinite(element.real))
        element.bound += rounding_apart(factor->rounded, element.real);
    return element;
}

/* True if a node divides by, or multiplies with, what has one element along an axis of its result,
 * counted from the right; or subtracts such from what is exponentiated. */
static bool scales_along(const struct kiln_graph *graph, const struct kiln_node *node,
                         bool is_exponent, uint32_t axis)
{
    bool is_ordered =
        node->pointwise.mode == (is_exponent ? KILN_POINTWISE_SUB : KILN_POINTWISE_DIV);
    if (!is_ordered && (is_exponent || node->pointwise.mode != KILN_POINTWISE_MUL))
        return false;
    for (uint32_t i = is_ordered ? 1 : 0; i < node->input_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[node->inputs[i]];
        if (axis >= tensor->rank || tensor->dims[tensor->rank - 1 - axis] == 1)
            return true;
    }
    return false;
}

/* True if an operand is scaled so on its way through elementwise nodes, `axis` being along k. */
static bool is_scaled(const struct kiln_graph *graph, uint32_t operand, uint32_t axis)
{
    enum { MAX_NODES = 8 };
    const struct kiln_tensor *tensor = &graph->tensors[operand];
    if (tensor->role != KILN_TENSOR_VIRTUAL || !has_16_bits(tensor))
        return false;
    bool is_exponent = false;
    for (int i = 0; i < MAX_NODES && tensor->producer != KILN_NONE; i++) {
        const struct kiln_node *node = &graph->nodes[tensor->producer];
        if (node->kind != KILN_NODE_POINTWISE)
            return false;
        if (scales_along(graph, node, is_exponent, axis))
            return true;
        is_exponent = node->pointwise.mode == KILN_POINTWISE_EXP;
        tensor = &graph->tensors[node->inputs[0]];
    }
    return false;
}

/* True if a tensor is computed from a product by elementwise nodes: scores of attention, perhaps
 * divided by their sums. has_exponential: whether one of the nodes is their exponential. */
static bool comes_of_product(const struct kiln_graph *graph, uint32_t tensor,
                             bool *ret_has_exponential)
{
    enum { MAX_TENSORS = 64 };
    uint32_t tensors[MAX_TENSORS] = {tensor};
    uint32_t count = 1;
    bool is_found = false;
    *ret_has_exponential = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t producer = graph->tensors[tensors[i]].producer;
        const struct kiln_node *node = producer == KILN_NONE ? NULL : &graph->nodes[producer];
        is_found |= node != NULL && node->kind == KILN_NODE_MATMUL;
        if (node == NULL || node->kind != KILN_NODE_POINTWISE)
            continue;
        *ret_has_exponential |= node->pointwise.mode == KILN_POINTWISE_EXP;
        for (uint32_t k = 0; k < node->input_count && count < MAX_TENSORS; k++)
            tensors[count++] = node->inputs[k];
    }
    return is_found;
}

/* True if all that becomes of a tensor is rounded to 16 bits before anything but elementwise nodes
 * reads it. */
static bool ends_in_16_bits(const struct kiln_graph *graph, uint32_t tensor)
{
    enum { MAX_TENSORS = 64 };
    uint32_t tensors[MAX_TENSORS] = {tensor};
    uint32_t count = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (has_16_bits(&graph->tensors[tensors[i]]))
            continue;
        if (graph->tensors[tensors[i]].role != KILN_TENSOR_VIRTUAL)
            return false;
        for (uint32_t n = 0; n < graph->node_count; n++) {
            const struct kiln_node *node = &graph->nodes[n];
            bool reads = false;
            for (uint32_t k = 0; k < node->input_count; k++)
                reads = reads || node->inputs[k] == tensors[i];
            if (reads && (node->kind != KILN_NODE_POINTWISE || count == MAX_TENSORS))
                return false;
            if (reads)
                tensors[count++] = node->outputs[0];
        }
    }
    return true;
}

/* To which type an operand may be rounded. Weights of attention that the graph does not round are
 * rounded to the type of the values where these have 16 bits and the result is rounded to 16 bits,
 * to half only exponentials: decision 30. */
static enum kiln_dtype rounded_dtype(const struct kiln_graph *graph, const struct kiln_node *node,
                                     uint32_t operand)
{
    const struct kiln_tensor *tensor = &graph->tensors[node->inputs[operand]];
    const struct kiln_tensor *other = &graph->tensors[node->inputs[1 - operand]];
    bool has_exponential;
    if (is_scaled(graph, node->inputs[operand], operand))
        return tensor->dtype;
    if (tensor->role == KILN_TENSOR_VIRTUAL && tensor->dtype == KILN_DTYPE_F32 &&
        has_16_bits(other) && ends_in_16_bits(graph, node->outputs[0]) &&
        comes_of_product(graph, node->inputs[operand], &has_exponential) &&
        (other->dtype == KILN_DTYPE_BF16 || has_exponential))
        return other->dtype;
    return KILN_DTYPE_F32;
}

/* Where, in packed content, the batch of the operand starts that batch `index` of the result reads.
 */
static int64_t batch_offset(const struct kiln_tensor *operand, const struct kiln_tensor *result,
                            int64_t index)
{
    int64_t offset = 0;
    int64_t stride = operand->dims[operand->rank - 1] * operand->dims[operand->rank - 2];
    for (uint32_t axis = result->rank - 2; axis-- > 0;) {
        int64_t repeat = result->dims[axis] / operand->dims[axis];
        offset += index % result->dims[axis] / repeat * stride;
        index /= result->dims[axis];
        stride *= operand->dims[axis];
    }
    return offset;
}

static struct kiln_bounded real_product(const struct factor *a, const struct factor *b,
                                        int64_t size, enum kiln_scalar scalar,
                                        enum kiln_dtype dtype)
{
    const struct kiln_arithmetic *arithmetic = kiln_arithmetic_of(scalar);
    struct kiln_bounded_sum sum = {0};
    for (int64_t k = 0; k < size; k++) {
        struct kiln_bounded left = factor_element(a, k);
        struct kiln_bounded right = factor_element(b, k);
        kiln_bounded_sum_add(&sum, kiln_interval_mul(kiln_interval_of(&left, scalar),
                                                     kiln_interval_of(&right, scalar), arithmetic));
    }
    struct kiln_interval total = kiln_bounded_sum_total(&sum, arithmetic);
    return kiln_interval_store(&total, dtype);
}

/* Exact operands only: of inexact ones nothing is known, since a jump of one is a jump of the sum
 * by the other factor. */
static struct kiln_bounded integer_product(const struct factor *a, const struct factor *b,
                                           int64_t size, enum kiln_dtype dtype)
{
    uint32_t total = 0;
    bool exact = true;
    for (int64_t k = 0; k < size; k++) {
        struct kiln_bounded left = factor_element(a, k);
        struct kiln_bounded right = factor_element(b, k);
        exact = exact && left.bound == 0 && right.bound == 0;
        total += (uint32_t)left.integer * (uint32_t)right.integer;
    }
    int64_t value = (int32_t)total;
    return exact ? kiln_bounded_from_integer(value, dtype)
                 : kiln_bounded_unchecked((double)value, dtype);
}

enum kiln_status kiln_matmul_evaluate(const struct kiln_graph *graph, const struct kiln_node *node,
                                      enum kiln_scalar scalar,
                                      struct kiln_reference_tensor *tensors,
                                      struct kiln_arena *arena, struct kiln_error *error)
{
    (void)arena, (void)error;
    const struct kiln_tensor *c = &graph->tensors[node->outputs[0]];
    struct kiln_reference_tensor *result = &tensors[node->outputs[0]];
    struct factor a = {.tensor = &graph->tensors[node->inputs[0]],
                       .content = &tensors[node->inputs[0]],
                       .stride = 1,
                       .rounded = rounded_dtype(graph, node, 0)};
    struct factor b = {.tensor = &graph->tensors[node->inputs[1]],
                       .content = &tensors[node->inputs[1]],
                       .stride = c->dims[c->rank - 1],
                       .rounded = rounded_dtype(graph, node, 1)};
    int64_t columns = c->dims[c->rank - 1];
    int64_t rows = c->dims[c->rank - 2];
    int64_t size = a.tensor->dims[c->rank - 1];
    int64_t elements = kiln_tensor_elements(c);
    for (int64_t n = 0; n < elements; n++) {
        int64_t batch = n / columns / rows;
        a.start = batch_offset(a.tensor, c, batch) + n / columns % rows * size;
        b.start = batch_offset(b.tensor, c, batch) + n % columns;
        struct kiln_bounded value = scalar == KILN_SCALAR_I32
                                        ? integer_product(&a, &b, size, c->dtype)
                                        : real_product(&a, &b, size, scalar, c->dtype);
        result->real[n] = value.real;
        result->bound[n] = value.bound;
        if (result->integer != NULL)
            result->integer[n] = value.integer;
    }
    return KILN_OK;
}
