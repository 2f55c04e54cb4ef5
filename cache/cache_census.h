/*
 * What a directory holds, by last use, and the removal of what was used longest ago. Works beside
 * any number of processes that do the same, and needs no lock: they see the same files in the same
 * order, and so choose the same victims.
 */
#ifndef KILN_CACHE_CACHE_CENSUS_H
#define KILN_CACHE_CACHE_CENSUS_H

#include "cache/cache_directory.h"
#include "cache/entry_file.h"
#include "runtime/support/error.h"
#include "runtime/support/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kiln_cache_record {
    /* Last use: the file's time, but not in the future; since 1970. INT64_MIN: it goes first. */
    int64_t use_ns;
    int64_t file_ns; /* the file's time */
    uint64_t bytes;
    struct kiln_entry_file_id id; /* the entry's name */
    bool is_impossible;           /* no ordinary file, or too small or too large for an entry */
};

struct kiln_cache_census {
    struct kiln_cache_record *records; /* owned */
    size_t count;
    size_t capacity;
    uint64_t bytes; /* of all entries, and of files that are being written */
    uint64_t removed_files;
    uint64_t removed_bytes;
    int64_t now_ns;
};

/*
 * Counts all files, and removes litter: temporary ones that nobody writes any more, since their
 * writer was a process of this machine that has ended, or nothing is known of it and the file is an
 * hour old. A time that lies more than an hour ahead is set back to now, since it comes from a
 * clock that was wrong and would look like a use for ever. What cannot be counted is left out, and
 * so are directories, which nobody could remove.
 */
enum kiln_status kiln_cache_census_take(const struct kiln_cache_directory *directory,
                                        struct kiln_cache_census *ret_census,
                                        struct kiln_error *error) KILN_NODISCARD;
void kiln_cache_census_fini(struct kiln_cache_census *census);

/*
 * Removes entries from the oldest on, those of one time in the order of hashes, until those that
 * are left were used at `since_ns` or later and all files have at most `target_bytes`. If they have
 * more, a file that is larger than that alone goes first, because it could not stay in any case.
 * `keep` (may be NULL): the hash of the entries that stay. Entries that were used or replaced since
 * the census stay too. KILN_IO when some cannot be removed; the others are.
 */
enum kiln_status kiln_cache_census_evict(struct kiln_cache_census *census,
                                         const struct kiln_cache_directory *directory,
                                         uint64_t target_bytes, int64_t since_ns,
                                         const struct kiln_hash128 *keep,
                                         struct kiln_error *error) KILN_NODISCARD;

/* Removes the litter of one fan-out directory. What goes wrong is left for the next time. */
void kiln_cache_census_clean(int fanout, const char *fanout_name);

#endif
