/* Grouped matrix products in double, from their definition in graph.h. */
#include "compiler/reference/interval.h"
#include "compiler/reference/node_evaluators.h"
#include "compiler/reference/reduction_reference.h"
#include "compiler/reference/sum_bound.h"

/* A row or a column of an operand. */
struct factor {
    const struct kiln_tensor *tensor;
    const struct kiln_reference_tensor *content;
    int64_t start, stride;
};

struct grouped {
    const struct kiln_graph *graph;
    const struct kiln_node *node;
    struct kiln_reference_tensor *tensors;
    enum kiln_scalar scalar;
};

static struct factor factor_of(const struct grouped *grouped, enum kiln_operand role)
{
    uint32_t tensor = kiln_node_input(grouped->node, role);
    return (struct factor){.tensor = &grouped->graph->tensors[tensor],
                           .content = &grouped->tensors[tensor]};
}

static int64_t integer_at(const struct grouped *grouped, enum kiln_operand role, int64_t index)
{
    return grouped->tensors[kiln_node_input(grouped->node, role)].integer[index];
}

static int64_t group_count(const struct grouped *grouped)
{
    return factor_of(grouped, KILN_OPERAND_FIRST_TOKEN_OFFSET).tensor->dims[0];
}

/* The first row of a group; `rows` after the last one. */
static int64_t group_start(const struct grouped *grouped, int64_t group, int64_t rows)
{
    int64_t start = 0;
    if (group == group_count(grouped))
        return rows;
    for (int64_t g = 0; g <= group; g++) {
        int64_t offset = integer_at(grouped, KILN_OPERAND_FIRST_TOKEN_OFFSET, g);
        start = offset > start ? offset : start;
    }
    return start < rows ? start : rows;
}

static struct kiln_bounded factor_element(const struct factor *factor, int64_t k)
{
    int64_t offset = factor->start + k * factor->stride;
    return (struct kiln_bounded){
        .real = factor->content->real[offset],
        .integer = factor->content->integer != NULL ? factor->content->integer[offset] : 0,
        .bound = factor->content->bound[offset],
        .dtype = factor->tensor->dtype,
    };
}

/* int8 and uint8 are added up in int32, which wraps around. */
static struct kiln_bounded integer_product(const struct factor *a, const struct factor *b,
                                           int64_t size, enum kiln_dtype dtype)
{
    uint32_t total = 0;
    bool is_exact = true;
    for (int64_t k = 0; k < size; k++) {
        struct kiln_bounded left = factor_element(a, k);
        struct kiln_bounded right = factor_element(b, k);
        is_exact = is_exact && left.bound == 0 && right.bound == 0;
        total += (uint32_t)left.integer * (uint32_t)right.integer;
    }
    int64_t value = (int32_t)total;
    return is_exact ? kiln_bounded_from_integer(value, dtype)
                    : kiln_bounded_unchecked((double)value, dtype);
}

static struct kiln_bounded product(const struct grouped *grouped, const struct factor *a,
                                   const struct factor *b, int64_t size, enum kiln_dtype dtype)
{
    const enum kiln_scalar scalar = grouped->scalar;
    if (scalar == KILN_SCALAR_I32)
        return integer_product(a, b, size, dtype);
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

static void set_element(struct kiln_reference_tensor *result, int64_t offset,
                        struct kiln_bounded value)
{
    result->real[offset] = value.real;
    result->bound[offset] = value.bound;
    if (result->integer != NULL)
        result->integer[offset] = value.integer;
}

/* The row of TOKEN that row r reads and the row of OUTPUT that it makes; -1: none. */
static int64_t token_row(const struct grouped *grouped, int64_t row)
{
    if (grouped->node->grouped_matmul.mode != KILN_GROUPED_GATHER)
        return row;
    int64_t from = integer_at(grouped, KILN_OPERAND_TOKEN_INDEX, row);
    return from >= 0 && from < factor_of(grouped, KILN_OPERAND_TOKEN).tensor->dims[1] ? from : -1;
}

static int64_t output_row(const struct grouped *grouped, int64_t row, int64_t rows)
{
    const struct kiln_grouped_matmul *attributes = &grouped->node->grouped_matmul;
    if (attributes->mode != KILN_GROUPED_SCATTER)
        return row;
    int64_t index = integer_at(grouped, KILN_OPERAND_TOKEN_INDEX, row);
    int64_t ks = integer_at(grouped, KILN_OPERAND_TOKEN_KS, row);
    int64_t to = index * attributes->top_k + ks;
    return index >= 0 && ks >= 0 && ks < attributes->top_k && to < rows ? to : -1;
}

enum kiln_status kiln_grouped_matmul_evaluate(const struct kiln_graph *graph,
                                              const struct kiln_node *node, enum kiln_scalar scalar,
                                              struct kiln_reference_tensor *tensors,
                                              struct kiln_arena *arena, struct kiln_error *error)
{
    (void)arena, (void)error;
    const struct grouped grouped = {graph, node, tensors, scalar};
    const struct kiln_tensor *output = &graph->tensors[node->outputs[0]];
    struct kiln_reference_tensor *result = &tensors[node->outputs[0]];
    struct factor token = factor_of(&grouped, KILN_OPERAND_TOKEN);
    struct factor weight = factor_of(&grouped, KILN_OPERAND_WEIGHT);
    int64_t rows = output->dims[1], columns = output->dims[2];
    int64_t size = weight.tensor->dims[1];
    token.stride = 1;
    weight.stride = columns;
    for (int64_t n = 0; n < rows * columns; n++)
        set_element(result, n, product(&grouped, &token, &weight, 0, output->dtype));
    for (int64_t g = 0; g < group_count(&grouped); g++) {
        int64_t end = group_start(&grouped, g + 1, rows);
        for (int64_t row = group_start(&grouped, g, rows); row < end; row++) {
            int64_t from = token_row(&grouped, row), to = output_row(&grouped, row, rows);
            for (int64_t n = 0; from >= 0 && to >= 0 && n < columns; n++) {
                token.start = from * size;
                weight.start = g % weight.tensor->dims[0] * size * columns + n;
                set_element(result, to * columns + n,
                            product(&grouped, &token, &weight, size, output->dtype));
            }
        }
    }
    return KILN_OK;
}

enum kiln_status kiln_grouped_matmul_backward_evaluate(
    const struct kiln_graph *graph, const struct kiln_node *node, enum kiln_scalar scalar,
    struct kiln_reference_tensor *tensors, struct kiln_arena *arena, struct kiln_error *error)
{
    (void)arena, (void)error;
    const struct grouped grouped = {graph, node, tensors, scalar};
    const struct kiln_tensor *dweight = &graph->tensors[node->outputs[0]];
    struct kiln_reference_tensor *result = &tensors[node->outputs[0]];
    struct factor token = factor_of(&grouped, KILN_OPERAND_TOKEN);
    struct factor doutput = factor_of(&grouped, KILN_OPERAND_DOUTPUT);
    int64_t rows = token.tensor->dims[1];
    int64_t depth = dweight->dims[1], columns = dweight->dims[2];
    token.stride = depth;
    doutput.stride = columns;
    for (int64_t e = 0; e < dweight->dims[0]; e++) {
        int64_t first = group_start(&grouped, e, rows);
        int64_t size = group_start(&grouped, e + 1, rows) - first;
        for (int64_t n = 0; n < depth * columns; n++) {
            token.start = first * depth + n / columns;
            doutput.start = first * columns + n % columns;
            set_element(result, e * depth * columns + n,
                        product(&grouped, &token, &doutput, size, dweight->dtype));
        }
    }
    return KILN_OK;
}
