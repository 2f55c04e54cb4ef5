/*
 * Programs by key: in memory, on disk, else compiled. In the caches a program is its recipe; its
 * kernels are kernel_cache.h's.
 */
#ifndef KILN_RUNTIME_ENGINE_PROGRAM_CACHE_H
#define KILN_RUNTIME_ENGINE_PROGRAM_CACHE_H

#include "cache/cache_key.h"
#include "cache/cache_store.h"
#include "cache/object_table.h"
#include "runtime/engine/kernel_cache.h"
#include "runtime/engine/lowered_programs.h"
#include "runtime/engine/miss_log.h"
#include "runtime/engine/shared_program.h"

#include <stdatomic.h>

struct kiln_program_cache {
    struct kiln_cache_options store_options;
    struct kiln_codegen *codegen;
    struct kiln_lower_options lower;
    bool is_precompiled;                  /* KILN_ENFORCE_PRECOMPILED forbids compiling */
    struct kiln_lowered_programs lowered; /* not compiled yet */
    struct kiln_kernel_cache kernels;
    struct kiln_object_table *programs;       /* key -> struct kiln_shared_program */
    _Atomic(struct kiln_cache_store *) store; /* NULL before the first miss in memory */
    struct kiln_miss_log misses;
};

/* Opens nothing yet. What the store's options point to and `codegen` must outlive the cache. */
enum kiln_status kiln_program_cache_init(struct kiln_program_cache *cache,
                                         const struct kiln_cache_options *store_options,
                                         struct kiln_codegen *codegen,
                                         const struct kiln_lower_options *lower,
                                         struct kiln_error *error) KILN_NODISCARD;
void kiln_program_cache_fini(struct kiln_program_cache *cache);

/* The store, opened by the first call; the cache owns it. Fails as kiln_cache_store_open
 * does. Takes no lock. */
enum kiln_status kiln_program_cache_store(struct kiln_program_cache *cache,
                                          struct kiln_cache_store **ret_store,
                                          struct kiln_error *error) KILN_NODISCARD;

/* The finished key of a graph's program; the caller finis it, also after a failure. */
enum kiln_status kiln_program_cache_make_key(const struct kiln_program_cache *cache,
                                             const struct kiln_graph *graph,
                                             const struct kiln_target *target,
                                             struct kiln_cache_key *key,
                                             struct kiln_error *error) KILN_NODISCARD;

/* KILN_OK when the program of the key is in memory or, with all its kernels, in caches, from where
 * it is read into memory; KILN_NOT_FOUND. Lowers and compiles nothing. `key` is the one of graph
 * and target. */
enum kiln_status kiln_program_cache_find(struct kiln_program_cache *cache,
                                         const struct kiln_graph *graph,
                                         const struct kiln_target *target,
                                         const struct kiln_cache_key *key,
                                         struct kiln_error *error) KILN_NODISCARD;

/* As kiln_program_cache_find, but lowers the graph if its recipe is missing and looks for the
 * kernels, and also takes what other compilers made in the directory. KILN_UNSUPPORTED when a
 * kernel is missing. */
enum kiln_status kiln_program_cache_find_kernels(struct kiln_program_cache *cache,
                                                 const struct kiln_graph *graph,
                                                 const struct kiln_target *target,
                                                 struct kiln_error *error) KILN_NODISCARD;

/* Says in front of the reason why nothing compiles for a graph that no cache has it either. */
void kiln_program_cache_tell_miss(const struct kiln_graph *graph, struct kiln_error *error);

/* The exact bytes of workspace that the program needs: it is in memory, or the graph is lowered,
 * for kiln_program_cache_get to compile. Neither a cache nor a compiler is asked. */
enum kiln_status kiln_program_cache_workspace_bytes(struct kiln_program_cache *cache,
                                                    const struct kiln_graph *graph,
                                                    const struct kiln_target *target,
                                                    uint64_t *ret_bytes,
                                                    struct kiln_error *error) KILN_NODISCARD;

/* The program, with a reference for the caller. Only the damaged or missing parts of recipe and
 * kernels are compiled and replaced. An entry that cannot be written is logged. KILN_UNSUPPORTED if
 * the caches lack a part and nothing compiles for the target, or nothing may. */
enum kiln_status kiln_program_cache_get(struct kiln_program_cache *cache,
                                        const struct kiln_graph *graph,
                                        const struct kiln_target *target,
                                        struct kiln_shared_program **ret_program,
                                        enum kiln_program_origin *ret_origin,
                                        struct kiln_error *error) KILN_NODISCARD;

/*
 * Another program in the place of one with a kernel that came from a cache and that a device has
 * refused: that kernel is compiled, whatever the caches hold, unless another thread has done that
 * already. It is in memory only until kiln_program_cache_keep.
 */
enum kiln_status kiln_program_cache_replace(
    struct kiln_program_cache *cache, const struct kiln_graph *graph,
    const struct kiln_target *target, const struct kiln_shared_program *refused, uint32_t kernel,
    struct kiln_shared_program **ret_program, struct kiln_error *error) KILN_NODISCARD;
/* Stores the kernel of a program of kiln_program_cache_replace, now that a device has taken it,
 * over the one that was refused. */
void kiln_program_cache_keep(struct kiln_program_cache *cache, const struct kiln_graph *graph,
                             const struct kiln_target *target,
                             const struct kiln_shared_program *program, uint32_t kernel);

#endif
