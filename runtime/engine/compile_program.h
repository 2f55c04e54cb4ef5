/*
 * Making a program of a lowered graph: the slow way to a program, taken on a cache miss.
 */
#ifndef KILN_RUNTIME_ENGINE_COMPILE_PROGRAM_H
#define KILN_RUNTIME_ENGINE_COMPILE_PROGRAM_H

#include "runtime/engine/kernel_cache.h"
#include "runtime/engine/lowered_programs.h"
#include "runtime/engine/shared_program.h"

struct kiln_compilation {
    struct kiln_kernel_cache *kernels;
    const struct kiln_kernel_scope *scope;
    const struct kiln_graph *graph;
    struct kiln_lowered_program *lowered; /* made from this graph; changes */
    /* The program's recipe, where it is known and kernels of it are missing: each is taken in the
     * form that is there. NULL: which forms are good is to be found out. */
    const struct kiln_shared_program *recipe;
    /* Of the recipe's kernels, one that a device has refused and that no cache may give again;
     * NULL: none. */
    const struct kiln_shared_kernel *refused;
};

/*
 * Finds or compiles the kernels of a lowered program, at the same time, as many as there are
 * workers; waits for all of them. Those that another graph has had are not compiled again. A kernel
 * that spills is
 * compiled again in the next form of its schedule (kiln_program_relax), and so on until one does
 * not; one that does not compile is tried once more in its last form. The other kernels stay what
 * they are. Where every form spills, the one that spills least is taken, with a warning. Which form
 * is taken depends on nothing but graph, target, options and compiler, as long as no compiler is
 * killed or runs into the time limit.
 *
 * KILN_NOT_FOUND when the recipe is not one of this lowered program, which has changed then.
 * `ret_origin` is where the kernels came from: the compiler, for one at least, else a cache for one
 * at least, else memory. The error is that of the first form of the first kernel, in program order,
 * that failed; a source is dumped only of that one.
 */
enum kiln_status kiln_compile_program(const struct kiln_compilation *compilation,
                                      struct kiln_shared_program **ret_program,
                                      enum kiln_program_origin *ret_origin,
                                      struct kiln_error *error) KILN_NODISCARD;

#endif
