#include "json_graph.h"

#include "compiler/graph/graph_json.h"
#include "compiler/graph/wire_graph.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_bytes(struct json_graph *graph)
{
    kiln_error_init(&graph->error);
    kiln_arena_init(&graph->arena);
    size_t size = graph->bytes.size;
    char *exact = malloc(size != 0 ? size : 1);
    cr_assert_not_null(exact);
    if (size != 0)
        memcpy(exact, graph->bytes.data, size);
    graph->status = kiln_graph_read(exact, size, &graph->arena, &graph->graph, &graph->error);
    free(exact);
}

void json_graph_init(struct json_graph *graph, const char *text, const enum kiln_wire_era *era)
{
    size_t length = strlen(text);
    char *quoted = malloc(length + 1);
    cr_assert_not_null(quoted);
    for (size_t i = 0; i <= length; i++)
        quoted[i] = text[i] == '\'' ? '"' : text[i];
    enum kiln_wire_era ignored;
    kiln_buffer_init(&graph->bytes);
    kiln_error_init(&graph->error);
    enum kiln_status status =
        kiln_graph_json_to_bytes(quoted, length, era, &graph->bytes, &ignored, &graph->error);
    free(quoted);
    cr_assert_eq(status, KILN_OK, "%s\nin %s", graph->error.text, text);
    read_bytes(graph);
}

void json_graph_init_bytes(struct json_graph *graph, const void *bytes, size_t size)
{
    kiln_buffer_init(&graph->bytes);
    kiln_buffer_append(&graph->bytes, bytes, size);
    read_bytes(graph);
}

void json_graph_fini(struct json_graph *graph)
{
    kiln_buffer_fini(&graph->bytes);
    kiln_arena_fini(&graph->arena);
}

void json_graph_accept(struct json_graph *graph, const char *text, const enum kiln_wire_era *era)
{
    json_graph_init(graph, text, era);
    cr_assert_eq(graph->status, KILN_OK, "%s\nin %s", graph->error.text, text);
    check_invariants(&graph->graph);
}

void canonical_of_json(const char *text, const enum kiln_wire_era *era,
                       struct kiln_buffer *ret_canonical)
{
    struct json_graph graph;
    json_graph_accept(&graph, text, era);
    kiln_buffer_init(ret_canonical);
    kiln_graph_append_canonical(&graph.graph, ret_canonical);
    json_graph_fini(&graph);
}

struct kiln_graph chain_graph(struct kiln_arena *arena, uint32_t node_count)
{
    struct kiln_graph graph = {
        .name = "chain",
        .tensor_count = node_count + 1,
        .node_count = node_count,
        .tensors = kiln_arena_calloc(arena, node_count + 1, sizeof *graph.tensors),
        .nodes = kiln_arena_calloc(arena, node_count, sizeof *graph.nodes),
    };
    cr_assert(graph.tensors != NULL && graph.nodes != NULL);
    for (uint32_t i = 0; i <= node_count; i++)
        graph.tensors[i] = (struct kiln_tensor){
            .uid = i,
            .name = "",
            .role = i == 0            ? KILN_TENSOR_INPUT
                    : i == node_count ? KILN_TENSOR_OUTPUT
                                      : KILN_TENSOR_VIRTUAL,
            .rank = 1,
            .dims = {4},
            .strides = {1},
            .alignment_bytes = 16,
        };
    for (uint32_t i = 0; i < node_count; i++)
        graph.nodes[i] = (struct kiln_node){
            .name = "",
            .input_count = 1,
            .output_count = 1,
            .inputs = {i},
            .outputs = {i + 1},
            .input_roles = {KILN_OPERAND_IN_0},
            .output_roles = {KILN_OPERAND_OUT_0},
            .pointwise = {.mode = KILN_POINTWISE_NEG},
        };
    return graph;
}

