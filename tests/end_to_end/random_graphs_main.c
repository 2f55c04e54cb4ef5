/*
 * Random graphs through the whole pipeline: bytes -> plan -> device, compared with the interpreter.
 *
 * usage: random_graphs [--count N] [--seed S] [--jobs J] [--max-nodes N] [--max-elements N]
 * [--families LIST] [--no-fusion] [--no-vectors] [--streamed] [--split-k N] [--groups N]
 * [--form N] [--part-weight N] [--wave-size 32|64] [--repeat] [--overrides N] [--compiled N]
 * [--shapes constant|argument] [--narrow] [--device NAME] [--verbose]
 *
 * LIST names pointwise, reductions, norms, products, convolutions, attention, ragged, pooling,
 * blocks or all (the first four), separated by commas. The default is pointwise.
 * --narrow gives tensors E8M0, FP4, FP6 and INT4 too.
 * --wave-size schedules as for a GPU with waves of that size. Work-items that wait for each other
 * run as fibers.
 * --repeat runs each program twice, with different numbers of threads. The second run loads the
 * program from a cache, or compiles one program in COMPILED_TWICE again. Outputs must be bit-equal.
 * --overrides executes each plan in N random smaller shapes, which are given at execution.
 * --compiled N fails if more than N kernels are compiled by such executions. It needs --jobs 1.
 * --shapes argument makes sizes arguments of kernels.
 * --groups clamps launches, so that work-groups take several pieces of work, as in huge graphs.
 * --form runs every kernel in form N of its schedule, counted from 1, or in its last form. Kernels
 * take later forms if their compiler spills.
 * --part-weight lowers graphs in parts of weight N at most, like huge graphs.
 * --device runs the graphs on a GPU (cuda, hip). The default is the host.
 *
 * Graph i depends only on the seed S + i, the families and the two limits, so a failure is repeated
 * with `--seed S+i --count 1`.
 */
#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"
#include "compiler/schedule/schedule.h"
#include "runtime/engine/engine.h"
#include "tests/end_to_end/checked_graph.h"
#include "tests/end_to_end/execute_on_device.h"
#include "tests/runtime/support/temporary_directory.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_overrides.h"

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xa5, MAX_JOBS = 256, COMPILED_TWICE = 4 };

struct totals {
    atomic_uint_fast64_t graphs;
    atomic_uint_fast64_t failed;
    atomic_uint_fast64_t kernels;
    atomic_uint_fast64_t elements;
    atomic_uint_fast64_t unchecked;
    atomic_uint_fast64_t overrides; /* executions with override shapes */
    atomic_uint_fast64_t compiled;  /* kernels, by these executions; with one job */
};

