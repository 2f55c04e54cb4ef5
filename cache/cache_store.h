/*
 * The store: what was compiled, by key, from a directory of this user's, read-only layers below it
 * and a shared server beyond. One file per entry, found by the key's hash, trusted only after every
 * byte of it was verified and the key inside was compared byte for byte. Any doubt is a miss, never
 * an error. Writers use a unique temporary name in the same directory and rename. Safe among any
 * number of processes and threads, without a lock anywhere.
 *
 * Layout and format: docs/cache-format.md. The store knows nothing of what a payload means.
 * cache/cache_inventory.h lists, verifies and prunes.
 */
#ifndef KILN_CACHE_CACHE_STORE_H
#define KILN_CACHE_CACHE_STORE_H

#include "cache/cache_key.h"
#include "cache/entry_format.h"
#include "runtime/support/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kiln_cache_store; /* opaque, thread-safe */

/* Every member that is NULL comes from the environment, which has the rules and defaults:
 * docs/environment.md. All are copied. HIPDNN_DISABLE_CACHE leaves none of the environment's
 * directory and layers. */
struct kiln_cache_options {
    /* Else KILN_CACHE_DIR, HIPDNN_CACHE_DIR/kiln, XDG_CACHE_HOME/kiln, HOME/.cache/kiln: the first
     * that is set. Created with mode 0700; used only when it belongs to this user and nobody else
     * can write to it. */
    const char *directory;
    /* Bytes of all files in the directory; 0: no limit. Else KILN_CACHE_MAX_SIZE. */
    const uint64_t *max_bytes;
    /* "directory-or-pack:..."; "": none. Else KILN_CACHE_LAYERS. */
    const char *layers;
    /* The last layer, silently left out when it does not exist; "": none. Else the one that was
     * chosen at compile time. */
    const char *system_layer;
    /* URL of the shared tier; "": none. Else KILN_CACHE_REMOTE. */
    const char *remote;
    /* The directory is not created, for callers that only look. If it is missing, that is
     * KILN_NOT_FOUND if `directory` names it, and otherwise an empty store that takes no insert. */
    bool no_create;
};

/*
 * `options` may be NULL. What the environment names and cannot be used is left out with a warning
 * for each: the directory (memory only), a layer, the shared tier. Fails when kiln_status_may_pass,
 * or when `options` names a directory or a URL that cannot be used.
 */
enum kiln_status kiln_cache_store_open(const struct kiln_cache_options *options,
                                       struct kiln_cache_store **ret_store,
                                       struct kiln_error *error) KILN_NODISCARD;
/* Waits a short, bounded time for writes to the shared tier. */
void kiln_cache_store_close(struct kiln_cache_store *store);

/* NULL when the store has no directory. */
const char *kiln_cache_store_directory(const struct kiln_cache_store *store);
/* 0: no limit. */
uint64_t kiln_cache_store_max_bytes(const struct kiln_cache_store *store);
/* The URL of the shared tier without user, password and options; NULL when there is none. */
const char *kiln_cache_store_remote(const struct kiln_cache_store *store);

struct kiln_cache_layer_info {
    const char *path; /* the store's */
    bool is_pack;     /* else a directory */
    bool is_system;   /* the one that nobody named */
};
/* The layers in use, in the order of lookup. */
size_t kiln_cache_store_layer_count(const struct kiln_cache_store *store);
struct kiln_cache_layer_info kiln_cache_store_layer(const struct kiln_cache_store *store,
                                                    size_t index);

/* Lookups prefer entries of the compiler here, wherever they are. This says which others they take.
 */
enum kiln_cache_reach {
    /* First an entry of this compiler, in the directory, the layers in their order, the shared
     * tier. Then a shipped entry of any compiler: an imported one, one of a layer or of the shared
     * tier. Entries that another compiler made in the directory are left out. */
    KILN_CACHE_SHIPPED,
    /* Then also what other compilers made in the directory. A query without a compiler always means
     * this. */
    KILN_CACHE_ALL,
    /* Only entries of this compiler in the directory: for a second look, since another process may
     * have inserted the entry there. */
    KILN_CACHE_OWN_DIRECTORY,
};

