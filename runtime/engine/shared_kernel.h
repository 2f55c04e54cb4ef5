/*
 * Compiled kernels, ref-counted and immutable once made: one for all programs, whatever graphs they
 * are of, whose recipes name it. Memory only, independent of engine and device.
 */
#ifndef KILN_RUNTIME_ENGINE_SHARED_KERNEL_H
#define KILN_RUNTIME_ENGINE_SHARED_KERNEL_H

#include "cache/cache_key.h"
#include "compiler/codegen/codegen.h"

#include <stdatomic.h>

struct kiln_shared_kernel {
    atomic_uint references;
    struct kiln_cache_key key; /* of its entry in the caches: kernel_key.h */
    char *symbol;
    uint32_t block[3];
    uint32_t lds_bytes;
    bool uses_barrier;
    uint32_t argument_count;
    /* Without bytes it is known what the compiler made of the kernel, and nobody wanted to keep it:
     * it spills, and there is a better form. */
    struct kiln_code_object object;
    uint64_t mark;          /* of the compiler that made it: kiln_cache_compiler_mark */
    bool was_compiled_here; /* by this process, not found in a cache */
    const char *place;      /* the cache that it was found in, of an engine's store; else NULL */
    atomic_bool is_planned; /* a plan has it; changes, for reports alone */
};

/* An empty kernel with one reference; fill it, then never change it again. */
enum kiln_status kiln_shared_kernel_create(struct kiln_shared_kernel **ret_kernel,
                                           struct kiln_error *error) KILN_NODISCARD;
struct kiln_shared_kernel *kiln_shared_kernel_ref(struct kiln_shared_kernel *kernel);
/* NULL does nothing. */
void kiln_shared_kernel_unref(struct kiln_shared_kernel *kernel);

bool kiln_shared_kernel_has_code(const struct kiln_shared_kernel *kernel);
/* The name of its entry: the hash of its key. */
struct kiln_hash128 kiln_shared_kernel_name(const struct kiln_shared_kernel *kernel);

#endif
