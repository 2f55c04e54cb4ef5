#include "cache/remote_cache.h"

#include "cache/entry_format.h"
#include "cache/remote_connection.h"
#include "runtime/support/log.h"
#include "tests/cache/fake_redis.h"
#include "tests/cache/sample_key.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* No test waits for a time-out by the clock of a busy machine: servers that answer get a long one,
 * servers that do not a short one, and "did not hang" is the limit of the test. */
#define PATIENT   "/?timeout=60000"
#define IMPATIENT "/?timeout=50"

static struct kiln_cache_key key;
static struct kiln_buffer entry;
static struct kiln_error error;

/* What the server answers GET with: the bytes of a value, or raw text. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct kiln_buffer served;
static const char *raw_answer;
static size_t raw_bytes;
static atomic_uint gets;
static atomic_uint sets;

static struct {
    pthread_mutex_t mutex;
    unsigned warnings;
    struct kiln_buffer text;
} logged = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void keep_message(enum kiln_log_level level, const char *message)
{
    pthread_mutex_lock(&logged.mutex);
    logged.warnings += level == KILN_LOG_WARN;
    kiln_buffer_printf(&logged.text, "%s\n", message);
    pthread_mutex_unlock(&logged.mutex);
}

static bool has_logged(const char *text)
{
    pthread_mutex_lock(&logged.mutex);
    bool has = strstr(kiln_buffer_text(&logged.text), text) != NULL;
    pthread_mutex_unlock(&logged.mutex);
    return has;
}

static void set_up(void)
{
    kiln_error_init(&error);
    kiln_log_set_sink(keep_message);
    kiln_log_set_level(KILN_LOG_INFO);
    key = sample_key(7);
    char payload[1000];
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (char)(i * 37);
    cr_assert_eq(kiln_entry_encode(&key, payload, sizeof payload, &entry, &error), KILN_OK);
}

static void tear_down(void)
{
    fake_redis_stop();
    kiln_cache_key_fini(&key);
    kiln_buffer_fini(&entry);
    kiln_buffer_fini(&served);
    kiln_buffer_fini(&logged.text);
}

TestSuite(remote_cache, .init = set_up, .fini = tear_down, .timeout = 200);

static void serve_bytes(const void *bytes, size_t size)
{
    pthread_mutex_lock(&mutex);
    kiln_buffer_clear(&served);
    kiln_buffer_append(&served, bytes, size);
    pthread_mutex_unlock(&mutex);
}

/* A server that keeps one value, as servers do. */
static bool keep_value(int connection, const struct fake_redis_command *command)
{
    bool sent;
    if (strcmp(command->arguments[0], "SET") == 0) {
        serve_bytes(command->arguments[2], command->sizes[2]);
        sets++;
        return fake_redis_send_text(connection, "+OK\r\n");
    }
    gets++;
    pthread_mutex_lock(&mutex);
    if (served.data == NULL)
        sent = fake_redis_send_text(connection, "$-1\r\n");
    else
        sent = fake_redis_send_value(connection, served.data, served.size);
    pthread_mutex_unlock(&mutex);
    return sent;
}

static struct kiln_remote_cache *open_remote(const char *login, const char *rest)
{
    struct kiln_remote_cache *remote;
    cr_assert_eq(kiln_remote_cache_open(fake_redis_url(login, rest), &remote, &error), KILN_OK,
                 "%s", error.text);
    return remote;
}

static enum kiln_status look_up(struct kiln_remote_cache *remote)
{
    struct kiln_buffer found;
    kiln_buffer_init(&found);
    enum kiln_status status = kiln_remote_cache_lookup(remote, &key, &found, &error);
    if (status == KILN_OK) {
        cr_assert_eq(found.size, entry.size);
        cr_assert_eq(memcmp(found.data, entry.data, entry.size), 0);
    } else {
        cr_assert_eq(found.size, 0);
    }
    kiln_buffer_fini(&found);
    return status;
}

#define assert_hit(remote)  cr_assert_eq(look_up(remote), KILN_OK, "%s", error.text)
#define assert_miss(remote) cr_assert_eq(look_up(remote), KILN_NOT_FOUND)

