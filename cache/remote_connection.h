/*
 * One connection to a server that speaks the Redis protocol: asked one command at a time, each by a
 * deadline that holds for the whole of it, however slowly the bytes come.
 *
 * hiredis writes the commands and reads the replies; the socket is ours, since hiredis's own
 * time-outs hold per read, its writes raise SIGPIPE and its sockets survive an exec. A connection
 * that did anything unexpected is closed.
 */
#ifndef KILN_CACHE_REMOTE_CONNECTION_H
#define KILN_CACHE_REMOTE_CONNECTION_H

#include "cache/host_resolver.h"
#include "cache/remote_url.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of an entry: above any program that was seen by two orders of magnitude, and what a lookup can
 * take from a network of 1 Gbit/s within a second. */
enum { KILN_REMOTE_VALUE_LIMIT_BYTES = 16 * 1024 * 1024 };

struct kiln_remote_connection {
    /* -1: not connected. Atomic for a forked child alone, which closes the copies it got. */
    _Atomic int descriptor;
    struct redisReader *reader;
};

/* How long to wait; times are of kiln_monotonic_milliseconds. */
struct kiln_remote_wait {
    uint64_t deadline_ms;
    /* NULL, or an earlier end that another thread may set at any time. */
    const _Atomic uint64_t *give_up_ms;
};

enum kiln_remote_answer {
    KILN_REMOTE_DONE,      /* got the value, or stored it */
    KILN_REMOTE_NOTHING,   /* there is no such value */
    KILN_REMOTE_TOO_LARGE, /* there is one above the limit; the connection is closed */
    KILN_REMOTE_REFUSED,   /* the server declined the command in a sentence of its own */
    KILN_REMOTE_GONE,      /* closed by the server before it answered, as idle ones may be */
    KILN_REMOTE_FAILED,    /* slow, unreachable, or not speaking the protocol */
    KILN_REMOTE_NO_MEMORY,
};

void kiln_remote_connection_init(struct kiln_remote_connection *connection);
void kiln_remote_connection_close(struct kiln_remote_connection *connection);
/* True if it is connected and the server is silent, as it has to be between commands. */
bool kiln_remote_connection_is_usable(const struct kiln_remote_connection *connection);

/* Resolves, connects, logs in and selects the database. All but KILN_REMOTE_DONE leave it closed
 * and say why in `error`, without the password; KILN_REMOTE_REFUSED is none of them. */
enum kiln_remote_answer kiln_remote_connection_open(struct kiln_remote_connection *connection,
                                                    const struct kiln_remote_url *url,
                                                    struct kiln_host_resolver *resolver,
                                                    const struct kiln_remote_wait *wait,
                                                    struct kiln_error *error) KILN_NODISCARD;
/* Appends the value to an empty buffer, which may hold a part of it after a failure. `error` is set
 * for every answer but KILN_REMOTE_DONE and KILN_REMOTE_NOTHING. */
enum kiln_remote_answer kiln_remote_connection_get(struct kiln_remote_connection *connection,
                                                   const char *key,
                                                   const struct kiln_remote_wait *wait,
                                                   struct kiln_buffer *ret_value,
                                                   struct kiln_error *error) KILN_NODISCARD;
enum kiln_remote_answer kiln_remote_connection_set(struct kiln_remote_connection *connection,
                                                   const char *key, const void *value, size_t size,
                                                   const struct kiln_remote_wait *wait,
                                                   struct kiln_error *error) KILN_NODISCARD;

#endif
