/*
 * Plans on the hip device's stand-in with a compiler that does nothing: what is compiled, cached,
 * loaded and shared, and what exactly a launch passes to the driver.
 */
#include "compiler/graph/graph_reader.h"
#include "runtime/engine/engine.h"
#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/engine/sample_graph.h"
#include "tests/stand_ins/stand_in.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct stand_in hip;
static char directory[64];
static struct kiln_buffer graph;
static struct kiln_error error;

static void set_up(void)
{
    hip = stand_in_open();
    snprintf(directory, sizeof(directory), "/tmp/kiln_plan_test_XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    kiln_buffer_init(&graph);
    kiln_error_init(&error);
    sample_graph_write_add(&graph);
}

static void tear_down(void)
{
    kiln_buffer_fini(&graph);
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    cr_expect_eq(system(command), 0);
}

TestSuite(plan, .init = set_up, .fini = tear_down);

static struct kiln_engine *make_engine(void)
{
    const struct kiln_engine_options options = {.cache_directory = directory, .device = "hip"};
    struct kiln_engine *engine = NULL;
    cr_assert_eq(kiln_engine_create(&options, &engine, &error), KILN_OK, "%s", error.text);
    return engine;
}

static struct kiln_plan *make_plan(struct kiln_engine *engine)
{
    struct kiln_plan *plan = NULL;
    enum kiln_status status = kiln_plan_create(engine, graph.data, graph.size, &plan, &error);
    cr_assert_eq(status, KILN_OK, "%s", error.text);
    return plan;
}

static void rewrite(const struct sample_graph *sample)
{
    kiln_buffer_clear(&graph);
    sample_graph_write(sample, &graph);
}

Test(plan, an_engine_opens_nothing_before_it_must)
{
    struct kiln_engine *engine = make_engine();
    cr_expect_eq(hip.call_count(), 0);
    cr_expect_eq(kiln_engine_check(engine, "no graph at all", 15, &error), KILN_REJECTED);
    cr_expect_eq(hip.call_count(), 0, "a declined graph needs no device");
    cr_expect_eq(kiln_engine_check(engine, graph.data, graph.size, &error), KILN_OK);
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), 0);
    kiln_engine_unref(engine);
}

Test(plan, comes_from_the_compiler_then_memory_then_disk)
{
    struct kiln_engine *engine = make_engine();
    struct kiln_plan *plan = make_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_COMPILED);
    cr_expect_eq(kiln_plan_kernel_count(plan), 1);
    cr_expect_str_eq(kiln_plan_device(plan)->target.name, "gfx90a:sramecc+:xnack-");
    struct kiln_plan *second = make_plan(engine);
    cr_expect_eq(kiln_plan_origin(second), KILN_ORIGIN_MEMORY);
    cr_expect_eq(hip.live_modules(), 1, "two plans of one graph share the module");
    kiln_plan_unref(plan);
    kiln_plan_unref(second);
    plan = make_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_MEMORY, "it stays loaded without plans");
    kiln_engine_unref(engine);
    cr_expect_eq(hip.live_modules(), 1, "the plan keeps its engine");
    kiln_plan_unref(plan);
    cr_expect_eq(hip.live_modules(), 0);

    engine = make_engine();
    plan = make_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_DISK);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 1);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan, uids_and_names_do_not_make_another_program)
{
    struct kiln_engine *engine = make_engine();
    kiln_plan_unref(make_plan(engine));
    const int64_t uids[] = {-5, 900};
    rewrite(&(struct sample_graph){KILN_WIRE_ERA_NOV2025, KILN_DTYPE_F32, 1000, 2, uids, 0, false});
    struct kiln_plan *plan = make_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_MEMORY);
    kiln_plan_unref(plan);
    rewrite(&(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F32, 1001, 2, NULL, 3, false});
    plan = make_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_COMPILED);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

static enum kiln_program_origin origin_in_new_engine(void)
{
    struct kiln_engine *engine = make_engine();
    struct kiln_plan *plan = make_plan(engine);
    enum kiln_program_origin origin = kiln_plan_origin(plan);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
    return origin;
}

