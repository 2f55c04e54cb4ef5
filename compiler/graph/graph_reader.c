/*
 * kiln_graph_read: bytes -> wire form (wire.cc) -> nodes, order, tensors, checks.
 *
 * Tensors that no node names are not part of the graph. Their uids must be unique like all others;
 * nothing else about them is looked at, since nothing can depend on it.
 */
#include "compiler/graph/graph_reader.h"

#include "compiler/graph/graph_builder.h"
#include "runtime/support/limited_sum.h"

#include <inttypes.h>
#include <string.h>

/* Newest engine plugin interface whose graphs are understood. */
enum { API_MAJOR = 1, API_MINOR = 4, API_PATCH = 0 };

static enum kiln_status check_graph_fields(const struct kiln_wire_graph *wire,
                                           struct kiln_error *error)
{
    if (wire->node_count == 0)
        return kiln_reject(error, KILN_REJECT_NO_NODES, "the graph has no nodes");
    if (wire->tensor_count == 0)
        return kiln_reject(error, KILN_REJECT_NO_TENSORS, "the graph has nodes and no tensors");
    const struct kiln_wire_version *version = &wire->min_api_version;
    if (version->present && (version->major != API_MAJOR || version->minor > API_MINOR ||
                             (version->minor == API_MINOR && version->patch > API_PATCH)))
        return kiln_reject(error, KILN_REJECT_API_VERSION,
                           "the graph needs engine plugin interface %u.%u.%u, known is %d.%d.%d",
                           version->major, version->minor, version->patch, API_MAJOR, API_MINOR,
                           API_PATCH);
    return KILN_OK;
}

/* The node's type, else the graph's, else float. */
static enum kiln_status read_compute_type(struct kiln_graph_builder *builder,
                                          const struct kiln_wire_node *wire, struct kiln_node *node)
{
    uint8_t type = wire->compute_type != 0 ? wire->compute_type : builder->wire->compute_type;
    node->compute_type = KILN_DTYPE_F32;
    enum kiln_wire_era era = builder->wire->era;
    if (type == 0 || kiln_dtype_read(era, type, &node->compute_type))
        return KILN_OK;
    return kiln_reject_node(builder->error, kiln_dtype_reject_reason(era, type), &builder->graph,
                            node, "compute type %u is not supported", type);
}

static enum kiln_status read_node(struct kiln_graph_builder *builder,
                                  const struct kiln_wire_node *wire, struct kiln_node *node)
{
    node->name = kiln_name_copy(builder->arena, wire->name);
    if (node->name == NULL) {
        node->name = "";
        return kiln_graph_no_memory(builder->error);
    }
    if (!wire->has_attributes)
        return kiln_reject_node(builder->error, KILN_REJECT_MISSING_ATTRIBUTES, &builder->graph,
                                node, "the attributes are missing");
    const char *kind = kiln_wire_node_text(wire->attributes_type, builder->wire->era);
    if (kind == NULL)
        return kiln_reject_node(builder->error, KILN_REJECT_UNKNOWN_NODE, &builder->graph, node,
                                "its kind %u is unknown", wire->attributes_type);
    const struct kiln_node_reader *reader = kiln_node_reader(wire->attributes_type);
    if (reader == NULL)
        return kiln_reject_node(builder->error, KILN_REJECT_UNSUPPORTED_NODE, &builder->graph, node,
                                "%s is not supported", kind);
    enum kiln_status status = read_compute_type(builder, wire, node);
    if (status != KILN_OK)
        return status;
    return reader->read(builder, wire, node);
}