struct run {
    struct kiln_engine *engine;
    struct kiln_device *device; /* whose memory the tensors have to be in; NULL: this process's */
    /* Of another number of threads; NULL without --repeat. One shares the engine's cache. */
    struct kiln_engine *caching_engine, *compiling_engine;
    uint64_t first_seed;
    uint64_t count;
    uint64_t overrides; /* shapes of each plan, in place of the declared one; 0: the declared one */
    uint64_t most_compiled; /* kernels, by executions with override shapes */
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

static bool compare_outputs(struct run *run, uint64_t seed, const struct kiln_graph *graph,
                            void *const *memory, struct kiln_arena *arena, struct kiln_error *error)
{
    struct checked_elements elements;
    bool good = check_outputs(graph, memory, POISON, arena, &elements, error) == KILN_OK;
    atomic_fetch_add(&run->totals.elements, elements.checked);
    atomic_fetch_add(&run->totals.unchecked, elements.unchecked);
    if (!good)
        report_graph(seed, graph, error->text);
    return good;
}

/* A graph with memory for its tensors. */
struct subject {
    uint64_t seed;
    struct kiln_arena arena;
    struct kiln_graph graph; /* as the engine sees it: ordinals are canonical */
    struct kiln_buffer bytes;
};

static enum kiln_status execute_plan(const struct kiln_plan *plan, const struct kiln_graph *graph,
                                     const struct kiln_shape_overrides *overrides,
                                     void *const *memory, struct kiln_error *error)
{
    struct kiln_buffer_binding *bindings = calloc(graph->tensor_count, sizeof *bindings);
    uint32_t count = 0;
    uint64_t workspace_bytes = kiln_plan_workspace_bytes(plan);
    void *workspace = malloc(workspace_bytes + 1);
    enum kiln_status status = KILN_OK;
    if (bindings == NULL || workspace == NULL)
        status = kiln_error_set(error, KILN_NO_MEMORY, "no memory to execute");
    /* What an earlier execution left in the workspace must not matter. */
    if (workspace != NULL)
        memset(workspace, POISON, workspace_bytes + 1);
    for (uint32_t i = 0; status == KILN_OK && i < graph->tensor_count; i++) {
        if (memory[i] != NULL)
            bindings[count++] =
                (struct kiln_buffer_binding){.uid = graph->tensors[i].uid, .pointer = memory[i]};
    }
    if (status == KILN_OK)
        status = kiln_plan_execute_with_overrides(plan, NULL, workspace, bindings, count, overrides,
                                                  error);
    free(workspace);
    free(bindings);
    return status;
}

static const struct kiln_shape_overrides no_overrides;

static enum kiln_status execute(const struct run *run, const struct kiln_plan *plan,
                                const struct kiln_graph *graph,
                                const struct kiln_shape_overrides *overrides, void *const *memory,
                                struct kiln_error *error)
{
    return run->device != NULL
               ? execute_on_device(run->device, plan, graph, overrides, memory, POISON, error)
               : execute_plan(plan, graph, overrides, memory, error);
}

static uint64_t count_compiled(const struct run *run)
{
    struct kiln_codegen_counters counters;
    kiln_engine_codegen_counters(run->engine, &counters);
    return counters.kernels_compiled;
}

/* Executes the plan in one other shape. True also where the random sizes do not fit together. */
static bool run_shape(struct run *run, const struct kiln_plan *plan, const struct subject *subject,
                      uint64_t seed, struct kiln_error *error)
{
    struct kiln_arena arena;
    struct kiln_shape_overrides overrides;
    struct kiln_graph graph;
    kiln_arena_init(&arena);
    bool good = kiln_random_overrides_make(seed, &subject->graph, &arena, &overrides);
    if (good && overrides.count != 0 &&
        kiln_graph_read_with_overrides(subject->bytes.data, subject->bytes.size, &overrides, &arena,
                                       &graph, error) == KILN_OK) {
        void **memory = make_tensor_memory(&graph, seed, &run->graph_options, POISON);
        uint64_t before = count_compiled(run);
        good = memory != NULL && execute(run, plan, &graph, &overrides, memory, error) == KILN_OK;
        uint64_t compiled = count_compiled(run) - before;
        atomic_fetch_add(&run->totals.compiled, compiled);
        if (compiled != 0 && run->verbose)
            report_graph(subject->seed, &graph, "kernels are compiled at execution");
        if (!good)
            report_graph(subject->seed, &graph, error->text);
        good = good && compare_outputs(run, subject->seed, &graph, memory, &arena, error);
        free_tensor_memory(&graph, memory);
        atomic_fetch_add(&run->totals.overrides, 1);
    }
    kiln_error_init(error);
    kiln_arena_fini(&arena);
    return good;
}

/* Each shape twice: new and known. */
static bool run_shapes(struct run *run, const struct subject *subject, struct kiln_error *error)
{
    struct kiln_plan *plan = NULL;
    bool good = kiln_plan_create(run->engine, subject->bytes.data, subject->bytes.size, &plan,
                                 error) == KILN_OK;
    if (!good)
        report_graph(subject->seed, &subject->graph, error->text);
    else
        atomic_fetch_add(&run->totals.kernels, kiln_plan_kernel_count(plan));
    for (uint64_t i = 0; good && i < 2 * run->overrides; i++)
        good = run_shape(run, plan, subject, subject->seed + i / 2 * 1000003, error);
    kiln_plan_unref(plan);
    return good;
}

/* Makes a plan and executes it on memory of its own. NULL when that failed, which was reported. */
static void **run_program(struct run *run, struct kiln_engine *engine,
                          const struct subject *subject, struct kiln_error *error)
{
    struct kiln_plan *plan = NULL;
    void **memory = make_tensor_memory(&subject->graph, subject->seed, &run->graph_options, POISON);
    enum kiln_status status = KILN_OK;
    if (memory == NULL)
        status = kiln_error_set(error, KILN_NO_MEMORY, "no memory for the tensors");
    if (status == KILN_OK)
        status = kiln_plan_create(engine, subject->bytes.data, subject->bytes.size, &plan, error);
    if (status == KILN_OK) {
        atomic_fetch_add(&run->totals.kernels, kiln_plan_kernel_count(plan));
        status = execute(run, plan, &subject->graph, &no_overrides, memory, error);
    }
    kiln_plan_unref(plan);
    if (status == KILN_OK)
        return memory;
    report_graph(subject->seed, &subject->graph, error->text);
    free_tensor_memory(&subject->graph, memory);
    return NULL;
}

/* The same bits, whoever computed them. */
static bool repeat(struct run *run, const struct subject *subject, void *const *memory,
                   struct kiln_error *error)
{
    struct kiln_engine *engine =
        subject->seed % COMPILED_TWICE == 0 ? run->compiling_engine : run->caching_engine;
    void **again = run_program(run, engine, subject, error);
    bool same = again != NULL;
    for (uint32_t i = 0; same && i < subject->graph.tensor_count; i++) {
        const struct kiln_tensor *tensor = &subject->graph.tensors[i];
        same = tensor->role != KILN_TENSOR_OUTPUT ||
               memcmp(memory[i], again[i], (size_t)kiln_tensor_footprint_bytes(tensor)) == 0;
        if (!same) {
            char text[64];
            (void)snprintf(text, sizeof text, "tensor %" PRIu32 ": other bits the second time", i);
            report_graph(subject->seed, &subject->graph, text);
        }
    }
    free_tensor_memory(&subject->graph, again);
    return same;
}

static enum kiln_status make_subject(const struct run *run, struct subject *subject,
                                     struct kiln_error *error)
{
    struct kiln_graph graph;
    enum kiln_status status =
        kiln_random_graph_make(subject->seed, &run->graph_options, &subject->arena, &graph, error);
    graph.takes_overrides = run->overrides != 0;
    if (status == KILN_OK)
        status = kiln_graph_write(&graph, KILN_WIRE_ERA_CURRENT, &subject->bytes, error);
    if (status == KILN_OK)
        status = kiln_graph_read(subject->bytes.data, subject->bytes.size, &subject->arena,
                                 &subject->graph, error);
    if (status != KILN_OK)
        printf("FAILED: seed %" PRIu64 ": %s\n", subject->seed, error->text);
    return status;
}

static bool run_graph(struct run *run, uint64_t seed)
{
    struct subject subject = {.seed = seed};
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_arena_init(&subject.arena);
    kiln_buffer_init(&subject.bytes);
    bool good = make_subject(run, &subject, &error) == KILN_OK;
    if (good && run->overrides != 0) {
        good = run_shapes(run, &subject, &error);
    } else if (good) {
        void **memory = run_program(run, run->engine, &subject, &error);
        good = memory != NULL &&
               compare_outputs(run, seed, &subject.graph, memory, &subject.arena, &error) &&
               (run->caching_engine == NULL || repeat(run, &subject, memory, &error));
        free_tensor_memory(&subject.graph, memory);
    }
    kiln_buffer_fini(&subject.bytes);
    kiln_arena_fini(&subject.arena);
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

/* "reductions,norms" to a set of families. */
static bool parse_families(const char *text, uint32_t *ret_families)
{
    static const struct {
        const char *name;
        uint32_t families;
    } rows[] = {{"pointwise", KILN_RANDOM_POINTWISE},
                {"reductions", KILN_RANDOM_REDUCTIONS},
                {"norms", KILN_RANDOM_NORMS},
                {"products", KILN_RANDOM_PRODUCTS},
                {"convolutions", KILN_RANDOM_CONVOLUTIONS},
                {"attention", KILN_RANDOM_ATTENTION},
                {"pooling", KILN_RANDOM_POOLING},
                {"blocks", KILN_RANDOM_BLOCKS},
                {"dequantize", KILN_RANDOM_DEQUANTIZE},
                {"grouped", KILN_RANDOM_GROUPED},
                {"ragged", KILN_RANDOM_RAGGED},
                {"all", KILN_RANDOM_ALL}};
    uint32_t families = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        uint32_t found = 0;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (strlen(rows[i].name) == length && strncmp(rows[i].name, text, length) == 0)
                found = rows[i].families;
        }
        if (found == 0)
            return false;
        families |= found;
        text += length + (text[length] == ',');
    }
    *ret_families = families;
    return families != 0;
}

