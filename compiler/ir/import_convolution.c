/*
 * A convolution and its gradients are CONTRACTs, in which the axes of pixels and of taps go along
 * the same axes of an image, through a window.
 */
#include "compiler/ir/contraction.h"
#include "compiler/ir/import.h"
#include "compiler/ir/importer.h"

enum {
    BATCH_AXIS, /* of images; of weights: output channels */
    CHANNEL_AXIS,
    SPATIAL_AXIS, /* the first */
};

/* What the three directions are made of. */
struct shapes {
    struct kiln_convolution convolution; /* without what no element depends on */
    uint32_t rank;
    bool is_general; /* kernels for smaller shapes too: what these need may be unused in this one */
    const struct kiln_tensor *x, *w, *y; /* or their gradients */
};

/* Which axis of an operand, counted from the left, an axis goes along, and in which steps. */
struct along {
    uint32_t axis; /* KILN_NONE: none */
    int64_t step;
};

static const struct along nowhere = {KILN_NONE, 1};

static uint8_t from_right(const struct shapes *shapes, struct along along)
{
    return along.axis == KILN_NONE ? KILN_NO_AXIS : (uint8_t)(shapes->rank - 1 - along.axis);
}

static struct kiln_map_axis map_axis(const struct shapes *shapes, struct along along)
{
    struct kiln_map_axis axis = kiln_map_axis_along(from_right(shapes, along));
    axis.step.value = along.step;
    return axis;
}

static void append_axis(const struct shapes *shapes, enum kiln_axis_role role, int64_t size,
                        struct along left, struct along right, struct along result,
                        struct kiln_contraction *contraction)
{
    kiln_contraction_append(contraction, role, size, map_axis(shapes, left),
                            map_axis(shapes, right), map_axis(shapes, result));
}

static void append_window(const struct shapes *shapes, uint32_t axis, int64_t size, int64_t offset,
                          int64_t divisor, struct kiln_contraction *contraction)
{
    struct kiln_map *map = &contraction->maps[contraction->image];
    map->windows[map->window_count++] = (struct kiln_map_window){
        .over = (uint8_t)(shapes->rank - 1 - axis),
        .size = kiln_constant_number(size),
        .offset = kiln_constant_number(offset),
        .divisor = kiln_constant_number(divisor),
    };
}

static struct along along(uint32_t axis, int64_t step)
{
    return (struct along){axis, step};
}

/* Between one pixel, or one tap, there is no distance: equal kernels come of equal programs. */
static void drop_unused_parameters(struct shapes *shapes)
{
    struct kiln_convolution *convolution = &shapes->convolution;
    for (uint32_t i = 0; i < convolution->spatial_count && !shapes->is_general; i++) {
        if (shapes->y->dims[SPATIAL_AXIS + i] == 1)
            convolution->stride[i] = 1;
        if (shapes->w->dims[SPATIAL_AXIS + i] == 1)
            convolution->dilation[i] = 1;
    }
}

/* A convolution is the cross-correlation with the taps in the opposite order. */
static int64_t tap_step(const struct shapes *shapes, uint32_t i)
{
    const struct kiln_convolution *convolution = &shapes->convolution;
    bool is_flipped = convolution->is_flipped && shapes->w->dims[SPATIAL_AXIS + i] > 1;
    return is_flipped ? -convolution->dilation[i] : convolution->dilation[i];
}

/* Where in the image, from its first element, tap 0 of pixel 0 is. */
static int64_t first_tap(const struct shapes *shapes, uint32_t i)
{
    const struct kiln_convolution *convolution = &shapes->convolution;
    int64_t taps = shapes->w->dims[SPATIAL_AXIS + i];
    return (convolution->is_flipped ? (taps - 1) * convolution->dilation[i] : 0) -
           convolution->pre_padding[i];
}

/* Pixels and taps that only reach elements of the image need no window. */
static void append_image_window(const struct shapes *shapes, uint32_t i,
                                struct kiln_contraction *contraction)
{
    const struct kiln_convolution *convolution = &shapes->convolution;
    uint32_t axis = SPATIAL_AXIS + i;
    int64_t last = (shapes->y->dims[axis] - 1) * convolution->stride[i] +
                   (shapes->w->dims[axis] - 1) * convolution->dilation[i] -
                   convolution->pre_padding[i];
    if (!shapes->is_general && first_tap(shapes, i) == 0 && tap_step(shapes, i) > 0 &&
        last < shapes->x->dims[axis])
        return;
    append_window(shapes, axis, shapes->x->dims[axis], first_tap(shapes, i), 1, contraction);
}

