/*
 * Kernels by key: in memory, in the caches, else compiled. One kernel for all graphs whose programs
 * have it: threads that want it at once wait for the one that makes it, and so do, for a while, the
 * processes of this machine (cache/compile_claim.h).
 */
#ifndef KILN_RUNTIME_ENGINE_KERNEL_CACHE_H
#define KILN_RUNTIME_ENGINE_KERNEL_CACHE_H

#include "cache/cache_store.h"
#include "cache/object_table.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/shared_kernel.h"

struct kiln_kernel_cache {
    struct kiln_codegen *codegen;
    struct kiln_object_table *kernels; /* name, symbol, target -> kiln_shared_kernel */
};

/* What kernels are for and where they are kept. */
struct kiln_kernel_scope {
    struct kiln_cache_store *store; /* NULL: memory and the compiler are all there is */
    const struct kiln_target *target;
    struct kiln_cache_maker maker; /* with NULL as compiler if there is none */
    bool may_compile;              /* else what no cache has is KILN_UNSUPPORTED */
};

/* `codegen` must outlive the cache. */
enum kiln_status kiln_kernel_cache_init(struct kiln_kernel_cache *cache,
                                        struct kiln_codegen *codegen,
                                        struct kiln_error *error) KILN_NODISCARD;
void kiln_kernel_cache_fini(struct kiln_kernel_cache *cache);

/* True if a kernel with these resources should be compiled in another form of its schedule. */
bool kiln_kernel_spills(const struct kiln_target *target,
                        const struct kiln_kernel_resources *resources);

/* The kernel of this name, with its code and a reference for the caller; KILN_NOT_FOUND when
 * it is neither in memory nor in a cache, or what is there is not that kernel. */
enum kiln_status kiln_kernel_cache_find(struct kiln_kernel_cache *cache,
                                        const struct kiln_kernel_scope *scope,
                                        struct kiln_hash128 name, const char *symbol,
                                        struct kiln_shared_kernel **ret_kernel,
                                        struct kiln_error *error) KILN_NODISCARD;

/*
 * The kernel of a source, with a reference for the caller: compiled and stored when it is not
 * there. If it spills, a note is stored instead. From a note the kernel comes without code, unless
 * `needs_code` says that no form is better: then it is compiled again and stored.
 * `ret_origin` tells where it came from. Fails as kiln_codegen_compile does.
 */
enum kiln_status kiln_kernel_cache_get(struct kiln_kernel_cache *cache,
                                       const struct kiln_kernel_scope *scope,
                                       const struct kiln_kernel *source, bool needs_code,
                                       struct kiln_shared_kernel **ret_kernel,
                                       enum kiln_program_origin *ret_origin,
                                       struct kiln_error *error) KILN_NODISCARD;

/* Another kernel in the place of one that a device has refused, compiled whatever the caches hold,
 * unless another thread has done that already. It is in memory only until kiln_kernel_cache_keep.
 */
enum kiln_status kiln_kernel_cache_replace(struct kiln_kernel_cache *cache,
                                           const struct kiln_kernel_scope *scope,
                                           const struct kiln_kernel *source,
                                           const struct kiln_shared_kernel *refused,
                                           struct kiln_shared_kernel **ret_kernel,
                                           struct kiln_error *error) KILN_NODISCARD;

/* The kernel of an entry (cache/entry_format.h) that no cache holds, such as a restored plan's,
 * with a reference for the caller. Memory gets it too, unless it has one of this name.
 * KILN_BAD_ARGUMENT if the bytes are no entry, KILN_NOT_FOUND if it is no kernel of this build for
 * the target. */
enum kiln_status kiln_kernel_cache_admit(struct kiln_kernel_cache *cache,
                                         const struct kiln_target *target, const void *entry,
                                         size_t size, struct kiln_shared_kernel **ret_kernel,
                                         struct kiln_error *error) KILN_NODISCARD;

/* Stores a kernel with its code over whatever is there. What goes wrong is logged. */
void kiln_kernel_cache_keep(const struct kiln_kernel_scope *scope,
                            const struct kiln_shared_kernel *kernel);
/* Call this after storing a recipe that names the kernel. The kernel then counts as used no earlier
 * than the recipe, so it is not evicted first. With `may_store`, a kernel of this compiler that the
 * directory has lost is stored again. */
void kiln_kernel_cache_follow(const struct kiln_kernel_scope *scope,
                              const struct kiln_shared_kernel *kernel, bool may_store);

#endif
