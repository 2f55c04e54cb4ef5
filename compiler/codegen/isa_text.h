/*
 * The instructions of a code object as text, for `kiln explain` and tests.
 */
#ifndef KILN_COMPILER_CODEGEN_ISA_TEXT_H
#define KILN_COMPILER_CODEGEN_ISA_TEXT_H

#include "compiler/codegen/codegen.h"

/* Appends the instructions of kernel `symbol`, by the disassembler of the compiler that serves the
 * target (comgr's own, or the objdump beside clang or the host compiler). May start a worker.
 * KILN_UNSUPPORTED when there is no such program. */
enum kiln_status kiln_code_object_disassemble(struct kiln_codegen *codegen,
                                              const struct kiln_target *target, const char *symbol,
                                              const void *bytes, size_t size,
                                              struct kiln_buffer *text,
                                              struct kiln_error *error) KILN_NODISCARD;

#endif
