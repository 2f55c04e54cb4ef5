/*
 * A server on the loopback interface, on threads of the test, that answers as the test says.
 */
#ifndef KILN_TESTS_CACHE_FAKE_REDIS_H
#define KILN_TESTS_CACHE_FAKE_REDIS_H

#include <stdbool.h>
#include <stddef.h>

enum { FAKE_REDIS_ARGUMENTS = 4 };

struct fake_redis_command {
    unsigned count;
    const char *arguments[FAKE_REDIS_ARGUMENTS]; /* with a NUL behind each */
    size_t sizes[FAKE_REDIS_ARGUMENTS];
};

/* Writes the answer to the connection; false closes it. Called on a thread per connection. */
typedef bool (*fake_redis_handler)(int connection, const struct fake_redis_command *command);

/* One per process. */
void fake_redis_start(fake_redis_handler handler);
/* Ends all connections and waits for their threads. */
void fake_redis_stop(void);
/* True once fake_redis_stop was called: for handlers that keep a client waiting. */
bool fake_redis_is_stopping(void);

unsigned fake_redis_port(void);
unsigned fake_redis_connections(void); /* that were ever made */
unsigned fake_redis_commands(void);    /* that were ever read */
/* The URL with `login` ("user:password@") in it and `rest` ("/3?timeout=50") behind it. A few calls
 * later the memory is used again. */
const char *fake_redis_url(const char *login, const char *rest);

bool fake_redis_send(int connection, const void *bytes, size_t size);
bool fake_redis_send_text(int connection, const char *text);
bool fake_redis_send_value(int connection, const void *bytes, size_t size);

#endif
