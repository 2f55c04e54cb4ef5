/*
 * From a host's name to its addresses, without making anybody wait longer than they want.
 *
 * The C library's resolver may take half a minute and cannot be interrupted, so a thread of its own
 * asks it. Addresses written as numbers need no thread.
 */
#ifndef KILN_CACHE_HOST_RESOLVER_H
#define KILN_CACHE_HOST_RESOLVER_H

#include "runtime/support/error.h"

#include <stdint.h>
#include <sys/socket.h>

enum { KILN_HOST_ADDRESSES = 8 };

struct kiln_host_addresses {
    struct {
        struct sockaddr_storage bytes;
        socklen_t size;
    } all[KILN_HOST_ADDRESSES];
    unsigned count;
};

struct kiln_host_resolver; /* opaque, thread-safe */

/* `host` is copied. Starts nothing. NULL when memory is out. */
struct kiln_host_resolver *kiln_host_resolver_create(const char *host, uint16_t port);
/* When the C library is still busy, its thread is left to end by itself, and the library that holds
 * this code stays loaded for it. */
void kiln_host_resolver_destroy(struct kiln_host_resolver *resolver);

/* At least one address; those of the last minute are given again. KILN_TIMEOUT when there is none
 * by `deadline_ms` (of kiln_monotonic_milliseconds; the search goes on), KILN_IO when there is
 * none. */
enum kiln_status kiln_host_resolve(struct kiln_host_resolver *resolver, uint64_t deadline_ms,
                                   struct kiln_host_addresses *ret_addresses,
                                   struct kiln_error *error) KILN_NODISCARD;

#endif
