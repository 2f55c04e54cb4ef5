#include "tests/end_to_end/execute_on_device.h"

#include "compiler/reference/ragged_memory.h"

#include <stdlib.h>
#include <string.h>

struct execution {
    struct kiln_device *device;
    const struct kiln_graph *graph;
    void *const *memory;
    void **copies; /* on the device, by tensor; NULL where there is none */
    void *workspace;
    struct kiln_buffer_binding *bindings;
    uint32_t binding_count;
};

/* The memory of a ragged tensor ends where its offsets say, so that the device finds accesses after
 * that. */
static size_t memory_bytes(const struct execution *execution, uint32_t ordinal)
{
    const struct kiln_tensor *tensor = &execution->graph->tensors[ordinal];
    if (!kiln_tensor_is_ragged(tensor))
        return (size_t)kiln_tensor_footprint_bytes(tensor);
    int64_t elements = kiln_ragged_memory_elements(execution->graph, ordinal,
                                                   execution->memory[tensor->ragged.offsets]);
    size_t bytes = (size_t)elements * kiln_dtype_info(tensor->dtype)->bytes;
    return bytes != 0 ? bytes : 1;
}

static enum kiln_status upload(struct execution *execution, struct kiln_error *error)
{
    const struct kiln_device_ops *ops = execution->device->ops;
    const struct kiln_graph *graph = execution->graph;
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; status == KILN_OK && i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        void *pointer = execution->memory[i];
        if (pointer == NULL)
            continue;
        if (tensor->role != KILN_TENSOR_HOST_SCALAR) {
            size_t bytes = memory_bytes(execution, i);
            status = ops->allocate(execution->device, bytes, &execution->copies[i], error);
            if (status == KILN_OK)
                status =
                    ops->copy_in(execution->device, execution->copies[i], pointer, bytes, error);
            pointer = execution->copies[i];
        }
        execution->bindings[execution->binding_count++] =
            (struct kiln_buffer_binding){.uid = tensor->uid, .pointer = pointer};
    }
    return status;
}

static enum kiln_status make_workspace(struct execution *execution, size_t bytes,
                                       unsigned char poison, struct kiln_error *error)
{
    const struct kiln_device_ops *ops = execution->device->ops;
    unsigned char *poisoned = malloc(bytes + 1);
    if (poisoned == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for the workspace");
    memset(poisoned, poison, bytes + 1);
    enum kiln_status status =
        ops->allocate(execution->device, bytes + 1, &execution->workspace, error);
    if (status == KILN_OK)
        status = ops->copy_in(execution->device, execution->workspace, poisoned, bytes + 1, error);
    free(poisoned);
    return status;
}

static enum kiln_status download(const struct execution *execution, struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; status == KILN_OK && i < execution->graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &execution->graph->tensors[i];
        if (tensor->role == KILN_TENSOR_OUTPUT)
            status = execution->device->ops->copy_out(execution->device, execution->memory[i],
                                                      execution->copies[i],
                                                      memory_bytes(execution, i), error);
    }
    return status;
}

enum kiln_status execute_on_device(struct kiln_device *device, const struct kiln_plan *plan,
                                   const struct kiln_graph *graph,
                                   const struct kiln_shape_overrides *overrides,
                                   void *const *memory, unsigned char poison,
                                   struct kiln_error *error)
{
    struct execution execution = {
        .device = device,
        .graph = graph,
        .memory = memory,
        .copies = calloc(graph->tensor_count, sizeof *execution.copies),
        .bindings = calloc(graph->tensor_count, sizeof *execution.bindings),
    };
    enum kiln_status status = KILN_OK;
    if (execution.copies == NULL || execution.bindings == NULL)
        status = kiln_error_set(error, KILN_NO_MEMORY, "no memory to execute");
    if (status == KILN_OK)
        status = upload(&execution, error);
    if (status == KILN_OK)
        status = make_workspace(&execution, (size_t)kiln_plan_workspace_bytes(plan), poison, error);
    if (status == KILN_OK)
        status =
            kiln_plan_execute_with_overrides(plan, NULL, execution.workspace, execution.bindings,
                                             execution.binding_count, overrides, error);
    if (status == KILN_OK)
        status = device->ops->synchronize(device, NULL, error);
    if (status == KILN_OK)
        status = download(&execution, error);
    for (uint32_t i = 0; execution.copies != NULL && i < graph->tensor_count; i++)
        device->ops->release(device, execution.copies[i]);
    device->ops->release(device, execution.workspace);
    free(execution.copies);
    free(execution.bindings);
    return status;
}
