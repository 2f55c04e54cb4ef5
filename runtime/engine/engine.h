/*
 * The engine: graph bytes -> plan -> launch. What the plugin, the CLI and the benchmarks drive.
 *
 * Calling sequence: kiln_engine_create; kiln_engine_check to learn whether a graph is taken (cheap,
 * no compiler); kiln_plan_create (cache, else compile; loads the modules); kiln_plan_execute any
 * number of times; unref. An engine and a plan may be used from several threads; executing takes no
 * lock and allocates nothing.
 */
#ifndef KILN_RUNTIME_ENGINE_ENGINE_H
#define KILN_RUNTIME_ENGINE_ENGINE_H

#include "cache/cache_key.h"
#include "compiler/codegen/codegen.h"
#include "compiler/graph/graph.h"
#include "compiler/program.h"
#include "runtime/device/device.h"
#include "runtime/support/error.h"

struct kiln_cache_store;
struct kiln_engine; /* ref-counted; owns the store, the compile pool and the module table */
struct kiln_plan;   /* ref-counted; a graph compiled for and loaded on one device */

struct kiln_engine_options {
    const char *cache_directory; /* NULL: as in cache/cache_store.h */
    /* Nothing but the directory, without limit: no layers and no shared tier, whatever the
     * environment names. For measurements. */
    bool is_cache_isolated;
    const char *device; /* names; NULL: as in kiln_device_open, decided at the first plan */
    struct kiln_codegen_options codegen;
    struct kiln_lower_options lower;
};

/* Opens neither device nor compiler nor cache directory: that happens when first needed. */
enum kiln_status kiln_engine_create(const struct kiln_engine_options *options,
                                    struct kiln_engine **ret_engine,
                                    struct kiln_error *error) KILN_NODISCARD;
struct kiln_engine *kiln_engine_ref(struct kiln_engine *engine);
void kiln_engine_unref(struct kiln_engine *engine);

/*
 * KILN_OK when a plan can be made for the graph, KILN_REJECTED with the reason when not. Nothing is
 * lowered or compiled. Another status says that this machine cannot run the graph: no device,
 * nothing that compiles for it and no compiled program in memory or a cache, or a plan that failed
 * before. The device is opened by the first call, and what came of it is remembered; the compilers
 * are asked, which starts a worker, by the first graph that no cache holds.
 */
enum kiln_status kiln_engine_check(struct kiln_engine *engine, const void *graph_bytes, size_t size,
                                   struct kiln_error *error) KILN_NODISCARD;

/* The workspace that a plan of the graph will ask for, as kiln_plan_workspace_bytes, without
 * compiling it. */
enum kiln_status kiln_engine_workspace_bytes(struct kiln_engine *engine, const void *graph_bytes,
                                             size_t size, uint64_t *ret_bytes,
                                             struct kiln_error *error) KILN_NODISCARD;

/* The cache of compiled programs, opened if nothing was asked of it yet, for callers that want to
 * know early whether it can be used, or what it kept. The engine owns it. Fails as
 * kiln_cache_store_open does. */
enum kiln_status kiln_engine_cache(struct kiln_engine *engine, struct kiln_cache_store **ret_store,
                                   struct kiln_error *error) KILN_NODISCARD;

/* What the compilers did so far for this engine. */
void kiln_engine_codegen_counters(const struct kiln_engine *engine,
                                  struct kiln_codegen_counters *ret_counters);

/* Where a program came from. */
enum kiln_program_origin {
    KILN_ORIGIN_MEMORY,
    KILN_ORIGIN_DISK,
    KILN_ORIGIN_COMPILED,
};

/* Offsets of intermediates in the workspace are multiples of this many bytes, relative to its
 * aligned start. */
enum { KILN_WORKSPACE_ALIGNMENT = 256 };