/* What the command line says. */
struct settings {
    uint64_t jobs, max_nodes, max_elements, wave_size, segments, groups, form, part_weight;
    bool no_fusion, no_vectors, streamed, repeats;
    enum kiln_shapes shapes;
    const char *device;
};

static const struct option long_options[] = {
    {"count", required_argument, NULL, 'c'},
    {"seed", required_argument, NULL, 's'},
    {"jobs", required_argument, NULL, 'j'},
    {"verbose", no_argument, NULL, 'v'},
    {"max-nodes", required_argument, NULL, 'n'},
    {"max-elements", required_argument, NULL, 'e'},
    {"families", required_argument, NULL, 'F'},
    {"no-fusion", no_argument, NULL, 'f'},
    {"no-vectors", no_argument, NULL, 'V'},    /* what is tried when a compiler fails on vectors */
    {"streamed", no_argument, NULL, 'S'},      /* matrix products without staging */
    {"split-k", required_argument, NULL, 'k'}, /* their k in so many segments */
    {"form", required_argument, NULL, 'm'},   /* of each kernel's schedule; the last where there are
                                                 fewer */
    {"groups", required_argument, NULL, 'g'}, /* work-groups of a launch at most */
    {"part-weight", required_argument, NULL, 'p'},
    {"wave-size", required_argument, NULL, 'w'},
    {"repeat", no_argument, NULL, 'r'},
    {"overrides", required_argument, NULL, 'o'},
    {"compiled", required_argument, NULL, 'C'}, /* kernels by those executions, at most */
    {"narrow", no_argument, NULL, 'N'},
    {"shapes", required_argument, NULL, 'a'}, /* constant or argument */
    {"device", required_argument, NULL, 'd'},
    {NULL, 0, NULL, 0},
};

