/* In the place of remote_cache.c where there is no hiredis to build it with. */
#include "cache/remote_cache.h"

#include <assert.h>

enum kiln_status kiln_remote_cache_open(const char *url, struct kiln_remote_cache **ret_remote,
                                        struct kiln_error *error)
{
    (void)url;
    (void)ret_remote;
    (void)kiln_error_set(error, KILN_UNSUPPORTED, "this build of Kiln has no shared cache");
    kiln_error_hint(error, "it was built without hiredis (libhiredis-dev)");
    return error->status;
}

void kiln_remote_cache_close(struct kiln_remote_cache *remote)
{
    assert(remote == NULL);
    (void)remote;
}

const char *kiln_remote_cache_name(const struct kiln_remote_cache *remote)
{
    (void)remote;
    assert(!"there is none");
    return "";
}

enum kiln_status kiln_remote_cache_lookup(struct kiln_remote_cache *remote,
                                          const struct kiln_cache_key *key, uint64_t mark,
                                          struct kiln_buffer *ret_entry, struct kiln_error *error)
{
    (void)remote;
    (void)key;
    (void)mark;
    (void)ret_entry;
    assert(!"there is none");
    return kiln_error_set(error, KILN_NOT_FOUND, "this build of Kiln has no shared cache");
}

void kiln_remote_cache_store(struct kiln_remote_cache *remote, const struct kiln_cache_key *key,
                             uint64_t mark, const void *entry, size_t size)
{
    (void)remote;
    (void)key;
    (void)mark;
    (void)entry;
    (void)size;
    assert(!"there is none");
}

size_t kiln_remote_cache_flush(struct kiln_remote_cache *remote, uint32_t milliseconds)
{
    (void)remote;
    (void)milliseconds;
    assert(!"there is none");
    return 0;
}

uint64_t kiln_remote_cache_dropped(const struct kiln_remote_cache *remote)
{
    (void)remote;
    assert(!"there is none");
    return 0;
}

enum kiln_status kiln_remote_cache_probe(struct kiln_remote_cache *remote, uint64_t *ret_ns,
                                         struct kiln_error *error)
{
    (void)remote;
    (void)ret_ns;
    assert(!"there is none");
    return kiln_error_set(error, KILN_UNSUPPORTED, "this build of Kiln has no shared cache");
}
