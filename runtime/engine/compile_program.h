/*
 * Compiling a lowered graph: the slow way to a program, taken on a cache miss.
 */
#ifndef KILN_RUNTIME_ENGINE_COMPILE_PROGRAM_H
#define KILN_RUNTIME_ENGINE_COMPILE_PROGRAM_H

#include "runtime/engine/lowered_programs.h"
#include "runtime/engine/shared_program.h"

/*
 * Compiles the kernels of `lowered`, made from this graph, at the same time, as many as there are
 * workers; waits for all of them. They may have changed afterwards. A kernel that spills is
 * compiled again in the next form of its schedule (kiln_program_relax), and so on until one does
 * not; one that does not compile is tried once more in its last form. The other kernels stay what
 * they are. Where every form spills, the one that spills least is taken, with a warning. Which form
 * is taken depends on nothing but graph, target, options and compiler, as long as no compiler is
 * killed or runs into the time limit.
 *
 * The error is that of the first form of the first kernel, in program order, that failed; a source
 * is dumped only of that one.
 */
enum kiln_status kiln_compile_program(struct kiln_codegen *codegen, const struct kiln_graph *graph,
                                      const struct kiln_target *target,
                                      struct kiln_lowered_program *lowered,
                                      struct kiln_shared_program **ret_program,
                                      struct kiln_error *error) KILN_NODISCARD;

#endif
