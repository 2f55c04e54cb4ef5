/*
 * Programs between lowering and compiling. Asking for the workspace lowers a graph; the plan that
 * is made next compiles the result.
 *
 * A few are kept; the one that has waited longest goes first. A program belongs to the thread that
 * has taken it, so the table needs no lock.
 * Two threads that want the same program at the same time lower it twice.
 */
#ifndef KILN_RUNTIME_ENGINE_LOWERED_PROGRAMS_H
#define KILN_RUNTIME_ENGINE_LOWERED_PROGRAMS_H

#include "cache/cache_key.h"
#include "compiler/program.h"

#include <stdatomic.h>

struct kiln_lowered_program {
    struct kiln_cache_key key; /* that of the compiled program */
    struct kiln_arena arena;   /* all memory of `program` */
    struct kiln_program program;
};

enum {
    KILN_LOWERED_SLOTS = 8,
    /* A program whose arena is larger is a large one. Of these one is kept, in the last slot. */
    KILN_LOWERED_LARGE_BYTES = 8 << 20,
};

struct kiln_lowered_programs {
    _Atomic(struct kiln_lowered_program *) slots[KILN_LOWERED_SLOTS];
    atomic_uint next; /* which small one goes next; counts on without end */
};

void kiln_lowered_programs_init(struct kiln_lowered_programs *programs);
/* Frees what is kept. No other thread may use the table any more. */
void kiln_lowered_programs_fini(struct kiln_lowered_programs *programs);

/* Lowers a graph; the program is the caller's. `key` is copied. */
enum kiln_status kiln_lowered_program_create(const struct kiln_cache_key *key,
                                             const struct kiln_graph *graph,
                                             const struct kiln_target *target,
                                             const struct kiln_lower_options *options,
                                             struct kiln_lowered_program **ret_lowered,
                                             struct kiln_error *error) KILN_NODISCARD;
/* NULL does nothing. */
void kiln_lowered_program_free(struct kiln_lowered_program *lowered);

/* Takes the program of a key out; NULL when it is not there. */
struct kiln_lowered_program *kiln_lowered_programs_take(struct kiln_lowered_programs *programs,
                                                        const struct kiln_cache_key *key);
/* Puts a program in, which is the table's then. */
void kiln_lowered_programs_put(struct kiln_lowered_programs *programs,
                               struct kiln_lowered_program *lowered);

#endif
