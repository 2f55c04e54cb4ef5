#include "compiler/graph/size_inference.h"

#include "compiler/graph/graph_builder.h"
#include "compiler/graph/override_shapes.h"

#include <string.h>

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The size of an axis of a result that is `to_right` axes from its last one, in an input. 1 where
 * the input has no such axis. */
static int64_t aligned_size(const struct kiln_tensor *tensor, uint32_t to_right)
{
    return to_right < tensor->rank ? tensor->dims[tensor->rank - 1 - to_right] : 1;
}

/* The shape of an input, aligned at the right. Axes that are declared as 1 stay 1. */
static void follow(const struct kiln_size_inference *inference, uint32_t output, uint32_t input,
                   int64_t *dims)
{
    uint32_t rank = inference->declared->tensors[inference->node->outputs[output]].rank;
    const struct kiln_tensor *now = &inference->tensors[input];
    /* Trailing ones of the declared graph that the tensor lacks. */
    uint32_t missing = inference->declared->tensors[input].rank - now->rank;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t to_right = rank - 1 - i;
        if (dims[i] != 1 && to_right >= missing)
            dims[i] = aligned_size(now, to_right - missing);
    }
}

static void follow_role(const struct kiln_size_inference *inference, uint32_t output,
                        enum kiln_operand role, int64_t *dims)
{
    uint32_t input = kiln_node_input(inference->node, role);
    if (input != KILN_NONE)
        follow(inference, output, input, dims);
}

/* An axis that no input has is broadcast to the declared size. */
void kiln_infer_pointwise(const struct kiln_size_inference *inference, uint32_t output,
                          int64_t dims[KILN_MAX_RANK])
{
    const struct kiln_node *node = inference->node;
    uint32_t rank = inference->declared->tensors[node->outputs[output]].rank;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t declared = 1;
        int64_t now = 1;
        for (uint32_t k = 0; k < node->input_count; k++) {
            declared =
                largest(declared,
                        aligned_size(&inference->declared->tensors[node->inputs[k]], rank - 1 - i));
            now = largest(now, aligned_size(&inference->tensors[node->inputs[k]], rank - 1 - i));
        }
        if (declared == dims[i])
            dims[i] = now;
    }
}

void kiln_infer_reduction(const struct kiln_size_inference *inference, uint32_t output,
                          int64_t dims[KILN_MAX_RANK])
{
    follow(inference, output, inference->node->inputs[0], dims);
}

/* Y has X's sizes. */
void kiln_infer_block_scale(const struct kiln_size_inference *inference, uint32_t output,
                            int64_t dims[KILN_MAX_RANK])
{
    follow(inference, output, inference->node->inputs[0], dims);
}

/* Every result has X's size or 1 on each of X's axes. */
void kiln_infer_normalization(const struct kiln_size_inference *inference, uint32_t output,
                              int64_t dims[KILN_MAX_RANK])
{
    follow_role(inference, output, KILN_OPERAND_X, dims);
}

void kiln_infer_matmul(const struct kiln_size_inference *inference, uint32_t output,
                       int64_t dims[KILN_MAX_RANK])
{
    const struct kiln_node *node = inference->node;
    const struct kiln_tensor *declared = inference->declared->tensors;
    const struct kiln_tensor *now = inference->tensors;
    uint32_t rank = declared[node->outputs[output]].rank;
    for (uint32_t i = 0; i + 2 < rank; i++) {
        int64_t batch = 0;
        for (uint32_t k = 0; k < 2; k++) {
            if (declared[node->inputs[k]].dims[i] == dims[i])
                batch = largest(batch, now[node->inputs[k]].dims[i]);
        }
        dims[i] = batch != 0 ? batch : dims[i];
    }
    dims[rank - 2] = now[node->inputs[0]].dims[rank - 2];
    dims[rank - 1] = now[node->inputs[1]].dims[rank - 1];
}

/* Windows along one axis. */
struct windows {
    int64_t padding; /* on both sides together */
    int64_t stride;
    int64_t reach; /* of a dilated window */
};

static int64_t window_count(const struct windows *windows, int64_t image)
{
    int64_t room = image + windows->padding - windows->reach;
    return room >= 0 ? room / windows->stride + 1 : 1;
}

