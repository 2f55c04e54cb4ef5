#include "cache/remote_connection.h"

#include "runtime/support/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CHUNK_BYTES = 16 * 1024,
    /* How soon a waiting thread notices that another one wants the end. */
    NOTICE_MS = 20,
    /* "$", the digits of a length, CR, LF. */
    LENGTH_LINE_BYTES = 24,
    /* Of a reply without a value: far above any sentence that a server says. */
    LINE_LIMIT_BYTES = 4096,
};

enum reply_kind {
    REPLY_MISSING,
    REPLY_VALUE,
    REPLY_STATUS,
    REPLY_NIL,
    REPLY_REFUSAL,
    REPLY_UNEXPECTED,
};

/* What the reader found; its functions fill it in, so that a value is copied once. They are those
 * of the kinds of replies that judge() lets through: lists and numbers answer nothing that is asked
 * here, so hiredis never sees one. */
struct reply {
    enum reply_kind kind;
    struct kiln_buffer *value; /* NULL: a value is unexpected */
    char text[200];            /* of a refusal: printable */
};

static void *take_string(const redisReadTask *task, char *text, size_t size)
{
    struct reply *reply = task->privdata;
    if (task->type == REDIS_REPLY_STRING && reply->value != NULL) {
        reply->kind = REPLY_VALUE;
        kiln_buffer_append(reply->value, text, size);
        return reply->value->failed ? NULL : reply;
    }
    reply->kind = task->type == REDIS_REPLY_STATUS  ? REPLY_STATUS
                  : task->type == REDIS_REPLY_ERROR ? REPLY_REFUSAL
                                                    : REPLY_UNEXPECTED;
    size_t kept = size < sizeof reply->text ? size : sizeof reply->text - 1;
    for (size_t i = 0; i < kept; i++)
        reply->text[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    reply->text[kept] = '\0';
    return reply;
}

static void *take_nil(const redisReadTask *task)
{
    struct reply *reply = task->privdata;
    reply->kind = REPLY_NIL;
    return reply;
}

static void free_nothing(void *reply)
{
    (void)reply;
}

static redisReplyObjectFunctions reply_functions = {
    .createString = take_string,
    .createNil = take_nil,
    .freeObject = free_nothing,
};

void kiln_remote_connection_init(struct kiln_remote_connection *connection)
{
    atomic_init(&connection->descriptor, -1);
    connection->reader = NULL;
}

void kiln_remote_connection_close(struct kiln_remote_connection *connection)
{
    int descriptor = atomic_exchange(&connection->descriptor, -1);
    if (descriptor >= 0)
        (void)close(descriptor);
    if (connection->reader != NULL)
        redisReaderFree(connection->reader);
    connection->reader = NULL;
}

bool kiln_remote_connection_is_usable(const struct kiln_remote_connection *connection)
{
    struct pollfd wanted = {.fd = atomic_load(&connection->descriptor), .events = POLLIN};
    return wanted.fd >= 0 && poll(&wanted, 1, 0) == 0;
}

static enum kiln_remote_answer failed(struct kiln_remote_connection *connection,
                                      struct kiln_error *error, const char *problem)
{
    (void)kiln_error_set(error, KILN_IO, "%s", problem);
    kiln_remote_connection_close(connection);
    return KILN_REMOTE_FAILED;
}

/* Milliseconds that are left, 0 at the end. */
static int left(const struct kiln_remote_wait *wait)
{
    uint64_t now = kiln_monotonic_milliseconds();
    uint64_t end = wait->deadline_ms;
    uint64_t longest = INT32_MAX;
    if (wait->give_up_ms != NULL) {
        uint64_t give_up = atomic_load(wait->give_up_ms);
        end = give_up < end ? give_up : end;
        longest = NOTICE_MS;
    }
    if (now >= end)
        return 0;
    return (int)(end - now < longest ? end - now : longest);
}

/* False at the end of the time, also when the descriptor is ready: a server that sends a byte now
 * and then gets no more time than a silent one. */
static bool wait_until_ready(int descriptor, short events, const struct kiln_remote_wait *wait)
{
    struct pollfd wanted = {.fd = descriptor, .events = events};
    for (;;) {
        int milliseconds = left(wait);
        if (milliseconds == 0)
            return false;
        int ready = poll(&wanted, 1, milliseconds);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

/* A socket above the standard streams: a host that has closed its own must not write to ours. */
static int make_socket(int family)
{
    int made = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0 || made > STDERR_FILENO)
        return made;
    int moved = fcntl(made, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int reason = errno;
    (void)close(made);
    errno = reason;
    return moved;
}

/* An error number; 0 when connected. */
static int connect_by(int descriptor, const struct sockaddr *address, socklen_t size,
                      const struct kiln_remote_wait *wait)
{
    int problem = connect(descriptor, address, size) == 0 ? 0 : errno;
    if (problem != EINPROGRESS && problem != EINTR)
        return problem;
    if (!wait_until_ready(descriptor, POLLOUT, wait))
        return ETIMEDOUT;
    socklen_t problem_size = sizeof problem;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &problem, &problem_size) != 0)
        return errno;
    return problem;
}

static enum kiln_remote_answer connect_to_any(struct kiln_remote_connection *connection,
                                              const struct kiln_host_addresses *addresses,
                                              const struct kiln_remote_wait *wait,
                                              struct kiln_error *error)
{
    int problem = ETIMEDOUT;
    for (unsigned i = 0; i < addresses->count; i++) {
        int descriptor = make_socket(addresses->all[i].bytes.ss_family);
        if (descriptor < 0) {
            problem = errno;
            continue;
        }
        /* An address that does not answer leaves time for the next. */
        uint64_t now = kiln_monotonic_milliseconds();
        struct kiln_remote_wait share = *wait;
        if (share.deadline_ms > now)
            share.deadline_ms = now + (share.deadline_ms - now) / (addresses->count - i);
        problem = connect_by(descriptor, (const struct sockaddr *)&addresses->all[i].bytes,
                             addresses->all[i].size, &share);
        if (problem == 0) {
            int on = 1;
            (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            atomic_store(&connection->descriptor, descriptor);
            return KILN_REMOTE_DONE;
        }
        (void)close(descriptor);
    }
    errno = problem;
    (void)kiln_error_set(error, KILN_IO, "cannot connect: %m");
    return KILN_REMOTE_FAILED;
}

static enum kiln_remote_answer send_all(struct kiln_remote_connection *connection,
                                        const char *bytes, size_t size,
                                        const struct kiln_remote_wait *wait,
                                        struct kiln_error *error)
{
    int descriptor = atomic_load(&connection->descriptor);
    while (size > 0) {
        if (!wait_until_ready(descriptor, POLLOUT, wait))
            return failed(connection, error, "it does not take a command in time");
        ssize_t sent = send(descriptor, bytes, size, MSG_NOSIGNAL);
        if (sent >= 0) {
            bytes += sent;
            size -= (size_t)sent;
        } else if (errno != EINTR && errno != EAGAIN) {
            (void)failed(connection, error, "it closed the connection");
            return KILN_REMOTE_GONE;
        }
    }
    return KILN_REMOTE_DONE;
}

enum judgement { REPLY_ALLOWED, REPLY_GARBAGE, REPLY_TOO_LARGE };

/* Judges a reply by its first bytes and by how many have come, before more of it is kept. */
static enum judgement judge(const char *start, size_t start_bytes, size_t total_bytes)
{
    if (start[0] == '+' || start[0] == '-')
        return total_bytes <= LINE_LIMIT_BYTES ? REPLY_ALLOWED : REPLY_GARBAGE;
    if (start[0] != '$')
        return REPLY_GARBAGE;
    const char *end = memchr(start, '\r', start_bytes);
    if (end == NULL)
        return start_bytes < LENGTH_LINE_BYTES ? REPLY_ALLOWED : REPLY_GARBAGE;
    if (end - start == 3 && start[1] == '-' && start[2] == '1')
        return REPLY_ALLOWED;
    size_t length = 0;
    for (const char *c = start + 1; c < end; c++) {
        if (*c < '0' || *c > '9')
            return REPLY_GARBAGE;
        length = length * 10 + (size_t)(*c - '0');
        if (length > KILN_REMOTE_VALUE_LIMIT_BYTES)
            return REPLY_TOO_LARGE;
    }
    return end == start + 1 ? REPLY_GARBAGE : REPLY_ALLOWED;
}

/* Takes in one reply; what it is, the reader tells the reply that is its private data. */
static enum kiln_remote_answer receive(struct kiln_remote_connection *connection,
                                       const struct kiln_remote_wait *wait,
                                       struct kiln_error *error)
{
    int descriptor = atomic_load(&connection->descriptor);
    char start[LENGTH_LINE_BYTES];
    size_t start_bytes = 0;
    size_t total_bytes = 0;
    char chunk[CHUNK_BYTES];
    void *complete = NULL;
    while (complete == NULL) {
        if (!wait_until_ready(descriptor, POLLIN, wait))
            return failed(connection, error, "it does not answer in time");
        ssize_t got = recv(descriptor, chunk, sizeof chunk, 0);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0) {
            (void)failed(connection, error, "it closed the connection");
            return total_bytes == 0 ? KILN_REMOTE_GONE : KILN_REMOTE_FAILED;
        }
        size_t size = (size_t)got;
        size_t more = sizeof start - start_bytes < size ? sizeof start - start_bytes : size;
        memcpy(start + start_bytes, chunk, more);
        start_bytes += more;
        total_bytes += size;
        switch (judge(start, start_bytes, total_bytes)) {
        case REPLY_ALLOWED:
            break;
        case REPLY_TOO_LARGE:
            (void)failed(connection, error, "it has a value that is larger than any entry");
            return KILN_REMOTE_TOO_LARGE;
        case REPLY_GARBAGE:
            return failed(connection, error, "it does not speak the Redis protocol");
        }
        if (redisReaderFeed(connection->reader, chunk, size) != REDIS_OK ||
            redisReaderGetReply(connection->reader, &complete) != REDIS_OK) {
            bool no_memory = connection->reader->err == REDIS_ERR_OOM;
            (void)failed(connection, error, "it does not speak the Redis protocol");
            return no_memory ? KILN_REMOTE_NO_MEMORY : KILN_REMOTE_FAILED;
        }
    }
    if (connection->reader->pos != connection->reader->len)
        return failed(connection, error, "it answers more than it was asked");
    return KILN_REMOTE_DONE;
}

/* Sends a command and takes in the reply to it. KILN_REMOTE_DONE: the reply is of a kind that
 * somebody may expect, and the connection is ready for the next command. */
static enum kiln_remote_answer exchange(struct kiln_remote_connection *connection, int count,
                                        const char **arguments, const size_t *sizes,
                                        struct reply *reply, const struct kiln_remote_wait *wait,
                                        struct kiln_error *error)
{
    char *command = NULL;
    int size = (int)redisFormatCommandArgv(&command, count, arguments, sizes);
    if (size < 0) {
        (void)failed(connection, error, "out of memory");
        return KILN_REMOTE_NO_MEMORY;
    }
    enum kiln_remote_answer answer = send_all(connection, command, (size_t)size, wait, error);
    /* It may hold the password. */
    explicit_bzero(command, (size_t)size);
    redisFreeCommand(command);
    if (answer != KILN_REMOTE_DONE)
        return answer;
    connection->reader->privdata = reply;
    answer = receive(connection, wait, error);
    if (connection->reader != NULL)
        connection->reader->privdata = NULL;
    if (answer == KILN_REMOTE_DONE &&
        (reply->kind == REPLY_MISSING || reply->kind == REPLY_UNEXPECTED))
        return failed(connection, error, "it answers what was not asked");
    return answer;
}

/* AUTH and SELECT, whose only good answer is a status. */
static enum kiln_remote_answer prepare(struct kiln_remote_connection *connection, int count,
                                       const char **arguments, const char *refusal,
                                       const struct kiln_remote_wait *wait,
                                       struct kiln_error *error)
{
    struct reply reply = {.kind = REPLY_MISSING};
    size_t sizes[3];
    for (int i = 0; i < count; i++)
        sizes[i] = strlen(arguments[i]);
    enum kiln_remote_answer answer =
        exchange(connection, count, arguments, sizes, &reply, wait, error);
    if (answer != KILN_REMOTE_DONE)
        return answer;
    /* Without the server's words: some repeat the command that they do not like. */
    if (reply.kind == REPLY_REFUSAL)
        return failed(connection, error, refusal);
    if (reply.kind != REPLY_STATUS)
        return failed(connection, error, "it answers what was not asked");
    return KILN_REMOTE_DONE;
}

enum kiln_remote_answer kiln_remote_connection_open(struct kiln_remote_connection *connection,
                                                    const struct kiln_remote_url *url,
                                                    struct kiln_host_resolver *resolver,
                                                    const struct kiln_remote_wait *wait,
                                                    struct kiln_error *error)
{
    kiln_remote_connection_close(connection);
    struct kiln_host_addresses addresses;
    enum kiln_status status;
    int milliseconds;
    do {
        milliseconds = left(wait);
        status = kiln_host_resolve(resolver, kiln_monotonic_milliseconds() + (uint64_t)milliseconds,
                                   &addresses, error);
    } while (status == KILN_TIMEOUT && milliseconds > 0);
    if (status != KILN_OK)
        return KILN_REMOTE_FAILED;
    connection->reader = redisReaderCreateWithFunctions(&reply_functions);
    if (connection->reader == NULL) {
        (void)kiln_error_set(error, KILN_NO_MEMORY, "out of memory");
        return KILN_REMOTE_NO_MEMORY;
    }
    enum kiln_remote_answer answer = connect_to_any(connection, &addresses, wait, error);
    if (answer == KILN_REMOTE_DONE && url->password[0] != '\0') {
        bool has_user = url->user[0] != '\0';
        const char *login[3] = {"AUTH", has_user ? url->user : url->password, url->password};
        answer = prepare(connection, has_user ? 3 : 2, login, "it refuses the user or the password",
                         wait, error);
    }
    if (answer == KILN_REMOTE_DONE && url->database != 0) {
        char number[sizeof "4294967295"];
        (void)snprintf(number, sizeof number, "%u", (unsigned)url->database);
        const char *select[2] = {"SELECT", number};
        answer =
            prepare(connection, 2, select, "it refuses the number of the database", wait, error);
    }
    if (answer != KILN_REMOTE_DONE)
        kiln_remote_connection_close(connection);
    return answer;
}

static enum kiln_remote_answer refused(const struct reply *reply, const char *command,
                                       struct kiln_error *error)
{
    (void)kiln_error_set(error, KILN_IO, "it refuses '%s': %s", command, reply->text);
    return KILN_REMOTE_REFUSED;
}

enum kiln_remote_answer kiln_remote_connection_get(struct kiln_remote_connection *connection,
                                                   const char *key,
                                                   const struct kiln_remote_wait *wait,
                                                   struct kiln_buffer *ret_value,
                                                   struct kiln_error *error)
{
    const char *arguments[2] = {"GET", key};
    size_t sizes[2] = {strlen("GET"), strlen(key)};
    struct reply reply = {.kind = REPLY_MISSING, .value = ret_value};
    enum kiln_remote_answer answer = exchange(connection, 2, arguments, sizes, &reply, wait, error);
    if (answer != KILN_REMOTE_DONE)
        return answer;
    if (reply.kind == REPLY_REFUSAL)
        return refused(&reply, "GET", error);
    if (reply.kind == REPLY_NIL)
        return KILN_REMOTE_NOTHING;
    if (reply.kind != REPLY_VALUE)
        return failed(connection, error, "it answers what was not asked");
    return KILN_REMOTE_DONE;
}

enum kiln_remote_answer kiln_remote_connection_set(struct kiln_remote_connection *connection,
                                                   const char *key, const void *value, size_t size,
                                                   const struct kiln_remote_wait *wait,
                                                   struct kiln_error *error)
{
    const char *arguments[3] = {"SET", key, value};
    size_t sizes[3] = {strlen("SET"), strlen(key), size};
    struct reply reply = {.kind = REPLY_MISSING};
    enum kiln_remote_answer answer = exchange(connection, 3, arguments, sizes, &reply, wait, error);
    if (answer != KILN_REMOTE_DONE)
        return answer;
    if (reply.kind == REPLY_REFUSAL)
        return refused(&reply, "SET", error);
    if (reply.kind != REPLY_STATUS)
        return failed(connection, error, "it answers what was not asked");
    return KILN_REMOTE_DONE;
}
