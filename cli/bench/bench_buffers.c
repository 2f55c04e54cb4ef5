#include "cli/bench/bench_buffers.h"

#include "cli/random_input.h"
#include "cli/text.h"
#include "compiler/reference/convert.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Of a tensor in its set: as allocations of the devices are, and more than any kernel wants. */
    TENSOR_ALIGNMENT = 256,
    /* Elements that are made one by one; the device copies them on through the tensor. */
    RANDOM_ELEMENTS = 1 << 18,
    MAX_SETS = 1 << 16,
    SEED = 1,
};

static bool has_device_memory(const struct kiln_tensor *tensor)
{
    return tensor->role == KILN_TENSOR_INPUT || tensor->role == KILN_TENSOR_OUTPUT;
}

static uint64_t align(uint64_t bytes)
{
    return (bytes + TENSOR_ALIGNMENT - 1) / TENSOR_ALIGNMENT * TENSOR_ALIGNMENT;
}

/* Offsets of the tensors in a set, and its size. False when that is out of range. */
static bool lay_out(const struct kiln_graph *graph, uint64_t *offsets, uint64_t *ret_bytes)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (!has_device_memory(tensor))
            continue;
        offsets[i] = bytes;
        bytes = align(bytes + (uint64_t)kiln_tensor_footprint_bytes(tensor));
        if (bytes > (uint64_t)INT64_MAX)
            return false;
    }
    *ret_bytes = bytes;
    return true;
}

/* Elements made on the host for the first part of the tensor, and copies of them for the rest:
 * memory in the gaps of strides is filled too. Outputs are filled as well, so that their pages are
 * there before anything is timed. */
static enum kiln_status fill_tensor(const struct kiln_bench_buffers *buffers,
                                    const struct kiln_graph *graph, uint32_t index, char *memory,
                                    unsigned char *scratch, struct kiln_error *error)
{
    struct kiln_device *device = buffers->device;
    const struct kiln_tensor *tensor = &graph->tensors[index];
    int64_t elements = kiln_tensor_footprint_elements(tensor);
    int64_t made = elements < RANDOM_ELEMENTS ? elements : RANDOM_ELEMENTS;
    struct kiln_random_input random;
    kiln_random_input_init(&random, graph, index, SEED);
    for (int64_t i = 0; i < made; i++)
        kiln_element_store_at(tensor->dtype, kiln_random_input_element(&random, i), scratch, i);
    uint64_t bytes = (uint64_t)kiln_tensor_footprint_bytes(tensor);
    uint64_t filled = (uint64_t)kiln_dtype_memory_bytes(tensor->dtype, made);
    enum kiln_status status = device->ops->copy_in(device, memory, scratch, filled, error);
    while (filled < bytes && status == KILN_OK) {
        uint64_t part = filled < bytes - filled ? filled : bytes - filled;
        status = device->ops->copy_within(device, NULL, memory + filled, memory, part, error);
        filled += part;
    }
    return status;
}

static enum kiln_status fill(const struct kiln_bench_buffers *buffers,
                             const struct kiln_graph *graph, const uint64_t *offsets,
                             struct kiln_error *error)
{
    struct kiln_device *device = buffers->device;
    char *first = buffers->memory;
    unsigned char *scratch = kiln_cli_calloc(RANDOM_ELEMENTS, sizeof(uint64_t));
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < graph->tensor_count && status == KILN_OK; i++)
        if (has_device_memory(&graph->tensors[i]))
            status = fill_tensor(buffers, graph, i, first + offsets[i], scratch, error);
    for (uint32_t i = 1; i < buffers->set_count && status == KILN_OK; i++)
        status = device->ops->copy_within(device, NULL, first + i * buffers->set_bytes, first,
                                          buffers->set_bytes, error);
    if (status == KILN_OK)
        status = device->ops->synchronize(device, NULL, error);
    free(scratch);
    return status;
}

