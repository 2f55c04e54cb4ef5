#include "compiler/fuse/fusion_group.h"

#include <inttypes.h>

const char *kiln_boundary_text(enum kiln_boundary boundary)
{
    static const char *const texts[] = {
#define KILN_BOUNDARY(name, text) text,
#include "compiler/fuse/boundary.def"
#define KILN_FAMILY(name, lower, op_class, text, reason) reason,
#include "compiler/kernel_family.def"
    };
    return texts[boundary];
}

enum kiln_boundary kiln_family_boundary(enum kiln_kernel_family family)
{
    static const enum kiln_boundary boundaries[] = {
#define KILN_FAMILY(name, lower, op_class, text, reason) KILN_BOUNDARY_OF_##name,
#include "compiler/kernel_family.def"
    };
    return boundaries[family];
}

int64_t kiln_access_elements_along(const struct kiln_access *access, uint32_t axis, int64_t size)
{
    if (access->strides[axis] == 0)
        return 1;
    return access->repeats[axis] > 1 ? (size - 1) / access->repeats[axis] + 1 : size;
}

uint32_t kiln_group_position(const struct kiln_fusion_group *group, uint32_t value)
{
    uint32_t low = 0; /* they ascend */
    uint32_t high = group->op_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (group->ops[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < group->op_count && group->ops[low] == value ? low : KILN_NONE;
}

void kiln_access_print_name(const struct kiln_ir *ir, const struct kiln_graph *graph,
                            const struct kiln_access *access, struct kiln_buffer *buffer)
{
    bool is_named = access->tensor != KILN_NONE && !access->is_accumulator;
    if (access->kind == KILN_ARGUMENT_WORKSPACE)
        kiln_buffer_printf(buffer, "workspace at %" PRIu64 ": ", access->workspace_offset_bytes);
    if (access->is_accumulator)
        kiln_buffer_printf(buffer, "component %" PRIu32 " of the accumulator of ",
                           access->component);
    else if (!is_named)
        kiln_buffer_append_text(buffer, "a value of ");
    if (is_named)
        kiln_tensor_print_name(&graph->tensors[access->tensor], buffer);
    else
        kiln_node_print_name(graph, ir->ops[access->value].node, buffer);
}
