/*
 * What execute does besides launching: host pointers are named, and profilers get ranges.
 */
#include "compiler/graph/graph_reader.h"
#include "compiler/graph/override_shapes.h"
#include "compiler/graph/wire_messages.h"
#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/engine/plan_fixture.h"
#include "tests/runtime/support/captured_log.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

TestSuite(plan_execute, .init = plan_fixture_init, .fini = plan_fixture_fini);

static float a[4], b[4], y[4];
static char workspace[4096];
static const struct kiln_buffer_binding buffers[] = {{1, a}, {2, b}, {3, y}};

static enum kiln_status execute(const struct kiln_plan *plan)
{
    kiln_error_init(&fixture.error);
    return kiln_plan_execute(plan, NULL, workspace, buffers, 3, &fixture.error);
}

/* Executes a new plan while HIP does not know the pointer; "": nothing is wrong. */
static void expect_error(struct kiln_engine *engine, const void *unknown, const char *sentence)
{
    struct kiln_plan *plan = plan_fixture_plan(engine);
    fixture.hip.set_unknown_pointer(unknown);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(execute(plan), *sentence ? KILN_BAD_ARGUMENT : KILN_OK);
        cr_expect_str_eq(fixture.error.text, sentence);
    }
    kiln_plan_unref(plan);
}

Test(plan_execute, host_memory_is_named)
{
    fake_pipeline.workspace_bytes = 1000;
    struct kiln_engine *engine = plan_fixture_engine();
    uintptr_t start = ((uintptr_t)workspace + 255) & ~(uintptr_t)255;
    expect_error(engine, b,
                 "the buffer of tensor uid 2 is host memory, which device 'hip' cannot reach\n"
                 "hint: allocate it with hipMalloc");
    expect_error(engine, (const void *)start,
                 "the workspace is host memory, which device 'hip' cannot reach\n"
                 "hint: allocate it with hipMalloc");
    cr_expect_null(stand_in_find(&fixture.hip, "hipModuleLaunchKernel", 0));
    kiln_engine_unref(engine);
}

Test(plan_execute, memory_that_the_gpu_reaches_is_taken)
{
    fake_pipeline.workspace_bytes = 1000;
    struct kiln_engine *engine = plan_fixture_engine();
    expect_error(engine, &engine, ""); /* all pointers are known */
    fixture.hip.set_pageable(1);
    expect_error(engine, b, "");
    fixture.hip.set_pageable(0);
    fixture.hip.reset(); /* a HIP that cannot tell */
    expect_error(engine, NULL, "");
    kiln_engine_unref(engine);
}

/* HIP does not know all memory of a GPU: what the kernel does not call ordinary is let through. */
Test(plan_execute, an_address_that_only_hip_does_not_know_is_taken)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    void *elsewhere = (void *)(uintptr_t)0x10000;
    const struct kiln_buffer_binding others[] = {{1, a}, {2, elsewhere}, {3, y}};
    fixture.hip.set_unknown_pointer(elsewhere);
    cr_expect_eq(kiln_plan_execute(plan, NULL, NULL, others, 3, &fixture.error), KILN_OK, "%s",
                 fixture.error.text);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan_execute, later_executions_ask_only_after_a_launch_that_failed)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    fixture.hip.set_unknown_pointer(&engine);
    cr_expect_eq(execute(plan), KILN_OK);
    fixture.hip.set_unknown_pointer(a);
    cr_expect_eq(execute(plan), KILN_OK);
    fixture.hip.fail("hipModuleLaunchKernel", 700, 0);
    cr_expect_eq(execute(plan), KILN_BAD_ARGUMENT);
    cr_expect_not_null(strstr(fixture.error.text, "tensor uid 1 is host memory"), "%s",
                       fixture.error.text);
    fixture.hip.set_unknown_pointer(&engine);
    fixture.hip.fail("hipModuleLaunchKernel", 700, 0);
    cr_expect_eq(execute(plan), KILN_DEVICE);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