static void await(atomic_uint *counter, unsigned count)
{
    while (*counter < count)
        (void)usleep(1000);
}

Test(remote_cache, what_was_stored_is_found)
{
    fake_redis_start(keep_value);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    assert_miss(remote);
    kiln_remote_cache_store(remote, &key, entry.data, entry.size);
    await(&sets, 1);
    assert_hit(remote);
    kiln_remote_cache_close(remote);
    /* Also what is stored right before the end. */
    remote = open_remote("", PATIENT);
    kiln_remote_cache_store(remote, &key, entry.data, entry.size);
    kiln_remote_cache_close(remote);
    cr_assert_eq(sets, 2);
    cr_assert_eq(logged.warnings, 0, "%s", logged.text.data);
}

static char last_key[128];

static bool note_key(int connection, const struct fake_redis_command *command)
{
    (void)snprintf(last_key, sizeof last_key, "%s", command->arguments[1]);
    return keep_value(connection, command);
}

Test(remote_cache, keys_and_values_are_the_documented_ones)
{
    fake_redis_start(note_key);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    char expected[128] = "kiln:1:";
    kiln_cache_key_hex(&key, expected + strlen(expected));
    assert_miss(remote);
    cr_assert_str_eq(last_key, expected);
    last_key[0] = '\0';
    kiln_remote_cache_store(remote, &key, entry.data, entry.size);
    kiln_remote_cache_close(remote);
    cr_assert_str_eq(last_key, expected);
    cr_assert_eq(served.size, entry.size);
    cr_assert_eq(memcmp(served.data, entry.data, entry.size), 0);
}

Test(remote_cache, the_name_has_no_password)
{
    fake_redis_start(keep_value);
    struct kiln_remote_cache *remote;
    cr_assert_eq(kiln_remote_cache_open("redis://u:secret@[::1]:7/3?timeout=9", &remote, &error),
                 KILN_OK);
    cr_assert_str_eq(kiln_remote_cache_name(remote), "redis://[::1]:7/3");
    kiln_remote_cache_close(remote);
    cr_assert_eq(kiln_remote_cache_open("redis://u:secret@[::1", &remote, &error),
                 KILN_BAD_ARGUMENT);
    cr_assert_null(strstr(error.text, "secret"));
    kiln_remote_cache_close(NULL);
    cr_assert_eq(fake_redis_connections(), 0);
}

Test(remote_cache, every_flipped_bit_is_a_miss)
{
    fake_redis_start(keep_value);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    for (size_t bit = 0; bit < 8 * entry.size; bit++) {
        serve_bytes(entry.data, entry.size);
        served.data[bit / 8] ^= (char)(1 << bit % 8);
        assert_miss(remote);
    }
    serve_bytes(entry.data, entry.size);
    assert_hit(remote);
    cr_assert_eq(gets, 8 * entry.size + 1, "every one was asked for");
    cr_assert_eq(fake_redis_connections(), 1);
    cr_assert_eq(logged.warnings, 1, "told once");
    kiln_remote_cache_close(remote);
}

Test(remote_cache, every_truncation_is_a_miss)
{
    fake_redis_start(keep_value);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    for (size_t size = 0; size < entry.size; size++) {
        serve_bytes(entry.data, size);
        assert_miss(remote);
    }
    kiln_buffer_append(&entry, "", 1);
    serve_bytes(entry.data, entry.size);
    assert_miss(remote);
    entry.size--;
    serve_bytes(entry.data, entry.size);
    assert_hit(remote);
    cr_assert_eq(gets, entry.size + 2);
    cr_assert_eq(fake_redis_connections(), 1);
    kiln_remote_cache_close(remote);
}