/* The smallest image with so many windows. */
static int64_t smallest_image(const struct windows *windows, int64_t count)
{
    return (count - 1) * windows->stride + windows->reach - windows->padding;
}

static int64_t infer_image(const struct windows *declared, const struct windows *now,
                           int64_t declared_image, int64_t declared_count, int64_t count)
{
    int64_t remainder = declared_image - smallest_image(declared, declared_count);
    return largest(1, smallest_image(now, count) + remainder);
}

void kiln_infer_convolution(const struct kiln_size_inference *inference, uint32_t output,
                            int64_t dims[KILN_MAX_RANK])
{
    const struct kiln_convolution *convolution = &inference->node->convolution;
    const struct kiln_convolution_tensors ordinals = kiln_convolution_tensors_of(inference->node);
    const struct kiln_tensor *declared = inference->declared->tensors;
    const int64_t *image = inference->tensors[ordinals.image].dims;
    const int64_t *filter = inference->tensors[ordinals.filter].dims;
    const int64_t *result = inference->tensors[ordinals.result].dims;
    uint32_t ordinal = inference->node->outputs[output];
    if (ordinal == ordinals.filter) { /* the window is as declared */
        dims[0] = result[1];
        dims[1] = largest(1, image[1] / convolution->groups);
        return;
    }
    dims[0] = ordinal == ordinals.image ? result[0] : image[0];
    dims[1] = ordinal == ordinals.image ? filter[1] * convolution->groups : filter[0];
    for (uint32_t i = 0; i < convolution->spatial_count; i++) {
        uint32_t axis = i + 2;
        struct windows then = {
            convolution->pre_padding[i] + convolution->post_padding[i], convolution->stride[i],
            (declared[ordinals.filter].dims[axis] - 1) * convolution->dilation[i] + 1};
        struct windows now = then;
        now.reach = (filter[axis] - 1) * convolution->dilation[i] + 1;
        dims[axis] = ordinal == ordinals.image
                         ? infer_image(&then, &now, declared[ordinals.image].dims[axis],
                                       declared[ordinals.result].dims[axis], result[axis])
                         : window_count(&now, image[axis]);
    }
}

void kiln_infer_attention(const struct kiln_size_inference *inference, uint32_t output,
                          int64_t dims[KILN_MAX_RANK])
{
    const uint32_t value = kiln_node_input(inference->node, KILN_OPERAND_V);
    switch ((enum kiln_operand)inference->node->output_roles[output]) {
    case KILN_OPERAND_O:
        follow_role(inference, output, KILN_OPERAND_Q, dims);
        dims[3] = inference->tensors[value].dims[3];
        break;
    case KILN_OPERAND_DK:
        follow_role(inference, output, KILN_OPERAND_K, dims);
        break;
    case KILN_OPERAND_DV:
        follow_role(inference, output, KILN_OPERAND_V, dims);
        break;
    case KILN_OPERAND_DBIAS:
        follow_role(inference, output, KILN_OPERAND_ATTN_MASK, dims);
        break;
    default: /* DQ and the statistics of rows; what has one element keeps it */
        follow_role(inference, output, KILN_OPERAND_Q, dims);
        break;
    }
}

/* Forward, y and index have the number of windows. Backward, dx has the elements after the last
 * window that the declared one has. */
void kiln_infer_resample(const struct kiln_size_inference *inference, uint32_t output,
                         int64_t dims[KILN_MAX_RANK])
{
    const struct kiln_resample *resample = &inference->node->resample;
    bool is_forward = inference->node->kind == KILN_NODE_RESAMPLE_FORWARD;
    const int64_t *read = inference->tensors[inference->node->inputs[0]].dims;
    const struct kiln_tensor *declared = inference->declared->tensors;
    const int64_t *declared_results = declared[inference->node->inputs[0]].dims;
    const int64_t *declared_image = declared[inference->node->outputs[output]].dims;
    dims[0] = read[0];
    dims[1] = read[1];
    for (uint32_t i = 0; i < resample->spatial_count; i++) {
        const struct windows windows = {resample->pre_padding[i] + resample->post_padding[i],
                                        resample->stride[i], resample->window[i]};
        dims[i + 2] = is_forward ? window_count(&windows, read[i + 2])
                                 : infer_image(&windows, &windows, declared_image[i + 2],
                                               declared_results[i + 2], read[i + 2]);
    }
}

