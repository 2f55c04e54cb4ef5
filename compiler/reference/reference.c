#include "compiler/reference/reference.h"
#include "compiler/ir/import.h"
#include "compiler/reference/convert.h"
#include "compiler/reference/error_bound.h"
#include "compiler/reference/node_evaluators.h"
#include "compiler/reference/ragged_memory.h"
#include "compiler/reference/reduction_reference.h"
#include "compiler/reference/tensor_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Walks the logical indices of a shape in row-major order, and an element offset under strides
 * beside it. */
struct cursor {
    uint32_t rank;
    const int64_t *dims;
    int64_t strides[KILN_MAX_RANK];
    int64_t index[KILN_MAX_RANK];
    int64_t offset;
    const struct kiln_span *spans; /* of a ragged tensor's batches, or NULL */
};

/* True if the element is in memory. */
static bool is_present(const struct cursor *cursor)
{
    return cursor->spans == NULL || cursor->index[KILN_RAGGED_SEQUENCE] <
                                        cursor->spans[cursor->index[KILN_RAGGED_BATCH]].length;
}

/* Where it is. */
static int64_t place_of(const struct cursor *cursor)
{
    int64_t base = cursor->spans != NULL ? cursor->spans[cursor->index[KILN_RAGGED_BATCH]].base : 0;
    return base + cursor->offset;
}

static void cursor_next(struct cursor *cursor)
{
    for (uint32_t axis = cursor->rank; axis-- > 0;) {
        cursor->offset += cursor->strides[axis];
        if (++cursor->index[axis] < cursor->dims[axis])
            return;
        cursor->offset -= cursor->strides[axis] * cursor->dims[axis];
        cursor->index[axis] = 0;
    }
}

/* Over the tensor's own memory. */
static struct cursor cursor_of_memory(const struct kiln_tensor *tensor,
                                      const struct kiln_span *spans)
{
    struct cursor cursor = {.rank = tensor->rank, .dims = tensor->dims, .spans = spans};
    for (uint32_t axis = 0; axis < tensor->rank; axis++)
        cursor.strides[axis] = tensor->strides[axis];
    return cursor;
}

/* Over the packed content of `operand` as it is broadcast, right-aligned, to the shape of `result`.
 */
