/*
 * Random pointwise graphs through the whole pipeline: bytes -> plan -> host device, compared with
 * the interpreter.
 *
 * usage: random_graphs [--count N] [--seed S] [--jobs J] [--max-nodes N] [--max-elements N]
 * [--no-fusion] [--no-vectors] [--verbose]
 *
 * Graph i is made from seed S + i and the two limits alone, so a failure is repeated with `--seed
 * S+i --count 1`.
 */
#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"
#include "compiler/reference/reference.h"
#include "runtime/engine/engine.h"
#include "tests/support/random_graph.h"

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xa5 };

struct totals {
    atomic_uint_fast64_t graphs;
    atomic_uint_fast64_t failed;
    atomic_uint_fast64_t kernels;
    atomic_uint_fast64_t elements;
    atomic_uint_fast64_t unchecked;
};

struct run {
    struct kiln_engine *engine;
    uint64_t first_seed;
    uint64_t count;
    struct kiln_random_graph_options graph_options;
    atomic_uint_fast64_t next;
    bool verbose;
    struct totals totals;
};

static void report_graph(uint64_t seed, const struct kiln_graph *graph, const char *text)
{
    struct kiln_buffer dump;
    kiln_buffer_init(&dump);
    kiln_graph_print(graph, &dump);
    printf("FAILED: seed %" PRIu64 ": %s\n%s", seed, text, kiln_buffer_text(&dump));
    (void)fflush(stdout);
    kiln_buffer_fini(&dump);
}

/* Marks in `reached` every element that an index reaches. */
static void mark_reached(const struct kiln_tensor *tensor, unsigned char *reached)
{
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
static bool gaps_are_untouched(const struct kiln_tensor *tensor, const unsigned char *memory)
{
    size_t elements = (size_t)kiln_tensor_footprint_elements(tensor);
    size_t bytes = kiln_dtype_info(tensor->dtype)->bytes;
    unsigned char *reached = calloc(elements, 1);
    bool untouched = reached != NULL;
    if (reached != NULL)
        mark_reached(tensor, reached);
    for (size_t i = 0; untouched && i < elements * bytes; i++)
        untouched = reached[i / bytes] || memory[i] == POISON;
    free(reached);
    return untouched;
}

static bool compare_outputs(struct run *run, uint64_t seed, const struct kiln_graph *graph,
                            void *const *memory, struct kiln_arena *arena, struct kiln_error *error)
{
    struct kiln_reference_tensor *reference =
        kiln_arena_calloc(arena, graph->tensor_count, sizeof *reference);
    if (reference == NULL || kiln_reference_run(graph, (const void *const *)memory, arena,
                                                reference, error) != KILN_OK) {
        report_graph(seed, graph, error->text);
        return false;
    }
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->role != KILN_TENSOR_OUTPUT)
            continue;
        struct kiln_comparison comparison;
        kiln_reference_compare(graph, i, memory[i], &reference[i], &comparison);
        atomic_fetch_add(&run->totals.elements, (uint64_t)comparison.elements);
        atomic_fetch_add(&run->totals.unchecked, (uint64_t)comparison.unchecked);
        char text[256];
        if (comparison.wrong != 0) {
            (void)snprintf(text, sizeof text,
                           "tensor %" PRIu32 ": %" PRId64 " of %" PRId64
                           " elements wrong, first at %" PRId64
                           ": got %.17g, expected %.17g +- %.3g",
                           i, comparison.wrong, comparison.elements, comparison.first_wrong,
                           comparison.got, comparison.expected, comparison.bound);
            report_graph(seed, graph, text);
            return false;
        }
        if (!gaps_are_untouched(tensor, memory[i])) {
            (void)snprintf(text, sizeof text, "tensor %" PRIu32 ": a gap was written", i);
            report_graph(seed, graph, text);
            return false;
        }
    }
    return true;
}

static bool execute(struct run *run, uint64_t seed, const struct kiln_graph *graph,
                    struct kiln_plan *plan, struct kiln_arena *arena, struct kiln_error *error)
{
    void **memory = kiln_arena_calloc(arena, graph->tensor_count, sizeof *memory);
    struct kiln_buffer_binding *bindings =
        kiln_arena_calloc(arena, graph->tensor_count, sizeof *bindings);
    uint32_t binding_count = 0;
    void *workspace = malloc(kiln_plan_workspace_bytes(plan) + 1);
    bool good = memory != NULL && bindings != NULL && workspace != NULL;
    for (uint32_t i = 0; good && i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->role == KILN_TENSOR_VIRTUAL || tensor->role == KILN_TENSOR_CONSTANT)
            continue;
        size_t bytes = (size_t)kiln_tensor_footprint_bytes(tensor);
        memory[i] = malloc(bytes);
        good = memory[i] != NULL;
        if (!good)
            break;
        memset(memory[i], POISON, bytes);
        if (tensor->role != KILN_TENSOR_OUTPUT)
            kiln_random_graph_fill(seed, &run->graph_options, graph, i, memory[i]);
        bindings[binding_count++] =
            (struct kiln_buffer_binding){.uid = tensor->uid, .pointer = memory[i]};
    }
    if (good &&
        kiln_plan_execute(plan, NULL, workspace, bindings, binding_count, error) != KILN_OK) {
        report_graph(seed, graph, error->text);
        good = false;
    }
    good = good && compare_outputs(run, seed, graph, memory, arena, error);
    for (uint32_t i = 0; memory != NULL && i < graph->tensor_count; i++)
        free(memory[i]);
    free(workspace);
    return good;
}

