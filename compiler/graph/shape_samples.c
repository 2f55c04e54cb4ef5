#include "compiler/graph/shape_samples.h"

#include <string.h>

enum {
    MAX_SIZES = 8, /* further ones keep their declared size */
    /* The declared shape, one of halves and one of ones. */
    COMMON_SAMPLES = 3,
    /* Lowering takes time in proportion to the nodes: larger graphs have fewer samples, or one. */
    MANY_NODES = 48,
    TOO_MANY_NODES = 512,
};

static bool has_memory(const struct kiln_tensor *tensor)
{
    return tensor->role == KILN_TENSOR_INPUT || tensor->role == KILN_TENSOR_OUTPUT;
}

/* The distinct sizes of inputs above 1, in the order of tensors. */
static uint32_t list_sizes(const struct kiln_graph *graph, int64_t sizes[MAX_SIZES])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        for (uint32_t axis = 0; tensor->role == KILN_TENSOR_INPUT && axis < tensor->rank; axis++) {
            uint32_t k = 0;
            while (k < count && sizes[k] != tensor->dims[axis])
                k++;
            if (k == count && tensor->dims[axis] > 1 && count < MAX_SIZES)
                sizes[count++] = tensor->dims[axis];
        }
    }
    return count;
}

uint32_t kiln_shape_sample_count(const struct kiln_graph *declared)
{
    int64_t sizes[MAX_SIZES];
    if (declared->node_count > MANY_NODES)
        return declared->node_count > TOO_MANY_NODES ? 1 : COMMON_SAMPLES;
    return COMMON_SAMPLES + 2 * list_sizes(declared, sizes);
}

/* Samples beyond the common ones: each size alone becomes 1, then each becomes odd. */
static int64_t sampled_size(const int64_t *sizes, uint32_t count, uint32_t sample, int64_t size)
{
    if (sample == 0)
        return size;
    if (sample == 1)
        return (size + 1) / 2;
    if (sample == 2)
        return 1;
    uint32_t changed = sample - COMMON_SAMPLES;
    if (sizes[changed % count] != size)
        return size;
    return changed < count ? 1 : (size - 1) | 1;
}

enum kiln_status kiln_shape_sample(const struct kiln_graph *declared, uint32_t sample,
                                   struct kiln_arena *arena,
                                   struct kiln_shape_overrides *ret_overrides,
                                   struct kiln_error *error)
{
    uint32_t count = declared->tensor_count;
    struct kiln_tensor *tensors = kiln_arena_calloc(arena, count, sizeof *tensors);
    int64_t *uids = kiln_arena_calloc(arena, count, sizeof *uids);
    uint32_t *ranks = kiln_arena_calloc(arena, count, sizeof *ranks);
    const int64_t **dims = kiln_arena_calloc(arena, count, sizeof *dims);
    const int64_t **strides = kiln_arena_calloc(arena, count, sizeof *strides);
    if (!tensors || !uids || !ranks || !dims || !strides)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for override shapes");
    int64_t sizes[MAX_SIZES];
    uint32_t size_count = list_sizes(declared, sizes);
    memcpy(tensors, declared->tensors, count * sizeof *tensors);
    for (uint32_t i = 0; i < count; i++) {
        struct kiln_tensor *tensor = &tensors[i];
        for (uint32_t k = 0; tensor->role == KILN_TENSOR_INPUT && k < tensor->rank; k++)
            tensor->dims[k] = sampled_size(sizes, size_count, sample, tensor->dims[k]);
    }
    kiln_graph_infer_outputs(declared, tensors);
    uint32_t given = 0;
    for (uint32_t i = 0; sample != 0 && i < count; i++) {
        struct kiln_tensor *tensor = &tensors[i];
        if (!has_memory(tensor) || tensor->rank == 0)
            continue;
        memcpy(tensor->strides, declared->tensors[i].strides, sizeof tensor->strides);
        uids[given] = tensor->uid;
        ranks[given] = tensor->rank;
        dims[given] = tensor->dims;
        strides[given++] = tensor->strides;
    }
    *ret_overrides = (struct kiln_shape_overrides){given, uids, ranks, dims, strides};
    return KILN_OK;
}
