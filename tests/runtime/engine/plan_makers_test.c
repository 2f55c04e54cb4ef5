/* Plans without a compiler, and of kernels that another compiler has made. */
#include "cache/cache_visit.h"
#include "cache/pack_file.h"
#include "compiler/graph/graph_reader.h"
#include "runtime/engine/engine_knobs.h"
#include "runtime/engine/engine_state.h"
#include "runtime/engine/plan.h"
#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/engine/plan_fixture.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char shipped[128]; /* a pack of what is in the cache's directory */

static void set_up(void)
{
    cr_assert_not_null(temporary_directory_make());
    (void)snprintf(shipped, sizeof shipped, "%s", temporary_path("shipped.pack"));
    plan_fixture_init();
    cr_assert_eq(rmdir(fixture.directory), 0);
    (void)snprintf(fixture.directory, sizeof fixture.directory, "%s", temporary_path("made"));
    fake_pipeline.kernel_count = 2;
}

static void tear_down(void)
{
    plan_fixture_fini();
    temporary_directory_remove();
}

TestSuite(plan_makers, .init = set_up, .fini = tear_down, .timeout = 60);

static void lose_compiler(void)
{
    fake_pipeline.identity = NULL;
}

static enum kiln_status check(void)
{
    struct kiln_engine *engine = plan_fixture_engine();
    kiln_error_init(&fixture.error);
    enum kiln_status status =
        kiln_engine_check(engine, fixture.graph.data, fixture.graph.size, &fixture.error);
    if (status == KILN_OK) {
        unsigned compiled = fake_pipeline.compiled;
        kiln_plan_unref(plan_fixture_plan(engine));
        cr_expect_eq(fake_pipeline.compiled, compiled, "a yes of the caches compiles nothing");
    }
    kiln_engine_unref(engine);
    return status;
}

struct packing {
    struct kiln_pack_writer *writer;
    bool leaves_out_recipes;
};

static enum kiln_status pack_entry(void *context, const struct kiln_cache_visited *entry,
                                   struct kiln_error *error)
{
    const struct packing *packing = context;
    bool added = false;
    /* A kernel's key says so in its first field. */
    bool is_recipe = memcmp((const char *)entry->view.key + 8, "kernel", 6) != 0;
    if (is_recipe && packing->leaves_out_recipes)
        return KILN_OK;
    return kiln_pack_writer_add(packing->writer, entry->entry, (size_t)entry->bytes, &added, error);
}

/* Packs the directory, and goes on with an empty one and the pack as a layer. */
static void ship(bool leaves_out_recipes)
{
    struct packing packing = {.leaves_out_recipes = leaves_out_recipes};
    struct kiln_cache_layer layer;
    struct kiln_error *error = &fixture.error;
    cr_assert_eq(kiln_cache_layer_open(fixture.directory, &layer, error), KILN_OK, "%s",
                 error->text);
    cr_assert_eq(kiln_pack_writer_create(shipped, &packing.writer, error), KILN_OK);
    cr_assert_eq(kiln_cache_layer_visit(&layer, pack_entry, &packing, error), KILN_OK);
    cr_assert_eq(kiln_pack_writer_finish(packing.writer, error), KILN_OK, "%s", error->text);
    kiln_pack_writer_destroy(packing.writer);
    kiln_cache_layer_close(&layer);
    (void)snprintf(fixture.directory, sizeof fixture.directory, "%s", temporary_path("new"));
    cr_assert_eq(setenv("KILN_CACHE_LAYERS", shipped, 1), 0);
}

Test(plan_makers, without_a_compiler_the_directory_is_enough)
{
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    lose_compiler();
    cr_expect_eq(check(), KILN_OK, "%s", fixture.error.text);
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_DISK);
    cr_expect_eq(fake_pipeline.queries, 0);
}

Test(plan_makers, without_a_compiler_a_pack_is_enough)
{
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    ship(false);
    lose_compiler();
    cr_expect_eq(check(), KILN_OK, "%s", fixture.error.text);
    cr_expect_eq(fake_pipeline.compiled, 2);
    cr_assert_eq(unsetenv("KILN_CACHE_LAYERS"), 0);
    cr_expect_eq(check(), KILN_UNSUPPORTED);
    cr_expect_not_null(strstr(fixture.error.text, "nothing compiles for"), "%s",
                       fixture.error.text);
}

Test(plan_makers, without_a_compiler_a_layer_is_enough)
{
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    cr_assert_eq(setenv("KILN_CACHE_LAYERS", fixture.directory, 1), 0);
    (void)snprintf(fixture.directory, sizeof fixture.directory, "%s", temporary_path("new"));
    lose_compiler();
    cr_expect_eq(check(), KILN_OK, "%s", fixture.error.text);
    cr_expect_eq(fake_pipeline.compiled, 2);
}

