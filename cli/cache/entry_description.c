#include "cli/cache/entry_description.h"

#include "runtime/engine/program_format.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_OPERATIONS = 6 }; /* in a summary; runs of equal ones count once */

void kiln_entry_describe(const struct kiln_entry_view *view, bool with_program,
                         struct kiln_entry_description *ret_description)
{
    struct kiln_entry_description *description = ret_description;
    memset(description, 0, sizeof *description);
    kiln_arena_init(&description->arena);
    kiln_error_init(&description->reason);
    description->has_key =
        kiln_program_key_read(view->key, view->key_bytes, &description->arena, &description->key,
                              &description->reason) == KILN_OK;
    if (!description->has_key || !with_program ||
        kiln_program_format_read(view->payload, view->payload_bytes, &description->key.graph,
                                 &description->program, &description->reason) != KILN_OK)
        return;
    const struct kiln_compiled_program *program = &description->program->program;
    for (uint32_t i = 0; i < program->kernel_count; i++)
        description->code_bytes += program->kernels[i].object.size;
}

void kiln_entry_description_fini(struct kiln_entry_description *description)
{
    if (description->program)
        kiln_shared_program_unref(description->program);
    kiln_arena_fini(&description->arena);
}

static void append_output(const struct kiln_graph *graph, struct kiln_buffer *buffer)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->role != KILN_TENSOR_OUTPUT)
            continue;
        kiln_buffer_printf(buffer, " -> %s [", kiln_dtype_info(tensor->dtype)->text);
        for (uint32_t j = 0; j < tensor->rank; j++)
            kiln_buffer_printf(buffer, "%s%" PRId64, j ? "," : "", tensor->dims[j]);
        kiln_buffer_append_text(buffer, "]");
        return;
    }
}

void kiln_entry_summary(const struct kiln_entry_description *description,
                        struct kiln_buffer *buffer)
{
    if (!description->has_key)
        return;
    const struct kiln_graph *graph = &description->key.graph;
    uint32_t shown = 0;
    uint32_t at = 0;
    while (at < graph->node_count && shown < MOST_OPERATIONS) {
        const char *operation = kiln_node_operation(&graph->nodes[at]);
        uint32_t run = 1;
        while (at + run < graph->node_count &&
               strcmp(kiln_node_operation(&graph->nodes[at + run]), operation) == 0)
            run++;
        kiln_buffer_printf(buffer, "%s%s", shown ? ", " : "", operation);
        if (run > 1)
            kiln_buffer_printf(buffer, " x%" PRIu32, run);
        at += run;
        shown++;
    }
    if (at < graph->node_count)
        kiln_buffer_printf(buffer, ", %" PRIu32 " more", graph->node_count - at);
    append_output(graph, buffer);
}

bool kiln_entry_is_for(const struct kiln_entry_description *description, const char *target)
{
    if (!description->has_key)
        return false;
    size_t length = strlen(target);
    const char *name = description->key.target;
    bool has_level = strchr(target, ':') != NULL;
    return strncmp(name, target, length) == 0 &&
           (name[length] == '\0' || (name[length] == ':' && !has_level));
}
