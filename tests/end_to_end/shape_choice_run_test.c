/*
 * An engine that chooses the form of kernels itself, on the host device: how many kernels the
 * shapes of one computation take, in a process and in the next one that has its cache.
 */
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/end_to_end/checked_sketch.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SKETCH = 256, SHAPES = 5, THREADS = 4 };

/* All in one class of the argument form. */
static const int rows[SHAPES] = {64, 32, 48, 60, 16};

static void set_up(void)
{
    cr_assert_not_null(temporary_directory_make());
}

TestSuite(shape_choice_run, .init = set_up, .fini = temporary_directory_remove, .timeout = 300);

static const char *sketch_of(int count, char sketch[MAX_SKETCH])
{
    (void)snprintf(sketch, MAX_SKETCH,
                   "Layernorm x=%d,256 scale=256 bias=256 epsilon=k y=%d,256 "
                   "!normalized_dim_count=1",
                   count, count);
    return sketch;
}

/* With the test's cache. */
static struct kiln_engine *create(enum kiln_shapes shapes)
{
    const struct kiln_engine_options options = {.device = "host",
                                                .cache_directory = temporary_path("cache"),
                                                .is_cache_isolated = true,
                                                .codegen = {.max_workers = 1},
                                                .lower.shapes = shapes};
    struct kiln_engine *engine = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_engine_create(&options, &engine, &error), KILN_OK, "%s", error.text);
    return engine;
}

static void run(struct kiln_engine *engine, int count)
{
    char sketch[MAX_SKETCH];
    run_sketch_on(engine, sketch_of(count, sketch), NULL, NULL);
}

static unsigned compiled(struct kiln_engine *engine)
{
    struct kiln_codegen_counters counters;
    kiln_engine_codegen_counters(engine, &counters);
    return (unsigned)counters.kernels_compiled;
}

/* The form of a shape and the name of its program. */
static enum kiln_shapes form_of(struct kiln_engine *engine, int count,
                                char name[KILN_CACHE_HASH_HEX + 1], const char **ret_reason)
{
    char sketch[MAX_SKETCH];
    enum kiln_shapes shapes = KILN_SHAPES_AUTO;
    struct kiln_target target;
    struct json_graph read;
    graph_sketch_accept(&read, sketch_of(count, sketch), NULL);
    cr_assert_eq(kiln_target_parse("host", &target, &read.error), KILN_OK);
    cr_assert_eq(kiln_engine_shapes(engine, &read.graph, &target, &shapes, ret_reason, &read.error),
                 KILN_OK, "%s", read.error.text);
    cr_assert_eq(kiln_engine_program_key(engine, &read.graph, &target, name, &read.error), KILN_OK);
    json_graph_fini(&read);
    return shapes;
}

Test(shape_choice_run, five_shapes_take_three_kernels)
{
    static const unsigned expected[SHAPES] = {1, 2, 3, 3, 3};
    struct kiln_engine *engine = create(KILN_SHAPES_AUTO);
    for (int i = 0; i < SHAPES; i++) {
        run(engine, rows[i]);
        cr_expect_eq(compiled(engine), expected[i], "shape %d: %u kernels", i, compiled(engine));
    }
    for (int i = 0; i < SHAPES; i++)
        run(engine, rows[i]);
    cr_expect_eq(compiled(engine), expected[SHAPES - 1], "shapes keep their forms");
    kiln_engine_unref(engine);
}

Test(shape_choice_run, next_process_compiles_nothing)
{
    char name[KILN_CACHE_HASH_HEX + 1];
    const char *reason = NULL;
    struct kiln_engine *engine = create(KILN_SHAPES_AUTO);
    for (int i = 0; i < 3; i++)
        run(engine, rows[i]);
    kiln_engine_unref(engine);
    engine = create(KILN_SHAPES_AUTO);
    for (int i = 0; i < SHAPES; i++)
        run(engine, rows[SHAPES - 1 - i]);
    cr_expect_eq(compiled(engine), 0);
    cr_expect_eq(form_of(engine, rows[0], name, &reason), KILN_SHAPES_CONSTANT);
    cr_expect_str_eq(reason, "the cache has this program");
    cr_expect_eq(form_of(engine, rows[2], name, &reason), KILN_SHAPES_ARGUMENT);
    cr_expect_str_eq(reason, "the cache has this program");
    /* The first shape of this process, which no cache had. */
    cr_expect_eq(form_of(engine, rows[4], name, &reason), KILN_SHAPES_ARGUMENT);
    cr_expect_str_eq(reason, "the cache has kernels that take sizes as arguments");
    kiln_engine_unref(engine);
}

