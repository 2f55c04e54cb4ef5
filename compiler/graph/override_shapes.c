/*
 * Applies override shapes to a graph on the wire, and reads the graph that results. All that holds
 * for a graph which declares these shapes is then checked in the same way.
 */
#include "compiler/graph/override_shapes.h"

#include "compiler/graph/graph_builder.h"
#include "runtime/support/limited_sum.h"

#include <inttypes.h>
#include <string.h>

#define REFUSE(shape, format, ...)                                                                 \
    kiln_error_set((shape)->error, KILN_BAD_ARGUMENT,                                              \
                   "override shape of tensor uid %" PRId64 ": " format, (shape)->tensor->uid,      \
                   __VA_ARGS__)

/* A shape for a tensor, for the checks and their sentences. */
struct shape {
    struct kiln_wire_tensor *tensor; /* with the declared shape */
    const int64_t *dims;
    const int64_t *strides;
    struct kiln_error *error;
};

static enum kiln_status check_axis(const struct shape *shape, uint32_t axis)
{
    const struct kiln_wire_tensor *tensor = shape->tensor;
    int64_t size = shape->dims[axis];
    int64_t stride = shape->strides[axis];
    if (size < 1)
        return REFUSE(shape, "dimension %u is %" PRId64 ", must be at least 1", axis, size);
    if (size > tensor->dims[axis])
        return REFUSE(shape, "dimension %u is %" PRId64 ", above the declared %" PRId64, axis, size,
                      tensor->dims[axis]);
    if (tensor->dims[axis] == 1 ? stride < 0 : stride < 1 && tensor->strides[axis] != 0)
        return REFUSE(shape, "stride %u is %" PRId64 ", must be at least 1", axis, stride);
    if (tensor->dims[axis] != 1 && tensor->strides[axis] == 0 && stride != 0)
        return REFUSE(shape, "stride %u is %" PRId64 ", must be 0 as declared", axis, stride);
    return KILN_OK;
}

/* An axis with one element has no place in the order. */
static enum kiln_status check_order(const struct shape *shape, uint32_t left, uint32_t right)
{
    const int64_t *declared = shape->tensor->strides;
    if (shape->dims[left] == 1 || shape->dims[right] == 1 ||
        (declared[left] < declared[right]
             ? shape->strides[left] <= shape->strides[right]
             : declared[left] == declared[right] || shape->strides[left] >= shape->strides[right]))
        return KILN_OK;
    return REFUSE(shape,
                  "strides %u and %u are %" PRId64 " and %" PRId64 ", in another order than the "
                  "declared %" PRId64 " and %" PRId64,
                  left, right, shape->strides[left], shape->strides[right], declared[left],
                  declared[right]);
}

/* Elements from the first one to the last one. */
static uint64_t reach_of(uint32_t rank, const int64_t *dims, const int64_t *strides)
{
    uint64_t reach = 1;
    for (uint32_t i = 0; i < rank; i++)
        reach = kiln_limited_sum(reach,
                                 kiln_limited_product((uint64_t)dims[i] - 1, (uint64_t)strides[i]));
    return reach;
}

/* A host allocates memory for the declared shape, so every other shape has to stay in there. */
static enum kiln_status check_reach(const struct shape *shape)
{
    const struct kiln_wire_tensor *tensor = shape->tensor;
    uint64_t reach = reach_of(tensor->dim_count, shape->dims, shape->strides);
    uint64_t declared = reach_of(tensor->dim_count, tensor->dims, tensor->strides);
    if (reach <= declared)
        return KILN_OK;
    return REFUSE(shape, "it reaches over %" PRIu64 " elements, more than the declared %" PRIu64,
                  reach, declared);
}

static enum kiln_status check_shape(const struct shape *shape)
{
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; status == KILN_OK && i < shape->tensor->dim_count; i++)
        status = check_axis(shape, i);
    for (uint32_t i = 1; status == KILN_OK && i < shape->tensor->dim_count; i++) {
        for (uint32_t k = 0; status == KILN_OK && k < i; k++)
            status = check_order(shape, k, i);
    }
    return status == KILN_OK ? check_reach(shape) : status;
}

