/*
 * Do the shapes of a convolution's operands fit its parameters, and can its kernels count them?
 *
 * Parameters are within 0 to INT32_MAX and the ranks right already (node_convolution.c); dims are
 * anything from 1.
 */
#include "compiler/graph/graph_builder.h"

/* A convolution of any direction as the forward one. */
struct view {
    const struct kiln_graph *graph;
    const struct kiln_node *node;
    const struct kiln_tensor *image;
    const struct kiln_tensor *filter;
    const struct kiln_tensor *result;
    struct kiln_error *error;
};

static const struct kiln_tensor *output_of(const struct view *view)
{
    return &view->graph->tensors[view->node->outputs[0]];
}

static enum kiln_status check_type(const struct view *view, uint32_t input)
{
    const struct kiln_tensor *factor = &view->graph->tensors[view->node->inputs[input]];
    if (kiln_dtype_is_factor(factor->dtype))
        return KILN_OK;
    return kiln_reject_tensor(view->error, KILN_REJECT_UNSUPPORTED_TYPE, view->graph, view->node,
                              factor, "type %s has no rule in a convolution",
                              kiln_dtype_info(factor->dtype)->text);
}

/* A dimension of two operands; blamed is the node's output where it is one of them. */
static enum kiln_status check_dimension(const struct view *view, const struct kiln_tensor *result,
                                        uint32_t result_axis, const struct kiln_tensor *other,
                                        uint32_t other_axis, const char *whose)
{
    int64_t size = result->dims[result_axis];
    int64_t other_size = other->dims[other_axis];
    if (size == other_size)
        return KILN_OK;
    if (other == output_of(view))
        return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node, other,
                                  "dimension %u is %lld, must be dimension %u of dy, %lld",
                                  other_axis, (long long)other_size, result_axis, (long long)size);
    return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node, result,
                              "dimension %u is %lld, must be %s, %lld", result_axis,
                              (long long)size, whose, (long long)other_size);
}

/* Along one spatial axis: strides, dilations and paddings go beyond the tensors, and how far that
 * is in bytes is countable too. */
static enum kiln_status check_reach(const struct view *view, uint32_t axis, int64_t padded)
{
    const int64_t most = INT64_C(1) << 61;
    const struct kiln_tensor *const tensors[] = {view->image, view->filter, view->result};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        int64_t bytes = kiln_dtype_info(tensors[i]->dtype)->bytes;
        if (tensors[i]->strides[axis] > most / bytes / padded)
            return kiln_reject_tensor(
                view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node, tensors[i],
                "stride %u is %lld: %lld of them, the padded image, are more "
                "than 2^61 bytes",
                axis, (long long)tensors[i]->strides[axis], (long long)padded);
    }
    return KILN_OK;
}

/* Along one spatial axis: the padded image is countable, the window fits, the result has the size
 * that follows. */
static enum kiln_status check_axis(const struct view *view, uint32_t spatial)
{
    const struct kiln_convolution *convolution = &view->node->convolution;
    uint32_t axis = spatial + 2;
    int64_t size = view->image->dims[axis];
    int64_t window = view->filter->dims[axis];
    int64_t padding = convolution->pre_padding[spatial] + convolution->post_padding[spatial];
    int64_t stride = convolution->stride[spatial];
    int64_t dilation = convolution->dilation[spatial];
    if (size > INT32_MAX - padding)
        return kiln_reject_tensor(view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node,
                                  view->image,
                                  "dimension %u is %lld and the paddings %lld, together at most %d",
                                  axis, (long long)size, (long long)padding, INT32_MAX);
    int64_t padded = size + padding;
    if (window - 1 > (padded - 1) / dilation)
        return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node,
                                  view->filter,
                                  "dimension %u is %lld: with dilation %lld the window is larger "
                                  "than the padded image of %lld",
                                  axis, (long long)window, (long long)dilation, (long long)padded);
    int64_t result = (padded - 1 - (window - 1) * dilation) / stride + 1;
    if (result == view->result->dims[axis])
        return check_reach(view, axis, padded);
    if (view->result == output_of(view))
        return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node,
                                  view->result,
                                  "dimension %u is %lld, must be the %lld that image, window and "
                                  "parameters give",
                                  axis, (long long)view->result->dims[axis], (long long)result);
    return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node,
                              output_of(view),
                              "dimension %u is %lld: image, window and parameters would give %lld, "
                              "but dy has %lld",
                              axis, (long long)output_of(view)->dims[axis], (long long)result,
                              (long long)view->result->dims[axis]);
}

/* Kernels count rows, columns and terms of the products in 32 bits, in each direction. */
static enum kiln_status check_sizes(const struct view *view)
{
    int64_t image_elements = kiln_tensor_elements(view->image);
    int64_t filter_elements = kiln_tensor_elements(view->filter);
    int64_t result_elements = kiln_tensor_elements(view->result);
    int64_t forward_terms = filter_elements / view->filter->dims[0];
    int64_t gradient_terms =
        filter_elements / view->filter->dims[1] / view->node->convolution.groups;
    const struct {
        const struct kiln_tensor *tensor;
        int64_t count;
        const char *text;
    } sizes[] = {
        {view->image, view->image->dims[1], "channels"},
        {view->filter, view->filter->dims[0], "filters"},
        {view->image, image_elements / view->image->dims[1], "pixels in the batch"},
        {view->result, result_elements / view->result->dims[1], "pixels in the batch"},
        {view->filter, forward_terms, "elements in a filter"},
        {view->filter, gradient_terms, "elements of a group's filters meet one channel"},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i].count > INT32_MAX)
            return kiln_reject_tensor(view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node,
                                      sizes[i].tensor, "%lld %s, at most %d in a convolution",
                                      (long long)sizes[i].count, sizes[i].text, INT32_MAX);
    }
    int64_t terms;
    if (__builtin_mul_overflow(result_elements, forward_terms, &terms) ||
        __builtin_mul_overflow(image_elements, gradient_terms, &terms))
        return kiln_reject_node(view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node,
                                "the convolution has more than 2^63 terms");
    return KILN_OK;
}

enum kiln_status kiln_convolution_check(const struct kiln_graph *graph,
                                        const struct kiln_node *node, struct kiln_error *error)
{
    struct kiln_convolution_tensors tensors = kiln_convolution_tensors_of(node);
    const struct view view = {
        .graph = graph,
        .node = node,
        .image = &graph->tensors[tensors.image],
        .filter = &graph->tensors[tensors.filter],
        .result = &graph->tensors[tensors.result],
        .error = error,
    };
    enum kiln_status status = check_type(&view, 0);
    if (status == KILN_OK)
        status = check_type(&view, 1);
    if (status == KILN_OK)
        status = check_dimension(&view, view.result, 0, view.image, 0, "the image's batch size");
    if (status == KILN_OK)
        status = check_dimension(&view, view.result, 1, view.filter, 0, "the number of filters");
    for (uint32_t i = 0; status == KILN_OK && i < node->convolution.spatial_count; i++)
        status = check_axis(&view, i);
    if (status == KILN_OK)
        status = check_sizes(&view);
    return status;
}
