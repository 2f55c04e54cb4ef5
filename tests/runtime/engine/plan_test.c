/*
 * Plans on the hip device's stand-in with a compiler that does nothing: what is compiled, cached,
 * loaded and shared, and what exactly a launch passes to the driver.
 */
#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/engine/plan_fixture.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(plan, .init = plan_fixture_init, .fini = plan_fixture_fini);

static enum kiln_status check_graph(struct kiln_engine *engine)
{
    return kiln_engine_check(engine, fixture.graph.data, fixture.graph.size, &fixture.error);
}

Test(plan, an_engine_opens_nothing_before_it_must)
{
    struct kiln_engine *engine = plan_fixture_engine();
    cr_expect_eq(fixture.hip.call_count(), 0);
    cr_expect_eq(kiln_engine_check(engine, "no graph at all", 15, &fixture.error), KILN_REJECTED);
    cr_expect_eq(fixture.hip.call_count(), 0, "a declined graph needs no device");
    cr_expect_eq(check_graph(engine), KILN_OK);
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), 0);
    kiln_engine_unref(engine);
}

Test(plan, comes_from_the_compiler_then_memory_then_disk)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_COMPILED);
    cr_expect_eq(kiln_plan_kernel_count(plan), 1);
    cr_expect_str_eq(kiln_plan_device(plan)->target.name, "gfx90a");
    struct kiln_plan *second = plan_fixture_plan(engine);
    cr_expect_eq(kiln_plan_origin(second), KILN_ORIGIN_MEMORY);
    cr_expect_eq(fixture.hip.live_modules(), 1, "two plans of one graph share the module");
    kiln_plan_unref(plan);
    kiln_plan_unref(second);
    plan = plan_fixture_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_MEMORY, "it stays loaded without plans");
    kiln_engine_unref(engine);
    cr_expect_eq(fixture.hip.live_modules(), 1, "the plan keeps its engine");
    kiln_plan_unref(plan);
    cr_expect_eq(fixture.hip.live_modules(), 0);

    engine = plan_fixture_engine();
    plan = plan_fixture_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_DISK);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 1);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan, uids_and_names_do_not_make_another_program)
{
    struct kiln_engine *engine = plan_fixture_engine();
    kiln_plan_unref(plan_fixture_plan(engine));
    const int64_t uids[] = {-5, 900};
    plan_fixture_rewrite(
        &(struct sample_graph){KILN_WIRE_ERA_NOV2025, KILN_DTYPE_F32, 1000, 2, uids, 0, false});
    struct kiln_plan *plan = plan_fixture_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_MEMORY);
    kiln_plan_unref(plan);
    plan_fixture_rewrite(
        &(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F32, 1001, 2, NULL, 3, false});
    plan = plan_fixture_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_COMPILED);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan, key_covers_compiler_templates_and_target)
{
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_DISK);
    fake_pipeline.identity = "fake 2";
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    fake_pipeline.digest = "templates 2";
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    fixture.hip.set_architecture("gfx908:sramecc+:xnack-", 1160);
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    fixture.hip.set_architecture("gfx90a:sramecc+:xnack-", 1160);
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_DISK);
}

/* What `kiln compile --target` does, then what a run on a device does. */
static void expect_hit(const char *compiled_for, const char *reported)
{
    plan_fixture_compile(compiled_for);
    fixture.hip.set_architecture(reported, 1160);
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_DISK, "for '%s', on '%s'",
                 compiled_for, reported);
}

Test(plan, what_was_compiled_ahead_is_found_whatever_the_settings_of_features)
{
    expect_hit("gfx942", "gfx942:sramecc+:xnack-");
    expect_hit("gfx942", "gfx942:sramecc+:xnack+");
    expect_hit("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-");
    expect_hit("gfx906", "gfx906:sramecc-:xnack-");
    expect_hit("gfx1010", "gfx1010:xnack-");
    expect_hit("gfx1030", "gfx1030");
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 5, "once for each processor");
}