/* A graph that nobody precompiled, whose kernels are there from others. */
Test(plan_makers, without_a_compiler_and_a_recipe_the_kernels_are_enough)
{
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    ship(true);
    lose_compiler();
    cr_expect_eq(check(), KILN_OK, "%s", fixture.error.text);
    cr_expect_eq(fake_pipeline.compiled, 2);
}

/* It is there, and serves other targets, or cannot be started. */
Test(plan_makers, a_compiler_of_no_use_is_as_none)
{
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    fake_pipeline.identity = "another 1";
    fake_pipeline.query_status = KILN_UNSUPPORTED;
    cr_expect_eq(check(), KILN_OK, "%s", fixture.error.text);
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_DISK, "without a check before");
    cr_expect_eq(fake_pipeline.compiled, 2);
}

Test(plan_makers, an_upgraded_compiler_makes_anew_what_was_made_here)
{
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    const char *before = fake_pipeline.identity;
    fake_pipeline.identity = "another 1";
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_DISK);
    cr_expect_eq(fake_pipeline.compiled, 4);
    fake_pipeline.identity = before;
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_DISK, "and back again");
}

Test(plan_makers, an_upgraded_compiler_takes_what_was_shipped)
{
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    ship(false);
    fake_pipeline.identity = "another 1";
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_DISK);
    cr_assert_eq(setenv("KILN_CACHE_ACCEPT", "same-compiler", 1), 0);
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    cr_expect_eq(fake_pipeline.compiled, 4);
}

/* Made for a newer driver, say. */
Test(plan_makers, a_shipped_kernel_that_the_device_refuses_is_compiled_here)
{
    fake_pipeline.bad_kernel = 2;
    plan_fixture_compile("gfx90a");
    cr_expect_eq(fake_pipeline.compiled, 2);
    ship(false);
    fake_pipeline.bad_kernel = 0;
    fake_pipeline.identity = "another 1";
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    cr_expect_eq(fake_pipeline.compiled, 3, "the other is as shipped");
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_DISK, "from now on ours");
    cr_expect_eq(fake_pipeline.compiled, 3);
}

Test(plan_makers, a_shipped_kernel_that_the_device_refuses_is_declined_without_a_compiler)
{
    fake_pipeline.bad_kernel = 2;
    plan_fixture_compile("gfx90a");
    ship(false);
    lose_compiler();
    struct kiln_engine *engine = plan_fixture_engine();
    struct kiln_plan *plan = NULL;
    cr_expect_eq(plan_fixture_create(engine, &plan), KILN_REFUSED);
    cr_expect_not_null(strstr(fixture.error.text, "making another failed"), "%s",
                       fixture.error.text);
    cr_expect_eq(kiln_engine_check(engine, fixture.graph.data, fixture.graph.size, &fixture.error),
                 KILN_REFUSED);
    kiln_engine_unref(engine);
}

/* ---- KILN_ENFORCE_PRECOMPILED ---- */

Test(plan_makers, enforced_a_miss_is_declined_with_graph_and_target)
{
    cr_assert_eq(setenv("KILN_ENFORCE_PRECOMPILED", "1", 1), 0);
    struct kiln_engine *engine = plan_fixture_engine();
    for (int i = 0; i < 2; i++) {
        kiln_error_init(&fixture.error);
        cr_expect_eq(
            kiln_engine_check(engine, fixture.graph.data, fixture.graph.size, &fixture.error),
            KILN_UNSUPPORTED);
        const char *graph = strstr(fixture.error.text, "of graph '");
        cr_assert_not_null(graph, "%s", fixture.error.text);
        cr_expect_eq(strspn(graph + 10, "0123456789abcdef"), 32);
        cr_expect_not_null(strstr(fixture.error.text, "target 'gfx90a'"));
        cr_expect_not_null(strstr(fixture.error.text, "KILN_ENFORCE_PRECOMPILED"));
    }
    cr_expect_eq(fake_pipeline.lowered, 1, "it is looked for once");
    struct kiln_plan *plan = NULL;
    cr_expect_eq(plan_fixture_create(engine, &plan), KILN_UNSUPPORTED);
    cr_expect_not_null(strstr(fixture.error.text, "of graph '"), "%s", fixture.error.text);
    cr_expect_eq(fake_pipeline.compiled, 0);
    cr_expect_eq(fake_pipeline.queries, 0, "no worker is started");
    kiln_engine_unref(engine);
}

Test(plan_makers, enforced_what_is_there_is_used)
{
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    cr_assert_eq(setenv("KILN_ENFORCE_PRECOMPILED", "1", 1), 0);
    cr_expect_eq(check(), KILN_OK, "%s", fixture.error.text);
    fake_pipeline.identity = "another 1";
    cr_expect_eq(check(), KILN_OK, "nothing may be compiled, so anything is taken: %s",
                 fixture.error.text);
    cr_expect_eq(fake_pipeline.queries, 0);
}