static void check_tensor(const struct kiln_graph *graph, uint32_t ordinal)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    bool produced = tensor->producer != KILN_NONE;
    cr_assert_not_null(tensor->name);
    cr_assert_leq(tensor->rank, KILN_MAX_RANK);
    cr_assert_lt(tensor->dtype, KILN_DTYPE_COUNT);
    cr_assert_gt(kiln_tensor_footprint_bytes(tensor), 0);
    cr_assert_gt(kiln_tensor_elements(tensor), 0);
    cr_assert_eq(tensor->alignment_bytes & (tensor->alignment_bytes - 1), 0);
    cr_assert_geq(tensor->alignment_bytes, kiln_dtype_info(tensor->dtype)->bytes);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        cr_assert_geq(tensor->dims[i], 1);
        cr_assert_geq(tensor->strides[i], 0);
        cr_assert(tensor->dims[i] > 1 || tensor->strides[i] == 0);
    }
    switch (tensor->role) {
    case KILN_TENSOR_INPUT:
        cr_assert(!produced);
        break;
    case KILN_TENSOR_OUTPUT:
    case KILN_TENSOR_VIRTUAL:
        cr_assert(produced);
        break;
    case KILN_TENSOR_CONSTANT:
    case KILN_TENSOR_HOST_SCALAR:
        cr_assert(!produced);
        cr_assert_eq(kiln_tensor_elements(tensor), 1);
        break;
    }
    if (produced) {
        cr_assert_lt(tensor->producer, graph->node_count);
        const struct kiln_node *node = &graph->nodes[tensor->producer];
        uint32_t output = 0;
        while (output < node->output_count && node->outputs[output] != ordinal)
            output++;
        cr_assert_lt(output, node->output_count);
    }
}

/* Every role once, and the tensor that has it is found by it. */
static void check_roles(const struct kiln_node *node)
{
    bool is_met[KILN_OPERAND_COUNT] = {false};
    cr_assert(node->input_count >= 1 && node->input_count <= KILN_MAX_NODE_OPERANDS);
    cr_assert(node->output_count >= 1 && node->output_count <= KILN_MAX_NODE_OPERANDS);
    for (uint32_t i = 0; i < node->input_count; i++) {
        cr_assert_lt(node->input_roles[i], KILN_OPERAND_COUNT);
        cr_assert_not(is_met[node->input_roles[i]]);
        is_met[node->input_roles[i]] = true;
        cr_assert_eq(kiln_node_input(node, (enum kiln_operand)node->input_roles[i]),
                     node->inputs[i]);
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        cr_assert_lt(node->output_roles[i], KILN_OPERAND_COUNT);
        cr_assert_not(is_met[node->output_roles[i]]);
        is_met[node->output_roles[i]] = true;
        cr_assert_eq(kiln_node_output(node, (enum kiln_operand)node->output_roles[i]),
                     node->outputs[i]);
    }
}

/* x's size on the axes, 1 elsewhere, right-aligned. */
static void check_axes(const struct kiln_tensor *x, const struct kiln_tensor *tensor, uint32_t axes)
{
    cr_assert_leq(tensor->rank, x->rank);
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t missing = x->rank - tensor->rank;
        int64_t dim = i < missing ? 1 : tensor->dims[i - missing];
        cr_assert_eq(dim, (axes >> i & 1) != 0 ? x->dims[i] : 1);
    }
}

static void check_grouped(const struct kiln_graph *graph, const struct kiln_node *node)
{
    const struct kiln_grouped_matmul *grouped = &node->grouped_matmul;
    const struct kiln_tensor *offsets =
        &graph->tensors[kiln_node_input(node, KILN_OPERAND_FIRST_TOKEN_OFFSET)];
    const struct kiln_tensor *token = &graph->tensors[kiln_node_input(node, KILN_OPERAND_TOKEN)];
    const struct kiln_tensor *result = &graph->tensors[node->outputs[0]];
    bool is_gradient = node->kind == KILN_NODE_GROUPED_MATMUL_BACKWARD;
    const struct kiln_tensor *experts =
        is_gradient ? result : &graph->tensors[kiln_node_input(node, KILN_OPERAND_WEIGHT)];
    cr_assert(token->rank == 3 && result->rank == 3 && experts->rank == 3);
    cr_assert(offsets->dtype == KILN_DTYPE_I32 && offsets->role == KILN_TENSOR_INPUT);
    cr_assert_eq(offsets->dims[0] % experts->dims[0], 0);
    cr_assert_eq(experts->dims[1], token->dims[2]);
    if (is_gradient)
        return;
    cr_assert_eq(result->dims[2], experts->dims[2]);
    cr_assert(grouped->mode == KILN_GROUPED_GATHER || result->dims[1] == token->dims[1]);
    cr_assert((grouped->top_k > 0) == (grouped->mode == KILN_GROUPED_SCATTER));
    cr_assert_leq(grouped->top_k, experts->dims[0]);
}

