/*
 * Values that wait to be sent to the shared tier, and the thread that sends them.
 */
#ifndef KILN_CACHE_REMOTE_WRITER_H
#define KILN_CACHE_REMOTE_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* What waits at most: a burst of compiles, not a server that stays slow. */
    KILN_REMOTE_QUEUE_VALUES = 256,
    KILN_REMOTE_QUEUE_BYTES = 64 * 1024 * 1024,
    /* How long a process that ends waits for what is not sent yet. */
    KILN_REMOTE_FLUSH_MS = 200,
};

struct kiln_remote_writer; /* opaque, thread-safe */

/* Sends one value or drops it; called on the writer's thread. Returns soon after `*give_up_ms` (of
 * kiln_monotonic_milliseconds), which may be set to an earlier time during the call. */
typedef void (*kiln_remote_sender)(void *context, const char *key, const void *value, size_t size,
                                   const _Atomic uint64_t *give_up_ms);

/* Starts nothing. NULL when memory is out. `context` outlives the writer. */
struct kiln_remote_writer *kiln_remote_writer_create(kiln_remote_sender sender, void *context);
/* Waits for the values to be sent, KILN_REMOTE_FLUSH_MS at most, and drops the rest. */
void kiln_remote_writer_destroy(struct kiln_remote_writer *writer);
/* Waits until all values are sent or dropped, so many milliseconds at most. Returns how many are
 * not. */
size_t kiln_remote_writer_flush(struct kiln_remote_writer *writer, uint32_t milliseconds);
/* Copies the value and starts the thread when there is none. False when it is dropped: too much
 * waits already, or there is no memory or no thread to be had. */
bool kiln_remote_writer_push(struct kiln_remote_writer *writer, const char *key, const void *value,
                             size_t size);

#endif
