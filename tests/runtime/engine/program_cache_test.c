/*
 * Opening the store of a program cache, where threads and processes get in each other's way. The
 * linker puts the function below in the place of kiln_cache_store_open.
 */
#include "runtime/engine/program_cache.h"

#include "compiler/graph/graph_reader.h"
#include "tests/runtime/engine/sample_graph.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8 };

static struct kiln_program_cache cache;
static struct kiln_codegen *codegen;
static struct kiln_arena arena;
static struct kiln_graph graph;
static struct kiln_target target;

static atomic_uint opening;         /* calls so far */
static atomic_uint opened_together; /* nobody's call returns before so many were made */

enum kiln_status __real_kiln_cache_store_open(const struct kiln_cache_options *options,
                                              struct kiln_cache_store **ret_store,
                                              struct kiln_error *error);
enum kiln_status __wrap_kiln_cache_store_open(const struct kiln_cache_options *options,
                                              struct kiln_cache_store **ret_store,
                                              struct kiln_error *error);

enum kiln_status __wrap_kiln_cache_store_open(const struct kiln_cache_options *options,
                                              struct kiln_cache_store **ret_store,
                                              struct kiln_error *error)
{
    opening++;
    while (opening < opened_together)
        (void)usleep(1000);
    return __real_kiln_cache_store_open(options, ret_store, error);
}

static void set_up(void)
{
    struct kiln_error error;
    struct kiln_buffer bytes;
    cr_assert_not_null(temporary_directory_make());
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    kiln_buffer_init(&bytes);
    sample_graph_write_add(&bytes);
    cr_assert_eq(kiln_graph_read(bytes.data, bytes.size, &arena, &graph, &error), KILN_OK);
    kiln_buffer_fini(&bytes);
    cr_assert_eq(kiln_target_parse("gfx90a", &target, &error), KILN_OK);
    cr_assert_eq(kiln_codegen_create(&(struct kiln_codegen_options){0}, &codegen, &error), KILN_OK);
    cr_assert_eq(setenv("KILN_CACHE_DIR", temporary_path("cache"), 1), 0);
    const struct kiln_cache_options options = {.layers = "", .system_layer = "", .remote = ""};
    cr_assert_eq(
        kiln_program_cache_init(&cache, &options, codegen, &(struct kiln_lower_options){0}, &error),
        KILN_OK);
}

static void tear_down(void)
{
    kiln_program_cache_fini(&cache);
    kiln_codegen_unref(codegen);
    kiln_arena_fini(&arena);
    temporary_directory_remove();
}

TestSuite(program_cache, .init = set_up, .fini = tear_down, .timeout = 60);

/* NULL for a good program. */
static void *get_program(void *context)
{
    struct kiln_shared_program *program = NULL;
    struct kiln_program_request request;
    struct kiln_error error;
    (void)context;
    kiln_error_init(&error);
    if (kiln_program_request_init(&cache, &graph, &target, NULL, &request, &error) != KILN_OK)
        return &cache;
    enum kiln_status status = kiln_program_cache_get(&request, &program, &error);
    kiln_program_request_fini(&request);
    kiln_shared_program_unref(program);
    return status == KILN_OK ? NULL : &cache;
}

/* A thread is opening the store while another one forks: in the child nobody finishes that. */
Test(program_cache, a_child_forked_while_the_store_is_opened_opens_its_own)
{
    pthread_t thread;
    opened_together = 2;
    cr_assert_eq(pthread_create(&thread, NULL, get_program, NULL), 0);
    while (opening == 0)
        (void)usleep(1000);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        (void)alarm(20); /* what hangs ends by a signal */
        _exit(get_program(NULL) != NULL);
    }
    int status = -1;
    cr_expect_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0, "the child has ended with %d", status);
    opened_together = 0;
    void *failure = NULL;
    (void)pthread_join(thread, &failure);
    cr_expect_null(failure);
}

static void *get_store(void *context)
{
    struct kiln_cache_store *store = NULL;
    struct kiln_error error;
    (void)context;
    kiln_error_init(&error);
    return kiln_program_cache_store(&cache, &store, &error) == KILN_OK ? (void *)store : NULL;
}

/* All have opened one; the first is everybody's, and the others are closed. */
Test(program_cache, threads_that_open_at_once_get_one_store)
{
    pthread_t threads[THREADS];
    void *stores[THREADS];
    opened_together = THREADS;
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, get_store, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], &stores[i]);
    cr_assert_not_null(stores[0]);
    for (int i = 1; i < THREADS; i++)
        cr_expect_eq(stores[i], stores[0]);
    cr_expect_eq(get_store(NULL), stores[0]);
    cr_expect_eq(opening, THREADS);
}
