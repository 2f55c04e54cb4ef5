/*
 * Compilers that are programs: source in by standard input, code object out by a file in a
 * directory of ours.
 */
#ifndef KILN_COMPILER_CODEGEN_PROGRAM_COMPILE_H
#define KILN_COMPILER_CODEGEN_PROGRAM_COMPILE_H

#include "compiler/codegen/compiler.h"

enum { KILN_PROGRAM_ARGUMENTS = 64 };

/* A command line; texts are borrowed. */
struct kiln_program_arguments {
    const char *texts[KILN_PROGRAM_ARGUMENTS];
    size_t count;
};

void kiln_program_add(struct kiln_program_arguments *arguments, const char *text);
void kiln_program_add_all(struct kiln_program_arguments *arguments, const char *const *texts,
                          size_t count);

/* Runs the command line with "-o FILE" and then `libraries` behind it and appends that file to
 * `object`. What the program says goes to `log`. KILN_COMPILE_FAILED when it ends with anything but
 * success. */
enum kiln_status kiln_program_compile(struct kiln_program_arguments *arguments,
                                      const char *const *libraries, size_t library_count,
                                      const struct kiln_compile_source *source,
                                      struct kiln_buffer *object, struct kiln_buffer *log,
                                      struct kiln_error *error) KILN_NODISCARD;

/* Puts the object into a file, runs the command line with its name behind it, appends what it says
 * to `text`. */
enum kiln_status kiln_program_disassemble(struct kiln_program_arguments *arguments,
                                          const struct kiln_compile_source *object,
                                          struct kiln_buffer *text,
                                          struct kiln_error *error) KILN_NODISCARD;

#endif