static bool run_graph(struct run *run, uint64_t seed)
{
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_graph read_back;
    struct kiln_buffer bytes;
    struct kiln_plan *plan = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    kiln_buffer_init(&bytes);
    enum kiln_status status =
        kiln_random_graph_make(seed, &run->graph_options, &arena, &graph, &error);
    if (status == KILN_OK)
        status = kiln_graph_write(&graph, KILN_WIRE_ERA_CURRENT, &bytes, &error);
    /* The graph as the engine sees it decides: ordinals are canonical there. */
    if (status == KILN_OK)
        status = kiln_graph_read(bytes.data, bytes.size, &arena, &read_back, &error);
    if (status == KILN_OK)
        status = kiln_plan_create(run->engine, bytes.data, bytes.size, &plan, &error);
    bool good = status == KILN_OK;
    if (good) {
        atomic_fetch_add(&run->totals.kernels, kiln_plan_kernel_count(plan));
        good = execute(run, seed, &read_back, plan, &arena, &error);
    } else {
        report_graph(seed, &graph, error.text);
    }
    kiln_plan_unref(plan);
    kiln_buffer_fini(&bytes);
    kiln_arena_fini(&arena);
    return good;
}

static void *run_graphs(void *context)
{
    struct run *run = context;
    for (;;) {
        uint64_t index = atomic_fetch_add(&run->next, 1);
        if (index >= run->count)
            return NULL;
        if (run->verbose)
            printf("seed %" PRIu64 "\n", run->first_seed + index);
        if (!run_graph(run, run->first_seed + index))
            atomic_fetch_add(&run->totals.failed, 1);
        atomic_fetch_add(&run->totals.graphs, 1);
    }
}

static bool parse_number(const char *text, uint64_t *ret_number)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    if (end == text || *end != '\0')
        return false;
    *ret_number = number;
    return true;
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"count", required_argument, NULL, 'c'},
        {"seed", required_argument, NULL, 's'},
        {"jobs", required_argument, NULL, 'j'},
        {"verbose", no_argument, NULL, 'v'},
        {"max-nodes", required_argument, NULL, 'n'},
        {"max-elements", required_argument, NULL, 'e'},
        {"no-fusion", no_argument, NULL, 'f'},
        {"no-vectors", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    struct run run = {.count = 300, .first_seed = 1};
    uint64_t jobs = 2;
    uint64_t max_nodes = 40;
    uint64_t max_elements = 2000;
    bool no_fusion = false;
    bool no_vectors = false; /* the form that is tried when a compiler fails on vectors */
    int option;
    while ((option = getopt_long(argc, argv, "c:s:j:n:e:fVv", long_options, NULL)) != -1) {
        bool good = option == 'v'   ? (run.verbose = true)
                    : option == 'f' ? (no_fusion = true)
                    : option == 'V' ? (no_vectors = true)
                    : option == 'c' ? parse_number(optarg, &run.count)
                    : option == 's' ? parse_number(optarg, &run.first_seed)
                    : option == 'j' ? parse_number(optarg, &jobs) && jobs >= 1 && jobs <= 256
                    : option == 'n'
                        ? parse_number(optarg, &max_nodes) && max_nodes >= 1 && max_nodes <= 4096
                    : option == 'e' ? parse_number(optarg, &max_elements) && max_elements >= 1 &&
                                          max_elements <= 1u << 30
                                    : false;
        if (!good) {
            fprintf(stderr,
                    "usage: random_graphs [--count N] [--seed S] [--jobs J] [--max-nodes N] "
                    "[--max-elements N] [--no-fusion] [--no-vectors] [--verbose]\n");
            return 2;
        }
    }
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_random_graph_options_init(&run.graph_options);
    run.graph_options.max_nodes = (uint32_t)max_nodes;
    run.graph_options.max_elements = (int64_t)max_elements;
    struct kiln_engine_options options = {
        .cache_directory = NULL,
        .device = "host",
        .codegen = {.max_workers = (uint32_t)jobs},
        .lower = {.no_fusion = no_fusion, .max_vector_elements = no_vectors ? 1 : 0}};
    /* Every graph is new: a cache on disk would only grow. BOOLEAN has no certain number: any will
     * do here. */
    if (setenv("KILN_CACHE_DIR", "", 1) != 0 || setenv("KILN_WIRE_BOOL", "18", 1) != 0 ||
        kiln_engine_create(&options, &run.engine, &error) != KILN_OK) {
        fprintf(stderr, "random_graphs: %s\n", error.text);
        return 1;
    }
    pthread_t threads[256];
    uint64_t started = 0;
    while (started < jobs && pthread_create(&threads[started], NULL, run_graphs, &run) == 0)
        started++;
    for (uint64_t i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    kiln_engine_unref(run.engine);

    uint64_t graphs = run.totals.graphs;
    uint64_t failed = run.totals.failed;
    uint64_t elements = run.totals.elements;
    uint64_t unchecked = run.totals.unchecked;
    printf("random graphs: %" PRIu64 " from seed %" PRIu64 ", %" PRIu64 " kernels, %" PRIu64
           " elements, %.2f%% unchecked, %" PRIu64 " failed\n",
           graphs, run.first_seed, (uint64_t)run.totals.kernels, elements,
           elements != 0 ? 100.0 * (double)unchecked / (double)elements : 0.0, failed);
    return graphs == run.count && failed == 0 ? 0 : 1;
}
