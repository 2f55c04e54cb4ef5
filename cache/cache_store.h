/*
 * The directory store: one file per entry, found by the key's hash, trusted only after every byte
 * of it was verified and the key inside was compared byte for byte. Any doubt is a miss, never an
 * error. Writers use a unique temporary name in the same directory and rename. Safe among any
 * number of processes.
 *
 * Layout and format: docs/cache-format.md. The store knows nothing of what a payload means.
 */
#ifndef KILN_CACHE_CACHE_STORE_H
#define KILN_CACHE_CACHE_STORE_H

#include "cache/cache_key.h"
#include "runtime/support/error.h"

#include <stdbool.h>
#include <stdint.h>

struct kiln_cache_store; /* opaque, thread-safe */

/*
 * Chooses the directory: `directory` when not NULL, else KILN_CACHE_DIR, HIPDNN_CACHE_DIR/kiln,
 * XDG_CACHE_HOME/kiln, HOME/.cache/kiln, where the first variable that is set decides; created with
 * mode 0700, and used only when it belongs to this user and nobody else can write to it. When none
 * can be used the store works without a directory (memory only), logs one warning with the reason,
 * and every lookup misses. Fails only for lack of memory, or when `directory` was named explicitly
 * and cannot be used.
 */
enum kiln_status kiln_cache_store_open(const char *directory, struct kiln_cache_store **ret_store,
                                       struct kiln_error *error) KILN_NODISCARD;
void kiln_cache_store_close(struct kiln_cache_store *store);
/* NULL when the store has no directory. */
const char *kiln_cache_store_directory(const struct kiln_cache_store *store);

/* KILN_OK with the payload in memory that the caller frees with free(), KILN_NOT_FOUND for a miss
 * (damaged entries are misses, are logged and removed), KILN_NO_MEMORY. */
enum kiln_status kiln_cache_store_lookup(struct kiln_cache_store *store,
                                         const struct kiln_cache_key *key, void **ret_payload,
                                         size_t *ret_size, struct kiln_error *error) KILN_NODISCARD;
/* Writes or replaces an entry; does nothing in a store without a directory. A failure leaves no
 * partial entry; callers log it and go on. */
enum kiln_status kiln_cache_store_insert(struct kiln_cache_store *store,
                                         const struct kiln_cache_key *key, const void *payload,
                                         size_t size, struct kiln_error *error) KILN_NODISCARD;

struct kiln_cache_stats {
    uint64_t entries;
    uint64_t bytes;           /* sum of the sizes of the entries */
    uint64_t damaged;         /* counted by verify only */
    uint64_t temporary_files; /* left by writers that died */
};
enum kiln_status kiln_cache_store_stats(struct kiln_cache_store *store,
                                        struct kiln_cache_stats *ret_stats,
                                        struct kiln_error *error) KILN_NODISCARD;
/* Reads and verifies every entry and removes none; `report` (may be NULL) is called for each in the
 * order of their names, ok or not, `file` being relative to the directory, `reason` empty when ok.
 */
enum kiln_status kiln_cache_store_verify(struct kiln_cache_store *store,
                                         void (*report)(void *context, const char *file, bool ok,
                                                        const char *reason),
                                         void *context, struct kiln_cache_stats *ret_stats,
                                         struct kiln_error *error) KILN_NODISCARD;
/* Removes all entries and temporary files of this format; nothing else in the directory. */
enum kiln_status kiln_cache_store_clear(struct kiln_cache_store *store, uint64_t *ret_removed,
                                        struct kiln_error *error) KILN_NODISCARD;

#endif
