/*
 * `kiln compile` with a shared tier: how often the server is asked, and what becomes of a run whose
 * programs do not get there.
 */
#include "tests/cache/fake_redis.h"
#include "tests/cli/compile_fixture.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { FEW = 6 };

static atomic_uint gets;
static atomic_uint sets;

/* What the server makes of a SET. */
static const char *answer;
static useconds_t pause_microseconds;

static bool serve(int connection, const struct fake_redis_command *command)
{
    if (strcasecmp(command->arguments[0], "GET") == 0) {
        gets++;
        return fake_redis_send_text(connection, "$-1\r\n");
    }
    if (strcasecmp(command->arguments[0], "SET") == 0) {
        (void)usleep(pause_microseconds);
        sets++;
    }
    return fake_redis_send_text(connection, answer);
}

static void set_up(void)
{
    compile_fixture_set_up();
    compile_fixture_write_graphs("graphs", 10, FEW);
    answer = "+OK\r\n";
    fake_redis_start(serve);
}

static void tear_down(void)
{
    fake_redis_stop();
    temporary_directory_remove();
}

TestSuite(kiln_compile_shared, .init = set_up, .fini = tear_down, .timeout = 240);

static struct kiln_process compile_shared(const char *rest, const char *pair)
{
    char url[1024];
    (void)snprintf(url, sizeof url, "KILN_CACHE_REMOTE=%s", fake_redis_url("", rest));
    const char *const arguments[] = {"--json", temporary_path("graphs"), NULL};
    const char *const pairs[] = {url, pair, NULL};
    return compile_fixture_run(arguments, pairs, NULL);
}

#define PATIENT "/?timeout=60000"

/* The server is asked for a program, its kernel and the note that the kernel spills, before a claim
 * is taken, and not again after it. */
Test(kiln_compile_shared, a_miss_is_asked_for_once)
{
    struct kiln_process kiln = compile_shared(PATIENT, NULL);
    cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect_eq(compile_fixture_summary(&kiln, "compiled"), FEW);
    cr_expect_eq(gets, 3 * FEW, "%u", gets);
    cr_expect_eq(sets, 2 * FEW, "%u", sets);
}

/* A plugin in a host would have dropped most of it. */
Test(kiln_compile_shared, a_slow_server_is_waited_for)
{
    pause_microseconds = 300000;
    struct kiln_process kiln = compile_shared(PATIENT, NULL);
    cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect_eq(compile_fixture_summary(&kiln, "not_shared"), 0);
    cr_expect_eq(sets, 2 * FEW, "%u", sets);
}

Test(kiln_compile_shared, it_does_without_a_directory)
{
    struct kiln_process kiln = compile_shared(PATIENT, "KILN_CACHE_DIR=");
    cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect_eq(compile_fixture_summary(&kiln, "not_stored"), 0);
    cr_expect_eq(sets, 2 * FEW, "%u", sets);
}

Test(kiln_compile_shared, a_server_that_takes_nothing_is_told_of_and_fails_nothing)
{
    answer = "-OOM command not allowed when used memory > 'maxmemory'\r\n";
    struct kiln_process kiln = compile_shared(PATIENT, NULL);
    cr_expect_eq(kiln.exit_code, 0, "%d: %s", kiln.exit_code, kiln.err);
    cr_expect_eq(compile_fixture_summary(&kiln, "compiled"), FEW);
    cr_expect_eq(compile_fixture_summary(&kiln, "not_shared"), 2 * FEW);
    cr_expect_eq(compile_fixture_summary(&kiln, "not_stored"), 0);
    cr_expect(strstr(kiln.err, "did not take 12 entries"), "%s", kiln.err);
}

Test(kiln_compile_shared, a_server_that_is_away_is_told_of_and_fails_nothing)
{
    char url[128];
    /* The port is taken by nobody: whoever connects is refused. */
    (void)snprintf(url, sizeof url, "KILN_CACHE_REMOTE=redis://127.0.0.1:1/?timeout=60000");
    struct kiln_process kiln = COMPILE_WITH(url, temporary_path("graphs"));
    cr_expect_eq(kiln.exit_code, 0, "%d: %s", kiln.exit_code, kiln.err);
    cr_expect(strstr(kiln.out, "6 compiled, 0 from disk, 0 from memory, 12 not shared;"), "%s",
              kiln.out);
}

/* Somebody wants it so. */
Test(kiln_compile_shared, a_user_who_may_only_read_loses_nothing)
{
    answer = "-NOPERM this user has no permissions to run the 'set' command\r\n";
    struct kiln_process kiln = compile_shared(PATIENT, NULL);
    cr_expect_eq(kiln.exit_code, 0, "%d: %s", kiln.exit_code, kiln.err);
    cr_expect_eq(compile_fixture_summary(&kiln, "not_shared"), 0);
    cr_expect_eq(gets, 3 * FEW, "%u", gets);
}