/* A sound entry of another key, also of one with the same hash, which only looks so here. */
Test(remote_cache, an_entry_of_another_key_is_a_miss)
{
    fake_redis_start(keep_value);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    struct kiln_cache_key other = sample_key(8);
    other.hash_high = key.hash_high;
    other.hash_low = key.hash_low;
    struct kiln_buffer forged;
    kiln_buffer_init(&forged);
    cr_assert_eq(kiln_entry_encode(&other, "other", 5, &forged, &error), KILN_OK);
    serve_bytes(forged.data, forged.size);
    assert_miss(remote);
    cr_assert(has_logged("it is of another key"));
    kiln_buffer_fini(&forged);
    kiln_buffer_init(&forged);
    kiln_cache_key_fini(&other);

    /* The key in the entry is the beginning of the one that is sought, and the other way round. */
    struct kiln_cache_key longer = sample_key(7);
    kiln_cache_key_add_text(&longer, "more");
    serve_bytes(entry.data, entry.size);
    struct kiln_cache_key shorter = key;
    key = longer;
    assert_miss(remote);
    key = shorter;
    cr_assert_eq(kiln_entry_encode(&longer, "other", 5, &forged, &error), KILN_OK);
    serve_bytes(forged.data, forged.size);
    assert_miss(remote);
    cr_assert_eq(gets, 3);
    kiln_buffer_fini(&forged);
    kiln_cache_key_fini(&longer);
    kiln_remote_cache_close(remote);
}

static bool answer_raw(int connection, const struct fake_redis_command *command)
{
    (void)command;
    gets++;
    return fake_redis_send(connection, raw_answer, raw_bytes) && raw_answer[raw_bytes - 1] == '\n';
}

/* What does not speak the protocol is a miss, and is left alone for a while. */
Test(remote_cache, garbage_is_a_miss)
{
#define RAW(text) {text, sizeof text - 1}
    static const struct {
        const char *text;
        size_t size;
    } cases[] = {
        RAW("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"),
        RAW("SSH-2.0-OpenSSH_9.2\r\n"),
        RAW("\0\0\0\0\n"),
        RAW("\r\n"),
        RAW("+OK\r\n"),
        RAW("+\r\n"),
        RAW(":1\r\n"),
        RAW(":\r\n"),
        RAW("-ERR no\r\n"),
        RAW("-\r\n"),
        RAW("$\r\n"),
        RAW("$-2\r\n"),
        RAW("$-1\r\n$-1\r\n"),
        RAW("$+5\r\nvalue\r\n"),
        RAW("$5 \r\nvalue\r\n"),
        RAW("$0x5\r\nvalue\r\n"),
        RAW("$00000000000000000000000000000000005\r\nvalue\r\n"),
        RAW("$5\r\nvalue and more\r\n"),
        RAW("$5\r\nval"),
        RAW("$5"),
        RAW("$"),
        RAW("*1\r\n$5\r\nvalue\r\n"),
        RAW("*0\r\n"),
        RAW("*-1\r\n"),
        RAW("*2147483647\r\n"),
        RAW("*9223372036854775807\r\n"),
        RAW("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n$1\r\nx\r\n"),
        RAW("%1\r\n+a\r\n+b\r\n"),
        RAW("=9\r\ntxt:value\r\n"),
        RAW(",1.5\r\n"),
        RAW("#t\r\n"),
        RAW("(1234567890\r\n"),
        RAW(">1\r\n+push\r\n"),
    };
    fake_redis_start(answer_raw);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        raw_answer = cases[i].text;
        raw_bytes = cases[i].size;
        struct kiln_remote_cache *remote = open_remote("", PATIENT);
        unsigned before = gets;
        assert_miss(remote);
        cr_assert_eq(gets, before + 1, "'%s'", raw_answer);
        for (unsigned again = 0; again < 5; again++)
            assert_miss(remote);
        /* Once more at most, on a machine that stood still for the whole pause. */
        cr_assert_leq(gets, before + 2, "'%s' was asked for again at once", raw_answer);
        kiln_remote_cache_close(remote);
    }
    cr_assert_eq(logged.warnings, 1, "%s", logged.text.data);
}

