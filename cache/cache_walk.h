/*
 * Visits what a store has put into its directory, and nothing else that may lie there.
 */
#ifndef KILN_CACHE_CACHE_WALK_H
#define KILN_CACHE_CACHE_WALK_H

#include "cache/cache_directory.h"
#include "runtime/support/error.h"

#include <stdbool.h>

enum kiln_cache_file_kind {
    KILN_CACHE_FILE_ENTRY,
    KILN_CACHE_FILE_TEMPORARY,
    KILN_CACHE_FILE_OLD, /* an entry of a format before this one */
};

/* `fanout`: open descriptor of the directory that holds `file`; `fanout_name`: its name. A status
 * other than KILN_OK ends the walk. */
typedef enum kiln_status (*kiln_cache_visitor)(void *context, enum kiln_cache_file_kind kind,
                                               int fanout, const char *fanout_name,
                                               const char *file, struct kiln_error *error);

/* A name of a fan-out directory stands for what cannot be used: `reason` is a sentence. A status
 * other than KILN_OK ends the walk. */
typedef enum kiln_status (*kiln_cache_skipper)(void *context, const char *fanout_name,
                                               const char *reason, struct kiln_error *error);

/* Visits in the order of names. Files that come or go meanwhile may be missed or already gone. What
 * can be visited is: a fan-out directory that cannot be used goes to `skip`, which may be NULL, in
 * its place in the order, and the walk goes on. KILN_IO when the directory itself cannot be listed,
 * KILN_NO_MEMORY. */
enum kiln_status kiln_cache_walk(const struct kiln_cache_directory *directory,
                                 kiln_cache_visitor visit, kiln_cache_skipper skip, void *context,
                                 struct kiln_error *error) KILN_NODISCARD;

/* True if it looks like a store's directory: it has a fan-out directory, or nothing but what new
 * file systems have. To be asked of a directory that somebody named, not of one that is in use.
 * KILN_IO, KILN_NO_MEMORY. */
enum kiln_status kiln_cache_walk_recognize(const struct kiln_cache_directory *directory,
                                           bool *ret_is_cache,
                                           struct kiln_error *error) KILN_NODISCARD;

/* Visits the temporary files of one fan-out directory, which the caller has open. */
enum kiln_status kiln_cache_walk_temporary(int fanout, const char *fanout_name,
                                           kiln_cache_visitor visit, void *context,
                                           struct kiln_error *error) KILN_NODISCARD;

#endif
