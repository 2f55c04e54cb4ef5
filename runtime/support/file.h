/*
 * Whole files and directories, with errors that say what failed on which path.
 *
 * The _at variants take an open directory and one name in it, for callers that must not have a path
 * resolved twice. Statuses: KILN_NOT_FOUND when the file or a directory of its path does not exist,
 * KILN_NO_MEMORY, KILN_SHORTAGE, else KILN_IO.
 */
#ifndef KILN_RUNTIME_SUPPORT_FILE_H
#define KILN_RUNTIME_SUPPORT_FILE_H

#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads a whole file, pipe or terminal. `ret_content` is an initialised, empty buffer that the
 * caller finis; it is untouched on failure. More than `limit_bytes` is KILN_BAD_ARGUMENT; of a file
 * that large nothing is read.
 */
enum kiln_status kiln_file_read(const char *path, size_t limit_bytes,
                                struct kiln_buffer *ret_content,
                                struct kiln_error *error) KILN_NODISCARD;
/* The same from an open descriptor at its start; `path` is for errors. The caller closes. */
enum kiln_status kiln_file_read_descriptor(int descriptor, const char *path, size_t limit_bytes,
                                           struct kiln_buffer *ret_content,
                                           struct kiln_error *error) KILN_NODISCARD;

enum kiln_file_flag {
    KILN_FILE_PRIVATE = 1, /* mode 0600, else 0666; both less the umask */
    KILN_FILE_SYNC = 2,    /* data and name are on the disk when the call returns */
    KILN_FILE_FOLLOW = 4,  /* a symbolic link stays, and what it names is written: for
                              kiln_file_write and names that a user chose */
};

/*
 * Creates or replaces a file so that readers see the old content or the new, never a part: writes a
 * temporary file in the same directory (temporary_name.h) and renames it. `flags` is a sum of enum
 * kiln_file_flag. On failure the old file is as it was and no temporary file is left. A symbolic
 * link is replaced, not followed, without KILN_FILE_FOLLOW. kiln_file_write replaces nothing else
 * that is no ordinary file (file_target.h): KILN_IO; the _at variant replaces what can be renamed
 * over.
 */
enum kiln_status kiln_file_write(const char *path, const void *bytes, size_t size, unsigned flags,
                                 struct kiln_error *error) KILN_NODISCARD;
enum kiln_status kiln_file_write_at(int directory, const char *name, const void *bytes, size_t size,
                                    unsigned flags, struct kiln_error *error) KILN_NODISCARD;

/* Creates a directory and the missing ones above it, each with `mode` less the umask. Success when
 * it is there; KILN_BAD_ARGUMENT when something else stands in its place. */
enum kiln_status kiln_directory_make(const char *path, mode_t mode,
                                     struct kiln_error *error) KILN_NODISCARD;

/* False, with errno EFBIG, where RLIMIT_FSIZE forbids files of so many bytes, memory files too.
 * Writing more would raise SIGXFSZ and end the process that we are a guest in. */
bool kiln_file_may_have(uint64_t size);

/* KILN_OK when this process can open one more file, else KILN_SHORTAGE or KILN_NO_MEMORY and
 * "cannot <action>: ...". For calls that fail and do not say whether they were able to look. */
enum kiln_status kiln_file_check_shortage(const char *action,
                                          struct kiln_error *error) KILN_NODISCARD;

#endif