static bool parse_option(int option, struct run *run, struct settings *settings)
{
    switch (option) {
    case 'c':
        return parse_number(optarg, &run->count);
    case 's':
        return parse_number(optarg, &run->first_seed);
    case 'j':
        return parse_number(optarg, &settings->jobs) && settings->jobs >= 1 &&
               settings->jobs <= MAX_JOBS;
    case 'n':
        return parse_number(optarg, &settings->max_nodes) && settings->max_nodes >= 1 &&
               settings->max_nodes <= 4096;
    case 'e':
        return parse_number(optarg, &settings->max_elements) && settings->max_elements >= 1 &&
               settings->max_elements <= 1u << 30;
    case 'F':
        return parse_families(optarg, &run->graph_options.families);
    case 'w':
        return parse_number(optarg, &settings->wave_size) &&
               (settings->wave_size == 32 || settings->wave_size == 64);
    case 'k':
        return parse_number(optarg, &settings->segments) && settings->segments <= 64;
    case 'g':
        return parse_number(optarg, &settings->groups) && settings->groups <= UINT32_MAX;
    case 'm':
        return parse_number(optarg, &settings->form) && settings->form >= 1 &&
               settings->form <= KILN_MAX_FORMS;
    case 'p':
        return parse_number(optarg, &settings->part_weight) && settings->part_weight <= UINT32_MAX;
    case 'f':
        return settings->no_fusion = true;
    case 'N':
        return (run->graph_options.dtypes |= KILN_RANDOM_NARROW_DTYPES) != 0;
    case 'V':
        return settings->no_vectors = true;
    case 'S':
        return settings->streamed = true;
    case 'r':
        return settings->repeats = true;
    case 'o':
        return parse_number(optarg, &run->overrides);
    case 'C':
        return parse_number(optarg, &run->most_compiled);
    case 'a':
        settings->shapes =
            strcmp(optarg, "argument") == 0 ? KILN_SHAPES_ARGUMENT : KILN_SHAPES_CONSTANT;
        return settings->shapes == KILN_SHAPES_ARGUMENT || strcmp(optarg, "constant") == 0;
    case 'd':
        settings->device = optarg;
        return true;
    case 'v':
        return run->verbose = true;
    default:
        return false;
    }
}

static struct kiln_engine *make_engine(const struct settings *settings, const char *cache_directory,
                                       struct kiln_error *error)
{
    struct kiln_engine_options options = {
        .cache_directory = cache_directory,
        .device = settings->device,
        .codegen = {.max_workers = (uint32_t)settings->jobs},
        .lower = {.no_fusion = settings->no_fusion,
                  .max_vector_elements = settings->no_vectors ? 1 : 0,
                  .shapes = settings->shapes,
                  .host_wave_size = (uint32_t)settings->wave_size,
                  .max_groups = (uint32_t)settings->groups,
                  .skipped_forms = (uint32_t)settings->form - 1,
                  .max_part_weight = (uint32_t)settings->part_weight,
                  .contraction = {.form = settings->streamed ? KILN_CONTRACTION_STREAMED
                                                             : KILN_CONTRACTION_ANY,
                                  .segments = (uint32_t)settings->segments}}};
    struct kiln_engine *engine;
    return kiln_engine_create(&options, &engine, error) == KILN_OK ? engine : NULL;
}