/* Lengths that nobody allocates, whatever the server says. */
Test(remote_cache, enormous_lengths_are_misses)
{
    static const char *const cases[] = {
        "$16777217\r\n",
        "$268435456\r\n",
        "$536870912\r\n",
        "$4294967296\r\n",
        "$9223372036854775807\r\n",
        "$18446744073709551615\r\n",
        "$18446744073709551621\r\n",
    };
    fake_redis_start(answer_raw);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        raw_answer = cases[i];
        raw_bytes = strlen(cases[i]);
        assert_miss(remote);
        /* It answers: it is asked again, on another connection. */
        cr_assert_eq(gets, i + 1);
        cr_assert_eq(fake_redis_connections(), i + 1);
    }
    cr_assert(has_logged("larger than any entry"));
    kiln_remote_cache_close(remote);
}

static bool send_without_end(int connection, const struct fake_redis_command *command)
{
    (void)command;
    static char noise[65536];
    memset(noise, 'x', sizeof noise);
    if (!fake_redis_send_text(connection, "+"))
        return false;
    while (fake_redis_send(connection, noise, sizeof noise)) {
    }
    return false;
}

Test(remote_cache, a_line_without_end_is_a_miss)
{
    fake_redis_start(send_without_end);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    assert_miss(remote);
    cr_assert(has_logged("does not speak the Redis protocol"));
    kiln_remote_cache_close(remote);
}

static bool say_nothing(int connection, const struct fake_redis_command *command)
{
    (void)connection;
    (void)command;
    gets++;
    while (!fake_redis_is_stopping())
        (void)usleep(1000);
    return false;
}

