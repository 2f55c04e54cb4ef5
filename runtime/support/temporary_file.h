/*
 * A file that is written piece by piece under a temporary name (temporary_name.h) and appears under
 * its own only when it is whole. For content that is in memory: kiln_file_write.
 *
 * Calling sequence: create; append and overwrite; then commit or discard, which both end it.
 * Statuses as in file.h.
 */
#ifndef KILN_RUNTIME_SUPPORT_TEMPORARY_FILE_H
#define KILN_RUNTIME_SUPPORT_TEMPORARY_FILE_H

#include "runtime/support/error.h"
#include "runtime/support/temporary_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kiln_temporary_file {
    int directory;    /* borrowed: that of the file */
    const char *name; /* borrowed: that it will have */
    int descriptor;   /* open for reading and writing */
    uint64_t size;    /* bytes appended */
    char temporary[KILN_TEMPORARY_NAME_BYTES];
};

/* Opens the directory that `path` is in and points `ret_name` at the last component; the caller
 * closes. KILN_BAD_ARGUMENT when the path ends in a slash. */
enum kiln_status kiln_file_open_parent(const char *path, int *ret_directory, const char **ret_name,
                                       struct kiln_error *error) KILN_NODISCARD;

/* `mode`: of the file, less the umask. On failure there is nothing to end. */
enum kiln_status kiln_temporary_file_create(int directory, const char *name, mode_t mode,
                                            struct kiln_temporary_file *ret_file,
                                            struct kiln_error *error) KILN_NODISCARD;
enum kiln_status kiln_temporary_file_append(struct kiln_temporary_file *file, const void *bytes,
                                            size_t size, struct kiln_error *error) KILN_NODISCARD;
/* Writes over bytes that were appended. */
enum kiln_status kiln_temporary_file_overwrite(struct kiln_temporary_file *file, uint64_t offset,
                                               const void *bytes, size_t size,
                                               struct kiln_error *error) KILN_NODISCARD;
/* Gives the file its name, in the place of what had it; with `sync`, data and name are on the disk
 * afterwards. On failure nothing is left of it but, when only the last of that failed, the file
 * under its name. */
enum kiln_status kiln_temporary_file_commit(struct kiln_temporary_file *file, bool sync,
                                            struct kiln_error *error) KILN_NODISCARD;
void kiln_temporary_file_discard(struct kiln_temporary_file *file);

#endif