static void bind(struct kiln_bench_buffers *buffers, const struct kiln_graph *graph,
                 const uint64_t *offsets)
{
    struct kiln_buffer_binding *binding = buffers->bindings;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        if (graph->tensors[i].role != KILN_TENSOR_HOST_SCALAR)
            continue;
        struct kiln_random_input random;
        kiln_random_input_init(&random, graph, i, SEED);
        kiln_element_store(graph->tensors[i].dtype, kiln_random_input_element(&random, 0),
                           &buffers->scalars[i]);
    }
    for (uint32_t set = 0; set < buffers->set_count; set++) {
        char *memory = (char *)buffers->memory + set * buffers->set_bytes;
        for (uint32_t i = 0; i < graph->tensor_count; i++) {
            const struct kiln_tensor *tensor = &graph->tensors[i];
            if (has_device_memory(tensor))
                *binding++ = (struct kiln_buffer_binding){tensor->uid, memory + offsets[i]};
            else if (tensor->role == KILN_TENSOR_HOST_SCALAR)
                *binding++ = (struct kiln_buffer_binding){tensor->uid, &buffers->scalars[i]};
        }
    }
}

static enum kiln_status choose_sets(struct kiln_bench_buffers *buffers, uint64_t rotation_bytes,
                                    uint64_t limit_bytes, struct kiln_error *error)
{
    uint64_t set_bytes = buffers->set_bytes ? buffers->set_bytes : 1;
    uint64_t wanted = (rotation_bytes + set_bytes - 1) / set_bytes;
    uint64_t possible = limit_bytes / set_bytes;
    if (possible == 0) {
        char needed[KILN_TEXT_AMOUNT_BYTES];
        char allowed[KILN_TEXT_AMOUNT_BYTES];
        return kiln_error_set(error, KILN_NO_MEMORY,
                              "inputs and outputs of %s do not fit into the %s of memory that may "
                              "be taken",
                              kiln_text_bytes(needed, set_bytes),
                              kiln_text_bytes(allowed, limit_bytes));
    }
    wanted = wanted < 2 ? 2 : wanted > MAX_SETS ? (uint64_t)MAX_SETS : wanted;
    buffers->set_count = (uint32_t)(wanted < possible ? wanted : possible);
    return KILN_OK;
}

enum kiln_status kiln_bench_buffers_init(struct kiln_bench_buffers *buffers,
                                         struct kiln_device *device, const struct kiln_graph *graph,
                                         uint64_t rotation_bytes, uint64_t limit_bytes,
                                         struct kiln_error *error)
{
    *buffers = (struct kiln_bench_buffers){.device = device};
    uint64_t *offsets = kiln_cli_calloc(graph->tensor_count, sizeof(*offsets));
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        buffers->binding_count += has_device_memory(&graph->tensors[i]) ||
                                  graph->tensors[i].role == KILN_TENSOR_HOST_SCALAR;
    enum kiln_status status = KILN_OK;
    if (!lay_out(graph, offsets, &buffers->set_bytes))
        status =
            kiln_error_set(error, KILN_NO_MEMORY, "inputs and outputs are larger than any memory");
    if (status == KILN_OK)
        status = choose_sets(buffers, rotation_bytes, limit_bytes, error);
    if (status == KILN_OK)
        status = device->ops->allocate(device, buffers->set_count * buffers->set_bytes,
                                       &buffers->memory, error);
    if (status == KILN_OK) {
        buffers->scalars = kiln_cli_calloc(graph->tensor_count, sizeof(*buffers->scalars));
        buffers->bindings = kiln_cli_calloc((size_t)buffers->set_count * buffers->binding_count + 1,
                                            sizeof(*buffers->bindings));
        bind(buffers, graph, offsets);
        status = fill(buffers, graph, offsets, error);
    }
    free(offsets);
    return status;
}

void kiln_bench_buffers_fini(struct kiln_bench_buffers *buffers)
{
    if (buffers->memory)
        buffers->device->ops->release(buffers->device, buffers->memory);
    free(buffers->bindings);
    free(buffers->scalars);
    *buffers = (struct kiln_bench_buffers){.device = NULL};
}

const struct kiln_buffer_binding *kiln_bench_buffers_at(const struct kiln_bench_buffers *buffers,
                                                        uint64_t turn)
{
    return buffers->bindings + (size_t)(turn % buffers->set_count) * buffers->binding_count;
}
