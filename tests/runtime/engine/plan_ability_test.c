/* A graph is taken only when a plan can be made of it: hosts never come back for another engine. */
#include "compiler/graph/graph_reader.h"
#include "runtime/engine/engine_state.h"
#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/engine/plan_fixture.h"
#include "tests/runtime/support/captured_log.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(plan_ability, .init = plan_fixture_init, .fini = plan_fixture_fini);

static enum kiln_status check(struct kiln_engine *engine)
{
    kiln_error_init(&fixture.error);
    return kiln_engine_check(engine, fixture.graph.data, fixture.graph.size, &fixture.error);
}

Test(plan_ability, nothing_that_compiles_means_no)
{
    fake_pipeline.query_status = KILN_UNSUPPORTED;
    struct kiln_engine *engine = plan_fixture_engine();
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(check(engine), KILN_UNSUPPORTED);
        cr_expect_not_null(strstr(fixture.error.text, "nothing serves"), "%s", fixture.error.text);
    }
    cr_expect_eq(fake_pipeline.queries, 1, "it is asked once");
    kiln_engine_unref(engine);
}

Test(plan_ability, a_compiler_is_asked_once)
{
    struct kiln_engine *engine = plan_fixture_engine();
    for (int i = 0; i < 3; i++)
        cr_expect_eq(check(engine), KILN_OK);
    cr_expect_eq(fake_pipeline.queries, 1);
    kiln_engine_unref(engine);
}

Test(plan_ability, what_a_cache_holds_needs_no_compiler)
{
    cr_assert_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    fake_pipeline.query_status = KILN_UNSUPPORTED;
    struct kiln_engine *engine = plan_fixture_engine();
    cr_expect_eq(check(engine), KILN_OK, "%s", fixture.error.text);
    cr_expect_eq(check(engine), KILN_OK, "%s", fixture.error.text);
    kiln_plan_unref(plan_fixture_plan(engine));
    cr_expect_eq(fake_pipeline.queries, 0);
    kiln_engine_unref(engine);
}

Test(plan_ability, a_shortage_while_asking_is_not_remembered)
{
    fake_pipeline.query_status = KILN_SHORTAGE;
    struct kiln_engine *engine = plan_fixture_engine();
    cr_expect_eq(check(engine), KILN_SHORTAGE);
    fake_pipeline.query_status = KILN_OK;
    cr_expect_eq(check(engine), KILN_OK, "%s", fixture.error.text);
    kiln_engine_unref(engine);
}

/* The first answer comes from examining the graph, the second one from what is remembered. */
Test(plan_ability, a_declined_graph_keeps_its_sentence)
{
    struct kiln_engine *engine = plan_fixture_engine();
    cr_expect_eq(check(engine), KILN_OK);
    static const char bytes[] = "no graph, but long enough to be one";
    char first[KILN_ERROR_TEXT_BYTES];
    for (int i = 0; i < 3; i++) {
        kiln_error_init(&fixture.error);
        cr_expect_eq(kiln_engine_check(engine, bytes, sizeof bytes, &fixture.error), KILN_REJECTED);
        cr_expect_eq(fixture.error.status, KILN_REJECTED);
        cr_expect_neq(fixture.error.reject_reason, 0);
        if (i == 0)
            (void)snprintf(first, sizeof first, "%s", fixture.error.text);
        cr_expect_str_eq(fixture.error.text, first);
    }
    kiln_engine_unref(engine);
}

static void empty_cache(void)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'/*", fixture.directory);
    cr_assert_eq(system(command), 0);
}

/* Takes the graph's program out of the engine's memory. */
static void lose_program(struct kiln_engine *engine)
{
    const struct kiln_engine_device *device = NULL;
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_program_request request;
    kiln_arena_init(&arena);
    cr_assert_eq(kiln_engine_devices_current(&engine->devices, &device, &fixture.error), KILN_OK);
    cr_assert_eq(
        kiln_graph_read(fixture.graph.data, fixture.graph.size, &arena, &graph, &fixture.error),
        KILN_OK);
    cr_assert_eq(kiln_program_request_peek(&engine->programs, &graph, &device->device->target, NULL,
                                           &request, &fixture.error),
                 KILN_OK);
    struct kiln_shared_program *program =
        kiln_object_table_find(engine->programs.programs, &request.key);
    cr_assert_not_null(program);
    kiln_object_table_drop(engine->programs.programs, &request.key, program);
    kiln_shared_program_unref(program);
    kiln_program_request_fini(&request);
    kiln_arena_fini(&arena);
}

/* Questions about a graph in memory are answered without the cache, also if nothing compiles. */
Test(plan_ability, a_program_that_was_lost_is_not_remembered)
{
    cr_assert_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    fake_pipeline.query_status = KILN_UNSUPPORTED;
    struct kiln_engine *engine = plan_fixture_engine();
    for (int i = 0; i < 2; i++)
        cr_expect_eq(check(engine), KILN_OK, "%s", fixture.error.text);
    empty_cache();
    cr_expect_eq(check(engine), KILN_OK, "the program is in memory");
    fake_pipeline.lower_status = KILN_INTERNAL;
    cr_expect_eq(check(engine), KILN_OK, "nothing is lowered");
    lose_program(engine);
    cr_expect_neq(check(engine), KILN_OK, "its kernels are in memory, but nothing says which");
    kiln_engine_unref(engine);
}