static void check_matmul(const struct kiln_graph *graph, const struct kiln_node *node)
{
    const struct kiln_tensor *a = &graph->tensors[kiln_node_input(node, KILN_OPERAND_A)];
    const struct kiln_tensor *b = &graph->tensors[kiln_node_input(node, KILN_OPERAND_B)];
    const struct kiln_tensor *c = &graph->tensors[kiln_node_output(node, KILN_OPERAND_C)];
    cr_assert(c->rank >= 2 && a->rank == c->rank && b->rank == c->rank);
    cr_assert_eq(a->dims[a->rank - 2], c->dims[c->rank - 2]);
    cr_assert_eq(b->dims[b->rank - 1], c->dims[c->rank - 1]);
    cr_assert_eq(a->dims[a->rank - 1], b->dims[b->rank - 2]);
    for (uint32_t i = 0; i + 2 < c->rank; i++) {
        cr_assert_eq(c->dims[i] % a->dims[i], 0);
        cr_assert_eq(c->dims[i] % b->dims[i], 0);
    }
}

static void check_convolution(const struct kiln_graph *graph, const struct kiln_node *node)
{
    const struct kiln_convolution *convolution = &node->convolution;
    struct kiln_convolution_tensors tensors = kiln_convolution_tensors_of(node);
    const struct kiln_tensor *image = &graph->tensors[tensors.image];
    const struct kiln_tensor *filter = &graph->tensors[tensors.filter];
    const struct kiln_tensor *result = &graph->tensors[tensors.result];
    uint32_t rank = convolution->spatial_count + 2;
    cr_assert(convolution->spatial_count >= 1 &&
              convolution->spatial_count <= KILN_MAX_SPATIAL_AXES);
    cr_assert(image->rank == rank && filter->rank == rank && result->rank == rank);
    cr_assert(node->input_count == 2 && node->output_count == 1);
    cr_assert_eq(image->dims[0], result->dims[0]);
    cr_assert_eq(filter->dims[0], result->dims[1]);
    cr_assert_eq(image->dims[1], filter->dims[1] * convolution->groups);
    cr_assert_eq(filter->dims[0] % convolution->groups, 0);
    int64_t window = 1, pixels = 1, result_pixels = 1;
    for (uint32_t i = 0; i < convolution->spatial_count; i++) {
        int64_t padded =
            convolution->pre_padding[i] + image->dims[i + 2] + convolution->post_padding[i];
        int64_t reach = (filter->dims[i + 2] - 1) * convolution->dilation[i];
        int64_t last = (result->dims[i + 2] - 1) * convolution->stride[i] + reach;
        cr_assert(convolution->pre_padding[i] >= 0 && convolution->post_padding[i] >= 0);
        cr_assert(convolution->stride[i] >= 1 && convolution->stride[i] <= INT32_MAX);
        cr_assert(convolution->dilation[i] >= 1 && convolution->dilation[i] <= INT32_MAX);
        cr_assert_leq(padded, INT32_MAX);
        cr_assert(last < padded && last + convolution->stride[i] >= padded,
                  "the result ends with the last window that fits");
        window *= filter->dims[i + 2];
        pixels *= image->dims[i + 2];
        result_pixels *= result->dims[i + 2];
    }
    cr_assert_leq(image->dims[0] * pixels, INT32_MAX);
    cr_assert_leq(image->dims[0] * result_pixels, INT32_MAX);
    cr_assert(image->dims[1] <= INT32_MAX && filter->dims[0] <= INT32_MAX);
    cr_assert_leq(window * filter->dims[1], INT32_MAX);
    cr_assert_leq(window * filter->dims[0] / convolution->groups, INT32_MAX);
}