Test(plan, lives_without_a_cache_that_cannot_be_written)
{
    struct kiln_engine *engine = plan_fixture_engine();
    kiln_plan_unref(plan_fixture_plan(engine)); /* opens the store */
    char command[160];
    snprintf(command, sizeof(command), "rm -rf '%s' && touch '%s'", fixture.directory,
             fixture.directory);
    cr_assert_eq(system(command), 0);
    plan_fixture_rewrite(
        &(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F16, 8, 2, NULL, 3, false});
    kiln_plan_unref(plan_fixture_plan(engine));
    kiln_engine_unref(engine);
}

static const struct kiln_stand_in_call *execute(const struct kiln_plan *plan, void *workspace,
                                                const struct kiln_buffer_binding *buffers,
                                                uint32_t count)
{
    size_t first = fixture.hip.call_count();
    enum kiln_status status =
        kiln_plan_execute(plan, &fixture.hip, workspace, buffers, count, &fixture.error);
    cr_assert_eq(status, KILN_OK, "%s", fixture.error.text);
    cr_assert_eq(fixture.hip.call_count(), first + 2,
                 "the current device, one launch, nothing else");
    return fixture.hip.call(first + 1);
}

Test(plan, execute_packs_pointers_by_uid_in_any_order)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    float a[4], b[4], y[4], other;
    const struct kiln_buffer_binding buffers[] = {
        {77, &other}, {3, y}, {2, b}, {-1, &other}, {1, a}};
    const struct kiln_stand_in_call *call = execute(plan, NULL, buffers, 5);
    const uint64_t expected[] = {(uint64_t)(uintptr_t)a, (uint64_t)(uintptr_t)b,
                                 (uint64_t)(uintptr_t)y};
    cr_expect_eq(call->kernarg_bytes, sizeof(expected));
    cr_expect_arr_eq(call->kernarg, expected, sizeof(expected));
    cr_expect_str_eq(call->symbol, "kernel_1");
    cr_expect_eq(call->arguments[8], (uint64_t)(uintptr_t)&fixture.hip, "the caller's stream");
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

static void expect_refused(const struct kiln_plan *plan, void *workspace,
                           const struct kiln_buffer_binding *buffers, uint32_t count,
                           const char *sentence)
{
    size_t first = fixture.hip.call_count();
    cr_expect_eq(kiln_plan_execute(plan, NULL, workspace, buffers, count, &fixture.error),
                 KILN_BAD_ARGUMENT);
    cr_expect_str_eq(fixture.error.text, sentence);
    cr_expect_eq(fixture.hip.call_count(), first, "nothing is launched");
}

Test(plan, execute_refuses_what_cannot_work)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    float a[4], b[4], y[4];
    struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    expect_refused(plan, NULL, buffers, 2, "no buffer is given for tensor uid 3");
    expect_refused(plan, NULL, NULL, 0, "no buffer is given for tensor uid 1");
    expect_refused(plan, NULL, NULL, 3, "3 buffers, but no array of them");
    buffers[1].pointer = NULL;
    expect_refused(plan, NULL, buffers, 3, "no buffer is given for tensor uid 2");
    buffers[1].pointer = (char *)b + 2;
    expect_refused(plan, NULL, buffers, 3, "the buffer of tensor uid 2 is not aligned to 4 bytes");
    buffers[1].pointer = b + 1; /* the element's alignment is enough for hip */
    execute(plan, NULL, buffers, 3);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan, workspace_is_aligned_by_the_plan)
{
    fake_pipeline.workspace_bytes = 1000;
    struct kiln_engine *engine = plan_fixture_engine();
    uint64_t bound = 0;
    cr_expect_eq(kiln_engine_workspace_bytes(engine, fixture.graph.data, fixture.graph.size, NULL,
                                             &bound, &fixture.error),
                 KILN_OK);
    cr_expect_eq(bound, 1280);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 0, "asking compiles nothing");
    struct kiln_plan *plan = plan_fixture_plan(engine);
    cr_expect_eq(kiln_plan_workspace_bytes(plan), 1280);
    float a[4], b[4], y[4];
    const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    expect_refused(plan, NULL, buffers, 3, "no workspace is given, but 1280 bytes are needed");
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