Test(remote_cache, a_silent_server_is_not_asked_again_at_once)
{
    fake_redis_start(say_nothing);
    struct kiln_remote_cache *remote = open_remote("", IMPATIENT);
    assert_miss(remote);
    for (unsigned i = 0; i < 100; i++)
        assert_miss(remote);
    /* Pauses double: not even a machine that stands still for minutes gets to more. */
    cr_assert_lt(gets, 10);
    cr_assert_eq(logged.warnings, 1, "%s", logged.text.data);
    cr_assert(has_logged("is not asked for 1 s: it does not answer in time"), "%s",
              logged.text.data);
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

Test(remote_cache, a_dripping_server_is_a_miss)
{
    fake_redis_start(drip);
    struct kiln_remote_cache *remote = open_remote("", IMPATIENT);
    assert_miss(remote);
    cr_assert(has_logged("it does not answer in time"), "%s", logged.text.data);
    kiln_remote_cache_close(remote);
}

Test(remote_cache, closing_waits_for_no_silent_server)
{
    fake_redis_start(say_nothing);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    for (unsigned i = 0; i < 10; i++)
        kiln_remote_cache_store(remote, &key, entry.data, entry.size);
    await(&gets, 1);
    kiln_remote_cache_close(remote);
    cr_assert_eq(gets, 1);
    cr_assert_eq(logged.warnings, 0, "that the end cut a write short is no trouble");
}

Test(remote_cache, nobody_listens)
{
    fake_redis_start(keep_value);
    fake_redis_stop(); /* its port is free now */
    for (unsigned i = 0; i < 3; i++) {
        struct kiln_remote_cache *remote = open_remote(":secret@", PATIENT);
        assert_miss(remote);
        kiln_remote_cache_store(remote, &key, entry.data, entry.size);
        kiln_remote_cache_close(remote);
    }
    cr_assert_eq(logged.warnings, 1, "%s", logged.text.data);
    cr_assert(has_logged("Connection refused"), "%s", logged.text.data);
    cr_assert_not(has_logged("secret"));
    fake_redis_start(keep_value); /* for the tear-down */
}

/* Some servers repeat the command that they do not like. */
static bool echo_arguments(int connection, const struct fake_redis_command *command)
{
    static char password[64];
    if (strcmp(command->arguments[0], "AUTH") == 0) {
        (void)snprintf(password, sizeof password, "%s", command->arguments[command->count - 1]);
        return fake_redis_send_text(connection, raw_answer);
    }
    char answer[128];
    (void)snprintf(answer, sizeof answer, "-ERR you said %s before\r\n", password);
    return fake_redis_send_text(connection, answer);
}

Test(remote_cache, the_password_is_never_logged)
{
    static const char *const to_login[] = {"+OK\r\n", "-ERR wrong 'TopSecret'\r\n",
                                           "+TopSecret\r\n", "$9\r\nTopSecret\r\n"};
    fake_redis_start(echo_arguments);
    for (size_t i = 0; i < sizeof to_login / sizeof *to_login; i++) {
        raw_answer = to_login[i];
        struct kiln_remote_cache *remote = open_remote("kiln:TopSecret@", PATIENT);
        assert_miss(remote);
        cr_assert_null(strstr(error.text, "TopSecret"), "%s", error.text);
        kiln_remote_cache_close(remote);
    }
    cr_assert(has_logged("it refuses the user or the password"), "%s", logged.text.data);
    cr_assert(has_logged("cannot be shown"), "%s", logged.text.data);
    cr_assert_not(has_logged("TopSecret"), "%s", logged.text.data);
}

static bool take_nothing(int connection, const struct fake_redis_command *command)
{
    if (strcmp(command->arguments[0], "SET") != 0)
        return keep_value(connection, command);
    sets++;
    return fake_redis_send_text(connection, raw_answer);
}

static void assert_refused_writes_do_not_end_lookups(const char *refusal, unsigned warnings)
{
    raw_answer = refusal;
    fake_redis_start(take_nothing);
    serve_bytes(entry.data, entry.size);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    kiln_remote_cache_store(remote, &key, entry.data, entry.size);
    await(&sets, 1);
    while (!has_logged("takes no entries"))
        (void)usleep(1000);
    for (unsigned i = 0; i < 20; i++)
        kiln_remote_cache_store(remote, &key, entry.data, entry.size);
    assert_hit(remote);
    assert_hit(remote);
    kiln_remote_cache_close(remote);
    cr_assert_lt(sets, 10);
    cr_assert(has_logged("it refuses 'SET': "), "%s", logged.text.data);
    cr_assert_eq(logged.warnings, warnings, "%s", logged.text.data);
}

Test(remote_cache, a_full_server_is_still_asked)
{
    assert_refused_writes_do_not_end_lookups(
        "-OOM command not allowed when used memory > 'maxmemory'.\r\n", 1);
}

/* That some may only read is no trouble, and nobody is bothered with it in every process. */
Test(remote_cache, users_who_may_only_read)
{
    assert_refused_writes_do_not_end_lookups("-NOPERM no permission to run 'set'\r\n", 0);
}

Test(remote_cache, replicas)
{
    assert_refused_writes_do_not_end_lookups(
        "-READONLY You can't write against a read only replica.\r\n", 0);
}

/* Closes each connection after its first answer. */
static bool answer_once(int connection, const struct fake_redis_command *command)
{
    (void)keep_value(connection, command);
    return false;
}

Test(remote_cache, closed_connections_are_opened_again)
{
    fake_redis_start(answer_once);
    serve_bytes(entry.data, entry.size);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    for (unsigned i = 0; i < 50; i++)
        assert_hit(remote);
    cr_assert_eq(fake_redis_connections(), 50);
    cr_assert_eq(logged.warnings, 0, "%s", logged.text.data);
    kiln_remote_cache_close(remote);
}

/* Closes a connection when it is used the second time: the client cannot know before it asks. */
static atomic_int used_connection = -1;

static bool answer_one_of_two(int connection, const struct fake_redis_command *command)
{
    if (atomic_exchange(&used_connection, connection) == connection)
        return false;
    return keep_value(connection, command);
}

Test(remote_cache, a_connection_that_is_closed_upon_a_question_is_opened_again)
{
    fake_redis_start(answer_one_of_two);
    serve_bytes(entry.data, entry.size);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    for (unsigned i = 0; i < 20; i++)
        assert_hit(remote);
    cr_assert_geq(fake_redis_connections(), 11);
    cr_assert_eq(logged.warnings, 0, "%s", logged.text.data);
    kiln_remote_cache_close(remote);
}

static atomic_bool is_broken;

static bool break_at_will(int connection, const struct fake_redis_command *command)
{
    if (is_broken) {
        gets++;
        return fake_redis_send_text(connection, "?\r\n");
    }
    return keep_value(connection, command);
}

Test(remote_cache, a_server_that_recovers_is_used_again)
{
    fake_redis_start(break_at_will);
    serve_bytes(entry.data, entry.size);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    assert_hit(remote);
    is_broken = true;
    assert_miss(remote);
    is_broken = false;
    while (look_up(remote) != KILN_OK)
        (void)usleep(50000);
    cr_assert(has_logged("works again"), "%s", logged.text.data);
    kiln_remote_cache_close(remote);
}

static void *look_up_often(void *remote)
{
    for (unsigned i = 0; i < 200; i++) {
        struct kiln_buffer found;
        struct kiln_error own;
        kiln_buffer_init(&found);
        kiln_error_init(&own);
        if (kiln_remote_cache_lookup(remote, &key, &found, &own) != KILN_OK)
            return remote;
        kiln_buffer_fini(&found);
    }
    return NULL;
}

Test(remote_cache, many_threads_share_a_few_connections)
{
    enum { THREADS = 24 };
    fake_redis_start(keep_value);
    serve_bytes(entry.data, entry.size);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, look_up_often, remote), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        void *failed;
        (void)pthread_join(threads[i], &failed);
        cr_assert_null(failed);
    }
    cr_assert_eq(gets, THREADS * 200);
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