static void check_dims(const struct kiln_graph *graph, const struct kiln_node *node,
                       enum kiln_operand role, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t dims[] = {a, b, c, d};
    uint32_t ordinal = kiln_node_input(node, role);
    if (ordinal == KILN_NONE)
        ordinal = kiln_node_output(node, role);
    if (ordinal == KILN_NONE)
        return;
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    if (kiln_tensor_elements(tensor) == 1 && a * b * c * d == 1)
        return; /* of any rank */
    cr_assert_eq(tensor->rank, 4, "%s", kiln_operand_text(role));
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(tensor->dims[i], dims[i], "%s", kiln_operand_text(role));
}

static void check_attention(const struct kiln_graph *graph, const struct kiln_node *node)
{
    const struct kiln_attention *attention = &node->attention;
    struct kiln_attention_sizes s = kiln_attention_sizes_of(graph, node);
    cr_assert(s.heads % s.key_heads == 0 && s.heads % s.value_heads == 0);
    check_dims(graph, node, KILN_OPERAND_Q, s.batch, s.heads, s.queries, s.depth);
    check_dims(graph, node, KILN_OPERAND_K, s.batch, s.key_heads, s.keys, s.depth);
    check_dims(graph, node, KILN_OPERAND_V, s.batch, s.value_heads, s.keys, s.value_depth);
    check_dims(graph, node, KILN_OPERAND_O, s.batch, s.heads, s.queries, s.value_depth);
    check_dims(graph, node, KILN_OPERAND_DO, s.batch, s.heads, s.queries, s.value_depth);
    check_dims(graph, node, KILN_OPERAND_DQ, s.batch, s.heads, s.queries, s.depth);
    check_dims(graph, node, KILN_OPERAND_DK, s.batch, s.key_heads, s.keys, s.depth);
    check_dims(graph, node, KILN_OPERAND_DV, s.batch, s.value_heads, s.keys, s.value_depth);
    check_dims(graph, node, KILN_OPERAND_STATS, s.batch, s.heads, s.queries, 1);
    check_dims(graph, node, KILN_OPERAND_MAX, s.batch, s.heads, s.queries, 1);
    check_dims(graph, node, KILN_OPERAND_SUM_EXP, s.batch, s.heads, s.queries, 1);
    check_dims(graph, node, KILN_OPERAND_SEQ_LEN_Q, s.batch, 1, 1, 1);
    check_dims(graph, node, KILN_OPERAND_SEQ_LEN_KV, s.batch, 1, 1, 1);
    check_dims(graph, node, KILN_OPERAND_SINK_TOKEN, 1, s.heads, 1, 1);
    cr_assert(s.queries + s.keys <= INT32_MAX && s.batch * s.heads <= INT32_MAX);
    bool has_corners = attention->is_bottom_right;
    cr_assert(!has_corners || attention->has_first_key || attention->has_last_key);
    cr_assert(!has_corners || kiln_node_input(node, KILN_OPERAND_SEQ_LEN_Q) != KILN_NONE ||
              kiln_node_input(node, KILN_OPERAND_SEQ_LEN_KV) != KILN_NONE ||
              kiln_node_input(node, KILN_OPERAND_Q_OFFSETS) != KILN_NONE ||
              kiln_node_input(node, KILN_OPERAND_K_OFFSETS) != KILN_NONE);
    int64_t most_first = has_corners ? 0 : s.keys - 1;
    int64_t least_last = has_corners ? 0 : -(s.queries - 1);
    cr_assert(!attention->has_first_key ||
              (attention->first_key > -((has_corners ? s.keys : s.queries) - 1) &&
               attention->first_key <= most_first));
    cr_assert(!attention->has_last_key ||
              (attention->last_key >= least_last &&
               attention->last_key < (has_corners ? s.queries : s.keys) - 1));
}

