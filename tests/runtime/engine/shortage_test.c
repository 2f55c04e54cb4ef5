/* A process that has run out of file descriptors when it asks for the first time: Kiln declines
 * then, and looks again at the next question. */
#include "runtime/engine/engine.h"
#include "tests/runtime/engine/sample_graph.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct kiln_buffer graph;
static struct kiln_error error;
static struct rlimit usual;

/* No descriptor is left afterwards, but those that are open stay open. */
static void exhaust_descriptors(void)
{
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cr_assert_geq(next, 0);
    (void)close(next);
    const struct rlimit none = {.rlim_cur = (rlim_t)next, .rlim_max = usual.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void give_descriptors_back(void)
{
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

static struct kiln_engine *create_engine(const char *device)
{
    const struct kiln_engine_options options = {.device = device};
    struct kiln_engine *engine = NULL;
    (void)setenv("KILN_CACHE_DIR", "", 1);
    kiln_error_init(&error);
    kiln_buffer_init(&graph);
    sample_graph_write_add(&graph);
    cr_assert_eq(kiln_engine_create(&options, &engine, &error), KILN_OK, "%s", error.text);
    return engine;
}

static void expect_shortage_then_success(struct kiln_engine *engine)
{
    exhaust_descriptors();
    enum kiln_status status = kiln_engine_check(engine, graph.data, graph.size, &error);
    give_descriptors_back();
    cr_expect_eq(status, KILN_SHORTAGE, "%s", error.text);
    cr_expect_not_null(strstr(error.text, "Too many open files"), "%s", error.text);
    cr_expect_null(strstr(error.text, "install"), "%s", error.text);
    kiln_error_init(&error);
    status = kiln_engine_check(engine, graph.data, graph.size, &error);
    cr_expect_eq(status, KILN_OK, "%s", error.text);
}

Test(shortage, of_descriptors_while_looking_for_compilers_passes)
{
    struct kiln_engine *engine = create_engine("host");
    expect_shortage_then_success(engine);
    kiln_engine_unref(engine);
    kiln_buffer_fini(&graph);
}

/* With the GPU out of sight for a moment, the host device must not take its place for ever. */
Test(shortage, of_descriptors_while_looking_for_a_gpu_passes)
{
    (void)unsetenv("KILN_DEVICE");
    (void)setenv("KILN_HIP_LIBRARY", KILN_STAND_IN_LIBRARY, 1);
    struct kiln_engine *engine = create_engine(NULL);
    exhaust_descriptors();
    enum kiln_status status = kiln_engine_check(engine, graph.data, graph.size, &error);
    give_descriptors_back();
    cr_expect_eq(status, KILN_SHORTAGE, "%s", error.text);
    cr_expect_not_null(strstr(error.text, "Too many open files"), "%s", error.text);
    cr_assert_null(dlopen(KILN_STAND_IN_LIBRARY, RTLD_NOW | RTLD_NOLOAD));
    status = kiln_engine_check(engine, graph.data, graph.size, &error);
    cr_expect(status == KILN_OK || status == KILN_UNSUPPORTED, "%s", error.text);
    cr_expect_not_null(dlopen(KILN_STAND_IN_LIBRARY, RTLD_NOW | RTLD_NOLOAD));
    kiln_engine_unref(engine);
    kiln_buffer_fini(&graph);
}