/* Makes the fixture's graph one that takes override shapes. */
static void take_overrides(void)
{
    struct kiln_arena arena;
    struct kiln_graph graph;
    kiln_arena_init(&arena);
    cr_assert_eq(
        kiln_graph_read(fixture.graph.data, fixture.graph.size, &arena, &graph, &fixture.error),
        KILN_OK);
    graph.takes_overrides = true;
    kiln_buffer_clear(&fixture.graph);
    cr_assert_eq(kiln_graph_write(&graph, KILN_WIRE_ERA_CURRENT, &fixture.graph, &fixture.error),
                 KILN_OK);
    kiln_arena_fini(&arena);
}

/* Executes with so many elements while a stream is captured, and expects these calls of HIP. */
static void capture(const struct kiln_plan *plan, int64_t elements, const char *trace)
{
    static const int64_t uids[] = {1, 2, 3};
    static const uint32_t ranks[] = {1, 1, 1};
    static const int64_t one = 1;
    const int64_t *dims[] = {&elements, &elements, &elements};
    const int64_t *strides[] = {&one, &one, &one};
    const struct kiln_shape_overrides overrides = {3, uids, ranks, dims, strides};
    char text[1024];
    size_t first = fixture.hip.call_count();
    fixture.hip.begin_capture();
    enum kiln_status status = kiln_plan_execute_with_overrides(plan, NULL, workspace, buffers, 3,
                                                               &overrides, &fixture.error);
    bool is_captured = fixture.hip.end_capture() != 0;
    cr_expect_eq(status, KILN_OK, "%s", fixture.error.text);
    cr_expect(is_captured, "%lld elements: the capture was invalidated", (long long)elements);
    cr_expect_str_eq(stand_in_trace(&fixture.hip, first, text, sizeof text), trace);
}

#define LAUNCH "hipGetDevice hipModuleLaunchKernel "

/* Nothing is allocated or loaded: neither for a shape that is known nor, if its kernels are there,
 * for a new one. */
Test(plan_execute, override_shapes_are_captured)
{
    take_overrides();
    fake_pipeline.shares_kernels = true;
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    capture(plan, 500, LAUNCH);
    capture(plan, 500, LAUNCH);
    capture(plan, 7, LAUNCH);
    capture(plan, 7, LAUNCH);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

static char *open_roctx(void)
{
    void *library = dlopen(KILN_ROCTX_STAND_IN, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(library, "%s", dlerror());
    char *text = dlsym(library, "roctx_stand_in_text");
    cr_assert_not_null(text);
    return text;
}

Test(plan_execute, profilers_get_a_range_for_the_plan_and_each_kernel)
{
    const char *ranges = open_roctx();
    fake_pipeline.kernel_count = 2;
    setenv("KILN_ROCTX", "1", 1);
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    for (int i = 0; i < 2; i++)
        cr_expect_eq(execute(plan), KILN_OK, "%s", fixture.error.text);
    cr_expect_str_eq(ranges, "sample(kernel_1()kernel_2())sample(kernel_1()kernel_2())");
    fixture.hip.fail("hipModuleLaunchKernel", 700, 0);
    cr_expect_eq(execute(plan), KILN_DEVICE);
    cr_expect_not_null(strstr(ranges, ")sample(kernel_1())"), "%s", ranges);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan_execute, without_the_variable_there_are_no_ranges)
{
    const char *ranges = open_roctx();
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    cr_expect_eq(execute(plan), KILN_OK, "%s", fixture.error.text);
    cr_expect_str_eq(ranges, "");
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

Test(plan_execute, a_missing_roctx_is_told_of)
{
    setenv("KILN_ROCTX", "1", 1);
    captured_log_start(KILN_LOG_WARN);
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    cr_expect_eq(execute(plan), KILN_OK, "%s", fixture.error.text);
    if (captured_log_count(KILN_LOG_WARN) != 0) /* a machine may have one */
        cr_expect_not_null(strstr(captured_log_last(), "no roctx library"));
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}
