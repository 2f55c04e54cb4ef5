/*
 * Reading every entry of a place, with all checks: for `kiln cache`.
 */
#ifndef KILN_CACHE_CACHE_VISIT_H
#define KILN_CACHE_CACHE_VISIT_H

#include "cache/cache_layer.h"
#include "cache/cache_store.h"
#include "cache/entry_format.h"

/* Valid during the visit. */
struct kiln_cache_visited {
    char hex[KILN_CACHE_HASH_HEX + 1]; /* the name: by the file or by the index of the pack */
    /* No entry but a whole fan-out directory, of that name, which cannot be used: with KILN_IO. */
    bool is_directory;
    uint64_t bytes;     /* of the whole entry, as directory or index say */
    int64_t last_use_s; /* seconds since 1970, to about an hour; 0 in a pack */
    /* KILN_OK; KILN_CORRUPT when it is damaged, KILN_IO when it could not be judged: then with the
     * reason, and without bytes. */
    enum kiln_status status;
    const char *reason;
    const void *entry; /* verified, `bytes` of them */
    struct kiln_entry_view view;
};

/* A status other than KILN_OK ends the walk and is returned. */
typedef enum kiln_status (*kiln_cache_entry_visitor)(void *context,
                                                     const struct kiln_cache_visited *entry,
                                                     struct kiln_error *error);

/* In the order of names. Entries that come or go meanwhile may be missed. */
enum kiln_status kiln_cache_layer_visit(const struct kiln_cache_layer *layer,
                                        kiln_cache_entry_visitor visit, void *context,
                                        struct kiln_error *error) KILN_NODISCARD;
/* `source`: as in cache_inventory.h, the store's directory (nothing when it has none) or a layer.
 * Nothing is removed, and no use is noted. */
enum kiln_status kiln_cache_store_visit(struct kiln_cache_store *store, int source,
                                        kiln_cache_entry_visitor visit, void *context,
                                        struct kiln_error *error) KILN_NODISCARD;
/* The same without entries of more bytes than `most_bytes`, which are not
 * read. */
enum kiln_status kiln_cache_store_visit_small(struct kiln_cache_store *store, int source,
                                              uint64_t most_bytes, kiln_cache_entry_visitor visit,
                                              void *context,
                                              struct kiln_error *error) KILN_NODISCARD;

#endif
