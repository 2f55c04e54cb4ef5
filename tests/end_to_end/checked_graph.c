#include "tests/end_to_end/checked_graph.h"

#include "compiler/reference/ragged_memory.h"
#include "compiler/reference/reference.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void free_tensor_memory(const struct kiln_graph *graph, void **memory)
{
    for (uint32_t i = 0; memory != NULL && i < graph->tensor_count; i++)
        free(memory[i]);
    free(memory);
}

void **make_tensor_memory(const struct kiln_graph *graph, uint64_t seed,
                          const struct kiln_random_graph_options *options, unsigned char poison)
{
    void **memory = calloc(graph->tensor_count, sizeof *memory);
    for (uint32_t i = 0; memory != NULL && i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->role == KILN_TENSOR_VIRTUAL || tensor->role == KILN_TENSOR_CONSTANT)
            continue;
        size_t bytes = (size_t)kiln_tensor_footprint_bytes(tensor);
        memory[i] = malloc(bytes);
        if (memory[i] == NULL) {
            free_tensor_memory(graph, memory);
            return NULL;
        }
        memset(memory[i], poison, bytes);
        if (tensor->role != KILN_TENSOR_OUTPUT)
            kiln_random_graph_fill(seed, options, graph, i, memory[i]);
    }
    return memory;
}

/* Marks in `reached` every element that an index reaches. */
static void mark_reached(const struct kiln_tensor *tensor, const struct kiln_span *spans,
                         unsigned char *reached)
{
    for (int64_t i = 0; spans != NULL && i < kiln_tensor_elements(tensor); i++) {
        int64_t place = kiln_ragged_place(tensor, spans, i);
        if (place >= 0)
            reached[place] = 1;
    }
    if (spans != NULL)
        return;
    int64_t index[KILN_MAX_RANK] = {0};
    for (;;) {
        int64_t offset = 0;
        for (uint32_t i = 0; i < tensor->rank; i++)
            offset += index[i] * tensor->strides[i];
        reached[offset] = 1;
        uint32_t axis = tensor->rank;
        while (axis > 0 && ++index[axis - 1] == tensor->dims[axis - 1])
            index[--axis] = 0;
        if (axis == 0)
            return;
    }
}

/* True when no byte between the elements of an output was touched. */
static bool gaps_are_untouched(const struct kiln_tensor *tensor, const struct kiln_span *spans,
                               const unsigned char *memory, unsigned char poison)
{
    if (kiln_dtype_is_packed(tensor->dtype)) /* it has none */
        return true;
    size_t elements = (size_t)kiln_tensor_footprint_elements(tensor);
    size_t bytes = kiln_dtype_info(tensor->dtype)->bytes;
    unsigned char *reached = calloc(elements, 1);
    bool untouched = reached != NULL;
    if (reached != NULL)
        mark_reached(tensor, spans, reached);
    for (size_t i = 0; untouched && i < elements * bytes; i++)
        untouched = reached[i / bytes] || memory[i] == poison;
    free(reached);
    return untouched;
}

static enum kiln_status check_output(const struct kiln_graph *graph, uint32_t i, const void *memory,
                                     const struct kiln_reference_tensor *reference,
                                     unsigned char poison, struct checked_elements *elements,
                                     struct kiln_error *error)
{
    struct kiln_comparison comparison;
    kiln_reference_compare(graph, i, memory, reference, &comparison);
    elements->checked += (uint64_t)comparison.elements;
    elements->unchecked += (uint64_t)comparison.unchecked;
    if (comparison.wrong != 0)
        return kiln_error_set(error, KILN_INTERNAL,
                              "tensor %" PRIu32 ": %" PRId64 " of %" PRId64
                              " elements wrong, first at %" PRId64
                              ": got %.17g, expected %.17g +- %.3g",
                              i, comparison.wrong, comparison.elements, comparison.first_wrong,
                              comparison.got, comparison.expected, comparison.bound);
    if (!gaps_are_untouched(&graph->tensors[i], reference->spans, memory, poison))
        return kiln_error_set(error, KILN_INTERNAL, "tensor %" PRIu32 ": a gap was written", i);
    return KILN_OK;
}

enum kiln_status check_outputs(const struct kiln_graph *graph, void *const *memory,
                               unsigned char poison, struct kiln_arena *arena,
                               struct checked_elements *ret_elements, struct kiln_error *error)
{
    *ret_elements = (struct checked_elements){0, 0};
    struct kiln_reference_tensor *reference =
        kiln_arena_calloc(arena, graph->tensor_count, sizeof *reference);
    if (reference == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for the interpreter");
    enum kiln_status status =
        kiln_reference_run(graph, (const void *const *)memory, arena, reference, error);
    for (uint32_t i = 0; status == KILN_OK && i < graph->tensor_count; i++) {
        if (graph->tensors[i].role == KILN_TENSOR_OUTPUT)
            status = check_output(graph, i, memory[i], &reference[i], poison, ret_elements, error);
    }
    return status;
}
