/*
 * Every case of the benchmark's suite through the whole pipeline, compared with the interpreter:
 * what is measured is what was asked for.
 *
 * usage: bench_suite_verify [--device NAME] [--elements N] [--no-fusion] [CASE...]
 */
#include "cli/bench/bench_suite.h"
#include "cli/random_input.h"
#include "cli/tensor_memory.h"
#include "compiler/graph/wire_messages.h"
#include "compiler/reference/reference.h"
#include "runtime/engine/engine.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1, MAX_TENSORS = 64 };

struct run {
    struct kiln_engine *engine;
    struct kiln_device *device;
    int64_t elements;
    uint64_t checked;
    uint64_t unchecked;
};

/* A graph with memory of its tensors. */
struct subject {
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_plan *plan;
    struct kiln_tensor_memory memories[MAX_TENSORS];
    void *workspace;
};

static enum kiln_status make_memory(struct run *run, struct subject *subject,
                                    struct kiln_error *error)
{
    const struct kiln_graph *graph = &subject->graph;
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; status == KILN_OK && i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->role != KILN_TENSOR_INPUT && tensor->role != KILN_TENSOR_OUTPUT)
            continue;
        struct kiln_tensor_memory *memory = &subject->memories[i];
        status = kiln_tensor_memory_init(memory, tensor, error);
        if (status == KILN_OK && tensor->role == KILN_TENSOR_INPUT) {
            struct kiln_random_input random;
            kiln_random_input_init(&random, graph, i, SEED);
            kiln_tensor_memory_fill(memory, kiln_random_input_element, &random);
        }
        if (status == KILN_OK)
            status = kiln_tensor_memory_upload(memory, run->device, error);
    }
    if (status == KILN_OK)
        status = run->device->ops->allocate(run->device,
                                            (size_t)kiln_plan_workspace_bytes(subject->plan) + 1,
                                            &subject->workspace, error);
    return status;
}

static enum kiln_status execute(struct run *run, struct subject *subject, struct kiln_error *error)
{
    struct kiln_buffer_binding bindings[MAX_TENSORS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < subject->graph.tensor_count; i++) {
        if (subject->memories[i].tensor != NULL)
            bindings[count++] = (struct kiln_buffer_binding){
                .uid = subject->graph.tensors[i].uid,
                .pointer = kiln_tensor_memory_pointer(&subject->memories[i])};
    }
    enum kiln_status status =
        kiln_plan_execute(subject->plan, NULL, subject->workspace, bindings, count, error);
    if (status == KILN_OK)
        status = run->device->ops->synchronize(run->device, NULL, error);
    for (uint32_t i = 0; status == KILN_OK && i < subject->graph.tensor_count; i++) {
        if (subject->memories[i].tensor != NULL)
            status = kiln_tensor_memory_download(&subject->memories[i], run->device, error);
    }
    return status;
}

/* True if every output is within its bound and nothing else was written. */
static bool compare(struct run *run, struct subject *subject, const char *name,
                    struct kiln_error *error)
{
    const struct kiln_graph *graph = &subject->graph;
    const void *inputs[MAX_TENSORS] = {NULL};
    struct kiln_reference_tensor reference[MAX_TENSORS];
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        if (graph->tensors[i].role == KILN_TENSOR_INPUT)
            inputs[i] = kiln_tensor_memory_before(&subject->memories[i]);
    }
    if (kiln_reference_run(graph, inputs, &subject->arena, reference, error) != KILN_OK)
        return false;
    bool good = true;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor_memory *memory = &subject->memories[i];
        if (memory->tensor == NULL)
            continue;
        good &= kiln_tensor_memory_stray_bytes(memory) == 0;
        if (memory->tensor->role != KILN_TENSOR_OUTPUT)
            continue;
        struct kiln_comparison comparison;
        kiln_reference_compare(graph, i, kiln_tensor_memory_after(memory), &reference[i],
                               &comparison);
        run->checked += (uint64_t)(comparison.elements - comparison.unchecked);
        run->unchecked += (uint64_t)comparison.unchecked;
        if (comparison.wrong != 0)
            printf("%s: '%s': %" PRId64 " of %" PRId64 " elements wrong, first at %" PRId64
                   ": got %.9g, expected %.9g +- %.3g\n",
                   name, memory->tensor->name, comparison.wrong, comparison.elements,
                   comparison.first_wrong, comparison.got, comparison.expected, comparison.bound);
        good &= comparison.wrong == 0;
    }
    if (!good)
        (void)kiln_error_set(error, KILN_INTERNAL, "the outputs are not what they should be");
    return good;
}

