/*
 * A directory of a test alone, for all temporary files: workers and compilers have its name in
 * their command lines, by which they are found. Functions fail the test when they cannot do their
 * work.
 */
#ifndef KILN_TESTS_COMPILER_CODEGEN_WORKER_DIRECTORY_H
#define KILN_TESTS_COMPILER_CODEGEN_WORKER_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Makes the directory, and no dumps from here on. One at a time. */
void worker_directory_make(void);
/* Removes it; expects that it is empty. */
void worker_directory_remove(void);
/* The path of `name` inside. A few calls later the memory is used again. */
const char *worker_directory_path(const char *name);

/* Writes a shell script, without its first line, and makes it the C++ compiler for the host.
 * Returns its path, inside. */
const char *worker_directory_write_compiler(const char *script);
/* Makes the next worker of FAKE_WORKER misbehave (fake_worker.c), and those after it real. Returns
 * the path, inside, of the mark that it leaves. */
const char *worker_directory_misbehave_once(const char *mode);

/* How many processes with the directory in their command lines live; `ret_process` gets one, or is
 * NULL. Those that are dead and not collected have no command line any more. */
size_t worker_directory_count_living(pid_t *ret_process);
/* Waits until so many live, for a time that is long for what is waited for; false when that is
 * over. */
bool worker_directory_wait_until_live(size_t least, size_t most);

#endif