Test(plan, key_covers_compiler_templates_and_target)
{
    cr_expect_eq(origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    cr_expect_eq(origin_in_new_engine(), KILN_ORIGIN_DISK);
    fake_pipeline.identity = "fake 2";
    cr_expect_eq(origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    fake_pipeline.digest = "templates 2";
    cr_expect_eq(origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    hip.set_architecture("gfx90a:sramecc+:xnack+", 1160);
    cr_expect_eq(origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    hip.set_architecture("gfx90a:sramecc+:xnack-", 1160);
    cr_expect_eq(origin_in_new_engine(), KILN_ORIGIN_DISK);
}

Test(plan, lives_without_a_cache_that_cannot_be_written)
{
    struct kiln_engine *engine = make_engine();
    kiln_plan_unref(make_plan(engine)); /* opens the store */
    char command[160];
    snprintf(command, sizeof(command), "rm -rf '%s' && touch '%s'", directory, directory);
    cr_assert_eq(system(command), 0);
    rewrite(&(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F16, 8, 2, NULL, 3, false});
    kiln_plan_unref(make_plan(engine));
    kiln_engine_unref(engine);
}

static const struct kiln_stand_in_call *execute(const struct kiln_plan *plan, void *workspace,
                                                const struct kiln_buffer_binding *buffers,
                                                uint32_t count)
{
    size_t first = hip.call_count();
    enum kiln_status status = kiln_plan_execute(plan, &hip, workspace, buffers, count, &error);
    cr_assert_eq(status, KILN_OK, "%s", error.text);
    cr_assert_eq(hip.call_count(), first + 2, "the current device, one launch, nothing else");
    return hip.call(first + 1);
}

Test(plan, execute_packs_pointers_by_uid_in_any_order)
{
    struct kiln_engine *engine = make_engine();
    struct kiln_plan *plan = make_plan(engine);
    float a[4], b[4], y[4], other;
    const struct kiln_buffer_binding buffers[] = {
        {77, &other}, {3, y}, {2, b}, {-1, &other}, {1, a}};
    const struct kiln_stand_in_call *call = execute(plan, NULL, buffers, 5);
    const uint64_t expected[] = {(uint64_t)(uintptr_t)a, (uint64_t)(uintptr_t)b,
                                 (uint64_t)(uintptr_t)y};
    cr_expect_eq(call->kernarg_bytes, sizeof(expected));
    cr_expect_arr_eq(call->kernarg, expected, sizeof(expected));
    cr_expect_str_eq(call->symbol, "kernel_1");
    cr_expect_eq(call->arguments[8], (uint64_t)(uintptr_t)&hip, "the caller's stream");
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

static void expect_refused(const struct kiln_plan *plan, void *workspace,
                           const struct kiln_buffer_binding *buffers, uint32_t count,
                           const char *sentence)
{
    size_t first = hip.call_count();
    cr_expect_eq(kiln_plan_execute(plan, NULL, workspace, buffers, count, &error),
                 KILN_BAD_ARGUMENT);
    cr_expect_str_eq(error.text, sentence);
    cr_expect_eq(hip.call_count(), first, "nothing is launched");
}

Test(plan, execute_refuses_what_cannot_work)
{
    struct kiln_engine *engine = make_engine();
    struct kiln_plan *plan = make_plan(engine);
    float a[4], b[4], y[4];
    struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    expect_refused(plan, NULL, buffers, 2, "no buffer is given for tensor uid '3'");
    expect_refused(plan, NULL, NULL, 0, "no buffer is given for tensor uid '1'");
    expect_refused(plan, NULL, NULL, 3, "'3' buffers, but no array of them");
    buffers[1].pointer = NULL;
    expect_refused(plan, NULL, buffers, 3, "no buffer is given for tensor uid '2'");
    buffers[1].pointer = (char *)b + 2;
    expect_refused(plan, NULL, buffers, 3,
                   "the buffer of tensor uid '2' is not aligned to 4 bytes");
    buffers[1].pointer = b + 1; /* the element's alignment is enough for hip */
    execute(plan, NULL, buffers, 3);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan, workspace_is_aligned_by_the_plan)
{
    fake_pipeline.workspace_bytes = 1000;
    struct kiln_engine *engine = make_engine();
    uint64_t bound = 0;
    cr_expect_eq(kiln_engine_workspace_bytes(engine, graph.data, graph.size, &bound, &error),
                 KILN_OK);
    cr_expect_eq(bound, 1255);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 0, "asking compiles nothing");
    struct kiln_plan *plan = make_plan(engine);
    cr_expect_eq(kiln_plan_workspace_bytes(plan), 1255);
    float a[4], b[4], y[4];
    const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    expect_refused(plan, NULL, buffers, 3, "no workspace is given, but '1255' bytes are needed");
    _Alignas(256) char workspace[2048];
    uint64_t words[5];
    memcpy(words, execute(plan, workspace + 1, buffers, 3)->kernarg, sizeof(words));
    cr_expect_eq(words[3], (uint64_t)(uintptr_t)workspace + 256);
    cr_expect_eq(words[4], (uint64_t)(uintptr_t)workspace + 512);
    memcpy(words, execute(plan, workspace, buffers, 3)->kernarg, sizeof(words));
    cr_expect_eq(words[3], (uint64_t)(uintptr_t)workspace);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan, host_scalars_are_read_when_executing)
{
    rewrite(&(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F16, 8, 3, NULL, 9, true});
    struct kiln_engine *engine = make_engine();
    struct kiln_plan *plan = make_plan(engine);
    uint16_t a[8], b[8], y[8];
    unsigned char scalar[4] = {0xaa, 0x34, 0x12, 0xbb}; /* at an odd address */
    const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, scalar + 1}, {9, y}};
    uint64_t words[4];
    for (unsigned char low = 0; low < 3; low++) {
        scalar[1] = low;
        memcpy(words, execute(plan, NULL, buffers, 4)->kernarg, sizeof(words));
        bool found = false;
        for (int i = 0; i < 4; i++)
            found = found || words[i] == 0x1200u + low;
        cr_expect(found, "the value, zero-extended, is an argument");
    }
    expect_refused(plan, NULL, buffers, 2, "no buffer is given for tensor uid '3'");
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan, five_hundred_tensors)
{
    enum { COUNT = 500 };
    static int64_t uids[COUNT];
    static double data[COUNT + 1];
    static struct kiln_buffer_binding buffers[COUNT + 1];
    for (int i = 0; i < COUNT; i++) {
        uids[i] = (i * 7919) % 500009 - 250000; /* all different, neither sorted nor positive */
        buffers[(i * 3) % COUNT] = (struct kiln_buffer_binding){uids[i], &data[i]};
    }
    buffers[COUNT] = (struct kiln_buffer_binding){INT64_MIN, &data[COUNT]};
    for (int i = 0; i < COUNT; i++) /* 3 and 500 share no factor: every slot was filled */
        cr_assert_not_null(buffers[i].pointer);
    rewrite(&(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F64, 1, COUNT, uids, INT64_MIN,
                                   false});
    struct kiln_engine *engine = make_engine();
    struct kiln_plan *plan = make_plan(engine);
    const struct kiln_stand_in_call *call = execute(plan, NULL, buffers, COUNT + 1);
    cr_assert_eq(call->kernarg_bytes, 8 * (COUNT + 1));
    /* Tensors in order of first appearance: both inputs of the first node, then one input a node,
     * the output last. */
    uint64_t words[COUNT + 1];
    memcpy(words, call->kernarg, sizeof(words));
    uint32_t in_order = 0;
    for (int i = 0; i <= COUNT; i++)
        in_order += words[i] == (uint64_t)(uintptr_t)&data[i];
    cr_expect_eq(in_order, COUNT + 1);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan, kernels_are_compiled_together_and_launched_in_order)
{
    fake_pipeline.kernel_count = 20;
    fake_pipeline.compile_microseconds = 1000;
    struct kiln_engine *engine = make_engine();
    struct kiln_plan *plan = make_plan(engine);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 20);
    cr_expect_eq(kiln_plan_kernel_count(plan), 20);
    float a[4], b[4], y[4];
    const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    cr_assert_eq(kiln_plan_execute(plan, NULL, NULL, buffers, 3, &error), KILN_OK);
    for (uint32_t i = 0; i < 20; i++) {
        char symbol[32];
        snprintf(symbol, sizeof(symbol), "kernel_%u", i + 1);
        cr_expect_str_eq(stand_in_find(&hip, "hipModuleLaunchKernel", i)->symbol, symbol);
    }
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
    cr_expect_eq(hip.live_modules(), 0);
}

Test(plan, failures_are_told_and_leave_nothing)
{
    struct kiln_engine *engine = make_engine();
    struct kiln_plan *plan = NULL;
    fake_pipeline.kernel_count = 3;
    fake_pipeline.failing_kernel = 2;
    cr_expect_eq(kiln_plan_create(engine, graph.data, graph.size, &plan, &error),
                 KILN_COMPILE_FAILED);
    cr_expect_str_eq(error.text, "kernel 'kernel_2' does not compile\n"
                                 "hint: the source of 'kernel_2' is 'vectors'");
    cr_expect_eq(atomic_load(&fake_pipeline.dumped), 1);
    cr_expect_null(plan);
    fake_pipeline.failing_kernel = 0;
    hip.fail("hipModuleLoadData", KILN_STAND_IN_OUT_OF_MEMORY, 2);
    cr_expect_eq(kiln_plan_create(engine, graph.data, graph.size, &plan, &error), KILN_NO_MEMORY);
    cr_expect_eq(hip.live_modules(), 0, "what was loaded of the program is unloaded");
    hip.fail("hipModuleLoadData", 0, 0);
    plan = make_plan(engine);
    hip.fail("hipModuleLaunchKernel", KILN_STAND_IN_INVALID_VALUE, 1);
    float a[4], b[4], y[4];
    const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    cr_expect_eq(kiln_plan_execute(plan, NULL, NULL, buffers, 3, &error), KILN_DEVICE);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

/* Puts the graph's program into the cache directory without loading it. */
static void precompile(void)
{
    struct kiln_arena arena;
    struct kiln_graph read;
    struct kiln_target target;
    const struct kiln_compiled_program *program = NULL;
    enum kiln_program_origin origin;
    kiln_arena_init(&arena);
    struct kiln_engine *engine = make_engine();
    cr_assert_eq(kiln_graph_read(graph.data, graph.size, &arena, &read, &error), KILN_OK);
    cr_assert_eq(kiln_target_parse("gfx90a:sramecc+:xnack-", &target, &error), KILN_OK);
    cr_assert_eq(kiln_engine_compile(engine, &read, &target, &program, &origin, &error), KILN_OK,
                 "%s", error.text);
    kiln_compiled_program_unref(program);
    kiln_engine_unref(engine);
    kiln_arena_fini(&arena);
}

Test(plan, cached_program_that_the_device_refuses_is_compiled_again)
{
    fake_pipeline.objects_are_bad = true;
    precompile();
    fake_pipeline.objects_are_bad = false;
    struct kiln_engine *engine = make_engine();
    struct kiln_plan *plan = make_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_COMPILED);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 2);
    cr_expect_eq(hip.live_modules(), 1);
    cr_expect_str_empty(error.text);
    kiln_plan_unref(plan);
    hip.set_device_count(2);
    hip.set_device(1); /* the program in memory is the good one too */
    plan = make_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_MEMORY);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
    cr_expect_eq(origin_in_new_engine(), KILN_ORIGIN_DISK, "the good one is in the cache");
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 2);
}

