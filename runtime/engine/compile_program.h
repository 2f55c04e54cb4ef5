/*
 * Compiling a lowered graph: the slow way to a program, taken on a cache miss.
 */
#ifndef KILN_RUNTIME_ENGINE_COMPILE_PROGRAM_H
#define KILN_RUNTIME_ENGINE_COMPILE_PROGRAM_H

#include "runtime/engine/lowered_programs.h"
#include "runtime/engine/shared_program.h"

/* Compiles the kernels of `lowered`, made from this graph with these options, at the same time, as
 * many as there are workers; waits for all of them. A program that does not compile (a compiler
 * that spills is refused) is lowered and compiled once more without vectors. The error is that of
 * the first kernel, in program order, that failed; a source is dumped only of that one. */
enum kiln_status kiln_compile_program(struct kiln_codegen *codegen, const struct kiln_graph *graph,
                                      const struct kiln_target *target,
                                      const struct kiln_lower_options *options,
                                      struct kiln_lowered_program *lowered,
                                      struct kiln_shared_program **ret_program,
                                      struct kiln_error *error) KILN_NODISCARD;

#endif
