/*
 * Compiled programs, ref-counted and immutable once made: a recipe and the kernels that it names,
 * each of which may be in other programs too. Memory only, independent of engine and device.
 */
#ifndef KILN_RUNTIME_ENGINE_SHARED_PROGRAM_H
#define KILN_RUNTIME_ENGINE_SHARED_PROGRAM_H

#include "runtime/engine/engine.h"
#include "runtime/engine/shared_kernel.h"
#include "runtime/support/arena.h"

#include <stdatomic.h>

enum {
    /* Of one kernel. Execute packs the arguments on its stack. */
    KILN_PROGRAM_MAX_ARGUMENTS = 1024,
    KILN_PROGRAM_MAX_SYMBOL_BYTES = 256,
};

struct kiln_shared_program {
    struct kiln_compiled_program program; /* first: kiln_compiled_program_unref gets back from it */
    atomic_uint references;
    const char *place; /* the cache that the recipe was found in, of an engine's store; else NULL */
    struct kiln_shared_kernel **kernels; /* one reference to each; NULL: not there yet */
    struct kiln_arena arena;             /* all memory of `program` but the code */
};

/* An empty program with one reference; fill it, then never change it again. */
enum kiln_status kiln_shared_program_create(struct kiln_shared_program **ret_program,
                                            struct kiln_error *error) KILN_NODISCARD;
struct kiln_shared_program *kiln_shared_program_ref(struct kiln_shared_program *program);
void kiln_shared_program_unref(struct kiln_shared_program *program);

/* Memory of the program: like kiln_arena_calloc, with an error. */
enum kiln_status kiln_shared_program_allocate(struct kiln_shared_program *program, size_t count,
                                              size_t bytes, void *ret_memory,
                                              struct kiln_error *error) KILN_NODISCARD;

/* Makes room for so many kernels. */
enum kiln_status kiln_shared_program_set_count(struct kiln_shared_program *program, uint32_t count,
                                               struct kiln_error *error) KILN_NODISCARD;
/* Gives a kernel of the recipe its code, with a reference of its own. False, and nothing changes,
 * when it is not the kernel that the recipe names, or has no code. */
bool kiln_shared_program_attach(struct kiln_shared_program *program, uint32_t index,
                                struct kiln_shared_kernel *kernel);

/* What nobody could launch, or NULL. `grid` may be NULL. */
const char *kiln_kernel_launch_fault(const char *symbol, const uint32_t *grid,
                                     const uint32_t *block, uint32_t argument_count);

/*
 * Checks what execute relies on: at least one kernel, arguments within the limit above, symbols
 * that are C identifiers, no empty grid or block, alignments that are powers of two,
 * arguments that name a tensor of the graph with memory (a host scalar for a host-scalar argument)
 * or a place inside the workspace. KILN_CORRUPT says which does not hold. How many kernels there
 * are is up to the graph: some nodes need several.
 */
enum kiln_status kiln_compiled_program_validate(const struct kiln_compiled_program *program,
                                                const struct kiln_graph *graph,
                                                struct kiln_error *error) KILN_NODISCARD;

#endif