static void append_forward(const struct shapes *shapes, struct kiln_contraction *contraction)
{
    const struct kiln_convolution *convolution = &shapes->convolution;
    int64_t k = shapes->y->dims[CHANNEL_AXIS] / convolution->groups;
    int64_t c = shapes->w->dims[CHANNEL_AXIS];
    if (convolution->groups > 1)
        append_axis(shapes, KILN_AXIS_BATCH, convolution->groups, along(CHANNEL_AXIS, c),
                    along(BATCH_AXIS, k), along(CHANNEL_AXIS, k), contraction);
    append_axis(shapes, KILN_AXIS_M, shapes->y->dims[BATCH_AXIS], along(BATCH_AXIS, 1), nowhere,
                along(BATCH_AXIS, 1), contraction);
    append_axis(shapes, KILN_AXIS_N, k, nowhere, along(BATCH_AXIS, 1), along(CHANNEL_AXIS, 1),
                contraction);
    append_axis(shapes, KILN_AXIS_K, c, along(CHANNEL_AXIS, 1), along(CHANNEL_AXIS, 1), nowhere,
                contraction);
    for (uint32_t i = 0; i < convolution->spatial_count; i++) {
        uint32_t axis = SPATIAL_AXIS + i;
        append_axis(shapes, KILN_AXIS_M, shapes->y->dims[axis], along(axis, convolution->stride[i]),
                    nowhere, along(axis, 1), contraction);
        append_axis(shapes, KILN_AXIS_K, shapes->w->dims[axis], along(axis, tap_step(shapes, i)),
                    along(axis, 1), nowhere, contraction);
        append_image_window(shapes, i, contraction);
    }
}

/* Of a stride, of padding and of taps behind the first there are coordinates that the result lacks.
 */
static void append_result_window(const struct shapes *shapes, uint32_t i,
                                 struct kiln_contraction *contraction)
{
    uint32_t axis = SPATIAL_AXIS + i;
    int64_t stride = shapes->convolution.stride[i];
    if (!shapes->is_general && first_tap(shapes, i) == 0 && shapes->w->dims[axis] == 1 &&
        stride == 1 && shapes->x->dims[axis] <= shapes->y->dims[axis])
        return;
    append_window(shapes, axis, shapes->y->dims[axis], -first_tap(shapes, i), stride, contraction);
}

/* An element of the image has a pixel of the result for the taps that are whole strides away. */
static void append_data_gradient(const struct shapes *shapes, struct kiln_contraction *contraction)
{
    const struct kiln_convolution *convolution = &shapes->convolution;
    int64_t k = shapes->y->dims[CHANNEL_AXIS] / convolution->groups;
    int64_t c = shapes->w->dims[CHANNEL_AXIS];
    if (convolution->groups > 1)
        append_axis(shapes, KILN_AXIS_BATCH, convolution->groups, along(CHANNEL_AXIS, k),
                    along(BATCH_AXIS, k), along(CHANNEL_AXIS, c), contraction);
    append_axis(shapes, KILN_AXIS_M, shapes->x->dims[BATCH_AXIS], along(BATCH_AXIS, 1), nowhere,
                along(BATCH_AXIS, 1), contraction);
    append_axis(shapes, KILN_AXIS_N, c, nowhere, along(CHANNEL_AXIS, 1), along(CHANNEL_AXIS, 1),
                contraction);
    append_axis(shapes, KILN_AXIS_K, k, along(CHANNEL_AXIS, 1), along(BATCH_AXIS, 1), nowhere,
                contraction);
    for (uint32_t i = 0; i < convolution->spatial_count; i++) {
        uint32_t axis = SPATIAL_AXIS + i;
        append_axis(shapes, KILN_AXIS_M, shapes->x->dims[axis], along(axis, 1), nowhere,
                    along(axis, 1), contraction);
        append_axis(shapes, KILN_AXIS_K, shapes->w->dims[axis],
                    along(axis, shapes->w->dims[axis] == 1 ? 1 : -tap_step(shapes, i)),
                    along(axis, 1), nowhere, contraction);
        append_result_window(shapes, i, contraction);
    }
}

