#include "tests/support/random_overrides.h"

#include "tests/support/random_numbers.h"

#include <string.h>

enum { MAX_SIZES = 64, MAX_CHANGES = 3 };

/* Sizes that change, and what they become. */
struct changes {
    uint32_t count;
    int64_t from[MAX_CHANGES];
    int64_t to[MAX_CHANGES];
};

static bool has_memory(const struct kiln_tensor *tensor)
{
    return tensor->role == KILN_TENSOR_INPUT || tensor->role == KILN_TENSOR_OUTPUT;
}

/* The distinct sizes of inputs above 1. */
static uint32_t collect_sizes(const struct kiln_graph *graph, int64_t sizes[MAX_SIZES])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        for (uint32_t axis = 0; tensor->role == KILN_TENSOR_INPUT && axis < tensor->rank; axis++) {
            int64_t size = tensor->dims[axis];
            uint32_t k = 0;
            while (k < count && sizes[k] != size)
                k++;
            if (k == count && size > 1 && count < MAX_SIZES)
                sizes[count++] = size;
        }
    }
    return count;
}

static struct changes choose_changes(struct kiln_random *random, const struct kiln_graph *graph)
{
    struct changes changes = {.count = 0};
    int64_t sizes[MAX_SIZES];
    uint32_t size_count = collect_sizes(graph, sizes);
    uint32_t wanted = 1 + kiln_random_below(random, MAX_CHANGES);
    for (uint32_t i = 0; size_count != 0 && i < wanted; i++) {
        int64_t from = sizes[kiln_random_below(random, size_count)];
        int64_t below = from < INT32_MAX ? from : INT32_MAX;
        int64_t to = kiln_random_chance(random, 20) ? from - 1
                     : kiln_random_chance(random, 30)
                         ? (from + 1) / 2
                         : 1 + kiln_random_below(random, (uint32_t)below);
        changes.from[changes.count] = from;
        changes.to[changes.count++] = to;
    }
    return changes;
}

static int64_t changed(const struct changes *changes, int64_t size)
{
    for (uint32_t i = 0; i < changes->count; i++) {
        if (changes->from[i] == size)
            return changes->to[i];
    }
    return size;
}

/* Dense strides in the declared order, if these reach no further than the declared ones. */
static void make_dense(const struct kiln_tensor *declared, const int64_t *dims, int64_t *strides)
{
    int64_t dense[KILN_MAX_RANK];
    bool is_done[KILN_MAX_RANK] = {false};
    int64_t stride = 1;
    for (uint32_t i = 0; i < declared->rank; i++) {
        uint32_t next = declared->rank;
        for (uint32_t k = declared->rank; k-- > 0;) {
            if (!is_done[k] &&
                (next == declared->rank || declared->strides[k] < declared->strides[next]))
                next = k;
        }
        is_done[next] = true;
        dense[next] = stride;
        if (declared->strides[next] == 0 && declared->dims[next] > 1)
            dense[next] = 0;
        else
            stride *= dims[next];
    }
    for (uint32_t i = 0; i < declared->rank; i++) {
        if (dims[i] > 1 && dense[i] > declared->strides[i])
            return;
    }
    memcpy(strides, dense, declared->rank * sizeof *strides);
}

bool kiln_random_overrides_make(uint64_t seed, const struct kiln_graph *graph,
                                struct kiln_arena *arena,
                                struct kiln_shape_overrides *ret_overrides)
{
    struct kiln_random random = {seed ^ UINT64_C(0x6f76657272696465)};
    const struct changes changes = choose_changes(&random, graph);
    uint32_t count = graph->tensor_count;
    struct kiln_tensor *tensors = kiln_arena_calloc(arena, count, sizeof *tensors);
    int64_t *uids = kiln_arena_calloc(arena, count, sizeof *uids);
    uint32_t *ranks = kiln_arena_calloc(arena, count, sizeof *ranks);
    const int64_t **dims = kiln_arena_calloc(arena, count, sizeof *dims);
    const int64_t **strides = kiln_arena_calloc(arena, count, sizeof *strides);
    if (!tensors || !uids || !ranks || !dims || !strides)
        return false;
    memcpy(tensors, graph->tensors, count * sizeof *tensors);
    for (uint32_t i = 0; i < count; i++) {
        struct kiln_tensor *tensor = &tensors[i];
        for (uint32_t axis = 0; tensor->role == KILN_TENSOR_INPUT && axis < tensor->rank; axis++)
            tensor->dims[axis] = changed(&changes, tensor->dims[axis]);
    }
    kiln_graph_infer_outputs(graph, tensors);
    uint32_t given = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct kiln_tensor *tensor = &tensors[i];
        if (!has_memory(tensor) || tensor->rank == 0)
            continue;
        memcpy(tensor->strides, graph->tensors[i].strides, sizeof tensor->strides);
        if (kiln_random_chance(&random, 50))
            make_dense(&graph->tensors[i], tensor->dims, tensor->strides);
        uids[given] = tensor->uid;
        ranks[given] = tensor->rank;
        dims[given] = tensor->dims;
        strides[given++] = tensor->strides;
    }
    *ret_overrides = (struct kiln_shape_overrides){given, uids, ranks, dims, strides};
    return true;
}