static struct cursor cursor_of_operand(const struct kiln_tensor *operand,
                                       const struct kiln_tensor *result)
{
    struct cursor cursor = {.rank = result->rank, .dims = result->dims};
    int64_t stride = 1;
    for (uint32_t i = 1; i <= operand->rank && i <= result->rank; i++) {
        int64_t dim = operand->dims[operand->rank - i];
        cursor.strides[result->rank - i] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
    return cursor;
}

static struct kiln_bounded element(const struct kiln_reference_tensor *content,
                                   enum kiln_dtype dtype, int64_t offset)
{
    return (struct kiln_bounded){
        .real = content->real[offset],
        .integer = content->integer != NULL ? content->integer[offset] : 0,
        .bound = content->bound[offset],
        .dtype = dtype,
    };
}

enum kiln_status kiln_pointwise_evaluate(const struct kiln_graph *graph,
                                         const struct kiln_node *node, enum kiln_scalar scalar,
                                         struct kiln_reference_tensor *tensors,
                                         struct kiln_arena *arena, struct kiln_error *error)
{
    (void)arena, (void)error;
    const struct kiln_tensor *output = &graph->tensors[node->outputs[0]];
    struct kiln_reference_tensor *result = &tensors[node->outputs[0]];
    bool is_index = node->pointwise.mode == KILN_POINTWISE_GEN_INDEX;
    struct cursor position = cursor_of_memory(output, NULL);
    struct cursor cursors[KILN_MAX_NODE_OPERANDS];
    struct kiln_bounded operands[KILN_MAX_NODE_OPERANDS];
    for (uint32_t i = 0; i < node->input_count; i++)
        cursors[i] = cursor_of_operand(&graph->tensors[node->inputs[i]], output);
    int64_t elements = kiln_tensor_elements(output);
    for (int64_t n = 0; n < elements; n++) {
        struct kiln_bounded value;
        if (is_index) {
            value = kiln_bounded_from_integer(position.index[node->pointwise.axis], output->dtype);
        } else {
            for (uint32_t i = 0; i < node->input_count; i++)
                operands[i] = element(&tensors[node->inputs[i]],
                                      graph->tensors[node->inputs[i]].dtype, cursors[i].offset);
            value = kiln_bounded_evaluate(&node->pointwise, scalar, operands, output->dtype);
        }
        result->real[n] = value.real;
        result->bound[n] = value.bound;
        if (result->integer != NULL)
            result->integer[n] = value.integer;
        cursor_next(&position);
        for (uint32_t i = 0; i < node->input_count; i++)
            cursor_next(&cursors[i]);
    }
    return KILN_OK;
}

enum kiln_status kiln_reduction_evaluate(const struct kiln_graph *graph,
                                         const struct kiln_node *node, enum kiln_scalar scalar,
                                         struct kiln_reference_tensor *tensors,
                                         struct kiln_arena *arena, struct kiln_error *error)
{
    const struct kiln_tensor *in = &graph->tensors[node->inputs[0]];
    const struct kiln_tensor *out = &graph->tensors[node->outputs[0]];
    struct kiln_reference_tensor *result = &tensors[node->outputs[0]];
    struct kiln_tensor_rows rows;
    kiln_tensor_rows_init(&rows, in, node->reduction.axes);
    struct kiln_row_view view = kiln_row_view_of(&rows, in);
    struct kiln_bounded *row = kiln_arena_calloc(arena, (size_t)rows.row_length, sizeof *row);
    if (row == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for the reference of a reduction");
    for (int64_t n = 0; n < rows.row_count; n++) {
        for (int64_t i = 0; i < rows.row_length; i++)
            row[i] = element(&tensors[node->inputs[0]], in->dtype,
                             kiln_row_view_offset(&rows, &view, n, i));
        struct kiln_bounded value =
            kiln_bounded_reduce(node->reduction.mode, scalar, row, rows.row_length, out->dtype);
        result->real[n] = value.real;
        result->bound[n] = value.bound;
        if (result->integer != NULL)
            result->integer[n] = value.integer;
    }
    return KILN_OK;
}

static enum kiln_status evaluate_node(const struct kiln_graph *graph, const struct kiln_node *node,
                                      struct kiln_reference_tensor *tensors,
                                      struct kiln_arena *arena, struct kiln_error *error)
{
    static kiln_node_evaluator *const evaluators[KILN_NODE_KIND_COUNT] = {
#define KILN_NODE_KIND(name, text, attributes, importer, evaluator, scalar, weight)                \
    kiln_##evaluator##_evaluate,
#include "compiler/graph/node_kind.def"
    };
    return evaluators[node->kind](graph, node, kiln_node_scalar(graph, node), tensors, arena,
                                  error);
}

static void set_element(struct kiln_reference_tensor *content, int64_t n,
                        struct kiln_constant value)
{
    content->real[n] = content->integer != NULL ? (double)value.integer : value.real;
    if (content->integer != NULL)
        content->integer[n] = value.integer;
}

static enum kiln_status allocate(const struct kiln_tensor *tensor, struct kiln_arena *arena,
                                 struct kiln_reference_tensor *ret_content,
                                 struct kiln_error *error)
{
    size_t elements = (size_t)kiln_tensor_elements(tensor);
    struct kiln_reference_tensor content = {0};
    content.real = kiln_arena_calloc(arena, elements, sizeof *content.real);
    content.bound = kiln_arena_calloc(arena, elements, sizeof *content.bound);
    if (kiln_dtype_is_integer(tensor->dtype))
        content.integer = kiln_arena_calloc(arena, elements, sizeof *content.integer);
    if (content.real == NULL || content.bound == NULL ||
        (content.integer == NULL && kiln_dtype_is_integer(tensor->dtype)))
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for %zu reference elements",
                              elements);
    *ret_content = content;
    return KILN_OK;
}

/* Fills a tensor that no node makes. */
static enum kiln_status read_tensor(const struct kiln_graph *graph, uint32_t ordinal,
                                    const void *memory, struct kiln_reference_tensor *content,
                                    struct kiln_error *error)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    if (tensor->role == KILN_TENSOR_CONSTANT) {
        set_element(content, 0, tensor->constant);
        return KILN_OK;
    }
    if (memory == NULL)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "no memory was given for input tensor '%s' (uid %" PRId64 ")",
                              tensor->name, tensor->uid);
    struct cursor cursor = cursor_of_memory(tensor, content->spans);
    int64_t elements = kiln_tensor_elements(tensor);
    for (int64_t n = 0; n < elements; n++) {
        if (is_present(&cursor))
            set_element(content, n, kiln_element_load_at(tensor->dtype, memory, place_of(&cursor)));
        cursor_next(&cursor);
    }
    return KILN_OK;
}

