/*
 * What a store is made of: for cache_store.c, cache_lookup.c, cache_inventory.c,
 * cache_visit.c and compile_claim.c.
 */
#ifndef KILN_CACHE_CACHE_STORE_STATE_H
#define KILN_CACHE_CACHE_STORE_STATE_H

#include "cache/cache_budget.h"
#include "cache/cache_layer.h"
#include "cache/cache_store.h"
#include "cache/remote_cache.h"

#include <stdatomic.h>

/* All but the atomics is never changed after it was opened. */
struct kiln_cache_store {
    struct kiln_cache_directory directory; /* its path is NULL when there is none */
    struct kiln_cache_budget budget;
    atomic_bool told_of_large_entry;
    _Atomic uint64_t unwritten;      /* as in struct kiln_cache_losses */
    struct kiln_cache_layer *layers; /* owned */
    size_t layer_count;
    struct kiln_remote_cache *remote; /* owned; NULL: none */
    bool needs_same_compiler;         /* KILN_CACHE_ACCEPT */
};

static inline bool kiln_cache_store_has_directory(const struct kiln_cache_store *store)
{
    return store->directory.path != NULL;
}

/* Writes an entry to the directory, if there is one and it may hold the entry, for the compiler of
 * that mark; 0: as made elsewhere. */
enum kiln_status kiln_cache_store_keep(struct kiln_cache_store *store,
                                       const struct kiln_cache_key *key, uint64_t mark,
                                       const struct kiln_buffer *entry,
                                       struct kiln_error *error) KILN_NODISCARD;

#endif
