/*
 * Finding libraries and programs on disk, and telling which ones they are, without loading or
 * starting them.
 */
#ifndef KILN_COMPILER_CODEGEN_COMPILER_SEARCH_H
#define KILN_COMPILER_CODEGEN_COMPILER_SEARCH_H

#include "runtime/support/buffer.h"

#include <stdbool.h>

/*
 * The file that the dynamic linker would open for a library name: in `directories`
 * (colon-separated, may be NULL), LD_LIBRARY_PATH, /etc/ld.so.cache, then the usual directories and
 * /opt/rocm/lib. A name with a slash is taken as it is. Only ELF libraries of this machine count.
 * Returns a new path with links resolved. NULL when there is none, or when it could not be looked
 * for: errno says which (kiln_compiler_absent).
 */
char *kiln_library_find_in(const char *name, const char *directories);
char *kiln_library_find(const char *name); /* without directories of its own */

/* The executable file that PATH gives for a name (a name with a slash is taken as it is), as it is
 * called: links not resolved, because some compilers look at their name. A new path; NULL, with
 * errno, as kiln_library_find. */
char *kiln_program_find(const char *name);

/*
 * Appends what identifies a library or program: its file name, and its build id or, where it has
 * none, size and time of change; then the same for the LLVM and clang libraries that it needs.
 * Nothing of this depends on where the files lie. False, with errno, when the file or one that it
 * needs cannot be read.
 */
bool kiln_binary_append_identity(const char *path, struct kiln_buffer *identity);

/* The status for a search that has just failed with errno: KILN_NOT_FOUND with the given sentence,
 * or, when memory or descriptors ran out while looking, the status that says so. */
enum kiln_status kiln_compiler_absent(struct kiln_error *error, const char *format, ...)
    KILN_PRINTF(2, 3);

/* KILN_COMPILE_FAILED when the file is no longer what kiln_binary_append_identity wrote into
 * `identity`: what compiles would not be what the cache key names. */
enum kiln_status kiln_binary_check_identity(const char *path, const char *identity,
                                            struct kiln_error *error) KILN_NODISCARD;

/* What dlopen said of a compiler's library: KILN_NO_MEMORY when that may pass, else
 * KILN_UNSUPPORTED. */
enum kiln_status kiln_compiler_refuse_library(const char *name, const char *reason,
                                              struct kiln_error *error);

/* The number behind the last name of the form libLLVM-15.so.1, libLLVM.so.19.1 or
 * libclang-cpp.so.19.1 that the file needs, else behind the dash of its own resolved name
 * (clang-19); 0 when neither tells. */
unsigned kiln_binary_llvm_version(const char *path);

#endif