/* The same sentence, without a compiler or a driver, as often as it is asked for. */
static void expect_declined(struct kiln_engine *engine, unsigned compiled)
{
    static const char sentence[] = "loading the code object of kernel 'kernel_1' failed: ";
    static const char hint[] = "\nhint: plans of this graph are declined until the process ends";
    struct kiln_plan *plan = NULL;
    char first[KILN_ERROR_TEXT_BYTES];
    cr_expect_eq(kiln_plan_create(engine, graph.data, graph.size, &plan, &error), KILN_DEVICE);
    cr_expect_eq(strncmp(error.text, sentence, sizeof(sentence) - 1), 0, "%s", error.text);
    cr_expect_not_null(strstr(error.text, hint), "%s", error.text);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), compiled);
    memcpy(first, error.text, sizeof(first));
    hip.fail("hipModuleLoadData", 0, 0);
    for (int i = 0; i < 3; i++) {
        kiln_error_init(&error);
        cr_expect_eq(kiln_plan_create(engine, graph.data, graph.size, &plan, &error), KILN_DEVICE);
        cr_expect_str_eq(error.text, first);
    }
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), compiled);
    cr_expect_eq(hip.live_modules(), 0);
    cr_expect_null(plan);
}

Test(plan, program_that_is_refused_twice_is_declined)
{
    precompile();
    struct kiln_engine *engine = make_engine();
    hip.fail("hipModuleLoadData", KILN_STAND_IN_INVALID_IMAGE, 0);
    expect_declined(engine, 2);
    /* That is this program's trouble alone. */
    rewrite(&(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F32, 1001, 2, NULL, 3, false});
    kiln_plan_unref(make_plan(engine));
    kiln_engine_unref(engine);
}

