/* Shapes and types of pooling and its gradients. */
#include "compiler/graph/graph_builder.h"

enum { MAX_TAPS = 1 << 30 };

struct view {
    const struct kiln_graph *graph;
    const struct kiln_node *node;
    const struct kiln_tensor *read;  /* x, or dy */
    const struct kiln_tensor *made;  /* y, or dx */
    const struct kiln_tensor *index; /* NULL: there is none */
    struct kiln_error *error;
};

static bool is_forward(const struct view *view)
{
    return view->node->kind == KILN_NODE_RESAMPLE_FORWARD;
}

static enum kiln_status check_rank(const struct view *view, const struct kiln_tensor *tensor)
{
    uint32_t spatial_count = view->node->resample.spatial_count;
    if (tensor->rank != spatial_count + 2)
        return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node, tensor,
                                  "rank %u, must be %u for the %u %s of window", tensor->rank,
                                  spatial_count + 2, spatial_count,
                                  spatial_count == 1 ? "entry" : "entries");
    return KILN_OK;
}

static enum kiln_status check_tensor(const struct view *view, const struct kiln_tensor *tensor)
{
    enum kiln_status status = check_rank(view, tensor);
    if (status == KILN_OK && !kiln_dtype_is_factor(tensor->dtype))
        status = kiln_reject_tensor(view->error, KILN_REJECT_UNSUPPORTED_TYPE, view->graph,
                                    view->node, tensor, "type %s has no rule in pooling",
                                    kiln_dtype_info(tensor->dtype)->text);
    return status;
}

/* The positions of an image fit in the index's type. An index that is read may have any number:
 * what is no position selects nothing. */
static enum kiln_status check_positions(const struct view *view)
{
    const struct kiln_tensor *image = is_forward(view) ? view->read : view->made;
    bool is_byte = is_forward(view) && view->index->dtype == KILN_DTYPE_I8;
    int64_t most = is_byte ? INT8_MAX : INT32_MAX;
    int64_t positions = 1;
    for (uint32_t i = 2; i < image->rank; i++) {
        if (__builtin_mul_overflow(positions, image->dims[i], &positions))
            positions = INT64_MAX;
    }
    if (view->node->resample.mode == KILN_POOLING_MAX && positions - 1 > most)
        return kiln_reject_tensor(view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node,
                                  view->index, "positions up to %lld do not fit in type %s",
                                  (long long)(positions - 1), is_byte ? "int8" : "int32");
    return KILN_OK;
}

static enum kiln_status check_index(const struct view *view)
{
    const struct kiln_tensor *index = view->index;
    const struct kiln_tensor *like = is_forward(view) ? view->made : view->read;
    enum kiln_status status = check_rank(view, index);
    if (status == KILN_OK && index->dtype != KILN_DTYPE_I8 && index->dtype != KILN_DTYPE_I32)
        status = kiln_reject_tensor(view->error, KILN_REJECT_UNSUPPORTED_TYPE, view->graph,
                                    view->node, index, "type %s, must be int8 or int32",
                                    kiln_dtype_info(index->dtype)->text);
    for (uint32_t i = 0; status == KILN_OK && i < index->rank; i++) {
        if (index->dims[i] != like->dims[i])
            status = kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node,
                                        index, "dimension %u is %lld, must be %lld as %s has", i,
                                        (long long)index->dims[i], (long long)like->dims[i],
                                        is_forward(view) ? "y" : "dy");
    }
    return status == KILN_OK ? check_positions(view) : status;
}

/* Offsets of an operand that is read, along an axis, can be counted for `count` steps. */
static enum kiln_status check_stride(const struct view *view, uint32_t axis, int64_t count,
                                     const char *what)
{
    const int64_t most = INT64_C(1) << 61;
    const struct kiln_tensor *tensors[] = {view->read, is_forward(view) ? NULL : view->index};
    for (uint32_t i = 0; i < 2; i++) {
        const struct kiln_tensor *tensor = tensors[i];
        if (tensor != NULL &&
            tensor->strides[axis] > most / kiln_dtype_info(tensor->dtype)->bytes / count)
            return kiln_reject_tensor(
                view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node, tensor,
                "stride %u is %lld: %lld of them, %s, are more than 2^61 "
                "bytes",
                axis, (long long)tensor->strides[axis], (long long)count, what);
    }
    return KILN_OK;
}

/* Forward, along one spatial axis: the padded image can be counted and addressed, the window fits,
 * the result has the size that follows. */