/* A child has neither its parent's connections nor its thread, and leaves both alone. */
Test(remote_cache, a_forked_child_starts_from_nothing)
{
    fake_redis_start(keep_value);
    serve_bytes(entry.data, entry.size);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    assert_hit(remote);
    kiln_remote_cache_store(remote, &key, entry.data, entry.size);
    await(&sets, 1);
    cr_assert_eq(fake_redis_connections(), 2);

    pid_t child = fork();
    if (child == 0) {
        unsigned before = open_sockets();
        bool good = look_up(remote) == KILN_OK;
        /* Two copies went, one of its own came. */
        good = good && open_sockets() == before - 1;
        kiln_remote_cache_store(remote, &key, entry.data, entry.size);
        kiln_remote_cache_close(remote);
        _exit(good ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", (unsigned)status);
    cr_assert_eq(fake_redis_connections(), 4);
    cr_assert_eq(sets, 2, "the child's thread sent it");

    /* One that does nothing but close. */
    child = fork();
    if (child == 0) {
        kiln_remote_cache_close(remote);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", (unsigned)status);

    assert_hit(remote);
    kiln_remote_cache_store(remote, &key, entry.data, entry.size);
    await(&sets, 3);
    cr_assert_eq(fake_redis_connections(), 4, "the parent's connections are as they were");
    kiln_remote_cache_close(remote);
}

/* Forks while other threads hold locks of the parent's session. */
Test(remote_cache, children_of_busy_parents)
{
    enum { THREADS = 4, CHILDREN = 40 };
    fake_redis_start(keep_value);
    serve_bytes(entry.data, entry.size);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, look_up_often, remote), 0);
    unsigned failures = 0;
    for (unsigned i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            /* No log: the sink of this test has a lock that the parent's threads hold. */
            struct kiln_buffer found;
            kiln_buffer_init(&found);
            kiln_log_set_level(KILN_LOG_OFF);
            enum kiln_status got = kiln_remote_cache_lookup(remote, &key, &found, &error);
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

Test(remote_cache, entries_that_are_too_large_are_not_sent)
{
    fake_redis_start(keep_value);
    struct kiln_remote_cache *remote = open_remote("", PATIENT);
    size_t size = KILN_REMOTE_VALUE_LIMIT_BYTES + (size_t)1;
    char *large = calloc(1, size);
    kiln_remote_cache_store(remote, &key, large, size);
    kiln_remote_cache_store(remote, &key, entry.data, entry.size);
    await(&sets, 1);
    cr_assert_eq(served.size, entry.size);
    cr_assert(has_logged("too large for the shared cache"));
    kiln_remote_cache_close(remote);
    free(large);
}