Test(plan_makers, enforced_a_missing_kernel_is_a_miss)
{
    fake_pipeline.kernel_count = 1;
    cr_expect_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    ship(true);
    fake_pipeline.kernel_count = 2;
    cr_assert_eq(setenv("KILN_ENFORCE_PRECOMPILED", "1", 1), 0);
    cr_expect_eq(check(), KILN_UNSUPPORTED);
    cr_expect_eq(fake_pipeline.compiled, 1);
}

/* ---- threads that only look ---- */

static enum kiln_status find_plan(struct kiln_engine *engine, const struct kiln_graph *graph,
                                  const struct kiln_engine_device *device,
                                  const struct kiln_lower_options *lower, struct kiln_error *error)
{
    struct kiln_plan *plan = NULL;
    enum kiln_status status = kiln_plan_find(engine, graph, device, lower, &plan, error);
    kiln_plan_unref(plan);
    return status;
}

static enum kiln_status find_program(struct kiln_engine *engine, const struct kiln_graph *graph,
                                     const struct kiln_engine_device *device,
                                     const struct kiln_lower_options *lower,
                                     struct kiln_error *error)
{
    struct kiln_program_request request;
    enum kiln_status status = kiln_program_request_init(
        &engine->programs, graph, &device->device->target, lower, &request, error);
    if (status)
        return status;
    status = kiln_program_cache_find_kernels(&request, error);
    kiln_program_request_fini(&request);
    return status;
}

struct search {
    struct kiln_engine *engine;
    enum kiln_status (*find)(struct kiln_engine *, const struct kiln_graph *,
                             const struct kiln_engine_device *, const struct kiln_lower_options *,
                             struct kiln_error *);
    enum kiln_status status;
};

static void *run_search(void *context)
{
    struct search *search = context;
    const struct kiln_engine_device *device = NULL;
    struct kiln_lower_options lower;
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    search->status =
        kiln_graph_read(fixture.graph.data, fixture.graph.size, &arena, &graph, &error);
    if (search->status == KILN_OK)
        search->status = kiln_engine_devices_current(&search->engine->devices, &device, &error);
    if (search->status == KILN_OK)
        search->status =
            kiln_engine_lower_options(search->engine, &graph, device, NULL, &lower, &error);
    if (search->status == KILN_OK)
        search->status = search->find(search->engine, &graph, device, &lower, &error);
    kiln_arena_fini(&arena);
    return NULL;
}

/* It waits for the thread that looks, and compiles then. */
static void create_plan_during(struct search search)
{
    cr_assert_eq(setenv("KILN_SHAPES", "constant", 1), 0);
    struct kiln_plan *plan = NULL;
    pthread_t thread;
    search.engine = plan_fixture_engine();
    fake_pipeline.lower_microseconds = 300000;
    cr_assert_eq(pthread_create(&thread, NULL, run_search, &search), 0);
    while (atomic_load(&fake_pipeline.lowered) == 0)
        (void)usleep(1000);
    cr_expect_eq(plan_fixture_create(search.engine, &plan), KILN_OK, "%s", fixture.error.text);
    (void)pthread_join(thread, NULL);
    cr_expect_eq(search.status, KILN_UNSUPPORTED);
    cr_expect_eq(fake_pipeline.compiled, 2);
    kiln_plan_unref(plan);
    kiln_engine_unref(search.engine);
}

Test(plan_makers, a_plan_is_compiled_though_a_thread_looks_for_it)
{
    create_plan_during((struct search){.find = find_plan});
}

Test(plan_makers, a_program_is_compiled_though_a_thread_looks_for_it)
{
    create_plan_during((struct search){.find = find_program});
}

/* The device refuses what a cache has. One that only looks has no answer; one that may compile
 * makes another, as if nobody had looked. */
Test(plan_makers, a_search_declines_nothing)
{
    cr_assert_eq(setenv("KILN_SHAPES", "constant", 1), 0);
    fake_pipeline.objects_are_bad = true;
    plan_fixture_compile("gfx90a");
    fake_pipeline.objects_are_bad = false;
    struct search search = {.engine = plan_fixture_engine(), .find = find_plan};
    (void)run_search(&search);
    cr_expect_eq(search.status, KILN_UNSUPPORTED);
    cr_expect_eq(fake_pipeline.compiled, 2, "a search compiles nothing");
    struct kiln_plan *plan = plan_fixture_plan(search.engine);
    cr_expect_eq(kiln_plan_origin(plan), KILN_ORIGIN_COMPILED);
    cr_expect_eq(fake_pipeline.compiled, 4);
    kiln_plan_unref(plan);
    kiln_engine_unref(search.engine);
}
