/*
 * A shared cache and its server over time: which connections are opened, shared and opened again,
 * when a server in trouble is left alone and when it is asked again, and what is left of it all in
 * a forked child.
 */
#include "cache/remote_cache.h"

#include "runtime/support/log.h"
#include "tests/cache/remote_fixture.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(remote_cache_session, .init = remote_fixture_set_up, .fini = remote_fixture_tear_down,
          .timeout = 200);

static struct kiln_remote_cache *start_with_entry(fake_redis_handler handler)
{
    remote_fixture_serve_entry();
    return remote_fixture_start(handler);
}

static bool say_nothing(int connection, const struct fake_redis_command *command)
{
    (void)connection;
    (void)command;
    remote_fixture.gets++;
    while (!fake_redis_is_stopping())
        (void)usleep(1000);
    return false;
}

Test(remote_cache_session, a_silent_server_is_not_asked_again_at_once)
{
    fake_redis_start(say_nothing);
    struct kiln_remote_cache *remote = remote_fixture_open("", REMOTE_IMPATIENT);
    assert_miss(remote);
    for (unsigned i = 0; i < 100; i++)
        assert_miss(remote);
    /* Pauses double: not even a machine that stands still for minutes gets to more. */
    cr_assert_lt(remote_fixture.gets, 10);
    assert_warned(1);
    assert_logged("is not asked for 1 s: it does not answer in time");
    kiln_remote_cache_close(remote);
}

/* A byte now and then: the time is for the whole answer. */
static bool drip(int connection, const struct fake_redis_command *command)
{
    (void)command;
    if (!fake_redis_send_text(connection, "$1000000\r\n"))
        return false;
    while (!fake_redis_is_stopping() && fake_redis_send_text(connection, "x"))
        (void)usleep(5000);
    return false;
}

Test(remote_cache_session, a_dripping_server_is_a_miss)
{
    fake_redis_start(drip);
    struct kiln_remote_cache *remote = remote_fixture_open("", REMOTE_IMPATIENT);
    assert_miss(remote);
    assert_logged("it does not answer in time");
    kiln_remote_cache_close(remote);
}

Test(remote_cache_session, closing_waits_for_no_silent_server)
{
    struct kiln_remote_cache *remote = remote_fixture_start(say_nothing);
    for (unsigned i = 0; i < 10; i++)
        remote_fixture_store(remote);
    remote_fixture_await(&remote_fixture.gets, 1);
    kiln_remote_cache_close(remote);
    cr_assert_eq(remote_fixture.gets, 1);
    assert_warned(0); /* that the end cut a write short is no trouble */
}

Test(remote_cache_session, nobody_listens)
{
    fake_redis_start(remote_fixture_keep_value);
    fake_redis_stop(); /* its port is free now */
    for (unsigned i = 0; i < 3; i++) {
        struct kiln_remote_cache *remote = remote_fixture_open(":secret@", REMOTE_PATIENT);
        assert_miss(remote);
        remote_fixture_store(remote);
        kiln_remote_cache_close(remote);
    }
    assert_warned(1);
    assert_logged("Connection refused");
    cr_assert_not(remote_fixture_has_logged("secret"));
    fake_redis_start(remote_fixture_keep_value); /* for the tear-down */
}

static const char *refusal;

static bool take_nothing(int connection, const struct fake_redis_command *command)
{
    if (strcmp(command->arguments[0], "SET") != 0)
        return remote_fixture_keep_value(connection, command);
    remote_fixture.sets++;
    return fake_redis_send_text(connection, refusal);
}

static void assert_refused_writes_do_not_end_lookups(const char *answer, unsigned warnings)
{
    refusal = answer;
    struct kiln_remote_cache *remote = start_with_entry(take_nothing);
    remote_fixture_store(remote);
    remote_fixture_await(&remote_fixture.sets, 1);
    while (!remote_fixture_has_logged("takes no entries"))
        (void)usleep(1000);
    for (unsigned i = 0; i < 20; i++)
        remote_fixture_store(remote);
    assert_hit(remote);
    assert_hit(remote);
    kiln_remote_cache_close(remote);
    cr_assert_lt(remote_fixture.sets, 10);
    assert_logged("it refuses 'SET': ");
    assert_warned(warnings);
}

Test(remote_cache_session, a_full_server_is_still_asked)
{
    assert_refused_writes_do_not_end_lookups(
        "-OOM command not allowed when used memory > 'maxmemory'.\r\n", 1);
}

/* That some may only read is no trouble, and nobody is bothered with it in every process. */
Test(remote_cache_session, users_who_may_only_read)
{
    assert_refused_writes_do_not_end_lookups("-NOPERM no permission to run 'set'\r\n", 0);
}

Test(remote_cache_session, replicas)
{
    assert_refused_writes_do_not_end_lookups(
        "-READONLY You can't write against a read only replica.\r\n", 0);
}

/* The entry is found every time, and there is nothing to warn of. */
static void assert_quiet_hits(fake_redis_handler handler, unsigned count)
{
    struct kiln_remote_cache *remote = start_with_entry(handler);
    for (unsigned i = 0; i < count; i++)
        assert_hit(remote);
    assert_warned(0);
    kiln_remote_cache_close(remote);
}

/* Closes each connection after its first answer. */
static bool answer_once(int connection, const struct fake_redis_command *command)
{
    (void)remote_fixture_keep_value(connection, command);
    return false;
}

