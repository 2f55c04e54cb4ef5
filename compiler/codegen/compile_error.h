/*
 * The sentence about a kernel that a compiler refused: which, where in the source, the line itself,
 * what the compiler said, and where the source is.
 */
#ifndef KILN_COMPILER_CODEGEN_COMPILE_ERROR_H
#define KILN_COMPILER_CODEGEN_COMPILE_ERROR_H

#include "compiler/codegen/compile_job.h"

/* Completes `error` (which says what failed) from the log and the source, which is written to a
 * file in KILN_DUMP_DIR or the directory for temporary files; its name depends on the source, so
 * that trying again makes no second file. `log` may be empty. Keeps the status. */
void kiln_compile_error_complete(const struct kiln_compile_request *request, const char *compiler,
                                 const struct kiln_buffer *log, struct kiln_error *error);

#endif
