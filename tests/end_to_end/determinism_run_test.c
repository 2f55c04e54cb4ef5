/*
 * The promise of docs/decisions/0070-determinism-is-promised.md on the host device: a plan gives
 * the same bits every time, whatever the number of threads, other executions at the same moment,
 * addresses, and what the workspace held before.
 */
#include "runtime/engine/engine.h"
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/end_to_end/checked_graph.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_POISON = 0xa5, MAX_BINDINGS = 32, ADDRESS_STEP = 64, EXECUTIONS = 3, STREAMS = 3 };

/* Kernels whose results could depend on an order: sums over segments, tiles, work-groups, keys. */
static const char *const sketches[] = {
    "Reduction in=2,70000 out=2,1 !mode='ADD'",
    "Reduction in=3000,24 out=1,24 !mode='ADD'",
    "Reduction in=40,50,60 out=1,1,1 !mode='NORM2'",
    "Layernorm x=3,9000:HALF scale=9000 bias=9000 epsilon=k y=3,9000:HALF "
    "!normalized_dim_count=1",
    "LayernormBackward dy=300,64:HALF x=300,64:HALF scale=64 dx=300,64:HALF dscale=64 dbias=64 "
    "epsilon=k !normalized_dim_count=1",
    "Matmul a=16,3000:HALF b=3000,24:HALF c=16,24:HALF",
    "Matmul a=100,70:HALF b=70,90:HALF c=100,90:virtual | Reduction in@3 out=1,90 !mode='ADD' | "
    "Reduction in@3 out=1,1 !mode='AMAX'",
    "ConvolutionWrw x=3,8,12,12:HALF:last dy=3,16,12,12:HALF:last dw=16,8,3,3:HALF:last "
    "!pre_padding=[1,1] !post_padding=[1,1] !stride=[1,1] !dilation=[1,1] "
    "!conv_mode='CROSS_CORRELATION'",
    "Sdpa q=1,2,3,32:HALF k=1,2,600,32:HALF v=1,2,600,32:HALF o=1,2,3,32:HALF "
    "!attn_scale_value=0.2",
};

static void set_up(void)
{
    cr_assert_not_null(temporary_directory_make());
}

TestSuite(determinism_run, .init = set_up, .fini = temporary_directory_remove, .timeout = 300);

/* The first execution's outputs are the ones to meet. */
struct subject {
    const char *sketch;
    struct json_graph read;
    void **expected;
};

struct execution {
    const struct subject *subject;
    const struct kiln_plan *plan;
    unsigned number;
    bool is_same;
};

static void **make_memory(const struct subject *subject)
{
    struct kiln_random_graph_options fill;
    kiln_random_graph_options_init(&fill);
    void **memory = make_tensor_memory(&subject->read.graph, 1, &fill, OUTPUT_POISON);
    cr_assert_not_null(memory);
    return memory;
}

static void execute(const struct subject *subject, const struct kiln_plan *plan, unsigned number,
                    void **memory)
{
    struct kiln_buffer_binding bindings[MAX_BINDINGS];
    const struct kiln_graph *graph = &subject->read.graph;
    struct kiln_error error;
    uint32_t count = 0;
    size_t bytes = (size_t)kiln_plan_workspace_bytes(plan);
    char *workspace = malloc(bytes + ((size_t)number + 1) * ADDRESS_STEP);
    cr_assert_not_null(workspace);
    memset(workspace, (int)(number * 41), bytes + ((size_t)number + 1) * ADDRESS_STEP);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        if (memory[i] != NULL)
            bindings[count++] =
                (struct kiln_buffer_binding){.uid = graph->tensors[i].uid, .pointer = memory[i]};
    }
    kiln_error_init(&error);
    cr_assert_eq(kiln_plan_execute(plan, NULL, workspace + (size_t)number * ADDRESS_STEP, bindings,
                                   count, &error),
                 KILN_OK, "%s: %s", subject->sketch, error.text);
    free(workspace);
}