Test(plan_ability, a_graph_whose_plan_failed_is_declined)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = NULL;
    cr_expect_eq(check(engine), KILN_OK);
    fake_pipeline.failing_kernel = 1;
    captured_log_start(KILN_LOG_WARN);
    cr_expect_eq(plan_fixture_create(engine, &plan), KILN_COMPILE_FAILED);
    cr_expect_not_null(strstr(captured_log_last(), " is declined for 60 s: "), "%s",
                       captured_log_last());
    cr_expect_eq(check(engine), KILN_COMPILE_FAILED);
    cr_expect_not_null(strstr(fixture.error.text, "does not compile"), "%s", fixture.error.text);

    const struct sample_graph other = {.era = KILN_WIRE_ERA_CURRENT,
                                       .dtype = KILN_DTYPE_F32,
                                       .elements = 77,
                                       .input_count = 2,
                                       .output_uid = 9};
    struct kiln_buffer first = fixture.graph;
    kiln_buffer_init(&fixture.graph);
    plan_fixture_rewrite(&other);
    cr_expect_eq(check(engine), KILN_OK, "%s", fixture.error.text);
    kiln_buffer_fini(&fixture.graph);
    fixture.graph = first;

    fake_pipeline.failing_kernel = 0;
    kiln_plan_unref(plan_fixture_plan(engine));
    cr_expect_eq(check(engine), KILN_OK, "a plan that could be made after all");
    kiln_engine_unref(engine);
}

/* A worker that was there at first is gone, say: no other graph is taken then. */
Test(plan_ability, compilers_are_asked_again_after_a_plan_that_failed)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = NULL;
    cr_expect_eq(check(engine), KILN_OK);
    fake_pipeline.failing_kernel = 1;
    cr_expect_eq(plan_fixture_create(engine, &plan), KILN_COMPILE_FAILED);
    fake_pipeline.query_status = KILN_UNSUPPORTED;
    plan_fixture_rewrite(
        &(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F32, 77, 2, NULL, 9, false});
    cr_expect_eq(check(engine), KILN_UNSUPPORTED);
    cr_expect_eq(fake_pipeline.queries, 2);
    kiln_engine_unref(engine);
}

Test(plan_ability, a_graph_that_the_device_refused_is_declined)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = NULL;
    fake_pipeline.objects_are_bad = true;
    cr_expect_eq(check(engine), KILN_OK);
    captured_log_start(KILN_LOG_WARN);
    cr_expect_eq(plan_fixture_create(engine, &plan), KILN_REFUSED);
    cr_expect_not_null(strstr(captured_log_last(), " is declined until the process ends: "), "%s",
                       captured_log_last());
    cr_expect_eq(check(engine), KILN_REFUSED);
    kiln_engine_unref(engine);
}

/* Hosts that ask for the workspace never get as far as a plan. */
Test(plan_ability, a_graph_that_does_not_lower_is_declined)
{
    struct kiln_engine *engine = plan_fixture_engine();
    uint64_t bytes = 0;
    cr_expect_eq(check(engine), KILN_OK);
    fake_pipeline.lower_status = KILN_INTERNAL;
    cr_expect_eq(kiln_engine_workspace_bytes(engine, fixture.graph.data, fixture.graph.size, NULL,
                                             &bytes, &fixture.error),
                 KILN_INTERNAL);
    cr_expect_eq(check(engine), KILN_INTERNAL);
    cr_expect_not_null(strstr(fixture.error.text, "does not lower"), "%s", fixture.error.text);
    kiln_engine_unref(engine);
}

Test(plan_ability, memory_that_lowering_lacked_is_not_remembered)
{
    struct kiln_engine *engine = plan_fixture_engine();
    uint64_t bytes = 0;
    fake_pipeline.lower_status = KILN_NO_MEMORY;
    cr_expect_eq(kiln_engine_workspace_bytes(engine, fixture.graph.data, fixture.graph.size, NULL,
                                             &bytes, &fixture.error),
                 KILN_NO_MEMORY);
    cr_expect_eq(check(engine), KILN_OK, "%s", fixture.error.text);
    kiln_engine_unref(engine);
}

/* Graphs of 4096 nodes lower to more than 6000: some nodes need several. */
Test(plan_ability, a_graph_of_many_kernels_has_a_plan)
{
    static const struct kiln_engine_options in_memory = {.device = "hip"};
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
    fake_pipeline.kernel_count = 6020;
    for (int is_on_disk = 0; is_on_disk < 2; is_on_disk++) {
        /* As many kernels in memory; on disk a recipe as long, and not as many files. */
        fake_pipeline.repeats_kernels = is_on_disk;
        struct kiln_engine *engine = NULL;
        if (is_on_disk)
            engine = plan_fixture_engine();
        else
            cr_assert_eq(kiln_engine_create(&in_memory, &engine, &fixture.error), KILN_OK);
        cr_expect_eq(check(engine), KILN_OK, "%s", fixture.error.text);
        struct kiln_plan *plan = plan_fixture_plan(engine);
        cr_expect_eq(kiln_plan_kernel_count(plan), 6020);
        kiln_plan_unref(plan);
        kiln_engine_unref(engine);
    }
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_DISK);
}
