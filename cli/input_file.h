/*
 * Files that the command line names for reading. Whatever stands behind a name, reading it comes to
 * an end.
 */
#ifndef KILN_CLI_INPUT_FILE_H
#define KILN_CLI_INPUT_FILE_H

#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

#include <stdbool.h>
#include <stddef.h>

/* How long a pipe is waited for that nobody has opened for writing, and one whose writer is silent.
 */
enum {
    KILN_INPUT_NO_WRITER_MILLISECONDS = 3000,
    KILN_INPUT_SILENCE_MILLISECONDS = 60000,
};

/*
 * Reads an ordinary file, a pipe or a terminal; "-" is standard input, which is waited for without
 * a limit. `ret_content` is an initialised, empty buffer that the caller finis. Statuses and
 * sentences are those of kiln_file_read; besides, KILN_IO for a device, a socket, a directory, a
 * pipe that was waited for in vain and a wait that the user has interrupted.
 */
enum kiln_status kiln_input_file_read(const char *path, size_t limit_bytes,
                                      struct kiln_buffer *ret_content,
                                      struct kiln_error *error) KILN_NODISCARD;

/* True if writing `output` would destroy what is read from `path` ("-": from standard input): both
 * are the same ordinary file, under whatever names. */
bool kiln_input_file_is_output(const char *path, const char *output);

#endif
