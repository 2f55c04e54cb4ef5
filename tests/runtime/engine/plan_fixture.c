#include "tests/runtime/engine/plan_fixture.h"

#include "compiler/graph/graph_reader.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct plan_fixture fixture;

void plan_fixture_init(void)
{
    fixture.hip = stand_in_open();
    snprintf(fixture.directory, sizeof(fixture.directory), "/tmp/kiln_plan_test_XXXXXX");
    cr_assert_not_null(mkdtemp(fixture.directory));
    kiln_buffer_init(&fixture.graph);
    kiln_error_init(&fixture.error);
    sample_graph_write_add(&fixture.graph);
}

void plan_fixture_fini(void)
{
    kiln_buffer_fini(&fixture.graph);
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", fixture.directory);
    cr_expect_eq(system(command), 0);
}

struct kiln_engine *plan_fixture_engine(void)
{
    const struct kiln_engine_options options = {.cache_directory = fixture.directory,
                                                .device = "hip"};
    struct kiln_engine *engine = NULL;
    cr_assert_eq(kiln_engine_create(&options, &engine, &fixture.error), KILN_OK, "%s",
                 fixture.error.text);
    return engine;
}

enum kiln_status plan_fixture_create(struct kiln_engine *engine, struct kiln_plan **ret_plan)
{
    return kiln_plan_create(engine, fixture.graph.data, fixture.graph.size, ret_plan,
                            &fixture.error);
}

struct kiln_plan *plan_fixture_plan(struct kiln_engine *engine)
{
    struct kiln_plan *plan = NULL;
    cr_assert_eq(plan_fixture_create(engine, &plan), KILN_OK, "%s", fixture.error.text);
    return plan;
}

enum kiln_program_origin plan_fixture_origin_in_new_engine(void)
{
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = plan_fixture_plan(engine);
    enum kiln_program_origin origin = kiln_plan_origin(plan);
    kiln_plan_unref(plan);
    kiln_engine_unref(engine);
    return origin;
}

void plan_fixture_run_threads(void *(*function)(void *engine), struct kiln_engine *engine)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, function, engine), 0);
    for (int i = 0; i < 8; i++) {
        void *failure = NULL;
        pthread_join(threads[i], &failure);
        cr_expect_null(failure);
    }
}

void plan_fixture_rewrite(const struct sample_graph *sample)
{
    kiln_buffer_clear(&fixture.graph);
    sample_graph_write(sample, &fixture.graph);
}

void plan_fixture_compile(const char *target_name)
{
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_target target;
    const struct kiln_compiled_program *program = NULL;
    enum kiln_program_origin origin;
    kiln_arena_init(&arena);
    struct kiln_engine *engine = plan_fixture_engine();
    cr_assert_eq(
        kiln_graph_read(fixture.graph.data, fixture.graph.size, &arena, &graph, &fixture.error),
        KILN_OK);
    cr_assert_eq(kiln_target_parse(target_name, &target, &fixture.error), KILN_OK);
    cr_assert_eq(kiln_engine_compile(engine, &graph, &target, &program, &origin, &fixture.error),
                 KILN_OK, "%s", fixture.error.text);
    kiln_compiled_program_unref(program);
    kiln_engine_unref(engine);
    kiln_arena_fini(&arena);
}