/* Checks one entry of the arrays. */
static enum kiln_status find_shape(const struct kiln_graph_builder *builder,
                                   struct kiln_wire_graph *wire,
                                   const struct kiln_shape_overrides *overrides, uint32_t index,
                                   struct shape *ret_shape)
{
    int64_t uid = overrides->uids[index];
    uint32_t ordinal = kiln_uid_find(builder, uid);
    if (ordinal == KILN_NONE)
        return kiln_error_set(builder->error, KILN_BAD_ARGUMENT,
                              "override shape of tensor uid %" PRId64 ": no tensor has this uid",
                              uid);
    struct shape shape = {&wire->tensors[ordinal], overrides->dims[index],
                          overrides->strides[index], builder->error};
    const struct kiln_wire_tensor *tensor = shape.tensor;
    if (tensor->is_virtual || tensor->value_kind != KILN_WIRE_VALUE_NONE)
        return REFUSE(&shape, "it is %s, which has no buffer",
                      tensor->is_virtual ? "virtual" : "a constant");
    if (overrides->ranks[index] != tensor->dim_count || tensor->stride_count != tensor->dim_count ||
        tensor->dim_count > KILN_MAX_RANK)
        return REFUSE(&shape, "rank %u, declared is rank %u", overrides->ranks[index],
                      tensor->dim_count);
    if (tensor->dim_count != 0 && (shape.dims == NULL || shape.strides == NULL))
        return REFUSE(&shape, "its array of %s is NULL",
                      shape.dims == NULL ? "dimensions" : "strides");
    *ret_shape = shape;
    return KILN_OK;
}

/* Gives the tensors of the wire their shapes. The builder has read the declared graph. */
static enum kiln_status apply(const struct kiln_graph_builder *builder,
                              struct kiln_wire_graph *wire,
                              const struct kiln_shape_overrides *overrides)
{
    bool *is_named = kiln_arena_calloc(builder->scratch, wire->tensor_count, sizeof *is_named);
    if (is_named == NULL)
        return kiln_graph_no_memory(builder->error);
    for (uint32_t i = 0; i < overrides->count; i++) {
        struct shape shape = {0};
        enum kiln_status status = find_shape(builder, wire, overrides, i, &shape);
        if (status == KILN_OK && is_named[shape.tensor - wire->tensors])
            status = REFUSE(&shape, "it is given %s", "twice");
        if (status == KILN_OK)
            status = check_shape(&shape);
        if (status != KILN_OK)
            return status;
        is_named[shape.tensor - wire->tensors] = true;
        memcpy(shape.tensor->dims, shape.dims, shape.tensor->dim_count * sizeof *shape.dims);
        memcpy(shape.tensor->strides, shape.strides,
               shape.tensor->dim_count * sizeof *shape.strides);
    }
    return KILN_OK;
}

/* A declared bound that hides no key of a smaller shape is still a bound: its kernels have one. */
static void keep_bounds(const struct kiln_graph *graph, const struct kiln_attention *declared,
                        struct kiln_node *node)
{
    const struct kiln_attention_sizes sizes = kiln_attention_sizes_of(graph, node);
    struct kiln_attention *attention = &node->attention;
    bool has_corners = declared->is_bottom_right;
    if (declared->has_first_key && !attention->has_first_key)
        attention->first_key = 1 - (has_corners ? sizes.keys : sizes.queries);
    if (declared->has_last_key && !attention->has_last_key)
        attention->last_key = (has_corners ? sizes.queries : sizes.keys) - 1;
    attention->has_first_key |= declared->has_first_key;
    attention->has_last_key |= declared->has_last_key;
    attention->is_bottom_right |= declared->is_bottom_right;
}

