/* Which kinds of nodes exist on the wire, and which of them have a reader. */
#include "compiler/graph/graph_builder.h"

const struct kiln_node_reader *kiln_node_reader(uint8_t attributes_type)
{
    switch (attributes_type) {
    case KILN_WIRE_NODE_POINTWISE:
        return &kiln_pointwise_reader;
    /* Readers of other kinds are added here, in files named node_<kind>.c. */
    default:
        return NULL;
    }
}

enum kiln_status kiln_node_check(const struct kiln_graph *graph, const struct kiln_node *node,
                                 struct kiln_error *error)
{
    switch (node->kind) {
    case KILN_NODE_POINTWISE:
        return kiln_pointwise_reader.check(graph, node, error);
    default:
        break;
    }
    return kiln_error_set(error, KILN_INTERNAL, "node kind %d without checks", (int)node->kind);
}

const char *kiln_wire_node_text(uint8_t attributes_type, enum kiln_wire_era era)
{
    static const struct {
        const char *text;
        enum kiln_wire_era first_era;
    } kinds[] = {
#define KILN_WIRE_NODE(number, text, first_era) [number] = {text, KILN_WIRE_ERA_##first_era},
#include "compiler/graph/wire_node.def"
    };
    if (attributes_type >= sizeof kinds / sizeof *kinds || kinds[attributes_type].text == NULL ||
        era < kinds[attributes_type].first_era)
        return NULL;
    return kinds[attributes_type].text;
}
