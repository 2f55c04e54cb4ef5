/*
 * The canonical form: fixed-width little-endian records, counts in front of what they count.
 *
 * Data types are written as hipDNN's numbers and modes too, so that the form does not change when a
 * table of Kiln grows; kinds and roles of operands are Kiln's own numbers. Parameters that the mode
 * does not read are left out, as is the alignment of tensors that have no memory.
 */
#include "compiler/graph/canonical_form.h"
#include "compiler/graph/graph_reader.h"

#include <string.h>

static void append_record(struct kiln_buffer *buffer, const struct kiln_record *record)
{
    kiln_buffer_append(buffer, record->bytes, record->size);
}

static void append(const struct kiln_graph *graph, bool has_sizes, struct kiln_buffer *buffer)
{
    kiln_buffer_append_u32(buffer, KILN_CANONICAL_VERSION);
    kiln_buffer_append_u32(buffer, graph->tensor_count);
    kiln_buffer_append_u32(buffer, graph->node_count);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        struct kiln_record record = {.size = 0};
        struct kiln_tensor tensor = graph->tensors[i];
        if (!has_sizes) {
            memset(tensor.dims, 0, sizeof tensor.dims);
            memset(tensor.strides, 0, sizeof tensor.strides);
            tensor.ragged.multiplier = tensor.ragged.multiplier != 0;
            tensor.ragged.token = tensor.ragged.longest = 0;
        }
        kiln_visit_tensor(&(struct kiln_fields){.record = &record}, &tensor);
        append_record(buffer, &record);
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        struct kiln_record record = {.size = 0};
        struct kiln_node node = graph->nodes[i];
        kiln_visit_node(&(struct kiln_fields){.record = &record}, graph->tensor_count, &node);
        append_record(buffer, &record);
    }
}

void kiln_graph_append_canonical(const struct kiln_graph *graph, struct kiln_buffer *buffer)
{
    append(graph, true, buffer);
}

void kiln_graph_append_computation(const struct kiln_graph *graph, struct kiln_buffer *buffer)
{
    append(graph, false, buffer);
}

enum kiln_status kiln_graph_hash(const struct kiln_graph *graph, struct kiln_hash128 *ret_hash,
                                 struct kiln_error *error)
{
    struct kiln_buffer canonical;
    kiln_buffer_init(&canonical);
    kiln_graph_append_canonical(graph, &canonical);
    enum kiln_status status = kiln_buffer_check(&canonical, error);
    if (status == KILN_OK)
        *ret_hash = kiln_hash128(canonical.data, canonical.size);
    kiln_buffer_fini(&canonical);
    return status;
}
