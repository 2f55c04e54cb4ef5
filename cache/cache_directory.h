/*
 * The directory of a store: which one it is, and whether it can be trusted. After it was opened,
 * everything goes through its descriptor and *at() calls, so that a path swapped later changes
 * nothing.
 */
#ifndef KILN_CACHE_CACHE_DIRECTORY_H
#define KILN_CACHE_CACHE_DIRECTORY_H

#include "runtime/support/error.h"

#include <stdbool.h>
#include <sys/stat.h>

struct kiln_cache_directory {
    int descriptor; /* -1: none, or not there: nothing is found in it and nothing can be created */
    char *path;     /* owned; NULL: none */
    bool is_layer;  /* only read; root may own it, and all in it, as well as this user */
};

/* True if HIPDNN_DISABLE_CACHE switches off every cache on disk that the environment names. */
bool kiln_cache_is_disabled(void);

/*
 * The path to use, for the caller to free: a copy of `directory`. If that is NULL, the environment
 * chooses by the rule of docs/cache-format.md. NULL with KILN_OK when the environment asks for no
 * directory: KILN_CACHE_DIR is empty, or kiln_cache_is_disabled. KILN_NOT_FOUND when no variable
 * names one.
 */
enum kiln_status kiln_cache_directory_choose(const char *directory, char **ret_path,
                                             struct kiln_error *error) KILN_NODISCARD;

/*
 * Creates the directory where it is missing, with mode 0700, and opens it. KILN_IO when it cannot
 * be had, or when its last component is a symbolic link, or when it belongs to another user, or
 * when others may write to it.
 */
enum kiln_status kiln_cache_directory_open(const char *path,
                                           struct kiln_cache_directory *ret_directory,
                                           struct kiln_error *error) KILN_NODISCARD;
/* The same without creating anything: KILN_NOT_FOUND when it is not there. */
enum kiln_status kiln_cache_directory_open_existing(const char *path,
                                                    struct kiln_cache_directory *ret_directory,
                                                    struct kiln_error *error) KILN_NODISCARD;
/* Opens a layer, which is never created. Its path may be a symbolic link: trust is in the owner of
 * what was opened. KILN_NOT_FOUND when it does not exist, KILN_IO, KILN_NO_MEMORY. */
enum kiln_status kiln_cache_directory_open_layer(const char *path,
                                                 struct kiln_cache_directory *ret_directory,
                                                 struct kiln_error *error) KILN_NODISCARD;
void kiln_cache_directory_close(struct kiln_cache_directory *directory);

/* Opens the fan-out directory `name` inside, under the same conditions; KILN_NOT_FOUND when it does
 * not exist and `create` is false. The caller closes `ret_descriptor`. */
enum kiln_status kiln_cache_directory_open_fanout(const struct kiln_cache_directory *directory,
                                                  const char *name, bool create,
                                                  int *ret_descriptor,
                                                  struct kiln_error *error) KILN_NODISCARD;

/* NULL when the thing belongs to this user (of a layer: or to root) and nobody else can write to
 * it, else the reason. */
const char *kiln_cache_directory_distrust(const struct stat *attributes, bool is_layer);
/* For an error about such a thing: adds how to put it right, where the owner can. */
void kiln_cache_directory_distrust_hint(const char *reason, const char *path,
                                        struct kiln_error *error);

/*
 * Clears the place of an entry: removes a file, a link or an empty directory. A directory with
 * something in it, which Kiln has not made, is renamed to "<name>.moved-<inode>" instead. False,
 * with errno, when that fails.
 */
bool kiln_cache_directory_clear_place(int parent, const char *name);

#endif