/* A compiled program without a device: what the caches hold. */
struct kiln_compiled_kernel {
    struct kiln_hash128 name; /* of its entry in the caches, which other programs may share */
    char *symbol;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t lds_bytes;
    bool uses_barrier;
    uint32_t form; /* of its schedule, as struct kiln_kernel has it */
    uint32_t argument_count;
    struct kiln_argument *arguments;
    struct kiln_code_object object; /* compile_ns: of all forms that this program had compiled */
};
struct kiln_compiled_program {
    uint64_t workspace_bytes; /* exact; offsets in it count from a multiple of
                                 KILN_WORKSPACE_ALIGNMENT */
    uint32_t kernel_count;
    struct kiln_compiled_kernel *kernels;
};

/* Compiles (or finds) the program of a graph for any target, no device needed: `kiln compile`. The
 * result is shared and immutable; drop it with kiln_compiled_program_unref. */
enum kiln_status kiln_engine_compile(struct kiln_engine *engine, const struct kiln_graph *graph,
                                     const struct kiln_target *target,
                                     const struct kiln_compiled_program **ret_program,
                                     enum kiln_program_origin *ret_origin,
                                     struct kiln_error *error) KILN_NODISCARD;
void kiln_compiled_program_unref(const struct kiln_compiled_program *program);

/* The hash of the key under which the caches hold the program of a graph for a target: 32
 * lower-case hex digits and a NUL. Compiles nothing and opens no cache. */
enum kiln_status kiln_engine_program_key(struct kiln_engine *engine, const struct kiln_graph *graph,
                                         const struct kiln_target *target,
                                         char ret_hex[KILN_CACHE_HASH_HEX + 1],
                                         struct kiln_error *error) KILN_NODISCARD;

/* Reads the graph, compiles or finds its program for the engine's device, loads it. */
enum kiln_status kiln_plan_create(struct kiln_engine *engine, const void *graph_bytes, size_t size,
                                  struct kiln_plan **ret_plan,
                                  struct kiln_error *error) KILN_NODISCARD;
struct kiln_plan *kiln_plan_ref(struct kiln_plan *plan);
void kiln_plan_unref(struct kiln_plan *plan);
/* Bytes of workspace that execute needs, at any address: what the kernels use and room to align it;
 * 0 when they use none. */
uint64_t kiln_plan_workspace_bytes(const struct kiln_plan *plan);
uint32_t kiln_plan_kernel_count(const struct kiln_plan *plan);
/* The kernel's entry point; lives as long as the plan. */
const char *kiln_plan_kernel_symbol(const struct kiln_plan *plan, uint32_t kernel);
/* In which form of its schedule a kernel was compiled (struct kiln_kernel.form). */
uint32_t kiln_plan_kernel_form(const struct kiln_plan *plan, uint32_t kernel);
enum kiln_program_origin kiln_plan_origin(const struct kiln_plan *plan);
const struct kiln_device *kiln_plan_device(const struct kiln_plan *plan);

/* Same layout as hipdnnPluginDeviceBuffer_t. */
struct kiln_buffer_binding {
    int64_t uid;
    void *pointer;
};

/*
 * Enqueues the plan's kernels. Buffers come in any order and may hold uids that the graph does not
 * know; a missing or NULL one that is needed, or one that is not aligned to its element, gives
 * KILN_BAD_ARGUMENT naming the uid. `workspace` may be NULL when kiln_plan_workspace_bytes is 0.
 */
enum kiln_status kiln_plan_execute(const struct kiln_plan *plan, kiln_stream stream,
                                   void *workspace, const struct kiln_buffer_binding *buffers,
                                   uint32_t buffer_count, struct kiln_error *error) KILN_NODISCARD;

/*
 * The same on the default stream, with an event before the first kernel and one after each: kernel
 * i ran between events[i] and events[i + 1]. `events` has one more than the plan has kernels; they
 * belong to the plan's device and to the caller.
 */
enum kiln_status kiln_plan_execute_with_events(const struct kiln_plan *plan, void *workspace,
                                               const struct kiln_buffer_binding *buffers,
                                               uint32_t buffer_count,
                                               struct kiln_device_event *const *events,
                                               struct kiln_error *error) KILN_NODISCARD;

#endif
