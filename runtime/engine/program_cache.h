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
#include "runtime/engine/shape_choice.h"
#include "runtime/engine/shared_program.h"

#include <stdatomic.h>

struct kiln_program_cache {
    struct kiln_cache_options store_options;
    struct kiln_codegen *codegen;
    struct kiln_lower_options lower; /* `shapes` may be KILN_SHAPES_AUTO */
    struct kiln_choice_table *choices;
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

/*
 * A request for the program of a graph in one form. The caller makes it once, and the tables pass
 * it on. Objects that it borrows must outlive it.
 */
struct kiln_program_request {
    struct kiln_program_cache *cache;
    const struct kiln_graph *graph;
    struct kiln_lower_options lower; /* the cache's, with a form */
    enum kiln_shape_reason reason;   /* for the form */
    struct kiln_cache_key key;       /* the finished key of the program; owned */
    struct kiln_kernel_scope scope;  /* target; the rest is set by the first miss in memory */
    bool is_precompiled;             /* compiling is forbidden */
    bool is_miss_told;               /* the log has a line about it */
    bool was_made;                   /* by this thread, and not one that it waited for */
    enum kiln_program_origin origin; /* where the program came from, once it is there */
};

/* `lower`: the options; their `shapes` may be KILN_SHAPES_AUTO. NULL: the cache's own.
 *
 * Chooses the form, if options do not: by what memory and the caches have, and by the shapes of the
 * computation so far. The first request for a shape then asks the caches, and may lower the graph.
 * On failure there is nothing to fini. */
enum kiln_status kiln_program_request_init(struct kiln_program_cache *cache,
                                           const struct kiln_graph *graph,
                                           const struct kiln_target *target,
                                           const struct kiln_lower_options *lower,
                                           struct kiln_program_request *ret_request,
                                           struct kiln_error *error) KILN_NODISCARD;
/* As kiln_program_request_init, for questions. A form that is not chosen yet is the constant one.
 * The call lowers nothing and asks no cache, and the shape does not count. */
enum kiln_status kiln_program_request_peek(struct kiln_program_cache *cache,
                                           const struct kiln_graph *graph,
                                           const struct kiln_target *target,
                                           const struct kiln_lower_options *lower,
                                           struct kiln_program_request *ret_request,
                                           struct kiln_error *error) KILN_NODISCARD;
/* Calls `find` (kiln_program_cache_find or _find_kernels) for the request of
 * kiln_program_request_peek and, unless options force the form, for the other one. A form that is
 * found is the request's, and is remembered unless one was chosen before. Otherwise nothing
 * changes, so that programs which come later are found later. */
enum kiln_status kiln_program_request_find(
    struct kiln_program_request *request,
    enum kiln_status (*find)(struct kiln_program_request *request, struct kiln_error *error),
    struct kiln_error *error) KILN_NODISCARD;
void kiln_program_request_fini(struct kiln_program_request *request);
/* True if neither the caller nor a setting forbids compiling. */
bool kiln_program_request_may_compile(const struct kiln_program_request *request);

/* KILN_OK when the program is in memory or, with all its kernels, in caches, from where it is read
 * into memory; KILN_NOT_FOUND. Lowers and compiles nothing. */
enum kiln_status kiln_program_cache_find(struct kiln_program_request *request,
                                         struct kiln_error *error) KILN_NODISCARD;

/* KILN_OK when all kernels of the program are in memory or caches, from whatever programs they
 * come. Lowers the graph and compiles nothing. */
enum kiln_status kiln_program_cache_find_all_kernels(struct kiln_program_request *request,
                                                     struct kiln_error *error) KILN_NODISCARD;

/* As kiln_program_cache_find, but lowers the graph if its recipe is missing and looks for the
 * kernels, and also takes what other compilers made in the directory. KILN_UNSUPPORTED when a
 * kernel is missing. The request is one that compiles nothing from then on. */
enum kiln_status kiln_program_cache_find_kernels(struct kiln_program_request *request,
                                                 struct kiln_error *error) KILN_NODISCARD;

/* Says in front of the reason why nothing compiles for a graph that no cache has it either. */
void kiln_program_cache_tell_miss(const struct kiln_graph *graph, struct kiln_error *error);

/* The exact bytes of workspace that the program needs. If it is not in memory, the graph is
 * lowered, for kiln_program_cache_get to compile. The call asks neither a cache nor a compiler. */
enum kiln_status kiln_program_cache_workspace_bytes(struct kiln_program_request *request,
                                                    uint64_t *ret_bytes,
                                                    struct kiln_error *error) KILN_NODISCARD;

/* The program, with a reference for the caller, and its origin in the request. Only the damaged or
 * missing parts of recipe and kernels are compiled and replaced. An entry that cannot be written is
 * logged. KILN_UNSUPPORTED if the caches lack a part and nothing compiles for the target, or
 * nothing may. */
enum kiln_status kiln_program_cache_get(struct kiln_program_request *request,
                                        struct kiln_shared_program **ret_program,
                                        struct kiln_error *error) KILN_NODISCARD;

/*
 * Another program in the place of one with a kernel that came from a cache and that a device has
 * refused: that kernel is compiled, whatever the caches hold, unless another thread has done that
 * already. It is in memory only until kiln_program_cache_keep.
 */
enum kiln_status kiln_program_cache_replace(struct kiln_program_request *request,
                                            const struct kiln_shared_program *refused,
                                            uint32_t kernel,
                                            struct kiln_shared_program **ret_program,
                                            struct kiln_error *error) KILN_NODISCARD;
/* Stores the kernel of a program of kiln_program_cache_replace, now that a device has taken it,
 * over the one that was refused. */
void kiln_program_cache_keep(struct kiln_program_request *request,
                             const struct kiln_shared_program *program, uint32_t kernel);

#endif