Test(shape_choice_run, a_late_shape_that_a_cache_has_stays_constant)
{
    struct kiln_engine *engine = create(KILN_SHAPES_CONSTANT);
    run(engine, rows[4]);
    kiln_engine_unref(engine);
    engine = create(KILN_SHAPES_AUTO);
    for (int i = 0; i < SHAPES; i++)
        run(engine, rows[i]);
    cr_expect_eq(compiled(engine), 3);
    char name[KILN_CACHE_HASH_HEX + 1];
    const char *reason = NULL;
    cr_expect_eq(form_of(engine, rows[4], name, &reason), KILN_SHAPES_CONSTANT);
    kiln_engine_unref(engine);
}

/* A recipe of one form is never found for the other. */
Test(shape_choice_run, forms_do_not_mix)
{
    char names[2][KILN_CACHE_HASH_HEX + 1];
    const char *reason = NULL;
    struct kiln_engine *engines[] = {create(KILN_SHAPES_CONSTANT), create(KILN_SHAPES_ARGUMENT)};
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(form_of(engines[i], rows[0], names[i], &reason), (enum kiln_shapes)i);
        cr_expect_str_eq(reason, "set by --shapes or KILN_SHAPES");
        run(engines[i], rows[0]);
        cr_expect_eq(compiled(engines[i]), 1);
        run(engines[i], rows[1]);
        cr_expect_eq(compiled(engines[i]), 2U - (unsigned)i);
        kiln_engine_unref(engines[i]);
    }
    cr_expect_str_neq(names[0], names[1]);
}

/* As with a pack of kernels that take sizes as arguments, where nothing compiles. */
Test(shape_choice_run, argument_kernels_serve_shapes_that_no_cache_has)
{
    struct kiln_engine *engine = create(KILN_SHAPES_ARGUMENT);
    run(engine, rows[0]);
    kiln_engine_unref(engine);
    cr_assert_eq(setenv("KILN_ENFORCE_PRECOMPILED", "1", 1), 0);
    engine = create(KILN_SHAPES_AUTO);
    for (int i = 0; i < SHAPES; i++)
        run(engine, rows[i]);
    cr_expect_eq(compiled(engine), 0);
    kiln_engine_unref(engine);
}

/* A plan that nobody could make does not decide for later: a pack may come. */
Test(shape_choice_run, kernels_that_come_later_are_found_later)
{
    char name[KILN_CACHE_HASH_HEX + 1];
    const char *reason = NULL;
    cr_assert_eq(setenv("KILN_ENFORCE_PRECOMPILED", "1", 1), 0);
    struct kiln_engine *early = create(KILN_SHAPES_AUTO);
    cr_assert_eq(unsetenv("KILN_ENFORCE_PRECOMPILED"), 0);
    cr_expect_eq(form_of(early, rows[0], name, &reason), KILN_SHAPES_CONSTANT);
    struct kiln_engine *engine = create(KILN_SHAPES_ARGUMENT);
    run(engine, rows[0]);
    kiln_engine_unref(engine);
    run(early, rows[0]);
    cr_expect_eq(compiled(early), 0);
    cr_expect_eq(form_of(early, rows[0], name, &reason), KILN_SHAPES_ARGUMENT);
    kiln_engine_unref(early);
}

static void *run_all(void *engine)
{
    for (int i = 0; i < SHAPES; i++)
        run(engine, rows[i]);
    return NULL;
}

Test(shape_choice_run, threads_compile_three_kernels)
{
    struct kiln_engine *engine = create(KILN_SHAPES_AUTO);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, run_all, engine), 0);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    cr_expect_eq(compiled(engine), 3);
    kiln_engine_unref(engine);
}