/* Sizes and strides, whatever the workspace's address; also as the cache has kept them. */
Test(plan, integers_are_passed_as_they_are)
{
    fake_pipeline.workspace_bytes = 1000;
    fake_pipeline.has_integer = true;
    float a[4], b[4], y[4];
    const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    _Alignas(256) char workspace[2048];
    for (int round = 0; round < 2; round++) {
        struct kiln_engine *engine = plan_fixture_engine();
        struct kiln_plan *plan = plan_fixture_plan(engine);
        uint64_t words[6];
        memcpy(words, execute(plan, workspace, buffers, 3)->kernarg, sizeof(words));
        cr_expect_eq(words[4], (uint64_t)(uintptr_t)workspace + 256);
        cr_expect_eq((int64_t)words[5], -7);
        kiln_plan_unref(plan);
        kiln_engine_unref(engine);
    }
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 1, "the second came from the cache");
}

Test(plan, host_scalars_are_read_when_executing)
{
    plan_fixture_rewrite(
        &(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F16, 8, 3, NULL, 9, true});
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
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
    expect_refused(plan, NULL, buffers, 2, "no buffer is given for tensor uid 3");
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
    plan_fixture_rewrite(&(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F64, 1, COUNT,
                                                uids, INT64_MIN, false});
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
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
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 20);
    cr_expect_eq(kiln_plan_kernel_count(plan), 20);
    float a[4], b[4], y[4];
    const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    cr_assert_eq(kiln_plan_execute(plan, NULL, NULL, buffers, 3, &fixture.error), KILN_OK);
    for (uint32_t i = 0; i < 20; i++) {
        char symbol[32];
        snprintf(symbol, sizeof(symbol), "kernel_%u", i + 1);
        cr_expect_str_eq(stand_in_find(&fixture.hip, "hipModuleLaunchKernel", i)->symbol, symbol);
    }
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
    cr_expect_eq(fixture.hip.live_modules(), 0);
}

Test(plan, events_are_recorded_around_each_kernel)
{
    fake_pipeline.kernel_count = 2;
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    struct kiln_device *device = NULL;
    cr_assert_eq(kiln_device_open("hip", &device, &fixture.error), KILN_OK);
    struct kiln_device_event *events[3];
    for (int i = 0; i < 3; i++)
        cr_assert_eq(device->ops->event_create(device, &events[i], &fixture.error), KILN_OK);
    float a[4], b[4], y[4];
    const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    size_t before = fixture.hip.call_count();
    cr_assert_eq(kiln_plan_execute_with_events(plan, NULL, buffers, 3, events, &fixture.error),
                 KILN_OK);
    char trace[1024];
    cr_expect_str_eq(stand_in_trace(&fixture.hip, before, trace, sizeof trace),
                     "hipGetDevice hipEventRecord hipGetDevice hipModuleLaunchKernel "
                     "hipGetDevice hipEventRecord hipGetDevice hipModuleLaunchKernel "
                     "hipGetDevice hipEventRecord ");
    for (int i = 0; i < 3; i++)
        device->ops->event_destroy(device, events[i]);
    cr_expect_str_eq(kiln_plan_kernel_symbol(plan, 1), "kernel_2");
    kiln_device_close(device);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan, failures_are_told_and_leave_nothing)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = NULL;
    fake_pipeline.kernel_count = 3;
    fake_pipeline.failing_kernel = 2;
    cr_expect_eq(plan_fixture_create(engine, &plan), KILN_COMPILE_FAILED);
    cr_expect_str_eq(fixture.error.text, "kernel 'kernel_2' does not compile\n"
                                         "hint: the source of 'kernel_2' is 'vectors'");
    cr_expect_eq(atomic_load(&fake_pipeline.dumped), 1);
    cr_expect_null(plan);
    fake_pipeline.failing_kernel = 0;
    fixture.hip.fail("hipModuleLoadData", KILN_STAND_IN_OUT_OF_MEMORY, 2);
    cr_expect_eq(plan_fixture_create(engine, &plan), KILN_NO_MEMORY);
    cr_expect_eq(fixture.hip.live_modules(), 0, "what was loaded of the program is unloaded");
    fixture.hip.fail("hipModuleLoadData", 0, 0);
    plan = plan_fixture_plan(engine);
    fixture.hip.fail("hipModuleLaunchKernel", KILN_STAND_IN_INVALID_VALUE, 1);
    float a[4], b[4], y[4];
    const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    cr_expect_eq(kiln_plan_execute(plan, NULL, NULL, buffers, 3, &fixture.error), KILN_DEVICE);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan, what_does_not_compile_is_compiled_in_its_last_form)
{
    struct kiln_engine *engine = plan_fixture_engine();
    fake_pipeline.vectors_fail = 1;
    fake_pipeline.form_count = 4;
    struct kiln_plan *plan = plan_fixture_plan(engine);
    cr_expect_eq(kiln_plan_kernel_form(plan, 0), 3);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 2, "and in none between");
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), 1, "the graph is not lowered again");
    cr_expect_eq(atomic_load(&fake_pipeline.dumped), 0, "no source of a program that is there");
    cr_expect_str_empty(fixture.error.text);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan, a_machine_without_device_or_compiler_is_remembered)
{
    fixture.hip.set_device_count(0);
    struct kiln_engine *engine = plan_fixture_engine();
    cr_expect_eq(check_graph(engine), KILN_UNSUPPORTED);
    size_t calls = fixture.hip.call_count();
    kiln_error_init(&fixture.error);
    cr_expect_eq(check_graph(engine), KILN_UNSUPPORTED);
    cr_expect_not_null(strstr(fixture.error.text, "no AMD GPU"));
    cr_expect_eq(fixture.hip.call_count(), calls);
    kiln_engine_unref(engine);

    fixture.hip.set_device_count(1);
    fake_pipeline.identity = NULL;
    engine = plan_fixture_engine();
    cr_expect_eq(check_graph(engine), KILN_UNSUPPORTED);
    cr_expect_not_null(strstr(fixture.error.text, "': nothing compiles for 'gfx90a'"), "%s",
                       fixture.error.text);
    struct kiln_plan *plan = NULL;
    cr_expect_eq(plan_fixture_create(engine, &plan), KILN_UNSUPPORTED);
    cr_expect_eq(atomic_load(&fake_pipeline.queries), 1);
    kiln_engine_unref(engine);
}