Test(remote_cache_session, closed_connections_are_opened_again)
{
    assert_quiet_hits(answer_once, 50);
    cr_assert_eq(fake_redis_connections(), 50);
}

/* Closes a connection when it is used the second time: the client cannot know before it asks. */
static atomic_int used_connection = -1;

static bool answer_one_of_two(int connection, const struct fake_redis_command *command)
{
    if (atomic_exchange(&used_connection, connection) == connection)
        return false;
    return remote_fixture_keep_value(connection, command);
}

Test(remote_cache_session, a_connection_that_is_closed_upon_a_question_is_opened_again)
{
    assert_quiet_hits(answer_one_of_two, 20);
    cr_assert_geq(fake_redis_connections(), 11);
}

static atomic_bool is_broken;

static bool break_at_will(int connection, const struct fake_redis_command *command)
{
    if (is_broken) {
        remote_fixture.gets++;
        return fake_redis_send_text(connection, "?\r\n");
    }
    return remote_fixture_keep_value(connection, command);
}

Test(remote_cache_session, a_server_that_recovers_is_used_again)
{
    struct kiln_remote_cache *remote = start_with_entry(break_at_will);
    assert_hit(remote);
    is_broken = true;
    assert_miss(remote);
    is_broken = false;
    while (remote_fixture_look_up(remote) != KILN_OK)
        (void)usleep(50000);
    assert_logged("works again");
    kiln_remote_cache_close(remote);
}

static void *look_up_often(void *remote)
{
    for (unsigned i = 0; i < 200; i++) {
        struct kiln_buffer found;
        struct kiln_error own;
        kiln_buffer_init(&found);
        kiln_error_init(&own);
        if (kiln_remote_cache_lookup(remote, &remote_fixture.key, 0, &found, &own) != KILN_OK)
            return remote;
        kiln_buffer_fini(&found);
    }
    return NULL;
}

static void start_lookups(pthread_t threads[], unsigned count, struct kiln_remote_cache *remote)
{
    for (unsigned i = 0; i < count; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, look_up_often, remote), 0);
}

Test(remote_cache_session, many_threads_share_a_few_connections)
{
    enum { THREADS = 24 };
    struct kiln_remote_cache *remote = start_with_entry(remote_fixture_keep_value);
    pthread_t threads[THREADS];
    start_lookups(threads, THREADS, remote);
    for (unsigned i = 0; i < THREADS; i++) {
        void *failed;
        (void)pthread_join(threads[i], &failed);
        cr_assert_null(failed);
    }
    cr_assert_eq(remote_fixture.gets, THREADS * 200);
    cr_assert_leq(fake_redis_connections(), 8);
    kiln_remote_cache_close(remote);
}

static unsigned open_sockets(void)
{
    unsigned count = 0;
    for (int descriptor = 0; descriptor < 1024; descriptor++) {
        char path[64];
        char target[64] = "";
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
        if (readlink(path, target, sizeof target - 1) > 0)
            count += strncmp(target, "socket:", 7) == 0;
    }
    return count;
}

static void assert_success(pid_t child)
{
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", (unsigned)status);
}

/* A child has neither its parent's connections nor its thread, and leaves both alone. */
Test(remote_cache_session, a_forked_child_starts_from_nothing)
{
    struct kiln_remote_cache *remote = start_with_entry(remote_fixture_keep_value);
    assert_hit(remote);
    remote_fixture_store(remote);
    remote_fixture_await(&remote_fixture.sets, 1);
    cr_assert_eq(fake_redis_connections(), 2);

    pid_t child = fork();
    if (child == 0) {
        unsigned before = open_sockets();
        bool good = remote_fixture_look_up(remote) == KILN_OK;
        /* Two copies went, one of its own came. */
        good = good && open_sockets() == before - 1;
        remote_fixture_store(remote);
        kiln_remote_cache_close(remote);
        _exit(good ? 0 : 1);
    }
    assert_success(child);
    cr_assert_eq(fake_redis_connections(), 4);
    cr_assert_eq(remote_fixture.sets, 2, "the child's thread sent it");

    /* One that does nothing but close. */
    child = fork();
    if (child == 0) {
        kiln_remote_cache_close(remote);
        _exit(0);
    }
    assert_success(child);

    assert_hit(remote);
    remote_fixture_store(remote);
    remote_fixture_await(&remote_fixture.sets, 3);
    cr_assert_eq(fake_redis_connections(), 4, "the parent's connections are as they were");
    kiln_remote_cache_close(remote);
}

/* Forks while other threads hold locks of the parent's session. */
Test(remote_cache_session, children_of_busy_parents)
{
    enum { THREADS = 4, CHILDREN = 40 };
    struct kiln_remote_cache *remote = start_with_entry(remote_fixture_keep_value);
    pthread_t threads[THREADS];
    start_lookups(threads, THREADS, remote);
    unsigned failures = 0;
    for (unsigned i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            /* No log: the sink of the fixture has a lock that the parent's threads hold. */
            struct kiln_buffer found;
            kiln_buffer_init(&found);
            kiln_log_set_level(KILN_LOG_OFF);
            enum kiln_status got = kiln_remote_cache_lookup(remote, &remote_fixture.key, 0, &found,
                                                            &remote_fixture.error);
            kiln_remote_cache_close(remote);
            _exit(got == KILN_OK ? 0 : 1);
        }
        int status;
        failures += waitpid(child, &status, 0) != child || status != 0;
    }
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    cr_assert_eq(failures, 0);
    kiln_remote_cache_close(remote);
}
