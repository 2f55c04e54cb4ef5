#include "tests/cache/fake_redis.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS = 4096 };

static struct {
    fake_redis_handler handler;
    int listener;
    unsigned port;
    pthread_t acceptor;
    pthread_t threads[CONNECTIONS];
    _Atomic int descriptors[CONNECTIONS];
    atomic_uint connections;
    atomic_uint commands;
    atomic_bool stopping;
} server;

static void check(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    abort();
}

static bool read_line(FILE *input, char first, size_t *ret_number)
{
    char line[64];
    if (fgets(line, sizeof line, input) == NULL || line[0] != first)
        return false;
    *ret_number = strtoul(line + 1, NULL, 10);
    return true;
}

static bool read_command(FILE *input, struct fake_redis_command *command)
{
    size_t count;
    *command = (struct fake_redis_command){.count = 0};
    if (!read_line(input, '*', &count) || count > FAKE_REDIS_ARGUMENTS)
        return false;
    while (command->count < count) {
        size_t size;
        if (!read_line(input, '$', &size))
            return false;
        char *argument = malloc(size + 3);
        check(argument != NULL, "malloc");
        command->arguments[command->count] = argument;
        command->sizes[command->count++] = size;
        if (fread(argument, 1, size + 2, input) != size + 2)
            return false;
        argument[size] = '\0';
    }
    return true;
}

static void *serve(void *context)
{
    size_t number = (size_t)context;
    int descriptor = server.descriptors[number];
    FILE *input = fdopen(dup(descriptor), "r");
    check(input != NULL, "fdopen");
    bool going_on = true;
    while (going_on) {
        struct fake_redis_command command;
        going_on = read_command(input, &command);
        if (going_on) {
            server.commands++;
            going_on = server.handler(descriptor, &command);
        }
        for (unsigned i = 0; i < command.count; i++)
            free((char *)command.arguments[i]);
    }
    (void)fclose(input);
    (void)shutdown(descriptor, SHUT_RDWR);
    return NULL;
}

static void *accept_all(void *context)
{
    (void)context;
    for (;;) {
        int descriptor = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC);
        if (descriptor < 0 || server.stopping)
            return NULL;
        unsigned number = server.connections;
        check(number < CONNECTIONS, "too many connections");
        int on = 1;
        check(setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "setsockopt");
        server.descriptors[number] = descriptor;
        /* Before anything is answered: a test may look at it right after the answer. */
        server.connections++;
        check(pthread_create(&server.threads[number], NULL, serve, (void *)(size_t)number) == 0,
              "pthread_create");
    }
}

void fake_redis_start(fake_redis_handler handler)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    server.handler = handler;
    server.connections = server.commands = 0;
    server.stopping = false;
    server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(server.listener >= 0, "socket");
    check(bind(server.listener, (struct sockaddr *)&address, size) == 0, "bind");
    check(listen(server.listener, 128) == 0, "listen");
    check(getsockname(server.listener, (struct sockaddr *)&address, &size) == 0, "getsockname");
    server.port = ntohs(address.sin_port);
    check(pthread_create(&server.acceptor, NULL, accept_all, NULL) == 0, "pthread_create");
}

void fake_redis_stop(void)
{
    server.stopping = true;
    (void)shutdown(server.listener, SHUT_RDWR);
    (void)pthread_join(server.acceptor, NULL);
    (void)close(server.listener);
    for (unsigned i = 0; i < server.connections; i++) {
        (void)shutdown(server.descriptors[i], SHUT_RDWR);
        (void)pthread_join(server.threads[i], NULL);
        (void)close(server.descriptors[i]);
    }
}

bool fake_redis_is_stopping(void)
{
    return server.stopping;
}

unsigned fake_redis_port(void)
{
    return server.port;
}

unsigned fake_redis_connections(void)
{
    return server.connections;
}

unsigned fake_redis_commands(void)
{
    return server.commands;
}

const char *fake_redis_url(const char *login, const char *rest)
{
    static char urls[4][512];
    static unsigned next;
    char *url = urls[next++ % 4];
    (void)snprintf(url, sizeof urls[0], "redis://%s127.0.0.1:%u%s", login, server.port, rest);
    return url;
}

bool fake_redis_send(int connection, const void *bytes, size_t size)
{
    const char *next = bytes;
    while (size > 0) {
        ssize_t sent = send(connection, next, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        next += sent;
        size -= (size_t)sent;
    }
    return true;
}

bool fake_redis_send_text(int connection, const char *text)
{
    return fake_redis_send(connection, text, strlen(text));
}

bool fake_redis_send_value(int connection, const void *bytes, size_t size)
{
    char head[32];
    (void)snprintf(head, sizeof head, "$%zu\r\n", size);
    return fake_redis_send_text(connection, head) && fake_redis_send(connection, bytes, size) &&
           fake_redis_send_text(connection, "\r\n");
}