static void check_resample(const struct kiln_graph *graph, const struct kiln_node *node)
{
    const struct kiln_tensor *x = &graph->tensors[node->inputs[0]];
    const struct kiln_tensor *y = &graph->tensors[node->outputs[0]];
    const struct kiln_resample *resample = &node->resample;
    cr_assert(x->rank == resample->spatial_count + 2 && y->rank == x->rank);
    cr_assert(x->dims[0] == y->dims[0] && x->dims[1] == y->dims[1]);
    for (uint32_t i = 0; i < resample->spatial_count; i++) {
        int64_t padded = resample->pre_padding[i] + x->dims[i + 2] + resample->post_padding[i];
        cr_assert(resample->window[i] >= 1 && resample->window[i] <= padded);
        cr_assert_eq((padded - resample->window[i]) / resample->stride[i] + 1, y->dims[i + 2]);
    }
}

static void check_block_quantize(const struct kiln_graph *graph, const struct kiln_node *node)
{
    const struct kiln_tensor *x = &graph->tensors[node->inputs[0]];
    const struct kiln_tensor *y = &graph->tensors[node->outputs[0]];
    const struct kiln_tensor *scale = &graph->tensors[node->outputs[1]];
    const struct kiln_block_quantize *quantize = &node->block_quantize;
    cr_assert(x->rank == y->rank && x->rank == scale->rank && quantize->axis < x->rank);
    int64_t size = x->dims[quantize->axis];
    cr_assert(quantize->block_size >= 1 && quantize->block_size <= size);
    for (uint32_t i = 0; i < x->rank; i++) {
        cr_assert_eq(x->dims[i], y->dims[i]);
        cr_assert_eq(scale->dims[i],
                     i == quantize->axis ? (size - 1) / quantize->block_size + 1 : x->dims[i]);
    }
}

static void check_resample_backward(const struct kiln_graph *graph, const struct kiln_node *node)
{
    const struct kiln_tensor *dy = &graph->tensors[node->inputs[0]];
    const struct kiln_tensor *dx = &graph->tensors[node->outputs[0]];
    const struct kiln_resample *resample = &node->resample;
    cr_assert(dx->rank == resample->spatial_count + 2 && dy->rank == dx->rank);
    cr_assert(dx->dims[0] == dy->dims[0] && dx->dims[1] == dy->dims[1]);
    cr_assert_eq(kiln_node_input(node, KILN_OPERAND_INDEX) != KILN_NONE,
                 resample->mode == KILN_POOLING_MAX);
    for (uint32_t i = 0; i < resample->spatial_count; i++)
        cr_assert(resample->post_padding[i] == 0 && resample->window[i] >= 1);
}

/* What graph.h and operand.def promise about axes and shapes. */
static void check_dequantize(const struct kiln_graph *graph, const struct kiln_node *node)
{
    const struct kiln_tensor *x = &graph->tensors[node->inputs[0]];
    const struct kiln_tensor *scale = &graph->tensors[node->inputs[1]];
    const struct kiln_tensor *y = &graph->tensors[node->outputs[0]];
    const struct kiln_block_scale *block_scale = &node->block_scale;
    cr_assert(x->rank == y->rank && x->rank == scale->rank && x->rank == block_scale->block_count);
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t block = block_scale->blocks[i];
        cr_assert(block >= 1 && block <= x->dims[i]);
        cr_assert_eq(y->dims[i], x->dims[i]);
        cr_assert_eq(scale->dims[i], (x->dims[i] - 1) / block + 1);
    }
}

