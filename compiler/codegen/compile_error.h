/*
 * The sentence about a kernel that a compiler refused: which, where in the source, the line itself,
 * and what the compiler said.
 */
#ifndef KILN_COMPILER_CODEGEN_COMPILE_ERROR_H
#define KILN_COMPILER_CODEGEN_COMPILE_ERROR_H

#include "compiler/codegen/compile_job.h"

/* Completes `error` (which says what failed) from the log and the source. `log` may be empty. Keeps
 * the status. */
void kiln_compile_error_complete(const struct kiln_compile_request *request, const char *compiler,
                                 const struct kiln_buffer *log, struct kiln_error *error);

#endif
