/*
 * The answer to "does anything here compile for this device?". The compilers themselves are asked,
 * in the worker and once: a library may lack the processor, and the worker may be missing.
 */
#ifndef KILN_RUNTIME_ENGINE_COMPILE_ABILITY_H
#define KILN_RUNTIME_ENGINE_COMPILE_ABILITY_H

#include "compiler/codegen/codegen.h"
#include "runtime/support/process_mutex.h"

#include <stdatomic.h>
#include <stdbool.h>

struct kiln_compile_ability {
    struct kiln_codegen *codegen; /* borrowed */
    atomic_bool is_there;         /* true until it is forgotten */
    struct kiln_process_mutex
        lock; /* of the rest, in any state of which a child can live; not held while asking */
    struct kiln_error *failure; /* the last answer, when that was no; owned */
    uint64_t ask_again;         /* kiln_monotonic_milliseconds; UINT64_MAX: never */
};

void kiln_compile_ability_init(struct kiln_compile_ability *ability, struct kiln_codegen *codegen);
void kiln_compile_ability_fini(struct kiln_compile_ability *ability);

/* True once the answer was yes: one atomic read. */
bool kiln_compile_ability_is_known(const struct kiln_compile_ability *ability);
/* After a compilation that failed for a reason of the machine: the compilers are asked again. */
void kiln_compile_ability_forget(struct kiln_compile_ability *ability);

/*
 * KILN_OK when something here compiles for the target, which is the same at every call. The first
 * call starts a worker, which stays for the kernels to come; a "no" of the compilers is remembered,
 * a failure to ask them for a minute, and one that may pass (kiln_status_may_pass) not at all.
 */
enum kiln_status kiln_compile_ability_ask(struct kiln_compile_ability *ability,
                                          const struct kiln_target *target,
                                          struct kiln_error *error) KILN_NODISCARD;

#endif