static enum kiln_status read_nodes(struct kiln_graph_builder *builder)
{
    const struct kiln_wire_graph *wire = builder->wire;
    struct kiln_graph *graph = &builder->graph;
    graph->nodes = kiln_arena_calloc(builder->arena, wire->node_count, sizeof *graph->nodes);
    if (graph->nodes == NULL)
        return kiln_graph_no_memory(builder->error);
    graph->node_count = wire->node_count;
    for (uint32_t i = 0; i < wire->node_count; i++) {
        enum kiln_status status = read_node(builder, &wire->nodes[i], &graph->nodes[i]);
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

/* Gives the operand its ordinal, importing the tensor when it appears for the first time. */
static enum kiln_status import_operand(struct kiln_graph_builder *builder,
                                       const struct kiln_node *node, uint32_t *operand)
{
    struct kiln_graph *graph = &builder->graph;
    uint32_t *ordinal = &builder->ordinals[*operand];
    if (*ordinal == KILN_NONE) {
        enum kiln_status status =
            kiln_tensor_import(builder, node, *operand, &graph->tensors[graph->tensor_count]);
        if (status != KILN_OK)
            return status;
        *ordinal = graph->tensor_count++;
    }
    *operand = *ordinal;
    return KILN_OK;
}

static enum kiln_status import_tensors(struct kiln_graph_builder *builder)
{
    const struct kiln_wire_graph *wire = builder->wire;
    struct kiln_graph *graph = &builder->graph;
    size_t ordinal_bytes = wire->tensor_count * sizeof *builder->ordinals;
    graph->tensors = kiln_arena_calloc(builder->arena, wire->tensor_count, sizeof *graph->tensors);
    builder->ordinals = kiln_arena_calloc(builder->scratch, 1, ordinal_bytes);
    if (graph->tensors == NULL || builder->ordinals == NULL)
        return kiln_graph_no_memory(builder->error);
    memset(builder->ordinals, 0xff, ordinal_bytes);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        struct kiln_node *node = &graph->nodes[i];
        enum kiln_status status = KILN_OK;
        for (uint32_t k = 0; status == KILN_OK && k < node->input_count; k++)
            status = import_operand(builder, node, &node->inputs[k]);
        for (uint32_t k = 0; status == KILN_OK && k < node->output_count; k++)
            status = import_operand(builder, node, &node->outputs[k]);
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

static enum kiln_status complete_nodes(struct kiln_graph_builder *builder)
{
    struct kiln_graph *graph = &builder->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        struct kiln_node *node = &graph->nodes[i];
        const struct kiln_node_reader *reader = kiln_node_kind_reader(node->kind);
        enum kiln_status status =
            reader->complete != NULL ? reader->complete(graph, node, builder->error) : KILN_OK;
        if (status != KILN_OK)
            return status;
    }
    return kiln_trailing_ones_pad(builder);
}

/* Five minutes at 10^12 elements per second, and a thousand times what any memory holds. Strides of
 * 0 let a few bytes of graph ask for any number. */
static const uint64_t most_elements = UINT64_C(1) << 48;

static uint64_t count_elements(const struct kiln_graph *graph)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        uint64_t elements = 1; /* below 2^63 */
        for (uint32_t axis = 0; axis < graph->tensors[i].rank; axis++)
            elements *= (uint64_t)graph->tensors[i].dims[axis];
        sum = kiln_limited_sum(sum, elements);
    }
    return sum;
}

/* Tensors that the host supplies at execute. */
static uint32_t count_bindings(const struct kiln_graph *graph)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        count += graph->tensors[i].role != KILN_TENSOR_VIRTUAL &&
                 graph->tensors[i].role != KILN_TENSOR_CONSTANT;
    return count;
}

static enum kiln_status check_nodes(const struct kiln_graph_builder *builder)
{
    const struct kiln_graph *graph = &builder->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        enum kiln_status status =
            kiln_node_kind_reader(node->kind)->check(graph, node, builder->error);
        if (status != KILN_OK)
            return status;
    }
    uint64_t elements = count_elements(graph);
    if (elements > most_elements)
        return kiln_reject(builder->error, KILN_REJECT_ENDLESS,
                           "its tensors have %" PRIu64
                           " elements together, more than the 2^48 that a device could get through",
                           elements);
    uint32_t bindings = count_bindings(graph);
    if (bindings > KILN_MAX_GRAPH_BINDINGS)
        return kiln_reject(builder->error, KILN_REJECT_TOO_MANY_TENSORS,
                           "the host would have to supply %u tensors at each execution, at most %d "
                           "are supported",
                           bindings, KILN_MAX_GRAPH_BINDINGS);
    bool has_output = false;
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        has_output = has_output || graph->tensors[i].role == KILN_TENSOR_OUTPUT;
    if (!has_output)
        return kiln_reject(builder->error, KILN_REJECT_NO_OUTPUT,
                           "all results of the graph are virtual");
    return KILN_OK;
}

enum kiln_status kiln_graph_build(struct kiln_graph_builder *builder)
{
    builder->graph.era = builder->wire->era;
    builder->graph.takes_overrides = builder->wire->has_override_shapes;
    builder->graph.name = kiln_name_copy(builder->arena, builder->wire->name);
    if (builder->graph.name == NULL)
        return kiln_graph_no_memory(builder->error);
    enum kiln_status status = check_graph_fields(builder->wire, builder->error);
    if (status == KILN_OK)
        status = kiln_uid_index_build(builder);
    if (status == KILN_OK)
        status = read_nodes(builder);
    if (status == KILN_OK)
        status = kiln_node_order(builder);
    if (status == KILN_OK)
        status = import_tensors(builder);
    if (status == KILN_OK && builder->declared != NULL)
        kiln_infer_sizes(builder->declared, builder->graph.tensors, true);
    if (status == KILN_OK)
        status = kiln_ragged_complete(builder);
    if (status == KILN_OK)
        status = complete_nodes(builder);
    if (status == KILN_OK)
        status = check_nodes(builder);
    return status;
}

enum kiln_status kiln_graph_read(const void *bytes, size_t size, struct kiln_arena *arena,
                                 struct kiln_graph *ret_graph, struct kiln_error *error)
{
    struct kiln_arena scratch;
    struct kiln_wire_graph wire;
    kiln_arena_init(&scratch);
    ret_graph->name = "";
    enum kiln_status status = kiln_wire_graph_parse(bytes, size, &scratch, &wire, error);
    if (status == KILN_OK) {
        struct kiln_graph_builder builder = {
            .wire = &wire, .arena = arena, .scratch = &scratch, .error = error};
        status = kiln_graph_build(&builder);
        if (status == KILN_OK)
            *ret_graph = builder.graph;
        else if (builder.graph.name != NULL)
            ret_graph->name = builder.graph.name;
    }
    kiln_arena_fini(&scratch);
    return status;
}
