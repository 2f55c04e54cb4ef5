/*
 * The environment that compilers run in: of the host's variables only the few that they need, so
 * that nothing else can change the code that they make; messages are in English, and temporary
 * files go to a directory of our own.
 */
#ifndef KILN_COMPILER_CODEGEN_COMPILE_ENVIRONMENT_H
#define KILN_COMPILER_CODEGEN_COMPILE_ENVIRONMENT_H

#include "runtime/support/error.h"

#include <stdbool.h>

/* A NULL-terminated array like `environ`, in one allocation: free() frees it. NULL when memory is
 * out. With `temporary_directory` NULL, TMPDIR stays what it is. */
char **kiln_compile_environment_create(const char *temporary_directory);

/* Creates a directory that only we can enter, in TMPDIR (when that is absolute), /tmp or /var/tmp,
 * the first in which it works: a new path, or NULL with the error set (KILN_IO, KILN_NO_MEMORY). */
char *kiln_scratch_directory_create(struct kiln_error *error);
/* True if it is still there, and ours: what cleans temporary directories may have removed it. */
bool kiln_scratch_directory_is_intact(const char *path);
/* True if the path is of the form that kiln_scratch_directory_create gives. */
bool kiln_scratch_directory_is_one(const char *path);
/* Removes a directory of kiln_scratch_directory_create with all that compilers left in it, and
 * frees the path; NULL is fine. Symbolic links are removed, not followed. */
void kiln_scratch_directory_destroy(char *path);
void kiln_scratch_directory_remove(const char *path);

/* Removes the directories next to `scratch` whose makers were killed before they could: processes
 * of this user on this machine that have ended. */
void kiln_scratch_directory_sweep(const char *scratch);

#endif
