/* A host that forks while another of its threads uses an engine for the first time: what that holds
 * nobody gives back in the child. */
#include "runtime/engine/engine.h"
#include "tests/runtime/engine/sample_graph.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static struct kiln_buffer graph;

static void *check(void *engine)
{
    struct kiln_error error;
    kiln_error_init(&error);
    return (void *)(intptr_t)kiln_engine_check(engine, graph.data, graph.size, &error);
}

static bool ends_in_child(struct kiln_engine *engine)
{
    enum { CHILD_SECONDS = 5 };
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        (void)alarm(CHILD_SECONDS);
        _exit(check(engine) == (void *)(intptr_t)KILN_OK ? 0 : 1);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Test(engine_fork, while_the_device_is_opened)
{
    enum { ROUNDS = 60, STEP_MICROSECONDS = 25 };
#if defined(__SANITIZE_ADDRESS__)
    cr_skip_test("a child may find the sanitizer's own locks taken");
#endif
    kiln_buffer_init(&graph);
    sample_graph_write_add(&graph);
    for (int i = 0; i < ROUNDS; i++) {
        const struct kiln_engine_options options = {.device = "host"};
        struct kiln_engine *engine;
        struct kiln_error error;
        kiln_error_init(&error);
        cr_assert_eq(kiln_engine_create(&options, &engine, &error), KILN_OK, "%s", error.text);
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, check, engine), 0);
        (void)usleep((useconds_t)(i * STEP_MICROSECONDS));
        cr_assert(ends_in_child(engine), "round %d", i);
        cr_assert_eq(pthread_join(thread, NULL), 0);
        kiln_engine_unref(engine);
    }
    kiln_buffer_fini(&graph);
}

Test(engine_fork, before_and_after)
{
    kiln_buffer_init(&graph);
    sample_graph_write_add(&graph);
    const struct kiln_engine_options options = {.device = "host"};
    struct kiln_engine *engine;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_engine_create(&options, &engine, &error), KILN_OK, "%s", error.text);
    cr_expect(ends_in_child(engine));
    cr_expect_eq(check(engine), (void *)(intptr_t)KILN_OK);
    cr_expect(ends_in_child(engine));
    kiln_engine_unref(engine);
    kiln_buffer_fini(&graph);
}