Test(plan, program_from_the_compiler_that_is_refused_is_declined)
{
    struct kiln_engine *engine = make_engine();
    hip.fail("hipModuleLoadData", KILN_STAND_IN_INVALID_IMAGE, 0);
    expect_declined(engine, 1);
    kiln_engine_unref(engine);
}

Test(plan, refused_program_that_cannot_be_compiled_again_is_declined)
{
    fake_pipeline.objects_are_bad = true;
    precompile();
    fake_pipeline.failing_kernel = 1;
    struct kiln_engine *engine = make_engine();
    expect_declined(engine, 3); /* once more without vectors */
    cr_expect_not_null(strstr(error.text, "kernel 'kernel_1' does not compile"), "%s", error.text);
    kiln_engine_unref(engine);
}

static void *create_once(void *context)
{
    struct kiln_error thread_error;
    kiln_error_init(&thread_error);
    struct kiln_plan *plan = NULL;
    enum kiln_status status =
        kiln_plan_create(context, graph.data, graph.size, &plan, &thread_error);
    kiln_plan_unref(plan);
    return (void *)(intptr_t)status;
}

Test(plan, threads_share_one_second_compilation)
{
    fake_pipeline.objects_are_bad = true;
    precompile();
    fake_pipeline.objects_are_bad = false;
    fake_pipeline.compile_microseconds = 20000;
    struct kiln_engine *engine = make_engine();
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, create_once, engine), 0);
    for (int i = 0; i < 8; i++) {
        void *status = NULL;
        pthread_join(threads[i], &status);
        cr_expect_eq((intptr_t)status, KILN_OK);
    }
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 2);
    kiln_engine_unref(engine);
}

