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
#include "compiler/graph/override_shapes.h"
#include "compiler/kernel.h"
#include "compiler/lower_options.h"
#include "runtime/device/device.h"
#include "runtime/support/error.h"

struct kiln_cache_store;
struct kiln_engine; /* ref-counted; owns the store, the compile pool and the module table */
struct kiln_plan_knobs;
struct kiln_plan; /* ref-counted; a graph compiled for and loaded on one device */

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

/* The workspace that a plan of the graph with these knobs will ask for, as
 * kiln_plan_workspace_bytes, without compiling it. `knobs`: as in kiln_plan_create_with_knobs. */
enum kiln_status kiln_engine_workspace_bytes(struct kiln_engine *engine, const void *graph_bytes,
                                             size_t size, const struct kiln_plan_knobs *knobs,
                                             uint64_t *ret_bytes,
                                             struct kiln_error *error) KILN_NODISCARD;

/* False where KILN_ENFORCE_PRECOMPILED forbids to compile at run time. */
bool kiln_engine_may_compile(const struct kiln_engine *engine);

/* The result of tuning a graph. */
struct kiln_tuning_result {
    uint32_t candidates; /* distinct plans that were timed; 0: none */
    uint64_t untuned_ns; /* medians of an execution */
    uint64_t tuned_ns;
    char choice[96]; /* "streamed, tile 16x64", for people */
};

/*
 * Times the plans that the graph could have on the current device and keeps the fastest in memory
 * and in the cache, for all later plans of equal graphs (tuning.h). A graph without products or
 * attention has no candidates.
 */
enum kiln_status kiln_engine_tune(struct kiln_engine *engine, const void *graph_bytes, size_t size,
                                  struct kiln_tuning_result *ret_result,
                                  struct kiln_error *error) KILN_NODISCARD;
/* The result that memory or a cache has; without one, no candidates. */
enum kiln_status kiln_engine_find_tuned(struct kiln_engine *engine, const void *graph_bytes,
                                        size_t size, struct kiln_tuning_result *ret_result,
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

/* The form that the engine's programs of a graph have for a target, and why, as a static text. With
 * KILN_SHAPES_AUTO in the options the first call for a graph asks the caches. Compiles nothing. */
enum kiln_status kiln_engine_shapes(struct kiln_engine *engine, const struct kiln_graph *graph,
                                    const struct kiln_target *target, enum kiln_shapes *ret_shapes,
                                    const char **ret_reason,
                                    struct kiln_error *error) KILN_NODISCARD;

/* The hash of the key under which the caches hold the program of a graph for a target: 32
 * lower-case hex digits and a NUL. Chooses the form as kiln_engine_shapes does. Compiles nothing.
 */
enum kiln_status kiln_engine_program_key(struct kiln_engine *engine, const struct kiln_graph *graph,
                                         const struct kiln_target *target,
                                         char ret_hex[KILN_CACHE_HASH_HEX + 1],
                                         struct kiln_error *error) KILN_NODISCARD;

/* Reads the graph, compiles or finds its program for the engine's device, loads it. */
enum kiln_status kiln_plan_create(struct kiln_engine *engine, const void *graph_bytes, size_t size,
                                  struct kiln_plan **ret_plan,
                                  struct kiln_error *error) KILN_NODISCARD;
/* kiln_plan_create with knobs that a host has set (plan_knobs.h); NULL: none. KILN_UNSUPPORTED if
 * the plan needs more workspace than they allow, KILN_BAD_ARGUMENT if it has no schedule with these
 * values. Either declines this plan and not the graph. */
enum kiln_status kiln_plan_create_with_knobs(struct kiln_engine *engine, const void *graph_bytes,
                                             size_t size, const struct kiln_plan_knobs *knobs,
                                             struct kiln_plan **ret_plan,
                                             struct kiln_error *error) KILN_NODISCARD;
/*
 * Plans as bytes (plan_format.h). `config` is the host's EngineConfig, which the bytes keep.
 * kiln_plan_store appends to an empty buffer.
 *
 * kiln_plan_restore makes the plan again, from the stored kernels if they are for the current
 * device: with neither compiler nor cache, and with equal results. On another target, or if another
 * Kiln has stored it, the graph is planned as by kiln_plan_create. KILN_BAD_ARGUMENT with a
 * sentence if the bytes are damaged. kiln_plan_stored_config finds the config in them, which has
 * the knobs; NULL: none.
 */
enum kiln_status kiln_plan_store(const struct kiln_plan *plan, const void *config,
                                 size_t config_bytes, struct kiln_buffer *ret_bytes,
                                 struct kiln_error *error) KILN_NODISCARD;
enum kiln_status kiln_plan_stored_config(const void *bytes, size_t size, const void **ret_config,
                                         size_t *ret_config_bytes,
                                         struct kiln_error *error) KILN_NODISCARD;
enum kiln_status kiln_plan_restore(struct kiln_engine *engine, const void *bytes, size_t size,
                                   const struct kiln_plan_knobs *knobs, struct kiln_plan **ret_plan,
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
 * Executes a plan with override shapes (override_shapes.h). Its graph must be built for them.
 * Without any shape the call is kiln_plan_execute. A shape that the plan has executed before costs
 * a lookup: no allocation and no lowering, so that streams can be captured. A new one is checked
 * and lowered, and its kernels are compiled if neither memory nor a cache has them. Buffers are
 * those of these shapes; the workspace is the plan's. Thread-safe.
 */
enum kiln_status kiln_plan_execute_with_overrides(const struct kiln_plan *plan, kiln_stream stream,
                                                  void *workspace,
                                                  const struct kiln_buffer_binding *buffers,
                                                  uint32_t buffer_count,
                                                  const struct kiln_shape_overrides *overrides,
                                                  struct kiln_error *error) KILN_NODISCARD;

/*
 * Executes the plan on the default stream, with an event before the first kernel and
 * one after each: kernel i ran between events[i] and events[i + 1]. `events` has one more than the
 * plan has kernels; they belong to the plan's device and to the caller.
 */
enum kiln_status kiln_plan_execute_with_events(const struct kiln_plan *plan, void *workspace,
                                               const struct kiln_buffer_binding *buffers,
                                               uint32_t buffer_count,
                                               struct kiln_device_event *const *events,
                                               struct kiln_error *error) KILN_NODISCARD;

#endif