static bool verify(struct run *run, const struct kiln_bench_case *which, const char *name)
{
    struct subject *subject = calloc(1, sizeof *subject);
    struct kiln_error error;
    struct kiln_buffer bytes;
    if (subject == NULL)
        return false;
    kiln_error_init(&error);
    kiln_arena_init(&subject->arena);
    kiln_buffer_init(&bytes);
    enum kiln_status status =
        kiln_bench_case_make(which, run->elements, &subject->arena, &subject->graph, &error);
    if (status == KILN_OK)
        status = kiln_graph_write(&subject->graph, KILN_WIRE_ERA_CURRENT, &bytes, &error);
    if (status == KILN_OK)
        status = kiln_plan_create(run->engine, bytes.data, bytes.size, &subject->plan, &error);
    if (status == KILN_OK)
        status = make_memory(run, subject, &error);
    if (status == KILN_OK)
        status = execute(run, subject, &error);
    bool good = status == KILN_OK && compare(run, subject, name, &error);
    printf("%s: %s%s\n", name, good ? "right" : "FAILED: ", good ? "" : error.text);
    for (uint32_t i = 0; i < subject->graph.tensor_count; i++)
        kiln_tensor_memory_fini(&subject->memories[i], run->device);
    if (subject->workspace != NULL)
        run->device->ops->release(run->device, subject->workspace);
    kiln_plan_unref(subject->plan);
    kiln_buffer_fini(&bytes);
    kiln_arena_fini(&subject->arena);
    free(subject);
    return good;
}

static bool is_wanted(const char *name, int count, char *const *names)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return count == 0;
}

int main(int argc, char **argv)
{
    struct run run = {.elements = 65536};
    struct kiln_engine_options options = {.device = "host"};
    struct kiln_error error;
    kiln_error_init(&error);
    static const struct option long_options[] = {{"device", required_argument, NULL, 'd'},
                                                 {"elements", required_argument, NULL, 'e'},
                                                 {"no-fusion", no_argument, NULL, 'f'},
                                                 {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == 'd')
            options.device = optarg;
        else if (option == 'e')
            run.elements = strtoll(optarg, NULL, 10);
        else if (option == 'f')
            options.lower.no_fusion = true;
        else
            return 2;
    }
    /* What the cases compile to is nobody else's: a cache would only grow. */
    if (setenv("KILN_CACHE_DIR", "", 1) != 0)
        return 1;
    if (kiln_device_open(options.device, &run.device, &error) != KILN_OK ||
        kiln_engine_create(&options, &run.engine, &error) != KILN_OK) {
        fprintf(stderr, "bench_suite_verify: %s\n", error.text);
        return 1;
    }
    unsigned count = 0;
    unsigned failed = 0;
    for (unsigned i = 0; i < kiln_bench_suite_count; i++) {
        char name[KILN_BENCH_NAME_BYTES];
        kiln_bench_case_name(&kiln_bench_suite[i], name);
        if (!is_wanted(name, argc - optind, argv + optind))
            continue;
        count++;
        failed += !verify(&run, &kiln_bench_suite[i], name);
    }
    printf("bench suite: %u cases, %u failed, %" PRIu64 " elements checked, %" PRIu64
           " unchecked\n",
           count, failed, run.checked, run.unchecked);
    kiln_engine_unref(run.engine);
    kiln_device_close(run.device);
    return count != 0 && failed == 0 ? 0 : 1;
}