Test(plan, what_does_not_compile_with_vectors_is_compiled_without)
{
    struct kiln_engine *engine = make_engine();
    fake_pipeline.vectors_fail = 1;
    struct kiln_plan *plan = make_plan(engine);
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), 2);
    cr_expect_eq(atomic_load(&fake_pipeline.dumped), 0, "no source of a program that is there");
    cr_expect_str_empty(error.text);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan, a_machine_without_device_or_compiler_is_remembered)
{
    hip.set_device_count(0);
    struct kiln_engine *engine = make_engine();
    cr_expect_eq(kiln_engine_check(engine, graph.data, graph.size, &error), KILN_UNSUPPORTED);
    size_t calls = hip.call_count();
    kiln_error_init(&error);
    cr_expect_eq(kiln_engine_check(engine, graph.data, graph.size, &error), KILN_UNSUPPORTED);
    cr_expect_not_null(strstr(error.text, "no 'AMD GPU'"));
    cr_expect_eq(hip.call_count(), calls);
    kiln_engine_unref(engine);

    hip.set_device_count(1);
    fake_pipeline.identity = NULL;
    engine = make_engine();
    cr_expect_eq(kiln_engine_check(engine, graph.data, graph.size, &error), KILN_UNSUPPORTED);
    cr_expect_str_eq(error.text, "nothing compiles for 'gfx90a:sramecc+:xnack-'");
    struct kiln_plan *plan = NULL;
    cr_expect_eq(kiln_plan_create(engine, graph.data, graph.size, &plan, &error), KILN_UNSUPPORTED);
    cr_expect_eq(atomic_load(&fake_pipeline.identities), 1);
    kiln_engine_unref(engine);
}

Test(plan, each_device_gets_its_own_modules)
{
    struct kiln_engine *engine = make_engine();
    struct kiln_plan *plans[2];
    for (int i = 0; i < 2; i++) {
        hip.set_device(i);
        plans[i] = make_plan(engine);
        cr_expect_eq(kiln_plan_device(plans[i])->ordinal, i);
    }
    cr_expect_eq(hip.live_modules(), 2);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 1, "one program for both");
    cr_expect_eq(atomic_load(&fake_pipeline.identities), 2);
    hip.set_device(0);
    float a[4], b[4], y[4];
    const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    cr_expect_eq(kiln_plan_execute(plans[1], NULL, NULL, buffers, 3, &error), KILN_OK, "%s",
                 error.text);
    cr_expect_eq(stand_in_find(&hip, "hipModuleLaunchKernel", 0)->device, 1);
    kiln_plan_unref(plans[0]);
    kiln_plan_unref(plans[1]);
    kiln_engine_unref(engine);
}

