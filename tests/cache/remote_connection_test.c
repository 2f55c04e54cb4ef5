#include "cache/remote_connection.h"

#include "runtime/support/subprocess.h"
#include "tests/cache/fake_redis.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct kiln_remote_connection connection;
static struct kiln_remote_url url;
static struct kiln_host_resolver *resolver;
static struct kiln_error error;

static void tear_down(void)
{
    kiln_remote_connection_close(&connection);
    kiln_host_resolver_destroy(resolver);
    fake_redis_stop();
}

TestSuite(remote_connection, .fini = tear_down, .timeout = 120);

static struct kiln_remote_wait a_minute(void)
{
    return (struct kiln_remote_wait){.deadline_ms = kiln_monotonic_milliseconds() + 60000};
}

static enum kiln_remote_answer open_it(const char *login, const char *rest)
{
    cr_assert_eq(kiln_remote_url_parse(fake_redis_url(login, rest), &url, &error), KILN_OK, "%s",
                 error.text);
    resolver = kiln_host_resolver_create(url.host, url.port);
    kiln_remote_connection_init(&connection);
    struct kiln_remote_wait wait = a_minute();
    return kiln_remote_connection_open(&connection, &url, resolver, &wait, &error);
}

static enum kiln_remote_answer get(struct kiln_buffer *value)
{
    struct kiln_remote_wait wait = a_minute();
    kiln_error_init(&error);
    kiln_buffer_clear(value);
    return kiln_remote_connection_get(&connection, "key", &wait, value, &error);
}

/* Answers commands in turn with what the test wants. */
static const char *const *answers;
static char received[4096];

static bool answer_in_turn(int descriptor, const struct fake_redis_command *command)
{
    for (unsigned i = 0; i < command->count; i++) {
        strcat(received, command->arguments[i]);
        strcat(received, i + 1 < command->count ? " " : ";");
    }
    const char *answer = *answers++;
    return answer != NULL && fake_redis_send_text(descriptor, answer);
}

Test(remote_connection, logs_in_and_selects)
{
    static const char *const all[] = {"+OK\r\n",    "+OK\r\n", "$5\r\nvalue\r\n",
                                      "$0\r\n\r\n", "$-1\r\n", "+OK\r\n"};
    answers = all;
    fake_redis_start(answer_in_turn);
    cr_assert_eq(open_it("us%65r:pass%20word@", "/7"), KILN_REMOTE_DONE, "%s", error.text);
    struct kiln_buffer value;
    kiln_buffer_init(&value);
    cr_assert_eq(get(&value), KILN_REMOTE_DONE, "%s", error.text);
    cr_assert_str_eq(kiln_buffer_text(&value), "value");
    cr_assert_eq(get(&value), KILN_REMOTE_DONE, "%s", error.text);
    cr_assert_eq(value.size, 0);
    cr_assert_eq(get(&value), KILN_REMOTE_NOTHING);
    struct kiln_remote_wait wait = a_minute();
    cr_assert_eq(kiln_remote_connection_set(&connection, "key", "a\0b", 3, &wait, &error),
                 KILN_REMOTE_DONE);
    cr_assert_str_eq(received, "AUTH user pass word;SELECT 7;GET key;GET key;GET key;SET key a;");
    cr_assert(kiln_remote_connection_is_usable(&connection));
    cr_assert(fcntl(connection.descriptor, F_GETFD) & FD_CLOEXEC);
    kiln_buffer_fini(&value);
}

Test(remote_connection, a_password_without_a_user)
{
    static const char *const all[] = {"+OK\r\n"};
    answers = all;
    fake_redis_start(answer_in_turn);
    cr_assert_eq(open_it(":secret@", "/0"), KILN_REMOTE_DONE, "%s", error.text);
    cr_assert_str_eq(received, "AUTH secret;");
}

Test(remote_connection, a_refused_login_shows_no_password)
{
    static const char *const all[] = {
        "-ERR unknown command 'AUTH', with args beginning with: 'secret'\r\n"};
    answers = all;
    fake_redis_start(answer_in_turn);
    cr_assert_eq(open_it(":secret@", ""), KILN_REMOTE_FAILED);
    cr_assert_str_eq(error.text, "it refuses the user or the password");
    cr_assert_not(kiln_remote_connection_is_usable(&connection));
}

Test(remote_connection, a_refused_database)
{
    static const char *const all[] = {"-ERR DB index is out of range\r\n"};
    answers = all;
    fake_redis_start(answer_in_turn);
    cr_assert_eq(open_it("", "/99"), KILN_REMOTE_FAILED);
    cr_assert_str_eq(error.text, "it refuses the number of the database");
}