static bool are_outputs_expected(const struct subject *subject, void *const *memory)
{
    const struct kiln_graph *graph = &subject->read.graph;
    bool is_same = true;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        is_same = is_same && (tensor->role != KILN_TENSOR_OUTPUT ||
                              memcmp(memory[i], subject->expected[i],
                                     (size_t)kiln_tensor_footprint_bytes(tensor)) == 0);
    }
    return is_same;
}

static void *run_execution(void *context)
{
    struct execution *execution = context;
    void **memory = make_memory(execution->subject);
    execute(execution->subject, execution->plan, execution->number, memory);
    execution->is_same = are_outputs_expected(execution->subject, memory);
    free_tensor_memory(&execution->subject->read.graph, memory);
    return NULL;
}

/* Executes a plan several times in a row, then from several threads at once. */
static void run_plan(struct subject *subject, const struct kiln_plan *plan, const char *threads)
{
    struct execution executions[EXECUTIONS + STREAMS];
    pthread_t streams[STREAMS];
    if (subject->expected == NULL) {
        subject->expected = make_memory(subject);
        execute(subject, plan, 0, subject->expected);
    }
    for (unsigned i = 0; i < EXECUTIONS + STREAMS; i++)
        executions[i] = (struct execution){.subject = subject, .plan = plan, .number = i};
    for (unsigned i = 0; i < EXECUTIONS; i++)
        (void)run_execution(&executions[i]);
    for (unsigned i = 0; i < STREAMS; i++)
        cr_assert_eq(pthread_create(&streams[i], NULL, run_execution, &executions[EXECUTIONS + i]),
                     0);
    for (unsigned i = 0; i < STREAMS; i++)
        cr_assert_eq(pthread_join(streams[i], NULL), 0);
    for (unsigned i = 0; i < EXECUTIONS + STREAMS; i++)
        cr_expect(executions[i].is_same, "%s, %s threads, execution %u: other bits",
                  subject->sketch, threads, i);
}

static struct kiln_engine *make_engine(const struct kiln_lower_options *lower, const char *threads)
{
    /* Compiled once for all numbers of threads. */
    const struct kiln_engine_options options = {.device = "host",
                                                .cache_directory = temporary_path("cache"),
                                                .is_cache_isolated = true,
                                                .codegen = {.max_workers = 1},
                                                .lower = *lower};
    struct kiln_engine *engine = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(setenv("KILN_HOST_THREADS", threads, 1), 0);
    cr_assert_eq(kiln_engine_create(&options, &engine, &error), KILN_OK, "%s", error.text);
    return engine;
}

static void run_sketches(const struct kiln_lower_options *lower)
{
    static const char *const thread_counts[] = {"1", "2", "7"};
    enum { COUNT = sizeof thread_counts / sizeof *thread_counts };
    struct kiln_engine *engines[COUNT];
    for (size_t t = 0; t < COUNT; t++)
        engines[t] = make_engine(lower, thread_counts[t]);
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        struct subject subject = {.sketch = sketches[i]};
        graph_sketch_accept(&subject.read, subject.sketch, NULL);
        for (size_t t = 0; t < COUNT; t++) {
            struct kiln_plan *plan = NULL;
            cr_assert_eq(setenv("KILN_HOST_THREADS", thread_counts[t], 1), 0);
            cr_assert_eq(kiln_plan_create(engines[t], subject.read.bytes.data,
                                          subject.read.bytes.size, &plan, &subject.read.error),
                         KILN_OK, "%s: %s", subject.sketch, subject.read.error.text);
            run_plan(&subject, plan, thread_counts[t]);
            kiln_plan_unref(plan);
        }
        free_tensor_memory(&subject.read.graph, subject.expected);
        json_graph_fini(&subject.read);
    }
    for (size_t t = 0; t < COUNT; t++)
        kiln_engine_unref(engines[t]);
}

Test(determinism_run, kernels_of_the_cpu)
{
    run_sketches(&(struct kiln_lower_options){0});
}

/* A GPU's schedules, with few work-groups that take several pieces of work each, and k in segments.
 */
Test(determinism_run, kernels_of_a_gpu)
{
    run_sketches(&(struct kiln_lower_options){
        .host_wave_size = 32, .max_groups = 5, .contraction.segments = 3});
}
