#include "cli/node_operation.h"

const char *kiln_node_operation(const struct kiln_node *node)
{
    switch (node->kind) {
    case KILN_NODE_POINTWISE:
        return kiln_pointwise_mode_info(node->pointwise.mode)->name;
    default:
        break;
    }
    return "?";
}
