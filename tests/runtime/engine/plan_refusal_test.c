/*
 * Programs that the device refuses: those from the cache are compiled again, once, and what is
 * refused then is declined.
 */
#include "compiler/graph/graph_reader.h"
#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/engine/plan_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(plan_refusal, .init = plan_fixture_init, .fini = plan_fixture_fini);

/* Puts the graph's program into the cache directory without loading it. */
Test(plan_refusal, cached_program_that_the_device_refuses_is_compiled_again)
{
    fake_pipeline.objects_are_bad = true;
    plan_fixture_compile("gfx90a");
    fake_pipeline.objects_are_bad = false;
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_COMPILED);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 2);
    cr_expect_eq(fixture.hip.live_modules(), 1);
    cr_expect_str_empty(fixture.error.text);
    kiln_plan_unref(plan);
    fixture.hip.set_device_count(2);
    fixture.hip.set_device(1); /* the program in memory is the good one too */
    plan = plan_fixture_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_MEMORY);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_DISK,
                 "the good one is in the cache");
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 2);
}

/* The same sentence, without a compiler or a driver, as often as it is asked for. */
static void expect_declined(struct kiln_engine *engine, unsigned compiled)
{
    static const char sentence[] = "loading the code object of kernel 'kernel_1' failed: ";
    static const char hint[] = "\nhint: plans of this graph are declined until the process ends";
    struct kiln_plan *plan = NULL;
    char first[KILN_ERROR_TEXT_BYTES];
    cr_expect_eq(plan_fixture_create(engine, &plan), KILN_REFUSED);
    cr_expect_eq(strncmp(fixture.error.text, sentence, sizeof(sentence) - 1), 0, "%s",
                 fixture.error.text);
    cr_expect_not_null(strstr(fixture.error.text, hint), "%s", fixture.error.text);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), compiled);
    memcpy(first, fixture.error.text, sizeof(first));
    fixture.hip.fail("hipModuleLoadData", 0, 0);
    for (int i = 0; i < 3; i++) {
        kiln_error_init(&fixture.error);
        cr_expect_eq(plan_fixture_create(engine, &plan), KILN_REFUSED);
        cr_expect_str_eq(fixture.error.text, first);
    }
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), compiled);
    cr_expect_eq(fixture.hip.live_modules(), 0);
    cr_expect_null(plan);
}

Test(plan_refusal, program_that_is_refused_twice_is_declined)
{
    plan_fixture_compile("gfx90a");
    struct kiln_engine *engine = plan_fixture_engine();
    fixture.hip.fail("hipModuleLoadData", KILN_STAND_IN_INVALID_IMAGE, 0);
    expect_declined(engine, 2);
    /* That is this program's trouble alone. */
    plan_fixture_rewrite(
        &(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F32, 1001, 2, NULL, 3, false});
    kiln_plan_unref(plan_fixture_plan(engine));
    kiln_engine_unref(engine);
}

Test(plan_refusal, program_from_the_compiler_that_is_refused_is_declined)
{
    struct kiln_engine *engine = plan_fixture_engine();
    fixture.hip.fail("hipModuleLoadData", KILN_STAND_IN_INVALID_IMAGE, 0);
    expect_declined(engine, 1);
    kiln_engine_unref(engine);
}

Test(plan_refusal, refused_program_that_cannot_be_compiled_again_is_declined)
{
    fake_pipeline.objects_are_bad = true;
    plan_fixture_compile("gfx90a");
    fake_pipeline.failing_kernel = 1;
    struct kiln_engine *engine = plan_fixture_engine();
    expect_declined(engine, 3); /* once more in the last form */
    cr_expect_not_null(strstr(fixture.error.text, "kernel 'kernel_1' does not compile"), "%s",
                       fixture.error.text);
    kiln_engine_unref(engine);
}

Test(plan_refusal, refused_program_that_may_not_be_compiled_again_is_declined)
{
    fake_pipeline.objects_are_bad = true;
    plan_fixture_compile("gfx90a");
    cr_assert_eq(setenv("KILN_ENFORCE_PRECOMPILED", "1", 1), 0);
    struct kiln_engine *engine = plan_fixture_engine();
    expect_declined(engine, 1);
    cr_expect_not_null(strstr(fixture.error.text, "nothing may compile kernel 'kernel_1'"), "%s",
                       fixture.error.text);
    cr_expect_eq(fake_pipeline.queries, 0);
    kiln_engine_unref(engine);
}

/* What the device is in says nothing of the program: it is kept, and taken when that has passed. */
Test(plan_refusal, device_in_trouble_costs_no_program)
{
    static const int codes[] = {KILN_STAND_IN_LAUNCH_FAILURE, KILN_STAND_IN_STREAM_IS_CAPTURED,
                                303 /* the loader failed, for whatever reason */, 999};
    plan_fixture_compile("gfx90a");
    struct kiln_engine *engine = plan_fixture_engine();
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        struct kiln_plan *plan = NULL;
        fixture.hip.fail("hipModuleLoadData", codes[i], 0);
        kiln_error_init(&fixture.error);
        cr_expect_eq(plan_fixture_create(engine, &plan), KILN_DEVICE);
        cr_expect_null(strstr(fixture.error.text, "declined"), "%s", fixture.error.text);
    }
    fixture.hip.fail("hipModuleLoadData", 0, 0);
    kiln_plan_unref(plan_fixture_plan(engine));
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 1);
    kiln_engine_unref(engine);
}

static void *create_once(void *engine)
{
    struct kiln_error thread_error;
    kiln_error_init(&thread_error);
    struct kiln_plan *plan = NULL;
    if (kiln_plan_create(engine, fixture.graph.data, fixture.graph.size, &plan, &thread_error))
        return "failed";
    kiln_plan_unref(plan);
    return NULL;
}

Test(plan_refusal, threads_share_one_second_compilation)
{
    fake_pipeline.objects_are_bad = true;
    plan_fixture_compile("gfx90a");
    fake_pipeline.objects_are_bad = false;
    fake_pipeline.compile_microseconds = 20000;
    struct kiln_engine *engine = plan_fixture_engine();
    plan_fixture_run_threads(create_once, engine);
    cr_expect_eq(atomic_load(&fake_pipeline.compiled), 2);
    kiln_engine_unref(engine);
}