static enum kiln_status check_forward_axis(const struct view *view, uint32_t spatial)
{
    const struct kiln_resample *resample = &view->node->resample;
    uint32_t axis = spatial + 2;
    int64_t size = view->read->dims[axis];
    int64_t padding = resample->pre_padding[spatial] + resample->post_padding[spatial];
    if (size > INT32_MAX - padding)
        return kiln_reject_tensor(view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node,
                                  view->read,
                                  "dimension %u is %lld and the paddings %lld, together at most %d",
                                  axis, (long long)size, (long long)padding, INT32_MAX);
    int64_t padded = size + padding;
    if (resample->window[spatial] > padded)
        return kiln_reject_tensor(
            view->error, KILN_REJECT_SHAPE, view->graph, view->node, view->read,
            "dimension %u is %lld: the window of %lld is larger than the "
            "padded image of %lld",
            axis, (long long)size, (long long)resample->window[spatial], (long long)padded);
    int64_t result = (padded - resample->window[spatial]) / resample->stride[spatial] + 1;
    if (result != view->made->dims[axis])
        return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node,
                                  view->made,
                                  "dimension %u is %lld, must be the %lld that image, window and "
                                  "parameters give",
                                  axis, (long long)view->made->dims[axis], (long long)result);
    return check_stride(view, axis, padded, "the padded image");
}

/* Backward: the image with its padding, and all taps, can be counted and addressed. Any image has a
 * gradient: windows outside of it contribute nothing. */
static enum kiln_status check_backward_axis(const struct view *view, uint32_t spatial)
{
    const struct kiln_resample *resample = &view->node->resample;
    uint32_t axis = spatial + 2;
    int64_t size = view->made->dims[axis];
    int64_t reach;
    if (size > INT32_MAX - resample->pre_padding[spatial])
        return kiln_reject_tensor(
            view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node, view->made,
            "dimension %u is %lld and the padding %lld, together at most %d", axis, (long long)size,
            (long long)resample->pre_padding[spatial], INT32_MAX);
    if (__builtin_mul_overflow(view->read->dims[axis] - 1, resample->stride[spatial], &reach) ||
        reach > INT32_MAX - resample->window[spatial])
        return kiln_reject_tensor(
            view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node, view->read,
            "dimension %u is %lld: its windows of %lld with stride %lld "
            "reach beyond %d",
            axis, (long long)view->read->dims[axis], (long long)resample->window[spatial],
            (long long)resample->stride[spatial], INT32_MAX);
    return check_stride(view, axis, size, "one for each element of the gradient");
}

/* Kernels count taps in 32 bits. Plans count the work of all windows in 63 bits. */
static enum kiln_status check_taps(const struct view *view)
{
    const struct kiln_resample *resample = &view->node->resample;
    int64_t taps = 1;
    for (uint32_t i = 0; i < resample->spatial_count; i++) {
        if (__builtin_mul_overflow(taps, resample->window[i], &taps))
            taps = INT64_MAX;
    }
    if (taps > MAX_TAPS)
        return kiln_reject_tensor(
            view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node, view->made,
            "a window has %lld elements, at most %d are supported", (long long)taps, MAX_TAPS);
    if (__builtin_mul_overflow(taps, kiln_tensor_elements(view->made), &taps))
        return kiln_reject_tensor(view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node,
                                  view->made, "its windows have more than 2^63 elements");
    return KILN_OK;
}

enum kiln_status kiln_resample_check(const struct kiln_graph *graph, const struct kiln_node *node,
                                     struct kiln_error *error)
{
    uint32_t index = kiln_node_output(node, KILN_OPERAND_INDEX);
    if (index == KILN_NONE)
        index = kiln_node_input(node, KILN_OPERAND_INDEX);
    const struct view view = {graph,
                              node,
                              &graph->tensors[node->inputs[0]],
                              &graph->tensors[node->outputs[0]],
                              index == KILN_NONE ? NULL : &graph->tensors[index],
                              error};
    enum kiln_status status = check_tensor(&view, view.read);
    if (status == KILN_OK)
        status = check_tensor(&view, view.made);
    for (uint32_t i = 0; status == KILN_OK && i < 2; i++) {
        if (view.read->dims[i] != view.made->dims[i])
            status =
                kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, view.made,
                                   "dimension %u is %lld, must be the image's %lld", i,
                                   (long long)view.made->dims[i], (long long)view.read->dims[i]);
    }
    if (status == KILN_OK && view.index != NULL)
        status = check_index(&view);
    for (uint32_t i = 0; status == KILN_OK && i < node->resample.spatial_count; i++)
        status = is_forward(&view) ? check_forward_axis(&view, i) : check_backward_axis(&view, i);
    return status == KILN_OK ? check_taps(&view) : status;
}