static void append_weight_gradient(const struct shapes *shapes,
                                   struct kiln_contraction *contraction)
{
    const struct kiln_convolution *convolution = &shapes->convolution;
    int64_t k = shapes->y->dims[CHANNEL_AXIS] / convolution->groups;
    int64_t c = shapes->w->dims[CHANNEL_AXIS];
    contraction->image = KILN_CONTRACT_RIGHT;
    if (convolution->groups > 1)
        append_axis(shapes, KILN_AXIS_BATCH, convolution->groups, along(CHANNEL_AXIS, k),
                    along(CHANNEL_AXIS, c), along(BATCH_AXIS, k), contraction);
    append_axis(shapes, KILN_AXIS_M, k, along(CHANNEL_AXIS, 1), nowhere, along(BATCH_AXIS, 1),
                contraction);
    append_axis(shapes, KILN_AXIS_N, c, nowhere, along(CHANNEL_AXIS, 1), along(CHANNEL_AXIS, 1),
                contraction);
    append_axis(shapes, KILN_AXIS_K, shapes->y->dims[BATCH_AXIS], along(BATCH_AXIS, 1),
                along(BATCH_AXIS, 1), nowhere, contraction);
    for (uint32_t i = 0; i < convolution->spatial_count; i++) {
        uint32_t axis = SPATIAL_AXIS + i;
        append_axis(shapes, KILN_AXIS_N, shapes->w->dims[axis], nowhere,
                    along(axis, tap_step(shapes, i)), along(axis, 1), contraction);
        append_axis(shapes, KILN_AXIS_K, shapes->y->dims[axis], along(axis, 1),
                    along(axis, convolution->stride[i]), nowhere, contraction);
        append_image_window(shapes, i, contraction);
    }
}

/* Of a depthwise convolution whose channels are neighbours in memory the image comes first, as in
 * front of its filters: work-items do vectors of channels (schedule/contraction_direct.h). */
static bool is_direct_gradient(const struct shapes *shapes)
{
    return !shapes->is_general && shapes->convolution.groups > 1 &&
           shapes->w->dims[CHANNEL_AXIS] == 1 && shapes->x->strides[CHANNEL_AXIS] == 1;
}

void kiln_import_convolution(struct kiln_importer *importer, const struct kiln_node *node)
{
    struct kiln_ir *ir = importer->ir;
    const struct kiln_tensor *tensors = importer->graph->tensors;
    uint32_t result = node->outputs[0];
    uint32_t left = node->inputs[0];
    uint32_t right = node->inputs[1];
    struct shapes shapes = {.convolution = node->convolution,
                            .rank = tensors[result].rank,
                            .is_general = ir->is_general};
    struct kiln_contraction contraction = {0};
    if (node->kind == KILN_NODE_CONVOLUTION_FORWARD) {
        shapes.x = &tensors[left];
        shapes.w = &tensors[right];
        shapes.y = &tensors[result];
        drop_unused_parameters(&shapes);
        append_forward(&shapes, &contraction);
    } else if (node->kind == KILN_NODE_CONVOLUTION_DATA_GRADIENT) {
        shapes.y = &tensors[left];
        shapes.w = &tensors[right];
        shapes.x = &tensors[result];
        drop_unused_parameters(&shapes);
        append_data_gradient(&shapes, &contraction);
    } else {
        shapes.w = &tensors[result];
        left = kiln_node_input(node, KILN_OPERAND_DY);
        right = kiln_node_input(node, KILN_OPERAND_X);
        shapes.y = &tensors[left];
        shapes.x = &tensors[right];
        drop_unused_parameters(&shapes);
        append_weight_gradient(&shapes, &contraction);
        if (is_direct_gradient(&shapes)) {
            contraction = kiln_contraction_swap(&contraction);
            left = right;
            right = kiln_node_input(node, KILN_OPERAND_DY);
        }
    }
    enum kiln_scalar scalar = kiln_node_scalar(importer->graph, node);
    uint32_t left_value = kiln_ir_convert(ir, kiln_importer_value(importer, left), scalar);
    uint32_t right_value = kiln_ir_convert(ir, kiln_importer_value(importer, right), scalar);
    uint32_t domain = kiln_ir_tensor_domain(ir, &tensors[result]);
    if (ir->failed)
        return;
    kiln_importer_define(importer, result,
                         kiln_ir_contract(ir, left_value, right_value, &contraction, domain));
}