/* `node` is a declared one, the graph the one with override shapes. */
static bool has_blocks(const struct kiln_graph *graph, const struct kiln_node *node)
{
    const struct kiln_tensor *x = graph->tensors[node->inputs[0]].declared;
    const struct kiln_block_quantize *quantize = &node->block_quantize;
    return x != NULL && x->dims[quantize->axis] != quantize->block_size;
}

/* The declared shapes say what a node does: an axis is reduced also if its size is 1 now. */
static void keep_attributes(const struct kiln_graph *graph, const struct kiln_node *declared,
                            struct kiln_node *node)
{
    if (node->kind != declared->kind || node->outputs[0] != declared->outputs[0])
        return;
    if (node->kind == KILN_NODE_REDUCTION)
        node->reduction.axes = declared->reduction.axes;
    else if (node->kind == KILN_NODE_RMSNORM || node->kind == KILN_NODE_RMSNORM_BACKWARD)
        node->normalization.axes = declared->normalization.axes;
    else if (node->kind == KILN_NODE_BLOCK_SCALE_QUANTIZE)
        node->block_quantize.declares_blocks = has_blocks(graph, declared);
    else if (node->kind == KILN_NODE_ATTENTION || node->kind == KILN_NODE_ATTENTION_BACKWARD)
        keep_bounds(graph, &declared->attention, node);
}

/* Says of each tensor how it is declared. */
static enum kiln_status link_declared(const struct kiln_graph *declared, struct kiln_arena *arena,
                                      struct kiln_graph *graph, struct kiln_error *error)
{
    struct kiln_tensor *copy = kiln_arena_calloc(arena, declared->tensor_count, sizeof *copy);
    if (copy == NULL)
        return kiln_graph_no_memory(error);
    for (uint32_t i = 0; i < declared->tensor_count; i++) {
        copy[i] = declared->tensors[i];
        copy[i].name = "";
    }
    for (uint32_t i = 0; i < graph->tensor_count && i < declared->tensor_count; i++) {
        struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->uid == copy[i].uid && tensor->rank == copy[i].rank)
            tensor->declared = &copy[i];
    }
    for (uint32_t i = 0; i < graph->node_count && i < declared->node_count; i++)
        keep_attributes(graph, &declared->nodes[i], &graph->nodes[i]);
    return KILN_OK;
}

static enum kiln_status read_graph(struct kiln_wire_graph *wire,
                                   const struct kiln_shape_overrides *overrides,
                                   struct kiln_arena *scratch, struct kiln_arena *arena,
                                   struct kiln_graph *ret_graph, struct kiln_error *error)
{
    struct kiln_graph_builder declared = {
        .wire = wire, .arena = scratch, .scratch = scratch, .error = error};
    enum kiln_status status = kiln_graph_build(&declared);
    if (status == KILN_OK && !wire->has_override_shapes)
        status = kiln_error_set(error, KILN_BAD_ARGUMENT,
                                "override shapes for a graph that was not built for them");
    if (status == KILN_OK)
        status = apply(&declared, wire, overrides);
    if (status != KILN_OK)
        return status;
    struct kiln_graph_builder builder = {.wire = wire,
                                         .arena = arena,
                                         .scratch = scratch,
                                         .error = error,
                                         .declared = &declared.graph};
    status = kiln_graph_build(&builder);
    if (status == KILN_OK)
        status = link_declared(&declared.graph, arena, &builder.graph, error);
    if (status == KILN_OK)
        *ret_graph = builder.graph;
    return status;
}

enum kiln_status kiln_graph_read_with_overrides(const void *bytes, size_t size,
                                                const struct kiln_shape_overrides *overrides,
                                                struct kiln_arena *arena,
                                                struct kiln_graph *ret_graph,
                                                struct kiln_error *error)
{
    struct kiln_arena scratch;
    struct kiln_wire_graph wire;
    kiln_arena_init(&scratch);
    enum kiln_status status = kiln_wire_graph_parse(bytes, size, &scratch, &wire, error);
    if (status == KILN_OK)
        status = read_graph(&wire, overrides, &scratch, arena, ret_graph, error);
    kiln_arena_fini(&scratch);
    return status;
}
