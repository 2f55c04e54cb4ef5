/*
 * What is in a store: for `kiln cache`. The shared tier is in none of it. A fan-out directory that
 * cannot be used (a link, a file of that name, somebody else's) is left out with a warning, unless
 * it says otherwise below.
 */
#ifndef KILN_CACHE_CACHE_INVENTORY_H
#define KILN_CACHE_CACHE_INVENTORY_H

#include "cache/cache_store.h"
#include "cache/entry_format.h"
#include "runtime/support/buffer.h"

struct kiln_cache_stats {
    uint64_t entries;
    uint64_t bytes;       /* sum of the sizes of the entries */
    uint64_t damaged;     /* counted by verify only */
    uint64_t old_entries; /* of formats before this one, which are never read */
    uint64_t old_bytes;
    uint64_t temporary_files; /* being written, or left by writers that died */
    uint64_t temporary_bytes;
};
/* Of the directory. */
enum kiln_status kiln_cache_store_stats(struct kiln_cache_store *store,
                                        struct kiln_cache_stats *ret_stats,
                                        struct kiln_error *error) KILN_NODISCARD;
/* Reads and verifies every entry of the directory and removes none; `report` (may be NULL) is
 * called for each in the order of their names, ok or not, `file` being relative to the directory,
 * `reason` empty when ok. A fan-out directory that cannot be used is one damaged file. */
enum kiln_status kiln_cache_store_verify(struct kiln_cache_store *store,
                                         void (*report)(void *context, const char *file, bool ok,
                                                        const char *reason),
                                         void *context, struct kiln_cache_stats *ret_stats,
                                         struct kiln_error *error) KILN_NODISCARD;
struct kiln_cache_cleared {
    uint64_t files;
    uint64_t bytes;
};
/* Removes all entries and temporary files of this format from the directory; nothing else in it.
 * KILN_IO also when there is a fan-out directory that cannot be used: the others are emptied. */
enum kiln_status kiln_cache_store_clear(struct kiln_cache_store *store,
                                        struct kiln_cache_cleared *ret_cleared,
                                        struct kiln_error *error) KILN_NODISCARD;

/*
 * Removes from the directory the entries that `judge` wants removed; it is called for each sound
 * one, in the order of names. Damaged ones stay. A status of `judge` other than KILN_OK ends the
 * walk and is returned. `ret_removed`: what went before a failure too. With `is_dry` everything
 * stays, and `ret_removed` says what would go. KILN_IO when an entry cannot be removed.
 */
enum kiln_status kiln_cache_store_remove_if(
    struct kiln_cache_store *store,
    enum kiln_status (*judge)(void *context, const struct kiln_entry_view *view, bool *ret_remove,
                              struct kiln_error *error),
    void *context, bool is_dry, struct kiln_cache_cleared *ret_removed,
    struct kiln_error *error) KILN_NODISCARD;

/* Where an entry is: an index for kiln_cache_store_layer, or this. */
enum { KILN_CACHE_SOURCE_DIRECTORY = -1 };

struct kiln_cache_item {
    char hex[KILN_CACHE_HASH_HEX + 1]; /* the hash of the key: the entry's name */
    uint64_t mark;      /* of the compiler that it is of: struct kiln_entry_file_id */
    uint64_t bytes;     /* of the whole entry */
    int64_t last_use_s; /* seconds since 1970, to about an hour; 0 in a pack */
    int source;
};
/*
 * Calls `visit` for every entry of the directory and of the layers, in this order of sources and
 * within each in the order of names. An entry that several sources have, or that several compilers
 * made, comes several times. Entries are not verified. A status other than KILN_OK ends the walk
 * and is returned.
 */
enum kiln_status kiln_cache_store_list(struct kiln_cache_store *store,
                                       enum kiln_status (*visit)(void *context,
                                                                 const struct kiln_cache_item *item,
                                                                 struct kiln_error *error),
                                       void *context, struct kiln_error *error) KILN_NODISCARD;

/*
 * Finds the entry whose name starts with `prefix` (hex digits, either case) and appends the whole
 * verified entry to an empty buffer, into which `ret_view` points; the fields of its key come with
 * kiln_reader_field. If several entries have one name, the first undamaged one is taken, in the
 * order of kiln_cache_store_list. KILN_NOT_FOUND, KILN_BAD_ARGUMENT when it is no hex number or
 * several names start with it, KILN_CORRUPT when all are damaged (they are not removed).
 */
enum kiln_status kiln_cache_store_read(struct kiln_cache_store *store, const char *prefix,
                                       struct kiln_cache_item *ret_item,
                                       struct kiln_buffer *ret_entry,
                                       struct kiln_entry_view *ret_view,
                                       struct kiln_error *error) KILN_NODISCARD;

struct kiln_cache_prune {
    uint64_t max_bytes; /* of what may stay; UINT64_MAX: any */
    uint64_t max_age_s; /* since the last use; UINT64_MAX: any */
};
struct kiln_cache_pruned {
    uint64_t removed_files;
    uint64_t removed_bytes;
    uint64_t kept_files;
    uint64_t kept_bytes;
};
/* Removes from the directory, in this order: files of writers that died; what cannot be an entry (a
 * directory of that name, an empty file); entries of older formats; entries older than the age; and
 * the least recently used ones until the rest fits. */
enum kiln_status kiln_cache_store_prune(struct kiln_cache_store *store,
                                        const struct kiln_cache_prune *prune,
                                        struct kiln_cache_pruned *ret_pruned,
                                        struct kiln_error *error) KILN_NODISCARD;

#endif
