/* Plans of kernels that only the shared tier has: a server of the test's own. */
#include "tests/cache/fake_redis.h"
#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/engine/plan_fixture.h"
#include "tests/runtime/support/temporary_directory.h"

#include "runtime/support/buffer.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { VALUES = 8 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char key[128];
    struct kiln_buffer bytes;
} values[VALUES];
static unsigned value_count;
static atomic_uint gets;

static bool keep_values(int connection, const struct fake_redis_command *command)
{
    bool sent;
    unsigned i = 0;
    pthread_mutex_lock(&mutex);
    while (i < value_count && strcmp(values[i].key, command->arguments[1]) != 0)
        i++;
    if (strcasecmp(command->arguments[0], "GET") == 0) {
        gets++;
        sent = i < value_count
                   ? fake_redis_send_value(connection, values[i].bytes.data, values[i].bytes.size)
                   : fake_redis_send_text(connection, "$-1\r\n");
    } else {
        if (i == value_count && i < VALUES) {
            (void)snprintf(values[i].key, sizeof values[i].key, "%s", command->arguments[1]);
            kiln_buffer_append(&values[i].bytes, command->arguments[2], command->sizes[2]);
            value_count++;
        }
        sent = fake_redis_send_text(connection, "+OK\r\n");
    }
    pthread_mutex_unlock(&mutex);
    return sent;
}

static void use_directory(const char *name)
{
    (void)snprintf(fixture.directory, sizeof fixture.directory, "%s", temporary_path(name));
}

/* A machine with a compiler fills the server. */
static void set_up(void)
{
    cr_assert_not_null(temporary_directory_make());
    plan_fixture_init();
    cr_assert_eq(rmdir(fixture.directory), 0);
    fake_pipeline.kernel_count = 2;
    fake_redis_start(keep_values);
    cr_assert_eq(setenv("KILN_CACHE_REMOTE", fake_redis_url("", "/?timeout=60000"), 1), 0);
    use_directory("first");
    cr_assert_eq(plan_fixture_origin_in_new_engine(), KILN_ORIGIN_COMPILED);
    cr_assert_eq(value_count, 3, "a recipe and its kernels");
    use_directory("second");
    gets = 0;
}

static void tear_down(void)
{
    fake_redis_stop();
    for (unsigned i = 0; i < value_count; i++)
        kiln_buffer_fini(&values[i].bytes);
    plan_fixture_fini();
    temporary_directory_remove();
}

TestSuite(plan_shared_tier, .init = set_up, .fini = tear_down, .timeout = 60);

static void expect_plan(void)
{
    struct kiln_engine *engine = plan_fixture_engine();
    kiln_error_init(&fixture.error);
    cr_expect_eq(kiln_engine_check(engine, fixture.graph.data, fixture.graph.size, &fixture.error),
                 KILN_OK, "%s", fixture.error.text);
    kiln_plan_unref(plan_fixture_plan(engine));
    kiln_engine_unref(engine);
    cr_expect_eq(fake_pipeline.compiled, 2);
}

Test(plan_shared_tier, without_a_compiler_it_is_enough)
{
    fake_pipeline.identity = NULL;
    expect_plan();
    cr_expect_eq(gets, 3);
    expect_plan();
    cr_expect_eq(gets, 3, "the directory has copies");
}

/* The copies stay usable although another compiler made them. */
Test(plan_shared_tier, with_another_compiler_it_is_used_as_shipped)
{
    fake_pipeline.identity = "another 1";
    for (int i = 0; i < 3; i++)
        expect_plan();
    cr_expect_eq(gets, 3, "the server is not asked again");
    cr_assert_eq(unsetenv("KILN_CACHE_REMOTE"), 0);
    expect_plan();
}