/* Y has X's sizes, SCALE the number of blocks along their axis. */
void kiln_infer_block_quantize(const struct kiln_size_inference *inference, uint32_t output,
                               int64_t dims[KILN_MAX_RANK])
{
    const struct kiln_block_quantize *quantize = &inference->node->block_quantize;
    follow(inference, output, inference->node->inputs[0], dims);
    if (inference->node->output_roles[output] == KILN_OPERAND_SCALE) {
        int64_t size = inference->tensors[inference->node->inputs[0]].dims[quantize->axis];
        dims[quantize->axis] = (size - 1) / quantize->block_size + 1;
    }
}

/* OUTPUT has a row for each token, or for each index that gathers one; DWEIGHT a matrix for each
 * group. */
void kiln_infer_grouped_matmul(const struct kiln_size_inference *inference, uint32_t output,
                               int64_t dims[KILN_MAX_RANK])
{
    (void)output;
    const struct kiln_node *node = inference->node;
    const struct kiln_tensor *now = inference->tensors;
    const int64_t *token = now[kiln_node_input(node, KILN_OPERAND_TOKEN)].dims;
    if (node->kind == KILN_NODE_GROUPED_MATMUL_BACKWARD) {
        dims[0] = now[kiln_node_input(node, KILN_OPERAND_FIRST_TOKEN_OFFSET)].dims[0];
        dims[1] = token[2];
        dims[2] = now[kiln_node_input(node, KILN_OPERAND_DOUTPUT)].dims[2];
        return;
    }
    bool gathers = node->grouped_matmul.mode == KILN_GROUPED_GATHER;
    dims[1] = gathers ? now[kiln_node_input(node, KILN_OPERAND_TOKEN_INDEX)].dims[1] : token[1];
    dims[2] = now[kiln_node_input(node, KILN_OPERAND_WEIGHT)].dims[2];
}

/* Dense strides, in the order of the declared ones; 0 for an axis of size 1. */
static void set_dense_strides(const struct kiln_tensor *declared, struct kiln_tensor *tensor)
{
    uint32_t order[KILN_MAX_RANK];
    for (uint32_t i = 0; i < tensor->rank; i++) {
        uint32_t k = i;
        for (; k > 0 && declared->strides[order[k - 1]] < declared->strides[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    int64_t stride = 1;
    for (uint32_t k = tensor->rank; k-- > 0;) {
        tensor->strides[order[k]] = tensor->dims[order[k]] > 1 ? stride : 0;
        stride *= tensor->dims[order[k]];
    }
}

static void infer(const struct kiln_size_inference *inference, uint32_t output,
                  struct kiln_tensor *tensor)
{
    const struct kiln_tensor *declared =
        &inference->declared->tensors[inference->node->outputs[output]];
    kiln_size_rule *rule = kiln_node_kind_reader(inference->node->kind)->infer;
    int64_t dims[KILN_MAX_RANK];
    if (rule == NULL)
        return;
    memcpy(dims, declared->dims, sizeof dims);
    rule(inference, output, dims);
    /* Inputs that do not fit together may ask for more; the checks of the node say so then. */
    for (uint32_t i = 0; i < tensor->rank; i++)
        tensor->dims[i] = dims[i] < declared->dims[i] ? dims[i] : declared->dims[i];
    set_dense_strides(declared, tensor);
}

void kiln_infer_sizes(const struct kiln_graph *declared, struct kiln_tensor *tensors,
                      bool only_virtual)
{
    struct kiln_size_inference inference = {.declared = declared, .tensors = tensors};
    for (uint32_t i = 0; i < declared->node_count; i++) {
        inference.node = &declared->nodes[i];
        for (uint32_t k = 0; k < inference.node->output_count; k++) {
            uint32_t ordinal = inference.node->outputs[k];
            if (!only_virtual || declared->tensors[ordinal].role == KILN_TENSOR_VIRTUAL)
                infer(&inference, k, &tensors[ordinal]);
        }
    }
}

void kiln_graph_infer_outputs(const struct kiln_graph *declared, struct kiln_tensor *tensors)
{
    kiln_infer_sizes(declared, tensors, false);
}