Test(remote_connection, a_refused_command_leaves_it_usable)
{
    static const char *const all[] = {"-OOM no \x1b[31m room\r\n", "$1\r\nv\r\n"};
    answers = all;
    fake_redis_start(answer_in_turn);
    cr_assert_eq(open_it("", ""), KILN_REMOTE_DONE, "%s", error.text);
    struct kiln_buffer value;
    kiln_buffer_init(&value);
    cr_assert_eq(get(&value), KILN_REMOTE_REFUSED);
    cr_assert_str_eq(error.text, "it refuses 'GET': OOM no ?[31m room");
    cr_assert_eq(get(&value), KILN_REMOTE_DONE, "%s", error.text);
    cr_assert_eq(fake_redis_connections(), 1);
    kiln_buffer_fini(&value);
}

/* Nobody's child inherits it, and it is none of the standard streams, even of a host that has
 * closed those. */
Test(remote_connection, the_descriptor_is_out_of_the_way)
{
    static const char *const all[] = {NULL};
    answers = all;
    fake_redis_start(answer_in_turn);
    (void)close(STDIN_FILENO);
    cr_assert_eq(open_it("", ""), KILN_REMOTE_DONE, "%s", error.text);
    cr_assert_gt(connection.descriptor, STDERR_FILENO);
    cr_assert(fcntl(connection.descriptor, F_GETFD) & FD_CLOEXEC);
}

/* Reads nothing of what follows, so that the client writes into a connection that is closed. */
static bool hang_up(int descriptor, const struct fake_redis_command *command)
{
    (void)command;
    (void)fake_redis_send_text(descriptor, "+OK\r\n");
    (void)shutdown(descriptor, SHUT_RDWR);
    return false;
}

Test(remote_connection, a_closed_connection_raises_no_signal)
{
    cr_assert_neq(signal(SIGPIPE, SIG_DFL), SIG_ERR);
    fake_redis_start(hang_up);
    char *large = calloc(1, KILN_REMOTE_VALUE_LIMIT_BYTES);
    cr_assert_eq(open_it("", ""), KILN_REMOTE_DONE, "%s", error.text);
    struct kiln_remote_wait wait = a_minute();
    cr_assert_eq(kiln_remote_connection_set(&connection, "key", "v", 1, &wait, &error),
                 KILN_REMOTE_DONE, "%s", error.text);
    while (kiln_remote_connection_is_usable(&connection))
        (void)usleep(1000);
    /* What a peer that has gone gets first is taken; the next write is the one that signals. */
    (void)send(connection.descriptor, "x", 1, MSG_NOSIGNAL);
    (void)usleep(20000);
    cr_assert_eq(kiln_remote_connection_set(&connection, "key", large,
                                            KILN_REMOTE_VALUE_LIMIT_BYTES, &wait, &error),
                 KILN_REMOTE_GONE, "%s", error.text);
    free(large);
}

/* Every part of a value in a write of its own, which the client sees as it comes. */
static bool answer_in_pieces(int descriptor, const struct fake_redis_command *command)
{
    (void)command;
    static const char answer[] = "$26\r\nabcdefghijklmnopqrstuvwxyz\r\n";
    for (size_t i = 0; i < sizeof answer - 1; i++) {
        (void)usleep(1000);
        if (!fake_redis_send(descriptor, answer + i, 1))
            return false;
    }
    return true;
}

Test(remote_connection, values_come_in_pieces)
{
    fake_redis_start(answer_in_pieces);
    cr_assert_eq(open_it("", ""), KILN_REMOTE_DONE, "%s", error.text);
    struct kiln_buffer value;
    kiln_buffer_init(&value);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(get(&value), KILN_REMOTE_DONE, "%s", error.text);
        cr_assert_str_eq(kiln_buffer_text(&value), "abcdefghijklmnopqrstuvwxyz");
    }
    kiln_buffer_fini(&value);
}

static bool answer_the_largest(int descriptor, const struct fake_redis_command *command)
{
    size_t size = KILN_REMOTE_VALUE_LIMIT_BYTES + (command->sizes[1] == strlen("key") ? 0 : 1);
    char *value = malloc(size);
    memset(value, 'x', size);
    bool sent = fake_redis_send_value(descriptor, value, size);
    free(value);
    return sent;
}

Test(remote_connection, the_limit_of_a_value)
{
    fake_redis_start(answer_the_largest);
    cr_assert_eq(open_it("", ""), KILN_REMOTE_DONE, "%s", error.text);
    struct kiln_buffer value;
    kiln_buffer_init(&value);
    cr_assert_eq(get(&value), KILN_REMOTE_DONE, "%s", error.text);
    cr_assert_eq(value.size, KILN_REMOTE_VALUE_LIMIT_BYTES);
    kiln_buffer_clear(&value);
    struct kiln_remote_wait wait = a_minute();
    cr_assert_eq(kiln_remote_connection_get(&connection, "larger", &wait, &value, &error),
                 KILN_REMOTE_TOO_LARGE);
    cr_assert_eq(value.size, 0);
    cr_assert_not(kiln_remote_connection_is_usable(&connection));
    kiln_buffer_fini(&value);
}