struct kiln_cache_query {
    /* Callers that know an entry's hash and not its key use kiln_cache_key_of_hash, and check the
     * entry's key as far as they can. */
    const struct kiln_cache_key *key;
    const char *compiler; /* identity of the compiler here; NULL: none, or any will do */
    enum kiln_cache_reach reach;
};

struct kiln_cache_found {
    struct kiln_buffer entry; /* the whole verified entry; owned */
    struct kiln_entry_view view;
    const char *place; /* the name of the tier that had it, which is the store's */
};

/*
 * KILN_OK with what was found, for the caller to fini, KILN_NOT_FOUND for a miss (damaged entries
 * are misses; in the directory they are removed, in a layer they stay), KILN_NO_MEMORY. A hit of
 * the shared tier is copied to the directory. With KILN_CACHE_ACCEPT=same-compiler, entries of
 * other compilers are misses.
 */
enum kiln_status kiln_cache_store_find(struct kiln_cache_store *store,
                                       const struct kiln_cache_query *query,
                                       struct kiln_cache_found *ret_found,
                                       struct kiln_error *error) KILN_NODISCARD;
void kiln_cache_found_fini(struct kiln_cache_found *found);

/* A lookup without a compiler. The payload is memory for free(). */
enum kiln_status kiln_cache_store_lookup(struct kiln_cache_store *store,
                                         const struct kiln_cache_key *key, void **ret_payload,
                                         size_t *ret_size, struct kiln_error *error) KILN_NODISCARD;
/*
 * Notes the use of an entry that is not read. A lookup does the same, at most once per
 * KILN_ENTRY_USE_INTERVAL_S; `is_now` lifts that limit. `mark` identifies the compiler that made
 * the entry. False when the directory has no file for it.
 */
bool kiln_cache_store_note_use(struct kiln_cache_store *store, struct kiln_hash128 hash,
                               uint64_t mark, bool is_now);
/*
 * Writes or replaces the maker's entry in the directory, next to those of other compilers, and
 * hands it to the shared tier, which sends it later. A store without both does nothing. An entry
 * larger than the limit is not kept. Only the directory can fail. It leaves no partial entry then;
 * callers log the failure (kiln_cache_warn_once) and go on.
 */
enum kiln_status kiln_cache_store_insert(struct kiln_cache_store *store,
                                         const struct kiln_cache_key *key,
                                         const struct kiln_cache_maker *maker, const void *payload,
                                         size_t size, struct kiln_error *error) KILN_NODISCARD;

/* Entries that a tier was given and did not keep, since the store was opened. */
struct kiln_cache_losses {
    uint64_t unwritten; /* by the directory: it could not be written, or they exceed its limit */
    uint64_t unsent;    /* by the shared tier, those that are not sent yet among them */
};
/* For programs that fill a cache. Waits until the shared tier was sent what waits, or that was
 * dropped, so many milliseconds at most. Returns how many entries still wait. */
size_t kiln_cache_store_flush(struct kiln_cache_store *store, uint32_t milliseconds);
struct kiln_cache_losses kiln_cache_store_losses(struct kiln_cache_store *store);
/*
 * For import: verifies the bytes of a whole entry and writes it to the directory, as made
 * elsewhere, unless a good entry of that key and compiler is there already, for which `ret_added`
 * is false. KILN_CORRUPT when it is damaged, KILN_BAD_ARGUMENT when it is larger than the limit,
 * KILN_NOT_FOUND in a store without a directory. The shared tier hears nothing of it.
 */
enum kiln_status kiln_cache_store_insert_entry(struct kiln_cache_store *store, const void *entry,
                                               size_t size, bool *ret_added,
                                               struct kiln_error *error) KILN_NODISCARD;

#endif
