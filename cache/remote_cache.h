/*
 * The shared tier: entries in a server that speaks the Redis protocol, for many machines. Looked up
 * after everything local; written behind by a thread of its own.
 *
 * A server that is slow, away or lying costs little and breaks nothing: time-outs are short, after
 * a failure nobody asks it again for a while, one warning says so, and what it answers is verified
 * like any entry. No signal is raised, and a child that is forked starts from nothing: it uses
 * neither the connections nor the thread of its parent.
 */
#ifndef KILN_CACHE_REMOTE_CACHE_H
#define KILN_CACHE_REMOTE_CACHE_H

#include "cache/cache_key.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

#include <stddef.h>
#include <stdint.h>

struct kiln_remote_cache; /* opaque, thread-safe */

/* `url`: as cache/remote_url.h has it. KILN_BAD_ARGUMENT when it is not, without showing it, since
 * it may hold a password; KILN_UNSUPPORTED in a build without hiredis. Nothing is connected to and
 * no thread started before the first use. */
enum kiln_status kiln_remote_cache_open(const char *url, struct kiln_remote_cache **ret_remote,
                                        struct kiln_error *error) KILN_NODISCARD;
/* Waits for pending writes for a bounded, short time; the rest is dropped. */
void kiln_remote_cache_close(struct kiln_remote_cache *remote);
/* The URL without user, password and options. */
const char *kiln_remote_cache_name(const struct kiln_remote_cache *remote);

/* Appends the whole, verified entry to an empty buffer. With `mark` 0 this is the key's one entry
 * on the server, by any compiler. Otherwise it is the entry of that compiler, which the caller
 * checks. KILN_NOT_FOUND for a miss, also when the server cannot be asked or its value is damaged
 * or belongs to another key; KILN_NO_MEMORY. */
enum kiln_status kiln_remote_cache_lookup(struct kiln_remote_cache *remote,
                                          const struct kiln_cache_key *key, uint64_t mark,
                                          struct kiln_buffer *ret_entry,
                                          struct kiln_error *error) KILN_NODISCARD;
/* Copies the entry and returns; it is sent later, or dropped when the server is away or too much
 * waits already. */
void kiln_remote_cache_store(struct kiln_remote_cache *remote, const struct kiln_cache_key *key,
                             uint64_t mark, const void *entry, size_t size);
/* Waits until what was stored is sent or dropped, so many milliseconds at most. Returns how many
 * entries are not. */
size_t kiln_remote_cache_flush(struct kiln_remote_cache *remote, uint32_t milliseconds);
/* How many entries were dropped so far, except for a server that lets this user read only: that was
 * somebody's wish. */
uint64_t kiln_remote_cache_dropped(const struct kiln_remote_cache *remote);
/* Connects, logs in and asks for one value, for `kiln doctor`; `ret_ns` is the time of that last
 * exchange. KILN_IO with the reason, KILN_NO_MEMORY. Each step waits as long as a lookup does. */
enum kiln_status kiln_remote_cache_probe(struct kiln_remote_cache *remote, uint64_t *ret_ns,
                                         struct kiln_error *error) KILN_NODISCARD;

#endif