/* The device of an engine opens, and reads KILN_HOST_THREADS, when a graph is first checked. */
static bool open_device(const struct run *run, struct kiln_engine *engine, const char *threads,
                        struct kiln_error *error)
{
    struct subject subject = {.seed = 1};
    kiln_arena_init(&subject.arena);
    kiln_buffer_init(&subject.bytes);
    bool good = setenv("KILN_HOST_THREADS", threads, 1) == 0 &&
                make_subject(run, &subject, error) == KILN_OK &&
                kiln_engine_check(engine, subject.bytes.data, subject.bytes.size, error) == KILN_OK;
    kiln_buffer_fini(&subject.bytes);
    kiln_arena_fini(&subject.arena);
    return good;
}

static bool make_engines(struct run *run, const struct settings *settings, struct kiln_error *error)
{
    /* Every graph is new: a cache on disk would only grow. */
    if (setenv("KILN_CACHE_DIR", "", 1) != 0)
        return false;
    if (strcmp(settings->device, "host") != 0 &&
        kiln_device_open(settings->device, &run->device, error) != KILN_OK)
        return false;
    const char *cache = settings->repeats ? temporary_directory_make() : NULL;
    if (settings->repeats && cache == NULL) {
        (void)kiln_error_set(error, KILN_IO, "cannot make a temporary directory");
        return false;
    }
    run->engine = make_engine(settings, cache, error);
    if (run->engine == NULL || !settings->repeats)
        return run->engine != NULL;
    run->caching_engine = make_engine(settings, cache, error);
    run->compiling_engine = make_engine(settings, NULL, error);
    return run->caching_engine != NULL && run->compiling_engine != NULL &&
           open_device(run, run->engine, "3", error) &&
           open_device(run, run->caching_engine, "1", error) &&
           open_device(run, run->compiling_engine, "1", error);
}

static int print_totals(struct run *run)
{
    uint64_t graphs = run->totals.graphs, failed = run->totals.failed;
    uint64_t elements = run->totals.elements, unchecked = run->totals.unchecked;
    printf("random graphs: %" PRIu64 " from seed %" PRIu64 ", %" PRIu64 " kernels, %" PRIu64
           " elements, %.2f%% unchecked, %" PRIu64 " failed\n",
           graphs, run->first_seed, (uint64_t)run->totals.kernels, elements,
           elements != 0 ? 100.0 * (double)unchecked / (double)elements : 0.0, failed);
    if (run->overrides != 0)
        printf("executions with override shapes: %" PRIu64 ", %" PRIu64
               " kernels compiled by them\n",
               (uint64_t)run->totals.overrides, (uint64_t)run->totals.compiled);
    return graphs == run->count && failed == 0 && run->totals.compiled <= run->most_compiled ? 0
                                                                                             : 1;
}

int main(int argc, char **argv)
{
    struct run run = {.count = 300, .first_seed = 1, .most_compiled = UINT64_MAX};
    struct settings settings = {
        .jobs = 2, .form = 1, .max_nodes = 40, .max_elements = 2000, .device = "host"};
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_random_graph_options_init(&run.graph_options);
    int option;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (!parse_option(option, &run, &settings)) {
            fprintf(stderr,
                    "usage: random_graphs [--count N] [--seed S] [--jobs J] [--max-nodes N] "
                    "[--max-elements N] [--families LIST] [--no-fusion] [--no-vectors] "
                    "[--streamed] [--split-k N] [--groups N] [--form N] [--part-weight N] "
                    "[--wave-size 32|64] [--repeat] [--overrides N] [--compiled N] "
                    "[--shapes constant|argument] [--device NAME] [--verbose]\n");
            return 2;
        }
    }
    run.graph_options.max_nodes = (uint32_t)settings.max_nodes;
    run.graph_options.max_elements = (int64_t)settings.max_elements;
    if (!make_engines(&run, &settings, &error)) {
        fprintf(stderr, "random_graphs: %s\n", error.text);
        temporary_directory_remove();
        return 1;
    }
    pthread_t threads[MAX_JOBS];
    uint64_t started = 0;
    while (started < settings.jobs &&
           pthread_create(&threads[started], NULL, run_graphs, &run) == 0)
        started++;
    for (uint64_t i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    kiln_engine_unref(run.engine);
    kiln_engine_unref(run.caching_engine);
    kiln_engine_unref(run.compiling_engine);
    kiln_device_close(run.device);
    temporary_directory_remove();
    return print_totals(&run);
}