Test(plan, each_device_gets_its_own_modules)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plans[2];
    for (int i = 0; i < 2; i++) {
        fixture.hip.set_device(i);
        plans[i] = plan_fixture_plan(engine);
        cr_expect_eq(kiln_plan_device(plans[i])->ordinal, i);
    }
    cr_expect_eq(fixture.hip.live_modules(), 2);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 1, "one program for both");
    fixture.hip.set_device(0);
    float a[4], b[4], y[4];
    const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};
    cr_expect_eq(kiln_plan_execute(plans[1], NULL, NULL, buffers, 3, &fixture.error), KILN_OK, "%s",
                 fixture.error.text);
    cr_expect_eq(stand_in_find(&fixture.hip, "hipModuleLaunchKernel", 0)->device, 1);
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
        if (kiln_plan_create(engine, fixture.graph.data, fixture.graph.size, &plan,
                             &thread_error) ||
            kiln_plan_execute(plan, NULL, NULL, buffers, 3, &thread_error))
            return "failed";
        kiln_plan_unref(plan);
    }
    return NULL;
}

Test(plan, many_threads_compile_once)
{
    fake_pipeline.compile_microseconds = 20000;
    struct kiln_engine *engine = plan_fixture_engine();
    plan_fixture_run_threads(plan_and_execute, engine);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 1);
    cr_expect_eq(fixture.hip.live_modules(), 1);
    kiln_engine_unref(engine);
    cr_expect_eq(fixture.hip.live_modules(), 0);
}

enum { PROCESSES = 8, GRAPHS = 10 };

/* In a process of its own: the number of kernels that it has compiled. */
static unsigned plan_all_graphs(void)
{
    struct kiln_engine *engine = plan_fixture_engine();
    for (int i = 0; i < GRAPHS; i++) {
        plan_fixture_rewrite(&(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F32, 1000 + i,
                                                    2, NULL, 3, false});
        kiln_plan_unref(plan_fixture_plan(engine));
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
    snprintf(command, sizeof(command), "test -z \"$(find '%s' -name '.kiln-*')\"",
             fixture.directory);
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
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
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