static void check_shapes(const struct kiln_graph *graph, const struct kiln_node *node)
{
    if (node->kind == KILN_NODE_POINTWISE)
        return;
    if (node->kind == KILN_NODE_REDUCTION) {
        const struct kiln_tensor *in = &graph->tensors[kiln_node_input(node, KILN_OPERAND_IN)];
        const struct kiln_tensor *out = &graph->tensors[kiln_node_output(node, KILN_OPERAND_OUT)];
        cr_assert_eq(in->rank, out->rank);
        cr_assert_eq(node->reduction.axes >> in->rank, 0);
        check_axes(in, out, ~node->reduction.axes);
        return;
    }
    if (kiln_node_is_grouped(node)) {
        check_grouped(graph, node);
        return;
    }
    if (node->kind == KILN_NODE_MATMUL) {
        check_matmul(graph, node);
        return;
    }
    if (kiln_node_is_convolution(node)) {
        check_convolution(graph, node);
        return;
    }
    if (kiln_node_is_attention(node)) {
        check_attention(graph, node);
        return;
    }
    if (node->kind == KILN_NODE_RESAMPLE_FORWARD) {
        check_resample(graph, node);
        return;
    }
    if (node->kind == KILN_NODE_BLOCK_SCALE_QUANTIZE) {
        check_block_quantize(graph, node);
        return;
    }
    if (node->kind == KILN_NODE_BLOCK_SCALE_DEQUANTIZE) {
        check_dequantize(graph, node);
        return;
    }
    if (node->kind == KILN_NODE_RESAMPLE_BACKWARD) {
        check_resample_backward(graph, node);
        return;
    }
    const struct kiln_tensor *x = &graph->tensors[kiln_node_input(node, KILN_OPERAND_X)];
    uint32_t axes = node->normalization.axes;
    cr_assert(axes != 0 && axes >> x->rank == 0);
    static const enum kiln_operand statistics[] = {
        KILN_OPERAND_MEAN,
        KILN_OPERAND_VARIANCE,
        KILN_OPERAND_INV_VARIANCE,
        KILN_OPERAND_INV_RMS,
        KILN_OPERAND_PREV_RUNNING_MEAN,
        KILN_OPERAND_PREV_RUNNING_VARIANCE,
        KILN_OPERAND_NEXT_RUNNING_MEAN,
        KILN_OPERAND_NEXT_RUNNING_VARIANCE,
    };
    for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++) {
        uint32_t input = kiln_node_input(node, statistics[i]);
        uint32_t output = kiln_node_output(node, statistics[i]);
        if (input != KILN_NONE)
            check_axes(x, &graph->tensors[input], ~axes);
        if (output != KILN_NONE)
            check_axes(x, &graph->tensors[output], ~axes);
    }
    uint32_t epsilon = kiln_node_input(node, KILN_OPERAND_EPSILON);
    cr_assert(epsilon == KILN_NONE || kiln_tensor_elements(&graph->tensors[epsilon]) == 1);
    for (uint32_t i = 0; i < node->input_count; i++)
        cr_assert(!kiln_dtype_is_integer(graph->tensors[node->inputs[i]].dtype));
    for (uint32_t i = 0; i < node->output_count; i++)
        cr_assert(!kiln_dtype_is_integer(graph->tensors[node->outputs[i]].dtype));
}

void check_invariants(const struct kiln_graph *graph)
{
    uint32_t seen = 0;
    cr_assert(graph->name != NULL && graph->node_count > 0 && graph->tensor_count > 0);
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        check_tensor(graph, i);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        cr_assert_not_null(node->name);
        for (uint32_t k = 0; k < node->input_count; k++) {
            const struct kiln_tensor *input = &graph->tensors[node->inputs[k]];
            cr_assert_leq(node->inputs[k], seen, "ordinals follow first appearance");
            seen += node->inputs[k] == seen;
            cr_assert(input->producer == KILN_NONE || input->producer < i, "sorted");
        }
        for (uint32_t k = 0; k < node->output_count; k++) {
            cr_assert_leq(node->outputs[k], seen);
            seen += node->outputs[k] == seen;
            cr_assert_eq(graph->tensors[node->outputs[k]].producer, i);
        }
        check_roles(node);
        check_shapes(graph, node);
    }
    cr_assert_eq(seen, graph->tensor_count, "every tensor is referenced");
}