static void *plan_and_execute(void *context)
{
    struct kiln_engine *engine = context;
    struct kiln_error thread_error;
    kiln_error_init(&thread_error);
    float data[3][4];
    const struct kiln_buffer_binding buffers[] = {{3, data[2]}, {1, data[0]}, {2, data[1]}};
    for (int i = 0; i < 50; i++) {
        struct kiln_plan *plan = NULL;
        if (kiln_plan_create(engine, graph.data, graph.size, &plan, &thread_error) ||
            kiln_plan_execute(plan, NULL, NULL, buffers, 3, &thread_error))
            return "failed";
        kiln_plan_unref(plan);
    }
    return NULL;
}

Test(plan, many_threads_compile_once)
{
    fake_pipeline.compile_microseconds = 20000;
    struct kiln_engine *engine = make_engine();
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, plan_and_execute, engine), 0);
    for (int i = 0; i < 8; i++) {
        void *failure = NULL;
        pthread_join(threads[i], &failure);
        cr_expect_null(failure);
    }
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 1);
    cr_expect_eq(hip.live_modules(), 1);
    kiln_engine_unref(engine);
    cr_expect_eq(hip.live_modules(), 0);
}

enum { PROCESSES = 8, GRAPHS = 10 };

/* In a process of its own: the number of kernels that it has compiled. */
static unsigned plan_all_graphs(void)
{
    struct kiln_engine *engine = make_engine();
    for (int i = 0; i < GRAPHS; i++) {
        rewrite(&(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F32, 1000 + i, 2, NULL, 3,
                                       false});
        kiln_plan_unref(make_plan(engine));
    }
    kiln_engine_unref(engine);
    return atomic_load(&fake_pipeline.compiled);
}

/* The ranks of a job start at once and want the same. */
Test(plan, many_processes_compile_once)
{
    fake_pipeline.compile_microseconds = 30000;
    pid_t processes[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        processes[i] = fork();
        cr_assert_geq(processes[i], 0);
        if (processes[i] == 0)
            _exit((int)plan_all_graphs());
    }
    unsigned compiled = 0;
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        cr_assert_eq(waitpid(processes[i], &status, 0), processes[i]);
        cr_assert(WIFEXITED(status), "wait status %d", status);
        compiled += (unsigned)WEXITSTATUS(status);
    }
    /* A process that the machine leaves waiting for too long compiles too. */
    cr_expect_geq(compiled, GRAPHS);
    cr_expect_leq(compiled, 2 * GRAPHS, "%u kernels compiled", compiled);
    char command[160];
    snprintf(command, sizeof(command), "test -z \"$(find '%s' -name '.kiln-*')\"", directory);
    cr_expect_eq(system(command), 0, "claims are left behind");
}

enum { SMALL_STACK_BYTES = 32768, GUARD_BYTES = 262144 };

static void *execute_once(void *context)
{
    struct kiln_error thread_error;
    kiln_error_init(&thread_error);
    float data[3][4];
    const struct kiln_buffer_binding buffers[] = {{3, data[2]}, {1, data[0]}, {2, data[1]}};
    if (kiln_plan_execute(context, NULL, NULL, buffers, 3, &thread_error))
        return "failed";
    return NULL;
}

Test(plan, executes_on_a_small_stack)
{
    struct kiln_engine *engine = make_engine();
    struct kiln_plan *plan = make_plan(engine);
    /* What runs over the stack meets memory that it cannot touch. */
    char *memory = mmap(NULL, GUARD_BYTES + SMALL_STACK_BYTES, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    char *stack = memory + GUARD_BYTES;
    cr_assert_eq(mprotect(stack, SMALL_STACK_BYTES, PROT_READ | PROT_WRITE), 0);
    pthread_attr_t attributes;
    cr_assert_eq(pthread_attr_init(&attributes), 0);
    cr_assert_eq(pthread_attr_setstack(&attributes, stack, SMALL_STACK_BYTES), 0);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, execute_once, plan) != 0)
        cr_skip_test("this build's threads need larger stacks"); /* sanitizers */
    void *failure = NULL;
    pthread_join(thread, &failure);
    cr_expect_null(failure);
    pthread_attr_destroy(&attributes);
    munmap(memory, GUARD_BYTES + SMALL_STACK_BYTES);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}