/* Finds where the batches of ragged tensors lie. Their offsets are inputs. */
static enum kiln_status find_spans(const struct kiln_graph *graph, const void *const *memory,
                                   struct kiln_reference_tensor *tensors, struct kiln_arena *arena,
                                   struct kiln_error *error)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (!kiln_tensor_is_ragged(tensor))
            continue;
        struct kiln_span *spans =
            kiln_arena_calloc(arena, (size_t)tensor->dims[KILN_RAGGED_BATCH], sizeof *spans);
        if (spans == NULL)
            return kiln_error_set(error, KILN_NO_MEMORY, "no memory for the reference");
        if (memory[tensor->ragged.offsets] == NULL)
            return kiln_error_set(error, KILN_BAD_ARGUMENT,
                                  "no memory was given for the offsets of tensor '%s' (uid %" PRId64
                                  ")",
                                  tensor->name, tensor->uid);
        kiln_ragged_read_spans(graph, i, memory[tensor->ragged.offsets], spans);
        tensors[i].spans = spans;
    }
    return KILN_OK;
}

enum kiln_status kiln_reference_run(const struct kiln_graph *graph, const void *const *memory,
                                    struct kiln_arena *arena,
                                    struct kiln_reference_tensor *ret_tensors,
                                    struct kiln_error *error)
{
    struct kiln_reference_tensor *tensors =
        kiln_arena_calloc(arena, graph->tensor_count, sizeof *tensors);
    if (tensors == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for the reference");
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        enum kiln_status status = allocate(&graph->tensors[i], arena, &tensors[i], error);
        if (status != KILN_OK)
            return status;
    }
    enum kiln_status found = find_spans(graph, memory, tensors, arena, error);
    if (found != KILN_OK)
        return found;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        enum kiln_status status = KILN_OK;
        if (graph->tensors[i].producer == KILN_NONE)
            status = read_tensor(graph, i, memory[i], &tensors[i], error);
        if (status != KILN_OK)
            return status;
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        enum kiln_status status = evaluate_node(graph, &graph->nodes[i], tensors, arena, error);
        if (status != KILN_OK)
            return status;
    }
    memcpy(ret_tensors, tensors, graph->tensor_count * sizeof *tensors);
    return KILN_OK;
}

/* Distance of what was got from what was expected; NaN against a number is infinitely far. */
static double error_of(struct kiln_constant got, const struct kiln_bounded *expected)
{
    if (kiln_dtype_is_integer(expected->dtype)) {
        uint64_t a = (uint64_t)got.integer, b = (uint64_t)expected->integer;
        return (double)(got.integer > expected->integer ? a - b : b - a);
    }
    if (isnan(got.real) || isnan(expected->real))
        return isnan(got.real) && isnan(expected->real) ? 0 : (double)INFINITY;
    return got.real == expected->real ? 0 : fabs(got.real - expected->real);
}

void kiln_reference_compare(const struct kiln_graph *graph, uint32_t ordinal, const void *memory,
                            const struct kiln_reference_tensor *reference,
                            struct kiln_comparison *ret_comparison)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    struct cursor cursor = cursor_of_memory(tensor, reference->spans);
    struct kiln_comparison comparison = {.elements = kiln_tensor_elements(tensor),
                                         .first_wrong = -1};
    int64_t absent = 0;
    for (int64_t n = 0; n < comparison.elements; n++) {
        if (!is_present(&cursor)) {
            cursor_next(&cursor);
            absent++;
            continue;
        }
        struct kiln_bounded expected = element(reference, tensor->dtype, n);
        struct kiln_constant got = kiln_element_load_at(tensor->dtype, memory, place_of(&cursor));
        cursor_next(&cursor);
        if (isinf(expected.bound)) {
            comparison.unchecked++;
            continue;
        }
        double error = error_of(got, &expected);
        if (error > 0)
            comparison.worst_ratio = fmax(comparison.worst_ratio, error / expected.bound);
        if (error <= expected.bound)
            continue;
        if (comparison.wrong++ == 0) {
            comparison.first_wrong = n;
            comparison.got = got.real;
            comparison.expected = expected.real;
            comparison.bound = expected.bound;
        }
    }
    comparison.elements -= absent;
    *ret_comparison = comparison;
}
