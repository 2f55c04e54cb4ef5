/*
 * What is lowered for the question how much workspace a graph takes waits for its plan.
 */
#include "runtime/engine/lowered_programs.h"

#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/engine/plan_fixture.h"

#include <criterion/criterion.h>
#include <pthread.h>

TestSuite(lowered_programs, .init = plan_fixture_init, .fini = plan_fixture_fini);

static uint64_t workspace_bytes(struct kiln_engine *engine)
{
    uint64_t bytes = 0;
    cr_expect_eq(kiln_engine_workspace_bytes(engine, fixture.graph.data, fixture.graph.size, NULL,
                                             &bytes, &fixture.error),
                 KILN_OK);
    return bytes;
}

Test(lowered_programs, compiles_what_was_lowered_for_the_workspace)
{
    struct kiln_engine *engine = plan_fixture_engine();
    fake_pipeline.workspace_bytes = 1000;
    uint64_t bytes = workspace_bytes(engine);
    cr_expect_eq(workspace_bytes(engine), bytes);
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), 1, "asking again lowers nothing");
    struct kiln_plan *plan = plan_fixture_plan(engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_COMPILED);
    cr_expect_eq(kiln_plan_workspace_bytes(plan), bytes);
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), 1, "the plan lowers nothing");
    cr_expect_eq(workspace_bytes(engine), bytes);
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), 1, "what is compiled is not lowered again");
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
}

/* The graph with one axis of this length. */
static void use_length(int64_t length)
{
    plan_fixture_rewrite(
        &(struct sample_graph){KILN_WIRE_ERA_CURRENT, KILN_DTYPE_F32, length, 2, NULL, 3, false});
}

Test(lowered_programs, few_programs_wait_between_workspace_and_plan)
{
    enum { ASKED = 3 * KILN_LOWERED_SLOTS };
    struct kiln_engine *engine = plan_fixture_engine();
    for (int64_t i = 0; i < ASKED; i++) {
        use_length(100 + i);
        (void)workspace_bytes(engine);
    }
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), ASKED);
    (void)workspace_bytes(engine);
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), ASKED, "the last one waits");
    use_length(100);
    (void)workspace_bytes(engine);
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), ASKED + 1, "the first one does not");
    kiln_engine_unref(engine);
}

/* What counts is the memory, of which the kernels' texts are a small part: the graphs of a fan-out
 * take 42 MB with less than 4 MB of texts. */
Test(lowered_programs, one_large_program_waits)
{
    fake_pipeline.lowered_bytes = KILN_LOWERED_LARGE_BYTES + 1;
    struct kiln_engine *engine = plan_fixture_engine();
    use_length(100);
    (void)workspace_bytes(engine);
    (void)workspace_bytes(engine);
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), 1, "it waits");
    use_length(101);
    (void)workspace_bytes(engine);
    use_length(100);
    (void)workspace_bytes(engine);
    cr_expect_eq(atomic_load(&fake_pipeline.lowered), 3, "until another large one comes");
    kiln_engine_unref(engine);
}

static void *ask_and_plan(void *engine)
{
    for (int i = 0; i < 50; i++) {
        struct kiln_error error;
        uint64_t bytes = 0;
        struct kiln_plan *plan = NULL;
        kiln_error_init(&error);
        cr_assert_eq(kiln_engine_workspace_bytes(engine, fixture.graph.data, fixture.graph.size,
                                                 NULL, &bytes, &error),
                     KILN_OK);
        cr_assert_eq(
            kiln_plan_create(engine, fixture.graph.data, fixture.graph.size, &plan, &error),
            KILN_OK);
        cr_assert_eq(kiln_plan_workspace_bytes(plan), bytes);
        kiln_plan_unref(plan);
    }
    return NULL;
}

Test(lowered_programs, threads_ask_for_the_workspace_and_make_plans)
{
    enum { THREADS = 8 };
    struct kiln_engine *engine = plan_fixture_engine();
    pthread_t threads[THREADS];
    fake_pipeline.workspace_bytes = 1000;
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, ask_and_plan, engine), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cr_expect_leq(atomic_load(&fake_pipeline.lowered), THREADS + 1);
    kiln_engine_unref(engine);
}
